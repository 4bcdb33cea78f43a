"""Anything that turns a question into a recording: one file for each target, one dict of them all."""
