"""The frame around every page: its registration, the navigation, and the corpus that is picked in the sidebar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from ragviz.errors import RagvizError
from ragviz.records import Corpus
from ragviz.text.markup import STYLE, plain
from ragviz.ui import address, cache, job_panel, widgets
from ragviz.ui.address import FRAMED, REMEMBERED, WARN_AGAIN, WARNED
from ragviz.workspace import Workspace

NAVIGATION: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Build": {
        "documents": ("Documents", "description"),
        "index": ("Index", "database"),
        "questions": ("Questions", "quiz"),
    },
    "Evaluate": {
        "run": ("Run", "play_circle"),
        "results": ("Results", "bar_chart"),
        "inspect": ("Inspect", "manage_search"),
        "compare": ("Compare", "balance"),
    },
    "System": {"home": ("Home", "home"), "settings": ("Settings", "settings")},
}
"""Section → page → title and Material icon."""

_CORPUS = "corpus"  # session state: the corpus that is picked


@contextmanager
def frame() -> Iterator[Any]:
    """Yield the requested page, to be run; its errors are shown, and its choices written to the address afterwards."""
    page = _register()
    st.session_state[FRAMED] = True
    try:
        with widgets.errors_shown():
            yield page
    finally:
        st.session_state[FRAMED] = False
        address.write_address()


def begin() -> Workspace:
    """Start a page: draw the sidebar, and return the workspace.

    Until a session has called `st.navigation`, Streamlit runs the files of a folder `pages` by themselves instead of
    through `frame.py`: on a new server's first visit by a deep link, and always in AppTest. Such a run is restarted.
    """
    if FRAMED not in st.session_state:
        _register()
        st.rerun()
    st.html(STYLE + _FRAME_STYLE)
    try:
        sidebar(cache.workspace().store.corpora())
    except RagvizError as error:
        st.error(plain(str(error)))
        st.stop()
    return cache.workspace()


def _register() -> Any:
    """Register all pages, and return the requested one."""
    st.set_page_config(page_title="ragviz", page_icon="assets/icon.svg", layout="wide")
    st.logo("assets/logo.svg", icon_image="assets/icon.svg", size="large")
    pages = {
        section: [
            st.Page(f"pages/{name}.py", title=title, icon=f":material/{icon}:", url_path=name, default=name == "home")
            for name, (title, icon) in entries.items()
        ]
        for section, entries in NAVIGATION.items()
    }
    return st.navigation(pages, position="hidden")  # the sidebar's own links keep corpus, run and k in the address


_FRAME_STYLE = """<style>
.rv-section { font-size: .72rem; letter-spacing: .06em; text-transform: uppercase; opacity: .62; margin: .5rem 0 0; }
.rv-cut { border-top: 1px dashed rgba(128, 136, 148, .8); font-size: .8rem; opacity: .75; margin: .2rem 0 0; }
.stMainBlockContainer { padding-left: 2.5rem; padding-right: 2.5rem; }
.stMain [data-testid="stPageLink"] a { padding: 0; }
.stMain [data-testid="stPageLink"] a, .stMain [data-testid="stPageLink"] a:hover { background: none; }
.stMain [data-testid="stPageLink"] a:hover { text-decoration: underline; }
.rv-crumb { opacity: .5; }
[class*="st-key-claims-"] button, [class*="st-key-claims-"] button > div { justify-content: flex-start; }
[class*="st-key-claims-"] button p { text-align: left; font-size: .88rem; line-height: 1.4; }
.st-key-inspected [data-testid="stColumn"] { min-width: 290px; }
div[data-testid="stMetricDelta"], div[data-testid="stMetricDelta"] * { font-variant-numeric: tabular-nums;
  white-space: normal; overflow: visible; }
div[data-testid="stMetricValue"] { font-variant-numeric: tabular-nums; }
[data-testid="stElementToolbarButton"]:has([aria-label^="Download as CSV"]) { display: none; }
[class*="st-key-above-"] { padding-right: 6rem; }
</style>"""
"""The tables' own "Download as CSV" is hidden: it does not neutralise formulas, `csv_button` does. A table's toolbar
(5.5rem wide) covers the end of what is above it while a cell has the focus."""


def sidebar(corpora: Sequence[Corpus]) -> None:
    """Draw corpus picker, jobs and navigation; `current_corpus` returns the corpus picked."""
    with st.sidebar:
        st.session_state[WARNED] = []
        for sentence in st.session_state.pop(WARN_AGAIN, []):
            address.warn(sentence)
        names = [corpus.name for corpus in corpora]
        if (implied := _corpus_of_address()) is not None:
            address.settle("corpus", implied)
        name = address.chosen("corpus", names, noun="corpus")
        if names:
            st.session_state["choice-corpus"] = name
            st.selectbox("Corpus", names, key="choice-corpus", on_change=_change_corpus)
        job_panel.jobs_panel()
        for section, pages in NAVIGATION.items():
            st.html(f'<p class="rv-section">{section}</p>')
            with st.container(gap="xxsmall"):
                for page, (title, icon) in pages.items():
                    path, material = f"pages/{page}.py", f":material/{icon}:"
                    st.page_link(
                        path, label=title, icon=material, query_params=address.query_of(page, {}), width="stretch"
                    )
    st.session_state[_CORPUS] = next((corpus for corpus in corpora if corpus.name == name), None)


def _change_corpus() -> None:
    """Switch to another corpus; parameters that name runs, indexes and documents of the old one are removed."""
    others = dict.fromkeys([*st.query_params, *st.session_state.get(REMEMBERED, {})])
    address.put(**others | {"corpus": st.session_state["choice-corpus"]})


def current_corpus() -> Corpus | None:
    """Return the corpus picked in the sidebar, None when there is none at all."""
    corpus: Corpus | None = st.session_state.get(_CORPUS)
    return corpus


def _corpus_of_address() -> str | None:
    """Return the name of the corpus to which the run, index or question set of the address belongs."""
    store = cache.workspace().store
    look_ups: dict[str, Callable[[str], Any]] = {
        "run": store.run,
        "index": store.index,
        "set": store.question_set,
        "runs": lambda names: store.run(names.split(",")[0]),
    }
    for param, look_up in look_ups.items():
        if (name := st.query_params.get(param)) and "corpus" not in st.query_params:
            try:
                return store.corpus(look_up(name).corpus_id).name
            except RagvizError:
                continue
    return None


def need_corpus() -> Corpus:
    """Return the corpus picked; when there is none, say so with links that make one, and end the page."""
    corpus = current_corpus()
    if corpus is None:
        with widgets.nothing(
            "There is no corpus yet. A corpus is a named set of documents that are indexed and queried together."
        ):
            address.link("documents", "Create one and add documents")
            address.link("home", "Load the sample")
        st.stop()
    return corpus
