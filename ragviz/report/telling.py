"""The questions that a report tells: one rescued, one broken, one still lost, chosen by a rule that it states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragviz.analysis import abstention
from ragviz.analysis.compare import Comparison, outcomes
from ragviz.analysis.rescue import Rescue
from ragviz.analysis.rules import direction
from ragviz.core.configuration import Run
from ragviz.core.question import Question
from ragviz.metrics.registry import range_of, title_of
from ragviz.report.page import Part, Record, Text
from ragviz.retrieval import search
from ragviz.runs import judgements, measurements, overviews, replays, rescue_words
from ragviz.text.former_documents import UNKNOWN
from ragviz.text.markup import shortened
from ragviz.workspace import Workspace

SHOWN = 320
"""Characters of a chunk or an answer that are shown."""
MOST = 3
"""Chunks that are shown of a ranking, however large k is."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question that is told: its id, what became of it ("Rescued"), and a sentence that says more."""

    question_id: str
    title: str
    note: str = ""


COMPARED = (
    "One question that the change rescues, one that it breaks and one that is lost in both, where there are such: by "
    "{metric}, the greatest gain, the greatest loss, and the lowest value among those that are equal; of several, the "
    "first of the set."
)
REPLAYED = (
    "One question that the change with the greatest net gain would rescue, one that it would break, and one that no "
    "change tried would rescue, where there are such; of several, the first of the set. Changes are replayed on what "
    "is stored."
)


def compared(comparison: Comparison, run: int) -> list[Example]:
    """Return the questions to tell of run number `run` against the baseline, by the primary metric."""
    metric = comparison.rule.primary
    sides, name = outcomes(comparison, metric, run), title_of(metric)
    pair, sign = comparison.pair(metric, run), direction(metric)
    row = {question_id: place for place, question_id in enumerate(pair.question_ids)}
    baseline, values = pair.values

    def note(question_id: str) -> str:
        place = row[question_id]
        return f"{name} {baseline[place]:.2f} → {values[place]:.2f}."

    told = [
        Example(ids[0], title, note(ids[0])) for title, ids in (("Better", sides.won), ("Worse", sides.lost)) if ids
    ]
    low, high = range_of(metric)
    best = high if sign > 0 else low
    lost = [i for i in pair.question_ids if i in set(sides.tied) and abs(values[row[i]] - best) > 1e-9]
    if lost:
        worst = min(lost, key=lambda i: sign * values[row[i]])
        told.append(Example(worst, "Still lost", note(worst)))
    return told


def replayed(columns: replays.Columns, rescued: Rescue) -> list[Example]:
    """Return the questions to tell of one run by the changes that they were replayed with."""
    ids = [question.id for question in columns.changes.questions]
    told = []
    for row in rescued.rows[:1]:
        change = rescue_words.title(columns, row.replay.key)
        ranks = np.asarray(row.replay.ranks)
        for title, mask in (("Would be rescued", row.rescued), ("Would be broken", row.broken)):
            if mask.any():
                place = int(np.argmax(mask))
                after = f"at rank {ranks[place]}" if ranks[place] else "not found"
                told.append(Example(ids[place], title, f"By {change}: its evidence is then {after}."))
    if rescued.unrescued.any():
        told.append(Example(ids[int(np.argmax(rescued.unrescued))], "Lost, whatever was tried"))
    return told


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a ranking: rank and document, its beginning, and whether it is evidence."""

    title: str
    text: str
    gold: bool


@dataclass(frozen=True, slots=True)
class Side:
    """What one run made of a question: where its evidence is, its answer, its first chunks; `left` of k are not shown.

    `texts` are pairs of title and text.
    """

    name: str
    place: str
    texts: Sequence[tuple[str, str]] = ()
    chunks: Sequence[Chunk] = ()
    left: int = 0
    k: int = 0


@dataclass(frozen=True, slots=True)
class Case(Record):
    """A question that is told, with its reference and evidence, pairs of title and text, and a side for each run."""

    title: str
    question: str
    language: str
    note: str
    texts: Sequence[tuple[str, str]]
    sides: Sequence[Side]


def drawn(workspace: Workspace, runs: Sequence[Run], told: Sequence[Example], rule: str, k: int) -> list[Part]:
    """Return the questions, each with what every one of the runs made of it, and the rule by which they were chosen."""
    if not told:
        return ["No question is lost, and none is won or lost against another."]
    names = workspace.store.documents.names(runs[0].corpus_id)
    questions = {q.id: q for run in runs for q in workspace.store.rankings.questions(run.id)}
    whole = {run.id: overviews.overview(workspace, run) for run in runs}
    parts: list[Part] = [Text(rule)]
    for each in told:
        question = questions[each.question_id]
        none = "none" if question.open else "none: the documents do not answer it"
        texts = [("Reference answer", question.answer or none)]
        for group in () if question.open else question.evidence[:3]:
            texts += [
                (f"Evidence, in {names.get(span.document_id, UNKNOWN)}", shortened(span.text, SHOWN))
                for span in group[:1]
            ]
        sides = [_side(workspace, run, question, whole[run.id], k) for run in runs]
        parts.append(Case(each.title, question.text, question.language, each.note, texts, sides))
    return parts


def _side(workspace: Workspace, run: Run, question: Question, whole: overviews.Overview, k: int) -> Side:
    results = measurements.results_of(workspace, run, [question.id])
    if not results:
        return Side(run.name, "This run did not ask it.")
    gold = {chunk_id for group in results[0].gold for chunk_id in group}
    hits = search.with_chunks(workspace, run.corpus_id, results[0].ranking.hits()[: min(k, MOST)])
    evaluated = next(workspace.store.judgements.of(run.id, [question], workspace.settings.keys), None)
    texts = []
    if evaluated is not None and evaluated.recording.has_answer:
        answer = evaluated.recording
        texts = [(f"Answer, {abstention.STATUSES[answer.status]}", shortened(answer.answer or answer.reason, SHOWN))]
    chunks = [
        Chunk(
            f"{found.hit.rank}. {found.document_name}",
            shortened(found.chunk.text, SHOWN) if found.chunk else "(its document was removed)",
            found.hit.chunk_id in gold,
        )
        for found in hits
    ]
    left = min(k, len(results[0].ranking.ids)) - len(hits)
    return Side(run.name, _place_words(run, question, whole), texts, chunks, left, k)


def _place_words(run: Run, question: Question, whole: overviews.Overview) -> str:
    """Say at which rank the evidence is, and where the question was lost at the run's own k."""
    summary, words = whole.summary, ""
    if question.id in summary.question_ids:
        rank = int(summary.ranks[summary.question_ids.index(question.id)])
        words = f"Evidence at rank {rank}. " if rank else f"Evidence not in the first {summary.depth}. "
    cause = whole.judgement.causes.get(question.id)
    if not cause:
        return words
    meaning = judgements.meaning_of(run, cause, run.config.k, question=question, judgement=whole.judgement)
    return f"{words}{meaning.title}." + ("" if cause == "fine" else f" {meaning.explanation}")
