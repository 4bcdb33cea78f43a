"""What a question set asks about and what its documents hold, and so what it can and cannot notice, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragviz.core.index_info import IndexInfo
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.run_info import Run
from ragviz.health import material
from ragviz.health.material import Material
from ragviz.health.places import KINDS, Kinds
from ragviz.metrics.registry import label
from ragviz.questions.question_types import TYPE_TITLES
from ragviz.runs import measurements
from ragviz.stats import power
from ragviz.stats.differences import paired_differences
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

LISTED = 3
"""Documents that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Places:
    """A kind of places of the documents (`places.KINDS`): how many, their share of the text, questions about them.

    A question is about them where at least half of a piece of its evidence stands in one, or its type asks for them.
    """

    kind: str
    count: int
    share: float
    questions: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What a set asks of what its documents hold.

    `unasked` names the documents that no question is about. `types` counts the questions of each type, "" those of
    which nobody said it; `places` are the kinds of places that the documents hold, in order.
    `unanswerable` counts questions that no document answers. `noticed` is the smallest difference in
    `metric` that two runs like the newest show with a power of 80 %, None where fewer than two runs are known.
    """

    questions: int
    documents: int
    unasked: tuple[str, ...]
    chunks: int
    asked_chunks: int
    types: Mapping[str, int] = field(default_factory=dict)
    places: tuple[Places, ...] = ()
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
        tuple(area.name for area in read.documents if not area.questions),
        index.chunks if index is not None and read.index else 0,
        len({chunk_id for subject in read.subjects for chunk_id in subject.gold_chunks}),
        dict(Counter(subject.question.type for subject in read.subjects)),
        places_of(workspace, question_set.corpus_id, [subject.question for subject in read.subjects]),
        sum(subject.question.kind == "unanswerable" for subject in read.subjects),
        noticed,
        metric,
    )


def places_of(workspace: Workspace, corpus_id: str, questions: Sequence[Question]) -> tuple[Places, ...]:
    """Count the places of each kind in a corpus's documents, and the questions about them; kinds without any not."""
    kinds = Kinds(questions)
    documents = [d.id for d in workspace.store.documents.all(corpus_id) if d.status == "ok"]
    for document in workspace.store.documents.texts(corpus_id, documents):
        kinds.read(document)
    return tuple(
        Places(name, asked.places, kinds.share(name), len(asked.questions))
        for name, asked in kinds.asked.items()
        if asked.places
    )


def sensitivity(workspace: Workspace, runs: Sequence[Run]) -> tuple[float | None, str]:
    """Return the smallest difference that the two newest ways of ranking would show, and in what metric.

    It is recall at the k of the newest run, as its headline is, where the other ranked so deep.
    """
    newest = material.ways(runs)[:2]
    if len(newest) < 2:
        return None, ""
    k = min(newest[0].config.k, newest[1].config.depth)
    first, second = (measurements.summary_of(workspace, run, k, curves=False) for run in newest)
    places = {question_id: row for row, question_id in enumerate(second.question_ids)}
    rows = [(row, places[i]) for row, i in enumerate(first.question_ids) if i in places]
    if not rows:
        return None, ""
    name = label("recall", k)
    differences = np.array([[second.scores[name][right] - first.scores[name][left]] for left, right in rows])
    [difference] = paired_differences(differences, first.clusters.take([left for left, _ in rows]))
    return power.detectable(difference), name


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
    if blind := list(_blind(contents)):
        told.append(f"It cannot notice {'; '.join(blind)}.")
    if not contents.unanswerable:
        told.append("It has no unanswerable question: answers that are made up go unnoticed.")
    return tuple(told)


def _blind(contents: Contents) -> Iterator[str]:
    """Say what is not asked about: places of documents by kind, with how much of the text they are, and documents."""
    for places in contents.places:
        kind = KINDS[places.kind]
        asks = f" or asks for a {TYPE_TITLES[kind.asked_by]}" if kind.asked_by else ""
        if not places.questions:
            yield (
                f"anything in {kind.title}: the documents hold {places.count:,}, "
                f"and no question has evidence in one{asks} ({_percent(places.share)} of their text)"
            )
    if contents.unasked:
        more = f" and {len(contents.unasked) - LISTED:,} more" if len(contents.unasked) > LISTED else ""
        yield f"a change in {', '.join(contents.unasked[:LISTED])}{more}, which no question is about"


def places_words(contents: Contents) -> str:
    """Say of each kind of places how much of the documents it is, and how many questions are about it."""
    told = " · ".join(
        f"{KINDS[each.kind].title} {_percent(each.share)} of the text: {counted(each.questions, 'question')}"
        for each in contents.places
    )
    overlap = sum(each.share for each in contents.places) > 1.005
    return f"{told} (kinds overlap: a definition may stand in a list)" if overlap else told


def _percent(share: float) -> str:
    """Write a share in percent.

    >>> _percent(0.257), _percent(0.004), _percent(0)
    ('26 %', 'less than 1 %', '0 %')
    """
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def types_words(contents: Contents) -> str:
    """Count the questions of each type, the most frequent first; "" where nobody said any."""
    typed = sorted(((count, name) for name, count in contents.types.items() if name), reverse=True)
    return ", ".join(f"{count:,} {TYPE_TITLES.get(name, name)}" for count, name in typed)
