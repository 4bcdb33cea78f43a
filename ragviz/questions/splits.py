"""Questions divided into validation and test: configurations are chosen on the one and reported on the other.

A split of the kind "stratified" divides the questions of each document and kind in the same proportion: what is
measured on its test side is a statement about these documents. One of the kind "grouped" keeps each document on one
side: a statement about documents like these. Both depend on the seed and on the ids, evidence and kinds of the
questions, and not on their order; both take n log n steps for n questions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import SIDES, Question, QuestionKind, Side, Split
from ragviz.core.question_set import QuestionSet
from ragviz.text.counts import counted

KINDS: Mapping[str, str] = {
    "stratified": "Each kind's questions, and within it each document's, are divided in one proportion, as nearly as "
    "whole questions allow: for statements about these documents.",
    "grouped": "Whole documents are on one side: for statements about documents like these.",
}
"""Kind of a split that can be made → what it does and is for."""


@dataclass(frozen=True, slots=True)
class Part:
    """The questions of one side, "" for those on neither: how many, of how many documents, and of which kinds."""

    side: Side | str
    documents: int
    questions: int
    kinds: Mapping[QuestionKind, int]


def sides_of(questions: Iterable[Question], kind: str, share: float = 0.5, seed: int = 0) -> dict[str, Side]:
    """Divide questions by a split of this kind and return the side of each by its id; rejected ones are left out.

    Raises:
        UsageError: the kind is unknown, `share` is not between 0 and 1, a side would be empty, or documents cannot be
            grouped because all are joined.

    """
    if kind not in KINDS:
        raise UsageError(f"There is no split '{kind}': choose one of {', '.join(KINDS)}.")
    if not 0 < share < 1:
        raise UsageError(f"The share of validation is between 0 and 1, without the ends: {share} is not.")
    used = [question for question in questions if question.asked]
    if kind == "grouped" and len(set(joined(used).values())) == 1:
        raise UsageError(
            "The evidence of all questions is in one document, or in documents that questions join: a grouped split "
            "cannot divide them. Make a stratified one, or add questions about other documents."
        )
    sides = stratified(used, share, seed) if kind == "stratified" else grouped(used, share, seed)
    if missing := [side for side in SIDES if side not in sides.values()]:
        raise UsageError(
            f"{counted(len(used), 'question', 'is')} not rejected, too few for a share of {share:g}: none would be in "
            f"{' or '.join(missing)}. Choose another share, or add questions."
        )
    return sides


def stratified(questions: Iterable[Question], share: float, seed: int) -> dict[str, Side]:
    """Divide the questions of each kind, and within it those of each document, in the same proportion.

    Of n questions of one kind, of one kind and document, or of all, `share` · n are in validation, rounded up or down.
    Questions whose evidence is in several documents are divided with others of the same documents, those without
    evidence by their kind alone.

    The questions are sorted by kind, documents and question, the last two in an order drawn by the seed, and those are
    taken at which the running sum of `share`, from a start drawn by the seed, passes a whole number (systematic
    sampling): so each run of the order has its share.
    """

    def place(question: Question) -> tuple[str, list[str], str]:
        documents = sorted(digest(str(seed), "document", each) for each in documents_of(question))
        return question.kind, documents, digest(str(seed), "question", question.id)

    start = int(digest(str(seed), "start"), 16) / 16**16
    sides: dict[str, Side] = {}
    for number, question in enumerate(sorted(questions, key=place)):
        passes = math.floor(start + share * (number + 1)) > math.floor(start + share * number)
        sides[question.id] = "validation" if passes else "test"
    return sides


def grouped(questions: Iterable[Question], share: float, seed: int) -> dict[str, Side]:
    """Assign whole documents to sides; documents that a question joins, directly or by others, stay together.

    The groups are assigned from the greatest to the smallest, in an order drawn by the seed among equals, each to the
    side that lacks most questions; when that leaves a side empty, the smallest group is moved to it. Questions without
    evidence are divided by their kind, as `stratified` does.
    """
    questions = list(questions)
    by_group, group_of = dict[str, list[Question]](), joined(questions)
    for question in questions:
        if question.id in group_of:
            by_group.setdefault(group_of[question.id], []).append(question)
    groups = list(by_group.values())
    drawn = {id(group): min(digest(str(seed), "question", question.id) for question in group) for group in groups}
    groups.sort(key=lambda group: (-len(group), drawn[id(group)]))
    total = sum(map(len, groups))
    lacking = {"validation": share * total, "test": (1 - share) * total}
    first: Sequence[Side] = SIDES if int(digest(str(seed), "first"), 16) % 2 else SIDES[::-1]
    assigned: list[Side] = []
    for group in groups:
        side = max(first, key=lambda side: lacking[side])
        lacking[side] -= len(group)
        assigned.append(side)
    if len(groups) > 1 and len(set(assigned)) == 1:
        assigned[-1] = SIDES[1 - SIDES.index(assigned[-1])]
    sides = {q.id: side for group, side in zip(groups, assigned, strict=True) for q in group}
    return sides | stratified((q for q in questions if not q.evidence), share, seed)


def documents_of(question: Question) -> set[str]:
    """Return the ids of the documents that the evidence of a question is in."""
    return {span.document_id for span in question.spans}


def joined(questions: Iterable[Question]) -> dict[str, str]:
    """Return the group of each question with evidence, by its id: equal for questions that documents join.

    Two questions are joined by a document that evidence of both is in, and by a third one that is joined to both. A
    group is named by the least of its documents' ids.
    """
    questions = [question for question in questions if question.evidence]
    parent: dict[str, str] = {}

    def root(document: str) -> str:
        while (above := parent.setdefault(document, document)) != document:
            parent[document] = document = parent[above]
        return document

    for question in questions:
        roots = sorted({root(document) for document in documents_of(question)})
        parent.update(dict.fromkeys(roots, roots[0]))
    return {question.id: root(min(documents_of(question))) for question in questions}


def parts(questions: Iterable[Question]) -> list[Part]:
    """Return what each side of a split has, and last those on neither side, if there are any; without rejected ones."""
    asked = [question for question in questions if question.asked]
    parts = []
    for side in (*SIDES, ""):
        found = [question for question in asked if question.split == side]
        documents = {document for question in found for document in documents_of(question)}
        kinds = Counter(question.kind for question in found)
        in_order = {kind: kinds[kind] for kind in get_args(QuestionKind) if kinds[kind]}
        parts += [Part(side, len(documents), len(found), in_order)] if side or found else []
    return parts


def on_both(questions: Iterable[Question]) -> set[str]:
    """Return the ids of the documents that have questions on both sides."""
    sides: dict[str, set[str]] = {side: set() for side in SIDES}
    for question in questions:
        if question.split and question.asked:
            sides[question.split] |= documents_of(question)
    return set.intersection(*sides.values())


def shared_words(split: Split, questions: Iterable[Question]) -> str:
    """Say how many documents have questions on both sides, "" when none has; a grouped split had none at first."""
    count = len(on_both(questions))
    again = ", because evidence was changed since it was made: make the split again" if split.kind == "grouped" else ""
    return f"{counted(count, 'document', 'has')} questions on both sides{again}." if count else ""


def set_words(question_set: QuestionSet) -> str:
    """Return the split of a set in words, "" when it has none: "grouped, seed 0: 50 validation, 48 test"."""
    split = question_set.split
    if split is None:
        return ""
    share = "" if split.share in (None, 0.5) else f", share {split.share:g}"
    made = split.kind + share + ("" if split.seed is None else f", seed {split.seed}")
    counts = [f"{question_set.sides.get(side, 0):,} {side}" for side in SIDES]
    counts += [f"{count:,} on neither side"] if (count := question_set.sides.get("", 0)) else []
    return f"{made}: {', '.join(counts)}"


def neither_words(question_set: QuestionSet) -> str:
    """Say how many questions are on neither side of a set's split, and what to do; "" when none or no split."""
    count = question_set.sides.get("", 0)
    if question_set.split is None or not count:
        return ""
    said = counted(count, "question", "is")
    return f"{said} on neither side of the split, added or accepted since it was made: make it again to divide all."
