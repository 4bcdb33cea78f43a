"""The frame around the pages: navigation, sidebar, heading.

The address is the state. A choice that changes the picture stands in the query string; widgets are set from it and
write to it, so that back, reload and a pasted link show the same view. What the address does not name is what was
looked at last in this session, else the first there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from ragviz.errors import RagvizError
from ragviz.records import Corpus, Run, digest
from ragviz.text.markup import STYLE, plain
from ragviz.ui import address, cache, job_panel, widgets
from ragviz.ui.address import FRAMED, REMEMBERED, TOLD, TOLD_AGAIN
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

Crumb = tuple[str, str, Mapping[str, str]]
"""Page, label and parameters of a link that tells where one is."""

_CORPUS = "corpus"  # session state: the corpus that is looked at


@contextmanager
def frame() -> Iterator[Any]:
    """Give the page asked for, to be run; what goes wrong in it is told, and what it settled on put in the address."""
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

    Streamlit runs the files of a folder `pages` by themselves, not through `frame.py`, until some session called
    `st.navigation`. A new server that is first visited by a deep link does, and is started again; AppTest always does.
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
    """Register all pages, and return the one asked for."""
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
"""Tables' own "Download as CSV" is hidden: it writes formulas as they are, `csv_button` does not. A table's toolbar
(5.5rem wide) floats over the end of what stands above it, as long as a cell has the focus."""


def sidebar(corpora: Sequence[Corpus]) -> None:
    """Draw corpus picker, running jobs and navigation; `current_corpus` is the one picked."""
    with st.sidebar:
        st.session_state[TOLD] = []
        for sentence in st.session_state.pop(TOLD_AGAIN, []):
            address.tell(sentence)
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
    """Look at another corpus: what the address tells of the old one's runs, indexes and documents goes."""
    others = dict.fromkeys([*st.query_params, *st.session_state.get(REMEMBERED, {})])
    address.put(**others | {"corpus": st.session_state["choice-corpus"]})


def current_corpus() -> Corpus | None:
    """Return the corpus that is looked at, None when there is none at all."""
    found: Corpus | None = st.session_state.get(_CORPUS)
    return found


def _corpus_of_address() -> str | None:
    """Name of the corpus to which the run, index or question set of the address belongs."""
    store = cache.workspace().store
    looked_up: dict[str, Callable[[str], Any]] = {
        "run": store.run,
        "index": store.index,
        "set": store.question_set,
        "runs": lambda names: store.run(names.split(",")[0]),
    }
    for param, look_up in looked_up.items():
        if (name := st.query_params.get(param)) and "corpus" not in st.query_params:
            try:
                return store.corpus(look_up(name).corpus_id).name
            except RagvizError:
                continue
    return None


def from_the_top(subject: str) -> None:
    """Scroll up when another `subject` is shown than before: Streamlit keeps the place of what was looked at last.

    Until the page is drawn, that is: what is drawn late can move it again. The person's own scrolling ends it.
    """
    st.html(f"<script>{_TO_THE_TOP} // {digest(subject)}</script>", unsafe_allow_javascript=True)


_TO_THE_TOP = """
(() => {
  const main = document.querySelector('[data-testid=stMain]');
  const app = document.querySelector('[data-testid=stApp]');
  const ends = ['wheel', 'touchstart', 'pointerdown', 'keydown'];
  let left = 5;
  const leave = () => { left = 0; };
  ends.forEach(name => window.addEventListener(name, leave, { once: true, passive: true }));
  const step = () => {
    if (left <= 0) return ends.forEach(name => window.removeEventListener(name, leave));
    main.scrollTo(0, 0);
    if (app.dataset.testScriptState !== 'running') left -= 1;
    setTimeout(step, 100);
  };
  step();
})();
"""


def breadcrumb(crumbs: Sequence[Crumb]) -> None:
    """Draw where one is, as links."""
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="center"):
        for place, (page, label, params) in enumerate(crumbs):
            if place:
                st.html('<span class="rv-crumb">›</span>', width="content")
            address.link(page, label, **params)


def crumbs_of(run: Run, corpus: Corpus) -> list[Crumb]:
    """Return what a run rests on: its documents and its index; a run that was judged elsewhere has none."""
    if not run.provenance["index_config"]:
        return [("documents", corpus.name, {"corpus": corpus.name})]
    index = run.provenance["index"]
    return [("documents", corpus.name, {"corpus": corpus.name}), ("index", index, {"index": index})]


def header(title: str, lead: str = "", *, crumbs: Sequence[Crumb] = ()) -> Any:
    """Draw where one is, the page's subject, and its question in one line.

    Returns the place beside the title, for what chooses the subject.
    """
    if crumbs:
        breadcrumb(crumbs)
    with st.container(horizontal=True, vertical_alignment="bottom", wrap=True):
        with st.container(width="stretch"):
            st.title(plain(title), anchor=False)
        beside = st.container(horizontal=True, vertical_alignment="bottom", width="content", gap="small")
    if lead:
        st.caption(plain(lead))
    return beside


def need_corpus() -> Corpus:
    """Return the corpus that is looked at, or say that there is none, with two ways to get one, and end the page."""
    corpus = current_corpus()
    if corpus is None:
        with widgets.nothing(
            "There is no corpus yet. A corpus is a named set of documents, indexed and asked together."
        ):
            address.link("documents", "Create one and add documents")
            address.link("home", "Load the sample")
        st.stop()
    return corpus
