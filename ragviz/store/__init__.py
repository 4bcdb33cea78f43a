"""What ragviz remembers: the only SQL."""
