"""Metrics of rankings, characters, texts and verdicts: pure functions and their registries."""
