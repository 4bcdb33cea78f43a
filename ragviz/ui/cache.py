"""What the pages read from the store, cached as long as it has not changed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import streamlit as st

from ragviz.analysis import evaluate
from ragviz.analysis.compare import Comparison
from ragviz.analysis.evaluate import Band, Slice, Summary
from ragviz.analysis.losses import Losses
from ragviz.analysis.pooled import Pooled
from ragviz.analysis.rescue import Rescue
from ragviz.analysis.ties import Price
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.runs import (
    alternatives,
    comparisons,
    expenses,
    judgements,
    measurements,
    moved_questions,
    replays,
    summaries,
    verdicts,
)
from ragviz.runs.overviews import Overview
from ragviz.store.codecs import StoredQuestion
from ragviz.text.former_documents import UNKNOWN
from ragviz.workspace import Workspace, open_workspace


@st.cache_resource(show_spinner=False)
def workspace() -> Workspace:
    """Open what the environment configures, once for all sessions of this server."""
    os.umask(0o077)  # files are readable by this user only
    return open_workspace()


class State(NamedTuple):
    """The ids of what a page shows, and how often each was changed so far: the key of what is cached of it.

    Every argument of a cached function is part of its key, but for those whose names begin with an underscore.
    """

    store: str
    ids: tuple[str, ...]
    revisions: tuple[int, ...]


def state(*ids: str) -> State:
    """Return the present state of corpora, indexes, question sets or runs, by one query on their keys."""
    store = workspace().store
    return State(store.address, ids, store.revisions(*ids))


Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")
OfRun = Callable[Concatenate[Run, Arguments], Made]


def _of_run(
    kept: int, spinner: str | bool = False, *, corpus: bool = False
) -> Callable[[OfRun[Arguments, Made]], OfRun[Arguments, Made]]:
    """Cache what a function makes of a run as long as the run has not changed, with `corpus` its corpus neither.

    It is called with the run and further arguments, as it is declared; of all sessions `kept` results are kept, which
    they share: what it returns is never to be changed.
    """

    def decorated(make: OfRun[Arguments, Made]) -> OfRun[Arguments, Made]:
        @st.cache_resource(show_spinner=spinner, max_entries=kept)
        @wraps(make)  # Streamlit tells cached functions from each other by their names and their source
        def made(of: State, *args: Arguments.args, **named: Arguments.kwargs) -> Made:
            with _without_collection():
                return make(workspace().store.runs.get(of.ids[0]), *args, **named)

        @wraps(make)
        def found(run: Run, /, *args: Arguments.args, **named: Arguments.kwargs) -> Made:
            ids = (run.id, run.corpus_id) if corpus else (run.id,)
            return made(state(*ids), *args, **named)

        return found

    return decorated


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no cyclic garbage while the body reads a run: it makes none, and looking takes as long as reading.

    Of several sessions that read at once, the first to begin ends it for all.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# A run


@_of_run(16, "Reading the run")
def overview(run: Run) -> Overview:
    """Return what the first screen of a run shows."""
    return summaries.overview(workspace(), run)


def summary(run: Run, k: int | None = None) -> Summary:
    """Return the ranking metrics of a run at `k` (default: its own); shared by all sessions, so never to be changed."""
    return overview(run).summary if k is None or k == run.config.k else _summary(run, k)


@_of_run(64, "Measuring")
def _summary(run: Run, k: int) -> Summary:
    pairs = list(zip(questions(run).values(), retrieved(run).values(), strict=True))
    return measurements.summary_of(workspace(), run, k, retrieved=pairs)


@_of_run(16)
def questions(run: Run) -> dict[str, Question]:
    """Return every question of a run, by id, in order."""
    return {question.id: question for question in workspace().store.rankings.questions(run.id)}


def kinds(run: Run) -> dict[str, str]:
    """Return the kinds of a run's questions, by id."""
    return {question_id: question.kind for question_id, question in questions(run).items()}


@_of_run(64, corpus=True)
def documents_of(run: Run) -> dict[str, Sequence[str]]:
    """Return the names of the documents that hold the evidence of each question of a run, by question id."""
    names = workspace().store.documents.names(run.corpus_id)
    return {
        q.id: list(dict.fromkeys(names.get(s.document_id, UNKNOWN) for group in q.evidence for s in group))
        for q in questions(run).values()
    }


@_of_run(64, "Measuring by kind and document", corpus=True)
def breakdown(run: Run, k: int, by: tuple[evaluate.Part, ...], names: tuple[str, ...] | None = None) -> list[Slice]:
    """Return means of a run at `k` over the parts `by`: of the metrics `names` ("recall@3", "faithfulness"), or all."""
    shown = [name for name in judgement(run).metrics if names is None or name in names]
    return evaluate.breakdown(
        summary(run, k),
        {name: scores(run, name) for name in shown},
        list(questions(run).values()),
        documents_of(run),
        seed=run.config.seed,
        names=names,
        by=by,
    )


@_of_run(16)
def retrieved(run: Run) -> dict[str, Retrieved]:
    """Return what a run retrieved for every question, by question id, in order."""
    return {result.question_id: result for result in measurements.results_of(workspace(), run)}


@_of_run(256)
def retrieved_for(run: Run, question_id: str) -> Retrieved:
    """Return what a run retrieved for a question of it."""
    [result] = measurements.results_of(workspace(), run, [question_id])
    return result


def price(run: Run, k: int) -> Price:
    """Return what a run takes for a question: the tokens of its first `k` chunks, its dollars and seconds."""
    return expenses.price_of(run, overview(run), k)


def judgement(run: Run) -> judgements.Judgement:
    """Return the judgement of a run's answers at its own k; shared by all sessions, so never to be changed."""
    return overview(run).judgement


@_of_run(8, "Reading the answers")
def evaluated(run: Run) -> dict[str, EvaluatedAnswer]:
    """Return every evaluated answer of a run, by question id."""
    return workspace().store.judgements.of(run.id, list(questions(run).values()), workspace().settings.keys)


@_of_run(256)
def evaluated_to(run: Run, question_id: str) -> EvaluatedAnswer | None:
    """Return the evaluated answer of a run to a question; None when it has none."""
    opened = workspace()
    return opened.store.judgements.all(run.id, [question_id], keys=opened.settings.keys).get(question_id)


@_of_run(64)
def scores(run: Run, metric: str) -> dict[str, Score]:
    """Return the scores of a run's answers by a metric, by question id."""
    return measurements.scores_of(workspace(), run, metrics=[metric]).get(metric, {})


@_of_run(256)
def scores_of(run: Run, question_id: str) -> dict[str, Score]:
    """Return the scores of a run's answer to a question, by metric."""
    by_metric = measurements.scores_of(workspace(), run, question_id=question_id)
    return {metric: by_question[question_id] for metric, by_question in by_metric.items()}


@_of_run(64)
def causes(run: Run, k: int) -> Mapping[str, str]:
    """Return the cause of every question of a run at `k` (see `judgements.causes_at`), by question id."""
    return moved_questions.causes_of(run, k, SOURCES)


@_of_run(64)
def lost(run: Run, k: int) -> Losses:
    """Return what a run lost at `k` (see `judgements.losses_at`)."""
    return judgements.losses_at(run, causes(run, k), kinds(run), set(summary(run, k).question_ids), k)


def pooled(run: Run, k: int) -> Pooled | None:
    """Return what pooled verdicts tell of a run at `k`; None where there are none."""
    others = [each.id for each in workspace().store.runs.all(run.corpus_id) if each.id != run.id]
    return _pooled(state(run.id, *others), k)


@st.cache_resource(show_spinner="Reading the verdicts", max_entries=64)
def _pooled(of: State, k: int) -> Pooled | None:
    run = workspace().store.runs.get(of.ids[0])
    pairs = list(zip(questions(run).values(), retrieved(run).values(), strict=True))
    return verdicts.pooled_of(workspace(), run, k, retrieved=pairs)


# Runs compared


@st.cache_resource(show_spinner="Comparing", max_entries=32)
def comparison(of: State, k: int) -> Comparison:
    """Return the comparison at `k` of the runs whose state is `of`, the first of which is the baseline.

    Shared by all sessions, so never to be changed.
    """
    runs = [workspace().store.runs.get(run_id) for run_id in of.ids]
    return comparisons.compare_runs(workspace(), runs, k, sources=SOURCES)


@st.cache_resource(show_spinner=False, max_entries=32)
def compared_curves(of: State, k: int) -> list[dict[str, Band]]:
    """Return the curves of the runs whose state is `of` over the questions compared, for each run by metric.

    Shared by all sessions, so never to be changed.
    """
    runs = [workspace().store.runs.get(run_id) for run_id in of.ids]
    return comparisons.curves(workspace(), runs, comparison(of, k), SOURCES)


SOURCES = comparisons.Sources(
    overview, lambda run: list(retrieved(run).values()), lambda run: list(questions(run).values())
)
"""What is compared is read through the caches."""


# Questions of a set


def questions_in(set_id: str) -> list[Question]:
    """Return all questions of a set, in order; shared by all sessions, so never to be changed."""
    return _questions_in(state(set_id))


@st.cache_resource(show_spinner="Reading the questions", max_entries=8)
def _questions_in(of: State) -> list[Question]:
    read = _read_last(of.store, of.ids[0])
    with _without_collection():
        read.questions = workspace().store.questions.decoded(of.ids[0], read.questions)
    return [stored.question for stored in read.questions.values()]


@dataclass(slots=True)
class _Read:
    """The questions of a set as they were read last, by id."""

    questions: Mapping[str, StoredQuestion] = field(default_factory=dict)


@st.cache_resource(show_spinner=False, max_entries=8)
def _read_last(store: str, set_id: str) -> _Read:
    """Return what was read of a set last, of which a read of its next state decodes only what has changed since."""
    return _Read()


# What would rescue lost questions


def combination(run: Run, k: int) -> replays.Combination:
    """Return what is known of the changes that a run's questions can be replayed with, together too, at `k`.

    Nothing is searched.
    """
    of = _changes_state(run)
    return _combination(of, _held(of), k)


def rescue(run: Run, k: int) -> Rescue:
    """Return what every change that is known would rescue and break of a run of which `k` chunks are kept."""
    of = _changes_state(run)
    return _rescue(of, _held(of), k)


def foreseen(run: Run, k: int, effort: alternatives.Effort) -> alternatives.Foreseen:
    """Return what replaying the changes of one effort that are not replayed yet would take."""
    columns = combination(run, k).columns
    return alternatives.foresee(workspace(), columns.changes, columns.missing(effort))


def _changes_state(run: Run) -> State:
    """Return the state of a run and of all that its questions can be replayed with."""
    store = workspace().store
    others = [index.id for index in store.indexes.all(run.corpus_id)]
    others += [each.id for each in store.runs.all(run.corpus_id) if each.id != run.id]
    return state(run.id, run.corpus_id, run.config.questions, *others)


def _held(of: State) -> frozenset[str]:
    return frozenset(replays.stored_replays(workspace(), _changes(of)))


@st.cache_resource(show_spinner="Looking for what can be tried", max_entries=16)
def _changes(of: State) -> alternatives.Changes:
    opened, run = workspace(), workspace().store.runs.get(of.ids[0])
    return alternatives.changes_of(opened, run, _asked(state(run.id, run.config.questions)))


@st.cache_resource(show_spinner=False, max_entries=16)
def _asked(of: State) -> alternatives.Asked:
    with _without_collection():
        return alternatives.asked_by(workspace(), workspace().store.runs.get(of.ids[0]))


@st.cache_resource(show_spinner="Reading the other runs", max_entries=16)
def _replay_columns(of: State, held: frozenset[str]) -> replays.Columns:
    opened, run, changes = workspace(), workspace().store.runs.get(of.ids[0]), _changes(of)
    return replays.columns_of(opened, run, changes, lambda each: _measured(state(each.id)))


@st.cache_resource(show_spinner=False, max_entries=64)
def _measured(of: State) -> replays.Measured:
    return replays.measured_by(workspace(), workspace().store.runs.get(of.ids[0]))


@st.cache_resource(show_spinner=False, max_entries=64)
def _combination(of: State, held: frozenset[str], k: int) -> replays.Combination:
    columns = _replay_columns(of, held)
    return replays.combination(workspace(), columns, k, lambda each: _measured(state(each.id)))


@st.cache_resource(show_spinner=False, max_entries=64)
def _rescue(of: State, held: frozenset[str], k: int) -> Rescue:
    return replays.rescue(_combination(of, held, k).columns, k)
