"""What pages read from the store, kept as long as what they show has not changed."""

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
    os.umask(0o077)  # what is kept is for this user alone
    return open_workspace()


class State(NamedTuple):
    """What a page shows (ids), and how often that was changed so far: what is kept of it is keyed by this.

    Every argument of a cached function is part of its key: Streamlit leaves out those that begin with an underscore.
    """

    store: str
    ids: tuple[str, ...]
    revisions: tuple[int, ...]


def state(*ids: str) -> State:
    """State of corpora, indexes, question sets or runs now: one look-up by key, for every drawing of a page."""
    store = workspace().store
    return State(store.address, ids, store.revisions(*ids))


def summary(run: Run, k: int | None = None) -> Summary:
    """What a run measured at `k` (default: its own), computed once."""
    return _summary(state(run.id), k or run.config.k)


@st.cache_data(show_spinner="Measuring", max_entries=64)
def _summary(of: State, k: int) -> Summary:
    return measurements.summary_of(workspace(), workspace().store.run(of.ids[0]), k)


def documents_of(run: Run) -> dict[str, Sequence[str]]:
    """Names of the documents in which the evidence of each question of a run stands, by question id."""
    return _documents_of(state(run.id, run.corpus_id))


@st.cache_data(show_spinner=False, max_entries=64)
def _documents_of(of: State) -> dict[str, Sequence[str]]:
    store, (run_id, corpus_id) = workspace().store, of.ids
    names = {d.id: d.name for d in store.documents(corpus_id, replaced=True)}
    return {
        q.id: list(dict.fromkeys(names.get(s.document_id, "(deleted)") for group in q.evidence for s in group))
        for q in store.asked(run_id)
    }


def breakdown(run: Run, k: int) -> list[Slice]:
    """Every mean of a run at `k`: over all questions, per kind, and per document."""
    return _breakdown(state(run.id, run.corpus_id), k)


@st.cache_data(show_spinner="Measuring per kind and document", max_entries=32)
def _breakdown(of: State, k: int) -> list[Slice]:
    run = workspace().store.run(of.ids[0])
    asked = [question for question, _ in answered(run).values()]
    return evaluate.breakdown(summary(run, k), judgement(run).scores, asked, documents_of(run), seed=run.config.seed)


def answered(run: Run) -> dict[str, tuple[Question, Retrieved]]:
    """What a run asked and found, by question id, in order."""
    return _answered(state(run.id))


@st.cache_data(show_spinner=False, max_entries=16)
def _answered(of: State) -> dict[str, tuple[Question, Retrieved]]:
    store, run_id = workspace().store, of.ids[0]
    results = measurements.results_of(workspace(), store.run(run_id))
    pairs = zip(store.asked(run_id), results, strict=True)
    return {question.id: (question, found) for question, found in pairs}


def judgement(run: Run) -> judgements.Judgement:
    """What became of a run's answers, summed up once; shared by all sessions, and not to be changed."""
    return _judgement(state(run.id))


@st.cache_resource(show_spinner="Reading what was judged", max_entries=8)
def _judgement(of: State) -> judgements.Judgement:
    return judgements.judgement_of(workspace(), workspace().store.run(of.ids[0]))
