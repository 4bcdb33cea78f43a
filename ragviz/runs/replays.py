"""The questions of a run replayed with other choices: what is stored already, what is computed, and kept."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import rescue as rescuing
from ragviz.errors import Cancelled, Deleted, RagvizError, SearchError, UsageError
from ragviz.metrics import ranking
from ragviz.records import IndexInfo, Progress, Question, Retrieved, Run, RunConfig, digest, silent
from ragviz.retrieval import rerankers, search
from ragviz.retrieval.retrievers import offered
from ragviz.runs import contexts, measurements, running, summaries
from ragviz.stats.clusters import Clusters
from ragviz.store.codecs import corpus_hash, questions_hash
from ragviz.workspace import Workspace

_VERSION = "1"
"""Version of what a stored replay holds and of the rule by which it is computed."""
BATCH = 100
"""Questions that are searched together."""


@dataclass(frozen=True, slots=True)
class Change:
    """One other choice for the questions of a run, `config`, at its own k.

    `index` is the name of the index that is searched. `runs` are those that were made so, whose rankings are stored;
    without any, `stored` is the key of the replay in the store's cache, and `timed` that of the time it takes, "" where
    the index is gone.
    """

    key: str
    kind: rescuing.ChangeKind
    config: RunConfig
    index: str
    runs: tuple[Run, ...] = ()
    stored: str = ""
    timed: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What can be tried with the questions of a run, a larger k apart.

    `questions` are those of the run with evidence, where it is now; `rebuilt` says that the index of the run was built
    anew since, `gone` that it was deleted; `others` counts the runs of the corpus that asked other questions. `timed`
    is the key of the time that the run's own choices take, "" where its index is not as it was. `paid` says that the
    run's reranker asks a model, so that nothing is replayed: that would be paid for.
    """

    questions: tuple[Question, ...]
    changes: tuple[Change, ...]
    rebuilt: bool
    gone: bool
    others: int
    timed: str = ""
    paid: bool = False

    def missing(self, held: Mapping[str, object] | set[str]) -> list[Change]:
        """Return the changes that no run and no stored replay tells of; `held` are the keys of the latter."""
        return [change for change in self.changes if not change.runs and change.stored not in held]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Ranks of the questions with evidence, (n,), and the tokens of the first k chunks on average, (depth,) or None.

    `milliseconds` are those of searching for a question when its vector is there, None where they were not measured.
    `clusters` joins the questions about the same documents; None where they are known from the run that is replayed.
    """

    ranks: NDArray[np.int64]
    tokens: NDArray[np.float64] | None
    milliseconds: float | None = None
    clusters: Clusters | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a run with evidence, where its set has them still with their evidence as it is now, and a hash.

    To read them takes longest of all, so they are kept apart from what other runs and indexes change.
    """

    questions: tuple[Question, ...]
    hash: str


def asked_by(workspace: Workspace, current: Run) -> Asked:
    """Return the questions of a run, to be replayed; raises as `changes_of`."""
    check(current)
    questions = _asked(workspace, current)
    return Asked(tuple(questions), questions_hash(questions))


def changes_of(workspace: Workspace, current: Run, asked: Asked | None = None) -> Changes:
    """Return what can be tried with the questions of a run: retrievers, indexes of the corpus, runs that exist.

    Nothing is searched; its questions are read unless `asked` holds them. Choices that a run was made with, of the same
    questions and an index in the same state, are that run's.

    Raises:
        UsageError: the rankings of the run cannot be measured, or it is not finished.

    """
    store, config = workspace.store, current.config
    asked = asked or asked_by(workspace, current)
    indexes = [info for info in store.indexes(current.corpus_id) if info.build]
    states = _states(workspace, indexes)
    same, others = _same_questions(store.runs(current.corpus_id), current)
    own = next((info for info in indexes if info.id == config.index), None)
    rebuilt = own is not None and not _made_on(current, own, states)
    targets = [("retriever", own, name) for name in _retrievers(own) if own and name != config.retriever]
    targets += [
        ("index", info, config.retriever)
        for info in indexes
        if config.retriever in _retrievers(info) and (info is not own or rebuilt)
    ]
    changes: list[Change] = []
    paid = bool(rerankers.model_of(config.reranker))
    counted = {id(run) for run in same if _choices_of(run) == _choices_of(current)}
    for kind, info, name in targets:
        assert info is not None
        new = replace(config, index=info.id, retriever=name)
        made = [run for run in same if _ranked_by(run.config) == _ranked_by(new) and _made_on(run, info, states)]
        counted.update(map(id, made))
        reranking = None if paid else _reranking(workspace, info, new)
        if reranking is None and not made:
            continue
        label = name if kind == "retriever" else info.name
        stored = "" if reranking is None else digest(_VERSION, *_searched(info, new), reranking, asked.hash)
        changes.append(Change(f"{kind}={label}", kind, new, info.name, tuple(made), stored, _timed_by(info, new)))  # type: ignore[arg-type]
    rest: dict[tuple[str, ...], list[Run]] = {}
    for run in same:
        if id(run) not in counted:
            rest.setdefault(_choices_of(run), []).append(run)
    for runs in rest.values():
        searched = next((each for each in indexes if _made_on(runs[0], each, states)), None)
        new = runs[0].config if searched is None else replace(runs[0].config, index=searched.id)
        timing = "" if searched is None else _timed_by(searched, new)
        name = runs[0].provenance["index"]
        changes.append(Change(f"run={runs[0].id}", "run", new, name, tuple(runs), timed=timing))
    timed = "" if own is None or rebuilt else _timed_by(own, config)
    return Changes(asked.questions, tuple(changes), rebuilt, own is None, others, timed, paid)


def _searched(info: IndexInfo, config: RunConfig) -> tuple[str, ...]:
    """Return what tells a search of an index from another, as parts of a key."""
    return (info.id, info.build, info.embedder_identity, *_ranked_by(config), str(config.depth))


def _timed_by(info: IndexInfo, config: RunConfig) -> str:
    """Return the key of the time that a search takes on this machine; "" with a reranker, which runs measure."""
    return "" if config.reranker != rerankers.NONE else digest("ms", socket.gethostname(), *_searched(info, config))


def check(current: Run, k: int | None = None) -> None:
    """Raise UsageError for a run whose questions cannot be replayed, and for a `k` that is not within its depth."""
    if k is not None and not 1 <= k <= current.config.depth:
        raise UsageError(f"k must be from 1 to the depth of run '{current.name}', {current.config.depth}: {k} is not.")
    if unranked := measurements.unranked_words(current):
        raise UsageError(f"The questions of run '{current.name}' cannot be replayed. {unranked}")
    if current.status != "done":
        raise UsageError(f"Run '{current.name}' is not finished: resume it first.")


def _asked(workspace: Workspace, current: Run) -> list[Question]:
    """Return the questions of a run with evidence; where its set has them still, with their evidence as it is now."""
    store = workspace.store
    question_set = store.question_set_named(current.config.questions)
    now = {q.id: q for q in store.questions(question_set.id)} if question_set is not None else {}
    asked = [question for question in store.run_questions(current.id) if question.evidence]
    return [
        replace(question, evidence=new.evidence)
        if (new := now.get(question.id)) is not None and new.text == question.text and new.evidence
        else question
        for question in asked
    ]


def _same_questions(runs: Sequence[Run], current: Run) -> tuple[list[Run], int]:
    """Return the finished runs that asked exactly the questions of a run, and how many asked others."""
    ranked = [
        run for run in runs if run.status == "done" and run.id != current.id and not measurements.unranked_words(run)
    ]
    asked = current.provenance["identity"]["questions"]
    same = [run for run in ranked if run.provenance["identity"]["questions"] == asked]
    return same, len(ranked) - len(same)


State = tuple[str, str, str]
"""Documents, configuration and embedder of an index: of two with the same the rankings are the same."""


def _states(workspace: Workspace, indexes: Sequence[IndexInfo]) -> dict[str, State]:
    if not indexes:
        return {}
    documents = workspace.store.documents(indexes[0].corpus_id, replaced=True)
    states = {}
    for info in indexes:
        indexed = set(info.documents)
        hashed = corpus_hash(d for d in documents if d.id in indexed)
        states[info.id] = (hashed, info.config.hash(), info.embedder_identity)
    return states


def _state_of(run: Run) -> State:
    identity = run.provenance["identity"]
    return identity["corpus"], identity["index"], identity["embedder"]


def _made_on(run: Run, info: IndexInfo, states: Mapping[str, State]) -> bool:
    """Whether a run searched an index as it is now, or another of the same state."""
    unchanged = run.config.index == info.id and (info.built or 0.0) <= run.created
    return unchanged or _state_of(run) == states[info.id]


def _ranked_by(config: RunConfig) -> tuple[str, ...]:
    """Return what ranks the chunks of an index."""
    constant = str(config.rrf_constant) if config.retriever == "hybrid" else ""
    reranked = (config.reranker, str(config.rerank_depth)) if config.reranker != rerankers.NONE else ("", "")
    return (config.retriever, constant, *reranked)


def _choices_of(run: Run) -> tuple[str, ...]:
    """Return what the rankings of a run depend on beside its questions."""
    return (*_state_of(run), *_ranked_by(run.config), run.provenance["identity"].get("reranking", ""))


def _retrievers(info: IndexInfo | None) -> list[str]:
    return [] if info is None else offered(info.config)


def _reranking(workspace: Workspace, info: IndexInfo, config: RunConfig) -> str | None:
    """Return what the scores of the reranker depend on, None where it cannot read the chunks of this index (now)."""
    try:
        return search.identity_of(workspace, info, config.reranker)
    except UsageError:
        return None


# Computed and kept


def held(workspace: Workspace, changes: Changes) -> set[str]:
    """Return the keys of the replays, and of the times of searches, that are stored."""
    keys = [changes.timed, *(key for change in changes.changes for key in (change.stored, change.timed))]
    return workspace.store.cache("replay").held([key for key in keys if key])


def replay(workspace: Workspace, current: Run, *, progress: Progress = silent) -> dict[str, Any]:
    """Compute and store the replays of a run's questions that no run and no earlier replay tells of.

    A change that fails is left out with its reason, and the others go on. Returns {"run", "replayed", "failed"}: the
    keys of the changes, those that failed with the reason.

    Raises:
        UsageError: as `changes_of`.

    """
    changes = changes_of(workspace, current)
    missing = changes.missing(held(workspace, changes))
    kept = workspace.store.cache("replay")
    total, done, failed = len(missing) * len(changes.questions), 0, {}
    progress(0, total, "questions", "Replaying")
    for change in missing:
        watch = partial(_within, progress, done, total, change.key.partition("=")[2])
        try:
            measured = _measured(workspace, change.config, changes.questions, watch)
        except (Cancelled, Deleted):
            raise
        except RagvizError as error:
            failed[change.key] = str(error)
        else:
            kept.put_many({change.stored: _encoded(measured)})
        done += len(changes.questions)
        progress(done, total, "questions", "Replaying")
    wanted = {each.timed: each.config for each in changes.changes if each.key not in failed}
    wanted = {key: new for key, new in (wanted | {changes.timed: current.config}).items() if key}
    for key in wanted.keys() - kept.held(list(wanted)):
        progress(done, total, "questions", "Taking the time of searches")
        with suppress(SearchError, UsageError):  # what is known of the rankings stands without it
            kept.put_many({key: json.dumps(_milliseconds(workspace, wanted[key], changes.questions)).encode()})
    replayed = [change.key for change in missing if change.key not in failed]
    return {"run": current.name, "replayed": replayed, "failed": failed}


def _within(
    progress: Progress, before: int, total: int, name: str, done: int, _total: int | None, unit: str, message: str = ""
) -> None:
    """Report the progress of one replay as a part of all."""
    finished = before + done if unit == "questions" else before
    progress(finished, total, "questions", f"{name}: {message}" if message else name)


def _measured(workspace: Workspace, config: RunConfig, questions: Sequence[Question], progress: Progress) -> Measured:
    """Search an index for the questions; what its embedder is paid for them is recorded with the index."""
    info = search.ready(workspace, workspace.store.index(config.index))
    spending = workspace.spending(info.id)
    retrieve = running.retriever_of(workspace, info, config, spending, progress)
    golds = contexts.gold_of(workspace, info, questions)
    sizes = contexts.sizes_of(workspace, info)
    results: list[Retrieved] = []
    try:
        for start in range(0, len(questions), BATCH):
            batch = questions[start : start + BATCH]
            rankings = retrieve([q.text for q in batch], config.depth)
            results += [
                Retrieved(q.id, r, *gold)
                for q, r, gold in zip(batch, rankings, golds[start : start + BATCH], strict=True)
            ]
            progress(len(results), len(questions), "questions", "")
    finally:
        spending.settle()
    ranks = ranking.ranks(ranking.measure(ranking.read(results, config.depth)))
    return Measured(ranks, contexts.tokens_read(results, sizes, config.depth))


def _milliseconds(workspace: Workspace, config: RunConfig, questions: Sequence[Question]) -> float:
    """Return what searching for a question takes, in a batch, when the vectors of the questions are there already."""
    info = search.ready(workspace, workspace.store.index(config.index))
    retrieve = running.retriever_of(workspace, info, config, workspace.spending(info.id))
    texts = [question.text for question in questions[:BATCH]]
    retrieve(texts, config.depth)  # opens the index, and caches vectors
    began = time.monotonic()
    retrieve(texts, config.depth)
    return 1000 * (time.monotonic() - began) / len(texts)


def _encoded(measured: Measured) -> bytes:
    tokens = None if measured.tokens is None else measured.tokens.tolist()
    return json.dumps([measured.ranks.tolist(), tokens]).encode()


def _decoded(body: bytes) -> Measured:
    ranks, tokens = json.loads(body)
    return Measured(np.array(ranks, dtype=np.int64), None if tokens is None else np.array(tokens, dtype=np.float64))


# Read


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The measures of a run and of everything that is known of its changes, by the key of the change."""

    run: Run
    changes: Changes
    own: Measured
    known: Mapping[str, Measured]

    @property
    def missing(self) -> list[Change]:
        """The changes that are not replayed yet."""
        return [change for change in self.changes.changes if change.key not in self.known]

    def change(self, key: str) -> Change | None:
        """Return the change with this key; None of a larger k, and of one that there is not."""
        return next((change for change in self.changes.changes if change.key == key), None)


def columns_of(
    workspace: Workspace,
    current: Run,
    changes: Changes | None = None,
    measured: Callable[[Run], Measured] | None = None,
) -> Columns:
    """Read what is known of the changes of a run: of stored runs and replays; nothing is searched.

    `measured` returns what a run measured, by default as `measured_by` reads it.
    """
    changes = changes or changes_of(workspace, current)
    measured = measured or partial(measured_by, workspace)
    cache = workspace.store.cache("replay")
    replays = cache.get_many([change.stored for change in changes.changes if change.stored and not change.runs])
    times = cache.get_many([key for key in (changes.timed, *(c.timed for c in changes.changes)) if key])
    known: dict[str, Measured] = {}
    for change in changes.changes:
        if change.runs:
            known[change.key] = measured(max(change.runs, key=lambda run: run.config.depth))
        elif change.stored in replays:
            known[change.key] = _decoded(replays[change.stored])
    known = {c.key: _with_time(known[c.key], times.get(c.timed)) for c in changes.changes if c.key in known}
    return Columns(current, changes, _with_time(measured(current), times.get(changes.timed)), known)


def measured_by(workspace: Workspace, run: Run) -> Measured:
    """Return what a run measured, of its overview."""
    overview = summaries.overview(workspace, run)
    return Measured(overview.summary.ranks, overview.tokens, clusters=overview.summary.clusters)


def _with_time(measured: Measured, time: bytes | None) -> Measured:
    return measured if time is None else replace(measured, milliseconds=json.loads(time))


def rescue(columns: Columns, k: int) -> rescuing.Rescue:
    """Return what larger values of k, and every change that is known, would do for a run of which k chunks are kept.

    Changes whose rankings are not `k` deep are left out.
    """
    own, depth = columns.own, columns.run.config.depth
    replays = [_replay(f"k={more}", "k", own, more) for more in rescuing.larger(k, depth)]
    for change in columns.changes.changes:
        if change.key in columns.known and k <= max([run.config.depth for run in change.runs], default=depth):
            replays.append(_replay(change.key, change.kind, columns.known[change.key], k))
    return rescuing.rescue(own.ranks, k, replays, own.clusters, seed=columns.run.config.seed)


def _replay(key: str, kind: rescuing.ChangeKind, measured: Measured, k: int) -> rescuing.Replay:
    return rescuing.Replay(key, kind, measured.ranks, k, tokens_at(measured, k), measured.milliseconds)


def tokens_at(measured: Measured, k: int) -> float | None:
    """Return the tokens of the first k chunks, a question on average; None where they are not known."""
    return None if measured.tokens is None else float(measured.tokens[k - 1])


# In words


def title(columns: Columns, key: str) -> str:
    """Return what a change is called."""
    kind, _, name = key.partition("=")
    change = columns.change(key)
    if kind == "k" or change is None:
        return f"{kind} = {name}"
    if kind == "retriever":
        return f"{change.config.ranked_by} on this index"
    if kind == "index":
        return f"index {name}{', as built since' if change.config.index == columns.run.config.index else ''}"
    return f"run {change.runs[0].name}"


def detail(columns: Columns, key: str) -> str:
    """Return what a change is made of, where its title does not say it: the runs that were made so, their choices."""
    change = columns.change(key)
    if change is None or not change.runs:
        return ""
    names = ", ".join(run.name for run in change.runs)
    return f"{change.config.ranked_by} over {change.index}" if change.kind == "run" else f"run {names}"


def tokens_words(tokens: float | None, now: float | None) -> str:
    """Say how many tokens are read, and how many more than `now`.

    >>> tokens_words(612.4, 408.2), tokens_words(612.4, None), tokens_words(None, 408.2)
    ('612 (+204)', '612', '')
    """
    if tokens is None:
        return ""
    return f"{tokens:,.0f}" if now is None else f"{tokens:,.0f} ({tokens - now:+,.0f})"


def sentence(columns: Columns, rescue: rescuing.Rescue) -> str:
    """Say what rescues most of the lost questions, the best of two kinds, and how many nothing rescues."""
    lost, n = int(rescue.lost.sum()), len(rescue.lost)
    if not lost:
        return f"No question is lost at k = {rescue.k}."
    gains = [row for row in rescue.rows if row.net > 0]
    best = [row for row in gains if row.replay.kind != "k"][:1] + [row for row in gains if row.replay.kind == "k"][:1]
    now, told = tokens_at(columns.own, rescue.k), []
    for row in best:
        words = f"{title(columns, row.replay.key)} rescues {row.rescues:,} and breaks {row.breaks:,}"
        times = row.replay.tokens / now if row.replay.tokens is not None and now else None
        told.append(words if times is None else f"{words}, with {times:.1f} times the tokens read")
    if not best:
        told.append("no change rescues more than it breaks" if rescue.rows else "nothing was tried")
    beyond = int(rescue.beyond.sum())
    told.append(f"{beyond:,} {'is' if beyond == 1 else 'are'} beyond all of these")
    return f"{lost:,} of {n:,} questions are lost at k = {rescue.k}: {'; '.join(told)}."


def notes(columns: Columns, k: int) -> list[str]:
    """Say what the table leaves out, and why, in sentences."""
    changes, index = columns.changes, columns.run.provenance["index"]
    shallow = [c for c in changes.changes if c.runs and max(run.config.depth for run in c.runs) < k]
    told = {
        f"The index {index} was deleted: other retrievers cannot be tried on it.": changes.gone,
        f"The index {index} was built anew after this run: replays search it as it is now.": changes.rebuilt,
        f"Runs of this corpus that asked other questions, or these before they were changed: {changes.others:,}, "
        "left out.": changes.others,
        f"The reranker {columns.run.config.reranker} asks a model, which costs: nothing is replayed with it, only "
        "runs that exist count.": changes.paid,
        f"Runs whose rankings are not {k} deep: {len(shallow):,}, left out.": shallow,
    }
    return [words for words, applies in told.items() if applies]


def to_json(columns: Columns, rescue: rescuing.Rescue) -> dict[str, Any]:
    """Return the table as the command line prints it; numbers that are not known are null."""
    ids = np.array([question.id for question in columns.changes.questions], dtype=object)
    now = tokens_at(columns.own, rescue.k)
    return {
        "run": columns.run.name,
        "k": rescue.k,
        "n": len(rescue.lost),
        "lost": int(rescue.lost.sum()),
        "beyond": ids[rescue.beyond].tolist(),
        "tokens": now,
        "milliseconds": columns.own.milliseconds,
        "changes": [_row_to_json(columns, row, ids, now) for row in rescue.rows],
        "not_replayed": [change.key for change in columns.missing],
        "notes": notes(columns, rescue.k),
    }


def _row_to_json(columns: Columns, row: rescuing.Row, ids: NDArray[np.object_], now: float | None) -> dict[str, Any]:
    replay, change = row.replay, columns.change(row.replay.key)
    more = None if replay.tokens is None or now is None else replay.tokens - now
    return {
        "change": replay.key,
        "title": title(columns, replay.key),
        "k": replay.k,
        "rescues": row.rescues,
        "breaks": row.breaks,
        "net": row.net,
        "share": {name: getattr(row.share, name) for name in ("mean", "low", "high", "n")},
        "tokens": replay.tokens,
        "more_tokens": more,
        "milliseconds": replay.milliseconds,
        "runs": [run.name for run in change.runs] if change is not None else [],
        "rescued": ids[row.rescued].tolist(),
        "broken": ids[row.broken].tolist(),
    }
