"""RAGQuestEval's numbers, from the answers to the questions of a bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragviz.judging.quest_prompts import CRUD_UNANSWERABLE
from ragviz.metrics.text import overlap_f1, token_f1
from ragviz.records import Bank
from ragviz.text import words


@dataclass(frozen=True, slots=True)
class QuestEval:
    """How much of its reference a generated text states; numbers from 0 to 1, None where there is nothing to count.

    `questions` is |Q|, `answerable` |A| (the reference answers them), `answered` |B| (of these, the generated text does
    too). `recall` = |B|/|A|, `precision` = mean token F1 over B; over Q instead: `recall_over_questions`,
    `precision_over_questions`. `quality` of the bank is 1 - |A|/|Q|: 0 is best. `f1` has an entry for each question,
    None outside B.
    """

    recall: float | None
    precision: float | None
    questions: int
    answerable: int
    answered: int
    recall_over_questions: float | None
    precision_over_questions: float | None
    quality: float | None
    f1: tuple[float | None, ...]


def measure(bank: Bank, answers: Sequence[str | None]) -> QuestEval:
    """Compare the generated text's `answers`, one for each item of `bank` in order, with the reference's.

    None is `<Unanswerable>`. A question that only the generated text answers counts nowhere. Nothing answerable: recall
    and precision are None; nothing answered: recall is 0, precision None.

    Raises:
        ValueError: there are not as many answers as questions.

    """
    pairs = [(item.answer, answer) for item, answer in zip(bank.items, answers, strict=True)]
    f1 = tuple(
        None if reference is None or generated is None else token_f1(generated, reference, bank.language)
        for reference, generated in pairs
    )
    counted = [value for value in f1 if value is not None]
    answerable = sum(reference is not None for reference, _ in pairs)
    return QuestEval(
        recall=_share(len(counted), answerable),
        precision=_share(sum(counted), len(counted)),
        questions=len(pairs),
        answerable=answerable,
        answered=len(counted),
        recall_over_questions=_share(len(counted), len(pairs)),
        precision_over_questions=_share(sum(counted), len(pairs)),
        quality=1 - answerable / len(pairs) if pairs else None,
        f1=f1,
    )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def crud(reference: Sequence[str | None], generated: Sequence[str | None]) -> tuple[float, float]:
    """Precision and recall as CRUD-RAG's public evaluation computes them from the same answers; None is 无法推断.

    It differs from `measure`: answers are paired by position, so that one that was left out shifts all behind it;
    surplus ones are ignored, and (0, 0) comes out when there are too few, when the reference answers nothing or the
    generated text none of it. Tokens are jieba's of every language, with capitals, blanks and punctuation unchanged.
    """
    references, answers = (
        [CRUD_UNANSWERABLE if answer is None else answer for answer in side] for side in (reference, generated)
    )
    answerable = [place for place, answer in enumerate(references) if answer != CRUD_UNANSWERABLE]
    if not answerable or answerable[-1] >= len(answers):
        return 0.0, 0.0
    answered = [place for place in answerable if answers[place] != CRUD_UNANSWERABLE]
    if not answered:
        return 0.0, 0.0
    f1 = [overlap_f1(_cut(answers[place]), _cut(references[place])) for place in answered]
    return sum(f1) / len(f1), len(answered) / len(answerable)


def _cut(text: str) -> list[str]:
    """Cut a text into jieba's tokens, blanks and punctuation included."""
    words.tokens("", "zh")  # loads jieba without its log lines

    import jieba

    return list(jieba.cut(text))
