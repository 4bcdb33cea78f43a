"""Questions whose evidence is gone are set aside, in quarantine, and released when it stands in a document again.

A question is stale when it needs a passage that was not found again after its document was replaced or deleted: all
members of a group of its evidence are stale. No run asks it until its evidence is mended, or its document comes back,
in other words or under another name too: the quotes of removed documents are looked up in those that are added.
Where the mended passage has other words, and what the answer rests on is not among them, it stays set aside until
somebody changes the answer or accepts the question.
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
from ragviz.text import language
from ragviz.text.counts import agreed, counted
from ragviz.text.denial import denies
from ragviz.text.markup import shortened
from ragviz.text.numerals import stated_numbers
from ragviz.text.words import content_words, stem

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


@dataclass(frozen=True, slots=True)
class Reworded:
    """A passage that was mended with other words: those it had, those it has, and why the answer is doubted, "" not."""

    old: str
    new: str
    doubt: str


def doubt(answer: str, old: str, new: str, lang: str) -> str:
    """Return why an answer may not hold in the new words of a passage; "" where nothing says so.

    What the old words stated of it, the new ones have to state too: its numbers, and its content words. Of an answer
    that the old words did not state, as yes or a sum, the passage has to state the same numbers, and to deny or not.

    >>> doubt("30 days", "It takes 30 days.", "It takes 45 days.", "en")
    'the answer “30 days” is not stated any more: 30'
    >>> doubt("30 days", "It takes 30 days.", "Thirty days are needed.", "en")
    ''
    >>> doubt("Yes", "It takes 30 days.", "It takes 45 days.", "en")
    'the passage states other numbers: 45 for 30'
    >>> doubt("Yes", "It is open.", "It is not open.", "en")
    'only one of them denies'
    """
    gone = _stated(answer, old, lang) - _stated(answer, new, lang)
    if gone:
        return f"the answer “{shortened(answer, QUOTED)}” is not stated any more: {', '.join(sorted(gone))}"
    if _stated(answer, new, lang) == _parts(answer, lang):
        return ""
    before, after = stated_numbers(old), stated_numbers(new)
    if before != after:
        told = [", ".join(sorted(each)) or "none" for each in (after - before, before - after)]
        return f"the passage states other numbers: {told[0]} for {told[1]}"
    return "only one of them denies" if denies(old) != denies(new) else ""


def _parts(text: str, lang: str) -> frozenset[str]:
    """Return the numbers and the stems of the content words of an answer."""
    words = (word for word in content_words(text, lang) if any(c.isalpha() for c in word))
    return frozenset(stem(word) for word in words if not stated_numbers(word)) | stated_numbers(text)


def _stated(answer: str, text: str, lang: str) -> frozenset[str]:
    """Return the parts of an answer that a text states; Chinese words also where it is divided otherwise."""
    wanted, here = _parts(answer, lang), _parts(text, lang)
    return (wanted & here) | {part for part in wanted - here if "\u3400" <= part[0] <= "\u9fff" and part in text}


def reworded(store: Store, question_set: QuestionSet, question: Question) -> list[Reworded]:
    """Return the passages of a question that was set aside which have been mended with other words since."""
    before = _before(store, question_set, question) if is_set_aside(question) else None
    return list(_reworded(before, question)) if before is not None else []


def _reworded(before: Question, question: Question) -> Iterator[Reworded]:
    """Yield the passages that have other words than before, group by group; groups and members keep their places."""
    lang = language.of_answers(question)
    for old, new in zip(before.evidence, question.evidence, strict=False):
        for was, now in zip(old, new, strict=False):
            if not now.stale and was.text.split() != now.text.split():
                yield Reworded(was.text, now.text, doubt(question.answer, was.text, now.text, lang))


def _before(store: Store, question_set: QuestionSet, question: Question) -> Question | None:
    """Return a question as it was before it was set aside; None where no version says it."""
    earlier = (before for _, before in store.versions.of_question(question_set.id, question.id) if before is not None)
    return next((each for each in earlier if not is_set_aside(each)), None)


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


def why(question: Question) -> str:
    """Return why a question was set aside: what is gone, or doubted."""
    return question.reason.removeprefix(REASON)


def refresh(store: Store, corpus: Corpus, added: Collection[str] = (), author: str = "") -> list[Refreshed]:
    """Set the stale questions of a corpus aside, and release those whose evidence is found again: one version a set.

    Evidence that was stale is searched for by its exact text in its document, where that is one of the corpus again;
    that of removed documents in the `added` ones, by id, where it moves to when it stands there at one place. Call it
    after documents were added, replaced or deleted, any number of times: what is done already is not done again. A
    question that somebody edits meanwhile stays as it was edited, and is looked at the next time. `author` is who
    changed the documents, "" where nobody is known.
    """
    store.evidence.settle(corpus.id, author)
    here = _readable(store, corpus)
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
def refreshing(store: Store, corpus: Corpus, author: str = "") -> Iterator[list[Refreshed]]:
    """Refresh a corpus after the body, in which its documents change, also after an error; fills the list it yields.

    `author` is who changes them.
    """
    done: list[Refreshed] = []
    before = _readable(store, corpus)
    try:
        yield done
    finally:
        with suppress(Deleted, NotFoundError):  # the corpus is gone, with its questions
            done += refresh(store, corpus, _readable(store, corpus) - before, author)


def _readable(store: Store, corpus: Corpus) -> frozenset[str]:
    return frozenset(document.id for document in store.documents.all(corpus.id) if document.status == "ok")


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
        for group in question.evidence
        for span in group
        if span.stale and span.document_id not in known
    }
    places = located({text for _, text in quotes}, store.documents.texts(corpus.id, sorted(added)))
    found: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for removed, text in sorted(quotes, key=lambda quote: [place.document_id for place in places[quote[1]]]):
        if len(places[text]) == 1:
            [place] = places[text]
            whole = document_of(place.document_id).text
            start = whole.find(text, max(0, place.start - len(text)), place.end + len(text))
            if start >= 0:
                found[removed, place.document_id].append(Span(place.document_id, start, start + len(text), text))
    return {
        (removed, span.text): span
        for (removed, _), spans in found.items()
        if _covered(spans) >= TAKEN_FOR
        for span in spans
    }


def _covered(spans: Sequence[Span]) -> float:
    """Return how many words of a document some spans cover together.

    >>> _covered([Span("d", 0, 11, "for 30 days"), Span("d", 4, 11, "30 days"), Span("d", 12, 16, "only")])
    4.0
    """
    words, reached = 0.0, 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        words += length(span.text[max(reached - span.start, 0) :])
        reached = max(reached, span.end)
    return words


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

    Others as they are. Without a version that says it, "proposed". One whose answer is doubted in the new words of a
    passage stays set aside, and says why.
    """
    if not is_set_aside(question) or lost(question) is not None:
        return question
    before = _before(store, question_set, question)
    doubted = next((each for each in _reworded(before, question) if each.doubt), None) if before else None
    if doubted is not None:
        old, new = shortened(doubted.old, QUOTED), shortened(doubted.new, QUOTED)
        return replace(question, reason=f"{REASON}“{old}” is now “{new}”: {doubted.doubt}")
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
            are, with_it = agreed(count, "is"), "question with" if count == 1 else "questions with"
            yield f"'{each.question_set}': {count:,} {with_it} stale evidence {are} set aside."
        if each.released:
            yield f"'{each.question_set}': {counted(len(each.released), 'question', 'is')} asked again."
