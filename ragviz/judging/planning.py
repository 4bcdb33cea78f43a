"""The plan of a run's work: its items, steps, models and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragviz.core.call import Call
from ragviz.core.question import Question
from ragviz.core.recording import Recording
from ragviz.core.reply_cache import Cache, Pool
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging.pool import Memory
from ragviz.models.chat import ModelClient
from ragviz.models.refusals import Breaker
from ragviz.models.requests import Spending
from ragviz.models.vectors import Embedder
from ragviz.targets.target import Answers, Verdicts

Input = Literal["cosines", "sentence cosines", "key phrases"]
"""What a metric without a judge needs: cosines of whole texts, or of sentences; key phrases of the reference."""

PATIENCE = 600.0
"""Seconds that an endpoint may be down before the run stops (to be resumed) instead of waiting."""


@dataclass(frozen=True, slots=True)
class Item:
    """A recording to be judged, with its texts; where the plan has it answered, one without an answer.

    `given` holds the verdicts that came with it: their steps are not done. `seed` is that of repeated calls, after a
    reply that lacked something: another seed gets another reply. `paid` are the calls that an earlier attempt paid,
    `failed` the steps that failed then.
    """

    question: Question
    recording: Recording
    given: EvaluatedAnswer | None = None
    seed: int = 0
    paid: tuple[Call, ...] = ()
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """How the recordings of a run are made and judged.

    `answers` answers the questions, None where they are answered or nothing is; `verdicts` brings along what a target
    says of its answers. `steps` are those of each question, `inputs` what else is computed for it, `score` computes the
    scores of an evaluated answer. `answerer` and `judge` are clients, None where no model is asked. Every call is
    recorded in `spending` before it is sent, those of `embedder` too, where it was opened with that; models need a
    price where it has a budget. `patience` is in seconds. `finished` questions of the run are done already. `edition`
    is that of the judge's replies: those of earlier ones were useless. `breaker` stops the work of a useless model.
    `pool` holds the verdicts on chunks that all runs share. `failures` remembers for other runs, by
    `step.failure_key`, why a model gave nothing usable; None remembers nothing.
    """

    banks: Cache
    answers: Answers | None = None
    verdicts: Verdicts | None = None
    steps: frozenset[str] = frozenset()
    inputs: frozenset[Input] = frozenset()
    score: Callable[[EvaluatedAnswer], Sequence[Score]] = lambda evaluated: ()
    answerer: ModelClient | None = None
    judge: ModelClient | None = None
    embedder: Embedder | None = None
    spending: Spending = field(default_factory=Spending)
    patience: float = PATIENCE
    finished: int = 0
    edition: int = 0
    breaker: Breaker = field(default_factory=Breaker)
    pool: Pool = field(default_factory=Memory)
    failures: Cache | None = None

    @property
    def maker(self) -> str:
        """The judge with the edition of its replies, as keys name it: local servers often name other models alike."""
        assert self.judge is not None
        return f"{self.judge.model} {self.judge.base_url}" + (f" {self.edition}" if self.edition else "")

    @property
    def concurrency(self) -> int:
        """Number of steps that are done at once."""
        return max([client.concurrency for client in (self.answerer, self.judge) if client] or [2])


Keep = Callable[[Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]], None]
"""Called with evaluated answers and their scores; one that failed is passed again after the next round."""
