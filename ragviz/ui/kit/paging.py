"""Pages of a table that is longer than a browser draws at once."""

from __future__ import annotations

import streamlit as st

from ragviz.ui import address


def page(count: int, size: int, name: str) -> tuple[int, int]:
    """Return first row and end of the page of `size` rows that the parameter `name` names, of `count` rows.

    Its choice is drawn where there are several.
    """
    last = -(-count // size)
    if last < 2:
        return 0, count
    bound = address.bound(name, 1, address.number_within(1, last), f"1 to {last}")
    place = int(st.number_input(f"Page of {last:,}, {size:,} rows each", 1, last, width=220, **bound)) - 1
    return place * size, min(count, (place + 1) * size)
