"""The verification of questions by a model, in other calls than those that wrote them.

A check is one record. What the checks ask is a pure function of questions and their contexts, so that an estimate does
the same as the verification, with placeholders for the replies that are not paid yet. Questions are verified a window
at a time; each check is asked about those that passed the checks before it. Nothing is asked twice: replies are cached
by the client, and the verdicts of calls about several questions are cached for each of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel

from ragviz.core.digests import digest, json_line
from ragviz.core.errors import ModelError, RagvizError
from ragviz.core.question import Question
from ragviz.core.reply_cache import Cache
from ragviz.generation import rejection
from ragviz.generation import verification_prompts as prompts
from ragviz.generation.model_questions import Ask
from ragviz.judging import forecast
from ragviz.judging.comparison import ComparisonReply
from ragviz.judging.step import LACKING
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.targets import fitting
from ragviz.text.untrusted import without_keys

WINDOW = 40
"""Questions that are verified together."""
CANDIDATE_TOKENS = 10_000
"""Tokens of the passages that one call reads, estimated."""
SHOWN = 120
"""Characters of an answer or a quote in a reason."""
ELSEWHERE = 3
"""Chunks of each retriever without the evidence of a question that are asked whether they answer it differently."""
UNVERIFIED = "not verified: "
"""How the reason of a question begins whose verification failed: it can be verified later."""
KNOWN = "answered without any document: "
"""How the note on a question begins that a model answers by itself: it tells little of retrieval."""
FAULT = "failed a check: "
"""How the reason begins of a question that a person accepted, and whose verification found a fault."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that could answer a question, and the name of its document."""

    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a question is checked against.

    `passages` are what its pieces of evidence tell, each passage once, in the order of the evidence; `candidates` are
    the best chunks of the retrievers without its evidence. `lacking` says why it cannot be verified, "" when it can.
    """

    passages: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    lacking: str = ""


Contexts = Callable[[Sequence[Question]], Mapping[str, Context]]
"""Questions → their contexts by id."""
Talk = Generator[Request[Any], Any, dict[str, str]]
"""Yields requests, is sent their replies, and returns the reasons for rejection by the question's id, "" for none.

A reason that begins with `KNOWN` is a note on a question that passes. One that the replies left out has no reason."""
Item = TypeVar("Item")
Agreement = Generator[Request[Any], Any, bool]
"""Yields requests, is sent their replies, and returns whether an answer says what the reference says."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it asks about which questions, how the replies are read, and what an estimate assumes.

    `talk` holds the requests about some questions, `together` at most. `placeholder` makes up a reply that lets them
    pass. `version` is that of the prompt.
    """

    title: str
    version: str
    applies: Callable[[Question, Context], bool]
    talk: Callable[[Sequence[Question], Mapping[str, Context]], Talk]
    placeholder: Callable[[Sequence[Question]], BaseModel]
    together: int = 1


def _rows(
    items: Mapping[int, Item], ask: Callable[[Mapping[int, Item]], Request[Any]], number: str = "passage"
) -> Generator[Request[Any], Any, dict[int, Any]]:
    """Ask for a row of every item, by its number; what the reply left out is asked once more, in other words.

    A request that is not worded otherwise would get the cached reply again.
    """
    rows: dict[int, Any] = {}
    for attempt in range(2):
        missing = {place: item for place, item in items.items() if place not in rows}
        if not missing:
            break
        reply = yield ask(missing).once_more(attempt, LACKING) if attempt else ask(missing)
        rows |= {place: row for row in reversed(reply.rows) if (place := getattr(row, number)) in missing}
    return rows


def _batches(questions: Sequence[Question], size: int) -> list[Sequence[Question]]:
    return [questions[start : start + size] for start in range(0, len(questions), size)]


def unanswerable(question: Question) -> bool:
    """Return whether the documents are not to answer a question."""
    return question.unanswerable or question.kind == "unanswerable"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _alone(questions: Sequence[Question], _: Mapping[str, Context]) -> Talk:
    """Ask about questions without any passage; about follow-ups without their earlier turns too."""
    entries: dict[int, Question] = {}
    for question in questions:
        entries[len(entries) + 1] = question
        if question.history:
            entries[len(entries) + 1] = replace(question, history=())
    rows = yield from _rows(entries, prompts.alone_request, "number")
    reasons = {}
    for question in questions:
        mine = [rows.get(number) for number, other in entries.items() if other.id == question.id]
        if None not in mine:
            reasons[question.id] = yield from _alone_fault(question, [row for row in mine if row])
    return reasons


def _alone_fault(question: Question, rows: Sequence[prompts.AloneRow]) -> Generator[Request[Any], Any, str]:
    """Return why a question is rejected for what it is without a passage; the second row is without earlier turns.

    One that is known is only noted: an answer can be right without retrieval.
    """
    whole, *without_history = rows
    if not whole.understood:
        unclear = f": “{_shown(whole.unclear)}” is unclear" if whole.unclear.strip() else ""
        return f"not understood without the passage{unclear}"
    if any(row.understood for row in without_history):
        return "understood without the earlier turns of its conversation"
    for row in rows:
        if row.known and row.answer.strip() and not unanswerable(question) and (yield from _same(row.answer, question)):
            return f"{KNOWN}“{_shown(row.answer)}”"
    return ""


def _same(answer: str, question: Question, *, whole: bool = False) -> Agreement:
    """Tell whether an answer says what the reference says, the `whole` of it or no more than a part, by its meaning.

    The judging step that compares answers is asked where the words are not the same; any answer agrees with none.
    """
    if not question.answer.strip() or rejection.normal(answer) == rejection.normal(question.answer):
        return True
    reply: ComparisonReply = yield prompts.same_request(question, answer)
    return reply.equivalence == "equivalent" or (reply.equivalence == "partial" and not whole)


def _evidence(questions: Sequence[Question], contexts: Mapping[str, Context]) -> Talk:
    """Ask for the answer from the passages with the evidence alone."""
    [question] = questions
    passages = contexts[question.id].passages
    reply: prompts.EvidenceReply = yield prompts.evidence_request(question, passages)
    if (yield from _says(reply, question, whole=len(passages) > 1)):
        return {question.id: ""}
    if reply.answerable and reply.answer.strip():
        return {question.id: f"another answer follows from its evidence: “{_shown(reply.answer)}”"}
    missing = f": {_shown(reply.missing)} is missing" if reply.missing.strip() else ""
    return {question.id: f"not answerable from its evidence{missing}"}


def _says(reply: prompts.EvidenceReply, question: Question, *, whole: bool) -> Agreement:
    """Tell whether a reply gives the reference answer, all of a list."""
    if not reply.answerable or not reply.answer.strip():
        return False
    return (yield from _same(reply.answer, question, whole=whole or question.type == "list"))


def _left_out(questions: Sequence[Question], contexts: Mapping[str, Context]) -> Talk:
    """Leave out each passage in turn: none may be dispensable. The first that is ends the talk."""
    [question] = questions
    passages = contexts[question.id].passages
    for left_out in range(len(passages)):
        others = [text for place, text in enumerate(passages) if place != left_out]
        reply: prompts.EvidenceReply = yield prompts.evidence_request(question, others)
        if (yield from _says(reply, question, whole=True)):
            return {question.id: f"can be answered without passage {left_out + 1}: “{_shown(reply.answer)}”"}
    return {question.id: ""}


def _others(questions: Sequence[Question], contexts: Mapping[str, Context]) -> Talk:
    """Ask which chunks that retrievers find answer a question, a context of them at a time.

    None is to answer an unanswerable one, and none another one in another way: then it has two answers.
    """
    [question] = questions
    candidates, is_unanswerable = contexts[question.id].candidates, unanswerable(question)
    for numbered in _packed(candidates):
        rows = yield from _rows(numbered, partial(prompts.others_request, question))
        found = next((row for row in rows.values() if row.answers and (is_unanswerable or row.differs)), None)
        if found is not None:
            quote = f": “{_shown(found.quote)}”" if found.quote.strip() else ""
            how = "answers it" if is_unanswerable else "answers it differently"
            return {question.id: f"a chunk of “{candidates[found.passage - 1].document}” {how}{quote}"}
        if is_unanswerable and len(rows) < len(numbered):
            return {}
    return {question.id: ""}


def _packed(candidates: Sequence[Candidate]) -> Iterator[dict[int, str]]:
    """Yield the texts of candidates by number from 1, as many at a time as one call reads."""
    pack: dict[int, str] = {}
    tokens = 0
    for number, candidate in enumerate(candidates, start=1):
        size = fitting.estimate(candidate.text)
        if pack and (tokens + size > CANDIDATE_TOKENS or len(pack) == prompts.MOST_CANDIDATES):
            yield pack
            pack, tokens = {}, 0
        pack[number] = candidate.text
        tokens += size
    if pack:
        yield pack


def _no_other(most: int) -> prompts.OthersReply:
    rows = [prompts.OtherRow(passage=n, answers=False, differs=False, quote="") for n in range(1, most + 1)]
    return prompts.OthersReply(rows=rows)


CHECKS: Mapping[str, Check] = {
    "alone": Check(
        "Understood without the passage",
        prompts.VERSIONS["alone"],
        lambda question, context: True,
        _alone,
        lambda questions: prompts.AloneReply(
            rows=[
                prompts.AloneRow(number=number, understood=understood, unclear="", known=False, answer="")
                for number, understood in enumerate(
                    (each for question in questions for each in ([True, False] if question.history else [True])), 1
                )
            ]
        ),
        together=prompts.TOGETHER,
    ),
    "evidence": Check(
        "Answered from its evidence",
        prompts.VERSIONS["evidence"],
        lambda question, context: not unanswerable(question),
        _evidence,
        lambda questions: prompts.EvidenceReply(answerable=True, answer=questions[0].answer, missing=""),
    ),
    "left out": Check(
        "Not answered when a passage is left out",
        prompts.VERSIONS["evidence"],
        lambda question, context: len(context.passages) > 1 and question.type != "version",
        _left_out,
        lambda questions: prompts.EvidenceReply(
            answerable=False, answer="", missing="what the passage that is left out tells"
        ),
    ),
    "elsewhere": Check(
        "Not answered differently by other chunks",
        prompts.VERSIONS["others"],
        lambda question, context: not unanswerable(question) and bool(context.candidates),
        _others,
        lambda questions: _no_other(2 * ELSEWHERE),
    ),
    "candidates": Check(
        "Not answered by the best chunks of the retrievers",
        prompts.VERSIONS["others"],
        lambda question, context: unanswerable(question),
        _others,
        lambda questions: _no_other(prompts.MOST_CANDIDATES),
    ),
}
"""Every check by name, in the order in which they are made: the cheapest first."""


def verify(
    questions: Iterable[Question],
    contexts: Contexts,
    client: ModelClient,
    ask: Ask | None = None,
    *,
    verdicts: Cache | None = None,
    keys: Sequence[str] = (),
) -> Iterator[Question]:
    """Yield the questions, verified, in order, a window at a time.

    One that passes all checks has `verified_by`, the model. One that fails a check too, and its reason says why; it is
    rejected, unless a person accepted it. One whose verification failed stays as it is, with a reason that begins with
    `UNVERIFIED`. `verdicts` keeps what calls about several questions said of each; `keys` are removed from reasons.

    Raises:
        ModelError: the whole endpoint fails; the questions that were decided are yielded before.
        BudgetReached: `ask` raised it, likewise.

    """
    asked = partial(ask, client) if ask else None

    def complete(_: Check, __: Sequence[Sequence[Question]], requests: Iterable[Request[Any]]) -> Completions:
        return client.complete_many(requests, asked)

    remaining = iter(questions)
    while window := list(islice(remaining, WINDOW)):
        session = _Session(contexts(window), client, complete, verdicts)
        try:
            session.run(window)
        except RagvizError:
            yield from (_outcome(q, session, client.model, keys) for q in window if q.id in session.reasons)
            raise
        yield from (_outcome(question, session, client.model, keys) for question in window)


Completions = Iterator[Completion[Any] | ModelError]
Complete = Callable[[Check, Sequence[Sequence[Question]], Iterable[Request[Any]]], Completions]
"""Check, the questions of each request, requests → a completion or the error of each, in order."""


@dataclass(slots=True)
class _Session:
    """The verification of a window: `reasons` of the questions that are decided, `failures` of those that cannot be.

    `calls` counts those of each check, cached ones too.
    """

    contexts: Mapping[str, Context]
    client: ModelClient
    complete: Complete
    verdicts: Cache | None
    calls: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def run(self, window: Sequence[Question]) -> None:
        """Make all checks of the questions of a window."""
        standing = []
        for question in window:
            if why := self.contexts[question.id].lacking:
                self.failures[question.id] = why
            else:
                standing.append(question)
        for name, check in CHECKS.items():
            concerned = [q for q in standing if check.applies(q, self.contexts[q.id])]
            found = self._known(name, check, concerned)
            unknown = [question for question in concerned if question.id not in found]
            found |= self._talked(name, check, _batches(unknown, check.together))
            for question_id, why in found.items():
                if why:
                    (self.notes if why.startswith(KNOWN) else self.reasons)[question_id] = why
            standing = [q for q in standing if q.id not in self.reasons and q.id not in self.failures]
        self.reasons |= {question.id: "" for question in standing}

    def _talked(self, name: str, check: Check, groups: Sequence[Sequence[Question]]) -> dict[str, str]:
        """Return the reasons that a check's talks give: one request of each at a time, concurrently."""
        reasons: dict[str, str] = {}
        pending = []

        def go_on(some: Sequence[Question], talk: Talk, reply: Any) -> None:
            """Give a talk its reply, None to begin it: it has another request, or has ended with its reasons."""
            try:
                pending.append((some, talk, talk.send(reply)))
            except StopIteration as end:  # at once, too: of a question that no chunk is found for nothing is asked
                reasons.update(end.value)
                self._learn(name, check, some, end.value)

        for some in groups:
            go_on(some, check.talk(some, self.contexts), None)
        while pending:
            asked, pending = pending, []
            requests = (request for _, _, request in asked)
            completions = self.complete(check, [some for some, _, _ in asked], requests)
            for (some, talk, _), completion in zip(asked, completions, strict=True):
                if isinstance(completion, ModelError):
                    if completion.outage:
                        raise completion
                    self.failures |= {question.id: str(completion) for question in some}
                    continue
                self.calls[name] += 1
                go_on(some, talk, completion.parsed)
        return reasons

    def _known(self, name: str, check: Check, questions: Sequence[Question]) -> dict[str, str]:
        if self.verdicts is None or check.together == 1:
            return {}
        keys = {question.id: self._key(name, check, question) for question in questions}
        cached = self.verdicts.get_many(list(keys.values()))
        return {question_id: cached[key].decode() for question_id, key in keys.items() if key in cached}

    def _learn(self, name: str, check: Check, questions: Sequence[Question], reasons: Mapping[str, str]) -> None:
        for question in questions:
            if question.id not in reasons:
                self.failures[question.id] = "the model left it out, asked twice"
        if self.verdicts is not None and check.together > 1:
            read = [question for question in questions if question.id in reasons]
            self.verdicts.put_many({self._key(name, check, q): reasons[q.id].encode() for q in read})

    def _key(self, name: str, check: Check, question: Question) -> str:
        content = json_line([question.text, question.answer, question.history, question.unanswerable])
        return digest("verified", name, check.version, self.client.base_url, self.client.model, content, length=32)


def _outcome(question: Question, session: _Session, model: str, keys: Sequence[str]) -> Question:
    reason = session.reasons.get(question.id)
    if reason is None:
        return unverified(question, without_keys(session.failures[question.id], keys))
    return decided(question, model, without_keys(reason, keys), without_keys(session.notes.get(question.id, ""), keys))


def decided(question: Question, verifier: str, fault: str, known: str = "") -> Question:
    """Return a question after its verification, which found the `fault`, "" for none; `known` is noted beside it.

    A question with a fault is rejected, unless a person accepted it: then its reason tells the fault.
    """
    note = _joined(_note(question), known)
    if fault and question.status == "accepted":
        return replace(question, verified_by=verifier, reason=_joined(note, f"{FAULT}{fault}"))
    status = "rejected" if fault else question.status
    return replace(question, verified_by=verifier, status=status, reason=fault or note)


def unverified(question: Question, why: str) -> Question:
    """Return a question that could not be verified, and is to be verified later."""
    return replace(question, verified_by="", reason=_joined(_note(question), f"{UNVERIFIED}{why}"))


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _note(question: Question) -> str:
    """Return what a question's reason said before its verification was tried."""
    return re.split(f"{UNVERIFIED}|{FAULT}|{KNOWN}", question.reason)[0].rstrip("; ")


def waiting(questions: Iterable[Question], *, again: bool = False) -> list[Question]:
    """Return the questions that are to be verified: those that are asked, and that nothing has verified, or all."""
    return [question for question in questions if question.asked and (again or not question.verified_by)]


def without_verification(question: Question) -> Question:
    """Return a question as it was before it was verified: nothing has verified it, and its reason tells no fault."""
    return replace(question, verified_by="", reason=_note(question))


def foresee(
    questions: Sequence[Question],
    contexts: Contexts,
    client: ModelClient,
    *,
    verdicts: Cache | None = None,
    probe: bool = False,
) -> forecast.Forecast:
    """Count the calls of `verify`, as if every question passed: then the most checks are made. Makes no call.

    But with `probe`, an endpoint of unknown pace is sent two small calls, to learn how long calls take.
    """
    dry, read_only = _DryRun(client), None if verdicts is None else _ReadOnly(verdicts)
    for window in _batches(questions, WINDOW):
        session = _Session(contexts(window), client, dry, read_only)
        session.run(window)
        dry.calls += session.calls
    return dry.forecast(len(questions), probe=probe)


class _ReadOnly:
    """A cache to which nothing is added: verdicts read off placeholders must not be kept."""

    def __init__(self, cache: Cache) -> None:
        self.get_many = cache.get_many

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep nothing."""


class _DryRun:
    """Completes requests from the cache, else by the placeholders of their check."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.calls = Counter[str]()
        self._cached = self._unpaid = self._prompt_tokens = self._completion_tokens = 0

    def __call__(
        self, check: Check, groups: Sequence[Sequence[Question]], requests: Iterable[Request[Any]]
    ) -> Completions:
        for some, request in zip(groups, requests, strict=True):
            if self._client.cached([request])[0]:
                self._cached += 1
                yield self._client.ask(request)
                continue
            reply = prompts.SAME if request.reply is ComparisonReply else check.placeholder(some)
            text = reply.model_dump_json()
            counts = (
                sum(fitting.estimate(m["content"]) for m in request.messages),
                fitting.estimate(text),
            )
            self._unpaid += 1
            self._prompt_tokens += counts[0]
            self._completion_tokens += counts[1]
            yield Completion(text, reply, *counts, 0.0, False, self._client.model, None)

    def forecast(self, questions: int, *, probe: bool) -> forecast.Forecast:
        """Return what was counted."""
        tokens = (self._prompt_tokens, self._completion_tokens)
        unpaid = {self._client: (self._unpaid, tokens[1])} if self._unpaid else {}
        return forecast.Forecast(
            questions=questions,
            calls={CHECKS[name].title: count for name, count in self.calls.items()},
            cached=self._cached,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            cost=self._client.price(*tokens),
            seconds=forecast.duration(unpaid, self._client.concurrency, probe=probe),
        )
