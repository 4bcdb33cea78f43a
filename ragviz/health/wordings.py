"""Other wordings of a question by chance, in any language: what a comparison of equal systems differs by.

A word is left out or misspelt; nothing else is changed, and no model is needed. The wordings of a question are drawn in
the same way, so that neither of two is the better one on average.
"""

from __future__ import annotations

import random
import re

_WORDS = re.compile(r"\S+")
FEWEST = 4
"""Words from which on one is left out; a text of fewer, or without blanks, is changed by its characters."""


def wordings(text: str, count: int, key: str) -> list[str]:
    """Return the text itself and `count` others, drawn by `key`, which may repeat; a text of one character has none.

    >>> wordings("How many days of leave are there?", 2, "q2")
    ['How many days of leave are there?', 'How many of leave are there?', 'How mayn days of leave are there?']
    """
    draw = random.Random(key)  # noqa: S311 - nothing secret
    return [text, *(_other(text, draw) for _ in range(count))]


def _other(text: str, draw: random.Random) -> str:
    words = list(_WORDS.finditer(text))
    if len(words) >= FEWEST and draw.random() < 0.5:
        left_out = draw.choice(words[:-1])  # the last one holds the question mark
        return text[: left_out.start()] + text[left_out.end() :].lstrip()
    pairs = ((at, text[at], text[at + 1]) for at in range(len(text) - 1))
    places = [  # different letters, not the first ones of a word
        at
        for at, one, two in pairs
        if one.isalpha() and two.isalpha() and one != two and at > 0 and (text[at - 1].isalpha() or not one.isascii())
    ]
    if not places:
        return text
    at = draw.choice(places)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
