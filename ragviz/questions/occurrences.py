"""Where the reference answers of questions stand in the documents: exactly, else nearly; a person accepts each place.

Texts are compared unit by unit: a word, a number, or one Chinese character. Width, case, blanks and line breaks do not
count. Each document is read once into an inverted index, after which a question costs a look-up of its rarest words.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ragviz.backends.terms import HAN_RUN
from ragviz.core.digests import digest, new_id
from ragviz.core.document import Document
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.span import Span
from ragviz.questions import authoring
from ragviz.questions.units import length, units
from ragviz.store.codecs import version_of
from ragviz.store.store import Store
from ragviz.text import segmentation
from ragviz.text.normal_form import folded
from ragviz.workspace import Workspace

NEAR = 0.6
"""Share of an answer's words, rare ones counting more, from which sentences that hold them are proposed."""
TELLING = 2.0
"""Words from which an answer is too long to stand somewhere by chance: "yes" and "1990" have one, 王芳 one, too."""

_LOOKED_AT = 20_000  # places of an answer's words that are looked at for a near one
_KEPT = 5_000  # sentences whose terms are kept
_LONGEST = 500  # characters of a sentence
_BEST = 12  # sentences that are compared with an answer
_ORDERED = 200  # exact places that are ordered by the question's words
_AROUND = " \t\r\n.。!！?？,，;；:：\"'“”‘’()（）[]"
_DECLINED = "declined evidence"
_BETWEEN = 0  # the unit that ends every document

Ints = NDArray[np.int64]
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
    asked: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was found for a question: `places`, the likeliest first, of `count` in all.

    `doubt` says why none of them is certain; with a doubt none is accepted together with those of other questions.
    """

    question: Question
    places: tuple[Place, ...]
    count: int
    doubt: str = ""

    @property
    def outcome(self) -> Outcome:
        """What was found, in one word."""
        return "none" if not self.places else "ambiguous" if self.doubt else self.places[0].how


class Texts:
    """Documents as an inverted index of their units: `find` looks up where an answer stands."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Read every document once; memory is some 40 bytes a word."""
        self._documents: list[Document] = []
        self._kept: dict[int, Counter[str]] = {}
        self._numbers: dict[str, int] = {}
        numbers, places, sentences, bounds = [_EMPTY], [_PAIRS], [_EMPTY], [_PAIRS]
        self._first_unit, self._first_sentence = [0], [0]
        for document in documents:
            own, own_places, own_bounds = self._read(document)
            self._documents.append(document)
            numbers.append(own)
            places.append(own_places)
            inside = np.searchsorted(own_bounds[:, 0], own_places[:, 0], side="right") - 1
            sentences.append(np.maximum(inside, 0) + self._first_sentence[-1])
            bounds.append(own_bounds)
            self._first_unit.append(self._first_unit[-1] + len(own))
            self._first_sentence.append(self._first_sentence[-1] + len(own_bounds))
        self._units, self._places = np.concatenate(numbers), np.concatenate(places)
        self._sentence, self._bounds = np.concatenate(sentences), np.concatenate(bounds)
        self._postings = np.argsort(self._units, kind="stable")
        counts = np.bincount(self._units, minlength=len(self._numbers) + 1)
        self._ends = np.cumsum(counts)
        self._weights = np.log1p(max(len(self._bounds), 1) / np.maximum(counts, 1))

    def _read(self, document: Document) -> tuple[Ints, Ints, Ints]:
        """Return the numbers and offsets of a document's units, with one that ends it, and its sentences' offsets."""
        numbers, places = array("q"), array("q")
        for unit, start, end in units(document.text):
            numbers.append(self._numbers.setdefault(unit, len(self._numbers) + 1))
            places.extend((start, end))
        numbers.append(_BETWEEN)
        places.extend((len(document.text), len(document.text)))
        bounds = [*_sentences(document)] or [(0, len(document.text))]
        own = [np.array(numbers), np.array(places).reshape(-1, 2), np.array(bounds)]
        return own[0].astype(np.int64), own[1].astype(np.int64), own[2].astype(np.int64)

    def find(self, question: Question) -> Proposal:
        """Return where the question's answer stands: exactly, else nearly."""
        passages = self._passages(self._exact(question.answer))
        places = [
            min((self._place(question, *run) for run in passage), key=lambda place: place.how)
            for passage in passages[:_ORDERED]
        ]
        if not passages and length(question.answer) >= TELLING:
            places = self._near(question)
        places.sort(key=lambda place: (place.how, -place.alike, -place.asked))
        count = max(len(passages), len(places))
        return Proposal(question, tuple(places[: authoring.LISTED]), count, _doubt(question, places, count))

    # Exact places

    def _exact(self, answer: str) -> list[tuple[int, int]]:
        """Return the first and last unit of every run of units that is the answer's."""
        wanted = [self._numbers.get(unit, -1) for unit, _, _ in units(answer)]
        if not wanted or min(wanted) < 0:
            return []
        rarest = min(range(len(wanted)), key=lambda place: self._count(wanted[place]))
        first = self._of(wanted[rarest]) - rarest
        first = first[(first >= 0) & (first + len(wanted) <= len(self._units))]
        for place, number in enumerate(wanted):
            first = first[self._units[first + place] == number]
        return [(int(at), int(at) + len(wanted) - 1) for at in first]

    def _passages(self, runs: Iterable[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        """Return runs of units, in order, grouped: those that overlap or begin in the same sentence are one passage."""
        passages: list[list[tuple[int, int]]] = []
        for run in runs:
            last = passages[-1][-1] if passages else None
            if last and (run[0] <= last[1] or self._sentence[run[0]] == self._sentence[last[0]]):
                passages[-1].append(run)
            else:
                passages.append([run])
        return passages

    def _place(self, question: Question, first: int, last: int) -> Place:
        """Return a run of the answer's units as a place: near when only signs between them differ."""
        document, answer = self._documents[self._document(first)], question.answer.strip(_AROUND)
        start, end = int(self._places[first][0]), int(self._places[last][1])
        own = [*units(answer)]
        before, after = own[0][1], len(answer) - own[-1][2]  # signs around the answer's first and last unit
        whole = max(start - before, 0), end + after
        is_exact = _bare(document.text[slice(*whole)]) == _bare(answer)
        span = authoring.marked(document, *(whole if is_exact else (start, end)))
        return Place(span, "exact" if is_exact else "near", 1.0, self._asked(question, first, last))

    # Near places

    def _near(self, question: Question) -> list[Place]:
        """Return the sentences that hold most of the answer's words; those that overlap with better ones left out."""
        wanted = self._terms(question.answer)
        total = sum(self._weight(term) * count for term, count in wanted.items())
        most = len(segmentation.sentences(question.answer, question.language)) + 1
        found: list[tuple[float, int, int, Place]] = []
        for sentence in self._candidates(question.answer):
            share, first, last = max(
                self._runs(wanted, total, sentence, most), key=lambda run: (round(run[0], 6), run[1] - run[2], run[1])
            )
            if share >= NEAR:
                found.append((share, first, last, self._sentences(question, first, last, share)))
        found.sort(key=lambda each: (-each[0], -each[3].asked, each[1]))
        kept: list[tuple[float, int, int, Place]] = []
        for each in found:
            if all(each[2] < other[1] or other[2] < each[1] for other in kept):
                kept.append(each)
        return [place for *_, place in kept[: authoring.PROPOSED]]

    def _candidates(self, answer: str) -> list[int]:
        """Return the sentences with the rarest of the answer's words, those with most of them first."""
        wanted = {n for unit, _, _ in units(answer) if (n := self._numbers.get(unit)) is not None}
        found, weights, looked_at = [_EMPTY], [np.zeros(0)], 0
        for number in sorted(wanted, key=self._count):
            if looked_at and looked_at + self._count(number) > _LOOKED_AT:
                break
            looked_at += self._count(number)
            sentences = np.unique(self._sentence[self._of(number)])
            found.append(sentences)
            weights.append(np.full(len(sentences), self._weights[number]))
        sentences, row = np.unique(np.concatenate(found), return_inverse=True)
        score = np.bincount(row, np.concatenate(weights), minlength=len(sentences))
        return [int(sentence) for sentence in sentences[np.argsort(-score, kind="stable")[:_BEST]]]

    def _runs(self, wanted: Counter[str], total: float, sentence: int, most: int) -> Iterator[tuple[float, int, int]]:
        """Yield the share of the answer's words in each run of at most `most` sentences around one, with its ends."""
        document = int(np.searchsorted(self._first_sentence, sentence, side="right")) - 1
        low, high = self._first_sentence[document], self._first_sentence[document + 1]
        for first in range(max(low, sentence - most + 1), sentence + 1):
            for last in range(sentence, min(first + most, high)):
                parts = [self._terms_of(document, each) for each in range(first, last + 1)]
                same = sum(
                    self._weight(term) * min(count, sum(part[term] for part in parts)) for term, count in wanted.items()
                )
                yield same / total if total else 0.0, first, last

    def _terms_of(self, document: int, sentence: int) -> Counter[str]:
        """Return the terms of a sentence; those of the last few thousand are kept."""
        terms = self._kept.get(sentence)
        if terms is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            start, end = self._bounds[sentence]
            terms = self._kept[sentence] = self._terms(self._documents[document].text[start:end])
        return terms

    def _sentences(self, question: Question, first: int, last: int, share: float) -> Place:
        document = self._documents[int(np.searchsorted(self._first_sentence, first, side="right")) - 1]
        span = authoring.marked(document, int(self._bounds[first][0]), int(self._bounds[last][1]))
        asked = self._share(question.text, document.text[span.start : span.end])
        return Place(span, "near", round(share, 3), asked)

    # Weights

    def _terms(self, text: str) -> Counter[str]:
        """Count words and pairs of neighbouring Chinese characters: single characters say little."""
        terms, before, end = Counter[str](), "", -1
        for unit, start, after in units(text):
            is_han = bool(HAN_RUN.match(unit))
            if is_han and before and start == end:
                terms[before + unit] += 1
            elif not is_han:
                terms[unit] += 1
            before, end = unit if is_han else "", after
        return terms

    def _weight(self, term: str) -> float:
        """How much a word tells, by how rare it is; of a pair of characters the rarer one."""
        parts = term if HAN_RUN.match(term) else (term,)
        return max(
            float(self._weights[number]) if (number := self._numbers.get(part)) else math.log1p(len(self._bounds) + 1)
            for part in parts
        )

    def _share(self, text: str, passage: str) -> float:
        """Return the share of the words of `text` that are in `passage`, rare ones counting more."""
        wanted, there = self._terms(text), self._terms(passage)
        total = sum(map(self._weight, wanted))
        return round(sum(self._weight(term) for term in wanted if term in there) / total, 3) if total else 0.0

    def _asked(self, question: Question, first: int, last: int) -> float:
        document = self._document(first)
        low, high = self._first_sentence[document], self._first_sentence[document + 1] - 1
        sentences = max(low, int(self._sentence[first]) - 1), min(high, int(self._sentence[last]) + 1)
        text = self._documents[document].text
        return self._share(question.text, text[self._bounds[sentences[0]][0] : self._bounds[sentences[1]][1]])

    def _document(self, unit: int) -> int:
        return int(np.searchsorted(self._first_unit, unit, side="right")) - 1

    def _of(self, number: int) -> Ints:
        return self._postings[self._ends[number - 1] : self._ends[number]]

    def _count(self, number: int) -> int:
        return int(self._ends[number] - self._ends[number - 1]) if number > 0 else 0


_EMPTY = np.zeros(0, dtype=np.int64)
_PAIRS = np.zeros((0, 2), dtype=np.int64)


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
    """Return `text` as two equal ones are compared: its signs count, width, case, blanks and kinds of quotes do not."""
    return "".join(folded(text).split())


def _doubt(question: Question, places: Sequence[Place], count: int) -> str:
    """Say why it is not certain which place is meant, or whether any is; "" when it is."""
    if not places:
        return ""
    if count > 1 and places[0].how == "exact":
        return f"it stands at {count:,} places"
    if len(places) > 1 and places[0].alike == places[1].alike:
        return "several places are equally similar"
    if length(question.answer) < TELLING:
        return "an answer this short may stand there by chance"
    there = {unit for unit, _, _ in units(places[0].span.text)}
    missing = [unit for unit, _, _ in units(question.answer) if unit.isdigit() and unit not in there]
    return f"{missing[0]} does not stand there" if missing else ""


# A whole set


def declined_key(question: Question, span: Span) -> str:
    """Return the name under which it is kept that a place is not the evidence of a question."""
    return digest(_DECLINED, question.id, question.answer, span.document_id, str(span.start), str(span.end))


def undeclined(store: Store, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals without the places that a person declined."""
    keys = {declined_key(p.question, place.span) for p in proposals for place in p.places}
    declined = store.cache(_DECLINED).get_many(sorted(keys)).keys()
    return [_without(proposal, declined) for proposal in proposals] if declined else list(proposals)


def _without(proposal: Proposal, declined: Collection[str]) -> Proposal:
    question = proposal.question
    places = [place for place in proposal.places if declined_key(question, place.span) not in declined]
    count = proposal.count - len(proposal.places) + len(places)
    return Proposal(question, tuple(places), count, _doubt(question, places, count))


def search(workspace: Workspace, question_set: QuestionSet, question_id: str = "") -> list[Proposal]:
    """Return what is found for the questions of a set of which only the reference is known: all, or the one named."""
    pending = [q for q in reference_only(workspace.store.questions.all(question_set.id)) if question_id in ("", q.id)]
    if not pending:
        return []
    texts = texts_of(workspace, question_set.corpus_id)
    return undeclined(workspace.store, [texts.find(question) for question in pending])


def texts_of(workspace: Workspace, corpus_id: str) -> Texts:
    """Read the readable documents of a corpus, one at a time."""
    ids = [info.id for info in workspace.store.documents.all(corpus_id) if info.status == "ok"]
    return Texts(workspace.store.documents.texts(corpus_id, ids))


def reference_only(questions: Iterable[Question]) -> list[Question]:
    """Return the questions with a reference answer whose evidence is not known, rejected ones left out."""
    return [q for q in questions if q.kind == "reference" and q.text.strip() and q.asked]


def with_evidence(question: Question, places: Sequence[Place]) -> Question:
    """Return the question with these places, at least one, as its evidence: any of several suffices."""
    return authoring.changed(question, evidence=(tuple(place.span for place in places),))


def certain(proposals: Iterable[Proposal], accept: Literal["exact", "all"]) -> list[Proposal]:
    """Return the proposals that can be accepted together: exact ones, or near ones too, none of them ambiguous."""
    return [p for p in proposals if p.outcome == "exact" or (accept == "all" and p.outcome == "near")]


def accept(
    store: Store, question_set: QuestionSet, chosen: Sequence[tuple[Question, Sequence[Place]]], author: str = ""
) -> int:
    """Save places as the evidence of their questions; return how many were changed by somebody else, and kept so.

    Those that are saved together are one version of the set.
    """
    edit = Edit(author, "found evidence", f"found:{new_id()}")
    saved = [
        store.questions.replace(question_set.id, with_evidence(question, places), version_of(question), edit)[0]
        for question, places in chosen
    ]
    if any(saved):
        store.evidence.settle_all()  # a document may have been replaced since its text was searched
    return len(saved) - sum(saved)


def decline(store: Store, question_set: QuestionSet, question: Question, places: Sequence[Place]) -> None:
    """Keep that these places are not the question's evidence: they are not proposed again."""
    store.cache(_DECLINED).put_many({declined_key(question, place.span): b"1" for place in places})
    store.touch(question_set.id)
