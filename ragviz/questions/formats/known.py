"""The documents of a corpus that an import is about, by what they may be called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from ragviz.core.document import Document, DocumentInfo
from ragviz.store.store import Store

Named = TypeVar("Named", Document, DocumentInfo)


def _file_name(name: str) -> str:
    return PurePosixPath(name).name


_KEYS: tuple[tuple[Callable[[Document | DocumentInfo], str], Callable[[str], str]], ...] = (
    (lambda document: document.name, str),
    (lambda document: document.id, str),
    (lambda document: _file_name(document.name), _file_name),
    (lambda document: PurePosixPath(document.name).stem, str),
    (lambda document: _file_name(document.name).casefold(), lambda name: _file_name(name).casefold()),
)
"""What a document may be called, and what of a name is that; what comes first goes before."""


class Names(Generic[Named]):
    """Documents by name, id and file name, with or without suffix."""

    def __init__(self, documents: Iterable[Named]) -> None:
        """Read what each may be called."""
        self._by_key: list[dict[str, list[Named]]] = [defaultdict(list) for _ in _KEYS]
        for document in documents:
            for (key_of, _), by_key in zip(_KEYS, self._by_key, strict=True):
                by_key[key_of(document)].append(document)

    def called(self, name: str) -> list[Named]:
        """Return the documents that may be meant by a name: one, or several with the same file name; or none."""
        name = name.replace("\\", "/")
        found = (by_key.get(of_name(name)) for (_, of_name), by_key in zip(_KEYS, self._by_key, strict=True))
        return next(filter(None, found), [])


class Known:
    """The documents of a corpus by name, their texts read when they are asked for."""

    def __init__(self, store: Store, corpus_id: str) -> None:
        """Read the list of documents."""
        self._store, self._corpus_id = store, corpus_id
        self.by_name = {info.name: info for info in store.documents.all(corpus_id) if info.status == "ok"}

    def texts(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Yield the documents with their texts, one at a time; all of them, or those with these ids."""
        wanted = [info.id for info in self.by_name.values()] if ids is None else list(ids)
        yield from self._store.documents.texts(self._corpus_id, wanted)
