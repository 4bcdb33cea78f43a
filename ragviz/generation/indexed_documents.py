"""The documents that an index holds: their text, sections and chunks, as generators of questions need them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property

from ragviz.core.configuration import IndexInfo
from ragviz.core.document import Document, Evidence
from ragviz.core.question import QuestionType
from ragviz.generation.plan import STRUCTURAL, Outline
from ragviz.generation.sections import section_at, sections
from ragviz.generation.structure import structure
from ragviz.index.embedded_chunks import chunks_of
from ragviz.retrieval import gold
from ragviz.workspace import Workspace


class IndexedDocuments:
    """The documents of an index as it was built, read once and kept; sections and chunks are made when asked for."""

    def __init__(self, workspace: Workspace, info: IndexInfo) -> None:
        """Read the documents and their cuts."""
        cuts = workspace.store.indexes.cuts(info.build, info.documents)
        self.by_id: Mapping[str, Document] = {
            document.id: document for document in workspace.store.documents.texts(info.corpus_id, list(cuts))
        }
        self.sections = cache(lambda document_id: sections(self.by_id[document_id]))
        self.chunks = cache(lambda document_id: [*chunks_of(self.by_id[document_id], cuts[document_id])])
        self.places_of = cache(self._places)

    def section_of(self, document_id: str, start: int) -> str:
        """Return the path of the section at a character; "" for a document without text."""
        parts = self.sections(document_id)
        return section_at(parts, start).path if parts else ""

    def holding(self, evidence: Evidence) -> tuple[str, ...]:
        """Return the ids of the chunks that hold evidence, in the order of its groups, without repeats."""

        def places(document_id: str) -> list[gold.Cut]:
            return [(chunk.id, chunk.start, chunk.end) for chunk in self.chunks(document_id)]

        groups = gold.gold_chunks(evidence, places)
        return tuple(dict.fromkeys(chunk_id for group in groups for chunk_id in group))

    def _places(self, document_id: str, asked: QuestionType) -> list[tuple[int, int]]:
        """Return the tables or lists of a document; nothing for a type that is none of `STRUCTURAL`."""
        found = structure(self.by_id[document_id])
        if asked == "table":
            return [(table.start, table.end) for table in found.tables]
        return [(place.start, place.end) for place in found.lists] if asked == "list" else []

    @cached_property
    def outlines(self) -> list[Outline]:
        """What a plan needs of each document."""
        return [
            Outline(i, len(document.text.strip()), [name for name in STRUCTURAL if self.places_of(i, name)])
            for i, document in self.by_id.items()
        ]
