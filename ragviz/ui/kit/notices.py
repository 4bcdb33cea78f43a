"""What a page says instead of, or before, what was asked for: empty states, errors, questions before a deletion."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NoReturn

import streamlit as st

from ragviz.core import addresses
from ragviz.core.configuration import IndexInfo
from ragviz.core.errors import RagvizError
from ragviz.index import deletion, indexing
from ragviz.store import database
from ragviz.text.markup import plain, sentence
from ragviz.text.untrusted import without_keys
from ragviz.ui import address, cache

log = logging.getLogger("ragviz")


@contextmanager
def empty(sentence: str) -> Iterator[None]:
    """Draw an empty state: the sentence says what is missing, the body draws the buttons or links that make it."""
    with st.container(border=True):
        st.markdown(sentence)
        with st.container(horizontal=True, gap="small"):
            yield


def stop(sentence: str, *links: tuple[str, str]) -> NoReturn:
    """Draw an empty state with links, each a page and its label, and end the page."""
    with empty(sentence):
        for page, label in links:
            address.link(page, label)
    st.stop()


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the errors of the body in place: those raised on purpose by their message, defects by a short notice."""
    try:
        yield
    except RagvizError as error:
        st.error(sentence(str(error)))
    except Exception as error:
        if isinstance(error, OSError) and (explained := database.explained(error)) is not None:
            st.error(plain(str(explained)))
            return
        keys: tuple[str, ...] = ()
        with suppress(RagvizError):
            keys = cache.workspace().settings.keys
        log.error("A defect in ragviz\n%s", without_keys(addresses.within(traceback.format_exc()), keys))
        st.error(
            f"This part could not be shown: a defect in ragviz ({type(error).__name__}). The traceback is in the "
            "terminal that runs the app; please report it with what you did. The rest of the page works."
        )


def tabs(parts: Mapping[str, Callable[[], object]], key: str) -> None:
    """Draw parts as tabs by their names, of which only the open one is drawn: the parameter `tab` of the address.

    Where the address opens another tab than the person did, the tabs are a new widget: Streamlit 1.67 may mount the old
    one anew at that tab while the browser still sends the one that was left, as if the person had gone back to it.
    """
    names = list(parts)
    requested = address.readable("tab", address.one_of(names), f"one of {', '.join(names)}") or names[0]
    number = st.session_state.setdefault(key, 0)
    if st.session_state.get(f"{key}-{number}", requested) != requested:
        number = st.session_state[key] = number + 1
    widget = address.shows(f"{key}-{number}", requested, lambda name: {"tab": name})
    for tab, part in zip(st.tabs(names, **widget), parts.values(), strict=True):
        if tab.open:
            with tab, errors_shown():
                part()


def beside(key: str, *parts: Callable[[], object]) -> None:
    """Draw parts in columns beside each other; an error in one leaves the others as they are."""
    with st.container(key=f"beside-{key}"):
        for column, part in zip(st.columns(len(parts), gap="medium"), parts, strict=True):
            with column, errors_shown():
                part()


@contextmanager
def closable(key: str, close: Callable[[], object]) -> Iterator[None]:
    """Draw what became of something in a frame, by the body, with the button that closes it."""
    with st.container(border=True):
        yield
        if st.button("Close", key=key, type="tertiary"):
            close()
            st.rerun()


@st.dialog("Are you sure?")
def confirm(sentence: str, verb: str, action: Callable[..., object], box: str = "") -> None:
    """Ask once before something is deleted; `sentence` says what is deleted with it.

    With a label for a checkbox, `box`, `action` is called with whether it is ticked.
    """
    st.markdown(plain(sentence))
    ticked = [st.checkbox(plain(box), key="confirm-box")] if box else []
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Cancel", key="confirm-keep"):
            st.rerun()
        if st.button(verb, type="primary", key="confirm-do"):
            with errors_shown():
                action(*ticked)
                st.rerun()


def leaving(indexes: Iterable[IndexInfo]) -> str:
    """Return the label of the checkbox that deletes indexes here though not on their server, "" when all are local."""
    remote = [where for info in indexes if (where := deletion.remote(cache.workspace(), info))]
    return f"Also when the server cannot be reached: {'; '.join(remote)} then stay there." if remote else ""


def behind(index: IndexInfo) -> None:
    """Say how an index differs from its documents, with the way to update it; nothing where it does not."""
    if words := _behind_words(index):
        st.markdown(f":orange[▲] {plain(index.name)} is behind its documents ({words}): what changed is not found.")
        address.link("index", "Update the index", index=index.name)


@cache.kept(16, also=lambda index: (index.corpus_id,))
def _behind_words(index: IndexInfo) -> str:
    return indexing.behind_words(cache.workspace(), index)
