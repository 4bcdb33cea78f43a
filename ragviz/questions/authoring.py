"""Questions written and edited by hand: evidence by place or quote, saved only over the version that was shown.

A stale piece of evidence is one whose text was not found when its document was replaced or deleted. Similar places in
a document are proposed; a person chooses one of them, or marks another place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ragviz.core.digests import new_id
from ragviz.core.document import Document, Evidence, Span
from ragviz.core.errors import InputError, UsageError
from ragviz.core.question import Question, QuestionStatus, QuestionStyle, QuestionType
from ragviz.core.question_set import EDITED, Edit, QuestionSet
from ragviz.questions import interchange, staleness
from ragviz.store.store import Store
from ragviz.text import language, quotes
from ragviz.workspace import Workspace

PROPOSED = 3
"""Similar places that are proposed, at most."""
LISTED = 20
"""Places of an exact text that are returned, at most."""


class Conflict(UsageError):
    """The question was changed, or deleted, since it was shown; `current` is the stored one."""

    def __init__(self, current: Question | None) -> None:
        """Keep the stored question, None when it was deleted."""
        self.current = current
        what = "deleted" if current is None else "changed"
        super().__init__(f"The question was {what} by somebody else since it was shown: nothing was saved.")


def marked(document: Document, start: int, end: int) -> Span:
    """Return the evidence at these characters of a document, without blanks at its ends.

    Raises:
        UsageError: there is no such place, or it is blank.

    """
    if not 0 <= start < end <= len(document.text):
        raise UsageError(f"'{document.name}' has characters 0 to {len(document.text)}: there is no {start} to {end}.")
    text = document.text[start:end]
    start += len(text) - len(text.lstrip())
    end = start + len(text.strip())
    if start >= end:
        raise UsageError(f"There are only blanks at {start} of '{document.name}': mark some words.")
    return Span(document.id, start, end, document.text[start:end])


def document_of(store: Store, corpus_id: str, name: str) -> Document:
    """Return the readable document with this name.

    Raises:
        UsageError: there is none.

    """
    info = store.documents.find(corpus_id, name)
    if info is None:
        raise UsageError(f"There is no readable document '{name}': `ragviz corpus show` lists them.")
    return store.documents.get(corpus_id, info.id)


def places(document: Document, quote: str) -> list[Span]:
    """Return where `quote` occurs in a document, at most `LISTED` places; what does not count is in `quotes.places`.

    >>> [s.start for s in places(Document("d", "a.md", "one two, one  two", (), "en", "", "", 0), "one two")]
    [0]
    """
    spots = quotes.places(quote.replace("\r\n", "\n"), document.text, LISTED)
    return [marked(document, *spot) for spot in spots]


def quoted(document: Document, quote: str) -> Span:
    """Return the only place where `quote` occurs.

    Raises:
        InputError: it occurs nowhere, or more than once.

    """
    try:
        return marked(document, *interchange.only_place(quote.replace("\r\n", "\n"), document))
    except ValueError as refusal:
        raise InputError(f"The evidence {refusal}.") from None


def written(
    text: str,
    answer: str,
    evidence: Evidence,
    *,
    unanswerable: bool = False,
    question_type: QuestionType = "",
    style: QuestionStyle = "",
) -> Question:
    """Return a question that a person wrote, accepted; without evidence it is reference only, or `unanswerable`.

    Raises:
        UsageError: it has no text.

    """
    if not text.strip():
        raise UsageError("Write the question first.")
    return Question(
        id=new_id(),
        text=text.strip(),
        answer=answer.strip(),
        evidence=evidence,
        generator="hand",
        status="accepted",
        language=language.detect(text),
        unanswerable=_marked(answer, evidence, unanswerable),
        type=question_type,
        style=style,
    )


def _marked(answer: str, evidence: Evidence, unanswerable: bool) -> bool:
    """Return whether the mark is needed: without an answer the question is unanswerable anyway."""
    return unanswerable and not evidence and bool(answer.strip())


def changed(
    question: Question,
    *,
    text: str | None = None,
    answer: str | None = None,
    evidence: Evidence | None = None,
    unanswerable: bool | None = None,
    question_type: QuestionType | None = None,
    style: QuestionStyle | None = None,
) -> Question:
    """Return `question` with the given fields changed; its status stays. With evidence it is not `unanswerable`.

    What its passages say (`parts`) is dropped with other evidence, and that it was verified with any other words.

    Raises:
        UsageError: its text would be blank.

    """
    if text is not None and not text.strip():
        raise UsageError("A question needs words; to remove it, reject it.")
    new_answer = question.answer if answer is None else answer.strip()
    new_evidence = question.evidence if evidence is None else evidence
    after = replace(
        question,
        text=question.text if text is None else text.strip(),
        answer=new_answer,
        evidence=new_evidence,
        unanswerable=_marked(new_answer, new_evidence, question.unanswerable if unanswerable is None else unanswerable),
        language=language.detect(text) if text is not None and text.strip() != question.text else question.language,
        type=question.type if question_type is None else question_type,
        style=question.style if style is None else style,
        parts=question.parts if new_evidence == question.evidence else (),
    )
    return as_verified(question, after)


def as_verified(before: Question, after: Question) -> Question:
    """Return the changed question, no longer verified where its words or its evidence are others than before."""
    same = (before.text, before.answer, before.evidence) == (after.text, after.answer, after.evidence)
    return after if same else replace(after, verified_by="")


def with_status(question: Question, status: QuestionStatus, reason: str = "") -> Question:
    """Return the question with a status, and a `reason` for it, else with the note that it had.

    The reason of a question that was rejected or quarantined is no note: it says why it was left out until now.
    """
    note = "" if question.status in ("rejected", "quarantined") else question.reason
    return replace(question, status=status, reason=reason or note)


def add(workspace: Workspace, question_set: QuestionSet, question: Question) -> None:
    """Add a question at the end of a set."""
    edit = Edit(workspace.person.name, "added a question")
    workspace.store.questions.put(question_set.id, [question], edit=edit)
    workspace.store.evidence.settle_all()  # a document may have been replaced since its evidence was shown


def save(store: Store, question_set: QuestionSet, question: Question, version: str, edit: Edit = EDITED) -> None:
    """Replace the question with the same id, when it still is the `version` (`schema.version_of`) that was shown.

    Raises:
        Conflict: it was changed or deleted meanwhile; nothing is written.

    """
    question = staleness.released(store, question_set, question)  # its evidence may have been mended
    saved, current = store.questions.replace(question_set.id, question, version, edit)
    if not saved:
        raise Conflict(current)
    store.evidence.settle_all()  # a document may have been replaced since its evidence was shown


def question_of(store: Store, question_set: QuestionSet, question_id: str) -> Question:
    """Return the question of a set with this id.

    Raises:
        UsageError: there is none.

    """
    question = next(iter(store.questions.all(question_set.id, [question_id])), None)
    if question is None:
        raise UsageError(
            f"Set '{question_set.name}' has no question '{question_id}': `ragviz questions show` lists them."
        )
    return question


def anchored(store: Store, corpus_id: str, document_ids: Collection[str]) -> int:
    """Return how many questions of a corpus have evidence in these documents, which may be deleted."""
    return sum(
        any(span.document_id in document_ids for span in question.spans)
        for question_set in store.sets.all(corpus_id)
        for question in store.questions.all(question_set.id)
    )
