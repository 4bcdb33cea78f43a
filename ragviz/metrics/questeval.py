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
    """What a generated text tells of what its reference tells; numbers from 0 to 1, None where nothing is counted.

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

    None is `<Unanswerable>`. What only the generated text answers counts nowhere. Nothing answerable: recall and
    precision are None; nothing answered: recall is 0, precision None.

    Raises:
        ValueError: not as many answers as questions.

    """
    pairs = [(item.answer, answer) for item, answer in zip(bank.items, answers, strict=True)]
    f1 = tuple(_f1(reference, generated, bank.language) for reference, generated in pairs)
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


def _f1(reference: str | None, generated: str | None, language: str) -> float | None:
    return None if reference is None or generated is None else token_f1(generated, reference, language)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def crud(reference: Sequence[str | None], generated: Sequence[str | None]) -> tuple[float, float]:
    """Precision and recall as CRUD-RAG's public evaluation computes them from the same answers; None is 无法推断.

    It differs from `measure`: answers are paired by position, so that one that was left out shifts all behind it;
    surplus ones are ignored, and (0, 0) comes out when there are too few, when the reference answers nothing or the
    generated text none of it. Tokens are jieba's of every language, capitals, blanks and punctuation as they stand.
    """
    wanted, said = ([_crud_answer(answer) for answer in answers] for answers in (reference, generated))
    asked = [place for place, answer in enumerate(wanted) if answer != CRUD_UNANSWERABLE]
    if not asked or asked[-1] >= len(said):
        return 0.0, 0.0
    answered = [place for place in asked if said[place] != CRUD_UNANSWERABLE]
    if not answered:
        return 0.0, 0.0
    f1 = [overlap_f1(_cut(said[place]), _cut(wanted[place])) for place in answered]
    return sum(f1) / len(f1), len(answered) / len(asked)


def _crud_answer(answer: str | None) -> str:
    return CRUD_UNANSWERABLE if answer is None else answer


def _cut(text: str) -> list[str]:
    """Every piece that jieba cuts a text into, blanks and marks included."""
    words.tokens("", "zh")  # loads jieba without its chatter

    import jieba

    return list(jieba.cut(text))
