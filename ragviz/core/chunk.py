"""A cut of a document."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CHUNK_ID = re.compile(r"(.+)-([0-9]{8,18})-([0-9]{8,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A cut of a document: `document.text[start:end] == chunk.text`, always.

    `tokens` counts the embedder's tokens without its special ones; of an index without an embedder, the packaged
    model's. `page` is the page of `start`, or None.
    """

    id: str
    document_id: str
    start: int
    end: int
    text: str
    tokens: int
    page: int | None = None

    @staticmethod
    def make_id(document_id: str, start: int, end: int) -> str:
        """Return 34 characters, the same for the same cut in every index, which sort in document order.

        >>> Chunk.make_id("0123456789abcdef", 5, 120)
        '0123456789abcdef-00000005-00000120'
        """
        return f"{document_id}-{start:08d}-{end:08d}"

    @staticmethod
    def parse_id(chunk_id: str) -> tuple[str, int, int] | None:
        """Return document id, start and end from a chunk's id; None for an id that `make_id` did not make.

        >>> Chunk.parse_id("0123456789abcdef-00000005-00000120"), Chunk.parse_id("passage 7")
        (('0123456789abcdef', 5, 120), None)
        """
        parts = _CHUNK_ID.fullmatch(chunk_id)
        return (parts[1], int(parts[2]), int(parts[3])) if parts else None
