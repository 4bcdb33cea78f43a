"""Making the questions that a plan lacks: in batches, stored as they come, counted in the plan's record."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ragviz.core.errors import ModelError
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.generation import plan_record, rejection
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import Meter, Order, size
from ragviz.generation.model_maker import ModelMaker
from ragviz.generation.model_questions import FAILED
from ragviz.generation.plan_record import PlanRecord, Row, kind_of_reason
from ragviz.generation.source_search import SourceSearch
from ragviz.models.requests import Spending
from ragviz.questions.question_types import TYPES
from ragviz.text.untrusted import without_keys
from ragviz.workspace import Workspace

BATCH = 20
"""Questions of one type that are made together, before it is counted what is missing."""
USEFUL_SHARE, DOUBT = 0.05, 0.01
"""A generation stops when a model with a usable question of every twentieth try would do so badly once in a hundred
times: after 90 tries without a question, 130 with one, 398 with ten. Checked after every
try, this stops a model with one in twenty in 8 % of long generations, and one with one in ten in none of 1,500
simulated ones."""
SHARE_OF_STORING = 0.05
"""Share of the time that is spent on storing the record of a generation, at most, once it is long."""


KEPT = ""
"""Outcome of a question that is kept."""
Item = TypeVar("Item")


class Making(SourceSearch):
    """Makes what a plan lacks, stores it, and counts it in the plan's record."""

    def __init__(
        self,
        workspace: Workspace,
        question_set: QuestionSet,
        record: PlanRecord,
        maker: ModelMaker,
        documents: IndexedDocuments,
        edit: Edit,
        spending: Spending,
    ) -> None:
        existing = workspace.store.questions.all(question_set.id)
        super().__init__(record, maker, documents, existing)
        self._workspace, self._set, self._edit, self._spending = workspace, question_set, edit, spending
        self._known = {q.id: q for q in existing if not q.reason.startswith(FAILED)}
        # What was rejected may be asked after all of another source, in a resumed generation as in one that goes on.
        refused = {q.id for q in existing if q.status == "rejected" and q.reason and q.generator == maker.name}
        self._texts = {rejection.normal(q.query) for q in existing if q.text and q.id not in refused}
        rejected = (question for question in existing if question.status == "rejected" and question.text)
        self._rejected_texts = {rejection.normal(question.query) for question in rejected}
        self.made: list[Question] = []
        self._waiting: list[Question] = []
        self._outcomes = Counter[str]()  # reasons, KEPT for none
        self._stored, self._pause = 0.0, 0.0
        self._progress: Progress = silent

    def run(self, progress: Progress) -> None:
        """Make the questions that are missing: in their cells, else in their documents, else anywhere."""
        self._progress = progress
        self._verify_again()
        self.maker.prepare([self.record.rows[number].cell for number in self.lacking()], progress)
        self._tell("Looking for places to ask about")
        searches = [(self.in_cell, True), (self.in_document, True), (self.anywhere, False)]
        for search, is_bounded in searches:
            self.unasked = frozenset(self._unasked())
            tries = Counter[int]()
            while orders := self.orders(search, self.lacking(tries if is_bounded else None)):
                tries.update(number for number, _ in orders)
                for first in range(0, len(orders), BATCH):
                    for same in _grouped(orders[first : first + BATCH], lambda each: each[1].cell.type):
                        self._make(same)
                    if time.monotonic() - self._stored > self._pause:
                        self.store()
        self._explain()
        self.record.state = "done"

    def _explain(self) -> None:
        """Note why planned questions are missing, and why documents have none."""
        for row in self.record.rows:
            title = TYPES[row.cell.type].title
            if row.missing and not row.reasons:
                row.reasons[f"nothing more there for the kind “{title}”"] = row.missing
        for document_id, rows in self._unasked().items():
            if document := self.documents.by_id.get(document_id):
                kinds = ", ".join(dict.fromkeys(TYPES[row.cell.type].title for row in rows))
                reasons = plan_record.reason_words(sum((row.reasons for row in rows), Counter()))
                self.record.nothing[document_id] = f"it holds {size(document)}; planned: {kinds}; {reasons}"

    def _unasked(self) -> dict[str, list[Row]]:
        """Return the rows of each document that questions are planned for and that has none of them, by its id."""
        kept = (self._known[i] for i in self.record.places if i in self._known)
        asked = {document_id for question in kept for document_id in plan_record.documents_of(question)}
        rows: dict[str, list[Row]] = defaultdict(list)
        for row in self.record.rows:
            if row.cell.document_id not in asked:
                rows[row.cell.document_id].append(row)
        return rows

    def _make(self, numbered: Sequence[tuple[int, Order]]) -> None:
        """Make the questions of orders of one type, and count them and what they took."""
        self._tell(f"Writing questions: {TYPES[numbered[0][1].cell.type].title}")
        meter, fresh = Meter(), list[tuple[int, Order]]()
        for number, order in numbered:
            known = self._known.get(self.maker.question_id(order))
            if known is None:
                fresh.append((number, order))
            elif known.status == "rejected":
                self.record.rows[number].reasons[kind_of_reason(known.reason)] += 1
            elif known.id not in self.record.places:  # it was stored by a process that was killed
                self.record.count(known.id, number)
        try:
            with closing(self.maker.make([order for _, order in fresh], self._texts, meter)) as made:
                for (number, order), question in zip(fresh, made, strict=True):
                    self._take(number, order, question)
        finally:
            self.record.yielded(numbered[0][1].cell.type).add(meter.usage)

    def _take(self, number: int, order: Order, made: Question) -> None:
        row = self.record.rows[number]
        self._keep(made)
        if made.status == "rejected":
            row.reasons[kind_of_reason(made.reason)] += 1
        else:
            self.record.count(made.id, number)
        if not made.reason.startswith(FAILED):
            self._known[made.id] = made
            self.about[order.source.asked, order.source.group].append(made.text)
        self._tell(f"Verified: {made.text}" if made.verified_by and made.asked else made.text)
        self._outcomes[kind_of_reason(made.reason) if made.status == "rejected" else KEPT] += 1
        if hopeless(self._outcomes.total(), self._outcomes[KEPT]):
            raise ModelError(_why_hopeless(self.maker.name, self._outcomes))

    def _keep(self, made: Question) -> None:
        """Count a question and have it stored with those that wait, unless one in its words was rejected before."""
        if made.status == "rejected" and made.text:
            if (words := rejection.normal(made.query)) in self._rejected_texts:
                return
            self._rejected_texts.add(words)
        self.record.yielded(made.type).count(made)
        self.made.append(made)
        self._waiting.append(made)

    def _verify_again(self) -> None:
        """Verify what was kept though its verification failed."""
        asked = [q for i in self.record.places if (q := self._known.get(i)) and q.asked and not q.verified_by]
        done = 0
        for same in _grouped(asked, lambda question: question.type):
            meter = Meter()
            try:
                for question in self.maker.verify(same, meter):
                    self._progress(done, len(asked), "questions", "Verifying what was not verified")
                    done += 1
                    if question != self._known[question.id]:
                        self._known[question.id] = question
                        self._waiting.append(question)
                        if question.status == "rejected":
                            self.record.drop({question.id: question.reason})
            finally:
                self.record.yielded(same[0].type).add(meter.usage)

    def store(self, *, at_end: bool = False) -> None:
        """Store the questions that wait, and the record that counts them, together; `at_end` the record in any case."""
        if not self._waiting and not at_end:
            return
        started, keys = time.monotonic(), self._workspace.settings.keys
        store, questions = self._workspace.store, [_without_keys(question, keys) for question in self._waiting]
        fact = plan_record.fact_with(store, self._set.id, self.record)
        if questions:
            store.questions.put(self._set.id, questions, edit=self._edit, facts={plan_record.FACT: fact})
        else:
            store.sets.put_fact(self._set.id, plan_record.FACT, fact)
        self._waiting = []
        self._spending.settle()
        self._stored = time.monotonic()
        self._pause = (self._stored - started) / SHARE_OF_STORING

    def _tell(self, message: str) -> None:
        self._progress(self.record.usable, self.record.planned, "questions", message)


def _grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> list[list[Item]]:
    """Return items with the same key together, in the order of the first of each."""
    groups: dict[Any, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return list(groups.values())


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


def _why_hopeless(model: str, outcomes: Counter[str]) -> str:
    rejected = Counter({reason: times for reason, times in outcomes.items() if reason != KEPT})
    [(reason, times)] = rejected.most_common(1)
    share = f"{times} of {rejected.total()}" if times < rejected.total() else f"all {times}"
    return (
        f"{outcomes.total()} questions tried, {outcomes[KEPT] or 'none'} kept: those of '{model}' fail because "
        f"{reason} ({share}). Look at the rejected ones, and choose another model or other documents."
    )
