"""Parts of a page beside each other, which stand below each other where there is no room."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ragviz.ui.kit import notices


def draw(key: str, *parts: Callable[[], object], widths: Sequence[int] | None = None) -> None:
    """Draw parts in columns of equal or these relative widths; an error in one leaves the others as they are.

    The container has the key `beside-KEY`, by which the style gives its columns their least width.
    """
    with st.container(key=f"beside-{key}"):
        for column, part in zip(st.columns(widths or len(parts), gap="medium"), parts, strict=True):
            with column, notices.errors_shown():
                part()
