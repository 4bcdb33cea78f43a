"""Where passages that other programs quote stand in the documents: word for word, each document read once.

Passages are indexed by their first words; a document is then read from its beginning to its end, and at each word one
look-up tells which passages may begin there. Width, case, blanks, line breaks and punctuation do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ragviz.core.document import Document, Span
from ragviz.core.stopping import Progress, silent
from ragviz.questions.units import units

FIRST = 4
"""Words (Chinese: characters) by which a passage is looked up; a shorter one by all of its own."""
PLACES = 20
"""Places of one passage at most: text that stands more often than that tells nothing."""


_Passage = tuple[str, tuple[str, ...]]
"""A text, and its words."""


def located(
    passages: Collection[str], documents: Iterable[Document], progress: Progress = silent
) -> dict[str, list[Span]]:
    """Return the places of each passage, at most `PLACES` in the order of `documents`; empty for one without words."""
    by_start: dict[tuple[str, ...], list[_Passage]] = {}
    found: dict[str, list[Span]] = {text: [] for text in passages}
    for text in found:
        words = tuple(word for word, _, _ in units(text))
        if words:
            by_start.setdefault(words[:FIRST], []).append((text, words))
    sizes = sorted({len(start) for start in by_start}, reverse=True)
    for number, document in enumerate(documents if by_start else ()):
        progress(number, None, "documents", "Looking up the passages")
        _look(document, by_start, sizes, found)
    return found


def _look(
    document: Document,
    by_start: dict[tuple[str, ...], list[_Passage]],
    sizes: Sequence[int],
    found: dict[str, list[Span]],
) -> None:
    own = list(units(document.text))
    words = [word for word, _, _ in own]
    for at in range(len(words)):
        for size in sizes:
            for text, asked in by_start.get(tuple(words[at : at + size]), ()) if at + size <= len(words) else ():
                last = at + len(asked) - 1
                if len(found[text]) < PLACES and tuple(words[at : last + 1]) == asked:
                    found[text].append(_span(document, text, own[at][1], own[last][2]))


def _span(document: Document, passage: str, start: int, end: int) -> Span:
    """Return a place with the signs around it that are the passage's own."""
    first = next(iter(units(passage)))[1]
    *_, last = units(passage)
    before, after = passage[:first], passage[last[2] :].rstrip()
    while before and start and document.text[start - 1] == before[-1] and not before[-1].isspace():
        before, start = before[:-1], start - 1
    while after and document.text[end : end + 1] == after[0]:
        after, end = after[1:], end + 1
    return Span(document.id, start, end, document.text[start:end])
