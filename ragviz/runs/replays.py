"""The questions of a run replayed with other choices: what is stored already, what is computed, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
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
from ragviz.retrieval import rerankers, search
from ragviz.retrieval.reranking import Report
from ragviz.runs import contexts, overviews, running
from ragviz.runs.alternatives import DIMENSIONS, Change, Changes, Effort, changes_of
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
    """Return the keys of the replays that are stored."""
    return workspace.store.cache("replay").held([change.stored for change in changes.changes if change.stored])


def replay(workspace: Workspace, current: Run, *, build: bool = False, progress: Progress = silent) -> dict[str, Any]:
    """Compute and store the replays of a run's questions that no run and no earlier replay tells of.

    These are searches of what is there; with `build` also other chunkings, prefixes and rerankers, which compute
    vectors or scores first. A change that fails is left out with its reason, and the others go on. Returns {"run",
    "replayed", "failed"}: the keys of the changes, those that failed with the reason.

    Raises:
        UsageError: as `changes_of`.

    """
    changes = changes_of(workspace, current)
    efforts: tuple[Effort, ...] = ("search", "compute") if build else ("search",)
    held, n = stored_replays(workspace, changes), len(changes.questions)
    missing = [each for each in changes.changes if not each.runs and each.stored not in held and each.effort in efforts]
    replayed, failed = list[str](), dict[str, str]()

    def within(done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report the progress of one replay as a part of all."""
        finished = place * n + (done if unit == "questions" else 0)
        counted = f" {done:,} of {total:,} {unit}" if total and unit != "questions" else ""
        name = change.key.partition("=")[2]
        progress(finished, len(missing) * n, "questions", f"{name}: {message}{counted}" if message else name)

    for place, change in enumerate(missing):
        progress(place * n, len(missing) * n, "questions", "Replaying")
        try:
            measured = _measured(workspace, current, change, changes, within)
        except (Cancelled, Deleted):
            raise
        except RagvizError as error:
            failed[change.key] = str(error)
        else:
            body = json.dumps(measured, default=plain).encode()
            workspace.store.cache("replay").put_many({change.stored: body})
            replayed.append(change.key)
    progress(len(missing) * n, len(missing) * n, "questions", "Replaying")
    return {"run": current.name, "replayed": replayed, "failed": failed}


def _measured(workspace: Workspace, current: Run, change: Change, changes: Changes, progress: Progress) -> Measured:
    """Search an index for the questions; what is paid for them is recorded with the index of the change."""
    config, questions, report = change.config, changes.questions, Report()
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
    overview: Callable[[Run], Overview] | None = None,
) -> Columns:
    """Read what is known of the changes of a run: of stored runs and replays; nothing is searched.

    `overview` returns that of a run, by default the stored one.
    """
    changes, overview = changes or changes_of(workspace, current), overview or partial(overviews.overview, workspace)
    cache = workspace.store.cache("replay")
    replays = cache.get_many([each.stored for each in changes.changes if each.stored and not each.runs])
    known: dict[str, Measured] = {}
    for change in changes.changes:
        if change.runs:
            deepest = max(change.runs, key=lambda run: run.config.depth)
            known[change.key] = _measured_by(deepest, overview(deepest))
        elif change.stored in replays:
            known[change.key] = decoded(Measured, json.loads(replays[change.stored]))
    return Columns(current, changes, _measured_by(current, overview(current)), known)


def _measured_by(run: Run, overview: Overview) -> Measured:
    took = run.provenance.get("reranking", {})
    milliseconds = 1000 * took["seconds"] / took["questions"] if took.get("questions") else None
    clusters = overview.summary.clusters
    return Measured(overview.summary.ranks, overview.tokens, milliseconds, clusters, overview.reach)


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


def grid_of(columns: Columns, rescue: rescuing.Rescue) -> dict[str, list[str]]:
    """Return the values to sweep, the run's own first, by choice: of the changes that gain, the best of each kind.

    Of two that choose the same, the better one. {} where none gains, and where the index is gone.
    """
    own, taken, gaining = columns.changes.own, set[str](), list[Change]()
    for row in rescue.rows:
        change = columns.change(row.replay.key)
        if row.net > 0 and change is not None and change.kind in DIMENSIONS and not taken & DIMENSIONS[change.kind]:
            taken |= DIMENSIONS[change.kind]
            gaining.append(change)
    if not gaining or own is None:
        return {}
    configs = [columns.run.config, *(change.config for change in gaining)]
    cuts = [own.config, *(change.cut for change in gaining if change.cut is not None)]
    values: dict[str, list[Any]] = {
        name: [getattr(cut, name) for cut in cuts] for name in ("chunker", "chunk_size", "overlap", "prefix")
    }
    values["embedder"] = [cut.embedder or NO_EMBEDDER for cut in cuts]
    values["backend"] = [":".join(filter(None, (cut.backend, cut.options.get("type", "")))) for cut in cuts]
    values |= {name: [getattr(config, name) for config in configs] for name in ("retriever", "reranker", "depth")}
    values["rrf_constant"] = [config.rrf_constant for config in configs if config.retriever == "hybrid"]
    values["rerank_depth"] = [config.rerank_depth for config in configs if config.reranker != rerankers.NONE]
    values["k"] = [rescue.k]
    return {name: list(dict.fromkeys(map(str, several))) for name, several in values.items() if several}
