"""Pages of a table that is longer than a browser draws at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from ragviz.ui import address

Row = TypeVar("Row")


def pages(count: int, size: int) -> int:
    """Return how many pages of `size` rows `count` rows fill; at least one.

    >>> pages(0, 10), pages(10, 10), pages(11, 10)
    (1, 1, 2)
    """
    return max(1, -(-count // size))


def page(rows: Sequence[Row], size: int, name: str) -> Sequence[Row]:
    """Return the rows of the page that the parameter `name` names, after drawing its choice where there are several."""
    last = pages(len(rows), size)
    if last == 1:
        return rows
    bound = address.bound(name, 1, address.number_within(1, last), f"1 to {last}")
    place = int(st.number_input(f"Page of {last:,}, {size:,} rows each", 1, last, width=220, **bound)) - 1
    return rows[place * size : (place + 1) * size]
