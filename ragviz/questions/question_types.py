"""Types and styles of questions: what each asks for, and who can make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragviz.core.question import Question, QuestionStyle, QuestionType


@dataclass(frozen=True, slots=True)
class Spec:
    """A type or style of questions: its title, what it is, and the least and most passages of a type (0: none)."""

    title: str
    help: str
    fewest: int = 1
    most: int = 1


TYPES: Mapping[QuestionType, Spec] = {
    "section": Spec("what a section says", "What is said under a heading."),
    "fact": Spec("fact", "One statement of a passage."),
    "number": Spec("number or date", "A number, an amount, a date or a time."),
    "definition": Spec("definition", "What something is, or is called."),
    "list": Spec("list", "All items of a list."),
    "table": Spec("table cell", "A cell of a table, by its row and column."),
    "comparison": Spec("comparison", "How two things differ that passages say the same kind of thing about.", 2, 2),
    "bridge": Spec("bridge", "Facts of several passages, joined by an entity that they share.", 2, 5),
    "exception": Spec("negation or exception", "What does not hold, is not allowed, or is excepted."),
    "version": Spec("which version holds", "What holds now, where passages name several versions or dates.", 1, 2),
    "follow-up": Spec("follow-up", "Understood only with the earlier turns of its conversation.", 1, 2),
    "unanswerable": Spec("unanswerable", "A true question with its entity, attribute or time swapped.", 0, 0),
}
"""Every type of questions that can be asked for, in the order in which they are listed."""
TYPES_OF: Mapping[str, tuple[QuestionType, ...]] = {
    "extractive": ("section", "fact", "number", "definition", "list", "table"),
    "model": tuple(name for name in TYPES if name != "section"),
}
"""Generator → the types that it makes."""
STYLES: Mapping[QuestionStyle, Spec] = {
    "colleague": Spec("as a colleague asks", "One plain sentence."),
    "keywords": Spec("keywords", "The words that somebody types into a search box."),
    "long": Spec("long", "With the circumstances in which it is asked."),
    "misspelt": Spec("misspelt", "With errors of typing."),
    "other-language": Spec("in another language", "In a language that the document is not in."),
    "other-words": Spec("in other words", "Without the words of the passage, as far as that is possible."),
}
"""Every style of questions that can be asked for, in the order in which they are listed."""
STYLES_OF: Mapping[str, tuple[QuestionStyle, ...]] = {"extractive": ("colleague", "keywords"), "model": tuple(STYLES)}
"""Generator → the styles that it writes."""


def said_of(question: Question) -> list[str]:
    """Return the titles of a question's type and style, as far as they are said.

    >>> said_of(Question("q", "How high?", "3 m", (), "hand", type="number"))
    ['number or date']
    """
    return [titles[key] for titles, key in ((TYPE_TITLES, question.type), (STYLE_TITLES, question.style)) if key]


TYPE_TITLES: Mapping[str, str] = {"": "not said", **{name: spec.title for name, spec in TYPES.items()}}
"""Type of a question → its name on the pages and in reports."""
STYLE_TITLES: Mapping[str, str] = {"": "not said", **{name: spec.title for name, spec in STYLES.items()}}
"""Style of a question → its name on the pages and in reports."""
