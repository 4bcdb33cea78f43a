"""Boilerplate: what stands in the same words in several documents of a corpus, as navigation and notices do.

A question about it is told apart by the name of the document only, and every one of the documents answers it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.text.language import IDEOGRAPH

DOCUMENTS = 3
"""Documents that hold a block from which on it is boilerplate."""
LEAST = 8
"""Words (Chinese: characters) of a block that is no list, from which on equal ones are no chance: "Status: open"."""

ROWS = 3
"""Lines of a table with one row under its titles and rule."""

_BREAK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_HEADING = re.compile(r"#{1,6}\s")
_WORD = re.compile(rf"[{IDEOGRAPH}]|[^\W{IDEOGRAPH}]+")
_ROW = re.compile(r"\s*\|")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")


class Boilerplate:
    """The blocks of text that stand in three documents or more: lists anywhere, others under the same heading.

    A table of one row is one where its titles are, as those of bars with links and of forms.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        """Read every document once; kept is a short digest of each block of the corpus."""
        counts = Counter[bytes]()
        for document in documents:
            counts.update({key for *_, key in _blocks(document)})
        self._repeated = frozenset(key for key, count in counts.items() if count >= DOCUMENTS)

    def without(self, document: Document, claims: Sequence[SourceClaim]) -> list[SourceClaim]:
        """Return the claims of a document that are about more than boilerplate, in their order.

        Headings, which a claim's place may begin with, and short blocks decide nothing.
        """
        blocks = list(_blocks(document)) if claims and self._repeated else []
        starts = [start for start, *_ in blocks]

        def is_repeated(claim: SourceClaim) -> bool:
            first, last = max(bisect_right(starts, claim.start) - 1, 0), bisect_left(starts, claim.end)
            own = [key for _, end, key in blocks[first:last] if claim.start < end]
            return bool(own) and all(key in self._repeated for key in own)

        return [claim for claim in claims if not is_repeated(claim)]


def _blocks(document: Document) -> Iterator[tuple[int, int, bytes]]:
    """Yield where the lists and longer paragraphs of a document are, each with a digest of what makes it equal."""
    text, heading, at = document.text, "", 0
    for end, following in [*((match.start(), match.end()) for match in _BREAK.finditer(text)), (len(text), len(text))]:
        block, start, at = text[at:end].strip(), at, following
        if _HEADING.match(block) and "\n" not in block:
            heading = block
        elif block and (key := _key(block, heading)):
            yield start, end, blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _key(block: str, heading: str) -> str:
    """Return what blocks have to share to be equal; "" of one that is too short to tell."""
    lines = block.splitlines()
    if len(lines) > 1 and all(_ITEM.match(line) for line in lines):
        return " ".join(block.split())
    if len(lines) == ROWS and all(_ROW.match(line) for line in lines):
        return " ".join(lines[0].split())
    return f"{heading}\n{' '.join(block.split())}" if len(_WORD.findall(block)) >= LEAST else ""
