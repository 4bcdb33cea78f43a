"""Experiments: configurations declared, run, compared by the rule declared before, and confirmed."""
