"""What the makers of a plan's questions share: what each can make, and what a question by a model is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragviz.core.document import Chunk, Document, Span
from ragviz.core.question import QuestionStyle, QuestionType
from ragviz.generation.plan import Cell
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request, Usage
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.text.segmentation import each_sentence

Ask = Callable[[ModelClient, Request[Any]], Completion[Any]]
"""Sends a request by a client; raises BudgetReached when no more may be paid."""
_CLOSING = " \t\r\n\"'*_`)]}»”’」』）】"  # what may follow the mark that ends a sentence


@dataclass(frozen=True, slots=True)
class Source:
    """The passages that one question of the type `asked` can be made of, and the section in whose cell it counts.

    `key` tells it from all other sources of its type. Of sources of one `group`, the copies 0, 1 … of the same
    passages, a later one waits until the questions of the earlier ones are made. `spans` are what a question's evidence
    is taken from.
    """

    asked: QuestionType
    key: str
    section: str
    passages: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    group: str
    copy: int = 0


@dataclass(frozen=True, slots=True)
class Order:
    """A question to be made: type and style of `cell`, of a source; `asked` are the texts that its group has given."""

    cell: Cell
    source: Source
    asked: tuple[str, ...] = ()


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
