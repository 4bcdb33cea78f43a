"""What the pages read from the store, cached as long as it has not changed."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import streamlit as st

from ragviz.analysis import evaluate
from ragviz.analysis.compare import Comparison
from ragviz.analysis.doubts import Doubt
from ragviz.analysis.evaluate import Slice, Summary
from ragviz.analysis.losses import Losses
from ragviz.records import Question, Retrieved, Run
from ragviz.runs import judgements, measurements, summaries
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


def summary(run: Run, k: int | None = None) -> Summary:
    """Return the ranking metrics of a run at `k` (default: its own)."""
    return _summary(state(run.id), k or run.config.k)


@st.cache_data(show_spinner="Measuring", max_entries=64)
def _summary(of: State, k: int) -> Summary:
    run = workspace().store.run(of.ids[0])
    return measurements.summary_of(workspace(), run, k, retrieved=list(retrievals(run).values()))


def documents_of(run: Run) -> dict[str, Sequence[str]]:
    """Return the names of the documents that hold the evidence of each question of a run, by question id.

    Shared by all sessions, so never to be changed.
    """
    return _documents_of(state(run.id, run.corpus_id))


@st.cache_resource(show_spinner=False, max_entries=64)
def _documents_of(of: State) -> dict[str, Sequence[str]]:
    store, (run_id, corpus_id) = workspace().store, of.ids
    names = {d.id: d.name for d in store.documents(corpus_id, replaced=True)}
    return {
        q.id: list(dict.fromkeys(names.get(s.document_id, "(deleted)") for group in q.evidence for s in group))
        for q, _ in retrievals(store.run(run_id)).values()
    }


def breakdown(run: Run, k: int, by: tuple[evaluate.Part, ...], names: tuple[str, ...] | None = None) -> list[Slice]:
    """Return means of a run at `k` over the parts `by`: of the metrics `names` ("recall@3", "faithfulness"), or all."""
    return _breakdown(state(run.id, run.corpus_id), k, by, names)


@st.cache_data(show_spinner="Measuring by kind and document", max_entries=64)
def _breakdown(of: State, k: int, by: tuple[evaluate.Part, ...], names: tuple[str, ...] | None) -> list[Slice]:
    run = workspace().store.run(of.ids[0])
    questions = [question for question, _ in retrievals(run).values()]
    return evaluate.breakdown(
        summary(run, k),
        judgement(run).scores,
        questions,
        documents_of(run),
        seed=run.config.seed,
        names=names,
        by=by,
    )


def retrievals(run: Run) -> dict[str, tuple[Question, Retrieved]]:
    """Return every question of a run with what was retrieved for it, by question id, in order.

    Shared by all sessions, so never to be changed: a copy of 10,000 rankings for each of them takes seconds.
    """
    return _retrievals(state(run.id))


@st.cache_resource(show_spinner=False, max_entries=16)
def _retrievals(of: State) -> dict[str, tuple[Question, Retrieved]]:
    store, run_id = workspace().store, of.ids[0]
    with _without_collection():
        results = measurements.results_of(workspace(), store.run(run_id))
        pairs = zip(store.run_questions(run_id), results, strict=True)
    return {question.id: (question, retrieved) for question, retrieved in pairs}


@st.cache_data(show_spinner="Comparing", max_entries=32)
def comparison(of: State, k: int) -> Comparison:
    """Return the comparison at `k` of the runs whose state is `of`, the first of which is the baseline."""
    return measurements.compare_runs(workspace(), [workspace().store.run(run_id) for run_id in of.ids], k)


def judgement(run: Run) -> judgements.Judgement:
    """Return the evaluated answers of a run and their summary; shared by all sessions, so never to be changed."""
    return _judgement(state(run.id))


@st.cache_resource(show_spinner="Reading the judgements", max_entries=8)
def _judgement(of: State) -> judgements.Judgement:
    run = workspace().store.run(of.ids[0])
    retrieved = list(retrievals(run).values())
    known = summaries.known_estimates(workspace(), run)
    with _without_collection():
        return judgements.judgement_of(workspace(), run, retrieved=retrieved, known=known)


@st.cache_resource(show_spinner=False, max_entries=64)
def doubts(of: State) -> list[Doubt]:
    """Return the contradicted scores of the run whose state is `of` (see `Judgement.doubts`); never to be changed."""
    return judgement(workspace().store.run(of.ids[0])).doubts


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


def causes(run: Run, k: int) -> Mapping[str, str]:
    """Return the cause of every question of a run at `k` (see `judgements.causes_at`), by question id."""
    return _causes(state(run.id), k)


@st.cache_resource(show_spinner=False, max_entries=64)
def _causes(of: State, k: int) -> Mapping[str, str]:
    run = workspace().store.run(of.ids[0])
    pairs = retrievals(run).values()
    return judgements.causes_at(run, judgement(run), [q for q, _ in pairs], [r for _, r in pairs], k)


def lost(run: Run, k: int) -> Losses:
    """Return what a run lost at `k` (see `judgements.losses_at`)."""
    return _lost(state(run.id), k)


@st.cache_data(show_spinner=False, max_entries=64)
def _lost(of: State, k: int) -> Losses:
    run = workspace().store.run(of.ids[0])
    kinds = {question_id: question.kind for question_id, (question, _) in retrievals(run).items()}
    return judgements.losses_at(run, causes(run, k), kinds, set(summary(run, k).question_ids), k)
