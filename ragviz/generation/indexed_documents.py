"""The documents that an index holds: their text, sections and chunks, as generators of questions need them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache, cached_property

from ragviz.core.configuration import IndexInfo
from ragviz.core.document import Chunk, Document, Evidence
from ragviz.core.question import QuestionType
from ragviz.generation.plan import Outline
from ragviz.generation.sections import section_at, sections
from ragviz.generation.structure import structure
from ragviz.index import indexing
from ragviz.retrieval import gold
from ragviz.workspace import Workspace

STRUCTURAL: tuple[QuestionType, ...] = ("list", "table")
"""Types whose places are known from the structure of a document, before anything is generated."""

HEADING_MARKS = " \t\n#=*-~^_"
"""What may be left of a heading without its title."""


class IndexedDocuments:
    """The documents of an index as it was built, read once and kept; sections and chunks are made when asked for."""

    def __init__(self, workspace: Workspace, info: IndexInfo) -> None:
        """Read the documents and their cuts."""
        self.info = info
        self._cuts = workspace.store.indexes.cuts(info.build, info.documents)
        self.by_id: Mapping[str, Document] = {
            document.id: document for document in workspace.store.documents.texts(info.corpus_id, list(self._cuts))
        }
        self.sections = cache(lambda document_id: sections(self.by_id[document_id]))
        self.chunks = cache(lambda document_id: indexing.chunks_of(self.by_id[document_id], self._cuts[document_id]))
        self.places_of = cache(self._structural_places)

    def _places(self, document_id: str) -> list[gold.Cut]:
        chunks = self.chunks(document_id) if document_id in self.by_id else []
        return [(chunk.id, chunk.start, chunk.end) for chunk in chunks]

    def section_of(self, document_id: str, start: int) -> str:
        """Return the path of the section at a character; "" for a document without text."""
        parts = self.sections(document_id)
        return section_at(parts, start).path if parts else ""

    def chunk(self, chunk_id: str) -> Chunk:
        """Return a chunk of the index by its id."""
        place = Chunk.parse_id(chunk_id)
        assert place is not None
        return next(chunk for chunk in self.chunks(place[0]) if chunk.id == chunk_id)

    def holding(self, evidence: Evidence) -> tuple[str, ...]:
        """Return the ids of the chunks that hold evidence, in the order of its groups, without repeats."""
        groups = gold.gold_chunks(evidence, self._places)
        return tuple(dict.fromkeys(chunk_id for group in groups for chunk_id in group))

    def _structural_places(self, document_id: str, asked: QuestionType) -> list[tuple[int, int]]:
        """Return where the structure of a document has something for a type: its tables or lists; else nothing."""
        if asked not in STRUCTURAL:
            return []
        found = structure(self.by_id[document_id])
        places = found.tables if asked == "table" else found.lists
        return [(place.start, place.end) for place in places]

    def may_offer(self, asked: QuestionType) -> bool:
        """Return whether any document may be asked for a type: false for tables and lists where there are none."""
        return asked not in STRUCTURAL or any(outline.has(asked) for outline in self.outlines)

    @cached_property
    def outlines(self) -> list[Outline]:
        """What a plan needs of each document; of sections that are a heading alone, nothing is asked."""
        return [self._outline(document) for document in self.by_id.values()]

    def _outline(self, document: Document) -> Outline:
        characters: dict[str, int] = defaultdict(int)
        for section in self.sections(document.id):
            text = document.text[section.start : section.end].replace(section.title, "", 1)
            characters[section.path] += len(text.strip(HEADING_MARKS))
        offers: dict[str, set[QuestionType]] = defaultdict(set)
        found = structure(document)
        for table in found.tables:
            offers[table.section].add("table")
        for place in found.lists:
            offers[place.section].add("list")
        return Outline(document.id, {path: count for path, count in characters.items() if count}, dict(offers))

    @property
    def languages(self) -> Collection[str]:
        """The languages of the documents."""
        return {document.language for document in self.by_id.values()}
