"""Figures and reports, and what they tell."""
