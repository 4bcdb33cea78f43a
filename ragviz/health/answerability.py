"""Whether the documents hold an answer to a text: by the question of the set that asks the same, else by a score.

What a question of the set asks too is held where that has evidence, and not held where that is unanswerable. Of any
other text the score of its best chunk is compared with a threshold, learnt from the set's own questions: those with
evidence should be at or above it, the unanswerable ones below. The embeddings' similarity and the share of words that
stand in the chunk are both tried where both can be computed, and the one that tells the two kinds apart better is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress
from ragviz.core.question import Question
from ragviz.health import word_weights
from ragviz.health.log_clusters import EMBEDDED, OpenCluster, Vectors, content
from ragviz.health.word_weights import Weights
from ragviz.questions import staleness
from ragviz.retrieval import search
from ragviz.workspace import Workspace

FEWEST = 5
"""Answerable, and unanswerable, questions of the set from which a threshold between them is learnt."""
CALIBRATED = 400
"""Questions of either kind that it is learnt from at most, spread over the set."""
_BLOCK = 256
_DEPTH = 5  # chunks of BM25 whose words are looked at


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which score on a chunk holds an answer, learnt from the set's own questions.

    `right_answerable` of `answerable` questions are at or above it, `right_unanswerable` of `unanswerable` below.
    Without unanswerable ones it is the score that 95 % of the answerable ones reach.
    """

    value: float
    answerable: int
    right_answerable: int
    unanswerable: int
    right_unanswerable: int

    @property
    def balanced(self) -> float | None:
        """The mean of both shares that are right: 0.5 is chance; None without unanswerable questions."""
        if not self.unanswerable:
            return None
        return (self.right_answerable / self.answerable + self.right_unanswerable / self.unanswerable) / 2


Scored = list[tuple[float, str]]
"""For each text, how well the best chunk fits, and its id."""


def find(
    workspace: Workspace,
    index: IndexInfo | None,
    clusters: Sequence[OpenCluster],
    questions: Sequence[Question],
    vectors: Vectors,
    progress: Progress,
) -> tuple[Threshold | None, str]:
    """Say of each cluster whether a document answers it: by its question of the set, else by its best chunk's score.

    Return the threshold that the scores are compared with, and by what they are: "knn" or "words". Without an index
    nothing is said.
    """
    if index is None or not clusters:
        return None, ""
    looked = clusters[:EMBEDDED]
    yes = _spread([(q.query, q.language) for q in questions if q.evidence])
    no = _spread([(q.query, q.language) for q in questions if q.kind == "unanswerable"])
    fitting = sum(vectors.fits(each.language) for each in looked)
    every = [each.words for each in clusters] + [content(q.query, q.language) for q in questions]
    weights = word_weights.weights_of(every)
    ways: dict[str, Callable[[Sequence[tuple[str, str]]], Scored]] = {
        "words": lambda texts: _by_terms(workspace, index, texts, weights, progress)
    }
    if fitting >= 0.9 * len(looked):
        ways = {"knn": lambda texts: _nearest(workspace, index, texts, progress)} | ways
    if len(yes) < FEWEST or len(no) < FEWEST:
        ways = dict([next(iter(ways.items()))])
    tried = {name: _threshold([s for s, _ in way(yes)], [s for s, _ in way(no)]) for name, way in ways.items()}
    by = max(tried, key=lambda name: (each.balanced or 0.0) if (each := tried[name]) else -1.0)
    threshold = tried[by]
    scored = ways[by]([(each.text, each.language) for each in looked])
    known = {question.id: held for question in questions if (held := by_set(question)) is not None}
    for cluster, (score, chunk) in zip(looked, scored, strict=True):
        cluster.score, cluster.chunk = score, chunk
        cluster.held = known.get(cluster.question, None if threshold is None else score >= threshold.value)
    return threshold, by


def by_set(question: Question) -> bool | None:
    """Return whether the documents answer a question as its set says; None where only a reference answer is known.

    Evidence counts where every group of it has a place in a document still.

    >>> from ragviz.core.span import Span
    >>> there, gone = Span("d", 0, 4, "here"), Span("d", 0, 4, "gone", stale=True)
    >>> [by_set(Question("q", "?", "", ((span,),), "hand")) for span in (there, gone)]
    [True, None]
    >>> by_set(Question("q", "?", "", (), "hand")), by_set(Question("q", "?", "Ten.", (), "hand"))
    (False, None)
    """
    if question.evidence:
        return True if staleness.lost(question) is None else None
    return False if question.kind == "unanswerable" else None


def _spread(texts: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return at most `CALIBRATED` of these, evenly spread."""
    step = max(1, -(-len(texts) // CALIBRATED))
    return texts[::step]


def _threshold(yes: Sequence[float], no: Sequence[float]) -> Threshold | None:
    """Return the score that tells answerable questions from unanswerable ones best; None with too few of them.

    >>> _threshold([0.9, 0.8, 0.7, 0.6, 0.2], [0.1, 0.3, 0.3, 0.4, 0.5])
    Threshold(value=0.55, answerable=5, right_answerable=4, unanswerable=5, right_unanswerable=5)
    """
    if len(yes) < FEWEST:
        return None
    above = np.sort(np.asarray(yes, dtype=np.float64))
    below = np.sort(np.asarray(no, dtype=np.float64))
    if len(no) < FEWEST:
        value = float(np.quantile(above, 0.05, method="lower"))
    else:
        ends = np.unique(np.concatenate([above, below]))
        cuts = np.concatenate([ends[:1], (ends[1:] + ends[:-1]) / 2])
        right = (len(above) - np.searchsorted(above, cuts)) / len(above) + np.searchsorted(below, cuts) / len(below)
        value = float(cuts[np.argmax(np.round(right, 9))])
    kept = below if len(no) >= FEWEST else below[:0]
    return Threshold(round(value, 6), len(yes), int((above >= value).sum()), len(kept), int((kept < value).sum()))


def _batches(texts: Sequence[tuple[str, str]], progress: Progress) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(texts), _BLOCK):
        progress(start, len(texts), "texts", "Searching the documents")
        yield texts[start : start + _BLOCK]


def _nearest(workspace: Workspace, index: IndexInfo, texts: Sequence[tuple[str, str]], progress: Progress) -> Scored:
    """Score the best chunk of each text by the similarity of embeddings."""
    rank = search.retriever(workspace, index, "knn", progress=progress)
    scored: Scored = []
    for batch in _batches(texts, progress):
        rankings = rank([text for text, _ in batch], 1)
        scored += [(r.scores[0], r.ids[0]) if r.ids else (-1.0, "") for r in rankings]
    return scored


def _by_terms(
    workspace: Workspace, index: IndexInfo, texts: Sequence[tuple[str, str]], weights: Weights, progress: Progress
) -> Scored:
    """Score the best of BM25's first chunks by the share of the text's content words that stand in it, by weight."""
    rank, read = search.retriever(workspace, index, "bm25"), search.texts_of(workspace, index.corpus_id)
    known: dict[tuple[str, str], frozenset[str]] = {}
    scored: Scored = []
    for batch in _batches(texts, progress):
        rankings = rank([text for text, _ in batch], _DEPTH)
        fresh = list(dict.fromkeys(chunk for ranking in rankings for chunk in ranking.ids))
        passages = dict(zip(fresh, read(fresh), strict=True))
        for (text, code), ranking in zip(batch, rankings, strict=True):
            own = content(text, code)
            best = (0.0, "")
            for chunk in ranking.ids:
                key = (chunk, code)
                if key not in known:
                    known[key] = content(passages[chunk], code)
                best = max(best, (weights.share(own, known[key]) or 0.0, chunk), key=lambda each: each[0])
            scored.append(best)
        known.clear()
    return scored
