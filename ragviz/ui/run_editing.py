"""Dialogs that change runs: rename, note and tags, delete."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragviz.core.run_info import Run
from ragviz.store import labels
from ragviz.text.markup import plain
from ragviz.ui import cache, job_panel, wording
from ragviz.ui.kit import notices


@st.dialog("Rename the run")
def rename(run: Run) -> None:
    """Ask for a new name of a run."""
    name = st.text_input("Name", run.name, max_chars=200, key="rename-to")
    st.caption("Links by the old name lead to the run too, until another run takes that name.")
    if _confirmed("Rename", "rename"):
        with notices.errors_shown():
            cache.workspace().store.rename_run(run.id, name)
            st.toast(f"Renamed: {plain(run.name)} is now {plain(name.strip())}.")
            st.rerun()


@st.dialog("Note and tags")
def annotate(runs: Sequence[Run], known: Sequence[str]) -> None:
    """Ask for note and tags of one run, for tags to be added to several; the `known` tags can be chosen."""
    only = runs[0] if len(runs) == 1 else None
    own = only.tags if only else ()
    tags = st.multiselect(
        "Tags" if only else f"Tags to add to {len(runs)} runs",
        list(dict.fromkeys([*known, *own])),
        default=own,
        accept_new_options=True,
        key="run-tags",
        placeholder="Choose, or type new ones",
    )  # above the note, so that its list does not cover *Save*
    note = st.text_area("Note", only.note, max_chars=labels.LONGEST_NOTE, key="note") if only else None
    if _confirmed("Save", "label"):
        with notices.errors_shown():
            for run in runs:
                cache.workspace().store.label_run(run.id, note=note, tags=tags if only else (*run.tags, *tags))
            st.toast(f"Saved: {'note and tags' if only else 'tags'} of {_named(runs)}.")
            st.rerun()


def _named(runs: Sequence[Run]) -> str:
    return f"the run {plain(runs[0].name)}" if len(runs) == 1 else wording.counted(len(runs), "run")


def _confirmed(verb: str, key: str) -> bool:
    """Draw the buttons of a dialog; return whether the one with the verb was pressed."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Cancel", key=f"{key}-cancel"):
            st.rerun()
        return bool(st.button(verb, type="primary", key=f"{key}-do"))


def delete(runs: Sequence[Run]) -> None:
    """Delete runs after a confirmation that says what goes with them."""
    names, questions = ", ".join(run.name for run in runs), sum(run.provenance["n"] for run in runs)
    which, them = ("the run", "it") if len(runs) == 1 else (wording.counted(len(runs), "run"), "them")
    sentence = (
        f"This deletes {which} {names}. Rankings, answers and judgements of {wording.counted(questions, 'question')} "
        f"go with {them}; indexes and question sets stay."
    )

    def deleted() -> None:
        for run in runs:
            cache.workspace().store.delete_run(run.id)
        st.toast(f"Deleted: {_named(runs)}.")

    notices.confirm(sentence + job_panel.stops_jobs(), "Delete", deleted)
