"""Questions whose evidence is gone are set aside, in quarantine, and released when it stands in a document again.

A question is stale when it needs a passage that was not found again after its document was replaced or deleted: all
members of a group of its evidence are stale. No run asks it until its evidence is mended, or its document comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from ragviz.errors import Deleted, NotFoundError
from ragviz.records import SYSTEM, Corpus, Document, Edit, Question, QuestionSet, QuestionStatus, Span, new_id
from ragviz.store.codecs import version_of
from ragviz.store.evidence import reanchored
from ragviz.store.store import Store
from ragviz.text.markup import shortened

REASON = "stale evidence: "
"""Beginning of the reason of a question that was set aside, before the text that is gone."""
QUOTED = 60
"""Characters of that text that are quoted."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What became of the questions of a set: ids of those set aside, and of those released."""

    question_set: str
    set_aside: tuple[str, ...]
    released: tuple[str, ...]


def lost(question: Question) -> Span | None:
    """Return the first piece of a group of evidence of which every member is stale; None when every group has a place.

    >>> from ragviz.records import Span
    >>> there, gone = Span("d", 0, 4, "here"), Span("d", 0, 4, "gone", stale=True)
    >>> lost(Question("q", "?", "", ((gone, there),), "hand"))
    >>> lost(Question("q", "?", "", ((there,), (gone,)), "hand")).text
    'gone'
    """
    return next((group[0] for group in question.evidence if group and all(span.stale for span in group)), None)


def is_set_aside(question: Question) -> bool:
    """Whether a question is in quarantine because its evidence is gone."""
    return question.status == "quarantined" and question.reason.startswith(REASON)


def refresh(store: Store, corpus: Corpus) -> list[Refreshed]:
    """Set the stale questions of a corpus aside, and release those whose evidence is found again: one version a set.

    Evidence that was stale is searched for by its exact text in its document, where that is one of the corpus again.
    Call it after documents were added, replaced or deleted, any number of times: what is done already is not done
    again. A question that somebody edits meanwhile stays as it was edited, and is looked at the next time.
    """
    store.settle(corpus.id)
    here = frozenset(document.id for document in store.documents(corpus.id) if document.status == "ok")
    document_of = lru_cache(maxsize=8)(partial(store.document, corpus.id))
    done = []
    for question_set in store.question_sets(corpus.id):
        set_aside, released = [], []
        edit = Edit(action="stale questions set aside, or released", key=f"{SYSTEM}{new_id()}")
        for question in store.questions(question_set.id):
            found = _now(store, question_set, question, here, document_of)
            if found == question or not store.put_question(question_set.id, found, version_of(question), edit)[0]:
                continue
            if is_set_aside(found) and not is_set_aside(question):
                set_aside.append(question.id)
            elif is_set_aside(question) and not is_set_aside(found):
                released.append(question.id)
        if set_aside or released:
            done.append(Refreshed(question_set.name, tuple(set_aside), tuple(released)))
    return done


@contextmanager
def refreshing(store: Store, corpus: Corpus) -> Iterator[list[Refreshed]]:
    """Refresh a corpus after the body, in which its documents change, also after an error; fills the list it yields."""
    done: list[Refreshed] = []
    try:
        yield done
    finally:
        with suppress(Deleted, NotFoundError):  # the corpus is gone, with its questions
            done += refresh(store, corpus)


def _now(
    store: Store,
    question_set: QuestionSet,
    question: Question,
    here: frozenset[str],
    document_of: Callable[[str], Document],
) -> Question:
    """Return a question with its evidence where it is found again, and the status that follows from it."""
    back = {span.document_id for group in question.evidence for span in group if span.stale} & here
    found = reanchored(question, {document_id: document_id for document_id in back}, document_of) if back else question
    gone = lost(found)
    if gone is None:
        return released(store, question_set, found)
    if not found.asked:
        return found
    return replace(
        found, status="quarantined", reason=f"{REASON}“{shortened(gone.text, QUOTED)}” is not found any more"
    )


def released(store: Store, question_set: QuestionSet, question: Question) -> Question:
    """Return a question that was set aside and is not stale any more with the status and reason from before.

    Others as they are. Without a version that says it, "proposed".
    """
    if not is_set_aside(question) or lost(question) is not None:
        return question
    earlier = (before for _, before in store.history.of_question(question_set.id, question.id) if before is not None)
    before = next((each for each in earlier if not is_set_aside(each)), None)
    status: QuestionStatus = before.status if before else "proposed"
    return replace(question, status=status, reason=before.reason if before else "")


def set_aside_words(done: Sequence[Refreshed]) -> Iterator[str]:
    """Say for each set how many questions were set aside, and how many released.

    >>> list(set_aside_words([Refreshed("mine", ("a", "b"), ()), Refreshed("yours", (), ("c",))]))
    ["'mine': 2 questions with stale evidence are set aside.", "'yours': 1 question is asked again."]
    """
    for each in done:
        if each.set_aside:
            count = len(each.set_aside)
            words = "question with stale evidence is" if count == 1 else "questions with stale evidence are"
            yield f"'{each.question_set}': {count:,} {words} set aside."
        if each.released:
            count = len(each.released)
            yield f"'{each.question_set}': {count:,} question{' is' if count == 1 else 's are'} asked again."
