"""What a judge said of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ragviz.core.call import Call
from ragviz.core.question import Question
from ragviz.core.recording import Recording

Verdict = Literal["supported", "together", "contradicted", "absent"]
"""A text's verdict on a claim; "together": it supports the claim only with the others of its row that say so."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement; `sentence` is the 0-based sentence of its text that makes it, None when unknown.

    Sentences are those of `segmentation.sentences(text, language)`.
    """

    text: str
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What one text says of one claim, and in which of its sentences (0-based, None when unknown)."""

    verdict: Verdict
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """Claim × chunk × reference of one answered question: all claim-based metrics are computed from it.

    `answer_by_chunk[i][j]` is the verdict of chunk j of the context on claim i of the answer, `reference_by_chunk` the
    same for the reference's claims; `answer_by_reference[i]` the verdict of the reference on claim i of the answer, and
    `reference_by_answer[i]` that of the answer on claim i of the reference. `useful[j]` is whether chunk j helps to
    answer the question. A part that was not judged is None. A claim that only several chunks together support has the
    verdict "together" in the column of each of them.
    """

    chunks: tuple[str, ...] = ()
    answer_claims: tuple[Claim, ...] | None = None
    reference_claims: tuple[Claim, ...] | None = None
    answer_by_chunk: tuple[tuple[ClaimVerdict, ...], ...] | None = None
    reference_by_chunk: tuple[tuple[ClaimVerdict, ...], ...] | None = None
    answer_by_reference: tuple[ClaimVerdict, ...] | None = None
    reference_by_answer: tuple[ClaimVerdict, ...] | None = None
    useful: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class BankItem:
    """One question of a RAGQuestEval bank: the key information it asks for, and the reference's answer.

    `answer` is None where the reference does not answer it (`<Unanswerable>`).
    """

    key: str
    question: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class Bank:
    """The RAGQuestEval questions about one reference text; `maker` is "extractive", a model or "import"."""

    items: tuple[BankItem, ...]
    language: str
    maker: str
    version: str = "1"
    calls: tuple[Call, ...] = ()


Equivalence = Literal["equivalent", "partial", "different"]


@dataclass(frozen=True, slots=True)
class EvaluatedAnswer:
    """A recording with all verdicts on it: every metric of answers is computed from it, without a model.

    What was not judged is None. `asked_back` are questions that the answer would answer, `noncommittal` whether it
    evades; `completeness` and `conciseness` are the judge's ratings, 0 to 1. `bank_answers` are the generated text's
    answers to the questions of `bank`, None for `<Unanswerable>`; the `extractive_` pair is made without a model.
    `similarity` is the cosine of answer and reference, `asked_back_similarity` those of the question to `asked_back`;
    `sentence_similarity` is, for each sentence of the answer, its best cosine with a sentence of the context.
    `shared_words` is the share of the answer's words (stems, numbers, ideographs) that occur in its context,
    `reference_read` that of the reference's words, of what was recorded elsewhere: 1 where one text has all in a row.
    `failures` says why a step has no result, by step.
    `verdicts` are results of steps that have no field of their own here, by step, of what JSON can hold, and the scores
    of the program that wrote the recording, by its name. `given` are
    the steps whose verdicts came with the recording, and are not asked for.
    """

    question: Question
    recording: Recording
    matrix: Matrix = field(default_factory=Matrix)
    asked_back: tuple[str, ...] | None = None
    noncommittal: bool | None = None
    equivalence: Equivalence | None = None
    equivalence_reason: str = ""
    completeness: float | None = None
    conciseness: float | None = None
    bank: Bank | None = None
    bank_answers: tuple[str | None, ...] | None = None
    extractive_bank: Bank | None = None
    extractive_bank_answers: tuple[str | None, ...] | None = None
    similarity: float | None = None
    asked_back_similarity: tuple[float, ...] | None = None
    sentence_similarity: tuple[float, ...] | None = None
    failures: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    shared_words: float | None = None
    reference_read: float | None = None
    verdicts: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()

    @property
    def scores_of_maker(self) -> dict[str, float]:
        """Scores that the program which wrote the recording gave, by its name and theirs: "ragas: faithfulness"."""
        origin = self.recording.origin
        return {f"{origin}: {name}": value for name, value in self.verdicts.get(origin, {}).items()}
