"""Numbers with their nouns, as messages write them."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a number with its noun in singular or plural.

    >>> counted(1, "index"), counted(2, "query"), counted(1200, "question")
    ('1 index', '2 queries', '1,200 questions')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("x") else f"{noun}s"
    plural = "corpora" if noun == "corpus" else plural
    return f"{count:,} {noun if count == 1 else plural}"
