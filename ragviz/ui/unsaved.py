"""What was typed into questions and is not saved, in the table or in the view that writes one: kept in the session.

When somebody else deletes what it was typed into, it is shown, to be copied or downloaded; nothing else gets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.questions import authoring, interchange
from ragviz.records import Question, QuestionSet, digest
from ragviz.store.codecs import version_of
from ragviz.store.store import Store
from ragviz.text.markup import plain
from ragviz.ui import marking, widgets, wording

_TABLES = "edited-tables"  # session state: `Table` by the id of its set
_REFUSED = "refused-edits"  # session state: the same, of what was not saved
_COLUMNS = {"Question": "text", "Answer": "answer", "Status": "status", "Reason": "reason"}


# The table of a set


@dataclass(slots=True)
class Table:
    """The table of a set as it is being edited.

    `questions` are its rows, `key` its widget; `typed` is what was typed, by question id and column, of which `before`
    was typed into an earlier widget and stands in the rows; `names` are documents' by id.
    """

    asked: QuestionSet
    questions: Sequence[Question]
    key: str
    names: Mapping[str, str]
    before: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    typed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def rows(self) -> list[Question]:
        """The questions as the widget was given them."""
        return [changed_question(question, self.before.get(question.id, {})) for question in self.questions]

    @property
    def changed(self) -> list[tuple[Question, Question]]:
        """What was edited: each question as it was shown, and as it was typed."""
        typed = [question for question in self.questions if question.id in self.typed]
        return [(question, changed_question(question, self.typed[question.id])) for question in typed]


def changed_question(question: Question, values: Mapping[str, Any]) -> Question:
    """`question` with what was typed into its row."""
    changed: dict[str, Any] = {_COLUMNS[name]: value or "" for name, value in values.items() if name in _COLUMNS}
    return replace(question, **changed)


def keep() -> None:
    """Note what was typed: a widget forgets it when another tab or page is opened.

    It is called before the page is drawn, which may find that what was shown is gone, and draw something else.
    """
    for table in _tables().values():
        if table.key in st.session_state:
            table.typed = {question_id: dict(values) for question_id, values in table.before.items()}
            for row, values in _edits_of(table.key).items():
                table.typed.setdefault(table.questions[int(row)].id, {}).update(values)
    marking.keep()


def _tables() -> dict[str, Table]:
    tables: dict[str, Table] = st.session_state.setdefault(_TABLES, {})
    return tables


def _edits_of(key: str) -> dict[int, dict[str, Any]]:
    edits: dict[int, dict[str, Any]] = st.session_state.get(key, {}).get("edited_rows", {})
    return edits


def being_edited(asked: QuestionSet) -> Table | None:
    """The table of this set while something typed into it is neither saved nor dropped, wherever one was meanwhile."""
    table = _tables().get(asked.id)
    return table if table is not None and table.typed else None


def table_of(asked: QuestionSet, now: Sequence[Question], names: Mapping[str, str]) -> Table:
    """The table to show of a set, of which the filter leaves the questions `now`.

    As long as something is typed the rows stay, whatever the filter; what was typed before the table was left for
    another tab or page, which ends its widget, is put into its rows.
    """
    table = being_edited(asked)
    if table is not None and table.key in st.session_state:
        if table.questions != now:
            st.caption(
                ":orange[▲] The filter or the set was changed meanwhile. The table stays as it was when you began to "
                "edit, until you save or drop what you typed."
            )
        return table
    before = {} if table is None else {question_id: dict(values) for question_id, values in table.typed.items()}
    questions = list(now) if table is None else table.questions
    here = _tables().get(asked.id)
    if table is None and here is not None and here.questions == questions:
        return here
    turn = st.session_state["table-turn"] = st.session_state.get("table-turn", 0) + 1
    key = f"editor-{turn}-{digest(*map(version_of, questions))}"
    fresh = Table(asked, questions, key, names, before, {i: dict(values) for i, values in before.items()})
    _tables()[asked.id] = fresh
    return fresh


def drop(asked: QuestionSet) -> None:
    """Forget the table of a set, and what was typed into it."""
    _tables().pop(asked.id, None)


def save(store: Store, table: Table) -> None:
    """Save what was edited, and forget it; what somebody else changed meanwhile is kept as it was typed.

    Raises:
        RagvizError: the store cannot be written; what was typed stays.

    """
    refused = []
    for before, after in table.changed:
        try:
            authoring.save(store, table.asked, after, version_of(before))
        except authoring.Conflict:
            refused.append(after)
    drop(table.asked)
    if refused:
        _refused()[table.asked.id] = replace(table, questions=refused, typed={q.id: {} for q in refused})


def _refused() -> dict[str, Table]:
    """Tables of what was not saved, as it was typed, by the id of the set."""
    tables: dict[str, Table] = st.session_state.setdefault(_REFUSED, {})
    return tables


def show_refused(asked: QuestionSet) -> None:
    """Show what was typed over questions that somebody else changed, until it is put away."""
    refused = _refused().get(asked.id)
    if refused is None:
        return
    count = wording.counted(len(refused.questions), "question")
    sentence = f"{count} changed by somebody else meanwhile: not saved. You wrote:"
    if _put_away(sentence, refused.questions, refused.names, f"refused-{asked.id}"):
        del _refused()[asked.id]
        st.rerun()


# What it was typed into is gone


def show_what_is_left(store: Store) -> None:
    """Show what was typed into questions, sets and corpora that somebody else deleted meanwhile."""
    for place, tables in enumerate((_tables(), _refused())):
        for table in [table for table in tables.values() if table.typed and not _stands(store, table.asked)]:
            typed = [after for _, after in table.changed]
            sentence = _deleted(f"The question set “{table.asked.name}”")
            if _put_away(sentence, typed, table.names, f"{place}-{table.asked.id}"):
                del tables[table.asked.id]
                st.rerun()
    for name, (gone, draft) in marking.left_over(store).items():
        if _put_away(_deleted(gone), [draft.written()], draft.names, name):
            marking.give_up(name)
            st.rerun()


def _deleted(what: str) -> str:
    return (
        f"{what} was deleted by somebody else meanwhile. Nothing of what you typed was saved: it is kept here until "
        "you put it away. Copy it, or download it and import it into a set."
    )


def _stands(store: Store, asked: QuestionSet) -> bool:
    return store.ids_of([("questions", asked.id)]) == [asked.id]


def _put_away(sentence: str, typed: Sequence[Question], names: Mapping[str, str], key: str) -> bool:
    """Show questions as they were typed; whether they are to be put away."""
    with st.container(border=True):
        st.warning(plain(sentence))
        rows = pd.DataFrame(
            {title: [getattr(question, column) for question in typed] for title, column in _COLUMNS.items()}
            | {"Id": [question.id for question in typed]}
        )
        wide = {title: st.column_config.TextColumn(width="large") for title in ("Question", "Answer")}
        widgets.table(rows, f"left-{key}", columns=wide, height="content", alt="What was typed")
        with st.container(horizontal=True):
            data = interchange.write_questions(typed, names, "csv")
            st.download_button(
                "Download it", data, "unsaved-questions.csv", "text/csv", key=f"take-{key}", on_click="ignore"
            )
            return st.button("Put away", key=f"put-away-{key}")
