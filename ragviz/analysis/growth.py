"""Recall when the corpus has fewer chunks, exactly, and when it has more, extrapolated; and the extrapolation checked.

A question's evidence is found among the first k when at most k − 1 chunks rank above it. Those of the documents that
hold its evidence are always in the corpus, whatever else is; those of other documents, its better-ranked distractors,
come and go with the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.metrics.ranking import Rankings
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

TIMES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
"""Sizes of the corpus that are computed, as multiples of its present one."""
HIDINGS = 10
"""How often documents are hidden to check the extrapolation."""
SHARES = (0.5, 0.25)
"""Shares of the documents that stay when others are hidden."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of evidence of the ranked questions, one row a group: all arrays are (groups,).

    `question` is the row of its question. `above` counts the chunks of other documents, the distractors, that rank
    above its first gold chunk, `beside` those of the documents that hold evidence of the question; `known` is false
    where that chunk is deeper than the ranking goes, and both are what ranks above it at least. `own` counts all chunks
    of the documents that hold evidence. `never` marks groups whose evidence is in no ranking of any depth: no chunk
    holds it, or the whole ranking was read.
    """

    question: Ints
    above: Ints
    known: Bools
    beside: Ints
    own: Ints
    never: Bools
    n: int

    def mean_by_question(self, values: Floats) -> Floats:
        """Return the mean over the groups of each question, (n, …), of values by group, (groups, …)."""
        sums = np.zeros((self.n, *values.shape[1:]))
        np.add.at(sums, self.question, values)
        counts = np.bincount(self.question, minlength=self.n).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(sums / np.maximum(counts, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Golds:
    """The gold chunks of the groups of evidence, and the documents of all chunks, by number, -1 where not known.

    `group` is the number of the group of each gold chunk, `rank` its 0-based rank (`depth` where it has none) and
    `document` its document, (golds,). `question` is the row of each group, (groups,). `of_rank` are the documents by
    rank, (n, depth), `beside` whether they hold evidence of the question, and `own`, (n,), how many chunks those that
    do have.
    """

    group: Ints
    rank: Ints
    document: Ints
    question: Ints
    of_rank: Ints
    beside: Bools
    own: Ints


def golds_of(own: Rankings, documents: Mapping[str, int], document_of: Callable[[str], str]) -> Golds:
    """Look up the gold chunks of all groups in their rankings.

    `documents` are the chunks of each document of the index, `document_of` returns the document of a chunk.
    """
    members = [group for result in own.results for group in result.gold]
    chunks = tuple(chain.from_iterable(members))
    question = np.repeat(np.arange(len(own.results)), [len(result.gold) for result in own.results])
    group = np.repeat(np.arange(len(members)), [len(group) for group in members])
    number = np.fromiter((own.number.get(name, -1) for name in chunks), dtype=np.int64, count=len(chunks))
    places = {name: place for place, name in enumerate(documents)}
    of_rank = np.array([*(places.get(document_of(i), -1) for i in own.number), -1], dtype=np.int64)[own.chunks]
    document = np.array([places.get(document_of(i), -1) for i in chunks], dtype=np.int64)
    row, base = question[group], len(places) + 1
    pairs = np.unique((row * base + document + 1)[document >= 0])
    held = (np.arange(len(own.results))[:, np.newaxis] * base + of_rank + 1).ravel()
    at = np.minimum(np.searchsorted(pairs, held), max(len(pairs) - 1, 0))
    beside = (pairs[at] == held if len(pairs) else np.zeros(len(held), dtype=bool)).reshape(of_rank.shape)
    sizes = np.array([*documents.values()], dtype=np.float64)[pairs % base - 1] if len(pairs) else np.zeros(0)
    counts = np.bincount(pairs // base, weights=sizes, minlength=len(own.results)).astype(np.int64)
    return Golds(group, own.ranks_of(row, number), document, question, of_rank, beside & (of_rank >= 0), counts)


def groups_of(own: Rankings, golds: Golds, shown: Bools | None = None) -> Groups:
    """Return the groups of evidence by their places in the rankings.

    `shown`, (n, depth), marks the ranks whose chunks are in the corpus: those of hidden documents are passed over.
    """
    present = own.chunks >= 0
    there: Bools = present if shown is None else present & shown
    complete = np.asarray(~present.all(axis=1))  # a ranking shorter than its depth holds all that could be found
    row, ranked = golds.question[golds.group], np.flatnonzero(golds.rank < own.depth)
    ranked = ranked[there[row[ranked], golds.rank[ranked]]]
    order, held = there.cumsum(axis=1), (there & golds.beside).cumsum(axis=1)
    first = np.full(len(golds.question), own.depth)
    np.minimum.at(first, golds.group[ranked], golds.rank[ranked])
    known, last = first < own.depth, np.minimum(first, own.depth - 1)
    beside = held[golds.question, last] - known  # of evidence that is deeper, all that is ranked is above it
    above = order[golds.question, last] - known - beside
    empty = np.bincount(golds.group, minlength=len(golds.question)) == 0
    never = ~known & (empty | complete[golds.question])
    return Groups(golds.question, above, known, beside, golds.own[golds.question], never, len(own.results))


# Smaller corpora


def survival(above: ArrayLike, distractors: ArrayLike, left: ArrayLike, most: ArrayLike) -> Floats:
    """Chance that at most `most` of `above` marked distractors are among `left` drawn from all `distractors`.

    Hypergeometric: Σ_{j ≤ most} C(above, j) · C(distractors − above, left − j) ÷ C(distractors, left). All arguments
    have one shape.

    >>> survival([1], [2], [1], [0]).tolist()  # one of two distractors stays: the one above, or the other
    [0.5]
    """
    from scipy.special import gammaln

    marked, total, drawn, allowed = (np.asarray(each, dtype=np.float64) for each in (above, distractors, left, most))
    chances = np.zeros(marked.shape)

    def ways(of: Floats, some: Floats) -> Floats:
        possible = (some >= 0) & (some <= of)
        some = np.where(possible, some, 0)
        return np.where(possible, gammaln(of + 1) - gammaln(some + 1) - gammaln(of - some + 1), -np.inf)

    everything = ways(total, drawn)
    for count in range(int(max(allowed.max(initial=-1), -1)) + 1):
        term = np.exp(
            ways(marked, np.full(marked.shape, float(count))) + ways(total - marked, drawn - count) - everything
        )
        chances += np.where(count <= allowed, term, 0.0)
    return np.clip(np.where(np.minimum(marked, drawn) <= allowed, 1.0, chances), 0.0, 1.0)


def smaller(groups: Groups, k: int, chunks: int, left: int) -> tuple[Floats, Floats]:
    """Return the expected recall@k of every question when `left` of `chunks` chunks stay, as two bounds; (n,) each.

    The documents that hold its evidence stay; which chunks of others do is drawn at random. The bounds are equal where
    the rank of the evidence is known; where it is deeper than the ranking, all distractors rank above it, or only as
    many as the ranking holds.
    """
    distractors = np.maximum(chunks - groups.own, 0)
    drawn = np.clip(left - groups.own, 0, distractors)
    most = k - 1 - groups.beside
    known = _unique(survival, np.minimum(groups.above, distractors), distractors, drawn, most)
    worst = np.where(groups.known, known, (drawn <= most).astype(np.float64))
    low, high = np.where(groups.never, 0.0, worst), np.where(groups.never, 0.0, known)
    return groups.mean_by_question(np.minimum(low, high)), groups.mean_by_question(high)


def _unique(function: Callable[..., Floats], *columns: Ints) -> Floats:
    """Call a function of columns once for each distinct row."""
    least = [int(column.min(initial=0)) for column in columns]
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column, low in zip(columns, least, strict=True):
        key = key * (int(column.max(initial=0)) - low + 1) + column - low
    _, some, places = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(function(*(column[some] for column in columns))[places.ravel()])


# Larger corpora


@dataclass(frozen=True, slots=True)
class Model:
    """How many distractors rank above the evidence, over the questions: Poisson, its mean Gamma over the questions.

    `shape` and `rate` are those of the Gamma distribution, for the corpus that it was fitted to.
    """

    shape: float
    rate: float


def fitted(groups: Groups) -> Model:
    """Fit the model by maximum likelihood: counts known exactly, and those of deeper evidence as "at least so many".

    Counts then have a negative binomial distribution. Groups that are never found tell nothing.
    """
    from scipy.optimize import minimize
    from scipy.special import betainc, gammaln

    used = ~groups.never
    counts, times = np.unique(groups.above[used & groups.known], return_counts=True)
    bounds, deeper = np.unique(groups.above[used & ~groups.known], return_counts=True)
    if not len(counts) and not len(bounds):
        return Model(1.0, 1.0)

    def loss(at: Floats) -> float:
        shape, rate = np.exp(np.clip(at, -12, 12))
        share = rate / (1 + rate)
        log = gammaln(counts + shape) - gammaln(shape) - gammaln(counts + 1)
        log = log + shape * np.log(share) - counts * np.log1p(rate)
        tail = np.where(bounds > 0, betainc(np.maximum(bounds, 1), shape, 1 - share), 1.0)
        return float(-(times * log).sum() - (deeper * np.log(np.maximum(tail, 1e-300))).sum())

    mean = max(float((counts * times).sum()) / max(int(times.sum()), 1), 0.1)
    best = minimize(loss, np.log([0.3, 0.3 / mean]), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6})
    shape, rate = np.exp(np.clip(best.x, -12, 12))
    return Model(float(shape), float(rate))


def larger(groups: Groups, k: int, model: Model, times: float) -> Floats:
    """Return the recall@k of every question expected when the corpus is `times` as large (1 or more), (n,).

    The number of better-ranked distractors grows in proportion to the corpus: of a question that has b now, the new
    ones are Poisson with a mean of (times − 1) · λ, where λ given b is Gamma(shape + b, rate + 1). So they are negative
    binomial, and the chance that at most m come is I_p(shape + b, m + 1) with p = (rate + 1) ÷ (rate + times). Evidence
    that is deeper than the ranking now is not found then.
    """
    from scipy.special import betainc

    room = k - 1 - groups.beside - groups.above
    share = (model.rate + 1) / (model.rate + times)
    chance = betainc(model.shape + groups.above, np.maximum(room, 0) + 1, min(share, 1.0))
    found = np.where((room >= 0) & groups.known & ~groups.never, chance, 0.0)
    return groups.mean_by_question(found)


# The curve


@dataclass(frozen=True, slots=True)
class Size:
    """Recall@k in a corpus of `chunks` chunks; `extrapolated` beyond the present one.

    `recall` is the mean expected if evidence that is deeper than the rankings is as deep as can be (`low` of the bounds
    on each question), `most` the same if it is just below them.
    """

    chunks: int
    times: float
    recall: Estimate
    most: float
    extrapolated: bool


def sizes(
    groups: Groups, k: int, chunks: int, clusters: Clusters, *, times: Sequence[float] = TIMES, seed: int = 0
) -> list[Size]:
    """Return recall@k for each size of the corpus that has room for the evidence's documents of any question.

    Raises:
        UsageError: the corpus has no chunks.

    """
    if chunks < 1:
        raise UsageError("The index has no chunks: there is no corpus that could grow or shrink.")
    model, rows = fitted(groups), []
    for factor in times:
        left = max(round(factor * chunks), int(groups.own.max(initial=1)), 1)
        if factor <= 1:
            low, high = smaller(groups, k, chunks, min(left, chunks))
        else:
            low = high = larger(groups, k, model, factor)
        rows.append((left, factor, low, float(high.mean()) if len(high) else 0.0))
    estimates = intervals.estimates({place: row[2] for place, row in enumerate(rows)}, clusters, seed=seed)
    kept: dict[int, Size] = {}
    for place, (left, factor, _, most) in enumerate(rows):
        kept.setdefault(left, Size(left, left / chunks, estimates[place], most, factor > 1))
    return list(kept.values())


# The check


@dataclass(frozen=True, slots=True)
class Check:
    """Predictions from a corpus of which documents were hidden, against what is: means over the hidings.

    `kept` is the share of the documents that stayed, `times` how many times larger the whole is, on average.
    `predicted` is the recall of the whole extrapolated from the rest, `really` what it is, for the same questions;
    `error` is the mean of their absolute difference. `shrunk` and `shrunk_really` are the recall of the rest, computed
    from the whole (chunks stay at random) and read off (whole documents stay). `n` counts questions, a hiding on
    average, `hidings` those that had any.
    """

    kept: float
    times: float
    predicted: float
    really: float
    error: float
    shrunk: float
    shrunk_really: float
    n: float
    hidings: int


def check(
    own: Rankings,
    golds: Golds,
    k: int,
    documents: Sequence[int],
    share: float,
    *,
    hidings: int = HIDINGS,
    seed: int = 0,
) -> Check | None:
    """Hide documents at random, predict the whole from the rest, and compare; None where that leaves no question.

    `documents` are the numbers of chunks of each document. Only questions whose evidence stays whole are asked. Hiding
    chunks does not change the order of the others, which is exact for the nearest by vectors.
    """
    counts = np.array([*documents, 0], dtype=np.int64)
    if len(documents) < 2:
        return None
    random, whole, rows = np.random.default_rng(seed), groups_of(own, golds), []
    total = int(counts.sum())
    really = smaller(whole, k, total, total)[0]
    for _ in range(hidings):
        stays = np.zeros(len(counts), dtype=bool)
        stays[random.permutation(len(documents))[: max(1, round(share * len(documents)))]] = True
        hidden = np.bincount(golds.question[golds.group[~stays[golds.document]]], minlength=whole.n)
        asked = (hidden == 0) & (np.bincount(golds.question[golds.group], minlength=whole.n) > 0)
        left = int(counts[stays].sum())
        if not asked.any() or not 0 < left < total:
            continue
        rest = groups_of(own, golds, stays[golds.of_rank])
        predicted = larger(rest, k, fitted(_some(rest, asked)), total / left)[asked].mean()
        shrunk = smaller(whole, k, total, left)[0][asked].mean()
        read_off = _found(rest, k)[asked].mean()
        rows.append((total / left, predicted, really[asked].mean(), shrunk, read_off, asked.sum()))
    if not rows:
        return None
    table = np.array(rows, dtype=np.float64)
    error = float(np.abs(table[:, 1] - table[:, 2]).mean())
    times, guess, truth, shrunk, read, n = table.mean(axis=0).tolist()
    return Check(share, times, guess, truth, error, shrunk, read, n, len(rows))


def _found(groups: Groups, k: int) -> Floats:
    """Return recall@k of every question where the groups are now, (n,)."""
    return groups.mean_by_question((groups.known & (groups.above + groups.beside < k)).astype(np.float64))


def _some(groups: Groups, asked: NDArray[np.bool_]) -> Groups:
    """Return the groups of some questions, by a mask over these."""
    kept = asked[groups.question]
    return Groups(
        groups.question[kept],
        groups.above[kept],
        groups.known[kept],
        groups.beside[kept],
        groups.own[kept],
        groups.never[kept],
        groups.n,
    )
