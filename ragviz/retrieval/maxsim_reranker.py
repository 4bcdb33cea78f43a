"""Late interaction: every token of the question finds its nearest token of the chunk (ColBERT, Khattab & Zaharia 2020).

The vectors of tokens are the last hidden state of the embedder, so an ordinary embedding model does it, without a
model trained for late interaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from ragviz.core.configuration import IndexConfig
from ragviz.retrieval.reranking import Candidates, Parts, Scorer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragviz.models.token_vectors import KeptPassages
    from ragviz.models.vectors import Vectors

VERSION = "1"

NOTHING = -1.0
"""Score of a text without tokens: the lowest cosine."""


def maxsim(query: Vectors, passages: Vectors, counts: NDArray[np.intp]) -> Vectors:
    """Return, for each passage, the mean over the query's tokens of their greatest cosine with a token of it.

    Rows are of unit length; `passages` holds the tokens of all passages, one after the other, and `counts` how many
    each has. ColBERT's sum is the mean times the number of the query's tokens, so it ranks alike; means of several
    questions can be compared. Passages without tokens get -1, all of them for a query without tokens.
    """
    import numpy as np

    scores = np.full(len(counts), NOTHING, dtype=np.float32)
    filled = np.flatnonzero(counts)
    if len(query) and len(filled):
        starts = np.cumsum(counts[filled]) - counts[filled]
        scores[filled] = np.maximum.reduceat(query @ passages.T, starts, axis=1).mean(axis=0)
    return scores


def check(argument: str, config: IndexConfig) -> None:
    """Raise UsageError where the embedder has no vectors of tokens."""
    from ragviz.models import token_vectors

    token_vectors.check_has_tokens(argument or config.embedder)


def identity(parts: Parts) -> str:
    """Return version and model, which the scores depend on."""
    from ragviz.models import weights

    return f"maxsim {VERSION} by {weights.card(parts.argument or parts.embedder_name).identity}"


def build(parts: Parts) -> Scorer:
    """Return the scorer by the embedder that the argument names, by default that of the index; loads it."""
    from ragviz.models import token_vectors

    parts.progress(0, None, "", "Loading the embedder")
    return scorer(token_vectors.kept_by(parts.argument or parts.embedder_name, parts.folder), parts)


def scorer(kept: KeptPassages, parts: Parts) -> Scorer:
    """Return a scorer that computes the vectors of each distinct text once, and adds them to those that are kept."""
    from ragviz.models.token_vectors import unit
    from ragviz.text.untrusted import without_surrogates

    def report(done: int, total: int) -> None:
        parts.progress(done, total, "chunks", "Embedding the tokens of chunks")

    def scored(candidates: Sequence[Candidates]) -> list[list[float]]:
        questions = list(dict.fromkeys(each.question for each in candidates))
        with closing(kept.encode([without_surrogates(question) for question in questions], "query")) as batches:
            of_question = {
                questions[place]: unit(vectors)
                for places, batch in batches
                for place, vectors in zip(places, batch, strict=True)
            }
        with kept.lock:
            kept.add([text for each in candidates for text in each.texts], report)
            return [
                [float(score) for score in maxsim(of_question[each.question], *kept.read(each.texts))]
                for each in candidates
            ]

    return scored
