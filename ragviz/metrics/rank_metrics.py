"""Ranking metrics, for every k from one retrieval. All arrays have a row per answerable question, a column per k.

`read` numbers the chunks of rankings once, `measure` looks up the gold ones in a `RankTable`; every metric is a
function of that table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, repeat
from operator import itemgetter
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
    """The rankings of the questions with evidence to `depth`, in the order of `results`.

    `chunks` (n, depth) are numbers of chunk ids by rank, -1 past the end of a ranking; `number` maps the ids to them,
    from 0, in ascending order. `keys` (n · depth,) hold row, chunk and rank of the same as one number each, ascending.
    `unranked` are the ids of the questions without evidence, which have no row.
    """

    results: tuple[Retrieved, ...]
    unranked: tuple[str, ...]
    depth: int
    number: dict[str, int]
    chunks: Ints
    keys: Ints

    def ranks_of(self, row: Ints, chunk: Ints) -> Ints:
        """0-based rank of each chunk (its number, or -1) in the ranking of its row, (m,); `depth` where it is not."""
        key = (row * (len(self.number) + 1) + chunk + 1) << self.depth.bit_length()
        place = np.searchsorted(self.keys, key)
        rank = np.append(self.keys, key.max(initial=0) + self.depth)[place] - key
        return np.where(chunk >= 0, np.minimum(rank, self.depth), self.depth)


def read(results: Sequence[Retrieved], depth: int) -> Rankings:
    """Number the chunks of the rankings of `results`, of which ranks past `depth` are left out.

    A ranking may be shorter than `depth`.

    Raises:
        UsageError: `depth` is below 1.
        InputError: a question comes twice, or a ranking holds a chunk twice.

    """
    if depth < 1:
        raise UsageError(f"Depth {depth} ranks nothing; give 1 or more.")
    ids = [result.question_id for result in results]
    if len(set(ids)) < len(ids):
        twice = next(question_id for question_id in ids if ids.count(question_id) > 1)
        raise InputError(f"Question '{twice}' was retrieved twice; keep one of its rankings.")
    rows = [result for result in results if result.gold]
    names: list[str] = []
    ends = [0]
    for result in rows:
        names += result.ranking.ids[:depth]
        ends.append(len(names))
    number: defaultdict[str, int] = defaultdict(count().__next__)
    # One call looks all of them up: a Python call for each takes as long as everything else here.
    looked_up = itemgetter(*names)(number) if len(names) > 1 else [number[name] for name in names]
    numbers = np.fromiter(looked_up, dtype=np.int64, count=len(names))
    if len(names) == len(rows) * depth:  # no ranking is shorter
        chunks = numbers.reshape(len(rows), depth)
    else:
        chunks = np.full((len(rows), depth), -1, dtype=np.int64)
        chunks[np.arange(depth) < np.diff(ends)[:, np.newaxis]] = numbers
    bits = depth.bit_length()
    keys = np.sort((chunks + 1) << bits | np.arange(depth), axis=1)
    ordered = keys >> bits
    row, place = np.nonzero((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0))
    if len(row):
        name = list(number)[ordered[row[0], place[0]] - 1]
        raise InputError(f"The ranking of question '{rows[row[0]].question_id}' holds chunk '{name}' twice.")
    keys += np.arange(len(rows))[:, np.newaxis] * ((len(number) + 1) << bits)
    unranked = tuple(result.question_id for result in results if not result.gold)
    return Rankings(tuple(rows), unranked, depth, dict(number), chunks, keys.ravel())


def tokens(rankings: Rankings, sizes: Mapping[str, int]) -> Ints | None:
    """Return the tokens of the first j + 1 chunks of each ranking, (n, depth); a ranking may be shorter.

    None when the size of a chunk is not known: its index was cut anew, or deleted.
    """
    if not all(map(sizes.__contains__, rankings.number)):
        return None
    of_number = np.array([*map(sizes.__getitem__, rankings.number), 0], dtype=np.int64)  # the last is -1's
    return of_number[rankings.chunks].cumsum(axis=1)


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
    """Look up the gold chunks of every question in its ranking; no rankings give a table of no rows."""
    rows, n, depth = rankings.results, len(rankings.results), rankings.depth
    gold_of = [result.gold for result in rows]
    members = [*chain.from_iterable(gold_of)]
    names = [*chain.from_iterable(members)]
    groups = np.fromiter(map(len, gold_of), dtype=np.int64, count=n)
    sizes = np.fromiter(map(len, members), dtype=np.int64, count=len(members))
    row = np.repeat(np.arange(n), groups)  # of each group
    group = np.repeat(np.arange(len(sizes)), sizes)  # of each gold chunk of a group
    number = np.fromiter(map(rankings.number.get, names, repeat(-1)), dtype=np.int64, count=len(names))
    rank = rankings.ranks_of(row[group], number)
    first = np.full(len(sizes), depth)
    np.minimum.at(first, group, rank)
    gain = np.zeros((n, depth + 1))
    graded = any(result.grades for result in rows)
    grades = [result.grades.get(name, 1.0) for result in rows for of_group in result.gold for name in of_group]
    gain[row[group], rank] = grades if graded else 1.0
    gain = gain[:, :depth]
    relevant = gain > 0
    gold = _gold_chunks(row[group], number, names, n)
    new = np.bincount(row * (depth + 1) + first, minlength=n * (depth + 1)).reshape(n, depth + 1)[:, :depth]
    return RankTable(
        question_ids=tuple(result.question_id for result in rows),
        depth=depth,
        relevant=relevant,
        gold_found=relevant.cumsum(axis=1),
        groups_found=new.cumsum(axis=1),
        gold=gold,
        groups=groups,
        gain=gain,
        ideal=_ideal(rows if graded else (), gold, depth),
    )


def _gold_chunks(row: Ints, chunk: Ints, names: Sequence[str], n: int) -> Ints:
    """Count the gold chunks of each of `n` rows, (n,); one that several groups of a row share counts once.

    `chunk` are the numbers of the chunks of these names, -1 of those that no ranking holds.
    """
    others: defaultdict[str, int] = defaultdict(count(int(chunk.max(initial=-1)) + 1).__next__)
    chunk = chunk.copy()
    for place in np.flatnonzero(chunk < 0).tolist():
        chunk[place] = others[names[place]]
    chunks = int(chunk.max(initial=0)) + 1
    keys = np.sort(row * chunks + chunk)
    return np.bincount(keys[np.diff(keys, prepend=-1) > 0] // chunks, minlength=n)


def _ideal(rows: Sequence[Retrieved], gold: Ints, depth: int) -> Floats:
    """Grades of the gold chunks of every question, (n, depth), the highest first, those past `depth` left out.

    A question without gold chunks has one grade of 1 here: its gain of 0 is divided by it.
    """
    ideal = np.asarray(np.arange(depth) < np.maximum(gold, 1)[:, np.newaxis], dtype=np.float64)
    for row, result in enumerate(rows):
        if result.grades and any(result.gold):
            grades = sorted((result.grades.get(name, 1.0) for name in set().union(*result.gold)), reverse=True)
            ideal[row, : len(grades)] = grades[:depth]
    return ideal


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


def rank_counts(table: RankTable) -> dict[str, int]:
    """Count the questions whose evidence is complete by rank "1", "2" … `depth` (see `ranks`), and the rest, "miss"."""
    counts = np.bincount(ranks(table), minlength=table.depth + 1)
    return {str(rank): int(counts[rank]) for rank in range(1, table.depth + 1)} | {"miss": int(counts[0])}


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
