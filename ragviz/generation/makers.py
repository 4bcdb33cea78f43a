"""What makes questions for the cells of a plan: without a model, of the structure of documents, or by a model.

A maker says of a document what can be asked for each type (its sources, best first, at no cost), and makes questions of
the sources that it is given.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from ragviz.core.document import Document
from ragviz.core.progress import Progress
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.span import Span
from ragviz.generation.drafts import Ask
from ragviz.generation.plan import Cell
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
    later one waits until the questions of the earlier ones are made; "" is no group.
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
        """Return what questions of a type can be made of in a document, the best first."""
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


def size(document: Document) -> str:
    r"""Count the lines with text and the sentences that end as such, in words.

    >>> document = Document("d", "d.txt", "Menu\n\nHome\nSign in", (), "en", "", "", 1)
    >>> size(document)
    '3 lines, no sentence'
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


TYPES_OF: Mapping[str, tuple[QuestionType, ...]] = {
    "extractive": ("section", "fact", "number", "definition", "list", "table"),
    "model": tuple(name for name in TYPES if name != "section"),
}
"""Generator → the types that it makes."""
STYLES_OF: Mapping[str, tuple[QuestionStyle, ...]] = {"extractive": ("colleague", "keywords"), "model": tuple(STYLES)}
"""Generator → the styles that it writes."""
