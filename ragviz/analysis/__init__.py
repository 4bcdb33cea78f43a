"""Runs in numbers: evaluated, compared, and where their questions were lost."""
