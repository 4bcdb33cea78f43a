"""Exact nearest neighbours: matrix products over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ragviz.core.errors import SearchError
from ragviz.models.vectors import Vectors

SCORE_BYTES = 100 * 2**20
"""Bytes of the block of scores that one matrix product makes: memory against speed."""
MOST_QUERIES = 256
"""Queries in one matrix product; more gain nothing."""
BLOCK_ROWS = 4096
"""Rows gathered or copied together."""

Indices = NDArray[np.int64]


def nearest(vectors: Vectors, queries: Vectors, depth: int) -> Iterator[tuple[Indices, NDArray[np.float32]]]:
    """Yield for each query the rows of `vectors` (n, dims) nearest to it, and their cosines, best first, ties by row.

    Exact: a fast product in float32 picks the rows that can be among the first `depth`, with room for its rounding;
    float64 scores, rounded to float32, rank them. So a score depends neither on the other queries nor on the row's
    position, and equal rows tie.
    """
    batch = max(1, min(MOST_QUERIES, len(queries), SCORE_BYTES // (4 * max(1, len(vectors)))))
    block = np.empty((batch, len(vectors)), np.float32)
    for start in range(0, len(queries), batch):
        some = queries[start : start + batch]
        scores = np.matmul(some, vectors.T, out=block[: len(some)])
        margins = (some.shape[1] + 8) * 2.0**-23 * np.maximum(np.linalg.norm(some, axis=1), 1.0) ** 2
        floors = (lower_bounds(scores, depth) - margins).astype(np.float32)
        for query, row_scores, floor in zip(some, scores, floors, strict=True):
            rows = np.flatnonzero(row_scores >= floor)
            exact = exact_scores(vectors, rows, query)
            first = np.argsort(-exact, kind="stable")[:depth]
            yield rows[first], exact[first]


def lower_bounds(scores: NDArray[np.float32], depth: int) -> NDArray[np.float32]:
    """Return for each row of `scores` (m, n) a lower bound of its `depth`-th largest score; shape (m,).

    The bound is the `depth`-th largest maximum of groups of columns: cheaper than a partition of all scores.
    """
    count = scores.shape[1]
    if depth >= count:
        return np.full(len(scores), -np.inf, np.float32)
    width = max(1, min(64, count // (8 * depth)))
    groups = count // width
    peaks = scores[:, : groups * width].reshape(-1, width, groups).max(axis=1)
    bounds: NDArray[np.float32] = np.partition(peaks, groups - depth, axis=1)[:, groups - depth]
    return bounds


def exact_scores(vectors: Vectors, rows: Indices, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of some rows with the query, computed in float64."""
    target = query.astype(np.float64)
    scores = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        some = vectors[rows[start : start + BLOCK_ROWS]].astype(np.float64)
        values = np.einsum("ij,j->i", some, target)
        scores[start : start + BLOCK_ROWS] = values / np.sqrt(np.einsum("ij,ij->i", some, some) * (target @ target))
    return scores


def require_vectors(dims: int, what: str) -> None:
    """Raise SearchError for an index without vectors (`dims` 0)."""
    if not dims:
        raise SearchError(f"{what} has no vectors, only words: rank by bm25, or build an index with an embedder.")


def checked(vectors: Vectors, dims: int, what: str) -> Vectors:
    """Return vectors as float32 rows of unit length.

    With `dims` 0, for an index without vectors, the rows are empty: (n, 0).

    Raises:
        SearchError: other dimensions, numbers that are not finite, or a length of 0.

    """
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dims:
        shape = f"{rows.shape[1]}-d" if rows.ndim == 2 else f"of shape {rows.shape}"
        raise SearchError(
            f"{what} holds {dims}-d vectors, these are {shape}; rebuild it, or pick the model it was built with."
        )
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise SearchError(f"{what} takes finite numbers only, vector {row} has NaN or infinity; check the embedder.")
    if not dims:
        return rows
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not lengths.all():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise SearchError(f"{what} compares directions, and vector {row} has length 0; check the embedder.")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit
