"""What pooled verdicts tell of rankings: misses that did not deserve to be misses, and context metrics at every k.

A judge's verdicts on chunks hold for every run that ranks them. A chunk that supports all claims of the reference
answers the question, whether or not it is gold. Where nobody judged a chunk, a metric has bounds: as if it said
nothing, and as if it said all.

- judged@k = judged chunks among the first k ÷ chunks among the first k;
- corrected recall@k = 1 with such a chunk among the first k, else recall@k;
- corrected RR = 1 ÷ the smaller of the ranks of the first gold chunk and of the first such chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ragviz.core.call import Estimate
from ragviz.core.ranking import Retrieved
from ragviz.metrics import grounding
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters
from ragviz.text.counts import agreed, counted, first


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's verdict on one chunk: whether it is useful, and which claims of the reference (from 0) it supports."""

    useful: bool
    supports: frozenset[int]


@dataclass(frozen=True, slots=True)
class AskedSet:
    """What was asked of a set of chunks: claims that none of them supports alone, and the chunks that some need."""

    chunks: frozenset[str]
    numbers: frozenset[int]
    found: Mapping[int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A judge's verdicts on the chunks of one question, by chunk id; the reference makes so many `claims`.

    -1 where nobody judged any of its chunks, so that their number is not known.
    """

    claims: int
    chunks: Mapping[str, Judged] = field(default_factory=dict)
    sets: tuple[AskedSet, ...] = ()

    @property
    def supporting(self) -> frozenset[str]:
        """Ids of the chunks that support every claim of the reference."""
        return frozenset(i for i, each in self.chunks.items() if self.claims > 0 and len(each.supports) == self.claims)


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
class Bounds:
    """A mean over n questions between two bounds, and over the `known` ones of them, whose value is exact."""

    least: float | None
    most: float | None
    n: int
    known: Estimate


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
    context_precision: Bounds
    context_recall: Bounds

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

    A question that is not in `verdicts` has no reference: of its context nothing is said. Where a reference makes no
    claim, context recall does not apply.
    """

    def estimate(values: Sequence[float], places: Sequence[int]) -> Estimate:
        return intervals.estimate(values, clusters.take(places) if clusters and places else None, seed=seed)

    ranked_places = [n for n, each in enumerate(results) if each.ranking.ids and each.question_id in verdicts]
    gold_places = [n for n, each in enumerate(results) if each.gold]
    ranked, with_gold = [results[n] for n in ranked_places], [results[n] for n in gold_places]
    nothing = Verdicts(0)
    contexts = [(result.ranking.ids[:k], verdicts[result.question_id]) for result in ranked]
    shares = [sum(i in each.chunks for i in ids) / len(ids) for ids, each in contexts]
    rows = [_corrected(result, verdicts.get(result.question_id, nothing), k) for result in with_gold]
    recall, mrr = (
        Corrected(*(estimate([row[kind][n] for row in rows], gold_places) for n in range(3))) for kind in (0, 1)
    )
    missed = [(result, row) for result, row in zip(with_gold, rows, strict=True) if row[0][0] < 1]
    found = [_found(result, verdicts[result.question_id], k) for result, row in missed if row[0][1] == 1]
    precision = [precision_bounds([_useful(each, i) for i in ids]) for ids, each in contexts]
    claims = [n for n, (_, each) in enumerate(contexts) if each.claims]
    recalls = [recall_bounds(*contexts[n]) for n in claims]
    share = estimate(shares, ranked_places)
    bounds = _bounds(precision, ranked_places, estimate), _bounds(recalls, [ranked_places[n] for n in claims], estimate)
    return Pooled(judge, k, share, len(missed), tuple(found), recall, mrr, *bounds)


def _useful(verdicts: Verdicts, chunk_id: str) -> bool | None:
    judged = verdicts.chunks.get(chunk_id)
    return None if judged is None else judged.useful


def _found(result: Retrieved, verdicts: Verdicts, k: int) -> Found:
    supporting = verdicts.supporting
    rank = next(rank for rank, i in enumerate(result.ranking.ids[:k], start=1) if i in supporting)
    return Found(result.question_id, result.ranking.ids[rank - 1], rank)


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
    """Return 1 ÷ the rank of the first true one, 0 without."""
    return next((1 / rank for rank, is_right in enumerate(right, start=1) if is_right), 0.0)


def precision_bounds(useful: Sequence[bool | None]) -> tuple[float, float]:
    """Return the least and the greatest context precision of ranked chunks of which some (None) were not judged.

    It is Σ t ÷ r_t over the ranks r_t of the useful chunks, ÷ their number: for each number of unjudged chunks that may
    be useful, the least when these are the last ones, the greatest when they are the first.

    >>> precision_bounds([True, None, False]), precision_bounds([None, True])
    ((1.0, 1.0), (0.5, 1.0))
    """
    unknown = [rank for rank, each in enumerate(useful) if each is None]
    values = [
        grounding.context_precision([bool(each) or rank in chosen for rank, each in enumerate(useful)]) or 0.0
        for count in range(len(unknown) + 1)
        for chosen in (unknown[:count], unknown[len(unknown) - count :])
    ]
    return min(values), max(values)


def recall_bounds(ids: Sequence[str], verdicts: Verdicts) -> tuple[float, float]:
    """Return the least and the greatest context recall of chunks: claims that follow, one alone or several together.

    Where a chunk was not judged, every claim may follow. Where nobody was asked whether a claim follows from these
    chunks together, it may.
    """
    if verdicts.claims < 0:
        return 0.0, 1.0
    chunks = frozenset(ids)
    alone = {n for i in chunks & verdicts.chunks.keys() for n in verdicts.chunks[i].supports}
    told = {n: _together(n, chunks, verdicts.sets) for n in range(verdicts.claims) if n not in alone}
    least = (len(alone) + sum(follows is True for follows in told.values())) / verdicts.claims
    if not chunks <= verdicts.chunks.keys():
        return least, 1.0
    return least, least + (sum(f is None for f in told.values()) / verdicts.claims if len(chunks) > 1 else 0.0)


def _together(claim: int, chunks: frozenset[str], sets: Sequence[AskedSet]) -> bool | None:
    """Return whether a claim follows from chunks together, None when nobody was asked."""
    if any(claim in each.found and chunks >= each.found[claim] for each in sets):
        return True
    asked = (e for e in sets if claim in e.numbers and (e.chunks == chunks or claim not in e.found))
    return False if any(each.chunks >= chunks for each in asked) else None


def _bounds(
    pairs: Sequence[tuple[float, float]],
    places: Sequence[int],
    estimate: Callable[[Sequence[float], Sequence[int]], Estimate],
) -> Bounds:
    exact = [n for n, (low, high) in enumerate(pairs) if low == high]
    known = estimate([pairs[n][0] for n in exact], [places[n] for n in exact])
    if not pairs:
        return Bounds(None, None, 0, known)
    least, most = (sum(pair[end] for pair in pairs) / len(pairs) for end in (0, 1))
    return Bounds(least, most, len(pairs), known)


def to_json(pooled: Pooled | None) -> dict[str, Any] | None:
    """Return what is printed with --json; None where no judge gave a verdict."""
    if pooled is None:
        return None
    return {
        "judge": pooled.judge,
        "k": pooled.k,
        "judged": _mean(pooled.share),
        "missed": pooled.missed,
        "answered_by_others": [asdict(each) for each in pooled.found],
        **{
            name: {"raw": _mean(each.raw), "corrected": _mean(each.corrected), "most": _mean(each.most)}
            for name, each in ((f"recall@{pooled.k}", pooled.recall), ("mrr", pooled.mrr))
        },
        **{
            f"{name}@{pooled.k}": {"least": e.least, "most": e.most, "n": e.n, "known": _mean(e.known)}
            for name, e in (("context_precision", pooled.context_precision), ("context_recall", pooled.context_recall))
        },
    }


def _mean(estimate: Estimate) -> dict[str, float | int | None]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high, "n": estimate.n}
