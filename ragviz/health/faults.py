"""Faults that are planted into copies of an index's chunks, of a known size, drawn by a seed.

Each is planted where the evidence of so many questions stands that their loss would be so many points of recall: the
evidence of 5 questions of 100 for 5 points.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from ragviz.core.digests import digest
from ragviz.health.altered_index import Change, Chunks

Gold = Sequence[Sequence[Sequence[int]]]
"""Question → group of its evidence → rows of the gold chunks; a group without any is never found."""

POINTS = (0.02, 0.05, 0.10)
"""Sizes of planted regressions, as shares of recall."""
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where a fault is planted: rows of gold chunks, and the points of recall that their loss costs, by counting."""

    rows: tuple[int, ...]
    points: float


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What faults are planted into: the chunks, the gold chunks of questions, and how much of each was found.

    `found` holds of every question the groups of its evidence that are found without a fault.
    """

    chunks: Chunks
    gold: Gold
    found: Sequence[Sequence[int]]
    questions_at: Mapping[int, Sequence[int]] = field(default_factory=dict)

    @staticmethod
    def of(chunks: Chunks, gold: Gold, found: Sequence[Sequence[int]]) -> Ground:
        """Return the ground with the questions whose gold each row is."""
        at: defaultdict[int, list[int]] = defaultdict(list)
        for question, groups in enumerate(gold):
            for row in dict.fromkeys(row for group in groups for row in group):
                at[row].append(question)
        return Ground(chunks, gold, found, dict(at))

    def loss(self, question: int, rows: Collection[int]) -> float:
        """Return how much recall a question loses when chunks are lost: of its groups found, those they hold all of."""
        groups = self.gold[question]
        lost = sum(bool(groups[g]) and all(row in rows for row in groups[g]) for g in self.found[question])
        return lost / len(groups)


def whole(points: float, questions: int) -> int:
    """Return how many questions so many points are, rounded.

    >>> whole(0.02, 40), whole(0.05, 90), whole(0.02, 20)
    (1, 5, 0)
    """
    return math.floor(points * questions + 0.5)


def choose(ground: Ground, points: float, draw: Generator) -> Chosen:
    """Draw gold chunks whose loss costs `points` of recall, rounded to whole questions, or as near below as can be.

    All gold chunks of a question are chosen together, and every question that a chunk is gold for is counted.
    """
    target = whole(points, len(ground.gold))
    rows: set[int] = set()
    lost: dict[int, float] = {}
    total = 0.0
    for question in draw.permutation(len(ground.gold)).tolist():
        mine = {row for group in ground.gold[question] for row in group} - rows
        if not ground.found[question] or not mine:
            continue
        rows |= mine
        touched = dict.fromkeys(other for row in mine for other in ground.questions_at[row])
        after = {other: ground.loss(other, rows) for other in touched}
        more = sum(value - lost.get(other, 0.0) for other, value in after.items())
        if total + more > target + 1e-9:
            rows -= mine
            continue
        lost.update(after)
        total += more
        if total >= target - 1e-9:
            break
    return Chosen(tuple(sorted(rows)), total / max(len(ground.gold), 1))


def _removed(ground: Ground, chosen: Chosen, draw: Generator) -> Change:
    return Change(removed=frozenset(chosen.rows))


def _copied(ground: Ground, chosen: Chosen, draw: Generator) -> Change:
    """Add copies of the chunks that name an earlier year; the same text is altered alike, so it is embedded once."""
    texts = {row: ground.chunks.texts[row] for row in chosen.rows}
    own_draw = {text: np.random.default_rng(int(digest(text), 16)) for text in texts.values()}
    return Change(added=tuple((row, of_another_year(text, own_draw[text])) for row, text in texts.items()))


def of_another_year(text: str, draw: Generator) -> str:
    """Return a text about another year: every year in it one to three years earlier, or one above it."""
    before = int(draw.integers(1, 4))
    changed = _YEAR.sub(lambda year: str(int(year[0]) - before), text)
    return changed if changed != text else f"{2000 + int(draw.integers(0, 20))}\n\n{text}"


def _shuffled(ground: Ground, chosen: Chosen, draw: Generator) -> Change:
    """Exchange the text of each chunk with one of another document that holds no evidence, where there is one."""
    chunks, taken = ground.chunks, set(chosen.rows)
    texts: dict[int, str] = {}
    order = draw.permutation(len(chunks.ids)).tolist()
    free = sorted(order, key=lambda row: row in ground.questions_at)  # stable: drawn, those without evidence first
    place = 0
    for row in chosen.rows:
        for at in range(place, len(free)):
            other = free[at]
            if other not in taken and chunks.documents[other] != chunks.documents[row]:
                texts[row], texts[other] = chunks.texts[other], chunks.texts[row]
                taken.add(other)
                free[at], free[place] = free[place], free[at]
                place += 1
                break
    return Change(texts=texts)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what is done to the chosen chunks.

    `aims` says that more is planted until recall has lost as many points: chunks that move up may find other evidence.
    """

    title: str
    help: str
    plant: Callable[[Ground, Chosen, Generator], Change]
    aims: bool = False


FAULTS: Mapping[str, Fault] = {
    "removed": Fault("evidence removed", "Chunks that hold evidence are not in the index any more.", _removed, True),
    "copies": Fault("near copies", "Copies of chunks that hold evidence, for another year, are added.", _copied),
    "shuffled": Fault(
        "chunks shuffled",
        "Chunks that hold evidence and chunks of other documents have exchanged their texts.",
        _shuffled,
    ),
}
"""Every fault by name, in the order in which it is listed."""


def reason_against(name: str, ground: Ground) -> str:
    """Return why a fault cannot be planted, "" where it can."""
    if not any(ground.found):
        return "no question finds its evidence without a fault"
    if name == "shuffled" and len(set(ground.chunks.documents)) < 2:
        return "the index holds one document"
    return ""
