"""The field of a name, beside its suggestion."""

from __future__ import annotations

import streamlit as st


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
