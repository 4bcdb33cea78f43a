"""Judge's scores that the words of the answer contradict: the questions that a person should look at first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.metrics import answers as metrics

FULL = 0.99
"""A share from which the judge calls an answer complete."""
NO_WORDS = 0.05
"""Token F1 up to which answer and reference share almost no words."""
SAME_WORDS = 0.95
"""Token F1 from which they are almost the same words."""

_READ = ("completeness", "equivalence", "faithfulness", "token_f1")


@dataclass(frozen=True, slots=True)
class Doubt:
    """A question whose scores are doubtful: `words` states each score and what contradicts it."""

    question_id: str
    question: str
    words: str


def doubt(evaluated: EvaluatedAnswer, scores: Mapping[str, Mapping[str, Score]]) -> tuple[int, Doubt] | None:
    """Return how many scores contradict the words of an answer, and which; None where none does.

    `scores` are those of all answers, by metric and question id.
    """
    question = evaluated.question
    found = {name: scores[name][question.id] for name in _READ if question.id in scores.get(name, ())}
    values = {name: score.value for name, score in found.items()}
    token_f1 = values.get("token_f1")
    if "token_f1" not in found or found["token_f1"].version != metrics.ANSWER_METRICS["token_f1"].version:
        token_f1 = metrics.score("token_f1", evaluated).value
    completeness, equivalence = values.get("completeness"), values.get("equivalence")
    faithfulness = values.get("faithfulness")
    contradictions = []
    if token_f1 is not None and token_f1 <= NO_WORDS:
        if completeness is not None and completeness >= FULL:
            contradictions.append(f"complete {completeness:.2f}, but token F1 with the reference {token_f1:.2f}")
        if equivalence is not None and equivalence >= FULL:
            contradictions.append(f"equivalent, but token F1 with the reference {token_f1:.2f}")
    if token_f1 is not None and token_f1 >= SAME_WORDS and equivalence == 0:
        contradictions.append(f"different, but token F1 with the reference {token_f1:.2f}")
    if faithfulness is not None and faithfulness >= FULL and evaluated.shared_words == 0:
        contradictions.append(f"faithful {faithfulness:.2f}, but no word of the answer occurs in its passages")
    if not contradictions:
        return None
    return len(contradictions), Doubt(question.id, question.text, "; ".join(contradictions))
