"""Question sets: generated, written by hand, checked, read from files and written to them."""
