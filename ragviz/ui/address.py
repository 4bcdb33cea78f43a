"""The address is the state: parameters read from it, and written to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from ragviz.text.markup import plain
from ragviz.ui import wording

_CARRIED = {
    "documents": ("corpus",),
    "index": ("corpus", "index"),
    "questions": ("corpus", "set"),
    "run": ("corpus", "index", "set"),
    "results": ("corpus", "run", "k", "per"),
    "inspect": ("corpus", "run"),
    "compare": ("corpus", "runs", "k"),
}
Read = TypeVar("Read")

REMEMBERED = "remembered"  # session state: the last value of every parameter
_CHOSEN = "chosen"  # session state: what each parameter came to at the last look
TOLD = "told-gone"  # session state: what this drawing of the page told to be gone
TOLD_AGAIN = "tell-gone"  # session state: what it is to tell that the one before, which was given up, told

_SETTLED = "settled"  # session state: parameters that the address does not hold yet
FRAMED = "framed"  # session state: this run goes through `frame.py`


def put(**values: str | int | None) -> None:
    """Write parameters into the address, as one step that the browser's back button takes back; None takes one out."""
    remembered = st.session_state.setdefault(REMEMBERED, {})
    before = st.query_params.to_dict()
    wanted = dict(before)
    for name, value in values.items():
        for held in (remembered, wanted):
            held.pop(name, None)
            if value is not None:
                held[name] = str(value)
    if wanted != before:
        st.query_params.from_dict(wanted)


def settle(name: str, value: str | None) -> None:
    """Remember what a parameter that the address leaves open came to; `write_address` adds it."""
    remembered = st.session_state.setdefault(REMEMBERED, {})
    if value is None:
        remembered.pop(name, None)
    else:
        remembered[name] = value
        if st.query_params.get(name) != value:
            st.session_state.setdefault(_SETTLED, {})[name] = value
        if not st.session_state.get(FRAMED):
            write_address()


def write_address() -> None:
    """Add what the page settled on to the address, all in one step: then it can be pasted."""
    if settled := st.session_state.pop(_SETTLED, {}):
        st.query_params.update(settled)


def chosen(name: str, options: Sequence[str], default: str | None = None, *, noun: str = "") -> str | None:
    """Return the option that the address, else this session, else `default` names; None only without options.

    What was chosen is written to the address. An address that names nothing there is says so, as a `noun`. When what
    was shown is gone, a click that was made on it does nothing.
    """
    wanted = st.query_params.get(name)
    remembered = st.session_state.get(REMEMBERED, {}).get(name)
    value = first_of((wanted, remembered, default), options)
    chosen_before = st.session_state.setdefault(_CHOSEN, {})
    before, chosen_before[name] = chosen_before.get(name), value
    if wanted is not None and wanted == before and wanted not in options:
        st.session_state[TOLD_AGAIN] = st.session_state.get(TOLD, [])
        st.rerun()  # deleted since it was shown: what was clicked was meant for it, and for nothing else
    if wanted is not None and wanted != value:
        there = f"; this is “{plain(value)}”" if value is not None else ""
        tell(f"There is no {noun or name} called “{wording.quoted(wanted)}” here{there}.")
    settle(name, value)
    return value


def tell(sentence: str) -> None:
    """Warn of what is gone. It is told again when the page is drawn anew at once, for another thing that is gone."""
    st.warning(sentence)
    st.session_state.setdefault(TOLD, []).append(sentence)


def chosen_number(name: str, low: int, high: int, default: int) -> int:
    """Return the whole number of the address, else of this session, else `default`, kept between `low` and `high`.

    An address that holds another is told.
    """
    wanted, remembered = st.query_params.get(name), st.session_state.get(REMEMBERED, {}).get(name)
    value = number_of((wanted, remembered), low, high, default)
    if wanted is not None and wanted != str(value):
        st.warning(f"“{wording.quoted(wanted)}” cannot be {name} here, which is {low} to {high:,}: this is {value:,}.")
    settle(name, str(value))
    return value


def readable(name: str, read: Callable[[str], Read | None], what: str) -> Read | None:
    """Return what `read` makes of the parameter `name` of the address, None when it is missing or empty.

    One that it makes nothing of is told as not being `what`, and taken out: nothing on the page may seem to follow it.
    """
    text = st.query_params.get(name)
    if not text:
        return None
    if (value := read(text)) is None:
        st.warning(f"“{wording.quoted(text)}” cannot be {name} here, which is {what}.")
        put(**{name: None})
    return value


def one_of(options: Collection[str]) -> Callable[[str], str | None]:
    """For `readable`: a text that is an option."""
    return lambda text: text if text in options else None


def number_within(low: int, high: int) -> Callable[[str], int | None]:
    """For `readable`: a whole number from `low` to `high`.

    >>> [number_within(1, 20)(text) for text in ("20", "21", "9" * 5000, "x", "٣")]
    [20, None, None, None, None]
    """

    def read(text: str) -> int | None:
        is_number = text.isascii() and text.isdigit() and len(text) < 20
        return int(text) if is_number and low <= int(text) <= high else None

    return read


def bound(name: str, default: Read, read: Callable[[str], Read | None], what: str) -> dict[str, Any]:
    """Return the options of a widget that shows the parameter `name` of the address, else `default`, and writes it.

    `bind="query-params"` says nothing of a value that it cannot use, and fails at a number of 5,000 digits.
    """
    value = readable(name, read, what)
    st.session_state[name] = default if value is None else value

    def write() -> None:
        held = st.session_state[name]
        put(**{name: None if held == default else str(held).lower() if isinstance(held, bool) else str(held)})

    return {"key": name, "on_change": write}


def choose(
    label: str,
    options: Sequence[str],
    name: str,
    *,
    default: str | None = None,
    within: Sequence[str] = (),
    **widget: Any,
) -> str | None:
    """Select box whose value is the parameter `name` of the address; another choice takes out what was `within` it."""
    value = chosen(name, options, default, noun=label.lower())
    key = f"choice-{name}"
    st.session_state[key] = value

    def write() -> None:
        put(**dict.fromkeys(within), **{name: st.session_state[key]})

    selected: str | None = st.selectbox(label, options, key=key, on_change=write, **widget)
    return selected


def choose_tab(names: Sequence[str], key: str) -> list[Any]:
    """Tabs of which the address tells the open one, as `tab`; only the open one is to be drawn (`.open`)."""
    st.session_state[key] = readable("tab", one_of(names), f"one of {', '.join(names)}") or names[0]
    return list(st.tabs(names, key=key, on_change=lambda: put(tab=st.session_state[key])))


def first_of(wanted: Sequence[str | None], options: Sequence[str]) -> str | None:
    """Return the first of `wanted` that is an option, else the first option.

    >>> first_of(("gone", None, "b"), ["a", "b"]), first_of((None,), ["a"]), first_of(("a",), [])
    ('b', 'a', None)
    """
    return next((name for name in wanted if name in options), options[0] if options else None)


def number_of(wanted: Sequence[str | None], low: int, high: int, default: int) -> int:
    """Return the first of `wanted` that is a whole number, else `default`; kept between `low` and `high`.

    >>> number_of(("x", "7"), 1, 5, 3), number_of((None,), 1, 5, 3), number_of(("9" * 5000,), 1, 5, 3)
    (5, 3, 5)
    """
    given = next((text for text in wanted if text and text.isascii() and text.isdigit()), str(default))
    return max(low, min(high, int(given) if len(given) < 20 else high))


def go_to(page: str, **params: str | int | None) -> None:
    """Leave for another page, at once; a parameter that is None is forgotten."""
    for name in [name for name, value in params.items() if value is None]:
        st.session_state.get(REMEMBERED, {}).pop(name, None)
    st.switch_page(f"pages/{page}.py", query_params=query_of(page, params))


def link(page: str, label: str, **params: str | int | None) -> None:
    """Draw a link to another page with these parameters; what else the page takes is what was looked at last."""
    st.page_link(f"pages/{page}.py", label=f":blue[{plain(label)}]", query_params=query_of(page, params))


def query_of(page: str, params: Mapping[str, str | int | None]) -> dict[str, str]:
    """Parameters of a link to `page`: those that were looked at last, then those given."""
    remembered = st.session_state.get(REMEMBERED, {})
    carried = {name: remembered[name] for name in _CARRIED.get(page, ()) if name in remembered}
    given = {name: str(value) for name, value in params.items() if value is not None}
    return {name: value for name, value in (carried | given).items() if params.get(name, value) is not None}
