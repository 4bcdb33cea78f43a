"""A question and its chunks → an answer with checked citations."""
