"""Versions of a question set: what differs between two, and taking edits back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionChange, QuestionSet, SetVersion
from ragviz.store.store import Store
from ragviz.store.stored_questions import UNDO
from ragviz.workspace import Workspace

FIELDS = {
    "text": "question", "answer": "answer", "status": "status", "reason": "reason", "evidence": "evidence",
    "type": "type", "style": "style", "history": "conversation", "verified_by": "verified by",
}  # fmt: skip
"""Field of a question → what it is called where two versions are compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A question that differs between two versions: `what` is "added", "removed", or the names of changed fields."""

    change: QuestionChange
    what: tuple[str, ...]

    @property
    def question(self) -> Question:
        """The question as it is in the newer version, else in the older one."""
        question = self.change.after or self.change.before
        assert question is not None
        return question


def differences(store: Store, question_set: QuestionSet, older: int, newer: int | None = None) -> list[Difference]:
    """Return what differs between two versions of a set; `newer` None is the present one, `older` 0 the first.

    Raises:
        UsageError: there is no such version, or `older` is not the older one.

    """
    last = question_set.version if newer is None else newer
    if not 0 <= older <= last <= question_set.version:
        raise UsageError(
            f"'{question_set.name}' has versions 0 to {question_set.version}: compare an older one with a newer one, "
            f"not {older} with {last}."
        )
    found = []
    for change in store.versions.changes(question_set.id, older, None if last == question_set.version else last):
        before, after = change.before, change.after
        if before is None or after is None:
            found.append(Difference(change, ("added" if before is None else "removed",)))
        elif what := tuple(title for name, title in FIELDS.items() if getattr(before, name) != getattr(after, name)):
            found.append(Difference(change, what))
    return found


def undoable(versions: Sequence[SetVersion]) -> SetVersion | None:
    """Return the version that `undo` takes back: the newest that a person made, and that is not taken back.

    `versions` are all of a set, the newest first.
    """
    undone = {version.undoes for version in versions}
    made = (version for version in versions if version.undoes is None and not version.by_system)
    return next((version for version in made if version.number not in undone), None)


def undo(workspace: Workspace, question_set: QuestionSet) -> SetVersion:
    """Take back the newest edit of a set that was not taken back yet, as a new version; return the edit.

    What later versions of other edits changed stays. Questions that come back are at the end of the
    set, on the side of its split that they had.

    Raises:
        UsageError: there is none, or somebody else has edited the set meanwhile.

    """
    store = workspace.store
    version = undoable(store.versions.all(question_set.id))
    if version is None:
        raise UsageError(f"There is no edit of '{question_set.name}' to take back.")
    changes = store.versions.changes(question_set.id, version.number - 1, version.number)
    action = f"took back version {version.number}: {version.action}"
    edit = Edit(workspace.person.name, action, f"{UNDO}{version.number}")
    before = {change.question_id: change.before for change in changes}
    if back := [question for question in before.values() if question is not None]:
        store.questions.put(question_set.id, back, edit=edit, back=True)
    if gone := [question_id for question_id, question in before.items() if question is None]:
        store.questions.delete(question_set.id, gone, edit)
    store.evidence.settle_all()  # of what comes back, documents may have been replaced since
    return version


def version_row(version: SetVersion) -> dict[str, Any]:
    """Return a version as the command line prints it."""
    return {
        "version": version.number, "created": version.created, "author": version.who, "action": version.action,
        "questions": version.questions, "undoes": version.undoes,
    }  # fmt: skip
