"""Making the questions that a plan lacks by a model: in batches, verified, and stored as they come."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, RagvizError
from ragviz.core.question import Question, QuestionType
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.reply_cache import Cache
from ragviz.core.stopping import Progress, silent
from ragviz.generation import model_questions, plan_record, rejection, verification
from ragviz.generation.model_questions import FAILED, Ask, Task
from ragviz.generation.plan_record import PlanRecord, kind_of_reason
from ragviz.generation.sources import Source, Sources
from ragviz.generation.verification import Contexts
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Spending
from ragviz.questions.question_types import TYPES
from ragviz.text.untrusted import without_keys
from ragviz.workspace import Workspace

BATCH = 20
"""Questions that are made together, before it is counted what is missing."""
ATTEMPTS = 3
"""Passages of a document that are tried for one question that is planned there, before others are."""
USEFUL_SHARE, DOUBT = 0.05, 0.01
"""A generation stops when a model with a usable question of every twentieth try would do so badly once in a hundred
times: after 90 tries without a question, 130 with one, 398 with ten. Checked after every
try, this stops a model with one in twenty in 8 % of long generations, and one with one in ten in none of 1,500
simulated ones."""
SHARE_OF_STORING = 0.05
"""Share of the time that is spent on storing the record of a generation, at most, once it is long."""
KEPT = ""
"""Outcome of a question that is kept."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The model that writes, by `ask`, and what verifies by `verify_ask`; without `contexts` nothing is verified.

    `verdicts` and `keys` are as in `verification.verify`.
    """

    client: ModelClient
    seed: int
    ask: Ask
    verify_ask: Ask
    contexts: Contexts | None = None
    verdicts: Cache | None = None
    keys: Sequence[str] = ()

    def write(self, tasks: Sequence[Task], sources: Sources, existing: set[str]) -> Generator[Question]:
        """Yield the question of each task, verified; unusable ones are rejected, with the reason.

        When calls must stop, what was written so far comes, not verified. Rejected ones come as soon as all before them
        have: a useless model is noticed early. `existing` is as in `model_questions.written`.
        """
        written, documents = list[Question](), sources.documents.by_id
        try:
            for question in model_questions.written(tasks, documents, existing, self.client, self.seed, self.ask):
                if written or question.asked:
                    written.append(question)
                else:
                    yield question
        except RagvizError:
            yield from written
            raise
        yield from self.verify(written)

    def verify(self, questions: Sequence[Question]) -> Iterator[Question]:
        """Yield the questions in order; those that are asked are verified."""
        if self.contexts is None:
            yield from questions
            return
        decided, asked = dict[str, Question](), [question for question in questions if question.asked]
        try:
            for question in verification.verify(
                asked, self.contexts, self.client, self.verify_ask, verdicts=self.verdicts, keys=self.keys
            ):
                decided[question.id] = question
        except RagvizError:
            yield from (decided.get(question.id, question) for question in questions)
            raise
        yield from (decided.get(question.id, question) for question in questions)


@dataclass(slots=True)
class Making:
    """Makes what a plan lacks, stores it, and counts it in the plan's record; `made` are the new questions."""

    workspace: Workspace
    question_set: QuestionSet
    record: PlanRecord
    sources: Sources
    writer: Writer
    edit: Edit
    spending: Spending
    made: list[Question] = field(default_factory=list)
    _known: dict[str, Question] = field(default_factory=dict)
    _counts: list[int] = field(default_factory=list)
    _tries: Counter[int] = field(default_factory=Counter)
    _texts: set[str] = field(default_factory=set)
    _rejected_texts: set[str] = field(default_factory=set)
    _about: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    _used: set[tuple[str, Source]] = field(default_factory=set)
    _queues: dict[tuple[str, str], deque[Source]] = field(default_factory=dict)
    _waiting: list[Question] = field(default_factory=list)
    _outcomes: Counter[str] = field(default_factory=Counter)
    _stored: float = 0.0
    _pause: float = 0.0
    _progress: Progress = silent

    def run(self, progress: Progress) -> None:
        """Make the questions that are missing: in their documents, else anywhere."""
        self._progress, maker = progress, self.writer.client.model
        for question in self.workspace.store.questions.all(self.question_set.id):
            is_own, is_rejected = question.generator == maker, question.status == "rejected"
            if not question.reason.startswith(FAILED):
                self._known[question.id] = question
                if is_own:
                    self._about[question.type, "+".join(question.source_chunks)].append(question.text)
            # What was rejected may be asked after all of another source, in a resumed generation too.
            if question.text and not (is_rejected and question.reason and is_own):
                self._texts.add(rejection.normal(question.query))
            if question.text and is_rejected:
                self._rejected_texts.add(rejection.normal(question.query))
        self._verify_again()
        self._counts = self.record.counts(self._known)
        for anywhere in (False, True):
            self._tell("Looking for places to ask about")
            while tasks := self._tasks(anywhere=anywhere):
                for first in range(0, len(tasks), BATCH):
                    self._make(tasks[first : first + BATCH])
                    if time.monotonic() - self._stored > self._pause:
                        self.store()
        self._explain()

    # What is to be written

    def _tasks(self, *, anywhere: bool) -> list[tuple[int, Task]]:
        """Return a task for every question that a cell lacks, where there is a source, with the cell's number."""
        found, busy = list[tuple[int, Task]](), set[str]()
        for number, cell in enumerate(self.record.cells):
            if not anywhere and self._tries[number] >= ATTEMPTS * cell.planned:
                continue
            place = "" if anywhere else cell.document_id
            if (place, cell.type) not in self._queues:
                is_there = place in self.sources.documents.by_id
                found_there = self.sources.of(place, cell.type) if is_there else []
                self._queues[place, cell.type] = deque(found_there if place else self._by_turns(cell.type))
            queue = self._queues[place, cell.type]
            for _ in range(cell.planned - self._counts[number]):
                if (source := self._next(queue, cell.type, busy)) is None:
                    break
                self._tries[number] += 1
                task = self.sources.task(source, cell.type, cell.style, self._about[cell.type, source.key])
                found.append((number, task))
        return found

    def _next(self, queue: deque[Source], asked: QuestionType, busy: set[str]) -> Source | None:
        """Return the next source of a queue; None where there is none, or it waits for others of its passages."""
        while queue:
            source = queue[0]
            before = len(self._about[asked, source.key])
            if (asked, source) in self._used or source.copy < before:
                queue.popleft()
                continue
            if f"{asked} {source.key}" in busy or source.copy > before:
                return None
            self._used.add((asked, source))
            busy.add(f"{asked} {source.key}")
            return queue.popleft()
        return None

    def _by_turns(self, asked: QuestionType) -> Iterator[Source]:
        """Yield sources of all documents, one of each in turn.

        First of those that no question is about yet, then of those known to have something for the type.
        """
        about = {i for question in self.record.kept(self._known) for i in plan_record.documents_of(question)}
        documents = self.sources.documents

        def order(document_id: str) -> tuple[bool, bool, str]:
            drawn = digest(str(self.record.seed), asked, document_id)
            return document_id in about, not documents.places_of(document_id, asked), drawn

        turns, level = sorted(documents.by_id, key=order), 0
        while turns:
            turns = [i for i in turns if level < len(self.sources.of(i, asked))]
            yield from (self.sources.of(document_id, asked)[level] for document_id in turns)
            level += 1

    # What was written

    def _make(self, numbered: Sequence[tuple[int, Task]]) -> None:
        fresh = list[tuple[int, Task]]()
        for number, task in numbered:
            known = self._known.get(model_questions.question_id(task, self.writer.client.model, self.writer.seed))
            if known is None:
                fresh.append((number, task))
            elif known.status != "rejected" and known.id not in self.record.made:
                self._count(number, known)  # it was stored by a process that was killed
        self._tell("Writing questions")
        with closing(self.writer.write([task for _, task in fresh], self.sources, self._texts)) as made:
            for (number, _), question in zip(fresh, made, strict=True):
                self._take(number, question)

    def _take(self, number: int, made: Question) -> None:
        """Store a new question with those that wait; one in the words of a rejected one is not kept if it is, too."""
        if made.status == "rejected":
            words = rejection.normal(made.query)
            if not made.text or words not in self._rejected_texts:
                self._keep(made)
            self._rejected_texts.add(words)
        else:
            self._keep(made)
            self._count(number, made)
        if not made.reason.startswith(FAILED):
            self._known[made.id] = made
            self._about[made.type, "+".join(made.source_chunks)].append(made.text)
        self._tell(f"Verified: {made.text}" if made.verified_by and made.asked else made.text)
        self._outcomes[kind_of_reason(made.reason) if made.status == "rejected" else KEPT] += 1
        tried, kept = self._outcomes.total(), self._outcomes[KEPT]
        if hopeless(tried, kept):
            [(reason, times)] = Counter({r: n for r, n in self._outcomes.items() if r != KEPT}).most_common(1)
            share = f"{times} of {tried - kept}" if times < tried - kept else f"all {times}"
            raise ModelError(
                f"{tried} questions tried, {kept or 'none'} kept: those of '{self.writer.client.model}' fail because "
                f"{reason} ({share}). Look at the rejected ones, and choose another model or other documents."
            )

    def _keep(self, made: Question) -> None:
        self.made.append(made)
        self._waiting.append(made)

    def _count(self, number: int, question: Question) -> None:
        self._counts[number] += 1
        self.record.made.append(question.id)

    def _verify_again(self) -> None:
        asked = [question for question in self.record.kept(self._known) if question.asked and not question.verified_by]
        for done, question in enumerate(self.writer.verify(asked)):
            self._progress(done, len(asked), "questions", "Verifying what was not verified")
            if question != self._known[question.id]:
                self._known[question.id] = question
                self._waiting.append(question)

    def _explain(self) -> None:
        about = {i for question in self.record.kept(self._known) for i in plan_record.documents_of(question)}
        why = plan_record.reason_words(plan_record.rejected(self._known.values(), [self.record.generator]))
        types: dict[str, dict[str, None]] = defaultdict(dict)
        for cell in self.record.cells:
            types[cell.document_id][TYPES[cell.type].title] = None
        self.record.nothing = {
            i: f"planned: {', '.join(types[i])}; {why or 'nothing more there to ask about'}"
            for i in types.keys() - about
        }

    def store(self) -> None:
        """Store the questions that wait, and the record that counts them, together."""
        started, keys = time.monotonic(), self.workspace.settings.keys
        store, questions = self.workspace.store, [_without_keys(question, keys) for question in self._waiting]
        fact = plan_record.fact_with(store, self.question_set.id, self.record)
        store.questions.put(self.question_set.id, questions, edit=self.edit, facts={plan_record.FACT: fact})
        self._waiting = []
        self.spending.settle()
        self._stored = time.monotonic()
        self._pause = (self._stored - started) / SHARE_OF_STORING

    def _tell(self, message: str) -> None:
        self._progress(sum(self._counts), self.record.planned, "questions", message)


def _without_keys(question: Question, keys: Sequence[str]) -> Question:
    """Return a question without keys, which a server may have echoed in it."""
    clean = partial(without_keys, keys=keys)
    return replace(
        question,
        text=clean(question.text),
        answer=clean(question.answer),
        reason=clean(question.reason),
        parts=tuple(map(clean, question.parts)),
        history=tuple((clean(asked), clean(answered)) for asked, answered in question.history),
    )


def hopeless(tried: int, kept: int) -> bool:
    """Return whether so few questions were `kept` of those `tried` that it is no use to continue (`USEFUL_SHARE`).

    >>> hopeless(89, 0), hopeless(90, 0), hopeless(90, 1), hopeless(0, 0)
    (False, True, False, False)
    """
    from scipy.special import bdtr

    return tried > 0 and bool(bdtr(kept, tried, USEFUL_SHARE) <= DOUBT)
