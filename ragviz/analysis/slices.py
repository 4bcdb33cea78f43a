"""A difference between two runs in the parts of the questions: by document, kind, type, style, language, and length.

Many parts are looked at, so that some differ by chance alone: their p-values are adjusted for the number of parts
judged (Benjamini and Hochberg), and parts of few questions are listed, not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis.compare import Paired, Tested, adjusted, differences
from ragviz.analysis.evaluate import PART_TITLES, rows_by_name
from ragviz.analysis.rules import Rule, Verdict
from ragviz.core.question import Question
from ragviz.stats.clusters import FEW
from ragviz.stats.differences import ALPHA, Difference, benjamini_hochberg, paired_differences
from ragviz.text.counts import agreed, counted
from ragviz.text.word_changes import word_count

SMALL = 6
"""Parts of fewer questions are not judged: they say too little."""
GROUPS = 4
"""Parts by length: as many questions in each, as far as equal lengths allow."""
DIMENSIONS = {
    "document": "Document",
    "kind": "Evidence",
    "type": "Question type",
    "style": "Style",
    "language": "Language",
    "length": "Question length",
    "evidence": "Evidence length",
}
"""What questions are divided by."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some of the questions: `by` is a key of `DIMENSIONS`, `name` which part, `rows`, (m,), their places from 0."""

    by: str
    name: str
    rows: NDArray[np.int64]

    @property
    def key(self) -> str:
        """Its name in an address."""
        return f"{self.by}:{self.name}"

    @property
    def title(self) -> str:
        """What it is called, without what it is a part by."""
        return PART_TITLES.get(self.by, {}).get(self.name, self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A part of the questions in one metric: the means of both runs over its `n` questions from `clusters` documents.

    `difference`, other minus baseline, and what follows from it is None of a part that is too small to be judged.
    Clusters join documents that questions need together. `p_adjusted` is Benjamini and Hochberg's over all judged
    parts.
    """

    part: Part
    n: int
    clusters: int
    baseline: float
    other: float
    difference: Difference | None = None
    p_adjusted: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """The parts of the questions in one metric, those judged first, in each dimension the greatest first."""

    metric: str
    slices: tuple[Slice, ...]

    @property
    def judged(self) -> tuple[Slice, ...]:
        """The parts that are large enough."""
        return tuple(each for each in self.slices if each.difference is not None)


def parts_of(questions: Sequence[Question], documents: Mapping[str, Sequence[str]]) -> list[Part]:
    """Divide questions in every dimension in which they fall into two parts or more; `documents` are by question id.

    A question with evidence in several documents is in the part of each of them, one without evidence in none, and in
    none by the length of its evidence.
    """
    names: dict[str, list[Sequence[str]]] = {"document": [documents.get(question.id, ()) for question in questions]}
    for by in ("kind", "type", "style", "language"):
        names[by] = [(value,) if (value := getattr(question, by)) else () for question in questions]
    evidence = [  # of each group the shortest passage, which is enough
        sum(min((span.end - span.start for span in group), default=0) for group in question.evidence)
        if question.evidence
        else None
        for question in questions
    ]
    lengths: dict[str, tuple[Sequence[int | None], str]] = {
        "length": ([word_count(question.text) for question in questions], "words"),
        "evidence": (evidence, "characters"),
    }
    parts: list[Part] = []
    for by, of_each in names.items():
        rows = rows_by_name(of_each)
        for name in sorted(rows, key=lambda name: -len(rows[name])) if len(rows) > 1 else ():
            parts.append(Part(by, name, np.array(rows[name], dtype=np.int64)))
    return parts + [part for by, (numbers, unit) in lengths.items() for part in _by_length(by, numbers, unit)]


def judged(parts: Sequence[Part], pair: Paired, rule: Rule, metric: str) -> Slices:
    """Compare the second run of a pair with the first in every part, by one metric.

    `parts` divide the questions of `pair`, in their order; those without questions are left out.
    """
    measured = [_measured(part, pair) for part in parts if len(part.rows)]
    order = {by: place for place, by in enumerate(DIMENSIONS)}
    measured.sort(key=lambda each: (each.difference is None, order[each.part.by]))
    tests = [Tested(metric, "", each.difference, place) for place, each in enumerate(measured) if each.difference]
    decided = [
        replace(each, difference=delta.difference, p_adjusted=delta.p_adjusted, verdict=delta.verdict)
        for each, delta in zip(measured, adjusted(tests, rule, benjamini_hochberg), strict=False)
    ]
    return Slices(metric, (*decided, *measured[len(decided) :]))


def multiplicity_words(slices: Slices) -> str:
    """Say how many parts were judged, how many of them would differ by chance, and how many do.

    >>> multiplicity_words(Slices("mrr", ()))
    'No slice is large enough to be judged: it takes 6 questions.'
    """
    count = len(slices.judged)
    if not count:
        return f"No slice is large enough to be judged: it takes {SMALL} questions."
    expected = ALPHA * count
    about = "less than one" if expected < 0.75 else f"about {round(expected)}" if expected >= 1.5 else "about one"
    raw = sum((each.difference.p_value or 0.0) <= ALPHA for each in slices.judged if each.difference)
    apart = sum(each.p_adjusted is not None and each.p_adjusted <= ALPHA for each in slices.judged)
    small = len(slices.slices) - count
    listed = f" {small:,} {agreed(small, 'is')} too small to be judged (fewer than {SMALL} questions)."
    return (
        f"{counted(count, 'slice')} looked at: at 5 % {about} would differ by chance alone. "
        f"{raw:,} {agreed(raw, 'does')}; {apart:,} after the correction for their number "
        f"(Benjamini-Hochberg).{listed if small else ''}"
    )


def clusters_words(slices: Slices) -> str:
    """Say of what slices of few clusters speak; "" without such slices."""
    if all(each.difference.generalises for each in slices.judged if each.difference):
        return ""
    return f"A slice of fewer than {FEW} documents speaks of further questions on these documents, not of others."


def _by_length(by: str, lengths: Sequence[int | None], unit: str) -> list[Part]:
    """Return parts of about as many questions each, from the shortest on; equal lengths are in the same part."""
    known = np.array([row for row, length in enumerate(lengths) if length is not None], dtype=np.int64)
    numbers = np.array([length for length in lengths if length is not None], dtype=np.int64)
    if not len(numbers) or numbers.min() == numbers.max():
        return []
    cuts = np.unique(np.quantile(numbers, np.arange(1, GROUPS) / GROUPS, method="higher"))
    group = np.searchsorted(cuts, numbers, side="right")
    parts = []
    for place in np.unique(group):
        low, high = int(numbers[group == place].min()), int(numbers[group == place].max())
        name = f"{low:,} {unit}" if low == high else f"{low:,} to {high:,} {unit}"
        parts.append(Part(by, name, known[group == place]))
    return parts if len(parts) > 1 else []


def _measured(part: Part, pair: Paired) -> Slice:
    values, clusters = pair.values[:, part.rows], pair.clusters.take(part.rows)
    means = values.mean(axis=1)
    found = Slice(part, len(part.rows), clusters.count, float(means[0]), float(means[1]))
    if len(part.rows) < SMALL:
        return found
    [measured] = paired_differences(differences(values)[:, None], clusters)
    return replace(found, difference=measured)
