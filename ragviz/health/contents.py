"""What a question set asks about and what its documents hold, and so what it can and cannot notice, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.question_set import QuestionSet
from ragviz.health import material
from ragviz.health.material import Material
from ragviz.metrics.registry import label
from ragviz.questions.question_types import TYPE_TITLES
from ragviz.runs import overviews
from ragviz.stats.differences import detectable, paired_differences
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

LISTED = 3
"""Documents that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a set asks of what its documents hold.

    `unasked` names the documents that no question is about. `types` counts the questions of each type, "" those of
    which nobody said it.
    `unanswerable` counts questions that no document answers. `noticed` is the smallest difference in
    `metric` that two runs like the newest show with a power of 80 %, None where fewer than two runs are known.
    """

    questions: int
    documents: int
    unasked: tuple[str, ...]
    chunks: int
    asked_chunks: int
    types: Mapping[str, int] = field(default_factory=dict)
    unanswerable: int = 0
    noticed: float | None = None
    metric: str = ""


def contents_of(
    workspace: Workspace, question_set: QuestionSet, read: Material, index: IndexInfo | None, runs: Sequence[Run]
) -> Contents:
    """Read what the documents hold, and what of it the questions ask."""
    noticed, metric = sensitivity(workspace, runs)
    return Contents(
        len(read.subjects),
        len(read.documents),
        tuple(name for name, count in read.documents.items() if not count),
        index.chunks if index is not None and read.index else 0,
        len({chunk_id for subject in read.subjects for chunk_id in subject.gold}),
        dict(Counter(subject.question.type for subject in read.subjects)),
        sum(subject.question.kind == "unanswerable" for subject in read.subjects),
        noticed,
        metric,
    )


def sensitivity(workspace: Workspace, runs: Sequence[Run]) -> tuple[float | None, str]:
    """Return the smallest difference that the two newest ways of ranking would show, and in what metric.

    It is recall at the k of the newest run, as its headline is, where the other ranked so deep.
    """
    newest = material.ways(runs)[:2]
    if len(newest) < 2:
        return None, ""
    k = min(newest[0].config.k, newest[1].config.depth)
    first, second = (overviews.summary_at(workspace, run, k) for run in newest)
    places = {question_id: row for row, question_id in enumerate(second.question_ids)}
    rows = [(row, places[i]) for row, i in enumerate(first.question_ids) if i in places]
    if not rows:
        return None, ""
    name = label("recall", k)
    differences = np.array([[second.scores[name][right] - first.scores[name][left]] for left, right in rows])
    [difference] = paired_differences(differences, first.clusters.take([left for left, _ in rows]))
    return detectable(difference), name


def verdict(contents: Contents) -> tuple[str, ...]:
    """Say what a set can and cannot notice, a sentence each, the most important first."""
    if not contents.questions:
        return ("No question of this set is asked: there is nothing that it could notice.",)
    asked, chunks = contents.documents - len(contents.unasked), ""
    if contents.chunks:
        share = contents.asked_chunks / contents.chunks
        chunks = f", in {contents.asked_chunks:,} of {contents.chunks:,} chunks ({share:.0%})"
    told = [f"It asks about {asked:,} of {counted(contents.documents, 'document')}{chunks}."]
    if contents.noticed is None:
        told.append(
            "How small a difference it notices is known once two runs of different configurations have asked it."
        )
    else:
        told.append(f"Between two runs it notices differences in {contents.metric} from about {contents.noticed:.2f}.")
    if contents.unasked:
        more = f" and {len(contents.unasked) - LISTED:,} more" if len(contents.unasked) > LISTED else ""
        listed = ", ".join(contents.unasked[:LISTED])
        told.append(f"It cannot notice a change in {listed}{more}, which no question is about.")
    if not contents.unanswerable:
        told.append("It has no unanswerable question: answers that are made up go unnoticed.")
    return tuple(told)


def types_words(contents: Contents) -> str:
    """Count the questions of each type, the most frequent first; "" where nobody said any."""
    typed = sorted(((count, name) for name, count in contents.types.items() if name), reverse=True)
    return ", ".join(f"{count:,} {TYPE_TITLES.get(name, name)}" for count, name in typed)
