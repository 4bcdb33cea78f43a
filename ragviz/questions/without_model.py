"""What scores on questions that were made without a model tell, and what not."""

from __future__ import annotations

from collections.abc import Sequence

GENERATOR = "extractive"
"""What names itself as the generator of such questions."""


def words(generators: Sequence[str]) -> str:
    """Say what a set can tell by the generators of its questions; "" where none was made without a model.

    >>> words(["hand", "import"])
    ''
    >>> print(words(["extractive", "hand", "extractive"]))
    2 of the 3 questions were made without a model, of the documents' own words: their scores show losses and \
regressions, but not how good a system is, nor whether a lexical or a semantic retriever is better.
    """
    made = generators.count(GENERATOR)
    if not made:
        return ""
    return (
        f"{made:,} of the {len(generators):,} questions were made without a model, of the documents' own words: their "
        f"scores show losses and regressions, but not how good a system is, nor {WHICH}."
    )


WHICH = "whether a lexical or a semantic retriever is better"


def doubt(generators: Sequence[str]) -> str:
    """Return what such questions take from a verdict between retrievers, to be put behind it; "" without any.

    >>> doubt(["extractive", "hand"])
    "; but 1 of the 2 questions was made of the documents' own words, which does not tell whether a lexical or a \
semantic retriever is better"
    """
    made = generators.count(GENERATOR)
    was = "was" if made == 1 else "were"
    said = f"; but {made:,} of the {len(generators):,} questions {was} made of the documents' own words, which does"
    return f"{said} not tell {WHICH}" if made else ""
