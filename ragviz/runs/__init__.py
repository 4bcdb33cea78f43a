"""Runs: made, judged, summed up, imported and exported."""
