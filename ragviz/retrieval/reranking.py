"""Rankings put in a new order by a scorer that reads the texts of the chunks; what a reranker is, and is built from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.ranking import Ranking
from ragviz.core.stopping import Progress, silent
from ragviz.retrieval.retrievers import Retriever, Texts


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that a question's ranking begins with: their ids, scores and texts have the same length and order."""

    question: str
    ranking: Ranking
    texts: tuple[str, ...]


if TYPE_CHECKING:
    from ragviz.models.chat import ModelClient
    from ragviz.models.requests import Completion, Request

AskMany: TypeAlias = "Callable[[Sequence[Request[Any]]], Iterable[Completion[Any] | ModelError]]"
"""Has a model answer requests; a request that fails is answered by its error."""

Scorer = Callable[[Sequence[Candidates]], Sequence[Sequence[float]]]
"""Candidates of several questions → one finite score for each chunk of each question; higher is better."""


@dataclass(slots=True)
class Report:
    """What became of reranking: how many questions, and the seconds that their scores took.

    `embedded` and `embedding` are the questions whose vectors were computed since the retriever was opened, and the
    seconds of that: vectors that were kept took none. `failures` say why a question (by its text) kept the retriever's
    order; the rest is of the model calls behind it, cached ones included: `cost` in dollars of those with a price,
    `unpriced` how many have none.
    """

    questions: int = 0
    seconds: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    embedded: int = 0
    embedding: float = 0.0

    def add(self, completion: Completion[Any]) -> None:
        """Count a model's reply."""
        self.calls += 1
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens
        self.cost += completion.cost or 0.0
        self.unpriced += completion.cost is None

    def empty(self) -> None:
        """Forget all of reranking."""
        self.questions, self.seconds, self.calls, self.prompt_tokens, self.completion_tokens = 0, 0.0, 0, 0, 0
        self.cost, self.unpriced = 0.0, 0
        self.failures.clear()


@dataclass(frozen=True, slots=True)
class Parts:
    """What rerankers are built from: `argument` follows the colon of the name, `embedder_name` is the index's, or "".

    `folder` is where large temporary files may be written, None for the system's own; `progress` hears of long work.
    `client` is the model that the argument names, and `ask` sends it requests; both are None for a reranker that asks
    none. `report` gets what fails for one question only.
    """

    argument: str = ""
    embedder_name: str = ""
    folder: Path | None = None
    progress: Progress = silent
    client: ModelClient | None = None
    ask: AskMany | None = None
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class RerankerSpec:
    """One reranker that can be chosen: `explanation` for people, whether it `takes` a name after a colon.

    `identity` names what its scores depend on; `build` loads what it needs. `check` is of one that not every index can
    serve: it gets the argument and the configuration of an index, and raises UsageError, without loading a model.
    `embeds` says that it computes vectors of every chunk that it reads, `asks` that it calls the model endpoint;
    `depth` is how many chunks of a ranking it reads by default.
    """

    explanation: str
    takes: Literal["optional", "required"]
    identity: Callable[[Parts], str]
    build: Callable[[Parts], Scorer]
    check: Callable[[str, IndexConfig], None] | None = None
    embeds: bool = False
    asks: bool = False
    depth: int = 50


def reranked(retriever: Retriever, scorer: Scorer, texts: Texts, depth: int, report: Report | None = None) -> Retriever:
    """Rank by the scores that `scorer` gives the first `depth` chunks of another retriever's ranking.

    The scores of these chunks are the scorer's, ties by chunk id. Chunks behind `depth` are not scored and keep their
    order behind them; their scores go on downwards from the lowest one in steps of 1, and say no more than that.
    Questions for which the retriever finds nothing keep their empty ranking and are not handed to the scorer.
    `report` gets the time that the scorer takes.

    The retriever raises ModelError when the scorer gives a score that is not finite.

    Raises:
        UsageError: `depth` is below 1.

    """
    if depth < 1:
        raise UsageError(f"The depth to rerank is {depth}; use at least 1.")

    def ranked(questions: Sequence[str], wanted_depth: int) -> list[Ranking]:
        rankings = retriever(questions, max(depth, wanted_depth))
        candidates = candidates_of(questions, [_cut(ranking, depth) for ranking in rankings], texts)
        started = time.monotonic()
        scores = scorer(candidates) if candidates else []
        if report is not None:
            report.questions += len(candidates)
            report.seconds += time.monotonic() - started
        heads = iter([_by_score(each, row) for each, row in zip(candidates, scores, strict=True)])
        made = []
        for ranking in rankings:
            if ranking.ids:
                head, behind = next(heads), ranking.ids[depth:]
                steps = (head.scores[-1] - place for place in range(1, len(behind) + 1))
                ranking = _cut(Ranking((*head.ids, *behind), (*head.scores, *steps)), wanted_depth)
            made.append(ranking)
        return made

    return ranked


def candidates_of(questions: Sequence[str], rankings: Sequence[Ranking], texts: Texts) -> list[Candidates]:
    """Return the rankings of questions with the texts of their chunks, without those that are empty."""
    ids = list(dict.fromkeys(chunk_id for ranking in rankings for chunk_id in ranking.ids))
    text_of = dict(zip(ids, texts(ids), strict=True))
    return [
        Candidates(question, ranking, tuple(text_of[chunk_id] for chunk_id in ranking.ids))
        for question, ranking in zip(questions, rankings, strict=True)
        if ranking.ids
    ]


def _cut(ranking: Ranking, depth: int) -> Ranking:
    return Ranking(ranking.ids[:depth], ranking.scores[:depth])


def _by_score(candidates: Candidates, scores: Sequence[float]) -> Ranking:
    ids, question = candidates.ranking.ids, candidates.question[:80]
    for chunk_id, score in zip(ids, scores, strict=True):
        if not math.isfinite(score):
            raise ModelError(f"The reranker gave chunk {chunk_id} the score {score} for '{question}': choose another.")
    best = sorted(zip(ids, map(float, scores), strict=True), key=lambda pair: (-pair[1], pair[0]))
    return Ranking(tuple(chunk_id for chunk_id, _ in best), tuple(score for _, score in best))
