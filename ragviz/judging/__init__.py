"""What a judge is asked about an answer, how its replies are read, and whether it can be relied on."""
