"""A model as the maker of a plan's questions: it writes them about chunks, and other calls verify them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import RagvizError
from ragviz.core.question import Question, QuestionType
from ragviz.core.reply_cache import Cache
from ragviz.core.stopping import Progress
from ragviz.generation import model_questions, related_chunks, verification
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import Ask, Meter, Order, Source
from ragviz.generation.model_questions import Task
from ragviz.generation.plan import Cell
from ragviz.generation.sections import SEPARATOR, name_of, section_at, title_of
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.questions.question_types import TYPES
from ragviz.text import segmentation

COPIES = 3
"""Questions of one type that are asked about the same passages at most."""
ATTEMPTS = 3
"""Passages of a place that are tried for one question that is planned there, before another place is."""
WIDEST = 4000
"""Characters of a passage that is widened to its section, at most, unless its chunk has more."""
Passages = tuple[Chunk, ...]


class ModelMaker:
    """Writes questions by a model about chunks of the index; of several, where their claims are related."""

    def __init__(
        self,
        documents: IndexedDocuments,
        seed: int,
        passages: int,
        client: ModelClient,
        ask: Ask | None = None,
        *,
        contexts: verification.Contexts | None = None,
        verify_ask: Ask | None = None,
        verdicts: Cache | None = None,
        keys: Sequence[str] = (),
        stand_ins: bool = False,
    ) -> None:
        """Call nothing yet; without `contexts` nothing is verified. `verdicts` and `keys` are as in `verify`.

        With `stand_ins`, questions of several passages have passages that nothing relates, as many: relating them takes
        reading all documents, which an estimate does not need.
        """
        self.name = client.model
        self._documents, self._seed, self._client = documents, seed, client
        self._ask, self._verify_ask = ask or _sent, verify_ask or ask or _sent
        self._contexts, self._verdicts, self._keys = contexts, verdicts, keys
        self._passages, self._stand_ins = passages, stand_ins
        self._related = cache(self._by_document)
        self.sources = cache(self._sources)
        self._title_of, self._whole_of = cache(self._title), cache(self._whole)

    def prepare(self, cells: Collection[Cell], progress: Progress) -> None:
        """Relate the passages of all documents, where a cell's type needs several; a single one needs no reading."""
        types = [asked for asked, spec in TYPES.items() if spec.fewest > 1 and any(c.type == asked for c in cells)]
        for done, asked in enumerate(types):
            progress(done, len(types), "kinds", f"Relating passages: {TYPES[asked].title}")
            self._related(asked)

    def _sources(self, document_id: str, asked: QuestionType) -> list[Source]:
        groups = (
            self._related(asked).get(document_id, ()) if TYPES[asked].fewest > 1 else self._single(document_id, asked)
        )
        return [replace(source, key=f"{source.key} {copy}", copy=copy) for copy in range(COPIES) for source in groups]

    def _single(self, document_id: str, asked: QuestionType) -> list[Source]:
        """Return each chunk for each section that it holds half of, or that holds half of it, in a drawn order.

        Those with a list or table come first where one is asked for, else those that are rows of a table alone last.
        """
        found = list[Source]()
        for section in self._documents.sections(document_id):
            whole = Span(document_id, section.start, section.end)
            for chunk in map(self._documents.chunk, self._documents.holding(((whole,),))):
                at, key = max(chunk.start, section.start), f"{chunk.id} {section.start}"
                spans = (Span(document_id, at, min(chunk.end, section.end)),)
                found.append(Source(asked, key, section.path, (chunk,), spans, chunk.id))
        wanted = self._documents.places_of(document_id, asked)
        tables = [] if wanted else self._documents.places_of(document_id, "table")

        def order(source: Source) -> tuple[bool, bool, str]:
            [chunk] = source.passages
            offers = any(chunk.start < end and start < chunk.end for start, end in wanted)
            in_table = any(start <= chunk.start and chunk.end <= end for start, end in tables)
            return not offers, in_table, digest(str(self._seed), source.key)

        return sorted(found, key=order)

    def _by_document(self, asked: QuestionType) -> Mapping[str, Sequence[Source]]:
        """Return groups of chunks by the document of the first: with rare entities in common, or comparable claims."""
        found: dict[str, list[Source]] = defaultdict(list)
        for passages in self._related_passages(asked):
            first, group = passages[0], "+".join(chunk.id for chunk in passages)
            section = self._documents.section_of(first.document_id, first.start)
            spans = tuple(Span(chunk.document_id, chunk.start, chunk.end) for chunk in passages)
            found[first.document_id].append(Source(asked, group, section, passages, spans, group))
        return found

    def _related_passages(self, asked: QuestionType) -> Iterator[Passages]:
        if self._stand_ins:  # each chunk with those that follow it
            count = self._passages if asked == "bridge" else TYPES[asked].fewest
            chunks = [chunk for document_id in self._documents.by_id for chunk in self._documents.chunks(document_id)]
            return (tuple(chunks[at : at + count]) for at in range(len(chunks) - count + 1))
        if asked == "bridge":
            return related_chunks.bridged(self._documents, self._passages, self._seed)
        return related_chunks.comparable(self._documents, self._seed)

    def question_id(self, order: Order) -> str:
        """Return the id of the question that this model writes for an order."""
        return model_questions.question_id(self.task(order), self.name, self._seed)

    def task(self, order: Order) -> Task:
        """Return the task of an order."""
        passages, document = order.source.passages, self._documents.by_id[order.source.passages[0].document_id]
        drawn = int(digest(str(self._seed), order.source.key, order.cell.type, order.cell.style)[:8], 16)
        return Task(
            order.cell,
            tuple(map(self._whole_of, passages)),
            tuple(filter(None, order.asked)),
            len(order.asked),
            titles=tuple(map(self._title_of, passages)),
            own=document.language if document.language != "und" else "",
            drawn=drawn,
        )

    def _title(self, chunk: Chunk) -> str:
        """Return the title of a chunk's document with the headings above it."""
        document = self._documents.by_id[chunk.document_id]
        path = self._documents.section_of(chunk.document_id, chunk.start).split(SEPARATOR)
        titles = [title_of(document) or name_of(document), *path]
        return SEPARATOR.join(dict.fromkeys(filter(None, titles)))

    def _whole(self, chunk: Chunk) -> Chunk:
        """Return a chunk; one that begins inside a sentence or a link is widened to its section, up to `WIDEST`."""
        document = self._documents.by_id[chunk.document_id]
        section = section_at(self._documents.sections(chunk.document_id), chunk.start)
        before = document.text[section.start : chunk.start]
        if not before.strip() or not _is_inside(
            before, document.text[chunk.start : chunk.start + 200], document.language
        ):
            return chunk
        start = max(section.start, chunk.end - WIDEST)
        end = max(chunk.end, min(section.end, start + WIDEST))
        return replace(chunk, start=start, end=end, text=document.text[start:end])

    def make(self, orders: Sequence[Order], existing: set[str], meter: Meter) -> Generator[Question]:
        """Yield the question of each order, all of one type, verified; unusable ones are rejected, with the reason.

        When calls must stop, what was written so far comes, not verified. Rejected ones come as soon as all before them
        have: a useless model is noticed early. `existing` holds `rejection.normal` of the queries of existing
        questions; those of usable ones are added.
        """
        tasks, written = [self.task(order) for order in orders], list[Question]()
        ask = meter.watching(self._ask)
        try:
            for question in model_questions.written(
                tasks, self._documents.by_id, existing, self._client, self._seed, ask
            ):
                if written or question.asked:
                    written.append(question)
                else:
                    yield question
        except RagvizError:
            yield from written
            raise
        yield from self.verify(written, meter)

    def verify(self, questions: Sequence[Question], meter: Meter) -> Iterator[Question]:
        """Yield the questions in order; those that are asked are verified."""
        if self._contexts is None:
            yield from questions
            return
        standing = [question for question in questions if question.asked]
        decided = dict[str, Question]()
        try:
            for question in verification.verify(
                standing, self._contexts, self._client, meter.watching(self._verify_ask),
                verdicts=self._verdicts, keys=self._keys,
            ):  # fmt: skip
                decided[question.id] = question
        except RagvizError:
            yield from (decided.get(question.id, question) for question in questions)
            raise
        yield from (decided.get(question.id, question) for question in questions)


def _is_inside(before: str, after: str, language: str) -> bool:
    r"""Return whether a text goes on inside a sentence, or a link, that began before.

    >>> _is_inside("It costs 5", " euros. Ask us.", "en"), _is_inside("It costs 5 euros.\n\n", "Ask us.", "en")
    (True, False)
    >>> _is_inside("See the [price", " list](a.md).", "en")
    True
    """
    tail = before[-400:]
    if tail.rfind("[") > tail.rfind("]") or tail.rfind("](") > tail.rfind(")"):
        return True
    at = len(tail)
    return any(start < at < end - 1 for start, end in segmentation.sentences(tail + after, language))


def _sent(client: ModelClient, request: Request[Any]) -> Completion[Any]:
    return client.ask(request)
