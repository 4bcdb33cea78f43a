"""Revisions of the schema, each named by the one before it."""
