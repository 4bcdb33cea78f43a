"""What a retriever returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked chunk: `rank` is 1-based, `score` is the retriever's own (higher is better)."""

    chunk_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids, best first, and their scores (same length; ties already broken by chunk id)."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]

    def hits(self) -> list[Hit]:
        """Return the ranking as hits with 1-based ranks."""
        pairs = zip(self.ids, self.scores, strict=True)
        return [Hit(chunk_id, rank, score) for rank, (chunk_id, score) in enumerate(pairs, start=1)]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A run's result for one question: its ranking to depth, and the gold chunks of each group of its evidence.

    `gold` is empty for a question without evidence; a group is empty when its evidence is stale or its document is not
    in the index, and then it is never found. `grades` are those of gold chunks (by id) whose grade is not 1.
    """

    question_id: str
    ranking: Ranking
    gold: tuple[tuple[str, ...], ...]
    grades: Mapping[str, float] = field(default_factory=dict, hash=False)
