"""Questions whose evidence is gone are set aside, in quarantine, and released when it stands in a document again.

A question is stale when it needs a passage that was not found again after its document was replaced or deleted: all
members of a group of its evidence are stale. No run asks it until its evidence is mended, or its document comes back,
under another name too: the quotes of removed documents are looked up in those that are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from ragviz.core.digests import new_id
from ragviz.core.document import Corpus, Document, Span
from ragviz.core.errors import Deleted, NotFoundError
from ragviz.core.question import Question, QuestionStatus
from ragviz.core.question_set import SYSTEM, Edit, QuestionSet
from ragviz.questions.formats.located import located
from ragviz.questions.units import length
from ragviz.store.schema import version_of
from ragviz.store.store import Store
from ragviz.store.stored_documents import reanchored
from ragviz.text.counts import counted
from ragviz.text.markup import shortened
from ragviz.workspace import Workspace

REASON = "stale evidence: "
"""Beginning of the reason of a question that was set aside, before the text that is gone."""
QUOTED = 60
"""Characters of that text that are quoted."""
TAKEN_FOR = 4.0
"""Words of a removed document's quotes that an added one holds at least to be taken for it: fewer stand anywhere."""

Moves = Mapping[tuple[str, str], Span]
"""Id of a removed document and a quote of it → the place where that quote stands now."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What became of the questions of a set: ids of those set aside, and of those released."""

    question_set: str
    set_aside: tuple[str, ...]
    released: tuple[str, ...]


def lost(question: Question) -> Span | None:
    """Return the first piece of a group of evidence of which every member is stale; None when every group has a place.

    >>> from ragviz.core.document import Span
    >>> there, gone = Span("d", 0, 4, "here"), Span("d", 0, 4, "gone", stale=True)
    >>> lost(Question("q", "?", "", ((gone, there),), "hand"))
    >>> lost(Question("q", "?", "", ((there,), (gone,)), "hand")).text
    'gone'
    """
    return next((group[0] for group in question.evidence if group and all(span.stale for span in group)), None)


def is_set_aside(question: Question) -> bool:
    """Whether a question is in quarantine because its evidence is gone."""
    return question.status == "quarantined" and question.reason.startswith(REASON)


def refresh(workspace: Workspace, corpus: Corpus, added: Collection[str] = ()) -> list[Refreshed]:
    """Set the stale questions of a corpus aside, and release those whose evidence is found again: one version a set.

    Evidence that was stale is searched for by its exact text in its document, where that is one of the corpus again;
    that of removed documents in the `added` ones, by id, where it moves to when it stands there at one place. Call it
    after documents were added, replaced or deleted, any number of times: what is done already is not done again. A
    question that somebody edits meanwhile stays as it was edited, and is looked at the next time.
    """
    store, author = workspace.store, workspace.person.name
    store.evidence.settle(corpus.id, author)
    here = frozenset(store.documents.readable(corpus.id))
    document_of = lru_cache(maxsize=8)(partial(store.documents.get, corpus.id))
    moves = _moves(store, corpus, added, document_of) if added else {}
    done = []
    for question_set in store.sets.all(corpus.id):
        set_aside, released = [], []
        edit = Edit(author, "stale questions set aside, or released", f"{SYSTEM}{new_id()}")
        for question in store.questions.all(question_set.id):
            found = _now(store, question_set, _moved(question, moves), here, document_of)
            if found == question or not store.questions.replace(question_set.id, found, version_of(question), edit)[0]:
                continue
            if is_set_aside(found) and not is_set_aside(question):
                set_aside.append(question.id)
            elif is_set_aside(question) and not is_set_aside(found):
                released.append(question.id)
        if set_aside or released:
            done.append(Refreshed(question_set.name, tuple(set_aside), tuple(released)))
    return done


@contextmanager
def refreshing(workspace: Workspace, corpus: Corpus) -> Iterator[list[Refreshed]]:
    """Refresh a corpus after the body, in which its documents change, also after an error; fills the list it yields."""
    done: list[Refreshed] = []
    documents = workspace.store.documents
    before = documents.readable(corpus.id)
    try:
        yield done
    finally:
        with suppress(Deleted, NotFoundError):  # the corpus is gone, with its questions
            done += refresh(workspace, corpus, {*documents.readable(corpus.id)}.difference(before))


def _moves(
    store: Store, corpus: Corpus, added: Collection[str], document_of: Callable[[str], Document]
) -> dict[tuple[str, str], Span]:
    """Return where quotes of removed documents stand in the added ones, each of which is read once.

    Left out is what stands there in other words or at several places, and what an added document holds too few words of
    a removed one for: a few words are in documents that have nothing else in common.
    """
    known = {document.id for document in store.documents.all(corpus.id)}
    quotes = {
        (span.document_id, span.text)
        for question_set in store.sets.all(corpus.id)
        for question in store.questions.all(question_set.id)
        for span in question.spans
        if span.stale and span.document_id not in known
    }
    places = located({text for _, text in quotes}, store.documents.texts(corpus.id, sorted(added)))
    found: dict[tuple[str, str], dict[str, Span]] = defaultdict(dict)
    for removed, text in sorted(quotes, key=lambda quote: [place.document_id for place in places[quote[1]]]):
        if len(places[text]) == 1:
            [place] = places[text]
            whole = document_of(place.document_id).text
            start = whole.find(text, max(0, place.start - len(text)), place.end + len(text))
            if start >= 0:
                found[removed, place.document_id][text] = Span(place.document_id, start, start + len(text), text)
    moves = dict[tuple[str, str], Span]()
    for (removed, _), spans in found.items():
        own = [text for text in spans if not any(text != other and text in other for other in spans)]
        if sum(map(length, own)) >= TAKEN_FOR:
            moves |= {(removed, text): span for text, span in spans.items()}
    return moves


def _moved(question: Question, moves: Moves) -> Question:
    """Return a question with stale evidence of removed documents where it stands in others."""

    def now(span: Span) -> Span:
        place = moves.get((span.document_id, span.text)) if span.stale else None
        if place is None:
            return span
        return replace(span, document_id=place.document_id, start=place.start, end=place.end, stale=False)

    return (
        replace(question, evidence=tuple(tuple(map(now, group)) for group in question.evidence)) if moves else question
    )


def _now(
    store: Store,
    question_set: QuestionSet,
    question: Question,
    here: frozenset[str],
    document_of: Callable[[str], Document],
) -> Question:
    """Return a question with its evidence where it is found again, and the status that follows from it."""
    back = {span.document_id for span in question.spans if span.stale} & here
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
    """Return a question that was set aside and is not stale any more as it was before; others as they are."""
    if not is_set_aside(question) or lost(question) is not None:
        return question
    return as_before(store, question_set, question, is_set_aside)


def as_before(
    store: Store, question_set: QuestionSet, question: Question, is_held: Callable[[Question], bool]
) -> Question:
    """Return a question with the status and reason that it had before it `is_held`; "proposed" where none is known."""
    earlier = (each for _, each in store.versions.of_question(question_set.id, question.id) if each is not None)
    before = next((each for each in earlier if not is_held(each)), None)
    status: QuestionStatus = before.status if before else "proposed"
    return replace(question, status=status, reason=before.reason if before else "")


def set_aside_words(done: Sequence[Refreshed]) -> Iterator[str]:
    """Say for each set how many questions were set aside, and how many released.

    >>> list(set_aside_words([Refreshed("mine", ("a", "b"), ()), Refreshed("yours", (), ("c",))]))
    ["'mine': 2 questions are set aside: their evidence is stale.", "'yours': 1 question is asked again."]
    """
    for each in done:
        if each.set_aside:
            said = counted(len(each.set_aside), "question", "is")
            yield f"'{each.question_set}': {said} set aside: their evidence is stale."
        if each.released:
            yield f"'{each.question_set}': {counted(len(each.released), 'question', 'is')} asked again."
