"""Buttons that start something once, however often and late they are pressed.

Each is drawn with the key of its present drawing. When a press of a drawing has started something, the button's next
drawing has another key: a press that is still on its way from the browser belongs to the drawing before, whose button
is gone, and does nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import streamlit as st

from ragviz.core.digests import new_id
from ragviz.jobs.queue import Press

_PRESSES = "presses"  # session state: the drawings of this session


@dataclass(slots=True)
class _Drawings:
    """What a session drew: per button the number of its drawing, and when that was last drawn and not pressed.

    Session state holds this object, and it is changed in place: writing to session state itself is a point at which
    Streamlit may replace the run of the page by another, between what a press started and the note of it.
    """

    session: str = field(default_factory=new_id)
    numbers: dict[str, int] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)


def key(button: str) -> str:
    """Return the key that the button of this name is drawn with; the first is its name."""
    drawings = _drawings()
    drawn = _key(drawings, button)
    if not st.session_state.get(drawn):
        drawings.shown[button] = time.time()
    return drawn


@contextmanager
def once(button: str) -> Iterator[Press]:
    """Yield what names this press of a button drawn with `key`; after the body, its other presses do nothing.

    When the body raises, it has started nothing: the button can be pressed again.
    """
    drawings = _drawings()
    named = f"{drawings.session}/{_key(drawings, button)}"
    yield Press(hashlib.sha256(named.encode()).hexdigest(), drawings.shown.get(button, time.time()))
    drawings.numbers[button] = drawings.numbers.get(button, 0) + 1


def _key(drawings: _Drawings, button: str) -> str:
    number = drawings.numbers.get(button, 0)
    return f"{button}-{number}" if number else button


def _drawings() -> _Drawings:
    drawings: _Drawings = st.session_state.setdefault(_PRESSES, _Drawings())
    return drawings
