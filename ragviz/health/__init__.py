"""What a question set is worth: its faults, its coverage, the regressions it can notice, what new documents did."""
