"""What is typed and not saved: drafts of questions, edits in the table of questions, both kept in the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from ragviz.core.digests import digest, new_id
from ragviz.core.document import Evidence, Span
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.question_set import QuestionSet
from ragviz.questions import authoring
from ragviz.service import question_verbs
from ragviz.store.schema import version_of
from ragviz.ui import wording
from ragviz.workspace import Workspace

_DRAFTS = "drafts"  # session state: `Draft` by the set and question it is of
_TABLES = "edited-tables"  # session state: `Edited` by the id of its set
_COLUMNS = {"Question": "text", "Answer": "answer", "Status": "status", "Reason": "reason"}
_FIELDS = ("text", "answer", "unanswerable", "type", "style")  # of a question: what is typed
_NEW = Question("", "", "", (), "hand", "accepted")


def keep() -> None:
    """Copy the edits out of the tables' widgets, which lose them when another tab or page is opened."""
    for edited in _tables().values():
        if edited.key in st.session_state:
            edited.typed = {question_id: dict(values) for question_id, values in edited.before.items()}
            rows: dict[int, dict[str, Any]] = st.session_state.get(edited.key, {}).get("edited_rows", {})
            for row, values in rows.items():
                edited.typed.setdefault(edited.questions[int(row)].id, {}).update(values)


def is_any() -> bool:
    """Return whether this session holds what is not saved: a reload of the page would lose it."""
    return any(edited.typed for edited in _tables().values()) or any(draft.changed for draft in _drafts().values())


@dataclass(slots=True)
class Draft:
    """A question as it is being written; `question` is the stored one that is edited, None for a new one.

    `version` is that of `question`, "" for a new one; `focus` the span of evidence looked at.
    """

    text: str = ""
    answer: str = ""
    unanswerable: bool = False
    type: QuestionType = ""
    style: QuestionStyle = ""
    groups: list[list[Span]] = field(default_factory=list)
    version: str = ""
    focus: Span | None = None
    question: Question | None = None

    @property
    def evidence(self) -> Evidence:
        """The evidence as a question's field."""
        return tuple(tuple(group) for group in self.groups if group)

    @property
    def changed(self) -> bool:
        """Whether it holds anything that is not saved."""
        before = self.question or _NEW
        return any(getattr(self, each) != getattr(before, each) for each in ("evidence", *_FIELDS))


def draft_of(name: str, question: Question | None) -> Draft:
    """Return the draft of this name; a new one begins with the question's content."""
    drafts = _drafts()
    if name not in drafts and question is not None:
        typed = {each: getattr(question, each) for each in _FIELDS}
        groups = [list(group) for group in question.evidence]
        drafts[name] = Draft(**typed, groups=groups, version=version_of(question), question=question)
    return drafts.setdefault(name, Draft())


def _drafts() -> dict[str, Draft]:
    drafts: dict[str, Draft] = st.session_state.setdefault(_DRAFTS, {})
    return drafts


def discard(name: str) -> None:
    """Remove a draft, and the values of its fields."""
    _drafts().pop(name, None)
    for key in [key for key in st.session_state if str(key).startswith(f"{name}/")]:
        del st.session_state[key]


def put_in(draft: Draft, span: Span, target: str) -> None:
    """Add a span as evidence: as a further passage ("new"), as an alternative ("or 1"), or replacing one ("for 1.2").

    A span that the group already has is not added again.
    """
    draft.focus = span
    kind, _, place = target.partition(" ")
    if kind == "for":
        group, member = (int(number) - 1 for number in place.split("."))
        draft.groups[group][member] = span
    elif kind == "or":
        group = int(place) - 1
        if span not in draft.groups[group]:
            draft.groups[group].append(span)
    elif [span] not in draft.groups:
        draft.groups.append([span])


def targets_of(draft: Draft) -> dict[str, str]:
    """Return what a marked span can be used for → its label; replacements of stale spans come first."""
    labels = {
        f"for {g}.{m}": f"Replacement for {f'passage {g}' if len(group) == 1 else f'{g}, alternative {m}'}"
        for g, group in enumerate(draft.groups, start=1)
        for m, span in enumerate(group, start=1)
        if span.stale
    }
    labels["new"] = "Additional passage" if draft.groups else "Passage"
    return labels | {f"or {g}": f"Alternative to passage {g}" for g in range(1, len(draft.groups) + 1)}


@dataclass(slots=True)
class Edited:
    """The table of a set as it is being edited.

    `questions` are its rows, `key` its widget; `typed` are the edits, by question id and column, of which `before` were
    made in an earlier widget and are in the rows already.
    """

    question_set: QuestionSet
    questions: Sequence[Question]
    key: str = ""
    before: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    typed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def rows(self) -> list[Question]:
        """The questions as they were passed to the widget."""
        return [_with(question, self.before.get(question.id, {})) for question in self.questions]

    @property
    def changed(self) -> list[tuple[Question, Question]]:
        """The edited questions: each as it was shown, and as it was typed."""
        return [(q, _with(q, self.typed[q.id])) for q in self.questions if q.id in self.typed]


def _with(question: Question, values: Mapping[str, Any]) -> Question:
    changed: dict[str, Any] = {_COLUMNS[name]: value or "" for name, value in values.items() if name in _COLUMNS}
    return authoring.as_verified(question, replace(question, **changed))


def _tables() -> dict[str, Edited]:
    tables: dict[str, Edited] = st.session_state.setdefault(_TABLES, {})
    return tables


def being_edited(question_set: QuestionSet) -> Edited | None:
    """Return the table of this set while it has unsaved edits, else None."""
    edited = _tables().get(question_set.id)
    return edited if edited is not None and edited.typed else None


def table_of(question_set: QuestionSet, questions_now: Sequence[Question]) -> Edited:
    """Return the table to show of a set, whose filtered questions are `questions_now`.

    With unsaved edits the rows stay, whatever the filter. Leaving the page ends the widget: its edits are put into the
    rows of the next one.
    """
    edited = being_edited(question_set)
    if edited is not None and edited.key in st.session_state:
        if edited.questions != questions_now:
            st.caption(
                ":orange[▲] The filter or the set was changed meanwhile. The table stays as it was when you began to "
                "edit, until you save or discard your changes."
            )
        return edited
    current = _tables().get(question_set.id)
    if edited is None and current is not None and current.questions == questions_now:
        return current
    fresh = Edited(question_set, list(questions_now)) if edited is None else replace(edited, before=edited.typed)
    turn = st.session_state["table-turn"] = st.session_state.get("table-turn", 0) + 1
    fresh.key = f"editor-{turn}-{digest(*map(version_of, fresh.questions))}"
    fresh.typed = {question_id: dict(values) for question_id, values in fresh.before.items()}
    _tables()[question_set.id] = fresh
    return fresh


def discard_table(question_set: QuestionSet) -> None:
    """Remove the table of a set with its edits."""
    _tables().pop(question_set.id, None)


def save(workspace: Workspace, edited: Edited) -> None:
    """Save the edits of a table as one version of its set; those that somebody else overtook stay unsaved, and say so.

    Raises:
        RagvizError: the store cannot be written; the edits stay.

    """
    overtaken, key = [], f"table:{new_id()}"
    for before, after in edited.changed:
        try:
            question_verbs.save(workspace, edited.question_set, after, version_of(before), "edited in the table", key)
        except authoring.Conflict as conflict:
            overtaken += [conflict.current] if conflict.current else []
    discard_table(edited.question_set)
    if overtaken:
        count = wording.counted(len(overtaken), "question")
        st.toast(f"{count} changed by somebody else meanwhile: not saved. Saved again, your version replaces theirs.")
        typed = {question.id: edited.typed[question.id] for question in overtaken}
        _tables()[edited.question_set.id] = Edited(edited.question_set, overtaken, typed=typed)
