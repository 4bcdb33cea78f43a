"""Making the questions that a plan lacks by a model: in batches, verified, and stored as they come."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, RagvizError
from ragviz.core.question import Question, QuestionType
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.generation import model_questions, plan_record, rejection
from ragviz.generation.model_questions import FAILED, Ask, Task
from ragviz.generation.plan_record import PlanRecord, kind_of_reason
from ragviz.generation.sources import COPIES, Passages, Sources, key_of
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


Key = tuple[str, str]
"""A type of questions, and the ids of the chunks that they are asked about."""


@dataclass(slots=True)
class Making:
    """Makes what a plan lacks by a model, stores it, and counts it in the plan's record; `made` are the new questions.

    `ask` sends what writes a question, `verify` yields questions as their verification leaves them.
    """

    workspace: Workspace
    question_set: QuestionSet
    record: PlanRecord
    sources: Sources
    client: ModelClient
    ask: Ask
    verify: Callable[[Sequence[Question]], Iterable[Question]]
    edit: Edit
    spending: Spending
    made: list[Question] = field(default_factory=list)
    _known: dict[str, Question] = field(default_factory=dict)
    _counts: list[int] = field(default_factory=list)
    _tries: Counter[int] = field(default_factory=Counter)
    _texts: set[str] = field(default_factory=set)
    _rejected_texts: set[str] = field(default_factory=set)
    _about: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    _times: Counter[Key] = field(default_factory=Counter)
    _queues: dict[tuple[str, str], deque[Passages]] = field(default_factory=dict)
    _waiting: list[Question] = field(default_factory=list)
    _outcomes: Counter[str] = field(default_factory=Counter)
    _stored: float = 0.0
    _pause: float = 0.0
    _progress: Progress = silent

    def run(self, progress: Progress) -> None:
        """Make the questions that are missing: in their documents, else anywhere."""
        self._progress = progress
        for question in self.workspace.store.questions.all(self.question_set.id):
            is_own, is_rejected = question.generator == self.client.model, question.status == "rejected"
            if not question.reason.startswith(FAILED):
                self._known[question.id] = question
                if is_own:
                    self._about[question.type, "+".join(question.source_chunks)].append(question.text)
            # What was rejected may be asked after all of other passages, in a resumed generation too.
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
        """Return a task for every question that a cell lacks, where there are passages, with the cell's number."""
        found, busy = list[tuple[int, Task]](), set[Key]()
        for number, cell in enumerate(self.record.cells):
            if not anywhere and self._tries[number] >= ATTEMPTS * cell.planned:
                continue
            place = "" if anywhere else cell.document_id
            if (place, cell.type) not in self._queues:
                is_there = place in self.sources.documents.by_id
                there = self._by_turns(cell.type) if anywhere else self.sources.of(place, cell.type) if is_there else ()
                asked_least = sorted(there, key=lambda each, of=cell.type: len(self._about[of, key_of(each)]))
                self._queues[place, cell.type] = deque(asked_least)
            for _ in range(cell.planned - self._counts[number]):
                if (passages := self._next(self._queues[place, cell.type], cell.type, busy)) is None:
                    break
                self._tries[number] += 1
                texts = self._about[cell.type, key_of(passages)]
                found.append((number, self.sources.task(passages, cell.type, cell.style, texts)))
        return found

    def _next(self, queue: deque[Passages], asked: QuestionType, busy: set[Key]) -> Passages | None:
        """Return passages that were asked about least; None where all were `COPIES` times, or are among the `busy`."""
        while queue:
            passages = queue.popleft()
            key = asked, key_of(passages)
            times = max(self._times[key], len(self._about[key]))
            if key in busy:
                queue.appendleft(passages)
                return None
            if times < COPIES:
                self._times[key] = times + 1
                busy.add(key)
                queue.append(passages)
                return passages
        return None

    def _by_turns(self, asked: QuestionType) -> Iterator[Passages]:
        """Yield passages of all documents, those of one document after those of another.

        First of those that no question is about yet, then of those known to have something for the type.
        """
        about = {i for question in self.record.kept(self._known) for i in plan_record.documents_of(question)}
        documents = self.sources.documents

        def order(document_id: str) -> tuple[bool, bool, str]:
            drawn = digest(str(self.record.seed), asked, document_id)
            return document_id in about, not documents.places_of(document_id, asked), drawn

        found = (self.sources.of(document_id, asked) for document_id in sorted(documents.by_id, key=order))
        for level in zip_longest(*found):
            yield from filter(None, level)

    # What was written

    def _make(self, numbered: Sequence[tuple[int, Task]]) -> None:
        fresh = list[tuple[int, Task]]()
        for number, task in numbered:
            known = self._known.get(model_questions.question_id(task, self.client.model, self.record.seed))
            if known is None:
                fresh.append((number, task))
            elif known.status != "rejected" and known.id not in self.record.made:
                self._count(number, known)  # it was stored by a process that was killed
        self._tell("Writing questions")
        tasks, documents, written = [task for _, task in fresh], self.sources.documents.by_id, list[Question]()
        questions = model_questions.written(tasks, documents, self._texts, self.client, self.record.seed, self.ask)
        try:
            for question in questions:
                written.append(question)
                self._tell(question.text)
            decided = {each.id: each for each in self.verify([each for each in written if each.asked])}
        except RagvizError:  # what was written is verified when the generation is resumed
            for (number, _), question in zip(fresh, written, strict=False):
                self._take(number, question)
            raise
        for (number, _), question in zip(fresh, written, strict=True):
            self._take(number, decided.get(question.id, question))

    def _take(self, number: int, made: Question) -> None:
        """Store a new question with those that wait; one in the words of a rejected one is not kept if it is, too."""
        is_rejected, words = made.status == "rejected", rejection.normal(made.query)
        if not is_rejected or not made.text or words not in self._rejected_texts:
            self.made.append(made)
            self._waiting.append(made)
        if is_rejected:
            self._rejected_texts.add(words)
        else:
            self._count(number, made)
        key = made.type, "+".join(made.source_chunks)
        if made.reason.startswith(FAILED):
            self._times[key] = COPIES
        else:
            self._known[made.id] = made
            self._about[key].append(made.text)
        self._tell(f"Verified: {made.text}" if made.verified_by and made.asked else made.text)
        self._outcomes[kind_of_reason(made.reason) if is_rejected else KEPT] += 1
        tried, kept = self._outcomes.total(), self._outcomes[KEPT]
        if hopeless(tried, kept):
            [(reason, times)] = Counter({r: n for r, n in self._outcomes.items() if r != KEPT}).most_common(1)
            share = f"{times} of {tried - kept}" if times < tried - kept else f"all {times}"
            raise ModelError(
                f"{tried} questions tried, {kept or 'none'} kept: those of '{self.client.model}' fail because "
                f"{reason} ({share}). Look at the rejected ones, and choose another model or other documents."
            )

    def _count(self, number: int, question: Question) -> None:
        self._counts[number] += 1
        self.record.made.append(question.id)

    def _verify_again(self) -> None:
        asked = [question for question in self.record.kept(self._known) if question.asked and not question.verified_by]
        for done, question in enumerate(self.verify(asked)):
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
