"""Background jobs: each is a subprocess with a row in the database, and outlives the page that started it."""
