"""What the pages read from the store, cached as long as it has not changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from ragviz.analysis import evaluate
from ragviz.analysis.evaluate import Slice, Summary
from ragviz.records import Question, Retrieved, Run
from ragviz.runs import judgements, measurements
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
    return measurements.summary_of(workspace(), workspace().store.run(of.ids[0]), k)


def documents_of(run: Run) -> dict[str, Sequence[str]]:
    """Return the names of the documents that hold the evidence of each question of a run, by question id."""
    return _documents_of(state(run.id, run.corpus_id))


@st.cache_data(show_spinner=False, max_entries=64)
def _documents_of(of: State) -> dict[str, Sequence[str]]:
    store, (run_id, corpus_id) = workspace().store, of.ids
    names = {d.id: d.name for d in store.documents(corpus_id, replaced=True)}
    return {
        q.id: list(dict.fromkeys(names.get(s.document_id, "(deleted)") for group in q.evidence for s in group))
        for q in store.run_questions(run_id)
    }


def breakdown(run: Run, k: int) -> list[Slice]:
    """Return every mean of a run at `k`: over all questions, by kind, and by document."""
    return _breakdown(state(run.id, run.corpus_id), k)


@st.cache_data(show_spinner="Measuring by kind and document", max_entries=32)
def _breakdown(of: State, k: int) -> list[Slice]:
    run = workspace().store.run(of.ids[0])
    questions = [question for question, _ in retrievals(run).values()]
    return evaluate.breakdown(
        summary(run, k), judgement(run).scores, questions, documents_of(run), seed=run.config.seed
    )


def retrievals(run: Run) -> dict[str, tuple[Question, Retrieved]]:
    """Return every question of a run with what was retrieved for it, by question id, in order."""
    return _retrievals(state(run.id))


@st.cache_data(show_spinner=False, max_entries=16)
def _retrievals(of: State) -> dict[str, tuple[Question, Retrieved]]:
    store, run_id = workspace().store, of.ids[0]
    results = measurements.results_of(workspace(), store.run(run_id))
    pairs = zip(store.run_questions(run_id), results, strict=True)
    return {question.id: (question, retrieved) for question, retrieved in pairs}


def judgement(run: Run) -> judgements.Judgement:
    """Return the evaluated answers of a run and their summary; shared by all sessions, so never to be changed."""
    return _judgement(state(run.id))


@st.cache_resource(show_spinner="Reading the judgements", max_entries=8)
def _judgement(of: State) -> judgements.Judgement:
    return judgements.judgement_of(workspace(), workspace().store.run(of.ids[0]))
