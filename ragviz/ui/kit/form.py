"""Fields of a form, drawn from the declared choices of a configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

import streamlit as st

from ragviz.core.fields import Field
from ragviz.text.markup import plain
from ragviz.ui import address

OFTEN_SHORT = 4
"""Choices that are drawn side by side at most; more of them are a list."""


def draw(
    fields: Sequence[Field],
    start: Mapping[str, Any],
    suffix: str | None = None,
    *,
    offered: Mapping[str, Collection[str]] | None = None,
    more: Collection[str] = (),
) -> dict[str, Any]:
    """Draw the fields that count, with the values of `start` at first; return the value of each, also of those hidden.

    With a `suffix` a field's key is NAME-SUFFIX; without, its value stands in the address as the parameter NAME.
    `offered` are the choices that are possible here, by name; of a free text, those that can be picked. Fields named in
    `more` are folded.
    """
    values, listed = dict(start), offered or {}
    folded = [field for field in fields if field.name in more]
    shown = [field for field in fields if field not in folded]
    for is_small, block in groupby(shown, lambda field: field.type in (int, float)):
        if is_small:
            with st.grid(4, min_column_width=120):
                for field in block:
                    _into(values, field, suffix, listed)
        else:
            for field in block:
                _into(values, field, suffix, listed)
    if any(field.counts(values) for field in folded):
        with st.expander("More", key=f"more-{folded[0].name}"):
            for field in folded:
                _into(values, field, suffix, listed)
    return {field.name: values[field.name] for field in fields}


def suggested_name(label: str, key: str, suggested: str, *, used_by: str | None = None) -> str:
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
    name: str = st.text_input(label, key=key, max_chars=200)
    return name.strip()


def _into(values: dict[str, Any], field: Field, suffix: str | None, offered: Mapping[str, Collection[str]]) -> None:
    before: Any = values.get(field.name)
    if not field.counts(values):
        values[field.name] = field.default
    elif field.type is dict:
        sign = f"{field.separator} "
        text: str = st.text_area(
            field.label, "\n".join(f"{name}{sign}{each}" for name, each in before.items()), help=field.help or None,
            key=f"{field.name}-{suffix}", placeholder=f"Authorization{sign}Bearer ${{TARGET_TOKEN}}", height=68,
        )  # fmt: skip
        pairs = (line.partition(field.separator) for line in text.splitlines() if line.strip())
        values[field.name] = {name.strip(): each.strip() for name, _, each in pairs}
    elif field.type is str:
        values[field.name] = _text(field, str(before), suffix, offered.get(field.name))
    else:
        high = field.high if field.high is not None else 2**31
        shown = field.type(min(max(before, field.low), high))
        keyed = _keyed(field.name, shown, suffix, address.number_within(int(field.low), int(high)), field.range())
        keyed |= {"step": field.type(field.step or 1), "help": field.help or None}
        values[field.name] = field.type(st.number_input(field.label, field.type(field.low), field.type(high), **keyed))


def _text(field: Field, value: str, suffix: str | None, offered: Collection[str] | None) -> str:
    explained = field.known()
    names = [name for name in explained if offered is None or name in offered]
    if not names:
        return _free(field, value, suffix, offered)
    kind, _, named = value.partition(":") if field.colon else (value, "", "")
    known = f"one of {', '.join(filter(None, names))}"
    shown = kind if kind in names else names[0]
    keyed = _keyed(field.name, shown, suffix, address.one_of(names), known)
    if len(names) <= OFTEN_SHORT:
        keyed |= {"default": keyed.pop("value")} if "value" in keyed else {}
        chosen = st.segmented_control(
            field.label, names, required=True, format_func=lambda name: _title(field, name), **keyed
        )
    else:
        keyed |= {"index": names.index(keyed.pop("value"))} if "value" in keyed else {}
        chosen = st.selectbox(field.label, names, format_func=lambda name: _title(field, name), **keyed)
    chosen = shown if chosen is None else str(chosen)
    if words := explained[chosen]:
        st.caption(plain(words))
    if not field.colon or chosen == field.default:
        return chosen
    more = st.text_input(
        f"{field.label}: name", named if chosen == kind else "", max_chars=field.high,
        key=f"{field.name}-name-{chosen}-{suffix}", help="Of a model, or the folder that holds it.",
    )  # fmt: skip
    return f"{chosen}:{more.strip()}" if more.strip() else chosen


def _free(field: Field, value: str, suffix: str | None, offered: Collection[str] | None) -> str:

    def fits(text: str) -> str | None:
        return text if len(text) <= (field.high or 1000) else None  # errors quote it

    keyed = _keyed(field.name, value, suffix, fits, "a name of usual length")
    if offered:
        keyed.pop("value", None)
        options = list(dict.fromkeys([*offered, st.session_state.get(keyed["key"], value)]))
        picked = st.selectbox(
            field.label, options, accept_new_options=True, help=field.help or None,
            format_func=lambda name: _title(field, "" if name == "none" else name), **keyed,
        )  # fmt: skip
        return (picked or "").strip()
    draw_text = st.text_area if field.many_lines else st.text_input
    placeholder = f"default: {field.unset}" if field.unset else "none"
    text: str = draw_text(field.label, max_chars=field.high, placeholder=placeholder, help=field.help or None, **keyed)
    return text.strip()


def _keyed(name: str, value: Any, suffix: str | None, read: Any, what: str) -> dict[str, Any]:
    if suffix is None:
        return address.bound(name, value, read, what)
    return {"key": f"{name}-{suffix}", "value": value}


def _title(field: Field, name: str) -> str:
    title = field.titles.get(name, name)
    named = title == name != "none" and (isinstance(field.choices, str) or not field.choices)
    return title if named else title[:1].upper() + title[1:]
