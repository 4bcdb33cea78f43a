"""The versions of a question set: who changed what, and taking edits back."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ragviz.core.question_set import QuestionSet, SetVersion
from ragviz.questions import versions
from ragviz.runs import measurements
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, wording
from ragviz.ui.kit import acting, heading, notices, table


@cache.kept(8)
def _versions(question_set: QuestionSet) -> list[SetVersion]:
    return cache.workspace().store.versions.all(question_set.id)


def undo_button(question_set: QuestionSet, key: str, of: str = "") -> None:
    """Draw the button that takes back the newest edit of a set; nothing for a set without edits.

    `of` says what is undone where the button stands beside something else, as a question.
    """
    if not question_set.version:
        return
    version = versions.undoable(_versions(question_set))
    if version is None:
        return
    said = f"Takes back version {version.number}: {version.action}, {wording.counted(version.questions, 'question')}."
    many = version.questions > 1
    if not st.button(f"{f'Undo {of}'.strip()}{'…' if many else ''}", key=key, help=plain(said), disabled=acting.off()):
        return
    if many:
        notices.confirm(said, "Take it back", lambda: question_verbs.undo(cache.workspace(), question_set))
        return
    with notices.errors_shown():
        question_verbs.undo(cache.workspace(), question_set)
        st.toast(plain(f"Took back version {version.number}: {version.action}"))
        st.rerun()


def show(question_set: QuestionSet) -> None:
    """Draw all versions of a set, the newest first, and what the one that is pressed changed."""
    listed = _versions(question_set)
    if not listed:
        st.markdown("No edits yet. Each edit, import and generation makes a version, which can be compared and undone.")
        return
    asked_by = measurements.runs_by_version(cache.workspace(), question_set)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Version **{question_set.version}** · {wording.counted(len(listed), 'edit')}")
        undo_button(question_set, "undo-version")
    rows = pd.DataFrame(
        {
            "Version": [version.number for version in listed],
            "When (UTC)": pd.to_datetime([version.created for version in listed], unit="s").floor("s"),
            "Who": [version.who for version in listed],
            "What": [version.action for version in listed],
            "Questions": [version.questions for version in listed],
            "Asked by": [measurements.names_words(asked_by.get(version.number, ())) for version in listed],
        }
    )
    columns = {"What": 320, "Who": 130, "When (UTC)": 150, "Asked by": 240}
    table.draw(
        rows, "versions", columns=columns, most=8, alt="Versions of the question set",
        among=[version.number for version in listed], opened=lambda number: address.put(version=number),
    )  # fmt: skip
    last = question_set.version
    pressed = address.readable("version", address.number_within(1, last), f"a version from 1 to {last}")
    number = pressed or last
    heading.section(f"What version {number} changed")
    found = versions.differences(cache.workspace().store, question_set, number - 1, number)
    if not found:
        st.caption("No question differs.")
        return
    changed = [{"Question": q.question.text, "What": ", ".join(q.what), "Id": q.question.id} for q in found]
    table.draw(
        pd.DataFrame(changed), "version-differences", alt="Questions that differ", file=f"{question_set.name}-{number}",
        above=wording.counted(len(found), "question"), columns={"Question": 450, "What": 160}, most=6,
    )  # fmt: skip
