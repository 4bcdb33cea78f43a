"""The verification of questions by a model, in other calls than those that wrote them.

What is asked is a pure function of questions and their contexts, so that an estimate does the same as the verification,
with placeholders for the replies that are not paid yet. Questions are verified a window at a time: first each is asked
about without its passages, several in one call; then each that passed is read with them. Nothing is asked twice:
replies are cached by the client, and the verdicts of calls about several questions are cached for each of them.
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
_NOTE_OF_CHECKS = re.compile(f"{UNVERIFIED}|{FAULT}|{KNOWN}")
"""What begins in a reason what an earlier verification told."""
CHECKS = {
    "alone": "Understood without the passage",
    "evidence": "Answered from its evidence",
    "left out": "Not answered when a passage is left out",
    "elsewhere": "Not answered differently by other chunks",
    "candidates": "Not answered by the best chunks of the retrievers",
}
"""Every check → its title, in the order in which they are made: the cheapest first."""


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
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a check, and the reply to it that lets a question pass, for an estimate."""

    check: str
    request: Request[Any]
    passing: BaseModel


Talk = Generator[Call, Any, Result]
"""Yields calls, is sent their replies, and returns what they say."""


# What is asked


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _rows(
    check: str,
    items: Mapping[int, Any],
    ask: Callable[[Mapping[int, Any]], Request[Any]],
    passing: Callable[[Mapping[int, Any]], BaseModel],
    number: str,
) -> Talk[dict[int, Any]]:
    """Ask for a row of every item, by its number; what the reply left out is asked once more, in other words.

    A request that is not worded otherwise would get the cached reply again.
    """
    rows: dict[int, Any] = {}
    for attempt in range(2):
        missing = {place: item for place, item in items.items() if place not in rows}
        if not missing:
            break
        request = ask(missing).once_more(attempt, LACKING) if attempt else ask(missing)
        reply = yield Call(check, request, passing(missing))
        rows |= {place: row for row in reversed(reply.rows) if (place := getattr(row, number)) in missing}
    return rows


def _alone(questions: Sequence[Question]) -> Talk[dict[str, str]]:
    """Ask about questions without any passage; about follow-ups without their earlier turns too.

    Returns why each is rejected by its id, "" for one that passes; one that is known is only noted, by a reason that
    begins with `KNOWN`: an answer can be right without retrieval. What the replies left out has no reason.
    """
    entries: dict[int, Question] = {}
    for question in questions:
        for asked in (question, replace(question, history=()))[: 1 + bool(question.history)]:
            entries[len(entries) + 1] = asked
    with_history = {question.id: question.history for question in questions}

    def passing(some: Mapping[int, Question]) -> BaseModel:
        understood = {n: each.history == with_history[each.id] for n, each in some.items()}
        return prompts.AloneReply(
            rows=[prompts.AloneRow(number=n, understood=u, unclear="", known=False, answer="")
                  for n, u in understood.items()]
        )  # fmt: skip

    rows = yield from _rows("alone", entries, prompts.alone_request, passing, "number")
    reasons = {}
    for question in questions:
        numbers = [number for number, other in entries.items() if other.id == question.id]
        if not rows.keys() >= {*numbers}:
            continue
        whole, *without_history = mine = [rows[number] for number in numbers]
        if not whole.understood:
            unclear = f": “{_shown(whole.unclear)}” is unclear" if whole.unclear.strip() else ""
            reasons[question.id] = f"not understood without the passage{unclear}"
        elif any(row.understood for row in without_history):
            reasons[question.id] = "understood without the earlier turns of its conversation"
        else:
            known = [row.answer for row in mine if row.known and row.answer.strip() and question.kind != "unanswerable"]
            reasons[question.id] = ""
            for answer in known:
                if (yield from _same("alone", answer, question)):
                    reasons[question.id] = f"{KNOWN}“{_shown(answer)}”"
                    break
    return reasons


def _same(check: str, answer: str, question: Question, *, whole: bool = False) -> Talk[bool]:
    """Tell whether an answer says what the reference says, the `whole` of it or no more than a part, by its meaning.

    The judging step that compares answers is asked where the words are not the same; any answer agrees with none.
    """
    if not question.answer.strip() or rejection.normal(answer) == rejection.normal(question.answer):
        return True
    reply: ComparisonReply = yield Call(check, prompts.same_request(question, answer), prompts.SAME)
    return reply.equivalence == "equivalent" or (reply.equivalence == "partial" and not whole)


def _read(question: Question, context: Context) -> Talk[str]:
    """Check a question against its passages and the other chunks; return why it is rejected, "" where it passes."""
    passages = context.passages
    if question.kind != "unanswerable":
        several = len(passages) > 1 or question.type == "list"
        told = prompts.EvidenceReply(answerable=True, answer=question.answer, missing="")
        reply = yield Call("evidence", prompts.evidence_request(question, passages), told)
        if not (yield from _says("evidence", reply, question, whole=several)):
            if reply.answerable and reply.answer.strip():
                return f"another answer follows from its evidence: “{_shown(reply.answer)}”"
            missing = f": {_shown(reply.missing)} is missing" if reply.missing.strip() else ""
            return f"not answerable from its evidence{missing}"
        for left_out in range(len(passages) if len(passages) > 1 and question.type != "version" else 0):
            others = [text for place, text in enumerate(passages) if place != left_out]
            missing = "what the passage that is left out tells"
            passing = prompts.EvidenceReply(answerable=False, answer="", missing=missing)
            reply = yield Call("left out", prompts.evidence_request(question, others), passing)
            if (yield from _says("left out", reply, question, whole=True)):
                return f"can be answered without passage {left_out + 1}: “{_shown(reply.answer)}”"
    return (yield from _others(question, context.candidates))


def _says(check: str, reply: prompts.EvidenceReply, question: Question, *, whole: bool) -> Talk[bool]:
    if not reply.answerable or not reply.answer.strip():
        return False
    return (yield from _same(check, reply.answer, question, whole=whole))


def _others(question: Question, candidates: Sequence[Candidate]) -> Talk[str]:
    """Ask which chunks that retrievers find answer a question, as many at a time as one call reads.

    None is to answer an unanswerable one, and none another one in another way: then it has two answers.
    """
    is_unanswerable = question.kind == "unanswerable"
    check = "candidates" if is_unanswerable else "elsewhere"

    def passing(some: Mapping[int, str]) -> BaseModel:
        rows = [prompts.OtherRow(passage=n, answers=False, differs=False, quote="") for n in some]
        return prompts.OthersReply(rows=rows)

    for numbered in _packed(candidates):
        rows = yield from _rows(check, numbered, partial(prompts.others_request, question), passing, "passage")
        found = next((row for row in rows.values() if row.answers and (is_unanswerable or row.differs)), None)
        if found is not None:
            quote = f": “{_shown(found.quote)}”" if found.quote.strip() else ""
            how = "answers it" if is_unanswerable else "answers it differently"
            return f"a chunk of “{candidates[found.passage - 1].document}” {how}{quote}"
        if is_unanswerable and len(rows) < len(numbered):
            raise ModelError(LEFT_OUT)
    return ""


LEFT_OUT = "the model left it out, asked twice"


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


# The calls


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

    def complete(calls: Sequence[Call]) -> Completions:
        return client.complete_many((call.request for call in calls), asked)

    remaining = iter(questions)
    while window := list(islice(remaining, WINDOW)):
        session = _Session(client, complete, verdicts)
        try:
            session.run(window, contexts(window))
        except RagvizError:
            yield from (session.outcome(q, keys) for q in window if q.id in session.reasons)
            raise
        yield from (session.outcome(question, keys) for question in window)


Completions = Iterator[Completion[Any] | ModelError]
Key = TypeVar("Key")


@dataclass(slots=True)
class _Session:
    """The verification of a window: `reasons` of the questions that are decided, `failures` of those that cannot be."""

    client: ModelClient
    complete: Callable[[Sequence[Call]], Completions]
    verdicts: Cache | None
    learns: bool = True
    reasons: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def run(self, window: Sequence[Question], contexts: Mapping[str, Context]) -> None:
        """Make all checks of the questions of a window."""
        self.failures = {q.id: contexts[q.id].lacking for q in window if contexts[q.id].lacking}
        standing = [question for question in window if question.id not in self.failures]
        keys = {question.id: self._key(question) for question in standing}
        cached = self.verdicts.get_many(list(keys.values())) if self.verdicts is not None else {}
        alone = {question_id: cached[key].decode() for question_id, key in keys.items() if key in cached}
        unknown = [question for question in standing if question.id not in alone]
        batches = [unknown[at : at + prompts.TOGETHER] for at in range(0, len(unknown), prompts.TOGETHER)]
        for number, found in self._talked({n: _alone(batch) for n, batch in enumerate(batches)}):
            if isinstance(found, ModelError):
                self.failures |= {question.id: str(found) for question in batches[number]}
                continue
            alone |= found
            self.failures |= {question.id: LEFT_OUT for question in batches[number] if question.id not in found}
            if self.verdicts is not None and self.learns:
                self.verdicts.put_many({keys[i]: why.encode() for i, why in found.items()})
        self.notes = {question_id: why for question_id, why in alone.items() if why.startswith(KNOWN)}
        self.reasons = {i: why for i, why in alone.items() if why and i not in self.notes}
        rest = {q.id: q for q in standing if q.id not in self.reasons and q.id not in self.failures}
        for question_id, why in self._talked({i: _read(q, contexts[i]) for i, q in rest.items()}):
            if isinstance(why, ModelError):
                self.failures[question_id] = str(why)
            else:
                self.reasons[question_id] = why

    def _talked(self, talks: Mapping[Key, Talk[Result]]) -> Iterator[tuple[Key, Result | ModelError]]:
        """Yield what each talk returns as it ends, or why it failed: one call of each at a time, concurrently."""
        replies: dict[Key, Any] = dict.fromkeys(talks)
        while replies:
            calls: dict[Key, Call] = {}
            for key, reply in replies.items():
                try:
                    calls[key] = talks[key].send(reply)
                except StopIteration as end:  # at once, too: of a question that no chunk is found for nothing is asked
                    yield key, end.value
                except ModelError as error:
                    yield key, error
            replies = {}
            for key, completion in zip(calls, self.complete(list(calls.values())), strict=True):
                if not isinstance(completion, ModelError):
                    replies[key] = completion.parsed
                elif completion.outage:
                    raise completion
                else:
                    yield key, completion

    def _key(self, question: Question) -> str:
        content = json_line([question.text, question.answer, question.history, question.unanswerable])
        version = prompts.VERSIONS["alone"]
        return digest("verified", "alone", version, self.client.base_url, self.client.model, content, length=32)

    def outcome(self, question: Question, keys: Sequence[str]) -> Question:
        """Return a question after its verification; `keys` are removed from its reason.

        A question with a fault is rejected, unless a person accepted it: then its reason tells the fault.
        """
        fault, note = self.reasons.get(question.id), _NOTE_OF_CHECKS.split(question.reason)[0].rstrip("; ")
        if fault is None:
            why = f"{UNVERIFIED}{without_keys(self.failures[question.id], keys)}"
            return replace(question, verified_by="", reason=_joined(note, why))
        fault, note = without_keys(fault, keys), _joined(note, without_keys(self.notes.get(question.id, ""), keys))
        if fault and question.status == "accepted":
            return replace(question, verified_by=self.client.model, reason=_joined(note, f"{FAULT}{fault}"))
        status = "rejected" if fault else question.status
        return replace(question, verified_by=self.client.model, status=status, reason=fault or note)


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


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
    counts, paid = Counter[str](), Counter[str]()

    def complete(calls: Sequence[Call]) -> Completions:
        for call in calls:
            counts[call.check] += 1
            if client.cached([call.request])[0]:
                yield client.ask(call.request)
                continue
            text = call.passing.model_dump_json()
            prompt = sum(fitting.estimate(message["content"]) for message in call.request.messages)
            tokens = prompt, fitting.estimate(text)
            paid.update({"calls": 1, "prompt": tokens[0], "reply": tokens[1]})
            yield Completion(text, call.passing, *tokens, 0.0, False, client.model, None)

    for at in range(0, len(questions), WINDOW):
        window = questions[at : at + WINDOW]
        _Session(client, complete, verdicts, learns=False).run(window, contexts(window))
    unpaid = {client: (paid["calls"], paid["reply"])} if paid["calls"] else {}
    return forecast.Forecast(
        questions=len(questions),
        calls={title: counts[name] for name, title in CHECKS.items() if counts[name]},
        cached=counts.total() - paid["calls"],
        prompt_tokens=paid["prompt"],
        completion_tokens=paid["reply"],
        cost=client.price(paid["prompt"], paid["reply"]),
        seconds=forecast.duration(unpaid, client.concurrency, probe=probe),
    )
