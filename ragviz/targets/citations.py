"""The marks of an answer: numbered citations are read, checked against the passages, removed; Markdown is removed."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = r"\d{1,3}(?:\s*(?:[,，、;；]|[-–—~～])\s*\d{1,3})*"
_CITED = re.compile(rf"[\[［【]\s*({_NUMBERS})\s*[\]］】]")
_CITED_AND_BLANKS = re.compile(rf"[ \t]*(?:{_CITED.pattern})")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_MARKDOWN = re.compile(
    r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$\n?|^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)|`+"
    r"|(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])|(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)",
    re.MULTILINE,
)


def cited(text: str) -> tuple[int, ...]:
    """Return the numbers that `text` cites, in the order of their first mention: [2], [1, 3], [1-3], 【2】, ［２］.

    A number of four digits or more is none: "[2019]" is a year.

    >>> cited("Dogs stay outside [2], cats too [1–3]. 狗也不行【４】。")
    (2, 1, 3, 4)
    """
    numbers: dict[int, None] = {}
    for part in (part for mark in _CITED.finditer(text) for part in re.split(r"[,，、;；]", mark[1])):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        numbers |= dict.fromkeys(range(ends[0], ends[1] + 1) if len(ends) == 2 and ends[0] < ends[1] else ends)
    return tuple(numbers)


def without_citations(text: str) -> str:
    """Return `text` without its citations and the blanks before them.

    >>> without_citations("Dogs stay outside [2].")
    'Dogs stay outside.'
    """
    return _CITED_AND_BLANKS.sub("", text)


def without_marks(text: str) -> str:
    r"""Return what `text` says: without citations, fences of code, and Markdown's marks of headings, links, emphasis.

    >>> without_marks("**Seven** [3].\n```python\nrun_all(2 * 3)\n```"), without_marks("See _the_ [guide](http://a.b/c).")
    ('Seven.\nrun_all(2 * 3)\n', 'See the guide.')
    """
    return _MARKDOWN.sub("", _LINK.sub(r"\1", without_citations(text)))


def unnumbered(text: str) -> str:
    """Return `text` with its citations, but without what they cite.

    >>> unnumbered("Dogs stay outside [2], cats too [1, 3], since 2019.")
    'Dogs stay outside [#], cats too [#, #], since 2019.'
    """
    return _CITED.sub(lambda mark: re.sub(r"\d+", "#", mark[0]), text)


def checked(numbers: Iterable[int], contexts: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split cited numbers into those of one of so many contexts, and the others.

    >>> checked((2, 7), contexts=3)
    ((2,), (7,))
    """
    numbers = tuple(numbers)
    return tuple(n for n in numbers if 0 < n <= contexts), tuple(n for n in numbers if not 0 < n <= contexts)
