"""Questions that a check found are put into quarantine, where no run asks them, and released from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.health.finding import Found
from ragviz.health.set_checks import CHECKS
from ragviz.questions import staleness
from ragviz.workspace import Workspace


def reason_of(check: str) -> str:
    """Return the reason of the questions that a check put into quarantine, by its key.

    Raises:
        UsageError: there is no such check.

    """
    if check not in CHECKS:
        raise UsageError(f"There is no check '{check}': choose one of {', '.join(CHECKS)}.")
    return f"health: {CHECKS[check].title}"


def held_by(questions: Iterable[Question], check: str) -> list[Question]:
    """Return the questions that a check put into quarantine."""
    reason = reason_of(check)
    return [question for question in questions if question.status == "quarantined" and question.reason == reason]


def concerned(questions: Iterable[Question], check: str, found: Found) -> frozenset[str]:
    """Return the ids of the questions that a check found, and of those that it put into quarantine."""
    return frozenset(question.id for question in held_by(questions, check)) | {f.question_id for f in found.findings}


def quarantine(workspace: Workspace, question_set: QuestionSet, check: str, ids: Collection[str]) -> int:
    """Put the questions of a set with these ids into quarantine, in one version; return how many.

    Those that are rejected, or in quarantine already, stay as they are.

    Raises:
        UsageError: there is no such check, or it tells what runs did.

    """
    reason, wanted = reason_of(check), set(ids)
    if CHECKS[check].of_outcomes:
        raise UsageError(
            f"“{CHECKS[check].title}” tells what runs did with the questions: a set is never cut by its outcomes."
        )
    chosen = [q for q in workspace.store.questions.all(question_set.id) if q.id in wanted and q.asked]
    changed = [replace(question, status="quarantined", reason=reason) for question in chosen]
    if changed:
        edit = Edit(workspace.person.name, f"quarantined by the check: {CHECKS[check].title}")
        workspace.store.questions.put(question_set.id, changed, edit=edit)
    return len(changed)


def release(workspace: Workspace, question_set: QuestionSet, check: str) -> int:
    """Release the questions that a check put into quarantine, in one version, with the status that they had before.

    Without a version that says it, that is "proposed". What was edited of them meanwhile stays. Returns how many.

    Raises:
        UsageError: there is no such check.

    """
    held = held_by(workspace.store.questions.all(question_set.id), check)
    changed = [
        staleness.as_before(workspace.store, question_set, question, lambda each: each.status == "quarantined")
        for question in held
    ]
    if changed:
        edit = Edit(workspace.person.name, f"released from the check: {CHECKS[check].title}")
        workspace.store.questions.put(question_set.id, changed, edit=edit)
    return len(changed)
