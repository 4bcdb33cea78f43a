"""Where a run lost its questions: one cause for each, the first stage of the flow that failed for its evidence.

Everything here is read off what a run kept (rankings, gold chunks, answers, verdicts); no model and no text is asked
for. Where a chunk stands is told by its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragviz.answers.citations import without_citations
from ragviz.errors import UsageError
from ragviz.records import Answer, Chunk, ContextKind, Question, Retrieved, Span
from ragviz.text import language, words

LONG = 2.0
"""Evidence of more than so many times its longest gold chunk is a passage or a whole document, of which each chunk
holds a part by right: it is never called split."""
SHORT = 8
"""Words: a reference of no more counts as given when all of them stand in the answer."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a question was lost, for a person: what it is called, what happened, what to do about it."""

    title: str
    explanation: str
    next_step: str


CAUSES: dict[str, Cause] = {
    "not_parsed": Cause(
        "Not in the parsed text",
        "The evidence of the question is in no chunk of the index: its document is not there, or was replaced by one "
        "in which the evidence was not found again.",
        "See on the documents page how the file was read, update the index, or repair the question's evidence.",
    ),
    "split": Cause(
        "Split by chunking",
        "Chunks of the evidence were among the first k, but each of them holds only a part of it, and so do all of the "
        "first k together.",
        "Try larger chunks, an overlap, or another way of chunking.",
    ),
    "not_retrieved": Cause(
        "Not retrieved",
        "No chunk of the evidence was found to the depth of the run.",
        "Compare retrievers: BM25 finds other words than kNN does, hybrid finds both's; or try another embedder.",
    ),
    "below_k": Cause(
        "Ranked below k",
        "A chunk of the evidence was found, but behind the first k, so it was not handed over.",
        "Raise k, or rank better: try hybrid, another embedder, or smaller chunks.",
    ),
    "cut_by_budget": Cause(
        "Cut by the budget",
        "A chunk of the evidence was among the first k, but the context's budget had no room left for it.",
        "Raise the context budget, or make chunks or k smaller.",
    ),
    "not_answered": Cause(
        "In the context, not answered",
        "The evidence was handed over, and no answer came: a refusal, an empty answer, or a call that failed.",
        "Look at the question: a better model may see the evidence, a smaller k leaves less to look through.",
    ),
    "wrong": Cause(
        "Answered, but wrong",
        "The evidence was handed over and the answer is not right; or the documents do not tell the answer, and one "
        "was given all the same.",
        "Look at the claims of the answer: what it says beyond the context, and what it leaves out.",
    ),
    "judge_failed": Cause(
        "Judge failed",
        "The question was answered from its evidence, but the judge gave no verdict that could be read.",
        "Judge again what failed; when it fails again, choose another judge.",
    ),
    "fine": Cause(
        "Fine",
        "The answer is right, or the question was rightly refused. Where nothing was answered or judged: the evidence "
        "came as far as the run goes.",
        "Nothing to do.",
    ),
}
"""What happened to a question, in the order of the flow."""

_RETRIEVAL = "Compare with a run that hands over what was retrieved: the difference is what retrieval is worth."
CLOSED_BOOK: dict[str, Cause] = {
    "not_answered": Cause(
        "Not answered",
        "Nothing was handed over (closed book), and no answer came: the model does not know it by itself, or the call "
        "failed.",
        _RETRIEVAL,
    ),
    "wrong": Cause(
        "Answered, but wrong",
        "Nothing was handed over (closed book), and the answer is not right; or the documents do not tell the answer, "
        "and one was given all the same.",
        _RETRIEVAL,
    ),
    "fine": Cause("Fine", "The answer is right, or the question was rightly refused.", "Nothing to do."),
}
"""The same of a run without a context."""


def about(cause: str, kind: ContextKind = "retrieved") -> Cause:
    """Say what a cause means in a run whose context is of this kind."""
    return (CLOSED_BOOK if kind == "none" else CAUSES).get(cause, CAUSES[cause])


# Right or wrong


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether an answer is right, and what told so; `right` is None when nothing did, or the judge failed.

    `by` is the metric that was read, "reference_in_answer", "refusal", "failed" (there is no answer), "judge_failed",
    or "" when there is nothing to go by.
    """

    right: bool | None
    by: str = ""


JUDGED = {"equivalence": 1.0, "factual_recall": 0.5, "completeness": 0.5, "completeness_direct": 0.5}
"""What a judge's metric must reach for an answer to be right; the first that has a score decides."""
UNJUDGED = {"extractive_questeval_recall": 0.5, "token_f1": 0.5}
"""The same of metrics that need no judge; one that reaches it is enough."""


def is_right(
    question: Question, answer: Answer, scores: Mapping[str, float], failed: Collection[str] = frozenset()
) -> Ruling:
    """Tell whether `answer` is right by the best of the `scores` (name → value, those that there are).

    An answer to an unanswerable question is right when it refuses, to any other never. Else the verdict of equivalence
    decides (a partly equivalent answer is not right), or how much of the reference the answer holds; only when no judge
    was asked, words do. `failed` are the metrics on which a judge was asked in vain.
    """
    if answer.status == "failed" or (answer.status == "answered" and not answer.text.strip()):
        return Ruling(None if question.kind == "unanswerable" else False, "failed")
    if question.kind == "unanswerable" or answer.status == "refused":
        return Ruling(question.kind == "unanswerable" and answer.status == "refused", "refusal")
    for name, least in JUDGED.items():
        if name in scores:
            return Ruling(scores[name] >= least, name)
    if any(name in failed for name in JUDGED):
        return Ruling(None, "judge_failed")
    return _by_words(question, answer, scores)


def _by_words(question: Question, answer: Answer, scores: Mapping[str, float]) -> Ruling:
    known = [name for name in UNJUDGED if name in scores]
    reached = [name for name in known if scores[name] >= UNJUDGED[name]]
    if reached:
        return Ruling(True, reached[0])
    tongue = language.of_answers(question)
    reference = words.tokens(question.answer, tongue)
    if 0 < len(reference) <= SHORT:
        said = words.tokens(without_citations(answer.text), tongue)
        return Ruling(set(reference) <= set(said), "reference_in_answer")
    return Ruling(False, known[0]) if known else Ruling(None)


# One question

Range = tuple[str, int, int]
"""Characters of a document: its id, start, end."""


def cause(
    question: Question,
    retrieved: Retrieved,
    k: int,
    answer: Answer | None = None,
    right: bool | None = None,
    *,
    judge_failed: bool = False,
    kind: ContextKind = "retrieved",
    texts: Mapping[str, str] | None = None,
) -> str:
    """The one cause of a question, a key of `CAUSES`.

    A right answer is "fine" whatever was missed before it. Else the earliest stage that failed for any group of the
    evidence is the cause; when none did, what became of the answer. `right` None with `judge_failed` is a judge that
    failed, without it an answer nobody judged, which is "fine" as far as is known; so is a question that was not
    answered (`answer` None) and whose evidence is among the first `k`.

    `kind` is the run's: with "oracle" the gold chunks are what was retrieved, with "none" only the answer counts.
    `texts` are passages as they were handed over, by chunk id: with them, a chunk of which only a part fitted is in
    the context when that part holds the evidence; without them, it was cut.
    """
    if question.kind == "unanswerable":
        return _of_unanswerable(answer)
    if right:
        return "fine"
    stages = [] if kind == "none" else _stages(question, retrieved, k, answer, kind, texts or {})
    if stages:
        return min(stages, key=list(CAUSES).index)
    if answer is None:
        return "fine"
    if answer.status != "answered" or not answer.text.strip():
        return "not_answered"
    if right is None:
        return "judge_failed" if judge_failed else "fine"
    return "wrong"


def _of_unanswerable(answer: Answer | None) -> str:
    if answer is None or answer.status == "refused":
        return "fine"
    return "wrong" if answer.status == "answered" and answer.text.strip() else "not_answered"


def _stages(
    question: Question, retrieved: Retrieved, k: int, answer: Answer | None, kind: ContextKind, texts: Mapping[str, str]
) -> list[str]:
    """For each group of evidence that did not come through to the answer, where it was lost."""
    ranked = [chunk_id for gold in retrieved.gold for chunk_id in gold] if kind == "oracle" else retrieved.ranking.ids
    first = ranked if kind == "oracle" else ranked[:k]
    found = []
    for spans, gold in zip(question.evidence, retrieved.gold, strict=False):
        if not gold:
            found.append("not_parsed")
        elif not set(gold) & set(ranked):
            found.append("not_retrieved")
        elif not set(gold) & set(first):
            found.append("below_k")
        elif _split(spans, gold, first):
            found.append("split")
        elif answer is not None and not _handed_over(spans, set(gold) & set(first), answer, texts):
            found.append("cut_by_budget")
    return found


def _split(spans: Sequence[Span], gold: Sequence[str], first: Sequence[str]) -> bool:
    """Whether chunking kept none of the spans whole of which a gold chunk is among the first k."""
    chunks, top = _places(gold), _places(first)
    came = [place for place in top if place in chunks]
    reached = [span for span in spans if not span.stale and any(_overlap(span, place) for place in came)]
    return bool(reached) and not any(_kept(span, chunks, top) for span in reached)


def _kept(span: Span, gold: Sequence[Range], first: Sequence[Range]) -> bool:
    """Whether a gold chunk holds the span, or the first k together do; of a long one nobody asks that."""
    longest = max(end - start for document_id, start, end in gold if document_id == span.document_id)
    long = span.end - span.start > LONG * longest
    return long or any(_covered(span, [chunk]) for chunk in gold) or _covered(span, first)


def _overlap(span: Span, place: Range) -> bool:
    document_id, start, end = place
    return document_id == span.document_id and start < span.end and span.start < end


def _handed_over(spans: Sequence[Span], gold: Collection[str], answer: Answer, texts: Mapping[str, str]) -> bool:
    """Whether a gold chunk is in the context whole, or as much of it as holds the evidence."""
    whole = set(answer.context) - set(answer.cut)
    if whole & set(gold):
        return True
    cut = [chunk_id for chunk_id in gold if chunk_id in answer.context and chunk_id in texts]
    parts = [_part(place, texts[chunk_id]) for chunk_id in cut for place in _places([chunk_id])]
    return any(_covered(span, [part]) for span in spans if not span.stale for part in parts)


def _covered(span: Span, ranges: Sequence[Range]) -> bool:
    """Whether the ranges hold every character of the span together, but for blanks, which chunks are trimmed of."""
    return all(span.text[left:right].isspace() for left, right in _gaps(span, ranges))


def _gaps(span: Span, ranges: Sequence[Range]) -> Iterator[tuple[int, int]]:
    """What of the span no range holds, counted from its start."""
    at = span.start
    for _, start, end in sorted(r for r in ranges if r[0] == span.document_id):
        if at < min(start, span.end):
            yield at - span.start, min(start, span.end) - span.start
        at = max(at, end)
    if at < span.end:
        yield at - span.start, span.end - span.start


def _places(chunk_ids: Iterable[str]) -> list[Range]:
    """Where chunks stand; ids that were not made by `Chunk.make_id` do not tell, and are left out."""
    return [*filter(None, map(Chunk.parse_id, chunk_ids))]


def _part(place: Range, text: str) -> Range:
    """Where the beginning of a chunk stands that was handed over."""
    document_id, start, end = place
    return document_id, start, min(end, start + len(text))


# A whole run


def attribute_failures(
    questions: Sequence[Question],
    results: Sequence[Retrieved],
    k: int,
    answers: Mapping[str, Answer] | None = None,
    rulings: Mapping[str, Ruling] | None = None,
    *,
    kind: ContextKind = "retrieved",
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, str]:
    """The cause of every question that was retrieved for, by its id, in the order of `results`.

    `answers`, `rulings` (see `is_right`) and `texts` (see `cause`) are by question id; what is not there was not
    answered, or not judged. Results of questions that are not among `questions` are left out.
    """
    by_id = {question.id: question for question in questions}
    causes = {}
    for result in results:
        if question := by_id.get(result.question_id):
            ruling = (rulings or {}).get(question.id, Ruling(None))
            causes[question.id] = cause(
                question,
                result,
                k,
                (answers or {}).get(question.id),
                ruling.right,
                judge_failed=ruling.by == "judge_failed",
                kind=kind,
                texts=(texts or {}).get(question.id),
            )
    return causes


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of the waterfall: `count` questions have the cause, `left` are left when they are taken away.

    The first bar ("questions") is all of them, the last ("fine") those that are left.
    """

    cause: str
    title: str
    count: int
    left: int


def waterfall(causes: Sequence[str], kind: ContextKind = "retrieved") -> list[Step]:
    """Take the causes away from all questions, in the order of the flow; a cause without questions has its step too.

    >>> [(step.cause, step.count, step.left) for step in waterfall(["fine", "below_k", "fine"]) if step.count]
    [('questions', 3, 3), ('below_k', 1, 2), ('fine', 2, 2)]

    Raises:
        UsageError: there is no such cause.

    """
    counts = Counter(causes)
    if unknown := sorted(set(counts) - set(CAUSES)):
        raise UsageError(f"There is no cause '{unknown[0]}'; there are {', '.join(CAUSES)}.")
    left = len(causes)
    steps = [Step("questions", "Questions", left, left)]
    for name in CAUSES:
        left -= counts[name] if name != "fine" else 0
        steps.append(Step(name, about(name, kind).title, counts[name], left))
    return steps
