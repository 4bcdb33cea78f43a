"""Formats of question sets that other programs read and write."""
