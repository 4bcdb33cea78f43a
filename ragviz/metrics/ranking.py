"""Ranking metrics, for every k from one retrieval. All arrays have a row per answerable question, a column per k.

`measure` reads rankings once into a `RankTable`; every metric is a function of that table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.errors import InputError, UsageError
from ragviz.records import Retrieved

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RankTable:
    """What rankings to `depth` found: row i is `question_ids[i]`, column j is rank j + 1.

    `relevant` (n, depth): the chunk at that rank is gold. `found` (n, depth): evidence groups found up to there.
    `gold` (n,): gold chunks of the question; `groups` (n,): its groups, at least 1, those without gold chunks too.
    `unanswerable` are the ids of the questions without evidence, which have no row.
    """

    question_ids: tuple[str, ...]
    unanswerable: tuple[str, ...]
    depth: int
    relevant: Bools
    found: Ints
    gold: Ints
    groups: Ints


def measure(results: Sequence[Retrieved], depth: int) -> RankTable:
    """Look up the gold chunks of every question in its ranking, of which ranks past `depth` are left out.

    No results give a table of no rows. A ranking may be shorter than `depth`.

    Raises:
        UsageError: `depth` is below 1.
        InputError: a question comes twice, or a ranking holds a chunk twice.

    """
    rows = answerable(results, depth)
    gold_at: list[int] = []  # places in the tables, read row by row: of gold chunks,
    first_at: list[int] = []  # and of the first gold chunk of each group
    for place, result in zip(range(0, len(rows) * depth, depth), rows, strict=True):
        rank_of = _ranks_of_gold(result, depth)
        gold_at += [place + rank for rank in rank_of.values()]
        for group in result.gold:
            if found := [rank_of[chunk_id] for chunk_id in group if chunk_id in rank_of]:
                first_at.append(place + min(found))
    relevant, new = (
        np.bincount(np.array(places, dtype=np.int64), minlength=len(rows) * depth).reshape(len(rows), depth)
        for places in (gold_at, first_at)
    )
    return RankTable(
        question_ids=tuple(result.question_id for result in rows),
        unanswerable=tuple(result.question_id for result in results if not result.gold),
        depth=depth,
        relevant=relevant > 0,
        found=new.cumsum(axis=1),
        gold=np.array([len({name for group in result.gold for name in group}) for result in rows], dtype=np.int64),
        groups=np.array([len(result.gold) for result in rows], dtype=np.int64),
    )


def recall(table: RankTable) -> Floats:
    """Evidence groups found ÷ groups, (n, depth). With one source chunk it is the classic hit."""
    return np.divide(table.found, table.groups[:, np.newaxis])


def chunk_recall(table: RankTable) -> Floats:
    """Gold chunks found ÷ gold chunks, (n, depth); 0 for a question whose evidence no chunk holds."""
    return _gold_found(table) / np.maximum(table.gold, 1)[:, np.newaxis]


def precision(table: RankTable) -> Floats:
    """Gold chunks found ÷ k, (n, depth), also where a ranking is shorter than k. At most gold ÷ k."""
    return _gold_found(table) / _ks(table.depth)


def f1(table: RankTable) -> Floats:
    """Harmonic mean of a question's precision@k and recall@k, the two curves it is drawn with, (n, depth).

    0 where both are 0. Means over questions are means of these, not the harmonic mean of the two means.
    """
    kept, found = precision(table), recall(table)
    total = kept + found
    return np.divide(2 * kept * found, total, out=np.zeros_like(total), where=total > 0)


def hit(table: RankTable) -> Floats:
    """1 when a gold chunk is among the first k, else 0, (n, depth)."""
    return np.asarray(table.found > 0, dtype=np.float64)


def all_groups(table: RankTable) -> Floats:
    """1 when every evidence group is found among the first k, else 0, (n, depth)."""
    return np.asarray(table.found == table.groups[:, np.newaxis], dtype=np.float64)


def ndcg(table: RankTable) -> Floats:
    """DCG@k ÷ the best possible, (n, depth): gain 1 for gold, else 0, discount 1 ÷ log2(rank + 1); 0 without gold."""
    discount = 1 / np.log2(_ks(table.depth) + 1)
    gain = (table.relevant * discount).cumsum(axis=1)
    best = discount.cumsum()
    ideal = best[np.minimum(_ks(table.depth), np.maximum(table.gold, 1)[:, np.newaxis]).astype(np.int64) - 1]
    return np.asarray(gain / ideal)


def ranks(table: RankTable) -> Ints:
    """Rank of the first gold chunk, (n,), from 1; 0 is a miss, no gold chunk down to `depth`."""
    return np.where(table.relevant.any(axis=1), table.relevant.argmax(axis=1) + 1, 0)


def reciprocal_rank(table: RankTable) -> Floats:
    """1 ÷ rank of the first gold chunk, (n,); 0 for a miss. Its mean is MRR."""
    first = ranks(table)
    return np.divide(1.0, first, out=np.zeros(len(first)), where=first > 0)


def average_precision(table: RankTable) -> Floats:
    """Precision at the rank of each gold chunk found, summed, ÷ gold chunks, (n,). Its mean is MAP, to `depth`."""
    at_gold = np.where(table.relevant, precision(table), 0.0).sum(axis=1)
    return np.asarray(at_gold / np.maximum(table.gold, 1))


def rank_counts(table: RankTable) -> dict[str, int]:
    """How many questions have their first gold chunk at rank "1", "2" … `depth`, and at none: "miss"."""
    counts = np.bincount(ranks(table), minlength=table.depth + 1)
    return {str(rank): int(counts[rank]) for rank in range(1, table.depth + 1)} | {"miss": int(counts[0])}


def answerable(results: Sequence[Retrieved], depth: int) -> list[Retrieved]:
    """Results with evidence, in order; they are the rows of every table.

    Raises:
        UsageError: `depth` is below 1.
        InputError: a question comes twice.

    """
    if depth < 1:
        raise UsageError(f"Depth {depth} ranks nothing; give 1 or more.")
    if len({result.question_id for result in results}) < len(results):
        ids = [result.question_id for result in results]
        twice = next(question_id for question_id in ids if ids.count(question_id) > 1)
        raise InputError(f"Question '{twice}' was retrieved twice; keep one of its rankings.")
    return [result for result in results if result.gold]


def _ranks_of_gold(result: Retrieved, depth: int) -> dict[str, int]:
    """0-based rank of every gold chunk in the ranking."""
    ids = result.ranking.ids[:depth]
    there = set(ids)
    if len(there) < len(ids):
        twice = next(chunk_id for chunk_id in ids if ids.count(chunk_id) > 1)
        raise InputError(f"The ranking of question '{result.question_id}' holds chunk '{twice}' twice.")
    return {chunk_id: ids.index(chunk_id) for group in result.gold for chunk_id in group if chunk_id in there}


def _ks(depth: int) -> Ints:
    """1 … depth."""
    return np.arange(1, depth + 1)


def _gold_found(table: RankTable) -> Ints:
    """Gold chunks among the first k, (n, depth)."""
    return table.relevant.cumsum(axis=1)
