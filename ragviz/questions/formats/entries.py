"""Documents that an import brings: entries of other programs' corpora, by their ids there."""

from __future__ import annotations

import hashlib

from ragviz.core.digests import digest
from ragviz.core.document import Document, Span
from ragviz.core.question import LONGEST_ID
from ragviz.documents.encoding import clean
from ragviz.documents.parsing import safe_name
from ragviz.questions.formats.known import Known
from ragviz.text import language


class Entries:
    """Documents made of entries, by the entries' ids; those that the corpus holds already are not made again.

    `whole` has the whole text of each that was taken, as a place, and its language.
    """

    def __init__(self, known: Known) -> None:
        """Start without an entry; `known` are the documents of the corpus."""
        self._known = known
        self._names: set[str] = set()
        self.whole: dict[str, tuple[Span, str]] = {}
        self.documents: list[Document] = []

    def add(self, entry_id: str, text: str) -> str:
        """Take an entry into the corpus: return why not, "" when it is, or is in it already."""
        if not entry_id:
            return "has no id: give one in `_id`"
        if entry_id in self.whole:
            return f"has the id '{entry_id[:60]}', as one before it: the first is kept"
        text = clean(text)[0]
        if not text.strip():
            return "has no text: nothing can be found in it"
        name = safe_name(entry_id)
        if name in self._names:  # two ids that are one harmless name
            name = f"{name}-{digest(entry_id, length=8)}"
        document_id = Document.make_id(name, text)
        existing = self._known.by_name.get(name)
        if existing is not None and existing.id != document_id:
            return (
                f"is called '{name[:60]}', as a document of the corpus with another text: import into a corpus of its "
                "own, or delete that document"
            )
        self._names.add(name)
        code = language.detect(text) if existing is None else existing.language
        if existing is None:
            data = text.encode("utf-8", "replace")
            content = hashlib.sha256(data).hexdigest()
            self.documents.append(Document(document_id, name, text, (), code, "text/plain", content, len(data)))
        self.whole[entry_id] = (Span(document_id, 0, len(text), text), code)
        return ""


def question_id(given: str) -> str:
    """Return the id of a question by the one that a file gives it, made shorter where it is too long to be kept.

    >>> question_id("q7"), len(question_id("q" * 80))
    ('q7', 16)
    """
    return given if len(given) <= LONGEST_ID else digest("import", given)
