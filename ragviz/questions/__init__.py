"""Question sets: written, imported and exported, reviewed, split, and their versions."""
