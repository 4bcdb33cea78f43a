"""What makes questions for the cells of a plan: without a model of the claims of documents, or by a model.

A maker says of a document what can be asked for each type (its sources, best first, at no cost), and makes questions of
the sources that it is given.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from ragviz.claims.extractive_claims import claims_of, doubtful_of, statements_of, variants_of
from ragviz.claims.sections import name_of, title_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.statement import Statement
from ragviz.core.digests import digest
from ragviz.core.document import Document
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.span import Span
from ragviz.generation import entities, joined_claims, rejection, styles, verification, verified_by_rules
from ragviz.generation.boilerplate import Boilerplate
from ragviz.generation.drafts import Ask
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.joined_draft import JoinedDraft
from ragviz.generation.plan import Cell
from ragviz.generation.verification import Contexts
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request, Usage
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.text.segmentation import each_sentence

Material = TypeVar("Material")
_CLOSING = " \t\r\n\"'*_`)]}»”’」』）】"  # what may follow the mark that ends a sentence


@dataclass(frozen=True, slots=True)
class Source(Generic[Material]):
    """What one question of the type `asked` can be made of, and the place in whose cell it counts.

    `key` tells it from all other sources of its type. `spans` are its evidence, or what a question's evidence is taken
    from. Of sources of one `group`, the copies 0, 1 … of one material, a
    later one waits until the questions of the earlier ones are made; "" is no group. A `doubtful` one is used where no
    other is left.
    """

    asked: QuestionType
    key: str
    document_id: str
    section: str
    start: int
    end: int
    material: Material
    spans: tuple[Span, ...]
    group: str = ""
    copy: int = 0
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Order(Generic[Material]):
    """A question to be made: type and style of `cell`, of a source; `asked` are the texts that its group has given."""

    cell: Cell
    source: Source[Material]
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why no question was written of a source; `other_styles` whether one could be in another style."""

    reason: str
    other_styles: bool = False


@dataclass(slots=True)
class Meter:
    """What the calls took that were paid through it; safe to use from many threads."""

    usage: Usage = field(default_factory=Usage)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watching(self, ask: Ask) -> Ask:
        """Return `ask` with what it pays counted."""

        def counted(client: ModelClient, request: Request[Any]) -> Completion[Any]:
            completion = ask(client, request)
            if not completion.cached:
                with self._lock:
                    self.usage += Usage.of([completion])
            return completion

        return counted


class Maker(Protocol):
    """Makes questions; `name` is what they name as their generator, `attempts` are those for one question in a place.

    None are as many as there are sources.
    """

    name: str
    attempts: int | None

    def prepare(self, cells: Collection[Cell], progress: Progress) -> None:
        """Read ahead what the questions of cells are made of; whatever is read later reports its progress too."""
        ...

    def sources(self, document_id: str, asked: QuestionType) -> Sequence[Source[Any]]:
        """Return what questions of a type can be made of in a document, the best first, doubtful ones last."""
        ...

    def question_id(self, order: Order[Any]) -> str:
        """Return the id that the question of an order will have."""
        ...

    def make(self, orders: Sequence[Order[Any]], existing: set[str], meter: Meter) -> Generator[Question | Skipped]:
        """Yield the question of each order, all of one type, in order; unusable ones are rejected, with the reason.

        `existing` holds `rejection.normal` of the queries of existing questions; those of usable ones are added.
        """
        ...

    def verify(self, questions: Sequence[Question], meter: Meter) -> Iterator[Question]:
        """Yield questions that were not verified when they were made, verified."""
        ...

    def holds(self, document_id: str) -> str:
        """Say in a few words what a document holds that questions could be made of."""
        ...


SINGLE: tuple[QuestionType, ...] = tuple(name for name in TYPES if name not in joined_claims.JOINED)
"""Types that one claim of a document is enough for."""


class Corpus:
    """The claims of the documents of an index, each document read once."""

    def __init__(self, documents: IndexedDocuments, seed: int, passages: int) -> None:
        """Read nothing yet; bridges are of so many `passages`."""
        self._documents, self._seed, self._passages = documents, seed, passages
        self._claims: dict[str, tuple[SourceClaim, ...]] = {}
        self._statements: dict[str, tuple[Statement, ...]] = {}
        self._variants: dict[str, tuple[SourceClaim, ...]] = {}
        self._doubtful: dict[str, tuple[SourceClaim, ...]] = {}
        self._wanted: set[str] = set()
        self._found = 0
        self._progress: Progress = silent
        self._boilerplate: Boilerplate | None = None
        self.joined, self.read = cache(self._joined), cache(self._entities)

    def prepare(
        self, document_ids: Iterable[str], types: Sequence[QuestionType], progress: Progress
    ) -> Iterator[QuestionType]:
        """Read the claims of documents, of all of them where a type is to be joined; yield these types in turn.

        The caller joins each as it comes. Documents without claims yet are counted, then types.
        """
        self._progress = progress
        wanted = self._documents.by_id if types else [i for i in document_ids if i in self._documents.by_id]
        self._wanted.update(wanted)
        for document_id in wanted:
            self.claims(document_id)
        if types:
            progress(0, len(types), "kinds", f"Finding what {self._found:,} claims have in common")
            self.read()
        for done, asked in enumerate(types):
            progress(done, len(types), "kinds", f"Joining claims: {TYPES[asked].title}")
            yield asked

    def claims(self, document_id: str) -> tuple[SourceClaim, ...]:
        """Return the claims of a document, without those about what other documents hold word for word."""
        if document_id not in self._claims:
            self._tell(document_id)
            document = self._documents.by_id[document_id]
            if self._boilerplate is None:
                self._boilerplate = Boilerplate(self._documents.by_id.values())
            self._claims[document_id] = tuple(self._boilerplate.without(document, claims_of(document)))
            self._statements[document_id] = tuple(statements_of(document))
            self._variants[document_id] = tuple(variants_of(document))
            self._doubtful[document_id] = tuple(self._boilerplate.without(document, doubtful_of(document)))
            self._found += len(self._claims[document_id])
        return self._claims[document_id]

    def doubtful(self, document_id: str) -> tuple[SourceClaim, ...]:
        """Return the claims of a document with a doubt, likewise."""
        self.claims(document_id)
        return self._doubtful[document_id]

    def _tell(self, document_id: str) -> None:
        """Report how many documents were read, of those that are wanted; of all where others are read too."""
        total = len(self._wanted if document_id in self._wanted else self._documents.by_id)
        name = self._documents.by_id[document_id].name
        self._progress(len(self._claims), total, "documents", f"Finding claims, {self._found:,} so far: {name}")

    def _entities(self) -> entities.Claims:
        documents = self._documents.by_id.values()
        return entities.read(
            ((document, self.claims(document.id)) for document in documents),
            lambda document: self._statements[document.id],
            lambda document: self._variants[document.id],
            lambda document: self._doubtful[document.id],
        )

    def _joined(self, asked: QuestionType) -> Mapping[str, Sequence[JoinedDraft]]:
        """Return the drafts of a type that needs the claims of all documents, by the document they count for."""
        found: dict[str, list[JoinedDraft]] = defaultdict(list)
        by_place = joined_claims.candidates(self.read(), asked, passages=self._passages, seed=self._seed)
        for (document_id, _), drafts in by_place.items():
            found[document_id].extend(drafts)
        return found


@dataclass(frozen=True, slots=True)
class _Draft:
    """A question as a colleague asks it, what its answer has to stand in, and the section it is about."""

    question: Question
    context: str
    section: str


class Extractive:
    """Makes questions of the claims that documents make, by grammar and structure; rules verify them."""

    name = "extractive"
    attempts: int | None = None

    def __init__(self, documents: IndexedDocuments, seed: int, passages: int, contexts: Contexts | None = None) -> None:
        """Read nothing yet; bridges are of so many `passages`. Without `contexts` nothing is verified."""
        self._documents, self._seed, self._contexts = documents, seed, contexts
        self._corpus = Corpus(documents, seed, passages)
        self.sources, self._file_name = cache(self._sources), cache(self._named_by)

    def prepare(self, cells: Collection[Cell], progress: Progress) -> None:
        """Find the claims of the cells' documents, and join those of all documents where a cell's type needs that."""
        types = [asked for asked in joined_claims.JOINED if any(cell.type == asked for cell in cells)]
        for asked in self._corpus.prepare((cell.document_id for cell in cells), types, progress):
            self._corpus.joined(asked)

    def _sources(self, document_id: str, asked: QuestionType) -> list[Source[_Draft]]:
        if asked in SINGLE:
            claims = (*self._corpus.claims(document_id), *self._corpus.doubtful(document_id))
            found = [(claim.score, self._of_claim(claim)) for claim in claims if claim.type == asked]
        else:
            found = [(draft.score, self._of_joined(draft)) for draft in self._corpus.joined(asked).get(document_id, ())]
        ordered = sorted(found, key=lambda each: (each[1].doubtful, -each[0], digest(str(self._seed), each[1].key)))
        return [source for _, source in ordered]

    def _of_claim(self, claim: SourceClaim) -> Source[_Draft]:
        question = Question(
            digest("question", self.name, str(self._seed), claim.type, f"{claim.document_id}-{claim.start}-{claim.end}",
                   claim.question),
            claim.question, claim.answer, ((Span(claim.document_id, claim.start, claim.end, claim.quote),),), self.name,
            language=claim.language, type=claim.type, parts=(claim.statement,),
        )  # fmt: skip
        return self._source(question, claim, f"{claim.quote}\n{claim.statement}", claim.doubt)

    def _of_joined(self, draft: JoinedDraft) -> Source[_Draft]:
        context = "\n".join([*(claim.quote for claim in draft.claims), *draft.parts])
        question = joined_claims.to_question(draft, self.name, self._seed)
        return self._source(question, draft.origin, context or draft.origin.quote, draft.doubt)

    def _source(self, question: Question, at: SourceClaim, context: str, doubt: str) -> Source[_Draft]:
        section = self._documents.section_of(at.document_id, at.start)
        notes = [f"{verification.DOUBT}{doubt}", *filter(None, [question.reason])]
        question = replace(question, reason="; ".join(notes)) if doubt else question
        draft = _Draft(question, context, section)
        spans = tuple(span for group in question.evidence for span in group)
        return Source(
            question.type, question.id, at.document_id, section, at.start, at.end, draft,
            (Span(at.document_id, at.start, at.end), *spans), doubtful=bool(doubt),
        )  # fmt: skip

    def _named_by(self, document_id: str) -> str:
        """Return the file's name by which questions name a document, "" where it has a title."""
        document = self._documents.by_id[document_id]
        return "" if title_of(document) else name_of(document)

    def question_id(self, order: Order[_Draft]) -> str:
        """Return the id of a claim's question in a style."""
        own, style = order.source.material.question.id, order.cell.style
        return own if style == "colleague" else digest(own, style)

    def make(self, orders: Sequence[Order[_Draft]], existing: set[str], meter: Meter) -> Generator[Question | Skipped]:
        """Yield the question of each order; no model is called."""
        made = [self._made(order, existing) for order in orders]
        standing = [each for each in made if isinstance(each, Question) and each.asked]
        verified = {question.id: question for question in self.verify(standing, meter)}
        yield from (verified.get(each.id, each) if isinstance(each, Question) else each for each in made)

    def _made(self, order: Order[_Draft], existing: set[str]) -> Question | Skipped:
        draft, question_id, style = order.source.material, self.question_id(order), order.cell.style
        plain = draft.question
        text = styles.styled(
            plain.text,
            style,
            plain.language,
            section=draft.section,
            file_name=self._file_name(order.source.document_id),
            seed=self._seed,
            key=question_id,
        )
        if text is None:
            return Skipped(f"cannot be put in the style “{STYLES[style].title}” without a model", other_styles=True)
        place = ((Span(order.source.document_id, order.source.start, order.source.end),),)
        chunks = self._documents.holding(plain.evidence or place)
        question = replace(plain, id=question_id, text=text, style=style, source_chunks=chunks)
        if reason := fault(plain, draft.context):
            return replace(question, status="rejected", reason=reason)
        normal = rejection.normal(question.query)
        if normal in existing:
            return Skipped("asked already")
        existing.add(normal)
        return question

    def holds(self, document_id: str) -> str:
        """Count the claims of a document by type; of one without any its lines and sentences."""
        counts = Counter(claim.type for claim in self._corpus.claims(document_id))
        if not counts:
            return f"yields no claim: {size(self._documents.by_id[document_id])}"
        listed = ", ".join(f"{counts[asked]:,} {TYPES[asked].title}" for asked in TYPES if counts[asked])
        return f"yields {counts.total():,} {'claim' if counts.total() == 1 else 'claims'} ({listed})"

    def verify(self, questions: Sequence[Question], meter: Meter) -> Iterator[Question]:
        """Yield the questions, verified by rules."""
        return iter(questions) if self._contexts is None else verified_by_rules.verify(questions, self._contexts)


def size(document: Document) -> str:
    r"""Count the lines with text and the sentences that end as such, in words.

    >>> document = Document("d", "d.txt", "Menu\n\nHome\nSign in", (), "en", "", "", 1)
    >>> size(document), size(replace(document, text="It rains."))
    ('3 lines, no sentence', '1 line, 1 sentence')
    """
    lines = sum(bool(line.strip()) for line in document.text.splitlines())
    ends = (
        document.text[start:end].rstrip(_CLOSING)[-1:] for start, end in each_sentence(document.text, document.language)
    )
    sentences = sum(end in tuple(".!?。！？") for end in ends)
    return ", ".join(
        f"{count:,} {noun}{'s' * (count != 1)}" if count else f"no {noun}"
        for count, noun in ((lines, "line"), (sentences, "sentence"))
    )


def fault(question: Question, context: str) -> str:
    """Return why a question, put as a colleague asks it, is not usable; "" when it is.

    `context` is what the answer has to stand in.
    """
    reason = rejection.reject(replace(question, answer=context) if question.unanswerable else question, context)
    return "" if question.history and reason == "the question is too short" else reason


TYPES_OF: Mapping[str, tuple[QuestionType, ...]] = {"extractive": tuple(TYPES), "model": tuple(TYPES)}
"""Generator → the types that it makes."""
STYLES_OF: Mapping[str, tuple[QuestionStyle, ...]] = {
    "extractive": tuple(name for name, spec in STYLES.items() if not spec.needs_model),
    "model": tuple(STYLES),
}
"""Generator → the styles that it writes."""
