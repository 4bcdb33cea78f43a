"""The tab Review: the questions of a set, filtered, decided on one by one, or edited in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args

import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES
from ragviz.core.question import Question, QuestionStatus
from ragviz.core.question_set import QuestionSet
from ragviz.questions import authoring, staleness
from ragviz.questions.question_types import STYLE_TITLES, TYPE_TITLES, said_of
from ragviz.service import question_verbs
from ragviz.store.schema import version_of
from ragviz.text import markup
from ragviz.text.former_documents import UNKNOWN
from ragviz.text.markup import plain
from ragviz.ui import address, cache, passages, unsaved, versions_tab, wording
from ragviz.ui.kit import acting, filters, table

STATUSES: tuple[QuestionStatus, ...] = get_args(QuestionStatus)
SHOWN = ("all", *STATUSES, "stale")  # stale: with evidence whose text is gone
PAGE = 1000
"""Questions that the table shows at once, at most: a browser takes seconds to draw 100,000."""
FOLD = 60
"""Characters around each place of the evidence that are shown at first, where there are several places."""
WIDTHS = {
    "Question": 194,
    "Status": 90,
    "Type": 104,
    "Style": 120,
    "Evidence in": 112,
    "Side": 82,
    "Document": 165,
    "Answer": 290,
    "Reason": 200,
}
"""Pixels of columns beside a question: up to the kind they are seen at 1440 pixels, up to the type at 1024."""
LONG = ("Question", "Document", "Answer", "Reason")
"""Columns whose texts are cut to what a row shows; the open question is shown in full."""
UNASKED = "(no question could be generated from this chunk)"


def _rows_of(questions: Sequence[Question], names: Mapping[str, str]) -> pd.DataFrame:
    def documents(question: Question) -> str:
        spans = question.spans
        return ", ".join(dict.fromkeys(names.get(s.document_id, UNKNOWN) for s in spans))

    rows: dict[str, list[str]] = {
        "Question": [q.text or UNASKED for q in questions],
        "Status": [q.status for q in questions],
        "Type": [TYPE_TITLES[q.type] if q.type else "" for q in questions],
        "Style": [STYLE_TITLES[q.style] if q.style else "" for q in questions],
        "Evidence in": [KIND_TITLES[q.kind] if q.text else "" for q in questions],
        "Side": [q.split for q in questions],
        "Document": [documents(q) for q in questions],
        "Answer": [q.answer for q in questions],
        "Reason": [q.reason for q in questions],
        "Generator": [q.generator for q in questions],
        "Id": [q.id for q in questions],
    }
    empty = {name for name in ("Type", "Style", "Side") if not any(rows[name])}
    return pd.DataFrame({name: cells for name, cells in rows.items() if name not in empty})


def show(question_set: QuestionSet, questions: Sequence[Question], names: Mapping[str, str]) -> None:
    """Draw the filters, the table of the questions that pass them, and the one that is open; or the table to edit."""
    status = address.choose_one("Status", {name: name for name in SHOWN}, "status")
    sought = filters.find("find", "Find in questions and answers")
    matches = [q for q in questions if sought in q.text.casefold() or sought in q.answer.casefold()]
    kept = [q for q in matches if status in ("all", q.status) or (status == "stale" and is_stale(q))]
    filtered_questions = sorted(kept, key=lambda q: not q.asked)
    address.readable("question", address.one_of({q.id for q in questions}), "a question of this set")
    requested = st.query_params.get("question")
    place = next((place for place, q in enumerate(filtered_questions) if q.id == requested), 0)
    first, end = table.page(len(filtered_questions), PAGE, "rows")
    on_page = filtered_questions[first:end]
    with table.row_above("questions"):
        active = [part for part in (status, sought) if part not in ("", "all")]
        words = f"{len(filtered_questions):,} of {wording.counted(len(questions), 'question')}"
        st.markdown(plain(words + (f" · filter: {', '.join(active)}" if active else "")), width="stretch")
        switched = address.bound("in-table", False, {"true": True, "false": False}.get, "true or false")
        in_table = st.toggle("Edit in the table", **switched)
        listed = partial(_rows_of, filtered_questions, names)
        table.download(listed, question_set.name, "questions-shown")
    editing = unsaved.being_edited(question_set)
    if not filtered_questions and not (in_table and editing):
        st.caption("No questions match the filter.")
        return
    if in_table:
        _edit_table(question_set, on_page, names)
        return
    if editing:
        st.caption(":orange[▲] Your changes in the table are not saved yet: they are kept there.")
    left, right = st.columns([3, 2], gap="medium")
    rows = _rows_of(on_page, names)
    with left:
        table.draw(
            rows.assign(**{name: [table.fitting(text, WIDTHS[name], 4) for text in rows[name]] for name in LONG}),
            "questions",
            alt="Questions",
            columns={name: WIDTHS[name] for name in WIDTHS if name in rows},
            among=[q.id for q in on_page],
            opened=lambda question_id: address.put(question=question_id),
            most=6,
            lines=4,
        )
    with right:
        _detail(question_set, filtered_questions, place)


def is_stale(question: Question) -> bool:
    """Whether some of its evidence is no longer in the documents."""
    gone = any(span.stale for span in question.spans)
    return gone or staleness.is_set_aside(question)


def _detail(question_set: QuestionSet, filtered_questions: Sequence[Question], place: int) -> None:
    question = filtered_questions[place]
    version = version_of(question)
    following = filtered_questions[min(place + 1, len(filtered_questions) - 1)].id
    with st.container(border=True):
        said = [
            f"{place + 1:,} of {len(filtered_questions):,}",
            question.status,
            KIND_TITLES[question.kind],
            question.split,
        ]
        said += said_of(question)
        maker = plain(wording.MAKERS.get(question.generator, question.generator))
        said += [maker, f"verified by {plain(question.verified_by)}" if question.verified_by else ""]
        st.caption(" · ".join(filter(None, said)))
        for turn in question.history:
            st.caption("  \n".join(plain(text) for text in turn))
        st.markdown(f"**{plain(question.text or UNASKED)}**")
        st.html(markup.highlighted(question.answer or "(no answer given)", language=question.language))
        if question.reason:
            st.caption(plain(f"{'Note' if question.asked else question.status.capitalize()}: {question.reason}"))
        _buttons(question_set, question, version, following)
        versions_tab.undo_button(question_set, "undo-review", of="last edit")
        if question.evidence:
            st.html(markup.legend([("gold", "evidence")]))
        if question.text:
            fold = FOLD if sum(map(len, question.evidence)) > 1 else None
            passages.evidence_groups(question_set.corpus_id, question, fold=fold)
        if not question.evidence:
            passages.source_chunks(question_set.corpus_id, question)


def _buttons(question_set: QuestionSet, question: Question, version: str, following: str) -> None:
    """Draw the buttons that decide on a question, and those that edit it and go on.

    They are keyed by question and version: a click on what was on the screen never applies to what replaced it.
    """
    key, status = f"{question.id}-{version}", question.status
    with st.container(horizontal=True, gap="small"):
        accepted = status == "accepted" or not question.text
        if st.button("Accept", shortcut="a", key=f"accept-{key}", disabled=accepted or acting.off()):
            _decide(question_set, authoring.with_status(question, "accepted"), following, version)
        if st.button("Reject", shortcut="x", key=f"reject-{key}", disabled=status == "rejected" or acting.off()):
            rejected = authoring.with_status(question, "rejected", "rejected by hand")
            _decide(question_set, rejected, following, version)
        if st.button("Fix evidence" if is_stale(question) else "Edit", shortcut="e", key="edit"):
            address.put(edit=question.id)
            st.rerun()
        if st.button("Next", shortcut="n", key="next", disabled=following == question.id):
            address.put(question=following)
            st.rerun()


def _decide(question_set: QuestionSet, question: Question, following: str, version: str) -> None:
    """Save a decision on the question that was shown, unless it has changed."""
    try:
        question_verbs.save(cache.workspace(), question_set, question, version, f"{question.status} a question")
    except authoring.Conflict as conflict:
        st.warning(plain(f"{conflict} Review it, and decide again."))
        return
    address.put(question=following)
    st.rerun()


def _edit_table(question_set: QuestionSet, filtered_questions: Sequence[Question], names: Mapping[str, str]) -> None:
    """Draw questions, answers and statuses as a table to edit; nothing is written until *Save* is pressed."""
    columns = {
        "Question": table.text(335, required=True),
        "Answer": table.text(290),
        "Status": st.column_config.SelectboxColumn(options=STATUSES, required=True),
    }
    edited = unsaved.table_of(question_set, filtered_questions)
    rows = _rows_of(edited.rows, names)
    editable = ["Question", "Answer", "Status", "Reason"]
    fixed = [name for name in rows.columns if name not in editable]
    st.data_editor(
        rows.map(lambda cell: markup.visible(cell)), key=edited.key, hide_index=True, disabled=fixed,
        column_config=columns, column_order=[*editable, *fixed], height=table.height(len(rows), 14),
        on_change=edited.note,
    )  # fmt: skip
    changed = edited.changed
    with st.container(horizontal=True):
        if st.button(
            f"Save {wording.counted(len(changed), 'change')}", type="primary", disabled=not changed or acting.off()
        ):
            unsaved.save(cache.workspace(), question_set, edited)
            st.rerun()
        if changed and st.button("Discard changes", key="discard-edits"):
            unsaved.discard_table(question_set)
            st.rerun()
        if not changed:
            versions_tab.undo_button(question_set, "undo-edits")
