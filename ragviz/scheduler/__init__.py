"""The steps of answering and judging many questions at once, within a budget; and their estimate."""
