"""Ways to put a question: each by the name of its template, so that no template fills a set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragviz.core.question import QuestionType


def words_in(listed: str, sign: str | None = None) -> frozenset[str]:
    """Return the words of a list, which blanks, or another sign, part."""
    return frozenset(listed.split(sign))


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
