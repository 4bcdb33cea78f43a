"""Questions written and mended by hand: evidence by place or quote, saved against the version that was looked at.

A stale piece of evidence is one whose text stood nowhere when its document was replaced or deleted. What is near it in
a document is proposed; a person takes a proposal, or shows another place.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from ragviz.errors import InputError, UsageError
from ragviz.questions import interchange
from ragviz.records import Document, DocumentInfo, Evidence, Question, QuestionSet, Span, new_id
from ragviz.store.store import Store
from ragviz.text import language, segmentation
from ragviz.text.words import tokens

NEAR = 0.5
"""Token F1 with the old text from which a place is worth proposing: half of both texts' words are the same."""
PROPOSED = 3
"""Near places that are proposed, at most."""
LISTED = 20
"""Places of an exact text that are told, at most."""


class Conflict(UsageError):
    """The question was changed, or deleted, since it was shown; `current` is what stands there now."""

    def __init__(self, current: Question | None) -> None:
        """Keep what stands there now, None when it was deleted."""
        self.current = current
        what = "deleted" if current is None else "changed"
        super().__init__(f"The question was {what} by somebody else since it was shown: nothing was saved.")


# Evidence


def marked(document: Document, start: int, end: int) -> Span:
    """The evidence at these characters of a document, without blanks at its ends.

    Raises:
        UsageError: there is no such place, or only blanks stand there.

    """
    if not 0 <= start < end <= len(document.text):
        raise UsageError(f"'{document.name}' has characters 0 to {len(document.text)}: there is no {start} to {end}.")
    text = document.text[start:end]
    start += len(text) - len(text.lstrip())
    end = start + len(text.strip())
    if start >= end:
        raise UsageError(f"Nothing but blanks stands at {start} of '{document.name}': mark some words.")
    return Span(document.id, start, end, document.text[start:end])


def document_of(store: Store, corpus_id: str, name: str) -> Document:
    """The readable document with this name.

    Raises:
        UsageError: there is none.

    """
    info = store.document_named(corpus_id, name)
    if info is None:
        raise UsageError(f"There is no readable document '{name}': `ragviz corpus show` lists them.")
    return store.document(corpus_id, info.id)


def listed(store: Store, corpus_id: str, evidence: str) -> Evidence:
    """Evidence from JSON as an import's column `evidence` holds it: a list of places, alternatives in lists in it.

    Raises:
        InputError: it is no such JSON, or names a document or text that is not there.

    """
    named = set(_strings(evidence))
    infos = [info for info in store.documents(corpus_id) if info.status == "ok" and _is_named(info, named)]
    texts = {d.name: d for d in store.document_texts(corpus_id, [info.id for info in infos])}
    row = json.dumps({"question": "?", "evidence": evidence}, ensure_ascii=False).encode()
    read = interchange.read_questions(row, "evidence.jsonl", texts)
    if read.problems or not read.questions[0].evidence:
        raise InputError(f"The evidence {read.problems.get(1, 'names no place')}.")
    return read.questions[0].evidence


def _strings(evidence: str) -> Iterator[str]:
    """Every string in the JSON, its keys left out."""
    try:
        waiting = [json.loads(evidence)]
    except (ValueError, RecursionError) as error:
        raise InputError(f"The evidence is not JSON: {error}.") from None
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | dict):
            waiting += value.values() if isinstance(value, dict) else value


def _is_named(info: DocumentInfo, named: set[str]) -> bool:
    """Whether a document is among what is named: by its name, its file's, or its id, that chunks' ids begin with."""
    path = PurePosixPath(info.name)
    return not named.isdisjoint((info.name, info.id, path.name, path.stem)) or any(n.startswith(info.id) for n in named)


def places(document: Document, quote: str) -> list[Span]:
    """Where `quote` stands in a document, at most `LISTED` places: letter by letter, else but for white space.

    >>> [s.start for s in places(Document("d", "a.md", "one two, one  two", (), "en", "", "", 0), "one two")]
    [0]
    """
    quote = quote.strip().replace("\r\n", "\n")
    if not quote:
        return []
    for pattern in (re.escape(quote), r"\s+".join(map(re.escape, quote.split()))):
        spots = [match.span() for match, _ in zip(re.finditer(pattern, document.text), range(LISTED), strict=False)]
        if spots:
            return [marked(document, *spot) for spot in spots]
    return []


def quoted(document: Document, quote: str) -> Span:
    """The one place where `quote` stands.

    Raises:
        InputError: it stands nowhere, or more than once.

    """
    found = places(document, quote)
    if len(found) == 1:
        return found[0]
    shown = quote.strip()[:60]
    if not found:
        raise InputError(f"“{shown}” does not stand in '{document.name}': copy it exactly.")
    at = ", ".join(str(span.start) for span in found[:3])
    raise InputError(f"“{shown}” stands {len(found)} times in '{document.name}' (at {at}): quote more of it.")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A place that may be what a stale piece of evidence meant; `alike` is the token F1 with its text, 1 when exact."""

    span: Span
    how: Literal["exact", "near"]
    alike: float


def proposals(document: Document, text: str) -> list[Proposal]:
    """Where `text` may stand in a document: each exact place, else the nearest runs of sentences, the best first.

    Sentences are taken together until they have about as many words as `text`; the time grows with the document's
    length alone. Near places do not overlap.
    """
    exact = [Proposal(span, "exact", 1.0) for span in places(document, text)]
    return exact or sorted(_near(document, text), key=lambda found: (-found.alike, found.span.start))[:PROPOSED]


def _near(document: Document, text: str) -> Iterator[Proposal]:
    """The best place of each stretch of the document that is near enough."""
    tongue = language.detect(text)
    tongue = document.language if tongue == "und" else tongue
    wanted = Counter(tokens(text, tongue))
    runs = [(alike, start, end) for alike, start, end in _runs(document.text, wanted, tongue) if alike >= NEAR]
    best: tuple[float, int, int] | None = None
    for run in runs:
        if best is not None and run[1] >= best[2]:
            yield Proposal(marked(document, best[1], best[2]), "near", round(best[0], 3))
            best = None
        if best is None or run[0] > best[0]:
            best = run
    if best is not None:
        yield Proposal(marked(document, best[1], best[2]), "near", round(best[0], 3))


def _runs(text: str, wanted: Counter[str], tongue: str) -> Iterator[tuple[float, int, int]]:
    """Token F1, start and end of every run of sentences that has about as many words as are wanted, in order."""
    run: deque[tuple[int, int, Counter[str]]] = deque()
    held, size, goal = Counter[str](), 0, wanted.total()
    for start, end in segmentation.sentences(text, tongue):
        words = Counter(tokens(text[start:end], tongue))
        run.append((start, end, words))
        held.update(words)
        size += words.total()
        while run:
            same = sum(min(count, held[word]) for word, count in wanted.items())
            yield 2 * same / (size + goal) if size else 0.0, run[0][0], run[-1][1]
            if size < goal:
                break
            _, _, gone = run.popleft()
            held.subtract(gone)
            size -= gone.total()


# Questions


def written(text: str, answer: str, evidence: Evidence) -> Question:
    """A question of a person's own, accepted; without evidence it is one that the documents do not answer.

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
    )


def changed(
    question: Question, *, text: str | None = None, answer: str | None = None, evidence: Evidence | None = None
) -> Question:
    """`question` with what is given; its status stays.

    Raises:
        UsageError: its text would be blank.

    """
    if text is not None and not text.strip():
        raise UsageError("A question needs words; to take it out, reject it.")
    return replace(
        question,
        text=question.text if text is None else text.strip(),
        answer=question.answer if answer is None else answer.strip(),
        evidence=question.evidence if evidence is None else evidence,
        language=language.detect(text) if text is not None and text.strip() != question.text else question.language,
    )


def add(store: Store, asked: QuestionSet, question: Question) -> None:
    """Put a question of one's own at the end of a set."""
    store.put_questions(asked.id, [question])
    store.settle_all()  # a document may have been replaced since its evidence was shown


def save(store: Store, asked: QuestionSet, question: Question, version: str) -> None:
    """Put `question` in the place of the one with its id, when that is still the `version` (`store.version_of`) shown.

    Raises:
        Conflict: it is another by now, or gone; nothing is written.

    """
    saved, current = store.put_question(asked.id, question, version)
    if not saved:
        raise Conflict(current)
    store.settle_all()  # a document may have been replaced since its evidence was shown


def question_of(store: Store, asked: QuestionSet, question_id: str) -> Question:
    """The question of a set with this id.

    Raises:
        UsageError: there is none.

    """
    found = next((q for q in store.questions(asked.id) if q.id == question_id), None)
    if found is None:
        raise UsageError(f"Set '{asked.name}' has no question '{question_id}': `ragviz questions show` lists them.")
    return found


@dataclass(frozen=True, slots=True)
class Stale:
    """A stale piece of evidence: member `member` of group `group` of a question, both counted from 0."""

    question: Question
    group: int
    member: int

    @property
    def span(self) -> Span:
        """The piece itself, with the text it had."""
        return self.question.evidence[self.group][self.member]


def stale(questions: Sequence[Question]) -> list[Stale]:
    """Every stale piece of evidence, in order."""
    return [
        Stale(question, group, member)
        for question in questions
        for group, spans in enumerate(question.evidence)
        for member, span in enumerate(spans)
        if span.stale
    ]


def mended(evidence: Evidence, group: int, member: int, span: Span) -> Evidence:
    """`evidence` with another piece in one place."""
    groups = [list(spans) for spans in evidence]
    groups[group][member] = span
    return tuple(tuple(spans) for spans in groups)
