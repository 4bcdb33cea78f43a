"""What a run would measure with another k, score threshold or budget of tokens, read off rankings that are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.metrics import rank_metrics
from ragviz.metrics.rank_metrics import Rankings, RankTable
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters
from ragviz.stats.differences import paired_differences

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METRICS = ("recall", "precision", "f1", "mrr", "tokens")
"""What is measured, in the order in which it is shown; "tokens" only where the sizes of chunks are known."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What is kept of a ranking: the first `k` chunks, those that score at least `threshold`, what fits `budget`.

    `budget` is in tokens; None stands for no threshold and no budget.
    """

    k: int
    threshold: float | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Rankings as they are read off: row i is question i of `table`, column j is rank j + 1, both (n, depth).

    `scores` fall along a row, -inf past the end of its ranking. `tokens` are those of the first j + 1 chunks, None
    where sizes of chunks are not known. `lengths`, (n,), are those of the rankings.
    """

    table: RankTable
    scores: Floats
    lengths: Ints
    tokens: Ints | None

    @property
    def depth(self) -> int:
        """The deepest rank."""
        return self.table.depth


def reading(rankings: Rankings, sizes: Mapping[str, int] | None) -> Reading:
    """Return rankings as they are read off; `sizes` are the tokens of chunks by id, None where they are not known."""
    held = rankings.held
    scores = np.full(held.shape, -np.inf)
    scores[held] = [score for result in rankings.results for score in result.ranking.scores[: rankings.depth]]
    tokens = None if sizes is None else rank_metrics.tokens(rankings, sizes)
    return Reading(rank_metrics.measure(rankings), scores, held.sum(axis=1), tokens)


def kept(read: Reading, choices: Choices) -> Ints:
    """Return how many chunks of each ranking are kept, (n,): always its head.

    A chunk of which only a part fits the budget is not kept, nor is any behind it (`targets.fitting.fitted`).

    Raises:
        UsageError: k is not from 1 to the depth, the budget is below 1, or is given where no sizes are known.

    """
    check(read, choices)
    most = np.minimum(choices.k, read.lengths)
    if choices.threshold is not None:
        most = np.minimum(most, (read.scores >= choices.threshold).sum(axis=1))
    if choices.budget is not None and read.tokens is not None:
        most = np.minimum(most, (read.tokens <= choices.budget).sum(axis=1))
    return np.asarray(most, dtype=np.int64)


def check(read: Reading, choices: Choices) -> None:
    """Raise UsageError for choices that these rankings cannot tell of."""
    if not 1 <= choices.k <= read.depth:
        raise UsageError(f"k = {choices.k} cannot be read off rankings to depth {read.depth}; give 1 to {read.depth}.")
    if choices.budget is not None and choices.budget < 1:
        raise UsageError(f"A budget of {choices.budget} tokens holds no chunk: give 1 or more.")
    if choices.budget is not None and read.tokens is None:
        raise UsageError(
            "The tokens of this run's chunks are not known, as its index was built anew or deleted: a budget cannot be "
            "tried; make the run again."
        )


def measure(read: Reading, choices: Choices) -> dict[str, Floats]:
    """Return each of `METRICS` of every question, (n,) each.

    Recall is of the chunks kept; precision is gold chunks kept ÷ (k − chunks that threshold and budget take away), at
    least 1, so that without them it is precision@k; F1 is the harmonic mean of both. "mrr" is 1 ÷ rank of the first
    gold chunk in the whole ranking as far as the threshold goes: k and budget do not change it. "tokens" are those that
    an answerer is given: of a chunk that does not fit, what is left of the budget.
    """
    most, table = kept(read, choices), read.table
    some, rows, last = most > 0, np.arange(len(most)), np.maximum(most, 1) - 1
    groups = np.where(some, table.groups_found[rows, last], 0)
    gold = np.where(some, table.gold_found[rows, last], 0)
    recall = groups / table.groups
    precision = gold / np.maximum(choices.k - (np.minimum(choices.k, read.lengths) - most), 1)
    both = recall + precision
    f1 = np.divide(2 * recall * precision, both, out=np.zeros_like(both), where=both > 0)
    first = rank_metrics.first_ranks(table)
    if choices.threshold is not None:
        first = np.where(first <= (read.scores >= choices.threshold).sum(axis=1), first, 0)
    values = {
        "recall": recall,
        "precision": precision,
        "f1": f1,
        "mrr": np.divide(1.0, first, out=np.zeros(len(first)), where=first > 0),
    }
    if read.tokens is not None:
        offered = kept(read, Choices(choices.k, choices.threshold))
        tokens = np.where(offered > 0, read.tokens[rows, np.maximum(offered, 1) - 1], 0)
        values["tokens"] = np.minimum(tokens, choices.budget or np.inf).astype(np.float64)
    return values


@dataclass(frozen=True, slots=True)
class Effect:
    """A metric as the run has it, as it would be, and the second minus the first, paired by question."""

    own: Estimate
    other: Estimate
    difference: Estimate


def effects(
    own: Mapping[str, Floats], other: Mapping[str, Floats], clusters: Clusters, *, seed: int = 0
) -> dict[str, Effect]:
    """Compare what `measure` returned for the run's own choices and for others, for metrics that both have."""
    names = [name for name in METRICS if name in own and name in other]
    before = intervals.estimates({name: own[name] for name in names}, clusters, seed=seed)
    after = intervals.estimates({name: other[name] for name in names}, clusters, seed=seed)
    moved = np.column_stack([other[name] - own[name] for name in names])
    paired = paired_differences(moved, clusters)
    return {
        name: Effect(
            before[name],
            after[name],
            Estimate(each.mean, each.low, each.high, each.n, each.clusters, each.design_effect),
        )
        for name, each in zip(names, paired, strict=True)
    }


def shortened(read: Reading, choices: Choices) -> int:
    """Count the questions of which the budget takes chunks away that k and the threshold would keep."""
    without = kept(read, Choices(choices.k, choices.threshold))
    return int((kept(read, choices) < without).sum())
