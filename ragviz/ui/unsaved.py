"""Unsaved edits of the table of questions, kept in the session; and unsaved work whose question, set or corpus is gone.

Work whose place somebody else deleted is shown, to be copied or downloaded; it is never saved anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.core.digests import digest, new_id
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.questions import authoring, interchange
from ragviz.store.codecs import version_of
from ragviz.store.store import Store
from ragviz.text.markup import plain
from ragviz.ui import edits, widgets, wording

_TABLES = "edited-tables"  # session state: `Table` by the id of its set
_REFUSED = "refused-edits"  # session state: the same, of edits that conflicted
_COLUMNS = {"Question": "text", "Answer": "answer", "Status": "status", "Reason": "reason"}


@dataclass(slots=True)
class Table:
    """The table of a set as it is being edited.

    `questions` are its rows, `key` its widget; `typed` are the edits, by question id and column, of which `before` were
    made in an earlier widget and are in the rows already; `names` are the documents' names by id.
    """

    question_set: QuestionSet
    questions: Sequence[Question]
    key: str
    names: Mapping[str, str]
    before: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    typed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def rows(self) -> list[Question]:
        """The questions as they were passed to the widget."""
        return [changed_question(question, self.before.get(question.id, {})) for question in self.questions]

    @property
    def changed(self) -> list[tuple[Question, Question]]:
        """The edited questions: each as it was shown, and as it was typed."""
        typed = [question for question in self.questions if question.id in self.typed]
        return [(question, changed_question(question, self.typed[question.id])) for question in typed]


def changed_question(question: Question, values: Mapping[str, Any]) -> Question:
    """Return `question` with the values typed into its row."""
    changed: dict[str, Any] = {_COLUMNS[name]: value or "" for name, value in values.items() if name in _COLUMNS}
    return authoring.as_verified(question, replace(question, **changed))


def keep() -> None:
    """Copy the edits out of the widgets, which lose them when another tab or page is opened.

    To be called before the page is drawn, which may find that its subject was deleted, and draw something else.
    """
    for table in _tables().values():
        if table.key in st.session_state:
            table.typed = {question_id: dict(values) for question_id, values in table.before.items()}
            edited_rows: dict[int, dict[str, Any]] = st.session_state.get(table.key, {}).get("edited_rows", {})
            for row, values in edited_rows.items():
                table.typed.setdefault(table.questions[int(row)].id, {}).update(values)
    edits.keep()


def _tables() -> dict[str, Table]:
    tables: dict[str, Table] = st.session_state.setdefault(_TABLES, {})
    return tables


def is_any() -> bool:
    """Return whether this session holds edits or a draft that are not saved: a reload of the page would lose them."""
    return any(table.typed for table in _tables().values()) or edits.is_any_changed()


def being_edited(question_set: QuestionSet) -> Table | None:
    """Return the table of this set while it has unsaved edits, else None."""
    table = _tables().get(question_set.id)
    return table if table is not None and table.typed else None


def table_of(question_set: QuestionSet, questions_now: Sequence[Question], names: Mapping[str, str]) -> Table:
    """Return the table to show of a set, whose filtered questions are `questions_now`.

    With unsaved edits the rows stay, whatever the filter. Leaving the page ends the widget: its edits are put into the
    rows of the next one.
    """
    table = being_edited(question_set)
    if table is not None and table.key in st.session_state:
        if table.questions != questions_now:
            st.caption(
                ":orange[▲] The filter or the set was changed meanwhile. The table stays as it was when you began to "
                "edit, until you save or discard your changes."
            )
        return table
    before = {} if table is None else {question_id: dict(values) for question_id, values in table.typed.items()}
    questions = list(questions_now) if table is None else table.questions
    current = _tables().get(question_set.id)
    if table is None and current is not None and current.questions == questions:
        return current
    turn = st.session_state["table-turn"] = st.session_state.get("table-turn", 0) + 1
    key = f"editor-{turn}-{digest(*map(version_of, questions))}"
    fresh = Table(question_set, questions, key, names, before, {i: dict(values) for i, values in before.items()})
    _tables()[question_set.id] = fresh
    return fresh


def discard(question_set: QuestionSet) -> None:
    """Remove the table of a set with its edits."""
    _tables().pop(question_set.id, None)


def save(store: Store, table: Table, author: str = "") -> None:
    """Save the edits of a table as one version of its set; those that somebody else overtook are kept as conflicts.

    Raises:
        RagvizError: the store cannot be written; the edits stay.

    """
    refused, edit = [], Edit(author, "edited in the table", f"table:{new_id()}")
    for before, after in table.changed:
        try:
            authoring.save(store, table.question_set, after, version_of(before), edit)
        except authoring.Conflict:
            refused.append(after)
    discard(table.question_set)
    if refused:
        _refused()[table.question_set.id] = replace(table, questions=refused, typed={q.id: {} for q in refused})


def _refused() -> dict[str, Table]:
    """Return the tables of conflicting edits, by the id of the set."""
    tables: dict[str, Table] = st.session_state.setdefault(_REFUSED, {})
    return tables


def show_refused(question_set: QuestionSet) -> None:
    """Show edits of questions that somebody else changed meanwhile, until they are dismissed."""
    refused = _refused().get(question_set.id)
    if refused is None:
        return
    count = wording.counted(len(refused.questions), "question")
    sentence = f"{count} changed by somebody else meanwhile: not saved. Your version:"
    if _dismissed(sentence, refused.questions, refused.names, f"refused-{question_set.id}"):
        del _refused()[question_set.id]
        st.rerun()


def show_orphaned(store: Store) -> None:
    """Show unsaved work on questions, sets and corpora that somebody else deleted meanwhile."""
    for place, tables in enumerate((_tables(), _refused())):
        for table in [table for table in tables.values() if table.typed and _is_deleted(store, table.question_set)]:
            typed = [after for _, after in table.changed]
            sentence = _deleted(f"The question set “{table.question_set.name}”")
            if _dismissed(sentence, typed, table.names, f"{place}-{table.question_set.id}"):
                del tables[table.question_set.id]
                st.rerun()
    for name, (deleted, draft) in edits.orphaned(store).items():
        if _dismissed(_deleted(deleted), [draft.written()], draft.names, name):
            edits.discard(name)
            st.rerun()


def _deleted(what: str) -> str:
    return (
        f"{what} was deleted by somebody else meanwhile. Your unsaved changes are kept here until you dismiss them: "
        "copy them, or download them and import them into a set."
    )


def _is_deleted(store: Store, question_set: QuestionSet) -> bool:
    return store.ids_of([("questions", question_set.id)]) != [question_set.id]


def _dismissed(sentence: str, typed: Sequence[Question], names: Mapping[str, str], key: str) -> bool:
    """Show questions as they were typed, and return whether *Dismiss* was pressed."""
    with st.container(border=True):
        st.warning(plain(sentence))
        rows = pd.DataFrame(
            {title: [getattr(question, column) for question in typed] for title, column in _COLUMNS.items()}
            | {"Id": [question.id for question in typed]}
        )
        wide = {title: st.column_config.TextColumn(width="large") for title in ("Question", "Answer")}
        widgets.table(rows, f"left-{key}", columns=wide, height="content", alt="Unsaved changes")
        with st.container(horizontal=True):
            data = interchange.write_questions(typed, names, "csv")
            st.download_button(
                "Download", data, "unsaved-questions.csv", "text/csv", key=f"take-{key}", on_click="ignore"
            )
            return st.button("Dismiss", key=f"dismiss-{key}")
