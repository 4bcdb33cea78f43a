"""A logistic regression over what is known of each chunk, fitted on questions whose gold chunks are known.

It is fitted on the questions of one side of a split ("validation") and measured on the others. On validation itself,
where configurations are chosen, it is cross-fitted: each question is scored by a fit on the other folds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.retrieval import maxsim_reranker
from ragviz.retrieval.reranking import Candidates, Parts, Scorer, Training, candidates_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragviz.retrieval.regression import Floats, Regression

VERSION = "1"

REACH = 1000
"""Chunks of the BM25 and kNN rankings that are looked at: one behind them has the score of the last, or none."""

FEATURES = {
    "bm25": "BM25 score ÷ the best one of the question",
    "cosine": "similarity to the question − the best one of the question",
    "maxsim": "MaxSim − the best one of the question",
    "position": "1 ÷ rank by the retriever",
    "title": "share of the question's words that stand in the document's name or the chunk's headings",
}
"""What is known of a chunk → how it is counted. Comparing with the question's best makes questions comparable."""


def check(_argument: str, config: IndexConfig) -> None:
    """Raise UsageError for an index whose embedder has no vectors of tokens, or that has none."""
    from ragviz.models import token_vectors

    try:
        token_vectors.check_has_tokens(config.embedder)
    except UsageError:
        raise UsageError(
            "Reranker 'learned' uses vectors of chunks and of their tokens: take an index with an embedder on this "
            f"machine; that of this one is '{config.embedder or 'none'}'."
        ) from None


def identity(parts: Parts) -> str:
    """Return version and embedder, which the scores depend on beside the questions that it is fitted on."""
    return f"learned {VERSION}, {maxsim_reranker.identity(parts)}"


def build(parts: Parts) -> Scorer:
    """Fit, and return the scorer: the log odds that a chunk is gold. The fit on all is noted in `parts.report`.

    Raises:
        UsageError: there is no question to fit on, or none whose gold chunks the retriever finds.

    """
    training = parts.training
    if training is None or not training.questions:
        raise UsageError(
            "Reranker 'learned' is fitted on the validation questions with evidence of a set's split, and there are "
            "none: split the set (`ragviz questions split SET`), and make a run of one of its sides (--split test)."
        )
    maxsim = maxsim_reranker.build(parts)
    fitted = _fits(training, maxsim, parts)
    fold_of = dict(zip(training.questions, training.folds, strict=bool(training.folds)))

    def scored(candidates: Sequence[Candidates]) -> list[list[float]]:
        return [
            [float(score) for score in fitted[fold_of.get(each.question)].scores(table)]
            for each, table in zip(candidates, features(candidates, maxsim(candidates), parts), strict=True)
        ]

    return scored


def _fits(training: Training, maxsim: Scorer, parts: Parts) -> dict[int | None, Regression]:
    """Return the fit without the questions of each fold, and under None that on all questions."""
    import numpy as np

    assert training.retriever is not None
    assert training.texts is not None
    parts.progress(0, None, "", "Fitting the reranker")
    started = time.monotonic()
    heads = training.retriever(training.questions, training.depth)
    candidates = candidates_of(training.questions, heads, training.texts)
    gold_of = dict(zip(training.questions, training.gold, strict=True))
    labels = [np.array([i in gold_of[each.question] for i in each.ranking.ids], dtype=bool) for each in candidates]
    tables = features(candidates, maxsim(candidates), parts)
    fold_of = dict(zip(training.questions, training.folds, strict=bool(training.folds)))
    folds = [fold_of.get(each.question) for each in candidates]
    questions = list(zip(tables, labels, strict=True))
    fitted: dict[int | None, Regression] = {None: _fit(questions)}
    for fold in sorted(set(training.folds)):
        fitted[fold] = _fit([each for each, of in zip(questions, folds, strict=True) if of != fold])
    _note(parts, fitted[None], labels, len(fitted) - 1)
    # most of the time goes into vectors of tokens, which the questions that are reranked then need not
    parts.report.seconds += time.monotonic() - started
    return fitted


def _fit(questions: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> Regression:
    """Fit on the features of the chunks of each question, with whether each is gold."""
    import numpy as np

    from ragviz.retrieval import regression

    gold, chunks = sum(int(labels.sum()) for _, labels in questions), sum(len(labels) for _, labels in questions)
    if gold in (0, chunks):
        raise UsageError(
            f"Reranker 'learned' cannot be fitted: of the first chunks of {len(questions)} validation questions, "
            f"{chunks} in all, {gold} are gold. Rerank more chunks, review the evidence, or add questions."
        )
    return regression.fit(
        np.concatenate([table for table, _ in questions]), np.concatenate([labels for _, labels in questions])
    )


def _note(parts: Parts, fitted: Regression, labels: Sequence[NDArray[np.bool_]], folds: int) -> None:
    """Note what was learnt, and from how much, in the report; `folds` is 0 where no fold was held out."""
    parts.report.fit = {
        "questions": len(labels),
        "chunks": sum(map(len, labels)),
        "gold": sum(int(each.sum()) for each in labels),
        "coefficients": {name: round(float(weight), 4) for name, weight in zip(FEATURES, fitted.weights, strict=True)},
        "intercept": round(fitted.intercept, 4),
        **({"folds": folds} if folds else {}),
    }


def features(candidates: Sequence[Candidates], maxsim: Sequence[Sequence[float]], parts: Parts) -> list[Floats]:
    """Return a table of `FEATURES` for each question, a row for each of its chunks."""
    import numpy as np

    if not candidates:
        return []
    assert parts.index is not None
    assert parts.embedder is not None
    assert parts.titles is not None
    questions = [each.question for each in candidates]
    bm25 = parts.index.bm25(questions, REACH)
    knn = parts.index.knn(parts.embedder.embed(questions, "query"), REACH)
    titles = parts.titles(list(dict.fromkeys(i for each in candidates for i in each.ranking.ids)))
    tables = []
    for each, tokens, words, vectors in zip(candidates, maxsim, bm25, knn, strict=True):
        ids = each.ranking.ids
        by_words, near = _read(words, ids, 0.0), _read(vectors, ids, min(vectors.scores, default=0.0))
        columns = [
            by_words / max(float(by_words.max()), 1e-9),
            near - near.max(),
            np.array(tokens) - max(tokens),
            1 / np.arange(1, len(ids) + 1),
            np.array([overlap(each.question, titles[i]) for i in ids]),
        ]
        tables.append(np.stack(columns, axis=1))
    return tables


def _read(ranking: Ranking, ids: Sequence[str], otherwise: float) -> Floats:
    import numpy as np

    score_of = dict(zip(ranking.ids, ranking.scores, strict=True))
    return np.array([score_of.get(i, otherwise) for i in ids], dtype=np.float64)


def overlap(question: str, title: str) -> float:
    """Return the share of the question's words, short English ones left out, that stand in a title.

    >>> overlap("How long is parental leave?", "handbook leave: Parental leave")
    0.5
    """
    from ragviz.text import language, words

    lang = language.detect(question)
    asked = {word for word in words.tokens(question, lang) if len(word) > 2 or not word.isascii()}
    return len(asked & set(words.tokens(title, lang))) / len(asked) if asked else 0.0
