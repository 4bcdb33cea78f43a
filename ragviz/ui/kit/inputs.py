"""Fields that keep what a person meant: a name beside its suggestion, a choice whose option was deleted meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragviz.ui import wording


def suggested_name(
    label: str, key: str, suggested: str, explained: str | None = None, *, used_by: str | None = None
) -> str:
    """Return the name typed into a field, else the suggestion; a new suggestion does not replace what was typed.

    When the name has been used, remove `KEY-suggested` from the session, so that the field shows a suggestion again.
    When the button with the key `used_by` was pressed, the name is the one that was in the field then, though it is
    taken by now: the button was pressed twice.
    """
    typed, before = st.session_state.get(key, ""), st.session_state.get(f"{key}-suggested")
    pressed = used_by is not None and bool(st.session_state.get(used_by))
    keeps = typed and (pressed or before not in (None, typed))
    st.session_state[key] = typed if keeps else suggested
    st.session_state[f"{key}-suggested"] = suggested
    name: str = st.text_input(label, key=key, max_chars=200, help=explained)
    return name.strip()


def still_there(key: str, options: Sequence[str], noun: str) -> None:
    """Ignore a click, and say so, when the selected option of the box `key` was deleted; call it before the box."""
    selected, deleted_key = st.session_state.get(key), f"{key}-deleted"
    if selected is not None and selected not in options:
        del st.session_state[key]
        st.session_state[deleted_key] = selected
        st.rerun()
    if (name := st.session_state.pop(deleted_key, None)) is not None:
        st.warning(f"The {noun} “{wording.quoted(name)}” was deleted meanwhile: nothing was done. Choose again.")
