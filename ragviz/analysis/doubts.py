"""Scores of a judge that cheap evidence contradicts: the questions that a person should look at first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragviz.metrics import answers as metrics
from ragviz.records import EvaluatedAnswer, Score

FULL = 0.99
"""A share from which a judge says that all is there."""
NO_WORDS = 0.05
"""Token F1 up to which answer and reference share next to nothing."""
SAME_WORDS = 0.95
"""Token F1 from which they are next to the same."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A question with what the judge said of its answer, and what speaks against it."""

    question_id: str
    question: str
    words: str


def doubts(judged: Iterable[EvaluatedAnswer], scores: Mapping[str, Mapping[str, Score]]) -> list[Doubt]:
    """Questions whose scores contradict the words of their answers, those with most contradictions first."""
    found = []
    for known in judged:
        mine = {name: by[known.question.id].value for name, by in scores.items() if known.question.id in by}
        if said := _contradictions(known, mine):
            found.append((len(said), Doubt(known.question.id, known.question.text, "; ".join(said))))
    return [doubt for _, doubt in sorted(found, key=lambda pair: -pair[0])]


def _contradictions(judged: EvaluatedAnswer, values: Mapping[str, float | None]) -> list[str]:
    shared = metrics.score("token_f1", judged).value
    complete, equivalence = values.get("completeness"), values.get("equivalence")
    faithful = values.get("faithfulness")
    said = []
    if shared is not None and shared <= NO_WORDS:
        if complete is not None and complete >= FULL:
            said.append(f"complete {complete:.2f}, but token F1 with the reference {shared:.2f}")
        if equivalence is not None and equivalence >= FULL:
            said.append(f"equivalent, but token F1 with the reference {shared:.2f}")
    if shared is not None and shared >= SAME_WORDS and equivalence == 0:
        said.append(f"different, but token F1 with the reference {shared:.2f}")
    if faithful is not None and faithful >= FULL and judged.shared_words == 0:
        said.append(f"faithful {faithful:.2f}, but no word of the answer stands in its passages")
    return said
