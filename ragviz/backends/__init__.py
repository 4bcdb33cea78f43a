"""Where chunks and their vectors are kept and searched: one protocol, two backends."""
