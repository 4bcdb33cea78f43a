"""Metrics: pure functions from rankings and texts to numbers."""
