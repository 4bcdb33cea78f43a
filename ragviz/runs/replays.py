"""The questions of a run replayed with other choices: what is stored already, what is computed, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import rescue as rescuing
from ragviz.core.configuration import NO_EMBEDDER, IndexInfo, Run
from ragviz.core.errors import Cancelled, Deleted, RagvizError, UsageError
from ragviz.core.ranking import Retrieved
from ragviz.core.stopping import Progress, silent
from ragviz.index.unlisted import unlisted
from ragviz.metrics import rank_metrics
from ragviz.models.requests import dollars
from ragviz.retrieval import listwise, rerankers, search
from ragviz.retrieval.reranking import Report
from ragviz.runs import alternatives, contexts, overviews, running
from ragviz.runs.alternatives import Change, Changes, Effort, changes_of
from ragviz.runs.overviews import Overview
from ragviz.stats.clusters import Clusters
from ragviz.store.schema import Cuts, decoded, plain
from ragviz.workspace import Workspace

BATCH = 100
"""Questions that are searched together."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Ranks of the questions with evidence, (n,), and the tokens of the first k chunks on average, (depth,) or None.

    `reach` are the tokens of the chunks down to that rank, (n,) or None. `milliseconds` are those of reranking for a
    question, None without a reranker. `clusters` joins the questions about the same documents; None where they are
    known from the run that is replayed.
    """

    ranks: NDArray[np.int64]
    tokens: NDArray[np.float64] | None
    milliseconds: float | None = None
    clusters: Clusters | None = None
    reach: NDArray[np.int64] | None = None

    def within(self, budget: int | None) -> NDArray[np.int64]:
        """Return the ranks, 0 where an answerer with a context of `budget` tokens does not read down to them."""
        return self.ranks if budget is None or self.reach is None else np.where(self.reach <= budget, self.ranks, 0)

    def tokens_at(self, k: int, budget: int | None) -> float | None:
        """Return the tokens of the first k chunks, a question on average, at most `budget`; None where not known."""
        tokens = None if self.tokens is None else float(self.tokens[k - 1])
        return tokens if tokens is None or budget is None else min(tokens, budget)

    def replay(self, key: str, kind: rescuing.ChangeKind, k: int, budget: int | None) -> rescuing.Replay:
        """Return these measures at a `k` and a budget, to be compared with the run's."""
        return rescuing.Replay(key, kind, self.within(budget), k, self.tokens_at(k, budget), self.milliseconds)


# Computed and kept


def stored_replays(workspace: Workspace, changes: Changes) -> set[str]:
    """Return the keys of the replays that are stored; another set after each replay."""
    keys = [change.stored for change in changes.changes]
    _, rounds = alternatives.tried(workspace, changes.scene.run)
    return workspace.store.cache("replay").held([key for key in keys if key]) | {f"round {rounds}"}


def replay(
    workspace: Workspace,
    current: Run,
    *,
    build: bool = False,
    combine: int | None = None,
    named: Sequence[str] = (),
    budget: float | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Compute and store the replays of a run's questions that no run and no earlier replay tells of.

    These are searches of what is there; with `build` also other chunkings, prefixes and the rerankers that need no
    model of an endpoint, which embed texts first; and the rerankers that are `named`, of which one that asks a model
    pays for each question, at most `budget` dollars. With `combine`, a k, the changes that gain alone are put together,
    as long as each adds something.

    A change that fails is left out with its reason, and the others go on. Returns {"run", "replayed", "failed"}: the
    keys of the changes, those that failed with the reason.

    Raises:
        UsageError: as `changes_of`; a budget for a model without a price.

    """
    named = [alternatives.whole_name(workspace, name) for name in named]
    for name in filter(None, map(rerankers.model_of, named)):
        workspace.check_price(name, budget)
    changes = changes_of(workspace, current, named=named)
    there = stored_replays(workspace, changes)
    missing = changes.missing(there, "search", "compute") if build else changes.missing(there)
    wanted = [
        c for c in changes.missing(there, "compute", "paid") if c.kind == "reranker" and c.config.reranker in named
    ]
    missing += [change for change in wanted if change not in missing]
    work = _Work(workspace, current, changes, budget, progress)
    work.do(missing)
    tried, rounds = alternatives.tried(workspace, current)
    names = list(dict.fromkeys([*tried, *named]))
    while combine is not None:
        alternatives.note_tried(workspace, current, names, rounds)
        columns = columns_of(workspace, current, changes_of(workspace, current))
        open_ = [change for change in combination(workspace, columns, combine).missing if change.key not in work.failed]
        if not open_:
            break
        work.do(open_)
    if work.replayed or names != tried:
        alternatives.note_tried(workspace, current, names, rounds + 1)
    return {"run": current.name, "replayed": work.replayed, "failed": work.failed}


def price_of(workspace: Workspace, changes: Changes, change: Change) -> str:
    """Say what replaying with a reranker that asks a model would take; its dry run searches, and calls no chat model.

    Raises:
        SearchError, ModelError: the index's or the embedder's server fails.

    """
    info = search.ready(workspace, workspace.store.indexes.get(change.config.index))
    dry = listwise.DryRun(workspace.client(rerankers.model_of(change.config.reranker)))
    spending = workspace.spending(info.id)
    try:
        retrieve = running.retriever_of(workspace, info, change.config, spending, ask=dry)
        retrieve([question.query for question in changes.questions], change.config.depth)
    finally:
        spending.settle()
    price = dry.client.price(dry.prompt_tokens, dry.completion_tokens)
    cost = "of no known price" if price is None else dollars(price)
    tokens = dry.prompt_tokens + dry.completion_tokens
    return f"{dry.calls - dry.cached:,} of {dry.calls:,} calls to be paid, {tokens:,} tokens, {cost}"


@dataclass
class _Work:
    """Replays changes one after the other, and reports them as one task."""

    workspace: Workspace
    current: Run
    changes: Changes
    budget: float | None
    progress: Progress
    done: int = 0
    total: int = 0
    replayed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def do(self, some: Sequence[Change]) -> None:
        """Replay some changes; those that fail are noted with the reason."""
        n = len(self.changes.questions)
        self.total += len(some) * n
        self.progress(self.done, self.total, "questions", "Replaying")
        for change in some:
            watch = partial(self._within, change.key.partition("=")[2])
            try:
                measured = _measured(self.workspace, self.current, change, self.changes, self.budget, watch)
            except (Cancelled, Deleted):
                raise
            except RagvizError as error:
                self.failed[change.key] = str(error)
            else:
                self.workspace.store.cache("replay").put_many(
                    {change.stored: json.dumps(measured, default=plain).encode()}
                )
                self.replayed.append(change.key)
            self.done += n
            self.progress(self.done, self.total, "questions", "Replaying")

    def _within(self, name: str, done: int, of: int | None, unit: str, message: str = "") -> None:
        """Report the progress of one replay as a part of all."""
        finished = self.done + done if unit == "questions" else self.done
        counted = f" {done:,} of {of:,} {unit}" if of and unit != "questions" else ""
        self.progress(finished, self.total, "questions", f"{name}: {message}{counted}" if message else name)


def _measured(
    workspace: Workspace, current: Run, change: Change, changes: Changes, budget: float | None, progress: Progress
) -> Measured:
    """Search an index for the questions; what is paid for them is recorded with the index of the change.

    A model that reranks is paid by the run.
    """
    config, questions, report = change.config, changes.questions, Report()
    if change.effort == "paid":
        most = None if budget is None else workspace.store.payments.of(current.id).dollars + budget
        spending = workspace.spending(current.id, most)
    else:
        spending = workspace.spending(config.index)
    try:
        opened: AbstractContextManager[tuple[IndexInfo, Mapping[str, Cuts] | None]]
        if change.index or change.cut is None:
            opened = nullcontext((search.ready(workspace, workspace.store.indexes.get(config.index)), None))
        else:  # one that is built for it and dropped
            opened = unlisted(workspace, current.corpus_id, change.cut, spending, progress)
        with opened as (info, cuts):
            retrieve = running.retriever_of(workspace, info, config, spending, progress, report)
            golds = contexts.gold_of(workspace, info, questions, cuts)
            sizes = contexts.sizes_of(workspace, info, cuts)
            results: list[Retrieved] = []
            for start in range(0, len(questions), BATCH):
                batch = questions[start : start + BATCH]
                rankings = retrieve([q.query for q in batch], config.depth)
                results += [
                    Retrieved(q.id, r, *gold)
                    for q, r, gold in zip(batch, rankings, golds[start : start + BATCH], strict=True)
                ]
                progress(len(results), len(questions), "questions", "")
            if report.failures:
                reason = next(iter(report.failures.values()))
                raise UsageError(f"{len(report.failures):,} questions could not be reranked: {reason}")
            milliseconds = 1000 * report.seconds / report.questions if report.questions else None
    finally:
        spending.settle()
    read = rank_metrics.read(results, config.depth)
    ranks = rank_metrics.ranks(rank_metrics.measure(read))
    tokens, reach = contexts.tokens_read(read, sizes, ranks)
    return Measured(ranks, tokens, milliseconds, reach=reach)


# Read


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The measures of a run and of everything that is known of its changes, by the key of the change."""

    run: Run
    changes: Changes
    own: Measured
    known: Mapping[str, Measured]

    def missing(self, *efforts: Effort) -> list[Change]:
        """Return the changes of these efforts that are not replayed yet."""
        return [each for each in self.changes.changes if each.key not in self.known and each.effort in efforts]

    def change(self, key: str) -> Change | None:
        """Return the change with this key; None of a larger k or budget, and of one that there is not."""
        return next((change for change in self.changes.changes if change.key == key), None)

    @property
    def budget(self) -> int | None:
        """The tokens of context that the run answers from; None where it does not answer from what it retrieves."""
        knows = self.run.knows
        return self.run.config.context_tokens if knows.answers and knows.first_k else None

    def tokens_now(self, k: int) -> float | None:
        """Return the tokens that the run itself reads at `k`, a question on average; None where not known."""
        return self.own.tokens_at(k, self.budget)


def columns_of(
    workspace: Workspace,
    current: Run,
    changes: Changes | None = None,
    measured: Callable[[Run], Measured] | None = None,
) -> Columns:
    """Read what is known of the changes of a run: of stored runs and replays; nothing is searched.

    `measured` returns what a run measured, by default as the store has it.
    """
    changes = changes or changes_of(workspace, current)
    measured = measured or _stored(workspace)
    return Columns(current, changes, measured(current), _known(workspace, changes.changes, measured))


def _known(workspace: Workspace, some: Sequence[Change], measured: Callable[[Run], Measured]) -> dict[str, Measured]:
    """Return what is known of some changes, by key."""
    cache = workspace.store.cache("replay")
    replays = cache.get_many([change.stored for change in some if change.stored and not change.runs])
    known: dict[str, Measured] = {}
    for change in some:
        if change.runs:
            known[change.key] = measured(max(change.runs, key=lambda run: run.config.depth))
        elif change.stored in replays:
            known[change.key] = decoded(Measured, json.loads(replays[change.stored]))
    return known


def measured_by(run: Run, overview: Overview) -> Measured:
    """Return what a run measured, of its overview."""
    took = run.provenance.get("reranking", {})
    milliseconds = 1000 * took["seconds"] / took["questions"] if took.get("questions") else None
    clusters = overview.summary.clusters
    return Measured(overview.summary.ranks, overview.tokens, milliseconds, clusters, overview.reach)


def _stored(workspace: Workspace) -> Callable[[Run], Measured]:
    return lambda run: measured_by(run, overviews.overview(workspace, run))


def rescue(columns: Columns, k: int) -> rescuing.Rescue:
    """Return what larger values of k, a larger budget, and every change that is known would do for a run at `k`.

    A run that answers reads no more than its context budget holds: evidence behind that is lost, too. Changes whose
    rankings are not `k` deep are left out.
    """
    own, depth, budget = columns.own, columns.run.config.depth, columns.budget
    replays = [own.replay(f"k={more}", "k", more, budget) for more in rescuing.larger(k, depth)]
    if budget is not None and truncated(columns, k):
        replays += [own.replay(f"budget={more}", "budget", k, more) for more in (2 * budget, 4 * budget)]
    for change in columns.changes.changes:
        if change.key in columns.known and k <= max([run.config.depth for run in change.runs], default=depth):
            replays.append(columns.known[change.key].replay(change.key, change.kind, k, budget))
    return rescuing.rescue(own.within(budget), k, replays, own.clusters)


def truncated(columns: Columns, k: int) -> int:
    """Count the questions whose evidence is among the first `k` chunks, and not within the run's context budget."""
    own = columns.own
    return int((rescuing.found(own.ranks, k) & ~rescuing.found(own.within(columns.budget), k)).sum())


# Together


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One more change of a combination: `change` is all up to it, `added` the part that it adds.

    `row` is what they do together against the run, `more` how many more questions are found than without `added`, and
    `share` that as a share of all questions, with its 95 % interval.
    """

    change: Change
    added: str
    row: rescuing.Row
    more: rescuing.Row


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """Changes put together greedily: the best alone, then each time what adds most, as long as it adds something.

    `missing` are the combinations that have to be replayed before the next step can be told; `columns` hold those that
    were.
    """

    k: int
    steps: tuple[Step, ...]
    missing: tuple[Change, ...]
    columns: Columns


def combination(
    workspace: Workspace,
    columns: Columns,
    k: int,
    measured: Callable[[Run], Measured] | None = None,
) -> Combination:
    """Put together, at `k`, the best change of each kind that gains alone; nothing is searched.

    A larger k or budget takes no part, which only adds what is read, and neither does what was paid for.
    """
    measured = measured or _stored(workspace)
    gaining = [row for row in rescue(columns, k).rows if row.net > 0]
    singles = [
        row for kind in alternatives.DIMENSIONS for row in [row for row in gaining if row.replay.kind == kind][:1]
    ]
    parts = [columns.change(row.replay.key) for row in singles]
    pairs = [(row, part) for row, part in zip(singles, parts, strict=True) if part is not None]
    free = [(row, part) for row, part in pairs if part.effort != "paid" and part.cut is not None]
    free.sort(key=lambda each: rescuing.order(each[0]))
    if len(free) < 2 or columns.changes.scene.paid:
        return Combination(k, (), (), columns)
    singles, chosen = [row for row, _ in free], [free[0][1]]
    steps = [Step(chosen[0], chosen[0].key, singles[0], singles[0])]
    while True:
        taken = frozenset().union(*(alternatives.DIMENSIONS[part.kind] for part in chosen))
        tries = [part for _, part in free if not taken & alternatives.DIMENSIONS[part.kind]]
        changes = {part.key: alternatives.combined(workspace, columns.changes, [*chosen, part]) for part in tries}
        changes = {key: change for key, change in changes.items() if change.runs or change.stored}
        known = _known(workspace, tuple(changes.values()), measured)
        told = {run.id for c in changes.values() if c.key in known for run in c.runs}  # no changes of their own now
        kept = [c for c in columns.changes.changes if c.kind != "run" or not told.issuperset(run.id for run in c.runs)]
        kept += [c for c in changes.values() if c.key in known]
        columns = replace(
            columns, changes=replace(columns.changes, changes=tuple(kept)), known={**columns.known, **known}
        )
        missing = tuple(change for change in changes.values() if change.key not in known)
        if missing or not changes:
            return Combination(k, tuple(steps), missing, columns)
        rows = {row.replay.key: row for row in rescue(columns, k).rows}
        best = min(changes, key=lambda key: rescuing.order(rows[changes[key].key]))
        before, after = steps[-1], rows[changes[best].key]
        if after.net <= before.row.net:
            return Combination(k, tuple(steps), (), columns)
        share = rescuing.rescue(before.row.replay.ranks, k, [after.replay], columns.own.clusters)
        steps.append(Step(changes[best], best, after, share.rows[0]))
        chosen.append(next(part for part in tries if part.key == best))


def grid_of(together: Combination) -> dict[str, list[str]]:
    """Return the values of all that the steps of a combination choose, the run's own first, by the choice.

    {} without a step, and where the index is gone.
    """
    columns, steps = together.columns, together.steps
    own = columns.changes.scene.own
    if not steps or own is None:
        return {}
    configs = [columns.run.config, *(step.change.config for step in steps)]
    cuts = [own.config, *(step.change.cut for step in steps if step.change.cut is not None)]
    values: dict[str, list[Any]] = {
        name: [getattr(cut, name) for cut in cuts] for name in ("chunker", "chunk_size", "overlap", "prefix")
    }
    values["embedder"] = [cut.embedder or NO_EMBEDDER for cut in cuts]
    values["backend"] = [":".join(filter(None, (cut.backend, cut.options.get("type", "")))) for cut in cuts]
    values |= {name: [getattr(config, name) for config in configs] for name in ("retriever", "reranker", "depth")}
    values["rrf_constant"] = [config.rrf_constant for config in configs if config.retriever == "hybrid"]
    values["rerank_depth"] = [config.rerank_depth for config in configs if config.reranker != rerankers.NONE]
    values["k"] = [together.k]
    return {name: list(dict.fromkeys(map(str, several))) for name, several in values.items() if several}
