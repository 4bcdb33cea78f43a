"""Ways to put a question: each by the name of its template, so that no template fills a set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ragviz.core.question import QuestionType


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A question in one wording. Questions of one `template` differ in names alone; "" is a wording of its own."""

    template: str
    text: str


def phrasings(templates: Iterable[str], **names: str) -> tuple[Phrasing, ...]:
    """Return the templates with their names filled in.

    >>> phrasings(["What does {h} cost?"], h="a boat")[0].text
    'What does a boat cost?'
    """
    return tuple(Phrasing(template, template.format_map(names)) for template in templates)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a sentence with its answer, words of the sentence."""

    type: QuestionType
    answer: str
    phrasings: tuple[Phrasing, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A cleaned `title` with its `context`, the nearest one above that means something ("" without one).

    `alone`: it is understood without its document; `short`: as a topic it is named with its context all the same.
    `divided`: there are headings below it. `text` is what stands under it; `tells`: that tells how something is done.
    """

    title: str
    context: str = ""
    alone: bool = True
    short: bool = False
    divided: bool = False
    tells: bool = False
    text: str = ""


class Wording(Protocol):
    """How a language asks; each returns the ways to ask, none where it cannot be asked about."""

    marks: str
    """What ends a question in it."""
    joint: str
    """What stands between the items of a list."""
    steps: frozenset[str]
    """The templates that ask how something is done."""

    def cleaned(self, title: str) -> str:
        """Return a title without its number and signs."""
        ...

    def is_empty(self, title: str) -> bool:
        """Return whether a title says nothing without the one above."""
        ...

    def is_weak(self, title: str) -> bool:
        """Return whether a title names a part of something: it is asked about with the one above."""
        ...

    def joined(self, title: str, context: str) -> str:
        """Return a title with the one above it as one name."""
        ...

    def section(self, heading: Heading) -> tuple[Phrasing, ...]:
        """Ask what stands under a heading."""
        ...

    def items(self, heading: Heading, *, ordered: bool) -> tuple[Phrasing, ...]:
        """Ask for all items of a list right under a heading."""
        ...

    def introduced(self, introduction: str, heading: Heading) -> tuple[Phrasing, ...]:
        """Ask for the items of a list by the sentence that introduces it, under a heading."""
        ...

    def cell(self, context: str, key: str, title: str, value: str) -> tuple[Phrasing, ...]:
        """Ask for the cell of a table: the `title` of its column, the `key` of its row."""
        ...

    def pair(self, context: str, key: str, value: str, *, is_item: bool) -> tuple[Phrasing, ...]:
        """Ask for the value of a key."""
        ...

    def sentence(self, sentence: str) -> list[Asked]:
        """Ask for a number, a date, a name or a definition in a sentence that is understood alone."""
        ...

    def term(self, term: str, context: str) -> tuple[Phrasing, ...]:
        """Ask what a term means."""
        ...
