"""Numbers with their nouns, as messages write them."""

from __future__ import annotations

from collections.abc import Sequence

_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do"}


def counted(count: int, noun: str, verb: str = "") -> str:
    """Return a number with its noun in singular or plural, and a verb, given in the singular, that agrees with it.

    >>> counted(1, "index"), counted(2, "query"), counted(1200, "question")
    ('1 index', '2 queries', '1,200 questions')
    >>> counted(1, "row", "was"), counted(2, "row", "was"), counted(3, "place", "stands")
    ('1 row was', '2 rows were', '3 places stand')
    """
    words = f"{count:,} {noun if count == 1 else _plural(noun)}"
    return f"{words} {agreed(count, verb)}" if verb else words


def agreed(count: int, verb: str) -> str:
    """Return a verb, given in the singular, as it agrees with a number."""
    return verb if count == 1 else _VERBS.get(verb, verb.removesuffix("s"))


def enumerated(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def listed(numbers: Sequence[int]) -> str:
    """Return the first eight numbers as text."""
    return ", ".join(map(str, numbers[:8])) + " …" * (len(numbers) > 8)


def first(count: int, noun: str) -> str:
    """Return what comes first of an order.

    >>> first(1, "chunk"), first(3, "chunk")
    ('the first chunk', 'the first 3 chunks')
    """
    return f"the first {noun}" if count == 1 else f"the first {counted(count, noun)}"


def _plural(noun: str) -> str:
    if noun == "corpus":
        return "corpora"
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("x") else f"{noun}s"
