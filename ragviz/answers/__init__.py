"""A question and its chunks to an answer with checked citations."""
