"""What pooled verdicts tell of rankings: questions that another chunk than their evidence answers.

A judge's verdicts on chunks hold for every run that ranks them. A chunk that supports all claims of the reference
answers the question, whether or not it is gold.

- judged@k = judged chunks among the first k ÷ chunks among the first k;
- corrected recall@k = 1 with such a chunk among the first k, else recall@k;
- corrected RR = 1 ÷ the smaller of the ranks of the first gold chunk and of the first such chunk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragviz.core.call import Estimate
from ragviz.core.ranking import Retrieved
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters
from ragviz.text.counts import agreed, counted, first


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Which claims of the reference (from 0) each judged chunk of one question supports, of so many `claims`.

    -1 where nobody judged any of its chunks, so that their number is not known. `together` is whether the judge was
    also asked what follows from several chunks.
    """

    claims: int
    chunks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    together: bool = False

    @property
    def supporting(self) -> frozenset[str]:
        """Ids of the chunks that support every claim of the reference."""
        return frozenset(i for i, claims in self.chunks.items() if self.claims > 0 and len(claims) == self.claims)


@dataclass(frozen=True, slots=True)
class Found:
    """A missed question that a chunk which is not gold answers: the first such chunk, and its rank."""

    question_id: str
    chunk_id: str
    rank: int


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean of rankings: `raw` by gold chunks alone, `corrected` by chunks that support the whole reference too.

    `most` is the corrected one if every chunk that nobody judged supported it.
    """

    raw: Estimate
    corrected: Estimate
    most: Estimate


@dataclass(frozen=True, slots=True)
class Pooled:
    """What the verdicts of `judge` tell of a run at `k`.

    `share` is judged@k, the mean over questions with a ranking. Of `missed` questions, whose evidence is not complete
    among the first k, `found` are those that another chunk among them answers.
    """

    judge: str
    k: int
    share: Estimate
    missed: int
    found: tuple[Found, ...]
    recall: Corrected
    mrr: Corrected

    @property
    def sentence(self) -> str:
        """What the verdicts say of the questions whose evidence is not complete among the first k."""
        if not self.missed:
            return f"No question lacks evidence in {first(self.k, 'chunk')}."
        found = len(self.found)
        return (
            f"Of {counted(self.missed, 'question')} without all evidence in {first(self.k, 'chunk')}, {found:,} "
            f"{agreed(found, 'is')} answered by another chunk that supports the whole reference, according to "
            f"{self.judge}; {self.share.mean or 0:.0%} of {first(self.k, 'chunk')} is judged."
        )


def measure(
    results: Sequence[Retrieved],
    verdicts: Mapping[str, Verdicts],
    k: int,
    judge: str,
    *,
    clusters: Clusters | None = None,
    seed: int = 0,
) -> Pooled:
    """Measure rankings at `k` by a judge's verdicts, by question id; `clusters` are those of the results' questions.

    A question that is not in `verdicts` has no reference.
    """

    def estimate(values: Sequence[float], places: Sequence[int]) -> Estimate:
        return intervals.estimate(values, clusters.take(places) if clusters and places else None, seed=seed)

    ranked = [n for n, each in enumerate(results) if each.ranking.ids and each.question_id in verdicts]
    heads = [(results[n].ranking.ids[:k], verdicts[results[n].question_id]) for n in ranked]
    share = estimate([sum(i in each.chunks for i in ids) / len(ids) for ids, each in heads], ranked)
    gold_places = [n for n, each in enumerate(results) if each.gold]
    with_gold = [results[n] for n in gold_places]
    rows = [_corrected(result, verdicts.get(result.question_id, Verdicts(0)), k) for result in with_gold]
    recall, mrr = (
        Corrected(*(estimate([row[kind][n] for row in rows], gold_places) for n in range(3))) for kind in (0, 1)
    )
    missed = [(result, row) for result, row in zip(with_gold, rows, strict=True) if row[0][0] < 1]
    found = []
    for result in [result for result, row in missed if row[0][1] == 1]:
        ids, supporting = result.ranking.ids[:k], verdicts[result.question_id].supporting
        rank = next(rank for rank, i in enumerate(ids, start=1) if i in supporting)
        found.append(Found(result.question_id, ids[rank - 1], rank))
    return Pooled(judge, k, share, len(missed), tuple(found), recall, mrr)


def _corrected(result: Retrieved, verdicts: Verdicts, k: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return recall@k and RR of one question, each raw, corrected, and at most."""
    ids, supporting = result.ranking.ids, verdicts.supporting
    gold = {i for group in result.gold for i in group}
    first = set(ids[:k])
    raw = sum(not first.isdisjoint(group) for group in result.gold) / len(result.gold)
    by_gold = _first([i in gold for i in ids])
    right = [i in gold or i in supporting for i in ids]
    corrected = max(raw, float(not first.isdisjoint(supporting)))
    possible = [answers or i not in verdicts.chunks for answers, i in zip(right, ids, strict=True)]
    unjudged = any(i not in verdicts.chunks and i not in gold for i in first) and verdicts.claims != 0
    most = 1.0 if unjudged else corrected
    return (raw, corrected, most), (by_gold, _first(right), _first(possible if verdicts.claims else right))


def _first(right: Sequence[bool]) -> float:
    return next((1 / rank for rank, is_right in enumerate(right, start=1) if is_right), 0.0)
