"""The heading of a page: breadcrumb, title, and the scroll position that goes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.digests import digest
from ragviz.core.document import Corpus
from ragviz.text.markup import plain
from ragviz.ui import address

Crumb = tuple[str, str, Mapping[str, str]]
"""Page, label and parameters of a link in the breadcrumb."""


def breadcrumb(crumbs: Sequence[Crumb]) -> None:
    """Draw links to what the page rests on."""
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center"):
        for place, (page, label, params) in enumerate(crumbs):
            if place:
                st.html('<span class="rv-crumb">›</span>', width="content")
            address.link(page, label, **params)


def crumbs_of(run: Run, corpus: Corpus) -> list[Crumb]:
    """Return the crumbs of a run: its documents and its index; an imported run has no index."""
    if not run.provenance["index_config"]:
        return [("documents", corpus.name, {"corpus": corpus.name})]
    index = run.provenance["index"]
    return [("documents", corpus.name, {"corpus": corpus.name}), ("index", index, {"index": index})]


def header(title: str, lead: str = "", *, crumbs: Sequence[Crumb] = ()) -> Any:
    """Draw breadcrumb, title and a lead of one line, and return the container beside the title, for its pickers."""
    if crumbs:
        breadcrumb(crumbs)
    with st.container(horizontal=True, vertical_alignment="bottom", wrap=True):
        with st.container(width="stretch"):
            st.title(plain(title), anchor=False)
        beside = st.container(horizontal=True, vertical_alignment="bottom", width="content", gap="small")
    if lead:
        st.caption(plain(lead))
    return beside


def section(title: str) -> None:
    """Draw the title of a part of the page, a heading of the second level; `title` is markdown."""
    st.header(title, anchor=False)


def scroll_to_top(subject: str) -> None:
    """Scroll the page to the top when `subject`, what the page shows, has changed: Streamlit keeps the old position.

    The browser scrolls repeatedly until the page is completely drawn, because elements that are drawn late move the
    position again, and stops as soon as the user scrolls, clicks or presses a key.
    """
    scroll_by("main.scrollTo(0, 0);", subject)


def scroll_into_view(anchor: str, subject: str) -> None:
    """Scroll the page to the element with the id `anchor`, once for each `subject`, as `scroll_to_top` does."""
    scroll_by(_TO_THE_ANCHOR.replace("ANCHOR", anchor), subject)


def scroll_by(script: str, subject: str) -> None:
    """Execute a script that scrolls `main`, again and again as `scroll_to_top` does, once for each `subject`."""
    st.html(f"<script>{_SCROLL.replace('SCRIPT', script)} // {digest(subject)}</script>", unsafe_allow_javascript=True)


def follow(
    anchor: str, filters: Mapping[str, str], subject: str = "", *, came_from: str | None = None, returns: bool = False
) -> None:
    """Scroll to `anchor` when `filters`, which choose what stands there, have changed, and on arrival with some.

    On arrival (from the page `came_from`) without filters, scroll to the top: Streamlit keeps the position of the page
    before; but to the anchor when the person `returns` from what was opened there.
    """
    followed: dict[str, tuple[Mapping[str, str], int]] = st.session_state.setdefault("followed", {})
    before, turn = followed.get(anchor, ({}, 0))
    turn += bool(came_from or (filters and filters != before))
    followed[anchor] = filters, turn
    if returns or filters:  # the same script is not executed again while the page stays
        scroll_into_view(anchor, f"{subject} {turn}")
    elif came_from:
        scroll_to_top(f"{subject} {turn}")


_TO_THE_ANCHOR = """{
      const at = document.getElementById('ANCHOR');
      if (at) main.scrollTo(0, main.scrollTop + at.getBoundingClientRect().top - main.getBoundingClientRect().top - 64);
    }"""
_SCROLL = """
(() => {
  const main = document.querySelector('[data-testid=stMain]');
  const app = document.querySelector('[data-testid=stApp]');
  const ends = ['wheel', 'touchstart', 'pointerdown', 'keydown'];
  let left = 6;
  const leave = () => { left = 0; };
  ends.forEach(name => window.addEventListener(name, leave, { once: true, passive: true }));
  const step = () => {
    if (left <= 0) return ends.forEach(name => window.removeEventListener(name, leave));
    SCRIPT
    if (app.dataset.testScriptState !== 'running') left -= 1;
    setTimeout(step, 100);
  };
  step();
})();
"""
