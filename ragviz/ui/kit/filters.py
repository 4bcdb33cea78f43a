"""Filters that stand in the address: a chip for each that applies, and a field of words to be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import streamlit as st

from ragviz.text.markup import plain
from ragviz.ui import address


def chips(filters: Mapping[str, str], before: str, remove: Callable[..., None], key: str = "chip") -> None:
    """Draw every active filter (name → its value in words), to be removed with a click; nothing without any.

    `before` (markdown) says what they choose; `remove` is called with the names to remove.
    """
    if not filters:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(before, width="content")
        for name, words in filters.items():
            st.button(
                f"{name}: {plain(words)}", icon=":material/close:", key=f"{key}-{name}", help="Remove this filter",
                on_click=remove, args=(name,),
            )  # fmt: skip
        if len(filters) > 1:
            st.button("Clear all", type="tertiary", key=f"{key}-all", on_click=remove, args=tuple(filters))


def find(name: str, placeholder: str, *, label: str = "Find", width: int | Literal["stretch"] = "stretch") -> str:
    """Draw the field of the words to be found, which are the parameter `name`; return them, in one case."""
    bound = address.bound(name, "", str, "a text")
    words: str = st.text_input(label, placeholder=placeholder, label_visibility="collapsed", width=width, **bound)
    return words.casefold()
