"""Metrics of answers: each reads an evaluated answer, and gives a number or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ragviz.core.errors import UsageError
from ragviz.core.recording import Knows, Need
from ragviz.core.score import Score, ScoreStatus
from ragviz.core.verdict import Bank, EvaluatedAnswer
from ragviz.judging.planning import Input
from ragviz.judging.steps import VERSIONS
from ragviz.metrics import grounding, questeval, text
from ragviz.metrics.rank_metrics import Place
from ragviz.targets.citations import without_marks
from ragviz.text import language

SUPPORTED = 0.6
"""Cosine from which the inspector counts a sentence of the answer as near to the context."""

T = TypeVar("T")


class NoScore(Exception):
    """Why a metric has no value here."""

    def __init__(self, status: ScoreStatus, reason: str) -> None:
        """Keep the status and the reason."""
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True)
class AnswerMetric:
    """One metric of answers, and what a person must know to read it.

    `needs` is what of a recording it reads: one that reads no answer has a value without one too. `steps` are the
    judge's steps that it needs, none for a metric without a model; `inputs` are what else it reads. `shown` maps each
    place where it is shown by default to its position there; `drawn_against` names the other axis of its scatter plot.
    """

    title: str
    explanation: str
    function: Callable[[EvaluatedAnswer], float]
    steps: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    needs: tuple[Need, ...] = ("answer", "reference")
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    formula: str = "1"
    shown: Mapping[Place, int] = field(default_factory=dict)
    drawn_against: str = ""

    @property
    def judged(self) -> bool:
        """Whether a model has to judge."""
        return bool(self.steps)

    @property
    def version(self) -> str:
        """Version of the formula, and of the prompts that its verdicts come from."""
        return "+".join([self.formula, *(f"{step}{VERSIONS[step]}" for step in self.steps)])


def score(name: str, evaluated: EvaluatedAnswer) -> Score:
    """Compute the metric `name` of an evaluated answer, or say why it has no value.

    Its version names who gave the verdicts that came with the recording, and the prompts of the others.
    """
    metric = ANSWER_METRICS[name]
    version = metric.version
    if evaluated.given:
        by = [evaluated.recording.origin if n in evaluated.given else f"{n}{VERSIONS[n]}" for n in metric.steps]
        version = "+".join(dict.fromkeys([metric.formula, *by]))
    try:
        _check(metric, evaluated)
        low, high = metric.range  # which rounding leaves: a mean of cosines of 1
        return Score(name, min(max(float(metric.function(evaluated)), low), high), version=version)
    except NoScore as error:
        return Score(name, None, error.status, error.reason, version)


def scores(evaluated: EvaluatedAnswer, names: Collection[str]) -> list[Score]:
    """Compute the metrics `names` of an evaluated answer, in the order of `ANSWER_METRICS`."""
    return [score(name, evaluated) for name in ANSWER_METRICS if name in names]


def chosen(names: Sequence[str], *, judge: bool, knows: Knows) -> tuple[str, ...]:
    """Return the metrics that `names` choose; "all" stands for every metric that is possible.

    Without a judge only metrics without steps are possible, and only those that need no more than the recordings know.

    Raises:
        UsageError: there is no such metric, or it needs a judge, or what the recordings do not tell.

    """
    possible = {n: m for n, m in ANSWER_METRICS.items() if (judge or not m.judged) and knows.tells.issuperset(m.needs)}
    for name in names:
        if name == "all" or name in possible:
            continue
        if name not in ANSWER_METRICS:
            raise UsageError(f"There is no metric '{name}' of answers; there are {', '.join(ANSWER_METRICS)}, or all.")
        metric = ANSWER_METRICS[name]
        lacking = [_SOURCES[need] for need in metric.needs if need not in knows.tells]
        needed = " and ".join(lacking) or "a model that judges"
        raise UsageError(f"The metric '{name}' needs {needed}: choose one, or leave the metric out.")
    return tuple(name for name in possible if name in names or "all" in names)


_SOURCES = {"answer": "an answerer", "contexts": "a context", "reference": "reference answers"}


def measured(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of a run's choice that are metrics: "none" is not."""
    return tuple(name for name in names if name in ANSWER_METRICS)


def with_values(all_evaluated: Sequence[EvaluatedAnswer], knows: Knows) -> tuple[str, ...]:
    """Return the metrics that recordings allow as they are: by their texts, or by verdicts that came with some."""
    return tuple(
        name
        for name, metric in ANSWER_METRICS.items()
        if knows.tells.issuperset(metric.needs)
        and not any(each.endswith("cosines") for each in metric.inputs)
        and (not metric.judged or any(score(name, each).value is not None for each in all_evaluated))
    )


def steps_of(names: Collection[str]) -> frozenset[str]:
    """Return the judge's steps that these metrics need."""
    return frozenset(step for name in names for step in ANSWER_METRICS[name].steps)


def _check(metric: AnswerMetric, evaluated: EvaluatedAnswer) -> None:
    """Raise NoScore when the metric has no value: for reasons of the question or the answer first, then the judge's."""
    recording = evaluated.recording
    if "reference" in metric.needs and not evaluated.question.answer.strip():
        raise NoScore("not_applicable", "the question has no reference answer")
    if "answer" in metric.needs:
        if not recording.has_answer:
            raise NoScore("not_applicable", "no answer was recorded")
        if recording.status == "failed":
            status: ScoreStatus = "skipped" if "answer" in evaluated.failures else "no_answer"
            raise NoScore(status, f"there is no answer to judge: {recording.reason}")
        if recording.status == "refused" or not recording.answer.strip():
            raise NoScore("no_answer", "the run abstained: there is nothing to judge")
    for step in metric.steps:
        if step in evaluated.failures:
            raise NoScore("judge_error", evaluated.failures[step])


def _required(value: T | None, reason: str) -> T:
    """Return `value`; None raises NoScore with the reason: it was not judged, or there is nothing to count."""
    if value is None:
        raise NoScore("not_applicable", reason)
    return value


def _faithfulness(evaluated: EvaluatedAnswer) -> float:
    if not evaluated.recording.contexts:
        raise NoScore("not_applicable", "the answer was given without passages")
    rows = _required(evaluated.matrix.answer_by_chunk, "the answer was not checked against its passages")
    return _required(grounding.supported_by_any(rows), "the answer makes no claim")


def _context_recall(evaluated: EvaluatedAnswer) -> float:
    rows = _required(evaluated.matrix.reference_by_chunk, "the reference was not checked against the passages")
    if not evaluated.matrix.chunks and evaluated.matrix.reference_claims:
        return 0.0
    return _required(grounding.supported_by_any(rows), "the reference makes no claim")


def _of_passages(function: Callable[[Sequence[bool]], float | None]) -> Callable[[EvaluatedAnswer], float]:
    def measured(evaluated: EvaluatedAnswer) -> float:
        useful = _required(evaluated.matrix.useful, "the passages were not judged")
        return _required(function(useful), "there are no passages")

    return measured


def _relevancy(evaluated: EvaluatedAnswer) -> float:
    similarities = _required(evaluated.asked_back_similarity, "no questions were made of the answer")
    value = grounding.answer_relevancy(similarities, noncommittal=bool(evaluated.noncommittal))
    return _required(value, "no questions were made of the answer")


def _factual(evaluated: EvaluatedAnswer) -> tuple[float | None, float | None, float]:
    matrix = evaluated.matrix
    by_reference = _required(matrix.answer_by_reference, "answer and reference were not compared")
    by_answer = _required(matrix.reference_by_answer, "answer and reference were not compared")
    if not by_reference and not by_answer:
        raise NoScore("not_applicable", "neither text makes a claim")
    return grounding.factual(by_reference, by_answer)


def _correctness(evaluated: EvaluatedAnswer) -> float:
    similarity = _required(evaluated.similarity, "answer and reference were not embedded")
    return grounding.answer_correctness(_factual(evaluated)[2], similarity)


def _completeness(evaluated: EvaluatedAnswer) -> float:
    row = _required(evaluated.matrix.reference_by_answer, "answer and reference were not compared")
    return _required(grounding.supported(row), "the reference makes no claim")


EQUIVALENCE = {"equivalent": 1.0, "partial": 0.5, "different": 0.0}


def _questeval(bank: Bank | None, answers: Sequence[str | None] | None) -> questeval.QuestEval:
    bank = _required(bank, "there are no questions about the reference")
    measured = questeval.measure(bank, _required(answers, "the questions about the reference were not asked"))
    if not measured.answerable:
        raise NoScore("not_applicable", "no question about the reference can be answered from it")
    return measured


def _quest_recall(measured: questeval.QuestEval) -> float:
    return _required(measured.recall, "no question about the reference can be answered from it")


def _embedding_faithfulness(evaluated: EvaluatedAnswer) -> float:
    best = _required(evaluated.sentence_similarity, "the answer was given without passages")
    if not best:
        raise NoScore("not_applicable", "the answer has no sentence")
    return max(0.0, sum(best) / len(best))


def _lexical(function: Callable[[str, str, str], float]) -> Callable[[EvaluatedAnswer], float]:
    def measured(evaluated: EvaluatedAnswer) -> float:
        answer = without_marks(evaluated.recording.answer)
        return function(answer, evaluated.question.answer, language.of_answers(evaluated.question))

    return measured


ANSWER_METRICS: dict[str, AnswerMetric] = {
    "faithfulness": AnswerMetric(
        "Faithfulness",
        "Share of the answer's claims that a passage it was given supports, or several together. "
        "0 to 1. Low: the answer says what the passages do not.",
        _faithfulness,
        ("claims", "context"),
        needs=("contexts", "answer"),
        formula="2",
        shown={"tile": 2, "row": 2, "sort": 6},
    ),
    "context_precision": AnswerMetric(
        "Context precision (ranked)",
        "Precision at the rank of each useful passage, averaged over the useful ones. 0 to 1. Low: passages that do "
        "not help rank above those that do.",
        _of_passages(grounding.context_precision),
        ("reference", "context"),
        needs=("contexts", "reference"),
        shown={"tile": 8},
    ),
    "context_precision_plain": AnswerMetric(
        "Context precision (relevant ÷ all)",
        "Useful passages ÷ passages given, wherever they rank. 0 to 1. Low: k is larger than the question needs, or "
        "retrieval brings what does not help.",
        _of_passages(grounding.share),
        ("reference", "context"),
        needs=("contexts", "reference"),
        shown={"tile": 7},
    ),
    "context_recall": AnswerMetric(
        "Context recall",
        "Share of the reference's claims that a passage supports, or several together. 0 to 1. Low: "
        "what is needed was not retrieved.",
        _context_recall,
        ("reference", "context"),
        needs=("contexts", "reference"),
        formula="2",
        shown={"tile": 5, "row": 4, "sort": 7},
    ),
    "answer_relevancy": AnswerMetric(
        "Answer relevancy",
        "Mean cosine of the question to questions that the answer would answer; 0 when it evades. Low: the answer is "
        "about something else.",
        _relevancy,
        ("claims",),
        inputs=("cosines",),
        needs=("answer",),
    ),
    "answer_correctness": AnswerMetric(
        "Answer correctness",
        "0.75 · factual F1 + 0.25 · cosine of answer and reference. 0 to 1. Low: facts are wrong, added or missing.",
        _correctness,
        ("reference", "claims", "comparison"),
        inputs=("cosines",),
        formula="2",
        shown={"tile": 1, "row": 3, "sort": 1},
    ),
    "factual_precision": AnswerMetric(
        "Conciseness (factual precision)",
        "Claims of the answer that the reference supports ÷ claims of the answer. 0 to 1. Low: wrong facts, or more "
        "than was needed.",
        lambda evaluated: _required(_factual(evaluated)[0], "the answer makes no claim"),
        ("reference", "claims", "comparison"),
        shown={"tile": 4},
    ),
    "factual_recall": AnswerMetric(
        "Factual recall",
        "Right claims of the answer ÷ (those + the reference's claims that it lacks). 0 to 1. Low: facts are missing.",
        lambda evaluated: _required(_factual(evaluated)[1], "no claim is right and none is lacking"),
        ("reference", "claims", "comparison"),
    ),
    "factual_f1": AnswerMetric(
        "Factual F1",
        "Right claims ÷ (right + half of the wrong, added and missing ones). 0 to 1. Low: precision or recall is.",
        lambda evaluated: _factual(evaluated)[2],
        ("reference", "claims", "comparison"),
        shown={"sort": 2},
    ),
    "completeness": AnswerMetric(
        "Completeness",
        "Share of the reference's claims that the answer holds. 0 to 1. Low: the answer leaves out what was needed, "
        "often because its passage was not retrieved.",
        _completeness,
        ("reference", "claims", "comparison"),
        shown={"tile": 3, "row": 1, "sort": 3},
        drawn_against="factual_precision",
    ),
    "completeness_direct": AnswerMetric(
        "Completeness, judge-rated",
        "The judge's own number for how much of the reference the answer states, without counting claims. 0 to 1.",
        lambda evaluated: _required(evaluated.completeness, "answer and reference were not compared"),
        ("reference", "claims", "comparison"),
        drawn_against="conciseness_direct",
    ),
    "conciseness_direct": AnswerMetric(
        "Conciseness, judge-rated",
        "The judge's own number for how much of the answer was needed, without counting claims. 0 to 1.",
        lambda evaluated: _required(evaluated.conciseness, "answer and reference were not compared"),
        ("reference", "claims", "comparison"),
    ),
    "equivalence": AnswerMetric(
        "Equivalence",
        "The judge's verdict: equivalent 1, partly right 0.5, different 0.",
        lambda evaluated: EQUIVALENCE[_required(evaluated.equivalence, "answer and reference were not compared")],
        ("reference", "claims", "comparison"),
        shown={"tile": 9, "row": 6, "sort": 4},
    ),
    "questeval_recall": AnswerMetric(
        "RAGQuestEval recall",
        "Questions about the reference that the answer answers ÷ those that the reference answers. 0 to 1. Low: key "
        "information is missing.",
        lambda evaluated: _quest_recall(_questeval(evaluated.bank, evaluated.bank_answers)),
        ("questeval",),
        shown={"tile": 6, "row": 5, "sort": 5},
    ),
    "questeval_precision": AnswerMetric(
        "RAGQuestEval precision",
        "Token F1 between the answers read from the reference and from the answer, averaged over the questions both "
        "answer. 0 to 1. Low: key information is stated differently.",
        lambda evaluated: _required(
            _questeval(evaluated.bank, evaluated.bank_answers).precision,
            "the answer answers no question about the reference",
        ),
        ("questeval",),
        formula="2",
    ),
    "embedding_similarity": AnswerMetric(
        "Answer correctness (cosine)",
        "Embedding similarity: the cosine of answer and reference, negative ones as 0. Near texts need not say the "
        "same: computed without a model, it is no judgement.",
        lambda evaluated: max(0.0, _required(evaluated.similarity, "answer and reference were not embedded")),
        inputs=("cosines",),
        formula="2",
        shown={"tile": 10, "row": 8, "sort": 11},
    ),
    "embedding_faithfulness": AnswerMetric(
        "Embedding faithfulness",
        "Mean over the answer's sentences of the cosine with the nearest sentence of the passages, 0 when negative. 0 "
        "to 1; higher than 0 for any text of the same subject. Computed without a model, it is no judgement.",
        _embedding_faithfulness,
        inputs=("sentence cosines",),
        needs=("contexts", "answer"),
        formula="2",
        shown={"tile": 12},
    ),
    "extractive_questeval_recall": AnswerMetric(
        "RAGQuestEval recall, extractive",
        "Share of the reference's key phrases that occur in the answer. 0 to 1. Computed without a model.",
        lambda evaluated: _quest_recall(_questeval(evaluated.extractive_bank, evaluated.extractive_bank_answers)),
        inputs=("key phrases",),
        formula="2",
        shown={"tile": 11, "row": 7, "sort": 8},
    ),
    "rouge_l": AnswerMetric(
        "ROUGE-L",
        "F-measure of the longest common subsequence of words of answer and reference, in English as the rouge-score "
        "package has it, without stemming. 0 to 1.",
        _lexical(text.rouge_l),
        formula="4",
        shown={"tile": 14, "sort": 10},
    ),
    "token_f1": AnswerMetric(
        "Token F1",
        "F1 of the words that answer and reference share, as SQuAD counts them (Chinese by jieba's words). 0 to 1.",
        _lexical(text.token_f1),
        formula="4",
        shown={"tile": 13, "row": 9, "sort": 9},
    ),
    "exact_match": AnswerMetric(
        "Exact match",
        "Whether answer and reference are the same words after SQuAD's normalisation. 0 or 1.",
        _lexical(text.exact_match),
        formula="4",
    ),
}
"""Every metric of answers by name, judged ones first; the counterparts without a model carry their own names."""
