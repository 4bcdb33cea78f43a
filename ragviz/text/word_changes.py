"""Where two texts differ, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

Range = tuple[int, int]

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|\w+(?:[.,:'’-]\w+)*")
MOST = 2000
"""Words of a text that are compared, at most: longer texts are compared at their beginnings, within a second."""


def word_count(text: str) -> int:
    """Count the words of a text; each ideograph and kana is one.

    >>> word_count("How much does pump 3 move?"), word_count("谁负责北阀门？")
    (6, 6)
    """
    return len(_WORD.findall(text))


def differing(one: str, other: str) -> tuple[list[Range], list[Range]]:
    """Return the ranges of each text whose words the other does not have there, in characters.

    Words are compared without regard to capitals; ideographs and kana one by one. Punctuation and blanks do not count,
    but those between two words that differ are in their range.

    >>> differing("Washed every two weeks.", "washed every four weeks")
    ([(13, 16)], [(13, 17)])
    >>> differing("负责人是王芳", "负责人是李芳"), differing("", "a b")
    (([(4, 5)], [(4, 5)]), ([], [(0, 3)]))
    """
    words = [list(_WORD.finditer(text))[:MOST] for text in (one, other)]
    one_folded, other_folded = ([word.group().casefold() for word in side] for side in words)
    matcher = SequenceMatcher(None, one_folded, other_folded, autojunk=False)
    ranges: tuple[list[Range], list[Range]] = ([], [])
    for kind, *edges in matcher.get_opcodes():
        for side, (start, end) in enumerate((edges[:2], edges[2:])):
            if kind != "equal" and start < end:
                ranges[side].append((words[side][start].start(), words[side][end - 1].end()))
    return ranges
