"""Questions to rankings of an index's chunks, and evidence to gold chunks."""
