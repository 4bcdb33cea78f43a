"""Ranking metrics, for every k from one retrieval. All arrays have a row per answerable question, a column per k.

`measure` looks up the gold chunks of rankings in a `RankTable`; every metric is a function of that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragviz.core.errors import InputError, UsageError
from ragviz.core.ranking import Retrieved
from ragviz.core.recording import Need

Floats = NDArray[np.float64]
Table = TypeVar("Table")

Place = Literal["tile", "curve", "row", "sort"]
"""A tile of a run's results; a curve over k; a column per kind and document; the order of a run's questions."""


@dataclass(frozen=True, slots=True)
class Metric(Generic[Table]):
    """One metric: how it is computed, and what a person must know to read it.

    `function` gives a number per question: of a metric of rankings that is `at_k` an array (n, depth) with a column per
    k, else (n,). `needs` is what of a recording it reads. `version` changes with the formula. `shown` maps each place
    where it is shown by default to its position there.
    """

    title: str
    explanation: str
    function: Callable[[Table], Floats]
    needs: tuple[Need, ...] = ("ranking", "gold")
    at_k: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    version: str = "1"
    shown: Mapping[Place, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Title without its "@k"."""
        return self.title.removesuffix("@k")


Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """The rankings of the questions with evidence to `depth`, in the order of `results`; some may be shorter.

    `unranked` are the ids of the questions without evidence, which have no row.
    """

    results: tuple[Retrieved, ...]
    unranked: tuple[str, ...]
    depth: int

    @property
    def held(self) -> Bools:
        """Which ranks each ranking has, (n, depth)."""
        lengths = np.array([len(result.ranking.ids) for result in self.results], dtype=np.int64)
        return np.asarray(np.arange(self.depth) < lengths[:, np.newaxis])


def read(results: Sequence[Retrieved], depth: int) -> Rankings:
    """Return the rankings of `results`, of which ranks past `depth` are left out.

    Raises:
        UsageError: `depth` is below 1.
        InputError: a question comes twice.

    """
    if depth < 1:
        raise UsageError(f"Depth {depth} ranks nothing; give 1 or more.")
    ids = [result.question_id for result in results]
    if len(set(ids)) < len(ids):
        twice = next(question_id for question_id in ids if ids.count(question_id) > 1)
        raise InputError(f"Question '{twice}' was retrieved twice; keep one of its rankings.")
    unranked = tuple(result.question_id for result in results if not result.gold)
    return Rankings(tuple(result for result in results if result.gold), unranked, depth)


def tokens(rankings: Rankings, sizes: Mapping[str, int]) -> Ints | None:
    """Return the tokens of the first j + 1 chunks of each ranking, (n, depth); a ranking may be shorter.

    None when the size of a chunk is not known: its index was cut anew, or deleted.
    """
    held = rankings.held
    found = np.zeros(held.shape, dtype=np.int64)
    try:
        found[held] = [sizes[i] for result in rankings.results for i in result.ranking.ids[: rankings.depth]]
    except KeyError:
        return None
    return found.cumsum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class RankTable:
    """What rankings to `depth` found: row i is `question_ids[i]`, column j is rank j + 1.

    `relevant` (n, depth): the chunk at that rank is gold; `gold_found`: gold chunks up to there; `groups_found`:
    evidence groups found up to there. `gold` (n,): gold chunks of the question; `groups` (n,): its groups, at least 1,
    those without gold chunks too. `gain` (n, depth): the grade of the chunk at that rank, 0 of one that is not gold;
    `ideal`: the same of the best possible ranking.
    """

    question_ids: tuple[str, ...]
    depth: int
    relevant: Bools
    gold_found: Ints
    groups_found: Ints
    gold: Ints
    groups: Ints
    gain: Floats
    ideal: Floats


def measure(rankings: Rankings) -> RankTable:
    """Look up the gold chunks of every question in its ranking; no rankings give a table of no rows.

    Raises:
        InputError: a ranking holds a chunk twice.

    """
    rows, n, depth = rankings.results, len(rankings.results), rankings.depth
    new, gain, ideal = np.zeros((n, depth), dtype=np.int64), np.zeros((n, depth)), np.zeros((n, depth))
    for row, result in enumerate(rows):
        ids = result.ranking.ids[:depth]
        rank_of = dict(zip(ids, range(depth), strict=False))
        if len(rank_of) < len(ids):
            twice = next(i for i in ids if ids.count(i) > 1)
            raise InputError(f"The ranking of question '{result.question_id}' holds chunk '{twice}' twice.")
        for group in result.gold:
            found = [i for i in group if i in rank_of]
            for i in found:
                gain[row, rank_of[i]] = result.grades.get(i, 1.0)
            if found:
                new[row, min(rank_of[i] for i in found)] += 1
        own = {i for group in result.gold for i in group}
        # Of a question without gold chunks, its gain of 0 is divided by one grade of 1.
        ideal[row, : max(len(own), 1)] = sorted((result.grades.get(i, 1.0) for i in own), reverse=True)[:depth] or 1.0
    relevant = gain > 0
    return RankTable(
        question_ids=tuple(result.question_id for result in rows),
        depth=depth,
        relevant=relevant,
        gold_found=relevant.cumsum(axis=1),
        groups_found=new.cumsum(axis=1),
        gold=np.array([len({i for group in result.gold for i in group}) for result in rows], dtype=np.int64),
        groups=np.array([len(result.gold) for result in rows], dtype=np.int64),
        gain=gain,
        ideal=ideal,
    )


def recall(table: RankTable) -> Floats:
    """Evidence groups found ÷ groups, (n, depth). With one source chunk it is the classic hit."""
    return np.divide(table.groups_found, table.groups[:, np.newaxis])


def chunk_recall(table: RankTable) -> Floats:
    """Gold chunks found ÷ gold chunks, (n, depth); 0 for a question whose evidence no chunk holds."""
    return table.gold_found / np.maximum(table.gold, 1)[:, np.newaxis]


def precision(table: RankTable) -> Floats:
    """Gold chunks found ÷ k, (n, depth), also where a ranking is shorter than k. At most gold ÷ k."""
    return table.gold_found / _ks(table.depth)


def f1(table: RankTable) -> Floats:
    """Harmonic mean of a question's precision@k and recall@k, the two curves it is drawn with, (n, depth).

    0 where both are 0. Means over questions are means of these, not the harmonic mean of the two means.
    """
    # 2 / (1 / precision + 1 / recall) in whole numbers: gold chunks and groups are found together, or neither is.
    both = 2 * table.gold_found * table.groups_found
    return both / np.maximum(table.gold_found * table.groups[:, np.newaxis] + table.groups_found * _ks(table.depth), 1)


def hit(table: RankTable) -> Floats:
    """1 when a gold chunk is among the first k, else 0, (n, depth)."""
    return np.asarray(table.groups_found > 0, dtype=np.float64)


def all_groups(table: RankTable) -> Floats:
    """1 when every evidence group is found among the first k, else 0, (n, depth)."""
    return np.asarray(table.groups_found == table.groups[:, np.newaxis], dtype=np.float64)


def ndcg(table: RankTable) -> Floats:
    """DCG@k ÷ the best possible, (n, depth): gain is the chunk's grade, discount 1 ÷ log2(rank + 1); 0 without gold.

    Linear gain, as TREC's evaluation has it; a chunk without a grade has 1.
    """
    discount = 1 / np.log2(_ks(table.depth) + 1)
    return np.asarray((table.gain * discount).cumsum(axis=1) / (table.ideal * discount).cumsum(axis=1))


def ranks(table: RankTable) -> Ints:
    """Rank by which a gold chunk of every evidence group has come, (n,), from 1; 0 when one has none to `depth`.

    With one evidence group that is the rank of the first gold chunk.
    """
    complete = table.groups_found == table.groups[:, np.newaxis]
    return np.where(complete.any(axis=1), complete.argmax(axis=1) + 1, 0)


def first_ranks(table: RankTable) -> Ints:
    """Rank of the first gold chunk of any evidence group, (n,), from 1; 0 when there is none down to `depth`."""
    return np.where(table.relevant.any(axis=1), table.relevant.argmax(axis=1) + 1, 0)


def reciprocal_rank(table: RankTable) -> Floats:
    """1 ÷ rank of the first gold chunk, (n,); 0 when none was found. Its mean is MRR."""
    first = first_ranks(table)
    return np.divide(1.0, first, out=np.zeros(len(first)), where=first > 0)


def average_precision(table: RankTable) -> Floats:
    """Precision at the rank of each gold chunk found, summed, ÷ gold chunks, (n,). Its mean is MAP, to `depth`."""
    at_gold = np.where(table.relevant, precision(table), 0.0).sum(axis=1)
    return np.asarray(at_gold / np.maximum(table.gold, 1))


def _ks(depth: int) -> Ints:
    return np.arange(1, depth + 1)


RANKING: dict[str, Metric[RankTable]] = {
    "recall": Metric(
        "Recall@k",
        "Share of a question's evidence groups of which an evidence chunk is among the first k: with one source chunk, "
        "whether it is there at all. 0 to 1. Low: the evidence ranks below k, or was cut so that no chunk matches.",
        recall,
        shown={"tile": 1, "curve": 1, "row": 1},
    ),
    "chunk_recall": Metric(
        "Chunk recall@k",
        "Share of a question's evidence chunks that are among the first k. 0 to 1. Low: evidence spread over more "
        "chunks than k, or evidence chunks that rank below k.",
        chunk_recall,
    ),
    "precision": Metric(
        "Precision@k",
        "Share of the first k chunks that hold evidence. 0 to 1, and with one evidence chunk never above 1/k. Low: k "
        "is larger than the evidence needs, or other chunks rank above those that do.",
        precision,
        shown={"curve": 2},
    ),
    "f1": Metric(
        "F1@k",
        "Harmonic mean of a question's precision@k and recall@k. 0 to 1, and with one evidence chunk never above "
        "2/(k + 1). Low: one of the two is.",
        f1,
        shown={"curve": 3},
    ),
    "hit": Metric(
        "Hit@k",
        "Whether any evidence chunk is among the first k. 0 or 1; its mean is the share of questions. Low: the first "
        "one ranks below k.",
        hit,
    ),
    "all_groups": Metric(
        "All groups@k",
        "Whether every evidence group of the question is found among the first k. 0 or 1; its mean is the share of "
        "questions. Low: questions that need several passages get some of them only.",
        all_groups,
    ),
    "ndcg": Metric(
        "nDCG@k",
        "Evidence chunks among the first k, each worth its grade (1 where none was judged) and less the lower it "
        "ranks, ÷ the best order there could be. 0 to 1. Low: evidence chunks are missing, or rank behind others.",
        ndcg,
        version="2",
    ),
    "mrr": Metric(
        "MRR",
        "1 ÷ rank of the first evidence chunk, 0 for a miss, averaged. 0 to 1; 0.5 is rank 2 for all. Low: it is far "
        "down or missing.",
        reciprocal_rank,
        at_k=False,
        shown={"tile": 2, "row": 2},
    ),
    "map": Metric(
        "MAP",
        "Precision at the rank of each evidence chunk, averaged over them, then over questions. 0 to 1; with one the "
        "same as MRR. Low: some are far down or missing.",
        average_precision,
        at_k=False,
    ),
}
"""Metrics of rankings by name: a new one is a function of a `RankTable` and its entry here."""
