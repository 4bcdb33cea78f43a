"""How the database reaches the schema of this version, by Alembic."""
