"""Where the reference answers of questions stand in the documents: exactly, else nearly; a person accepts each place.

Texts are compared unit by unit: a word, a number, or one Chinese character. Width, case, blanks and line breaks do not
count. Each document is read once.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ragviz.core.digests import new_id
from ragviz.core.document import Document, Span
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.questions import authoring
from ragviz.questions.formats.located import PLACES, located
from ragviz.questions.units import length, units
from ragviz.store.schema import version_of
from ragviz.store.store import Store
from ragviz.text import segmentation
from ragviz.text.normal_form import HAN_RUN, folded
from ragviz.workspace import Workspace

NEAR = 0.6
"""Share of an answer's words, rare ones counting more, from which sentences that hold them are proposed."""
TELLING = 2.0
"""Words from which an answer is too long to stand somewhere by chance: "yes" and "1990" have one, 王芳 one, too."""

_LONGEST = 500  # characters of a sentence
_BEST = 12  # sentences that are compared with an answer
_AROUND = " \t\r\n.。!！?？,，;；:：\"'“”‘’()（）[]"

Outcome = Literal["exact", "near", "ambiguous", "none"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document that may be the evidence of a question.

    `alike` is the share of the answer's words there, rare ones counting more, 1 of an exact place; `asked` the same
    share of the question's words in the sentences around it.
    """

    span: Span
    how: Literal["exact", "near"]
    alike: float
    asked: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was found for a question: `places`, the likeliest first.

    `doubt` says why none of them is certain; with a doubt none is accepted together with those of other questions.
    """

    question: Question
    places: tuple[Place, ...]
    doubt: str = ""

    @property
    def outcome(self) -> Outcome:
        """What was found, in one word."""
        return "none" if not self.places else "ambiguous" if self.doubt else self.places[0].how


class _Sentences:
    """The sentences of documents, with how often each holds which terms."""

    def __init__(self, documents: Sequence[Document]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self._documents = documents
        self._number_of = {document.id: number for number, document in enumerate(documents)}
        self._places: list[tuple[int, int]] = []
        self._first = [0]
        texts = []
        for document in documents:
            places = list(_sentences(document)) or [(0, len(document.text))]
            texts += [document.text[start:end] for start, end in places]
            self._places += places
            self._first.append(len(self._places))
        # One term more in each: without any there would be no vocabulary.
        counter = CountVectorizer(analyzer=lambda sentence: [*_terms(sentence), ""])
        self._counts = counter.fit_transform(texts).tocsc()
        self._columns: Mapping[str, int] = counter.vocabulary_
        self._weights = np.log1p(len(self._places) / np.maximum(np.diff(self._counts.indptr), 1))

    def at(self, document_id: str, start: int) -> int:
        """Return the number of the sentence at a character of a document, or of the one before it."""
        first, end = self._first[self._number_of[document_id] :][:2]
        return max(bisect_right(self._places, start, first, end, key=lambda place: place[0]) - 1, first)

    def weight(self, term: str) -> float:
        """How much a term tells, by how rare it is."""
        column = self._columns.get(term)
        return math.log1p(len(self._places) + 1) if column is None else float(self._weights[column])

    def share(self, text: str, passage: str) -> float:
        """Return the share of the terms of a text that are in a passage, rare ones counting more."""
        wanted, there = set(_terms(text)), set(_terms(passage))
        total = sum(map(self.weight, wanted))
        return round(sum(self.weight(term) for term in wanted & there) / total, 3) if total else 0.0

    def exact(self, question: Question, span: Span) -> Place:
        """Return a place where an answer stands; its signs count, width, case, blanks and kinds of quotes do not."""
        text, number = self._documents[self._number_of[span.document_id]].text, self._number_of[span.document_id]
        low = max(self.at(span.document_id, span.start) - 1, self._first[number])
        high = min(self.at(span.document_id, span.end - 1) + 1, self._first[number + 1] - 1)
        around = text[self._places[low][0] : self._places[high][1]]
        is_same = _bare(span.text) == _bare(question.answer.strip(_AROUND))
        return Place(span, "exact" if is_same else "near", 1.0, self.share(question.text, around))

    def near(self, question: Question) -> list[Place]:
        """Return the sentences that hold most of the answer's terms; those that overlap with better ones left out."""
        terms = Counter(_terms(question.answer))
        known = [(self._columns[term], count) for term, count in sorted(terms.items()) if term in self._columns]
        columns, wanted = [column for column, _ in known], np.array([count for _, count in known])
        weights, total = self._weights[columns], sum(self.weight(term) * count for term, count in terms.items())
        most = len(segmentation.sentences(question.answer, question.language)) + 1
        counts = self._counts[:, columns].tocsr()
        scores = (counts > 0) @ weights
        found: list[tuple[float, int, int]] = []  # share of the terms, first and last sentence
        for best in (n for n in np.argsort(-scores, kind="stable")[:_BEST].tolist() if scores[n]):
            low, high = (self._first[bisect_right(self._first, best) - 1 :])[:2]
            runs = [
                (float(weights @ np.minimum(wanted, counts[first : last + 1].toarray().sum(0))) / total, first, last)
                for first in range(max(low, best - most + 1), best + 1)
                for last in range(best, min(first + most, high))
            ]
            found.append(max(runs, key=lambda run: (round(run[0], 6), run[1] - run[2], run[1])))
        kept = list[tuple[float, int, int]]()
        for run in sorted(found, key=lambda run: (-round(run[0], 6), run[2] - run[1], run[1])):
            if run[0] >= NEAR and all(run[2] < other[1] or other[2] < run[1] for other in kept):
                kept.append(run)
        places = []
        for share, first, last in kept[: authoring.PROPOSED]:
            document = self._documents[bisect_right(self._first, first) - 1]
            span = authoring.marked(document, self._places[first][0], self._places[last][1])
            places.append(Place(span, "near", round(share, 3), self.share(question.text, span.text)))
        return places


def find(questions: Sequence[Question], documents: Iterable[Document]) -> list[Proposal]:
    """Return where the questions' answers stand: exactly, else nearly. Every document is read once."""
    listed = list(documents)
    if not listed:
        return [Proposal(question, ()) for question in questions]
    sentences, exact = _Sentences(listed), located({q.answer.strip(_AROUND) for q in questions}, listed)
    proposals = []
    for question in questions:
        answer = question.answer.strip(_AROUND)
        places: dict[int, Place] = {}  # one of each sentence
        for span in exact[answer]:
            place, number = sentences.exact(question, span), sentences.at(span.document_id, span.start)
            places[number] = min(places.get(number, place), place, key=lambda each: each.how)
        found = list(places.values())
        if not found and length(answer) >= TELLING:
            found = sentences.near(question)
        found.sort(key=lambda place: (place.how, -place.alike, -place.asked))
        proposals.append(Proposal(question, tuple(found), _doubt(question, found)))
    return proposals


def proposals(document: Document, text: str) -> list[Place]:
    """Return where a text may be in a document: each exact place, else the most similar sentences, best first."""
    exact = [Place(span, "exact", 1.0) for span in authoring.places(document, text)]
    return exact or _Sentences([document]).near(Question("", "", text, (), "", language=document.language))


def proposals_anywhere(store: Store, corpus_id: str, text: str) -> list[Place]:
    """Return where a text stands word for word in the readable documents of a corpus."""
    return [Place(span, "exact", 1.0) for span in located({text}, texts_of(store, corpus_id))[text]]


def _terms(text: str) -> Iterator[str]:
    """Yield words and pairs of neighbouring Chinese characters: single characters say little."""
    before, end = "", -1
    for unit, start, after in units(text):
        is_han = bool(HAN_RUN.match(unit))
        if is_han and before and start == end:
            yield before + unit
        elif not is_han:
            yield unit
        before, end = unit if is_han else "", after


def _sentences(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a document; a longer one, as of a table without full stops, in pieces of `_LONGEST`."""
    for start, end in segmentation.each_sentence(document.text, document.language):
        while end - start > _LONGEST:
            blank = document.text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
            cut = blank + 1 or start + _LONGEST
            yield start, cut
            start = cut
        yield start, end


def _bare(text: str) -> str:
    return "".join(folded(text).split())


def _doubt(question: Question, places: Sequence[Place]) -> str:
    """Say why it is not certain which place is meant, or whether any is; "" when it is."""
    if not places:
        return ""
    if len(places) > 1 and places[0].how == "exact":
        return f"it stands at {len(places):,} places{' or more' * (len(places) >= PLACES)}"
    if len(places) > 1 and places[0].alike == places[1].alike:
        return "several places are equally similar"
    if length(question.answer) < TELLING:
        return "an answer this short may stand there by chance"
    there = {unit for unit, _, _ in units(places[0].span.text)}
    missing = [unit for unit, _, _ in units(question.answer) if unit.isdigit() and unit not in there]
    return f"{missing[0]} does not stand there" if missing else ""


# A whole set


def search(workspace: Workspace, question_set: QuestionSet) -> list[Proposal]:
    """Return what is found for the questions of a set of which only the reference is known."""
    pending = reference_only(workspace.store.questions.all(question_set.id))
    return find(pending, texts_of(workspace.store, question_set.corpus_id)) if pending else []


def texts_of(store: Store, corpus_id: str) -> Iterator[Document]:
    """Yield the readable documents of a corpus."""
    yield from store.documents.texts(corpus_id, store.documents.readable(corpus_id))


def reference_only(questions: Iterable[Question]) -> list[Question]:
    """Return the questions with a reference answer whose evidence is not known, rejected ones left out."""
    return [q for q in questions if q.kind == "reference" and q.text.strip() and q.asked]


def certain(proposals: Iterable[Proposal], accept: Literal["exact", "all"]) -> list[Proposal]:
    """Return the proposals that can be accepted together: exact ones, or near ones too, none of them ambiguous."""
    return [p for p in proposals if p.outcome == "exact" or (accept == "all" and p.outcome == "near")]


def accept(workspace: Workspace, question_set: QuestionSet, chosen: Sequence[tuple[Question, Sequence[Place]]]) -> int:
    """Save places, any of which suffices, as the evidence of their questions.

    Return how many were changed by somebody else, and kept so. Those that are saved together are one version of the
    set.
    """
    store, edit = workspace.store, Edit(workspace.person.name, "found evidence", f"found:{new_id()}")
    refused = 0
    for question, places in chosen:
        after = authoring.changed(question, evidence=(tuple(place.span for place in places),))
        refused += not store.questions.replace(question_set.id, after, version_of(question), edit)[0]
    store.evidence.settle_all()  # a document may have been replaced since its text was searched
    return refused
