"""What a change would rescue and break: the questions of a run replayed with other choices, by arrays of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.stats.clusters import Clusters
from ragviz.stats.differences import Difference, paired_differences

Bools = NDArray[np.bool_]
ChangeKind = Literal["k", "budget", "retriever", "reranker", "index", "chunking", "prefix", "run"]
"""What a change chooses otherwise."""
MORE = (5, 10, 20)
"""Values of k that are tried beside k + 1 and 2k."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """The questions of a run under a change, in the order of the run's ranks.

    `ranks` (n,) are those of `rank_metrics.ranks`: from 1, 0 where evidence was not found to the depth. `k` chunks are
    kept; `tokens` are those that the first `k` chunks hold, a question on average, and `milliseconds` what reranking
    for a question takes, None where they are not known.
    """

    key: str
    kind: ChangeKind
    ranks: ArrayLike
    k: int
    tokens: float | None = None
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """What one change does: masks over the questions, (n,), of those rescued and of those broken.

    `share` is the net gain as a share of all questions, rescued less broken, with its 95 % interval.
    """

    replay: Replay
    rescued: Bools
    broken: Bools
    share: Difference

    @property
    def rescues(self) -> int:
        """How many questions that are lost now would be found."""
        return int(self.rescued.sum())

    @property
    def breaks(self) -> int:
        """How many questions that are found now would be lost."""
        return int(self.broken.sum())

    @property
    def net(self) -> int:
        """How many more questions would be found."""
        return self.rescues - self.breaks


@dataclass(frozen=True, slots=True, eq=False)
class Rescue:
    """The lost questions of a run at `k` against every change: `lost` and `unrescued` are masks over questions, (n,).

    `unrescued` are those that no change rescues. `rows` have the greatest net gain first; of equals, the one
    that breaks fewer questions and that reads fewer tokens.
    """

    k: int
    lost: Bools
    unrescued: Bools
    rows: tuple[Row, ...]


def rescue(ranks: ArrayLike, k: int, replays: Sequence[Replay], clusters: Clusters | None = None) -> Rescue:
    """Compare what a run finds among its first `k` chunks, by its `ranks` (n,), with what it would find.

    A question is lost when the rank by which a chunk of every passage that it needs has come is 0 or above k.
    `clusters` joins the questions about the same documents; without them each counts as independent.

    >>> larger = Replay("k=5", "k", [1, 4, 0], 5)
    >>> other = Replay("retriever=bm25", "retriever", [0, 2, 3], 3)
    >>> table = rescue([1, 4, 0], 3, [larger, other])
    >>> [(row.replay.key, row.rescues, row.breaks, row.net) for row in table.rows], int(table.unrescued.sum())
    ([('k=5', 1, 0, 1), ('retriever=bm25', 2, 1, 1)], 0)
    """
    lost = ~found(ranks, k)
    if not replays:
        return Rescue(k, lost, lost, ())
    after = np.column_stack([found(replay.ranks, replay.k) for replay in replays])
    rescued, broken = after & lost[:, np.newaxis], ~after & ~lost[:, np.newaxis]
    shares = paired_differences(rescued.astype(np.float64) - broken, clusters)
    rows = [Row(replay, rescued[:, column], broken[:, column], shares[column]) for column, replay in enumerate(replays)]
    return Rescue(k, lost, lost & ~after.any(axis=1), tuple(sorted(rows, key=order)))


def found(ranks: ArrayLike, k: int) -> Bools:
    """Which questions have a chunk of every passage that they need among the first `k`, (n,)."""
    column = np.asarray(ranks)
    return np.asarray((column > 0) & (column <= k))


def larger(k: int, depth: int) -> list[int]:
    """Return the values of k to try: k + 1, 2k, 5, 10 and 20, those above `k` and within `depth`.

    >>> larger(3, 50), larger(10, 15), larger(50, 50)
    ([4, 5, 6, 10, 20], [11], [])
    """
    return sorted({value for value in (k + 1, 2 * k, *MORE) if k < value <= depth})


def order(row: Row) -> tuple[int, int, float, str]:
    """Return by what rows are sorted: net gain, then fewer questions broken, then fewer tokens read."""
    tokens = row.replay.tokens
    return -row.net, row.breaks, float("inf") if tokens is None else tokens, row.replay.key
