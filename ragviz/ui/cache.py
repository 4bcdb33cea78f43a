"""What the pages read from the store, cached as long as it has not changed."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import streamlit as st

from ragviz.analysis import evaluate
from ragviz.analysis.compare import Comparison
from ragviz.analysis.evaluate import Band, Breakdown, Summary
from ragviz.analysis.rescue import Rescue
from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.digests import digest
from ragviz.core.document import Corpus
from ragviz.core.experiment import Experiment
from ragviz.core.garbage import without_collection
from ragviz.core.person import Person
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.experiments import findings
from ragviz.runs import alternatives, comparisons, measurements, moved_questions, overviews, replays
from ragviz.runs.judgements import AtK
from ragviz.runs.overviews import Overview
from ragviz.store.schema import StoredQuestion
from ragviz.text.former_documents import UNKNOWN
from ragviz.ui import sign_ins
from ragviz.workspace import Workspace, open_workspace

_opened: list[Workspace] = []
_typed: dict[str, dict[str, str]] = {}
"""Settings by person. Neither is in a cache of Streamlit: any browser can have those cleared."""
_opening = threading.Lock()


def machine() -> Workspace:
    """Open what the environment configures, once for all sessions of this server."""
    with _opening:
        if not _opened:
            os.umask(0o077)  # files are readable by this user only
            _opened.append(open_workspace())
        return _opened[0]


def workspace() -> Workspace:
    """Return what the person of this session works with.

    Raises:
        UsageError: nobody is signed in, where somebody has to be.

    """
    opened = machine()
    person = sign_ins.signed_in() or opened.person
    typed = typed_by(person)
    if person == opened.person and not typed:
        return opened
    return _of_person(opened, str(opened.settings.home), person, tuple(typed.items()))


@st.cache_resource(show_spinner=False, max_entries=64)
def _of_person(_opened: Workspace, home: str, person: Person, typed: tuple[tuple[str, str], ...]) -> Workspace:
    return _opened.acting(person, dict(typed))


def typed_by(person: Person) -> dict[str, str]:
    """Return the settings that a person typed, as values of variables, to be changed in place.

    Without a sign-in all who use this server are one person. They live as long as the server.
    """
    return _typed.setdefault(person.name, {})


class State(NamedTuple):
    """The ids of what a page shows, and how often each was changed so far.

    `store` names the model endpoint too: what others computed with theirs is not shown to a person with another one.
    """

    store: str
    ids: tuple[str, ...]
    revisions: tuple[int, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """What it is the state of."""
        return (self.store, *self.ids)


def state(*ids: str) -> State:
    """Return the present state of corpora, indexes, question sets or runs, by one query on their keys."""
    opened = workspace()
    settings, store = opened.settings, opened.store
    own = digest(*opened.typed.values())  # keys are taken out of what is shown
    endpoint = (settings.model, settings.judge, settings.openai_base_url, settings.model_configured, own)
    return State(f"{store.address} {endpoint}", ids, store.revisions(*ids))


Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")
RECORDS = {Run: "runs", QuestionSet: "sets", IndexInfo: "indexes", Corpus: "corpora", Experiment: "experiments"}
"""Records of the store → where they are read anew."""


def kept(
    most: int, spinner: str | bool = False, also: Callable[..., Iterable[str]] = lambda *_: ()
) -> Callable[[Callable[Arguments, Made]], Callable[Arguments, Made]]:
    """Cache what a function makes as long as none of the records it is given, nor what `also` returns, has changed.

    It is cached by the ids of records, what has a `key` by that, all else by its value, and made anew in its place when
    a record has changed: what is cached does not grow with the changes. `also` gets the positional arguments, and
    returns ids. Of all sessions `most` results are kept, which they share: never to be changed.
    """

    def decorated(make: Callable[Arguments, Made]) -> Callable[Arguments, Made]:
        def made(by: tuple[object, ...], _args: tuple[Any, ...], _named: dict[str, Any]) -> tuple[object, Made]:
            of = _wanted.get()
            with without_collection():
                return of, make(*map(_fresh, _args), **_named)

        made.__qualname__ = f"{inspect.getfile(make)} {make.__qualname__}"  # by which Streamlit tells them apart
        cached = st.cache_resource(
            show_spinner=spinner, max_entries=most, validate=lambda result: result[0] == _wanted.get()
        )(made)

        @wraps(make)
        def found(*args: Arguments.args, **named: Arguments.kwargs) -> Made:
            given: tuple[Any, ...] = args
            of = state(*[each.id for each in given if type(each) in RECORDS], *also(*args))
            by = [each.id if type(each) in RECORDS else getattr(each, "key", each) for each in given]
            _wanted.set((of, *[each for each in given if isinstance(each, State)]))
            return cached((of.store, *by, *named.items()), args, named)[1]

        return found

    return decorated


_wanted: ContextVar[tuple[State, ...]] = ContextVar("_wanted")
"""The states of which the function that is called now is to return what it makes."""


def _fresh(argument: Any) -> Any:
    """Return a record as it is now: what a page holds may have changed before its state was read."""
    place = RECORDS.get(type(argument))
    return argument if place is None else getattr(workspace().store, place).get(argument.id)


def freeze() -> None:
    """Leave what the pages hold for long (modules, what is kept of runs) out of the search for cyclic garbage.

    Streamlit searches after every run of a page and every poll, which else takes as long as a click. Where much was
    made since the last time, everything is searched once, so that no garbage is frozen for long. Objects are not listed
    to be counted: a tuple that another thread is filling must not be held by anyone else.
    """
    if sys.getallocatedblocks() - _blocks[-1] > _MANY:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        _blocks[:] = [sys.getallocatedblocks()]


_blocks = [0]
"""Blocks of memory when all was frozen last."""
_MANY = 150_000
"""Blocks, of which an object has some three; a run of a page makes some thousand objects."""


def _corpus(run: Run, *_: object) -> tuple[str]:
    return (run.corpus_id,)


# A run


@kept(16, "Reading the run")
def overview(run: Run) -> Overview:
    """Return what the first screen of a run shows."""
    return overviews.overview(workspace(), run)


def summary(run: Run, k: int | None = None) -> Summary:
    """Return the ranking metrics of a run at `k` (default: its own)."""
    return overview(run).summary if k is None or k == run.config.k else _summary(run, k)


@kept(64, "Measuring")
def _summary(run: Run, k: int) -> Summary:
    pairs = list(zip(questions(run).values(), retrieved(run).values(), strict=True))
    return overviews.summary_at(workspace(), run, k, whole=overview(run), retrieved=pairs)


@kept(16)
def questions(run: Run) -> dict[str, Question]:
    """Return every question of a run, by id, in order."""
    return {question_id: stored.question for question_id, stored in _decoded(run).items()}


@kept(16)
def _decoded(run: Run) -> dict[str, StoredQuestion]:
    return workspace().store.rankings.decoded(run.id)


@kept(16, also=_corpus)
def documents_of(run: Run) -> dict[str, Sequence[str]]:
    """Return the names of the documents that hold the evidence of each question of a run, by question id."""
    names = workspace().store.documents.names(run.corpus_id)
    return {
        q.id: list(dict.fromkeys(names.get(s.document_id, UNKNOWN) for s in q.spans)) for q in questions(run).values()
    }


@kept(16, "Measuring by kind and document", also=_corpus)
def breakdown(run: Run, k: int, by: tuple[evaluate.Part, ...], names: tuple[str, ...] | None = None) -> Breakdown:
    """Divide a run at `k` into the parts `by`: of the metrics `names` ("recall@3", "faithfulness"), or all."""
    return evaluate.breakdown(
        summary(run, k),
        overview(run).scores,
        list(questions(run).values()),
        documents_of(run),
        seed=run.config.seed,
        names=names,
        by=by,
    )


@kept(16)
def retrieved(run: Run) -> dict[str, Retrieved]:
    """Return what a run retrieved for every question, by question id, in order."""
    return {result.question_id: result for result in measurements.results_of(workspace(), run)}


@kept(256)
def retrieved_for(run: Run, question_id: str) -> Retrieved:
    """Return what a run retrieved for a question of it."""
    [result] = measurements.results_of(workspace(), run, [question_id])
    return result


@kept(8, "Reading the answers")
def evaluated(run: Run) -> dict[str, EvaluatedAnswer]:
    """Return every evaluated answer of a run, by question id."""
    evaluated = workspace().store.judgements.of(run.id, list(questions(run).values()), workspace().settings.keys)
    return {each.question.id: each for each in evaluated}


@kept(256)
def evaluated_to(run: Run, question_id: str) -> EvaluatedAnswer | None:
    """Return the evaluated answer of a run to a question; None when it has none."""
    opened = workspace()
    return opened.store.judgements.all(run.id, [question_id], keys=opened.settings.keys).get(question_id)


@kept(256)
def scores_of(run: Run, question_id: str) -> dict[str, Score]:
    """Return the scores of a run's answer to a question, by metric."""
    by_metric = measurements.scores_of(workspace(), run, question_id=question_id)
    return {metric: by_question[question_id] for metric, by_question in by_metric.items()}


@kept(16)
def causes(run: Run, k: int) -> Mapping[str, str]:
    """Return the cause of every question of a run at `k` (see `judgements.causes_at`), by question id."""
    return moved_questions.causes_of(run, k, SOURCES)


def at(run: Run, k: int) -> AtK:
    """Return a run at `k`: what it lost there, and the verdict on it."""
    whole = overview(run)
    return AtK(run, summary(run, k), whole.judgement, causes(run, k), whole.asked.kind_of)


# Runs compared


@kept(32, "Comparing")
def comparison(of: State, k: int, primary: str = "", effect: float | None = None) -> Comparison:
    """Return the comparison at `k` of the runs whose state is `of`, the first of which is the baseline."""
    runs = [workspace().store.runs.get(run_id) for run_id in of.ids]
    return comparisons.compare_runs(workspace(), runs, k, primary=primary, minimum_effect=effect, sources=SOURCES)


@kept(32)
def compared_curves(of: State, k: int) -> list[dict[str, Band]]:
    """Return the curves of the runs whose state is `of` over the questions compared, for each run by metric."""
    runs = [workspace().store.runs.get(run_id) for run_id in of.ids]
    return comparisons.curves(workspace(), runs, comparison(of, k), SOURCES)


SOURCES = comparisons.Sources(
    overview, lambda run: list(retrieved(run).values()), lambda run: list(questions(run).values())
)
"""What is compared is read through the caches."""


# Questions of a set


@kept(8, "Reading the questions")
def questions_in(question_set: QuestionSet) -> list[Question]:
    """Return all questions of a set, in order; of those read last, only what has changed since is decoded."""
    read = _read_last(workspace().store.address, question_set.id)
    read["last"] = workspace().store.questions.decoded(question_set.id, read.get("last", {}))
    return [stored.question for stored in read["last"].values()]


@st.cache_resource(show_spinner=False, max_entries=8)
def _read_last(store: str, set_id: str) -> dict[str, Mapping[str, StoredQuestion]]:
    return {}


# What would rescue lost questions


def replay_columns(run: Run) -> replays.Columns:
    """Return what is known of the changes that a run's questions can be replayed with; nothing is searched."""
    return _replay_columns(run, _held(run))


def rescue(run: Run, k: int) -> Rescue:
    """Return what every change that is known would rescue and break of a run of which `k` chunks are kept."""
    return _rescue(run, _held(run), k)


def _replayed_with(run: Run, *_: object) -> list[str]:
    indexes = [index.id for index in workspace().store.indexes.all(run.corpus_id)]
    runs = [each.id for each in workspace().store.runs.all(run.corpus_id) if each.id != run.id]
    return [run.corpus_id, run.config.questions, *indexes, *runs]


def _held(run: Run) -> frozenset[str]:
    return frozenset(replays.stored_replays(workspace(), _changes(run)))


@kept(16, "Looking for what can be tried", also=_replayed_with)
def _changes(run: Run) -> alternatives.Changes:
    return alternatives.changes_of(workspace(), run)


@kept(16, "Reading the other runs", also=_replayed_with)
def _replay_columns(run: Run, held: frozenset[str]) -> replays.Columns:
    return replays.columns_of(workspace(), run, _changes(run), overview)


@kept(16, also=_replayed_with)
def _rescue(run: Run, held: frozenset[str], k: int) -> Rescue:
    return replays.rescue(_replay_columns(run, held), k)


def runs_of(experiment: Experiment) -> list[str]:
    """Return the ids of the runs of an experiment, those of its confirmation last."""
    confirmation = experiment.confirmation
    runs = [cell.run_id for cell in experiment.cells if cell.run_id]
    return runs + ([confirmation.baseline_run, confirmation.chosen_run] if confirmation else [])


@kept(32, "Comparing", also=runs_of)
def outcome(experiment: Experiment) -> findings.Outcome:
    """Return everything that an experiment says now."""
    return findings.outcome_of(workspace(), experiment)
