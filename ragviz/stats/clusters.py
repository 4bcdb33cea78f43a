"""Which questions stand and fall together: those about one document form a cluster; a question may be in several."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragviz.core.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW = 6
"""Below this many documents nothing is said about others."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of n questions: question `rows[i]` is in cluster `units[i]`, in the order of the clusters.

    Every question is in a cluster, and every cluster, from 0 to `count` − 1, holds a question. `documents` counts the
    clusters that are documents, None where that is not known: the others are questions about no document.
    """

    rows: Ints
    units: Ints
    n: int
    count: int
    documents: int | None = None

    @cached_property
    def sizes(self) -> Floats:
        """How many questions each cluster has, (count,)."""
        return np.bincount(self.units, minlength=self.count).astype(np.float64)

    @property
    def disjoint(self) -> bool:
        """Whether no question is in several clusters."""
        return len(self.rows) == self.n

    @property
    def independent(self) -> bool:
        """Whether every question is a cluster of its own."""
        return self.disjoint and self.count == self.n

    @property
    def generalise(self) -> bool:
        """Whether an interval can speak of other documents; with fewer than `FEW` it speaks of these only.

        Nor can it where all questions are about one document, whatever others they are about.
        """
        if self.independent:
            return True
        enough = (self.count if self.documents is None else self.documents) >= FEW
        return enough and bool((self.sizes < self.n).all())

    @cached_property
    def labels(self) -> Ints:
        """The same number, (n,), for questions of the same clusters."""
        if self.disjoint:
            labels = np.empty(self.n, dtype=np.int64)
            labels[self.rows] = self.units
            return labels
        of = [[] for _ in range(self.n)]  # type: list[list[int]]
        for row, unit in zip(self.rows.tolist(), self.units.tolist(), strict=True):
            of[row].append(unit)
        numbers: dict[tuple[int, ...], int] = {}
        return np.array([numbers.setdefault(tuple(each), len(numbers)) for each in of], dtype=np.int64)

    def sums(self, matrix: Floats) -> Floats:
        """Add up the rows of `matrix`, (n, m), by cluster: (count, m); a question counts whole in each of its own."""
        if not self.count:
            return np.zeros((0, matrix.shape[1]))
        starts = np.flatnonzero(np.diff(self.units, prepend=-1))
        return np.asarray(np.add.reduceat(matrix[self.rows], starts, axis=0))

    def take(self, rows: Sequence[int] | Ints) -> Clusters:
        """Return the clusters of some of the questions, by their places, numbered anew."""
        place = np.full(self.n, -1)
        place[np.asarray(rows, dtype=np.int64)] = np.arange(len(rows))
        kept = place[self.rows] >= 0
        present, units = np.unique(self.units[kept], return_inverse=True)
        documents = None if self.documents is None else int((present < self.documents).sum())
        return Clusters(place[self.rows[kept]], units.ravel(), len(rows), len(present), documents)


def independent_clusters(n: int) -> Clusters:
    """Return n questions as clusters of their own: they are taken as independent."""
    return Clusters(np.arange(n), np.arange(n), n, n)


def numbered(labels: Sequence[int] | Ints) -> Clusters:
    """Return clusters by labels of any numbers, (n,); equal labels are one cluster."""
    present, numbers = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    rows = np.argsort(numbers.ravel(), kind="stable")
    return Clusters(rows, numbers.ravel()[rows], len(rows), len(present))


def clusters_of(members: Sequence[Collection[Hashable]]) -> Clusters:
    """Return the clusters of questions by what they are about, documents: each question is in all of its own.

    A question without members is a cluster by itself; these come last.

    >>> clusters = clusters_of([{"a"}, {"b"}, {"a", "b"}, set()])
    >>> clusters.rows.tolist(), clusters.units.tolist(), clusters.documents
    ([0, 2, 1, 2, 3], [0, 0, 1, 1, 2], 2)
    """
    numbers: dict[Hashable, int] = {}
    sets = [dict.fromkeys(own) for own in members]
    units = np.array([numbers.setdefault(each, len(numbers)) for own in sets for each in own], dtype=np.int64)
    counts = np.array([len(own) for own in sets], dtype=np.int64)
    rows, alone = np.repeat(np.arange(len(sets)), counts), np.flatnonzero(counts == 0)
    order, count = np.argsort(units, kind="stable"), len(numbers) + len(alone)
    rows = np.concatenate([rows[order], alone])
    units = np.concatenate([units[order], np.arange(len(numbers), count)])
    return Clusters(rows, units, len(sets), count, len(numbers))


def checked(clusters: Clusters | None, n: int) -> Clusters:
    """Return the clusters of n questions, each its own where none are given.

    Raises:
        UsageError: they are those of another number of questions.

    """
    if clusters is None:
        return independent_clusters(n)
    if clusters.n != n:
        raise UsageError(f"The clusters of {clusters.n} questions were given for {n} scores.")
    return clusters
