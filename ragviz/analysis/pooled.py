"""What pooled verdicts tell of rankings: questions that another chunk than their evidence answers.

A judge's verdicts on chunks hold for every run that ranks them. A chunk that supports all claims of the reference
answers the question, whether or not it is gold.

judged@k = judged chunks among the first k ÷ chunks among the first k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ragviz.core.ranking import Retrieved
from ragviz.text.counts import agreed, counted, first


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Which claims of the reference (from 0) each judged chunk of one question supports, of so many `claims`.

    They are 0 where nobody judged any of its chunks, so that their number is not known. `together` is whether the judge
    was also asked what follows from several chunks.
    """

    claims: int = 0
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
class Pooled:
    """What the verdicts of `judge` tell of a run at `k`.

    `share` is judged@k, the mean over questions with a ranking and a reference, None without any. Of `missed`
    questions, whose evidence is not complete among the first k, `found` are those that another chunk there answers.
    """

    judge: str
    k: int
    share: float | None
    missed: int
    found: tuple[Found, ...]

    @property
    def sentence(self) -> str:
        """What the verdicts say of the questions whose evidence is not complete among the first k."""
        if not self.missed:
            return f"No question lacks evidence in {first(self.k, 'chunk')}."
        found = len(self.found)
        return (
            f"Of {counted(self.missed, 'question')} without all evidence in {first(self.k, 'chunk')}, {found:,} "
            f"{agreed(found, 'is')} answered by another chunk that supports the whole reference, according to "
            f"{self.judge}; {self.share or 0:.0%} of {first(self.k, 'chunk')} is judged."
        )


def measure(results: Sequence[Retrieved], verdicts: Mapping[str, Verdicts], k: int, judge: str) -> Pooled:
    """Measure rankings at `k` by a judge's verdicts, by question id; a question without any has no reference."""
    shares, missed, found = list[float](), 0, list[Found]()
    for result in results:
        ids, told = result.ranking.ids[:k], verdicts.get(result.question_id)
        if ids and told is not None:
            shares.append(sum(i in told.chunks for i in ids) / len(ids))
        if result.gold and any(set(ids).isdisjoint(group) for group in result.gold):
            missed += 1
            supporting = told.supporting if told else ()
            right = [(rank, chunk_id) for rank, chunk_id in enumerate(ids, start=1) if chunk_id in supporting]
            found += [Found(result.question_id, chunk_id, rank) for rank, chunk_id in right[:1]]
    return Pooled(judge, k, fmean(shares) if shares else None, missed, tuple(found))
