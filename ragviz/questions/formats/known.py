"""The documents of a corpus that an import is about, by what they may be called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from pathlib import PurePosixPath

from ragviz.core.document import Document, DocumentInfo
from ragviz.store.store import Store

_OTHER_NAMES: tuple[Callable[[DocumentInfo], str], ...] = (
    lambda info: PurePosixPath(info.name).stem,
    lambda info: PurePosixPath(info.name).name,
    lambda info: info.id,
)
"""What a document is called beside its name; what comes later goes before."""


class Known:
    """The documents of a corpus by name, their texts read when they are asked for."""

    def __init__(self, store: Store, corpus_id: str) -> None:
        """Read the list of documents."""
        self._store, self._corpus_id = store, corpus_id
        self._by_name = {info.name: info for info in store.documents.all(corpus_id) if info.status == "ok"}

    @cached_property
    def _by_other_names(self) -> dict[str, DocumentInfo | None]:
        """Documents by id, file name and file name without suffix; None for what names several."""
        by_key: dict[str, DocumentInfo | None] = {}
        for keys_of in _OTHER_NAMES:
            own: dict[str, DocumentInfo | None] = {}
            for info in self._by_name.values():
                key = keys_of(info)
                own[key] = None if key in own else info
            by_key |= own
        return by_key

    def called(self, name: str) -> DocumentInfo | None:
        """Return the document of this name or id, or the only one with this file name, with or without suffix."""
        return self._by_name.get(name) or self._by_other_names.get(name)

    def named(self, name: str) -> DocumentInfo | None:
        """Return the document of exactly this name."""
        return self._by_name.get(name)

    def texts(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Yield the documents with their texts, one at a time; all of them, or those with these ids."""
        wanted = [info.id for info in self._by_name.values()] if ids is None else list(ids)
        yield from self._store.documents.texts(self._corpus_id, wanted)
