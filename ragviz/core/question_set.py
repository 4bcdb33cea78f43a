"""Question sets, their splits and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragviz.core.question import ASKED, Question, Split


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A named list of questions about a corpus; `counts` is the number of questions by status.

    `split` is None until one is made. `sides` is the number of questions that a run asks by side of the split, "" for
    those on neither. `version` counts the edits of its questions; 0 before the first.
    """

    id: str
    corpus_id: str
    name: str
    created: float
    counts: Mapping[str, int]
    split: Split | None = None
    sides: Mapping[str, int] = field(default_factory=dict)
    version: int = 0

    @property
    def total(self) -> int:
        """The number of questions, whatever their status."""
        return sum(self.counts.values())

    @property
    def asked(self) -> int:
        """The number of questions that a run asks."""
        return sum(self.counts.get(status, 0) for status in ASKED)


@dataclass(frozen=True, slots=True)
class Edit:
    """Who edits a question set, and what is done: a version of the set is named by it.

    Edits with the same `key` that follow each other make one version, as those of one generation; "" makes one each.
    """

    author: str = ""
    action: str = "edited"
    key: str = ""


SYSTEM = "system:"
"""How the key of an edit begins that follows from a change of documents."""
EDITED, DELETED = Edit(), Edit(action="deleted")


@dataclass(frozen=True, slots=True)
class SetVersion:
    """A version of a question set: what made it of the one before, and how many `questions` that changed.

    `undoes` is the number of the version that it takes back, None when it takes back none. One `by_system` followed
    from a change of documents: nobody takes it back.
    """

    number: int
    created: float
    author: str
    action: str
    questions: int
    undoes: int | None = None
    by_system: bool = False

    @property
    def who(self) -> str:
        """The author; "ragviz" where it followed from a change of documents and nobody is known to have made that."""
        return self.author or ("ragviz" if self.by_system else "")


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A question in two versions of its set; None where it is not in the set."""

    question_id: str
    before: Question | None
    after: Question | None
