"""Durations, sizes, counts and names as the pages write them."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from itertools import count

from ragviz.text.counts import counted as counted
from ragviz.text.markup import plain, shortened

MAKERS: Mapping[str, str] = {
    "hand": "written by hand",
    "import": "imported",
    "extractive": "made without a model",
    "model": "written by a model",
    "log": "asked by people",
}
"""Generator of a question → who made it, on the pages."""


def quoted(text: str) -> str:
    """Return the beginning of a parameter's value, to be quoted in a message."""
    return plain(shortened(text, 80))


def duration(seconds: float) -> str:
    """Return a duration in the unit that fits.

    >>> [duration(s) for s in (0.4, 48, 200, 5000)]
    ['1 s', '48 s', '3 min', '1 h 23 min']
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def made(then: float, person: str) -> str:
    """Return how long ago something was made, and by whom."""
    return f"{ago(then)} by {person}" if person else ago(then)


def ago(then: float, now: float | None = None) -> str:
    """Return how long ago a time was.

    >>> [ago(0, seconds) for seconds in (5, 180, 7200, 200000)]
    ['just now', '3 min ago', '2 h ago', '2 days ago']
    """
    seconds = (time.time() if now is None else now) - then
    if seconds < 90:
        return "just now"
    if seconds < 5400:
        return f"{round(seconds / 60)} min ago"
    return f"{round(seconds / 3600)} h ago" if seconds < 129600 else f"{round(seconds / 86400)} days ago"


def size_words(size: float) -> str:
    r"""Return a number of bytes in the unit that fits, after a no-break blank; 1 KB is 1,000, as in uploads.

    >>> [size_words(n) for n in (900, 2048, 3_500_000)] == ["900\xa0B", "2\xa0KB", "3.5\xa0MB"]
    True
    """
    if size < 1000:
        return f"{size:.0f}\xa0B"
    return f"{size / 1000:.0f}\xa0KB" if size < 999_500 else f"{size / 1e6:,.1f}\xa0MB"


def short_name(name: str) -> str:
    """Return the first word of a name in lower case, as the beginning of derived names.

    >>> short_name("Sample: Tarrow Ridge Observatory"), short_name("18F handbook"), short_name("!!")
    ('sample', '18f', 'corpus')
    """
    words = re.findall(r"\w+", name.lower())
    return words[0][:24] if words else "corpus"


def free_name(base: str, taken: Collection[str]) -> str:
    """Return `base`, or the first of base-2, base-3 … that is not taken.

    >>> free_name("a", {"a", "a-2"})
    'a-3'
    """
    return next(name for n in count(1) if (name := base if n == 1 else f"{base}-{n}") not in taken)
