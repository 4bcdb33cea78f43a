"""What is typed and not saved: drafts of questions, edits in the table of questions, both kept in the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from ragviz.core.digests import new_id
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

    `questions` are its rows as they are stored, `rows` as the widget `key` got them: with what was typed into the one
    before it. `typed` are all edits, by question id and column.
    """

    questions: Sequence[Question]
    rows: Sequence[Question]
    key: str
    typed: dict[str, dict[str, Any]]

    @property
    def changed(self) -> list[tuple[Question, Question]]:
        """The edited questions: each as it was shown, and as it was typed."""
        return [(q, _with(q, self.typed[q.id])) for q in self.questions if q.id in self.typed]

    def note(self) -> None:
        """Note what was typed, out of the widget, which loses it when another tab or page is opened."""
        edits: Mapping[int, dict[str, Any]] = st.session_state[self.key]["edited_rows"]
        for row, values in edits.items():
            self.typed.setdefault(self.questions[int(row)].id, {}).update(values)


def _with(question: Question, values: Mapping[str, Any]) -> Question:
    changed: dict[str, Any] = {_COLUMNS[name]: value or "" for name, value in values.items()}
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
    edited = _tables().get(question_set.id)
    if edited is not None and edited.typed and edited.questions != questions_now:
        st.caption(
            ":orange[▲] The filter or the set was changed meanwhile. The table stays as it was when you began to "
            "edit, until you save or discard your changes."
        )
    if edited is None or (not edited.typed and edited.questions != questions_now):
        return _begin(question_set, questions_now, {})
    return edited if edited.key in st.session_state else _begin(question_set, edited.questions, edited.typed)


def _begin(question_set: QuestionSet, questions: Sequence[Question], typed: dict[str, dict[str, Any]]) -> Edited:
    """Begin a table with a widget of its own, in whose rows is what was typed."""
    turn = st.session_state["table-turn"] = st.session_state.get("table-turn", 0) + 1
    rows = [_with(question, typed.get(question.id, {})) for question in questions]
    edited = _tables()[question_set.id] = Edited(list(questions), rows, f"editor-{turn}", typed)
    return edited


def discard_table(question_set: QuestionSet) -> None:
    """Remove the table of a set with its edits."""
    _tables().pop(question_set.id, None)


def save(workspace: Workspace, question_set: QuestionSet, edited: Edited) -> None:
    """Save the edits of a table as one version of its set; those that somebody else overtook stay unsaved, and say so.

    Raises:
        RagvizError: the store cannot be written; the edits stay.

    """
    overtaken, key = [], f"table:{new_id()}"
    for before, after in edited.changed:
        try:
            question_verbs.save(workspace, question_set, after, version_of(before), "edited in the table", key)
        except authoring.Conflict as conflict:
            overtaken += [conflict.current] if conflict.current else []
    discard_table(question_set)
    if overtaken:
        count = wording.counted(len(overtaken), "question")
        st.toast(f"{count} changed by somebody else meanwhile: not saved. Saved again, your version replaces theirs.")
        _begin(question_set, overtaken, {question.id: edited.typed[question.id] for question in overtaken})
