"""Arrays in, numbers out: how sure a mean is, whether two runs differ, and what would settle it."""
