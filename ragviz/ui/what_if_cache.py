"""What the tab *What if* reads and computes, cached as long as the runs and the index behind it have not changed."""

from __future__ import annotations

import streamlit as st

from ragviz.analysis import risk_coverage, what_if
from ragviz.analysis.approximation import Losses
from ragviz.analysis.risk_coverage import Confidence, Curve
from ragviz.analysis.what_if import Choices, Effect, Reading
from ragviz.core.errors import UsageError
from ragviz.core.run_info import Run
from ragviz.runs import searched_again
from ragviz.runs import what_if_of_run as what_ifs
from ragviz.runs.searched_again import Part
from ragviz.runs.what_if_of_run import Risk, StoredRankings
from ragviz.ui import cache
from ragviz.ui.cache import State


def stored(run: Run) -> StoredRankings:
    """Return what is read of a run for any choices; shared by all sessions, so never to be changed."""
    return _stored(*_state(run))


def reading(run: Run, constant: int) -> Reading:
    """Return the rankings of a run at a constant of its fusion; never to be changed."""
    return _reading(*_state(run), constant)


def effects(run: Run, choices: Choices, constant: int) -> dict[str, Effect]:
    """Return what other choices would measure, against the run's own."""
    return _effects(*_state(run), choices, constant)


def cut(run: Run, choices: Choices, constant: int) -> int:
    """Return how many questions lose chunks to the budget."""
    return what_if.shortened(reading(run, constant), choices)


def risk(run: Run, k: int, by: Confidence) -> tuple[Risk, Curve | None, str]:
    """Return the questions as the risk–coverage curve counts them, and the curve; None with the reason."""
    return _risk(cache.state(run.id, run.config.questions), k, by)


def losses(run: Run, k: int) -> tuple[Losses, tuple[str, ...]] | None:
    """Return what the approximate search misses, None when exact search was not made yet."""
    return _losses(*_state(run), k)


def refusal(run: Run, part: Part) -> str:
    """Say why a part cannot be searched for again; "" when it can."""
    return _refusal(_state(run)[0], part)


def _state(run: Run) -> tuple[State, frozenset[str]]:
    """Return the state of a run, its index, and the other runs, whose rankings may be those that it fuses.

    With the keys of the parts that were searched for and kept.
    """
    store = cache.workspace().store
    others = [each.id for each in store.runs.all(run.corpus_id) if each.id != run.id]
    of = cache.state(run.id, run.corpus_id, run.config.index, *others)
    return of, frozenset(store.cache("replay").held(list(_keys(of).values())))


@st.cache_resource(show_spinner=False, max_entries=32)
def _keys(of: State) -> dict[Part, str]:
    run = _run(of)
    asked = [question for question in cache.questions(run).values() if question.evidence]
    return searched_again.keys(cache.workspace(), run, asked)


def _run(of: State) -> Run:
    return cache.workspace().store.runs.get(of.ids[0])


@st.cache_resource(show_spinner="Reading the rankings", max_entries=8)
def _stored(of: State, kept: frozenset[str]) -> StoredRankings:
    run, results = _run(of), cache.retrieved(_run(of))
    pairs = [(each, results[each.id]) for each in cache.questions(run).values() if each.id in results]
    return what_ifs.stored_of(cache.workspace(), run, pairs)


@st.cache_resource(show_spinner=False, max_entries=16)
def _reading(of: State, kept: frozenset[str], constant: int) -> Reading:
    return what_ifs.reading_at(_stored(of, kept), constant)


@st.cache_data(show_spinner=False, max_entries=256)
def _effects(of: State, kept: frozenset[str], choices: Choices, constant: int) -> dict[str, Effect]:
    return what_ifs.effects(_stored(of, kept), choices, constant, _reading(of, kept, constant))


@st.cache_resource(show_spinner="Measuring risk against coverage", max_entries=16)
def _risk(of: State, k: int, by: Confidence) -> tuple[Risk, Curve | None, str]:
    run = _run(of)
    found = what_ifs.risk_of(cache.workspace(), stored(run), cache.judgement(run), k, by)
    try:
        return found, risk_coverage.curve(found.cases, seed=run.config.seed), ""
    except UsageError as error:
        return found, None, str(error)


@st.cache_resource(show_spinner=False, max_entries=16)
def _losses(of: State, kept: frozenset[str], k: int) -> tuple[Losses, tuple[str, ...]] | None:
    return what_ifs.losses(cache.workspace(), _stored(of, kept), k)


@st.cache_data(show_spinner=False, max_entries=32)
def _refusal(of: State, part: Part) -> str:
    return searched_again.refusal(cache.workspace(), _run(of), part)
