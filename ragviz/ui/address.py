"""The parameters of a page's address, which are its state: read, checked, written, and carried by links.

A choice that changes the picture is in the query string; widgets are set from it and write to it, so that back, reload
and a shared link show the same view. A parameter that the address leaves open has its last value of this session, else
its default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ragviz.text.markup import plain
from ragviz.ui import wording

_CARRIED = {
    "documents": ("corpus",),
    "index": ("corpus", "index"),
    "questions": ("corpus", "set"),
    "health": ("corpus", "set", "index"),
    "run": ("corpus", "index", "set"),
    "runs": ("corpus",),
    "experiment": ("corpus", "set"),
    "results": ("corpus", "run", "k", "per", "by"),
    "inspect": ("corpus", "run"),
    "compare": ("corpus", "runs", "k"),
}
Read = TypeVar("Read")

REMEMBERED = "remembered"  # session state: the last value of every parameter
_CHOSEN = "chosen"  # session state: the value of each parameter when the page was last drawn
WARNED = "warned"  # session state: the warnings of this run of the page
WARN_AGAIN = "warn-again"  # session state: warnings of a run that was aborted, to be repeated in the next one

_SETTLED = "settled"  # session state: values of parameters that are not in the address yet
PAGE = "page"  # session state: the page that was last run, by its path
CAME_FROM = "came-from"  # session state: the page before it, until the page has read it
FRAMED = "framed"  # session state: this run goes through `frame.py`
_DRAWN = "drawn-address"  # session state: the parameters of the last run of the whole page, at its end


def put(**values: str | int | None) -> None:
    """Write parameters into the address, as one step of the browser's history; None removes one.

    The callback of a widget outside the only fragment that is being redrawn writes nothing. A poll carries the values
    that the widgets had when it was sent: one sent before the browser received what the page had set them to (another
    filter, for instance) looks to Streamlit like a person who set them back.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and context.fragment_ids_this_run and not context.has_script_started:
        return
    remembered = st.session_state.setdefault(REMEMBERED, {})
    before = st.query_params.to_dict()
    after = dict(before)
    for name, value in values.items():
        for parameters in (remembered, after):
            parameters.pop(name, None)
            if value is not None:
                parameters[name] = str(value)
    if after != before:
        st.query_params.from_dict(after)


def settle(name: str, value: str | None) -> None:
    """Remember the value chosen for a parameter that the address leaves open; `write_address` adds it."""
    remembered = st.session_state.setdefault(REMEMBERED, {})
    if value is None:
        remembered.pop(name, None)
    else:
        remembered[name] = value
        if st.query_params.get(name) != value:
            st.session_state.setdefault(_SETTLED, {})[name] = value
        if not st.session_state.get(FRAMED):
            write_address()


def last_value(name: str) -> str | None:
    """Return the value that a parameter had last in this session; None when it had none."""
    value: str | None = st.session_state.get(REMEMBERED, {}).get(name)
    return value


def write_address(*, again: bool = False) -> None:
    """Add the values that the page chose to the address, all in one step, so that it can be shared.

    `again` writes it even without such values: on arrival at a page, an address that the page before wrote may have
    been on its way to the browser when the link was pressed, and have replaced the parameters of the link; and of a
    link within a page, Streamlit 1.67 leaves the parameters out of the browser's address.
    """
    settled = st.session_state.pop(_SETTLED, {})
    if settled or again:
        st.query_params.update(settled)


def forget_settled() -> None:
    """Forget what the page chose and has not written: this run is replaced by another one."""
    st.session_state.pop(_SETTLED, None)


def note_drawn() -> None:
    """Note the parameters at the end of a run of the whole page, for `rerun_drawn`."""
    st.session_state[_DRAWN] = st.query_params.to_dict()


def note_page(page: str) -> bool:
    """Note which page is run, by its path, so that its first run can tell where the person came from.

    Returns whether it is another page than before, or has other parameters; not for the first of a session.
    """
    before = st.session_state.get(PAGE)
    if before != page:
        st.session_state[PAGE], st.session_state[CAME_FROM] = page, before
    return before is not None and (before != page or st.query_params.to_dict() != st.session_state.get(_DRAWN))


def arrived_from() -> str | None:
    """Return the page that the person came from; None when they were here already, or came from outside."""
    page: str | None = st.session_state.pop(CAME_FROM, None)
    return page


def rerun_drawn() -> NoReturn:
    """Rerun the whole page from a fragment that polls, with the parameters it was last drawn with.

    A poll carries the address that the browser had when it was sent. A poll sent before the browser received a change
    of the address would undo that change: a search, for instance, would be shown and vanish again.
    """
    drawn = st.session_state.get(_DRAWN)
    if drawn is not None and st.query_params.to_dict() != drawn:
        st.query_params.from_dict(drawn)
    st.rerun(scope="app")


def chosen(name: str, options: Sequence[str], default: str | None = None, *, noun: str = "") -> str | None:
    """Return the option that the address, else this session, else `default` names; None only without options.

    The choice is written to the address. A name in the address that is no option is reported, as a `noun`. When the
    option that was shown has been deleted, a click made on it does nothing.
    """
    requested = st.query_params.get(name)
    named = (requested, last_value(name), default, *options)
    value = next((each for each in named if each in options), None)
    chosen_before = st.session_state.setdefault(_CHOSEN, {})
    before, chosen_before[name] = chosen_before.get(name), value
    if requested is not None and requested == before and requested not in options:
        st.session_state[WARN_AGAIN] = st.session_state.get(WARNED, [])
        st.rerun()  # deleted since it was shown: the click was meant for it, not for what replaces it
    if requested is not None and requested != value:
        shown_instead = f"; this is “{plain(value)}”" if value is not None else ""
        warn(f"There is no {noun or name} called “{wording.quoted(requested)}” here{shown_instead}.")
    settle(name, value)
    return value


def follow_renamed(found: Callable[[Sequence[str]], Mapping[str, tuple[str, str]]]) -> None:
    """Replace ids and former names of runs in the address by their present names; a former name is reported.

    `found` maps what was given to a run's id and present name.
    """
    given = {name: text.split(",") for name, text in st.query_params.items() if name == "runs"}
    given |= {name: [text] for name, text in st.query_params.items() if name in ("run", "preset")}
    names = found([part for parts in given.values() for part in parts]) if given else {}
    for part in dict.fromkeys(part for parts in given.values() for part in parts):
        if part in names and part not in names[part]:
            st.info(f"The run “{wording.quoted(part)}” is now called “{plain(names[part][1])}”.")
    present = {name: [names.get(part, ("", part)) for part in parts] for name, parts in given.items()}
    # in a list, a name with a comma is written by its id
    put(**{
        name: ",".join(run_id if "," in now and name == "runs" else now for run_id, now in runs)
        for name, runs in present.items()
    })  # fmt: skip


def warn(sentence: str) -> None:
    """Show a warning, once, and repeat it when the page is rerun at once because something else was deleted too."""
    warned = st.session_state.setdefault(WARNED, [])
    if sentence not in warned:
        st.warning(sentence)
        warned.append(sentence)


def chosen_number(name: str, low: int, high: int, default: int) -> int:
    """Return the whole number of the address, else of this session, else `default`, limited to `low` … `high`."""
    requested = st.query_params.get(name)
    given = (requested, last_value(name))
    digits = next((text for text in given if text and text.isascii() and text.isdigit()), str(default))
    value = max(low, min(high, int(digits) if len(digits) < 20 else high))
    if requested is not None and requested != str(value):
        st.warning(f"“{wording.quoted(requested)}” cannot be {name} here, which is {low} to {high:,}: using {value:,}.")
    settle(name, str(value))
    return value


def readable(name: str, read: Callable[[str], Read | None], what: str) -> Read | None:
    """Return the parameter `name` of the address as `read` parses it, None when it is missing or empty.

    A value that cannot be parsed is reported as not being `what` and removed from the address, so that the page does
    not seem to follow it.
    """
    text = st.query_params.get(name)
    if not text:
        return None
    if (value := read(text)) is None:
        st.warning(f"“{wording.quoted(text)}” cannot be {name} here, which is {what}.")
        put(**{name: None})
    return value


def one_of(options: Collection[str]) -> Callable[[str], str | None]:
    """Return a parser for `readable` that accepts one of `options`."""
    return lambda text: text if text in options else None


def number_within(low: int, high: int) -> Callable[[str], int | None]:
    """Return a parser for `readable` that accepts a whole number from `low` to `high`.

    >>> [number_within(1, 20)(text) for text in ("20", "21", "9" * 5000, "x", "٣")]
    [20, None, None, None, None]
    """

    def read(text: str) -> int | None:
        is_number = text.isascii() and text.isdigit() and len(text) < 20
        return int(text) if is_number and low <= int(text) <= high else None

    return read


def share_within(low: float, high: float) -> Callable[[str], float | None]:
    """Return a parser for `readable` that accepts a number from `low` to `high`.

    >>> [share_within(0.01, 0.99)(text) for text in ("0.5", "0.25", "1", "nan", "x")]
    [0.5, 0.25, None, None, None]
    """

    def read(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if low <= value <= high else None

    return read


def shows(key: str, value: Read, write: Callable[[Read], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the arguments of a widget that shows `value`; what a person changes it to is written as `write` says.

    `write` returns parameters of the address by name; None removes one.
    """
    st.session_state[key] = value
    return {"key": key, "on_change": lambda: put(**write(st.session_state[key]))}


def bound(name: str, default: Read, read: Callable[[str], Read | None], what: str) -> dict[str, Any]:
    """Return the arguments of a widget that shows the parameter `name` of the address, else `default`, and writes it.

    Streamlit's `bind="query-params"` is silent about a value that it cannot use, and fails on a number of 5,000 digits.
    """
    value = readable(name, read, what)

    def write(selected: Read) -> dict[str, str | None]:
        text = str(selected).lower() if isinstance(selected, bool) else str(selected)
        return {name: None if selected == default else text}

    return shows(name, default if value is None else value, write)


def choose(
    label: str,
    options: Sequence[str],
    name: str,
    *,
    default: str | None = None,
    within: Sequence[str] = (),
    **widget: Any,
) -> str | None:
    """Draw a select box bound to the parameter `name`; another choice removes the parameters `within` it."""
    value = chosen(name, options, default, noun=label.lower())
    arguments = shows(f"choice-{name}", value, lambda option: {**dict.fromkeys(within), name: option})
    selected: str | None = st.selectbox(label, options, **arguments, **widget)
    return selected


def choose_one(label: str, titles: Mapping[str, str], name: str) -> str:
    """Draw options in a row (value → title) bound to the parameter `name`; the first is the default."""
    arguments = bound(name, next(iter(titles)), one_of(titles), f"one of {', '.join(titles)}")
    selected: str = st.segmented_control(
        label, list(titles), format_func=titles.__getitem__, required=True, label_visibility="collapsed", **arguments
    )
    return selected


def choose_several(
    label: str, options: Sequence[str], name: str, *, default: Sequence[str] = (), noun: str = "", **widget: Any
) -> list[str]:
    """Draw a box of several choices bound to the parameter `name`, in which they are separated by commas."""
    requested = _separated(st.query_params[name]) if name in st.query_params else list(default)
    known = [value for value in dict.fromkeys(requested) if value in options]
    if name in st.query_params and known != requested:
        for value in requested:
            if value not in options:
                warn(f"There is no {noun or name} “{wording.quoted(value)}” here.")
        put(**{name: _joined(known) or None})

    def write(chosen_now: list[str]) -> dict[str, str | None]:
        return {name: None if chosen_now == list(default) else _joined(chosen_now)}

    selected: list[str] = st.multiselect(label, options, **shows(f"choice-{name}", known, write), **widget)
    return selected


def _joined(values: Sequence[str]) -> str:
    """Join values with commas, their own written as %2C.

    >>> _joined(["a,b", "100 %"]), _separated("a%2Cb,100 %25"), _separated("")
    ('a%2Cb,100 %25', ['a,b', '100 %'], [])
    """
    return ",".join(value.replace("%", "%25").replace(",", "%2C") for value in values)


def _separated(text: str) -> list[str]:
    return [part.replace("%2C", ",").replace("%25", "%") for part in text.split(",") if part]


def go_to(page: str, **params: str | int | None) -> None:
    """Switch to another page at once; a parameter that is None is forgotten."""
    for name in [name for name, value in params.items() if value is None]:
        st.session_state.get(REMEMBERED, {}).pop(name, None)
    st.switch_page(f"pages/{page}.py", query_params=query_of(page, params))


def link(page: str, label: str, **params: str | int | None) -> None:
    """Draw a link to another page with these parameters; its other parameters keep their last values."""
    st.page_link(f"pages/{page}.py", label=f":blue[{plain(label)}]", query_params=query_of(page, params))


def query_of(page: str, params: Mapping[str, str | int | None]) -> dict[str, str]:
    """Return the parameters of a link to `page`: the last values of those it takes, overridden by `params`."""
    remembered = st.session_state.get(REMEMBERED, {})
    carried = {name: remembered[name] for name in _CARRIED.get(page, ()) if name in remembered}
    carried |= {name: "1" for name in ("present",) if st.query_params.get(name) == "1"}
    own = {name: str(value) for name, value in params.items() if value is not None}
    return {name: value for name, value in (carried | own).items() if params.get(name, value) is not None}
