"""Which questions stand and fall together: those about one document form a cluster."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.core.errors import UsageError

Floats = NDArray[np.float64]

FEW = 6
"""Below this many clusters nothing is said about other documents: 5 clusters cannot reach p < 0.05 by sign flips."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cluster of each of n questions: `labels`, (n,), are whole numbers from 0 to `count` − 1, each used.

    `documents` counts the documents behind them, 0 where they are not known.
    """

    labels: NDArray[np.int64]
    count: int
    documents: int = 0

    @property
    def sizes(self) -> Floats:
        """How many questions each cluster has, (count,)."""
        return np.bincount(self.labels, minlength=self.count).astype(np.float64)

    @property
    def independent(self) -> bool:
        """Whether every question is a cluster of its own."""
        return self.count == len(self.labels)

    @property
    def generalise(self) -> bool:
        """Whether an interval can speak of other documents; with fewer than `FEW` clusters it speaks of these only."""
        return self.count >= FEW or self.independent

    def sums(self, matrix: Floats) -> Floats:
        """Add up the rows of `matrix`, (n, m), by cluster: (count, m)."""
        order = np.argsort(self.labels, kind="stable")
        if not len(order):
            return np.zeros((0, matrix.shape[1]))
        starts = np.flatnonzero(np.diff(self.labels[order], prepend=-1))
        return np.asarray(np.add.reduceat(matrix[order], starts, axis=0))

    def take(self, rows: Sequence[int]) -> Clusters:
        """Return the clusters of some of the questions, by their places, numbered anew."""
        return numbered(self.labels[np.asarray(rows, dtype=np.int64)])


def independent_clusters(n: int) -> Clusters:
    """Return n questions as clusters of their own: they are taken as independent."""
    return Clusters(np.arange(n), n)


def numbered(labels: Sequence[int] | NDArray[np.int64], documents: int = 0) -> Clusters:
    """Return clusters by labels of any numbers, (n,); equal labels are one cluster."""
    present, numbers = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    return Clusters(numbers.ravel(), len(present), documents)


def clusters_of(members: Sequence[Collection[Hashable]]) -> Clusters:
    """Join questions that share a member, a document, and those joined to them: connected components.

    A question without members, about no document, is a cluster of its own where the others make `FEW` clusters, or are
    each one of their own, too. Else it joins the first of them: it does not let an interval speak of other documents.

    >>> clusters_of([{"a"}, {"b"}, {"a", "c"}, set(), {"c"}]).labels.tolist()
    [0, 1, 0, 0, 0]
    >>> clusters_of([*"abcdeff", ""]).labels.tolist()
    [0, 1, 2, 3, 4, 5, 5, 6]
    """
    parents: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        while (parent := parents.setdefault(node, node)) != node:
            parents[node] = parents[parent]  # halve the path: the whole takes almost linear time
            node = parents[node]
        return node

    for question, own in enumerate(members):
        for member in own:
            parents[root(("member", member))] = root(("question", question))
    numbers: dict[Hashable, int] = {}
    labels = [numbers.setdefault(root(("question", question)), len(numbers)) for question in range(len(members))]
    documents = {member for own in members for member in own}
    about = {label for label, own in zip(labels, members, strict=True) if own}
    if about and len(about) < FEW and len(about) < len(numbers) < len(labels):
        return numbered([label if label in about else min(about) for label in labels], len(documents))
    return Clusters(np.array(labels, dtype=np.int64), len(numbers), len(documents))


def checked(clusters: Clusters | None, n: int) -> Clusters:
    """Return the clusters of n questions, each its own where none are given.

    Raises:
        UsageError: they are those of another number of questions.

    """
    if clusters is None:
        return independent_clusters(n)
    if len(clusters.labels) != n:
        raise UsageError(f"The clusters of {len(clusters.labels)} questions were given for {n} scores.")
    return clusters
