"""The frame around every page: its registration, the navigation, and the corpus that is picked in the sidebar."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException

from ragviz import logs
from ragviz.core.document import Corpus
from ragviz.core.errors import RagvizError
from ragviz.core.installation import dashboard_folder
from ragviz.text.markup import plain
from ragviz.ui import address, cache, job_panel, presentation, sign_ins, unsaved
from ragviz.ui.address import FRAMED, REMEMBERED, WARN_AGAIN, WARNED
from ragviz.ui.kit import acting, heading, notices
from ragviz.workspace import Workspace

NAVIGATION: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Build": {
        "documents": ("Documents", "description"),
        "index": ("Index", "database"),
        "questions": ("Questions", "quiz"),
        "health": ("Question set health", "health_metrics"),
    },
    "Evaluate": {
        "targets": ("Targets", "hub"),
        "run": ("Run", "play_circle"),
        "runs": ("Runs", "table_rows"),
        "results": ("Results", "bar_chart"),
        "compare": ("Compare", "balance"),
    },
    "System": {"home": ("Home", "home"), "settings": ("Settings", "settings")},
}
"""Section → page → title and Material icon."""
UNLISTED = {
    "audit": ("Audit", "history"),
    "inspect": ("Case", "manage_search"),
    "experiment": ("Experiment", "science"),
}
"""Pages without a link of their own: the audit is opened from Settings, a case from a list, an experiment from Runs."""

_CORPUS = "corpus"  # session state: the corpus that is picked
_PERSON = "acts"  # session state: the name of the person whose session this is
_TITLE = "page-title"  # session state: the title of the requested page


@contextmanager
def frame() -> Iterator[Any]:
    """Yield the requested page, to be run; its errors are shown, and its choices written to the address afterwards.

    A run that another one replaces writes nothing: the browser may be on another page already.
    """
    page = _register()
    st.session_state[FRAMED], st.session_state[_TITLE] = True, page.title
    arrived = address.note_page(page.url_path or "home")
    try:
        with notices.errors_shown():
            yield page
    except RerunException:
        address.forget_settled()
        arrived = False
        raise
    finally:
        st.session_state[FRAMED] = False
        address.write_address(again=arrived)
        address.note_drawn()
        cache.freeze()


def begin() -> Workspace:
    """Start a page: draw the sidebar, and return the workspace.

    Until a session has called `st.navigation`, Streamlit runs the files of a folder `pages` by themselves instead of
    through `frame.py`: on a new server's first visit by a deep link, and always in AppTest. Such a run is restarted.
    """
    if FRAMED not in st.session_state:
        _register()
        st.rerun()
    st.html(dashboard_folder() / "assets" / "marks.css")
    st.html(_FRAME_STYLE)
    asks = "event => event.preventDefault()" if unsaved.is_any() else "null"
    st.html(f"<script>{_ONE_ENTRY}window.onbeforeunload = {asks};</script>", unsafe_allow_javascript=True)
    try:
        workspace = cache.workspace()
        if st.session_state.setdefault(_PERSON, workspace.person.name) != workspace.person.name:
            st.session_state.clear()  # another person has taken over this session
            st.rerun()
        sidebar(workspace.store.corpora.all())
    except RagvizError as error:
        st.error(plain(str(error)))
        st.stop()
    if presentation.on():
        presentation.draw(current_corpus())
    logs.of_thread(person=workspace.person.name)
    return workspace


def _register() -> Any:
    assets = dashboard_folder() / "assets"  # else the page's icon is fetched from a server of fonts
    st.set_page_config(page_title="ragviz", page_icon=str(assets / "icon.svg"), layout="wide")
    st.logo(str(assets / "logo.svg"), icon_image=str(assets / "icon.svg"), size="large")
    pages = {
        section: [
            st.Page(f"pages/{name}.py", title=title, icon=f":material/{icon}:", url_path=name, default=name == "home")
            for name, (title, icon) in entries.items()
        ]
        for section, entries in {**NAVIGATION, "": UNLISTED}.items()
    }
    return st.navigation(pages, position="hidden")  # the sidebar's own links keep corpus, run and k in the address


_FRAME_STYLE = """<style>
.rv-section { font-size: .72rem; letter-spacing: .06em; text-transform: uppercase; opacity: .8; margin: .5rem 0 0; }
.rv-person { font-size: .875rem; opacity: .8; margin: 0; overflow-wrap: anywhere; }
.rv-cut { border-top: 1px dashed rgba(128, 136, 148, .8); font-size: .8rem; opacity: .75; margin: .2rem 0 0; }
.stMainBlockContainer { padding: 3rem 2.5rem 4rem; }
[data-testid="stSidebar"] [data-testid="stElementContainer"]:has(> [data-testid="stPageLink"]) { margin: 0; }
.stMain [data-testid="stPageLink"] a { padding: 0; }
.stMain [data-testid="stPageLink"] a, .stMain [data-testid="stPageLink"] a:hover { background: none; }
.stMain [data-testid="stPageLink"] a * { white-space: normal; overflow-wrap: anywhere; }
.stMain [data-testid="stPageLink"] a:hover { text-decoration: underline; }
[class*="st-key-job-card-"] [data-testid="stPageLink"] a { padding: 0; }
[class*="st-key-job-card-"] button[kind="tertiary"] { min-height: 1.6rem; }
[class*="st-key-job-card-"] summary p { overflow-wrap: anywhere; }
.st-key-present-begin button { padding: .25rem .5rem; }
.rv-verdict { font-size: 1.15rem; line-height: 1.45; margin: .1rem 0 .3rem; max-width: 62rem; }
.rv-shares { display: flex; gap: 2px; height: 10px; margin: -.35rem 0 -.25rem; }
.rv-shares i { min-width: 2px; border-radius: 2px; background: #0072B2; }
.rv-shares .rv-below-k { background: #8C8C8C; }
.rv-shares .rv-missed { background: repeating-linear-gradient(135deg, #D55E00 0 2px, transparent 2px 5px);
  box-shadow: inset 0 0 0 1px #D55E00; }
.rv-crumb { opacity: .75; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: inherit; }
[data-testid="stCaptionContainer"] { opacity: .8; }
[data-testid="stSelectbox"] input { text-overflow: ellipsis; }
:is([data-testid="stTextInput"], [data-testid="stNumberInput"]) [data-testid="InputInstructions"] { display: none; }
body:has([data-testid="stDialog"]) [data-testid="stMultiSelectDropdown"]:has([data-empty="true"]) { display: none; }
body:has([data-testid="stDialog"]) [data-testid="stPopoverBody"] { opacity: 0;
  pointer-events: none; }
.stApp kbd { opacity: .85; }
[data-testid="stCodeCopyButton"] { opacity: 1; }
[data-testid^="stBaseButton-primary"], [data-tag] { background-color: #0072B2; border-color: #0072B2; }
[data-testid^="stBaseButton-primary"]:hover { background-color: #00639B; border-color: #00639B; }
.stPlotlyChart :is(.xtick, .ytick, .annotation, .legend) text { fill: currentColor !important; }
.stPlotlyChart :is(.textpoint text, text:is(.xtitle, .ytitle, .bartext-outside)) { fill: currentColor !important; }
.stApp :is(a, button, summary, [role="tab"], [role="radio"]):focus-visible { outline: 2px solid currentColor;
  outline-offset: 2px; }
[class*="st-key-beside-"] [data-testid="stColumn"] { min-width: 420px; }
div[data-testid="stMetricDelta"], div[data-testid="stMetricDelta"] * { font-variant-numeric: tabular-nums;
  white-space: normal; overflow: visible; }
div[data-testid="stMetricDelta"] { border-radius: 6px; }
div[data-testid="stMetricValue"] { font-variant-numeric: tabular-nums; }
[data-testid="stMetric"] > div { display: flex; flex-wrap: wrap; align-items: center; align-content: flex-start;
  gap: 0 .6rem; padding: .5rem .75rem; }
[data-testid="stMetricLabel"] { flex: 0 0 100%; }
[data-testid="stMetricLabel"] .stMarkdownEllipsis, [data-testid="stMetricLabel"] p { white-space: normal;
  overflow: visible; }
[data-testid="stElementToolbarButton"]:has([aria-label^="Download as CSV"]) { display: none; }
.stApp button[kind="tertiary"]:is(:active, [aria-expanded="true"]) { color: inherit; }
.st-key-list-head h2 { padding: .83rem 0 1.17rem; }
[class*="st-key-above-"] { padding-right: 6rem; }
[class*="st-key-above-runs"] { padding-right: 7.5rem; }
[class*="st-key-beside-"] [class*="st-key-above-"], .st-key-scores-head { padding-top: .36rem; }
[class*="st-key-beside-"] .st-key-above-cases { padding-top: .8rem; }
</style>"""
"""Text and focus get the contrast that WCAG 2.2 AA requires, in both themes, which Streamlit's own captions, chart
labels and primary buttons lack. A tile's note stands beside its value where there is room. The tables' own "Download as
CSV" is hidden: it does not neutralise formulas, `table.download` does. A table's toolbar (5.5rem wide) covers the end
of what is above it while a cell has the focus. The row above a table is on a level with a heading beside it. "Press
Enter to submit form" is hidden: it lies over what is typed into a narrow field. In a dialog, an empty list of tags to
choose from is hidden: it says "No results", though new ones can be typed. A popover whose button opened a dialog is
hidden while that is open: it would lie over the dialog."""


_ONE_ENTRY = """
(() => {
  if (window.rvOneEntry) return;
  window.rvOneEntry = true;
  let acted = false;
  const act = () => { acted = true; };
  ['pointerdown', 'keydown'].forEach(name => window.addEventListener(name, act, { capture: true, passive: true }));
  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    const here = new URL(location.href), there = new URL(address ?? '', location.href);
    const kept = [...here.searchParams].every(([name, value]) => there.searchParams.get(name) === value);
    const own = here.pathname === there.pathname ? kept : here.search === there.search;
    if (here.href === there.href || (!acted && own)) return history.replaceState(state, title, address);
    acted = false;
    push(state, title, address);
  };
})();
"""
"""One entry of the browser's history for each arrival: what a page adds to its address by itself, with nobody having
pressed anything since the last entry, is written into that entry. So is the page that `st.switch_page` goes to:
Streamlit makes an entry of the old page with the new parameters before it, from which Back would lead here again.

`begin` adds that the browser asks before a reload, which begins a new session, while this one holds unsaved work."""


def sidebar(corpora: Sequence[Corpus]) -> None:
    """Draw corpus picker, jobs and navigation; `current_corpus` returns the corpus picked."""
    with st.sidebar:
        st.session_state[WARNED] = []
        for sentence in st.session_state.pop(WARN_AGAIN, []):
            address.warn(sentence)
        address.follow_renamed(cache.workspace().store.runs.names)
        names = [corpus.name for corpus in corpora]
        if (implied := _corpus_of_address()) is not None:
            address.settle("corpus", implied)
        name = address.chosen("corpus", names, noun="corpus")
        if names:
            st.session_state["choice-corpus"] = name
            st.selectbox("Corpus", names, key="choice-corpus", on_change=_change_corpus)
        picked = next((corpus for corpus in corpora if corpus.name == name), None)
        job_panel.jobs_panel(picked.id if picked else "")
        for section, pages in NAVIGATION.items():
            st.html(f'<p class="rv-section">{section}</p>')
            with st.container(gap="xxsmall"):
                for page, (title, icon) in pages.items():
                    path, material = f"pages/{page}.py", f":material/{icon}:"
                    st.page_link(
                        path, label=title, icon=material, query_params=address.query_of(page, {}), width="stretch"
                    )
        presentation.entry(picked)
        if sign_ins.access() is not None:
            person = cache.workspace().person
            words = html.escape(f"{person.name}, {person.role}. {acting.words()}")
            st.html(f'<p class="rv-person">{words}</p>')
            if st.user.get("is_logged_in"):
                st.button("Sign out", on_click=st.logout, type="tertiary", key="sign-out")
    st.session_state[_CORPUS] = picked


def _change_corpus() -> None:
    """Switch to another corpus; parameters that name runs, indexes and documents of the old one are removed."""
    others = dict.fromkeys([*st.query_params, *st.session_state.get(REMEMBERED, {})])
    address.put(**others | {"corpus": st.session_state["choice-corpus"]})


def current_corpus() -> Corpus | None:
    """Return the corpus picked in the sidebar, None when there is none at all."""
    corpus: Corpus | None = st.session_state.get(_CORPUS)
    return corpus


def _corpus_of_address() -> str | None:
    store = cache.workspace().store
    look_ups: dict[str, Callable[[str], Any]] = {
        "run": store.runs.get,
        "index": store.indexes.get,
        "set": store.sets.get,
        "experiment": store.experiments.get,
        "runs": lambda names: store.runs.get(names.split(",")[0]),
    }
    for param, look_up in look_ups.items():
        if (name := st.query_params.get(param)) and "corpus" not in st.query_params:
            try:
                return store.corpora.get(look_up(name).corpus_id).name
            except RagvizError:
                continue
    return None


def need_corpus() -> Corpus:
    """Return the corpus picked; when there is none, say so with links that make one, and end the page."""
    corpus = current_corpus()
    if corpus is None:
        heading.header(st.session_state.get(_TITLE, ""))
        notices.stop(
            "There is no corpus yet. A corpus is a named set of documents that are indexed and queried together.",
            ("documents", "Create one and add documents"), ("home", "Load the sample"),
        )  # fmt: skip
    return corpus
