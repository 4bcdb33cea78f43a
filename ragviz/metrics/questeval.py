"""RAGQuestEval's numbers, from the answers to the questions of a bank, and its rows: a question of a bank each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ragviz.core.verdict import Bank, EvaluatedAnswer
from ragviz.judging.banks import CRUD_UNANSWERABLE
from ragviz.metrics.text import overlap_f1, token_f1
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
    f1 = tuple(  # most answers are the reference's own words, and need not be cut into words to be 1
        None
        if reference is None or generated is None
        else 1.0
        if generated == reference
        else token_f1(generated, reference, bank.language)
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


Variant = Literal["judged", "extractive"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
"""Who asks and answers: a model, or without a model key phrases that are looked up."""
AnswerableBy = Literal["reference", "both", "answer", "neither"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question of a bank with the answers that two texts give to it; None is `<Unanswerable>`.

    `question_id`, `question` and `kind` are those of the run's question, `documents` the names of the documents that
    hold its evidence. `asked` is the bank's question, the `number`-th of its bank from 1, made from the reference (as
    all are) to ask for `key`. `f1` is the token F1 of both answers, 0 to 1, None unless both texts answer.
    """

    variant: Variant
    question_id: str
    question: str
    kind: str
    documents: tuple[str, ...]
    number: int
    key: str
    asked: str
    reference_answer: str | None
    generated_answer: str | None
    f1: float | None
    maker: str

    @property
    def answerable_by(self) -> AnswerableBy:
        """Which of the two texts answer: only what the reference answers is counted, "reference" alone is missed."""
        if self.reference_answer is None:
            return "neither" if self.generated_answer is None else "answer"
        return "reference" if self.generated_answer is None else "both"


def banks_of(evaluated: EvaluatedAnswer) -> dict[str, tuple[Bank, Sequence[str | None]]]:
    """Return the banks of an evaluated answer with what its text answers, by variant, judged ones first."""
    pairs = {
        "judged": (evaluated.bank, evaluated.bank_answers),
        "extractive": (evaluated.extractive_bank, evaluated.extractive_bank_answers),
    }
    return {name: (bank, said) for name, (bank, said) in pairs.items() if bank is not None and said is not None}


def rows(evaluated: EvaluatedAnswer, documents: Sequence[str] = (), variants: Collection[str] = VARIANTS) -> list[Row]:
    """Return the rows of one evaluated answer in the order of its banks, judged ones first, those of `variants`.

    Empty where nothing was asked: it was not chosen, there is no reference, or the answer is a refusal or failed.
    """
    question, banks = evaluated.question, banks_of(evaluated)
    of_question = (question.id, question.text, question.kind, tuple(documents))
    return [
        Row(variant, *of_question, number, item.key, item.question, item.answer, answer, f1, bank.maker)
        for variant in VARIANTS
        if variant in variants and variant in banks
        for bank, answers in [banks[variant]]
        for number, (item, answer, f1) in enumerate(
            zip(bank.items, answers, measure(bank, answers).f1, strict=True), start=1
        )
    ]


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
    words.tokens("", "zh")  # loads jieba without its log lines

    import jieba

    return list(jieba.cut(text))
