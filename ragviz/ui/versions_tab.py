"""The versions of a question set: who changed what, what differs between two, taking edits back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet, SetVersion
from ragviz.questions import versions
from ragviz.questions.versions import Difference
from ragviz.runs import measurements
from ragviz.text.markup import highlighted, plain
from ragviz.text.word_changes import differing
from ragviz.ui import address, cache, person, wording
from ragviz.ui.kit import heading, notices, table

SHOWN = 10
"""Changed questions that are drawn with both texts; the table lists all that differ."""
_ALWAYS = ("question", "answer", "evidence", "status", "reason")
"""Fields that a drawn question shows whether they differ or not."""


@cache.kept(8)
def _versions(question_set: QuestionSet) -> list[SetVersion]:
    return cache.workspace().store.versions.all(question_set.id)


def undo_button(question_set: QuestionSet, key: str, of: str = "") -> None:
    """Draw the button that takes back the newest edit of a set; nothing for a set without edits.

    `of` says what is undone where the button stands beside something else, as a question.
    """
    store = cache.workspace().store
    if not question_set.version:
        return
    version = versions.undoable(_versions(question_set))
    if version is None:
        return
    said = f"Takes back version {version.number}: {version.action}, {wording.counted(version.questions, 'question')}."
    many = version.questions > 1
    if not st.button(f"{f'Undo {of}'.strip()}{'…' if many else ''}", key=key, help=plain(said)):
        return
    if many:
        notices.confirm(said, "Take it back", lambda: versions.undo(store, question_set, person.name()))
        return
    with notices.errors_shown():
        versions.undo(store, question_set, person.name())
        st.toast(plain(f"Took back version {version.number}: {version.action}"))
        st.rerun()


def show(question_set: QuestionSet) -> None:
    """Draw all versions of a set, the newest first, and what differs between two of them."""
    listed = _versions(question_set)
    if not listed:
        st.markdown("No edits yet. Each edit, import and generation makes a version, which can be compared and undone.")
        return
    asked_by = measurements.runs_by_version(cache.workspace(), question_set)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Version **{question_set.version}** · {wording.counted(len(listed), 'edit')}")
        undo_button(question_set, "undo-version")
    columns = {"What": 320, "Who": 130, "When": 150, "Asked by": 240}
    rows = version_rows(listed, asked_by)
    table.draw(rows, "versions", columns=columns, most=8, alt="Versions of the question set")
    _compare(question_set, asked_by)


def version_rows(listed: Sequence[SetVersion], asked_by: dict[int, list[str]]) -> pd.DataFrame:
    """Return the table of versions, the newest first; `asked_by` are names of runs by version."""
    return pd.DataFrame(
        {
            "Version": [version.number for version in listed],
            "When": [wording.when(version.created) for version in listed],
            "Who": [version.who for version in listed],
            "What": [version.action for version in listed],
            "Questions": [version.questions for version in listed],
            "Asked by": [measurements.names_words(asked_by.get(version.number, ())) for version in listed],
        }
    )


def _compare(question_set: QuestionSet, asked_by: dict[int, list[str]]) -> None:
    heading.section("What differs")
    last = question_set.version
    numbers, what = address.number_within(0, last), f"a version from 0 to {last}"

    def label(number: int) -> str:
        ran = f" · {asked_by[number][0]}" if number in asked_by else ""
        return f"{number}{' (before the first edit)' if number == 0 else ' (now)' if number == last else ''}{ran}"

    one, two, three = st.columns([2, 2, 1], vertical_alignment="bottom")
    versions_offered = range(last, -1, -1)
    of_older = address.bound("older", max(0, last - 1), numbers, what)
    older = one.selectbox("Older version", versions_offered, format_func=label, **of_older)
    of_newer = address.bound("newer", last, numbers, what)
    newer = two.selectbox("Newer version", versions_offered, format_func=label, **of_newer)
    if older > newer:
        st.caption("The older version has the smaller number: choose the other way round.")
        return
    found = versions.differences(cache.workspace().store, question_set, older, newer)
    with three:
        if older < last and st.button(f"Restore {older}…", key="restore-version"):
            notices.confirm(
                f"All questions of “{question_set.name}” become as they were in version {older}, as a new version: "
                "this can be undone. Earlier runs keep the questions as they were asked.",
                "Restore",
                lambda: versions.restore(cache.workspace().store, question_set, older, person.name()),
            )
    if not found:
        st.caption("No question differs.")
        return
    rows = pd.DataFrame(
        {
            "Question": [each.question.text for each in found],
            "What": [", ".join(each.what) for each in found],
            "Id": [each.question.id for each in found],
        }
    )
    table.draw(
        rows,
        "version-differences",
        alt="Questions that differ",
        above=f"{wording.counted(len(found), 'question')} differ{'s' if len(found) == 1 else ''}",
        file=f"{question_set.name}-{older}-{newer}",
        columns={"Question": table.text("large")},
        most=6,
    )
    changed = [each for each in found if each.change.before is not None and each.change.after is not None]
    for difference in changed[:SHOWN]:
        _both(difference)
    if len(changed) > SHOWN:
        st.caption(f"The first {SHOWN} of {len(changed):,} changed questions are drawn; the table has them all.")


def _both(difference: Difference) -> None:
    before, after = difference.change.before, difference.change.after
    assert before is not None
    assert after is not None
    with st.container(border=True):
        st.caption(plain(f"{', '.join(difference.what)} · {difference.question.id}"))
        others = [each for each in versions.changes_of(difference, {}) if each["field"] not in _ALWAYS]
        texts = [_text(question, others, side) for question, side in ((before, "before"), (after, "after"))]
        marks = differing(*texts)
        for column, text, mark in zip(st.columns(2, gap="medium"), texts, marks, strict=True):
            with column:
                st.html(highlighted(text, differing=mark, fold=None))


def _text(question: Question, others: Sequence[Mapping[str, Any]], side: str) -> str:
    """Return what is drawn of a question: what it always shows, and which of `others` fields it had on that side."""
    evidence = [f"“{span.text}”" for group in question.evidence for span in group]
    status = question.status + (f": {question.reason}" if question.reason else "")
    rest = [f"{each['field']}: {versions.value_words(each['field'], each[side]) or 'none'}" for each in others]
    return "\n".join([question.text, question.answer, *evidence, status, *rest])
