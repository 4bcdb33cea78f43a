"""Failure attribution: one cause for each question, the first stage of the flow that failed for its evidence.

Everything is computed from what a run stored (rankings, gold chunks, answers, verdicts), without models and documents;
a chunk's id holds its offsets.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragviz.analysis import outcomes
from ragviz.core.document import Chunk, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.recording import RETRIEVED, Knows, Recording
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import context
from ragviz.metrics import grounding
from ragviz.targets.citations import without_marks
from ragviz.text import language, words
from ragviz.text.denial import denies
from ragviz.text.normal_form import normal_form
from ragviz.text.numerals import stated_numbers

LONG = 2.0
"""Evidence longer than so many times its longest gold chunk is a passage or a whole document, which no chunk is meant
to hold whole: it is never called split."""
SHORT = 8
"""Words: an answer that holds all words of a reference this short is right."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a question was lost, for a person: what it is called, what happened, what to do about it."""

    title: str
    explanation: str
    next_step: str


REPLAY = "See which changes would rescue them."
"""The next step of what is lost before an answer: replays tell it."""
CAUSES: dict[str, Cause] = {
    "not_parsed": Cause(
        "Not in the index",
        "The evidence of the question is in no chunk of the index: its document was added or replaced after the index "
        "was built, or the evidence was not found in it.",
        "Update the index and make the run again; else see on the documents page how the file was read.",
    ),
    "not_retrieved": Cause(
        "Not in top N",
        "A passage that the question needs has no chunk in the ranking, down to the depth of the run.",
        REPLAY,
    ),
    "below_k": Cause(
        "Ranked below k",
        "Every passage that the question needs is in the ranking, but one of them comes after the first k.",
        REPLAY,
    ),
    "split": Cause(
        "Split by chunking",
        "Chunks of the evidence were among the first k, but each of them holds only a part of it, and so do all of the "
        "first k together.",
        "Try larger chunks, an overlap, or another way of chunking.",
    ),
    "cut_by_budget": Cause(
        "Truncated from context",
        "A chunk of the evidence was among the first k, but the context's budget had no room left for it.",
        REPLAY,
    ),
    "not_answered": Cause(
        "Abstained",
        "No answer came: an abstention, an empty answer, or a call that failed.",
        "Look at what was handed over: where it holds the answer, a better model may see it, and a smaller k leaves "
        "less to look through.",
    ),
    "unused": Cause(
        "Retrieved, not used",
        "Each claim of the reference that the answer lacks is in the contexts, as the judge says, or its words do.",
        "Look at the prompt or the model: a better model, or fewer contexts, may see it.",
    ),
    "unsupported": Cause(
        "Unsupported answer",
        "More than half of the claims of the answer are in none of its contexts, as the judge says.",
        "Compare these claims with the contexts; have the prompt ask for answers from the contexts alone.",
    ),
    "wrong": Cause(
        "Incorrect answer",
        "The answer is not right, or the documents do not hold it and one was given all the same.",
        "Compare the answer with the evidence; a model as judge would check each of its claims.",
    ),
    "not_judged": Cause(
        "Not judged",
        "The question was answered from its evidence, and nothing tells whether the answer is right: the judge gave no "
        "readable verdict, or there is no judge, and the words alone do not decide.",
        "Judge again what failed, or have a model judge the answers.",
    ),
    "fine": Cause(
        "Correct",
        "The answer is right, or abstaining was. Where nothing was answered or judged: the evidence "
        "came as far as the run goes.",
        "Nothing to do.",
    ),
}
"""What happened to a question, in the order in which it is decided: is there a chunk of every passage, in the ranking,
among the first k, whole, in the context, used, used rightly? The first three are the outcomes of the ranking
(`analysis/outcomes.py`): the causes of the questions not found at k, but for those answered right all the same.
"unused" and "unsupported" are told of systems that one cannot look into.
"""

_RETRIEVAL = "Compare with a run that hands over what was retrieved: the difference is the gain from retrieval."
"""The next step where nothing was handed over."""
OPAQUE_TITLES = {"not_answered": "Not answered", "not_judged": "Cannot be told"}
NOT_READ = Cause(
    "Not retrieved",
    "The answer lacks a claim of the reference that no context supports, as the judge says; or no word of the "
    "reference is in the contexts.",
    "Look at retrieval: what is searched for, how the documents are cut, how many contexts are read.",
)
"""What "not_retrieved" means in a system that one cannot look into."""
_BY_EVIDENCE = {
    "not_retrieved": "A passage that the question needs is in none of the contexts.",
    "unused": "The contexts hold the evidence, and the answer is not right.",
}


def would_tell(*, reference: bool, judged: bool) -> str:
    """Return what would tell whether an answer of another system is right; "" where all is there."""
    return " and ".join([*([] if reference else ["a reference"]), *([] if judged else ["a judge"])])


FOUND = Cause(
    "Found at k, not split",
    "A chunk of every passage that the question needs is among the first k, and none of them is split.",
    "Nothing to do for the retriever; make a run with answers at this k to see what comes of it.",
)
"""What is said of a "fine" question where nothing was answered, or not from these k chunks."""
CLAIMS = "Look at the claims of the answer: what it says beyond the context, and what it leaves out."
"""The next step of an incorrect answer whose claims were judged."""
UNANSWERABLE = (
    "The documents do not hold the answer, and one was given all the same.",
    "Abstaining would have been right: try an answerer, or a model, that abstains more readily.",
)
"""What happened to an unanswerable question that was answered, and what to do."""


def about(
    cause: str,
    knows: Knows = RETRIEVED,
    *,
    k: int = 0,
    depth: int = 0,
    answered: bool = True,
    claims: bool = False,
    of: str = "",
    held: bool | None = None,
) -> Cause:
    """Return what a cause, or "" for none, means in a run whose recordings know this.

    The title names `k` and `depth` where they are given. `answered` is whether the causes tell of answers, `claims`
    whether claims of the answer were judged, `of` the kind of the question, "" for several questions, and `held`
    whether its contexts hold the answer (see `Ruling`).
    """
    if not cause:
        return REFERENCE_ONLY
    meaning = CAUSES[cause]
    if cause == "wrong" and of == "unanswerable":
        return Cause(meaning.title, *UNANSWERABLE)
    if cause == "wrong" and claims and not knows.closed_book:
        meaning = replace(meaning, next_step=CLAIMS)
    if knows.opaque:
        return _of_opaque(cause, meaning, knows, claims=claims, of=of, held=held)
    if cause == "fine" and not answered:
        return replace(FOUND, title=f"{outcomes.title('found', k, depth)}, not split") if k else FOUND
    if outcome := {"not_retrieved": "missed" if depth else "", "below_k": "below k" if k else ""}.get(cause):
        return replace(meaning, title=outcomes.title(outcome, k, depth))
    if knows.closed_book and cause in ("not_answered", "wrong"):
        return replace(meaning, next_step=_RETRIEVAL)
    return meaning


def in_common(several: Sequence[Knows]) -> Knows:
    """Return what is known of several runs, for the names of their causes: with that of another system by its names."""
    opaque = [each for each in several if each.opaque]
    return opaque[0] if opaque else several[0] if len(set(several)) == 1 else RETRIEVED


def _of_opaque(cause: str, meaning: Cause, knows: Knows, *, claims: bool, of: str, held: bool | None) -> Cause:
    meaning = NOT_READ if cause == "not_retrieved" else meaning
    meaning = replace(meaning, title=OPAQUE_TITLES.get(cause, meaning.title))
    if cause in _BY_EVIDENCE and knows.ranking and of != "reference":
        verdicts = "" if of else f" Where no evidence is known: {meaning.explanation}"
        return replace(meaning, explanation=_BY_EVIDENCE[cause] + verdicts)
    if cause == "not_answered" and of:
        said = "The contexts hold the answer." if held else "Whether the contexts hold the answer is not known."
        return replace(meaning, explanation=f"{meaning.explanation} {said}")
    if cause == "not_judged" and not knows.answers:
        return replace(meaning, explanation="No answer was recorded.", next_step="Import its answer.")
    if cause == "not_judged":
        needed = would_tell(reference=knows.reference, judged=claims)
        needed = needed if of or not knows.reference else "a judge, or a reference where there is none,"
        told = f"It takes {needed} to tell." if needed else "Judge again what failed."
        return replace(meaning, explanation="Nothing tells whether the answer is right.", next_step=told)
    return meaning


REFERENCE_ONLY = Cause(
    "Reference only",
    "No evidence of the question is known, only its reference answer: its ranking is not measured, and without an "
    "answer from retrieved chunks nothing can be said of it.",
    "Find its evidence on the questions page.",
)
"""What is said of a question without a cause."""


# Right or wrong


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether an answer is right, and what decided it; `right` is None when nothing did, or the judge failed.

    `by` is the deciding metric, "reference_in_answer", "refusal", "failed" (there is no answer), "judge_failed", or ""
    when nothing was measured. By the judge's verdicts on claims, or by words (see `with_contexts`), `held` is whether
    the contexts hold what the answer lacks of the reference, and `supported` whether they hold the answer; None where
    not told. `held_by` is "verdicts" or "words".
    """

    right: bool | None
    by: str = ""
    held: bool | None = None
    supported: bool | None = None
    held_by: str = ""


UNDECIDED = Ruling(None)
JUDGED = {"equivalence": 1.0, "factual_recall": 0.5, "completeness": 0.5, "completeness_direct": 0.5}
"""Least value of a judged metric for an answer to be right; the first metric with a score decides."""
UNJUDGED = {"extractive_questeval_recall": 0.5, "token_f1": 0.5}
"""The same of metrics that need no judge; one metric that reaches it is enough."""
SUPPORTED = 0.5
"""Least share of the claims of an answer that its contexts support: with less, it was not read there."""


def is_right(
    question: Question, answer: Recording, scores: Mapping[str, float], failed: Collection[str] = frozenset()
) -> Ruling:
    """Decide whether `answer` is right by the most reliable of the `scores` (name → value).

    A refusal is right for an unanswerable question only, and never where a reference is known; of an open question
    nothing tells. Else the verdict of
    equivalence decides (a partly equivalent answer is not right), or how much of the reference the answer holds;
    without a judge, the words of both decide, unless they differ in a number or in what they deny: that is not judged.
    `failed` are the metrics for which the judge failed.
    """
    if question.open or not answer.has_answer:
        return Ruling(None)
    if answer.status == "failed" or (answer.status == "answered" and not answer.answer.strip()):
        return Ruling(None if question.kind == "unanswerable" else False, "failed")
    if question.kind == "unanswerable" or answer.status == "refused":
        return Ruling(question.kind == "unanswerable" and answer.status == "refused", "refusal")
    for name, least in JUDGED.items():
        if name in scores:
            return Ruling(scores[name] >= least, name)
    if any(name in failed for name in JUDGED):
        return Ruling(None, "judge_failed")
    return _by_words(question, answer, scores)


def with_contexts(ruling: Ruling, evaluated: EvaluatedAnswer) -> Ruling:
    """Add what is told of the contexts, by the judge's verdicts on claims, else by the words of the reference.

    Where answer and reference were not compared, a wrong answer lacks some claim of the reference: whether that is
    held is told only where all claims are, or none. Words tell where all of the reference stands in one context, or
    none of its words in any, and the answer is not right.
    """
    matrix, answered = evaluated.matrix, evaluated.recording.status == "answered"
    held = supported = None
    if matrix.reference_by_chunk:
        found = [context.follows(row) for row in matrix.reference_by_chunk]
        if not answered:
            held = all(found)
        elif matrix.reference_by_answer is None:
            held = all(found) if all(found) or not any(found) else None
        else:
            said = [each.verdict == "supported" for each in matrix.reference_by_answer]
            lacking = [is_found for is_found, is_said in zip(found, said, strict=True) if not is_said]
            held = all(lacking) if lacking else None
    if answered and matrix.answer_by_chunk:
        supported = (grounding.supported_by_any(matrix.answer_by_chunk) or 0.0) >= SUPPORTED
    by = "verdicts" if held is not None or supported is not None else ""
    if held is None and ruling.right is False and (words_read := evaluated.reference_read) in (0, 1):
        held, by = words_read == 1, by or "words"
    return replace(ruling, held=held, supported=supported, held_by=by)


def _differs(reference: str, answer: str) -> bool:
    """Whether an answer lacks a number of the reference, or denies what that affirms: words alone do not make it right.

    >>> _differs("The fee is 35 euros.", "The fee is 3.5 euros."), _differs("It is open.", "It is not open.")
    (True, True)
    >>> _differs("It takes twelve days.", "It takes 12 days [1].")
    False
    """
    said = without_marks(answer)
    return bool(stated_numbers(reference) - stated_numbers(said)) or denies(reference) != denies(said)


def _by_words(question: Question, answer: Recording, scores: Mapping[str, float]) -> Ruling:
    measured = [name for name in UNJUDGED if name in scores]
    reached = [name for name in measured if scores[name] >= UNJUDGED[name]]
    if reached:
        return Ruling(None) if _differs(question.answer, answer.answer) else Ruling(True, reached[0])
    lang = language.of_answers(question)
    reference_words = words.tokens(normal_form(question.answer), lang)
    if 0 < len(reference_words) <= SHORT:
        answer_words = words.tokens(normal_form(without_marks(answer.answer)), lang)
        return Ruling(set(reference_words) <= set(answer_words), "reference_in_answer")
    return Ruling(False, measured[0]) if measured else Ruling(None)


# One question

Range = tuple[str, int, int]
"""Characters of a document: its id, start, end."""


def cause(
    question: Question,
    retrieved: Retrieved,
    k: int,
    answer: Recording | None = None,
    ruling: Ruling = UNDECIDED,
    *,
    knows: Knows = RETRIEVED,
) -> str:
    """Return the one cause of a question, a key of `CAUSES`; "" where none can be told.

    That is a question of which only the reference is known, and that was not answered, or whose gold chunks were to be
    handed over. Otherwise its answer alone decides.

    A right answer is "fine" whatever was missed before it. Else the cause is the earliest stage that failed for any
    group of the evidence; when none failed, the answer decides, by its `ruling`. A question that was not answered
    (`answer` None) is "fine" where its evidence is among the first `k`. In a system that one cannot look into, stages
    are told by the judge's verdicts where the evidence has no rank.

    `knows` is of the run: gold chunks that were read are what was retrieved; without contexts only the answer counts.
    A chunk of which only a part fitted was cut.
    """
    if question.kind == "unanswerable":
        if answer is None or answer.status == "refused":
            return "fine"
        return "wrong" if answer.status == "answered" and answer.answer.strip() else "not_answered"
    unranked = question.kind == "reference" or (knows.opaque and not retrieved.gold)
    if (unranked and answer is None) or (question.kind == "reference" and knows.gold_read):
        return ""
    if ruling.right:
        return "fine"
    stages = [] if knows.closed_book else _stages(question, retrieved, k, answer, knows)
    if stages:
        return min(stages, key=list(CAUSES).index)
    if answer is None:
        return "fine"
    return _of_answer(answer, ruling, held=True if knows.opaque and not unranked else ruling.held)


def _of_answer(answer: Recording, ruling: Ruling, *, held: bool | None) -> str:
    """Return the cause of a question that was lost at no stage before its answer; `held` as of a `Ruling`."""
    if held is False:
        return "not_retrieved"
    if answer.has_answer and (answer.status != "answered" or not answer.answer.strip()):
        return "not_answered"
    if ruling.right is False and held:
        return "unused"
    if ruling.supported is False:
        return "unsupported"
    return "not_judged" if ruling.right is None else "wrong"


def _stages(
    question: Question,
    retrieved: Retrieved,
    k: int,
    answer: Recording | None,
    knows: Knows,
) -> list[str]:
    """Return the stage at which each group of evidence was lost; groups that reached the answer are left out."""
    ranked = [chunk_id for gold in retrieved.gold for chunk_id in gold] if knows.gold_read else retrieved.ranking.ids
    first = ranked if knows.gold_read else ranked[:k]
    stages = []
    for spans, gold in zip(question.evidence, retrieved.gold, strict=False):
        if not gold:
            stages.append("not_retrieved" if knows.opaque else "not_parsed")
        elif not set(gold) & set(ranked):
            stages.append("not_retrieved")
        elif not set(gold) & set(first):
            stages.append("below_k")
        elif _split(spans, gold, first):
            stages.append("split")
        elif answer is not None and not set(gold) & set(first) & (set(answer.read) - set(answer.cut)):
            stages.append("cut_by_budget")
    return stages


def _split(spans: Sequence[Span], gold: Sequence[str], first: Sequence[str]) -> bool:
    """Whether none of the spans with a gold chunk among the first k is whole in a chunk or in the first k."""
    chunks, top = ([*filter(None, map(Chunk.parse_id, ids))] for ids in (gold, first))
    retrieved = [place for place in top if place in chunks]
    reached = [span for span in spans if not span.stale and any(span.overlaps(place) for place in retrieved)]
    return bool(reached) and not any(_is_whole(span, chunks, top) for span in reached)


def _is_whole(span: Span, gold: Sequence[Range], first: Sequence[Range]) -> bool:
    """Whether a gold chunk holds the span, or the first k together do; a long span or a document need not be whole."""
    own = [place for place in gold if place[0] == span.document_id]
    long = span.end - span.start > LONG * max(end - start for _, start, end in own)
    # Judgements of whole documents (BEIR, TREC) do not say where in one the evidence is: any chunk of it counts.
    inside = all(span.start <= start and end <= span.end for _, start, end in own)
    document = span.start == 0 and len(own) > 1 and inside and _covered(span, own)
    return long or document or any(_covered(span, [chunk]) for chunk in gold) or _covered(span, first)


def _covered(span: Span, ranges: Sequence[Range]) -> bool:
    """Whether the ranges together hold every character of the span; blanks do not count, chunks are trimmed."""
    at = span.start
    for start, end in [*sorted(r[1:] for r in ranges if r[0] == span.document_id), (span.end, span.end)]:
        gap = span.text[at - span.start : min(start, span.end) - span.start]
        if at < min(start, span.end) and not gap.isspace():
            return False
        at = max(at, end)
    return True


# A whole run


def attribute_failures(
    questions: Sequence[Question],
    results: Sequence[Retrieved],
    k: int,
    answers: Mapping[str, Recording] | None = None,
    rulings: Mapping[str, Ruling] | None = None,
    *,
    knows: Knows = RETRIEVED,
) -> dict[str, str]:
    """Return the cause of every question with a result ("": none, see `cause`), by its id, in the order of `results`.

    `answers` and `rulings` (see `is_right`) are by question id; a missing question was not answered, or not judged.
    Results of questions that are not among `questions` are left out.
    """
    by_id = {question.id: question for question in questions}
    causes = {}
    for result in results:
        if question := by_id.get(result.question_id):
            answer, ruling = (answers or {}).get(question.id), (rulings or {}).get(question.id, UNDECIDED)
            causes[question.id] = cause(question, result, k, answer, ruling, knows=knows)
    return causes


def worst_first(
    question_ids: Iterable[str],
    causes: Mapping[str, str],
    scores: Mapping[str, float | None],
    ranks: Mapping[str, int | None],
    *,
    higher_is_better: bool = True,
) -> list[str]:
    """Order questions: those lost come first, by the stage that lost them, the earliest first; those right come last.

    `causes` are as `attribute_failures` returns them; questions without one stand between. Of one cause the worst score
    comes first, a missing one being the worst of a lost question and the last of others; then the deepest rank, 0 and
    None (not found) before all. What is equal keeps its order.

    >>> causes = {"right": "fine", "wrong": "wrong", "refused": "not_answered", "deep": "below_k", "deeper": "below_k"}
    >>> scores = {"right": 0.2, "wrong": 0.4, "refused": None, "deep": None, "deeper": None}
    >>> worst_first(causes, causes, scores, {"deep": 7, "deeper": 20})
    ['deeper', 'deep', 'refused', 'wrong', 'right']
    """
    stages = {name: place for place, name in enumerate([*(name for name in CAUSES if name != "fine"), "", "fine"])}

    def badness(question_id: str) -> tuple[int, float, float]:
        cause_name, score = causes.get(question_id, ""), scores.get(question_id)
        if score is None:
            score = math.inf if cause_name in ("", "fine") else -math.inf
        elif not higher_is_better:
            score = -score
        return stages[cause_name], score, -(ranks.get(question_id) or math.inf)

    return sorted(question_ids, key=badness)


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of the waterfall: `count` questions have the cause, `left` remain after it.

    The first bar ("questions") is all of them, the last ("fine") those that remain.
    """

    cause: str
    title: str
    count: int
    left: int


def waterfall(
    causes: Sequence[str], knows: Knows = RETRIEVED, *, k: int = 0, depth: int = 0, answered: bool = True
) -> list[Step]:
    """Subtract the causes from all questions, in the order of the flow; a cause without questions has its step too.

    But for the stages of retrieval in a run without contexts, and for what is told of other systems alone: these are
    steps only where questions have these causes, and so are all steps of a system that one cannot look into. Questions
    without a cause ("") are left out. Titles are as `about` gives them.

    >>> [(step.cause, step.count, step.left) for step in waterfall(["fine", "below_k", "fine"]) if step.count]
    [('questions', 3, 3), ('below_k', 1, 2), ('fine', 2, 2)]
    """
    counts = Counter(filter(None, causes))
    left = counts.total()
    steps = [Step("questions", "Questions", left, left)]
    of_retrieval = list(CAUSES)[: list(CAUSES).index("not_answered")]
    unseen = [*(of_retrieval if knows.closed_book else ()), "unused", "unsupported"]
    unseen = list(CAUSES) if knows.opaque else unseen
    for name in (name for name in CAUSES if name not in unseen or counts[name]):
        left -= counts[name] if name != "fine" else 0
        steps.append(Step(name, about(name, knows, k=k, depth=depth, answered=answered).title, counts[name], left))
    return steps
