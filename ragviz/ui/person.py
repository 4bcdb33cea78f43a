"""Who looks at the pages: the name under which edits are stored."""

from __future__ import annotations

import streamlit as st

from ragviz.ui import cache

_KEY = "person"  # session state: kept from page to page


def name() -> str:
    """Return the name that was typed in this session, else the configured one (RAGVIZ_PERSON, the login's name)."""
    typed: str = st.session_state.get(_KEY, "")
    return typed or cache.workspace().settings.person


def field(label: str = "Your name") -> None:
    """Draw the field for the name of this session."""

    def keep() -> None:
        st.session_state[_KEY] = st.session_state[f"{_KEY}-field"].strip()

    st.session_state[f"{_KEY}-field"] = name()
    st.text_input(
        label, key=f"{_KEY}-field", max_chars=200, on_change=keep,
        help="Stored with your edits. RAGVIZ_PERSON sets it for all pages.",
    )  # fmt: skip
