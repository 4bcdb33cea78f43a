"""What the pages share, and the only room that imports streamlit: caches, address, frame, tiles, tables, jobs, errors.

The address is the state. A choice that changes the picture stands in the query string; widgets are set from it and
write to it, so that back, reload and a pasted link show the same view. What the address does not name is what was
looked at last in this session, else the first there is.
"""

from __future__ import annotations

import logging
import os
import re
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Literal, NamedTuple, TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ragviz import jobs
from ragviz.analysis import diagnose, evaluate
from ragviz.analysis.evaluate import Slice, Summary
from ragviz.errors import NotFoundError, RagvizError
from ragviz.index import indexing
from ragviz.index.indexing import Found
from ragviz.judging.context import sentences_of
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.questions.interchange import csv_of
from ragviz.records import (
    Bearing,
    Chunk,
    Corpus,
    Estimate,
    Evidence,
    Hit,
    IndexInfo,
    Job,
    Question,
    Retrieved,
    Run,
    Score,
    Span,
    digest,
)
from ragviz.report import plots
from ragviz.runs import running
from ragviz.scheduler import forecast
from ragviz.store import disk
from ragviz.text import addresses
from ragviz.text.keys import without_keys
from ragviz.text.markup import STYLE, Lit, around, badges, highlighted, plain, score_bar, shortened, visible
from ragviz.workspace import Workspace, open_workspace

log = logging.getLogger("ragviz")

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
Crumb = tuple[str, str, Mapping[str, str]]
"""Page, label and parameters of a link that tells where one is."""

_REMEMBERED = "remembered"  # session state: the last value of every parameter
_CHOSEN = "chosen"  # session state: what each parameter came to at the last look
_TOLD = "told-gone"  # session state: what this drawing of the page told to be gone
_TOLD_AGAIN = "tell-gone"  # session state: what it is to tell that the one before, which was given up, told
_CORPUS = "corpus"  # session state: the corpus that is looked at
_SETTLED = "settled"  # session state: parameters that the address does not hold yet
_FRAMED = "framed"  # session state: this run goes through `frame.py`
_PUT_AWAY = "put-away"  # session state: ids of the jobs whose outcome was read, or dismissed
_WATCHED = "watched"  # session state: titles of the jobs that were going on at the last look, by id
_VANISHED = "vanished"  # session state: titles of those that are gone since, by id
_OFFERED = "offered"  # session state: titles of the jobs that can be resumed, as they were last drawn, by id
_ENDED = "ended"  # session state: when the last job ended, as it was at the last look

MISSES_EXPLAINED = (
    "Questions none of whose gold chunks is in the ranking, however deep one looks. No k can save them: change chunks, "
    "embedder or retriever."
)


# Caches


@st.cache_resource(show_spinner=False)
def workspace() -> Workspace:
    """Open what the environment configures, once for all sessions of this server."""
    os.umask(0o077)  # what is kept is for this user alone
    return open_workspace()


class State(NamedTuple):
    """What a page shows (ids), and how often that was changed so far: what is kept of it is keyed by this.

    Every argument of a cached function is part of its key: Streamlit leaves out those that begin with an underscore.
    """

    store: str
    ids: tuple[str, ...]
    revisions: tuple[int, ...]


def state(*ids: str) -> State:
    """State of corpora, indexes, question sets or runs now: one look-up by key, for every drawing of a page."""
    store = workspace().store
    return State(store.address, ids, store.revisions(*ids))


def summary(run: Run, k: int | None = None) -> Summary:
    """What a run measured at `k` (default: its own), computed once."""
    return _summary(state(run.id), k or run.config.k)


@st.cache_data(show_spinner="Measuring", max_entries=64)
def _summary(of: State, k: int) -> Summary:
    return running.summary_of(workspace(), workspace().store.run(of.ids[0]), k)


def documents_of(run: Run) -> dict[str, Sequence[str]]:
    """Names of the documents in which the evidence of each question of a run stands, by question id."""
    return _documents_of(state(run.id, run.corpus_id))


@st.cache_data(show_spinner=False, max_entries=64)
def _documents_of(of: State) -> dict[str, Sequence[str]]:
    store, (run_id, corpus_id) = workspace().store, of.ids
    names = {d.id: d.name for d in store.documents(corpus_id, replaced=True)}
    return {
        q.id: list(dict.fromkeys(names.get(s.document_id, "(deleted)") for group in q.evidence for s in group))
        for q in store.asked(run_id)
    }


def breakdown(run: Run, k: int) -> list[Slice]:
    """Every mean of a run at `k`: over all questions, per kind, and per document."""
    return _breakdown(state(run.id, run.corpus_id), k)


@st.cache_data(show_spinner="Measuring per kind and document", max_entries=32)
def _breakdown(of: State, k: int) -> list[Slice]:
    run = workspace().store.run(of.ids[0])
    asked = [question for question, _ in answered(run).values()]
    return evaluate.breakdown(summary(run, k), judgement(run).scores, asked, documents_of(run), seed=run.config.seed)


def answered(run: Run) -> dict[str, tuple[Question, Retrieved]]:
    """What a run asked and found, by question id, in order."""
    return _answered(state(run.id))


@st.cache_data(show_spinner=False, max_entries=16)
def _answered(of: State) -> dict[str, tuple[Question, Retrieved]]:
    store, run_id = workspace().store, of.ids[0]
    results = running.results_of(workspace(), store.run(run_id))
    pairs = zip(store.asked(run_id), results, strict=True)
    return {question.id: (question, found) for question, found in pairs}


def judgement(run: Run) -> running.Judgement:
    """What became of a run's answers, summed up once; shared by all sessions, and not to be changed."""
    return _judgement(state(run.id))


@st.cache_resource(show_spinner="Reading what was judged", max_entries=8)
def _judgement(of: State) -> running.Judgement:
    return running.judgement_of(workspace(), workspace().store.run(of.ids[0]))


# The address


def put(**values: str | int | None) -> None:
    """Write parameters into the address, as one step that the browser's back button takes back; None takes one out."""
    remembered = st.session_state.setdefault(_REMEMBERED, {})
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
    remembered = st.session_state.setdefault(_REMEMBERED, {})
    if value is None:
        remembered.pop(name, None)
    else:
        remembered[name] = value
        if st.query_params.get(name) != value:
            st.session_state.setdefault(_SETTLED, {})[name] = value
        if not st.session_state.get(_FRAMED):
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
    remembered = st.session_state.get(_REMEMBERED, {}).get(name)
    value = first_of((wanted, remembered, default), options)
    chosen_before = st.session_state.setdefault(_CHOSEN, {})
    before, chosen_before[name] = chosen_before.get(name), value
    if wanted is not None and wanted == before and wanted not in options:
        st.session_state[_TOLD_AGAIN] = st.session_state.get(_TOLD, [])
        st.rerun()  # deleted since it was shown: what was clicked was meant for it, and for nothing else
    if wanted is not None and wanted != value:
        there = f"; this is “{plain(value)}”" if value is not None else ""
        _tell(f"There is no {noun or name} called “{quoted(wanted)}” here{there}.")
    settle(name, value)
    return value


def _tell(sentence: str) -> None:
    """Warn of what is gone. It is told again when the page is drawn anew at once, for another thing that is gone."""
    st.warning(sentence)
    st.session_state.setdefault(_TOLD, []).append(sentence)


def suggested_name(label: str, key: str, suggested: str, explained: str | None = None) -> str:
    """The name typed into a field, else the suggestion; one that changes meanwhile leaves what was typed as it is.

    Whoever uses the name up takes `KEY-suggested` out of the session, and the next one is suggested anew.
    """
    typed, before = st.session_state.get(key, ""), st.session_state.get(f"{key}-suggested")
    st.session_state[key] = suggested if before is None or typed in ("", before) else typed
    st.session_state[f"{key}-suggested"] = suggested
    name: str = st.text_input(label, key=key, max_chars=200, help=explained)
    return name.strip()


def still_there(key: str, options: Sequence[str], noun: str) -> None:
    """Let a click do nothing when what the select box `key` showed is gone, and say so; call it before the box."""
    held, gone = st.session_state.get(key), f"{key}-gone"
    if held is not None and held not in options:
        del st.session_state[key]
        st.session_state[gone] = held
        st.rerun()
    if (name := st.session_state.pop(gone, None)) is not None:
        st.warning(f"The {noun} “{quoted(name)}” was deleted meanwhile: nothing was done. Choose again.")


def chosen_number(name: str, low: int, high: int, default: int) -> int:
    """Return the whole number of the address, else of this session, else `default`, kept between `low` and `high`.

    An address that holds another is told.
    """
    wanted, remembered = st.query_params.get(name), st.session_state.get(_REMEMBERED, {}).get(name)
    value = number_of((wanted, remembered), low, high, default)
    if wanted is not None and wanted != str(value):
        st.warning(f"“{quoted(wanted)}” cannot be {name} here, which is {low} to {high:,}: this is {value:,}.")
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
        st.warning(f"“{quoted(text)}” cannot be {name} here, which is {what}.")
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


def quoted(text: str) -> str:
    """What an address holds, as a sentence tells it: its beginning."""
    return plain(shortened(text, 80))


def go_to(page: str, **params: str | int | None) -> None:
    """Leave for another page, at once; a parameter that is None is forgotten."""
    for name in [name for name, value in params.items() if value is None]:
        st.session_state.get(_REMEMBERED, {}).pop(name, None)
    st.switch_page(f"pages/{page}.py", query_params=_query(page, params))


def link(page: str, label: str, **params: str | int | None) -> None:
    """Draw a link to another page with these parameters; what else the page takes is what was looked at last."""
    st.page_link(f"pages/{page}.py", label=f":blue[{plain(label)}]", query_params=_query(page, params))


def _query(page: str, params: Mapping[str, str | int | None]) -> dict[str, str]:
    remembered = st.session_state.get(_REMEMBERED, {})
    carried = {name: remembered[name] for name in _CARRIED.get(page, ()) if name in remembered}
    given = {name: str(value) for name, value in params.items() if value is not None}
    return {name: value for name, value in (carried | given).items() if params.get(name, value) is not None}


# The frame


@contextmanager
def frame() -> Iterator[Any]:
    """Give the page asked for, to be run; what goes wrong in it is told, and what it settled on put in the address."""
    page = _register()
    st.session_state[_FRAMED] = True
    try:
        with errors_shown():
            yield page
    finally:
        st.session_state[_FRAMED] = False
        write_address()


def begin() -> Workspace:
    """Start a page: draw the sidebar, and return the workspace.

    Streamlit runs the files of a folder `pages` by themselves, not through `frame.py`, until some session called
    `st.navigation`. A new server that is first visited by a deep link does, and is started again; AppTest always does.
    """
    if _FRAMED not in st.session_state:
        _register()
        st.rerun()
    st.html(STYLE + _FRAME_STYLE)
    try:
        sidebar(workspace().store.corpora())
    except RagvizError as error:
        st.error(plain(str(error)))
        st.stop()
    return workspace()


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
        st.session_state[_TOLD] = []
        for sentence in st.session_state.pop(_TOLD_AGAIN, []):
            _tell(sentence)
        names = [corpus.name for corpus in corpora]
        if (implied := _corpus_of_address()) is not None:
            settle("corpus", implied)
        name = chosen("corpus", names, noun="corpus")
        if names:
            st.session_state["choice-corpus"] = name
            st.selectbox("Corpus", names, key="choice-corpus", on_change=_change_corpus)
        jobs_panel()
        for section, pages in NAVIGATION.items():
            st.html(f'<p class="rv-section">{section}</p>')
            with st.container(gap="xxsmall"):
                for page, (title, icon) in pages.items():
                    path, material = f"pages/{page}.py", f":material/{icon}:"
                    st.page_link(path, label=title, icon=material, query_params=_query(page, {}), width="stretch")
    st.session_state[_CORPUS] = next((corpus for corpus in corpora if corpus.name == name), None)


def _change_corpus() -> None:
    """Look at another corpus: what the address tells of the old one's runs, indexes and documents goes."""
    others = dict.fromkeys([*st.query_params, *st.session_state.get(_REMEMBERED, {})])
    put(**others | {"corpus": st.session_state["choice-corpus"]})


def current_corpus() -> Corpus | None:
    """Return the corpus that is looked at, None when there is none at all."""
    found: Corpus | None = st.session_state.get(_CORPUS)
    return found


def _corpus_of_address() -> str | None:
    """Name of the corpus to which the run, index or question set of the address belongs."""
    store = workspace().store
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
            link(page, label, **params)


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
        with nothing("There is no corpus yet. A corpus is a named set of documents, indexed and asked together."):
            link("documents", "Create one and add documents")
            link("home", "Load the sample")
        st.stop()
    return corpus


@contextmanager
def nothing(sentence: str) -> Iterator[None]:
    """Empty state: what is missing; the body gives the buttons or links that make it."""
    with st.container(border=True):
        st.markdown(sentence)
        with st.container(horizontal=True, gap="small"):
            yield


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what goes wrong in the body in place: errors on purpose as their sentence, others with a short apology."""
    try:
        yield
    except RagvizError as error:
        st.error(plain(str(error)))
    except Exception as error:
        if isinstance(error, OSError) and (refused := disk.told(error)) is not None:
            st.error(plain(str(refused)))
            return
        log.error("A defect in ragviz\n%s", _traceback())
        st.error(
            f"This part could not be shown: a defect in ragviz ({type(error).__name__}). The traceback is in the "
            "terminal that runs the app; please report it with what you did. The rest goes on working."
        )


def _traceback() -> str:
    """The traceback of what went wrong, without keys and passwords."""
    keys: tuple[str, ...] = ()
    with suppress(RagvizError):
        keys = workspace().settings.keys
    return without_keys(addresses.within(traceback.format_exc()), keys)


@st.dialog("Are you sure?")
def confirm(
    sentence: str, verb: str, action: Callable[[], object], box: str = "", ticked: Callable[[], object] | None = None
) -> None:
    """Ask once before something is destroyed; `sentence` says what goes with it.

    When the `box` of these words is ticked, `ticked` is done instead of `action`; without words there is no box.
    """
    st.markdown(plain(sentence))
    if box and ticked and st.checkbox(plain(box), key="confirm-box"):
        action = ticked
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep", key="confirm-keep"):
            st.rerun()
        if st.button(verb, type="primary", key="confirm-do"):
            with errors_shown():
                action()
                st.rerun()


def leaving(indexes: Iterable[IndexInfo]) -> str:
    """Words of the box that lets indexes be deleted here whose server cannot be asked; "" when all are here."""
    left = [each for info in indexes if (each := indexing.remote(workspace(), info))]
    return f"Also when the server cannot be asked: {'; '.join(left)} then stay there." if left else ""


# Tiles, tables and figures


def tiles() -> Any:
    """Return the row for tiles, four of them where there is room."""
    return st.grid(4, min_column_width=140)


def tile(label: str, value: str, note: str = "", *, explained: str | None = None) -> None:
    """One number with what it needs to be read: range or interval, and n."""
    st.metric(
        label,
        value,
        delta=note or None,
        delta_color="off",
        delta_arrow="off",
        help=explained,
        border=True,
        height="stretch",
    )


def estimate_tile(label: str, estimate: Estimate, *, explained: str | None = None, better: str = "↑") -> None:
    """A mean with its 95 % interval, its n, and which way is better."""
    value, note = estimate_words(estimate)
    tile(f"{label} {better}".strip(), value, note, explained=explained)


def estimate_words(estimate: Estimate) -> tuple[str, str]:
    """Value and note of a tile.

    >>> estimate_words(Estimate(0.8333, 0.741, 0.899, 80))
    ('0.83', '[0.74, 0.90] · n = 80')
    >>> estimate_words(Estimate(None, None, None, 0))
    ('–', 'no question has it')
    """
    if estimate.mean is None:
        return "–", "no question has it"
    return f"{estimate.mean:.2f}", f"[{estimate.low:.2f}, {estimate.high:.2f}] · n = {estimate.n:,}"


def figure(drawn: go.Figure, key: str, *, on_select: Callable[[], None] | None = None) -> None:
    """Show a figure of `plots`; with `on_select` its points can be clicked, and `st.session_state[key]` tells which."""
    alt = (drawn.layout.meta or {}).get("alt")
    if on_select is None:
        st.plotly_chart(drawn, key=key, config=plots.CONFIG, alt=alt)
    else:
        st.plotly_chart(drawn, key=key, config=plots.CONFIG, alt=alt, on_select=on_select, selection_mode="points")


def clicked(state: Any) -> tuple[int, ...] | None:
    """Return the `customdata` of the point that a figure's selection holds, None when nothing is selected.

    >>> clicked({"selection": {"points": [{"customdata": [21, 30]}]}})
    (21, 30)
    >>> clicked({"selection": {"points": [{"customdata": {"0": 3}}]}})
    (3,)
    """
    points = ((state or {}).get("selection") or {}).get("points") or []
    if not points or points[0].get("customdata") is None:
        return None
    data = points[0]["customdata"]
    values = data.values() if isinstance(data, Mapping) else data if isinstance(data, Sequence) else [data]
    return tuple(int(value) for value in values)


def selected(state: Any, ids: Sequence[str]) -> str | None:
    """Return the id of the row in which a cell of a table is selected; None when none is, or it is out of the table.

    >>> [selected({"selection": {"cells": [(row, "Question")]}}, ["a", "b"]) for row in (1, 2)]
    ['b', None]
    """
    cells = ((state or {}).get("selection") or {}).get("cells") or []
    return ids[cells[0][0]] if cells and cells[0][0] < len(ids) else None


def forecast_tiles(told: forecast.Forecast) -> None:
    """Draw the tiles of a dry run: calls, tokens, cost, time."""
    left = told.total - told.cached
    tile("Model calls", f"{told.total:,}", f"{told.cached:,} of them paid already")
    tokens = f"{told.prompt_tokens:,} asked + {told.completion_tokens:,} answered"
    tile("Tokens to pay", f"{told.prompt_tokens + told.completion_tokens:,}", f"{tokens}, estimated")
    dollars = "–" if told.cost is None else f"\\${told.cost:,.2f}"
    tile("Cost", dollars, "no price known: enter it in Settings" if told.cost is None else "estimated")
    time_left = duration(told.seconds) if left and told.seconds is not None else "–"
    known = "learnt from this endpoint's calls" if told.seconds is not None else "the endpoint does not answer"
    tile("Time for the calls", time_left, known if left else "all are paid")


def interval_words(estimate: Estimate) -> str:
    """Say an interval, for a cell."""
    return "" if estimate.mean is None else f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def rank_words(pair: tuple[int, ...] | None) -> str | None:
    """Write the ranks of a clicked bar as the address holds them.

    >>> rank_words((2, 2)), rank_words((21, 30)), rank_words((0, 0)), rank_words(None)
    ('2', '21-30', 'miss', None)
    """
    if pair is None or len(pair) != 2:
        return None
    low, high = pair
    return "miss" if not low else str(low) if low == high else f"{low}-{high}"


def rank_pair(words: str | None, depth: int) -> tuple[int, int] | None:
    """Read what `rank_words` wrote of a ranking of `depth`; None for anything else.

    >>> [rank_pair(words, 30) for words in ("2", "21-30", "miss")]
    [(2, 2), (21, 30), (0, 0)]
    >>> [rank_pair(words, 30) for words in ("0", "31", "5-2", "2-", "x", None)]
    [None, None, None, None, None, None]
    """
    if words == "miss":
        return 0, 0
    low, dash, high = (words or "").partition("-")
    first, last = (number_within(1, depth)(text) for text in (low, high if dash else low))
    return (first, last) if first is not None and last is not None and first <= last else None


def rank_cell(rank: int) -> str:
    """Write a rank; 0 is a miss."""
    return str(rank) if rank else "missed"


def outcome_of(rank: int, k: int) -> str:
    """Say what became of a question's first gold chunk.

    >>> [outcome_of(rank, 3) for rank in (0, 3, 4)]
    ['missed', 'found', 'below k']
    """
    return "missed" if not rank else "found" if rank <= k else "below k"


def table(
    rows: pd.DataFrame,
    key: str,
    *,
    columns: Mapping[str, Any] | None = None,
    on_select: Callable[[], None] | None = None,
    height: int | Literal["auto", "content", "stretch"] = "auto",
    alt: str | None = None,
    empty: str = "",
) -> None:
    """Show rows without an index; with `on_select` a click anywhere on a row tells `st.session_state[key]`.

    `empty` stands in cells without a value.
    """
    shown = rows.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    options: dict[str, Any] = {"hide_index": True, "column_config": columns, "height": height, "alt": alt, "key": key}
    options["placeholder"] = empty
    if on_select is not None:
        options |= {"on_select": on_select, "selection_mode": "single-cell"}
    st.dataframe(shown, **options)


def above_table(key: str) -> Any:
    """Return the row above a table, for its count and buttons; its end is left to the table's own toolbar."""
    return st.container(horizontal=True, vertical_alignment="center", key=f"above-{key}")


def csv_button(rows: pd.DataFrame, file_name: str, key: str, label: str = "CSV") -> None:
    """Download exactly the rows that are shown, written as the other exports are."""
    cells = rows.astype(object).where(rows.notna(), None)
    data = csv_of([*map(str, rows.columns)], cells.itertuples(index=False, name=None))
    st.download_button(label, data, file_name, "text/csv", key=key, on_click="ignore")


# The questions of a run

FILTERS = ("rank", "document", "kind", "outcome", "cause", "find")
"""What the address may filter the questions of a run by."""
ORDERS = (
    "answer_correctness", "factual_f1", "completeness", "equivalence", "questeval_recall", "faithfulness",
    "context_recall", "extractive_questeval_recall", "token_f1", "rouge_l", "embedding_similarity",
)  # fmt: skip
"""Metrics by which the worst questions come first, the first that a run has; without any it is the rank."""
STATUSES = {
    "ok": "scored", "not_applicable": "does not apply", "no_answer": "no answer", "judge_error": "judge error",
    "skipped": "skipped",
}  # fmt: skip
"""What the statuses of scores are called."""


def without_words(statuses: Mapping[str, int]) -> str:
    """Say how many questions have no score of a metric, and why; "" when all have one.

    >>> without_words({"ok": 4, "judge_error": 3, "not_applicable": 2})
    '3 judge errors, 2 does not apply'
    """
    counts = [(status, n) for status, n in statuses.items() if status != "ok" and n]
    return ", ".join(counted(n, "judge error") if s == "judge_error" else f"{n} {STATUSES[s]}" for s, n in counts)


def answers(run: Run) -> bool:
    """Whether a run answers its questions."""
    return run.config.answerer != "none"


def metric_of(run: Run) -> str:
    """Return the metric by which a run's questions are ordered: the address's, else the first of `ORDERS`, or ""."""
    there = judgement(run).scores
    wanted = st.query_params.get("metric", "")
    return wanted if wanted in there else next((name for name in ORDERS if name in there), next(iter(there), ""))


def question_rows(run: Run, k: int) -> pd.DataFrame:
    """One row a question, the worst first: by score where answers were judged (those without one last), else by rank.

    A run that does not answer has only its ranked questions here.
    """
    measured, found = summary(run, k), judgement(run)
    asked = answered(run)
    documents = documents_of(run)
    ids = list(asked) if answers(run) else list(measured.question_ids)
    places = {question_id: place for place, question_id in enumerate(measured.question_ids)}
    ranks = [int(measured.ranks[places[i]]) if i in places else None for i in ids]
    recall = measured.scores.get(f"recall@{k}")
    without = "not ranked" if running.unranked_words(run) else "unanswerable"
    outcomes = [without if rank is None else outcome_of(rank, k) for rank in ranks]
    rows = pd.DataFrame({"Rank": pd.array([rank or None for rank in ranks], dtype="Int64"), "Outcome": outcomes})
    rows["Cause"] = [diagnose.about(found.causes[i], run.config.context).title for i in ids]
    rows["Question"] = [asked[i][0].text for i in ids]
    rows["Document"] = [", ".join(documents[i]) for i in ids]
    rows[f"Recall@{k}"] = [float(recall[places[i]]) if recall is not None and i in places else None for i in ids]
    rows["Kind"] = [asked[i][0].kind for i in ids]
    rows["Id"] = ids
    return _worst_first(rows, run, found)


def _worst_first(rows: pd.DataFrame, run: Run, found: running.Judgement) -> pd.DataFrame:
    rows = rows.sort_values("Rank", ascending=False, na_position="first", kind="stable")
    if not (name := metric_of(run)):
        return rows
    title = ANSWER_METRICS[name].title
    scores = [found.scores[name].get(question_id) for question_id in rows["Id"]]
    rows.insert(0, title, [None if score is None else score.value for score in scores])
    rows[title] = rows[title].astype(float)
    rows.insert(1, "Answer", [_answer_words(found, i, score) for i, score in zip(rows["Id"], scores, strict=True)])
    return rows.sort_values(title, na_position="last", kind="stable")


def _answer_words(found: running.Judgement, question_id: str, score: Score | None) -> str:
    """What became of an answer, and of the score when it has none."""
    judged = found.judged.get(question_id)
    status = judged.answer.status if judged is not None else "not yet answered"
    failed = score is not None and score.status == "judge_error"
    return f"{status}, judge error" if failed else status


def filtered(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that pass every filter of the address."""
    documents = documents_of(run)
    ranks = partial(rank_pair, depth=run.config.depth)
    if pair := readable("rank", ranks, f"miss, a rank to {run.config.depth:,}, or two with a - between them"):
        missed = rows["Outcome"] == "missed"
        rows = rows[missed if pair == (0, 0) else rows["Rank"].between(*pair).fillna(False)]
    if name := readable("document", partial(_document_of, run), "a document of this corpus"):
        rows = rows[_mask(rows, (name in documents[i] for i in rows["Id"]))]
    if kind := readable("kind", one_of(evaluate.KINDS), f"one of {', '.join(evaluate.KINDS)}"):
        rows = rows[rows["Kind"] == kind]
    outcome = readable("outcome", one_of(OUTCOMES), f"one of {', '.join(OUTCOMES)}") or OUTCOMES[0]
    if outcome != OUTCOMES[0]:
        rows = rows[rows["Outcome"] == outcome]
    if cause := readable("cause", one_of(diagnose.CAUSES), f"one of {', '.join(diagnose.CAUSES)}"):
        rows = rows[_mask(rows, (judgement(run).causes[i] == cause for i in rows["Id"]))]
    if words := st.query_params.get("find", "").casefold():
        rows = rows[_mask(rows, (words in text.casefold() for text in rows["Question"]))]
    readable("metric", one_of(judgement(run).scores), "a measure of this run's answers")  # `metric_of` orders by it
    return rows


def _document_of(run: Run, name: str) -> str | None:
    """For `readable`: a document that is there, or was when its evidence was found."""
    there = workspace().store.document_named(run.corpus_id, name) is not None
    return name if there or any(name in names for names in documents_of(run).values()) else None


def _mask(rows: pd.DataFrame, keeps: Iterable[bool]) -> pd.Series[bool]:
    """Which rows to keep; a bare list would choose columns where there are no rows."""
    return pd.Series(list(keeps), index=rows.index, dtype=bool)


KINDS = {"single": "one passage", "multi": "several passages", "unanswerable": "unanswerable"}
"""What the kinds of questions are called."""
OUTCOMES = ("all", "found", "below k", "missed")
"""What a person may choose of the outcomes."""


def view() -> dict[str, str]:
    """Parameters of the address that choose and order the questions: a link with them shows the same list."""
    kept = {name: st.query_params[name] for name in (*FILTERS, "metric") if st.query_params.get(name)}
    return {name: value for name, value in kept.items() if value != "all"}


def walk(shown: Sequence[str], question_id: str) -> str | None:
    """Draw the way through a list of questions, with the arrow keys too; return the question gone to."""
    place = shown.index(question_id) if question_id in shown else None
    before = shown[place - 1] if place else None
    after = shown[place + 1] if place is not None and place + 1 < len(shown) else None
    if place is not None:
        st.caption(f"{place + 1} of {len(shown)}", width="content")
    back = st.button("Previous", icon=":material/arrow_back:", shortcut="left", disabled=before is None)
    on = st.button("Next", icon=":material/arrow_forward:", shortcut="right", disabled=after is None)
    return before if back else after if on else None


# Rankings


@dataclass(frozen=True, slots=True)
class Note:
    """What else is told of a chunk: (class, words) pairs of `badges`, and how it bears on the claim looked at."""

    badges: tuple[tuple[str, str], ...] = ()
    bearing: Bearing | None = None


def lit_in(text: str, bearing: Bearing | None) -> list[Lit]:
    """Where the sentence stands that bears on a claim, for or against it; nowhere when none does, or none is told.

    >>> lit_in("One. Two.", Bearing("contradicted", 1)), lit_in("One.", Bearing("absent", 0))
    ([(5, 9, 'against')], [])
    """
    if bearing is None or bearing.sentence is None or bearing.verdict == "absent":
        return []
    sentences = sentences_of(text)
    if bearing.sentence >= len(sentences):
        return []
    return [(*sentences[bearing.sentence], "against" if bearing.verdict == "contradicted" else "for")]


def gold_in(chunk: Chunk, evidence: Evidence) -> list[tuple[int, int]]:
    """Where the evidence stands in a chunk, in characters of the chunk.

    >>> chunk = Chunk("d-5-15", "d", 5, 15, "0123456789", 3)
    >>> gold_in(chunk, ((Span("d", 0, 8),), (Span("d", 12, 99),), (Span("other", 6, 7),)))
    [(0, 3), (7, 10)]
    """
    spans = [s for group in evidence for s in group if s.document_id == chunk.document_id and not s.stale]
    clipped = ((max(s.start, chunk.start) - chunk.start, min(s.end, chunk.end) - chunk.start) for s in spans)
    return [(start, end) for start, end in clipped if start < end]


def ranked_chunks(
    corpus_id: str,
    question: Question,
    found: Retrieved,
    *,
    k: int,
    first: int,
    key: str,
    narrow: bool = False,
    notes: Mapping[str, Note] | None = None,
) -> None:
    """Draw a ranking as cards: the first chunks and the targets wherever they stand, the rest when asked for.

    Targets are marked, gold text is highlighted, and a line tells where the ranking is cut at `k`. `notes` are by the
    chunk's id.
    """
    gold = {chunk_id for group in found.gold for chunk_id in group}
    hits = found.ranking.hits()
    more = f"more-{key}-{question.id}"
    shown = hits if st.session_state.get(more) else [h for h in hits if h.rank <= first or h.chunk_id in gold]
    best = max((hit.score for hit in hits), default=1.0)
    last = 0
    for each in indexing.found(workspace(), corpus_id, shown):
        if last <= k < each.hit.rank:
            st.html(f'<p class="rv-cut">cut at k = {k}: what follows is not kept</p>')
        if each.hit.rank > last + 1:
            st.caption(f"{counted(each.hit.rank - last - 1, 'chunk')} between")
        last = each.hit.rank
        with st.container(border=True, gap="xsmall"):
            note = (notes or {}).get(each.hit.chunk_id, Note())
            _chunk_card(each, question.evidence, each.hit.chunk_id in gold, best, narrow, note)
    if len(shown) < len(hits) and st.button(f"Show all {len(hits)}", key=f"{more}-button", type="tertiary"):
        st.session_state[more] = True
        st.rerun()
    if not hits:
        st.caption("The retriever found nothing.")


def given_chunks(corpus_id: str, question: Question, ids: Sequence[str], notes: Mapping[str, Note]) -> None:
    """Draw chunks that were handed over without a ranking, as cards."""
    hits = [Hit(chunk_id, rank, 0.0) for rank, chunk_id in enumerate(ids, start=1)]
    for each in indexing.found(workspace(), corpus_id, hits):
        with st.container(border=True, gap="xsmall"):
            note = notes.get(each.hit.chunk_id, Note())
            first = Note((("", f"passage {each.hit.rank}"), *note.badges), note.bearing)
            _chunk_text(each, question.evidence, narrow=True, note=first)


def _chunk_card(each: Found, evidence: Evidence, target: bool, best: float, narrow: bool, note: Note) -> None:
    st.html(score_bar(each.hit.rank, each.hit.score, best, marked=target))
    _chunk_text(each, evidence, narrow, note)


def _chunk_text(each: Found, evidence: Evidence, narrow: bool, note: Note) -> None:
    if note.badges:
        st.html(badges(note.badges))
    if each.chunk is None:
        st.caption("The text of this chunk is gone: its document was deleted.")
        return
    page = f", page {each.chunk.page}" if each.chunk.page else ""
    at = f"{each.chunk.start}-{each.chunk.end}"
    link("documents", f"{each.document_name}{page}", document=each.document_name, at=at)
    lit = lit_in(each.chunk.text, note.bearing)
    st.html(highlighted(each.chunk.text, gold_in(each.chunk, evidence), lit=lit, fold=110 if narrow else 200))


def source_chunks(corpus_id: str, question: Question) -> None:
    """Draw the chunks that a question was made of."""
    hits = [Hit(chunk_id, rank, 0.0) for rank, chunk_id in enumerate(question.source_chunks, start=1)]
    for each in indexing.found(workspace(), corpus_id, hits):
        if each.chunk is not None:
            at = f"{each.chunk.start}-{each.chunk.end}"
            link("documents", each.document_name, document=each.document_name, at=at)
            st.html(highlighted(each.chunk.text, language=question.language))


def evidence_groups(
    corpus_id: str, question: Question, found: Retrieved | None = None, *, k: int | None = None
) -> None:
    """Draw every group of a question's evidence in its document, and at which rank it was found."""
    for place, group in enumerate(question.evidence):
        words = f"Passage {place + 1} of {len(question.evidence)}" if len(question.evidence) > 1 else "Evidence"
        if found is not None:
            words += f" · {_where_found(found, place)}"
        st.markdown(f"**{words}**")
        kept = found.ranking.ids[:k] if found is not None and k is not None else ()
        for span in group:
            _span_in_document(corpus_id, span, kept, question.language)


def _where_found(found: Retrieved, group: int) -> str:
    """At which rank the first gold chunk of a group stands."""
    if not found.gold[group]:
        return "in no chunk of this index"
    ranks = [rank for rank, chunk_id in enumerate(found.ranking.ids, start=1) if chunk_id in found.gold[group]]
    return f"found at rank {ranks[0]}" if ranks else f"not among the first {len(found.ranking.ids)}"


def _span_in_document(corpus_id: str, span: Span, kept: Sequence[str], language: str) -> None:
    """A span with what stands around it, and what of it the chunks `kept` hold."""
    document = next(iter(workspace().store.document_texts(corpus_id, [span.document_id])), None)
    if span.stale or document is None:
        st.caption("Stale: this text stands in no document any more.")
        st.html(highlighted(span.text, language=language))
        return
    link("documents", document.name, document=document.name, at=f"{span.start}-{span.end}")
    start, end = around(document.text, (span.start, span.end), 90 if document.language == "zh" else 220)
    parts = [chunk_id.rsplit("-", 2) for chunk_id in kept]
    start += len(document.text[start:end]) - len(document.text[start:end].lstrip())
    hits = [(int(s) - start, int(e) - start) for owner, s, e in parts if owner == document.id]
    gold = [(span.start - start, span.end - start)]
    with st.container(border=True):
        st.html(highlighted(document.text[start:end].rstrip(), gold, hits, fold=None, language=document.language))


# Jobs


def budget_field(key: str, run: Run | None = None, *, explained: str) -> float | None:
    """Ask for the most dollars that may be paid, at first the last budget of `run`; None is no limit."""
    with st.container(width=180):
        given = st.number_input(
            "Budget in dollars", 0.0, None, last_budget(run) if run else None, step=1.0, format="%.2f",
            placeholder="no limit", key=key, help=explained,
        )  # fmt: skip
    return None if given is None else float(given)


def last_budget(run: Run) -> float | None:
    """Return the budget that was given last for a run, None when it had none."""
    mine = (job for job in jobs.jobs(workspace()) if run.name == job.arguments.get(RUN_OF.get(job.kind, "")))
    newest = next(mine, None)
    return None if newest is None else newest.arguments.get("budget")


RUN_OF = {"run": "name", "rejudge": "run"}
"""Kind of job → the argument that names its run."""


def watch(job: Job) -> None:
    """Look after a job that this page has just started."""
    st.session_state.setdefault(_WATCHED, {})[job.id] = job.title
    st.toast(f"Started: {plain(job.title)}")


def active_jobs() -> list[Job]:
    """Jobs that wait or run."""
    return [job for job in jobs.jobs(workspace(), 50) if job.status in ("queued", "running")]


def stops_jobs() -> str:
    """What a person confirms besides, where something is deleted while jobs go on: a sentence, after a blank."""
    return " Jobs that work on it are stopped." if active_jobs() else ""


def jobs_panel() -> None:
    """Draw the running jobs, looked at again every second or two; when one ends, the page is drawn anew."""
    recent = jobs.jobs(workspace(), 50)
    going = {job.id: job.title for job in recent if job.status in ("queued", "running")}
    watched = {i: title for i, title in st.session_state.get(_WATCHED, {}).items() if i not in going}
    _note_vanished({i: title for i, title in watched.items() if i not in {job.id for job in recent}})
    for job in recent:
        if job.id in watched:
            st.toast(f"{plain(job.title)}: {ENDINGS.get(job.status, job.status)}")
    st.session_state[_WATCHED] = going
    st.session_state[_ENDED] = _last_end(recent)
    st.fragment(_draw_jobs, run_every=1.5 if going else 20)()


def _note_vanished(missing: Mapping[str, str]) -> None:
    """Note which of these jobs are gone: nothing is left of one when somebody deletes what it works on."""
    for job_id, title in missing.items():
        try:
            workspace().store.job(job_id)
        except NotFoundError:
            st.session_state.setdefault(_VANISHED, {})[job_id] = title


ENDINGS = {
    "done": "finished",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
}


def _draw_jobs() -> None:
    with errors_shown():  # it is drawn by itself too, not only with the page
        _draw_recent(jobs.jobs(workspace(), 50))


def _draw_recent(recent: Sequence[Job]) -> None:
    _tell_overtaken({job.id: job for job in recent if not _is_trouble(job)})
    going = [job for job in recent if job.status in ("queued", "running")]
    if {job.id for job in going} != st.session_state.get(_WATCHED, {}).keys() or _last_end(
        recent
    ) != st.session_state.get(_ENDED):
        st.rerun(scope="app")  # what a job changed is shown, also of one that took less than the time between two looks
    dismissed = st.session_state.setdefault(_PUT_AWAY, set())
    newest = {(job.kind, job.title, job.corpus_id): job for job in reversed(recent)}.values()  # what came last counts
    troubled = [job for job in newest if job.id not in dismissed and _is_trouble(job)]
    st.session_state[_OFFERED] = {job.id: job.title for job in troubled}
    for job in going:
        _draw_going(job)
    for job in troubled:
        _draw_troubled(job)
    for job_id, title in list(st.session_state.get(_VANISHED, {}).items()):
        _draw_vanished(job_id, title)


def _last_end(recent: Sequence[Job]) -> float:
    return max((job.finished or 0.0 for job in recent), default=0.0)


def _is_trouble(job: Job) -> bool:
    """Whether a job ended in a way that is worth a word: interrupted, or lately failed or stopped."""
    lately = time.time() - (job.finished or 0) < 3600
    return job.status == "interrupted" or (job.status in ("failed", "cancelled") and lately)


def _draw_going(job: Job) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(job.title)}**")
        share, words = job_words(job, time.time(), _pace(job))
        st.progress(share, text=words)
        stopping = job.cancel
        verb = "Pause" if job.kind in ("run", "rejudge") else "Cancel"
        if st.button("Stopping…" if stopping else verb, key=f"cancel-{job.id}", disabled=stopping, type="tertiary"):
            jobs.cancel(workspace(), job)
            st.rerun(scope="app")


def _tell_overtaken(others: Mapping[str, Job]) -> None:
    """Answer *Resume* pressed on a late screen: `others` are the jobs, by id, for which it is not offered now."""
    offered: dict[str, str] = st.session_state.get(_OFFERED, {})
    pressed = {i: title for i, title in offered.items() if st.session_state.get(f"resume-{i}")}
    _note_vanished(pressed)
    for job_id in pressed.keys() & others.keys():
        job = others[job_id]
        state = "finished" if job.status == "done" else "going on"
        st.toast(f"{plain(job.title)} is {state} since it was shown here: it was not resumed a second time.")


def _draw_troubled(job: Job) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(job.title)}** {ENDINGS[job.status]}")
        st.caption(plain(job.error))
        with st.container(horizontal=True, gap="small"):
            if st.button("Resume", key=f"resume-{job.id}", type="tertiary"):
                watch(jobs.start(workspace(), job))
                st.rerun(scope="app")
            if st.button("Dismiss", key=f"dismiss-{job.id}", type="tertiary"):
                put_away(job)
                if job.status == "interrupted":
                    jobs.cancel(workspace(), job)
                st.rerun(scope="app")


def _draw_vanished(job_id: str, title: str) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(title)}** is gone")
        st.caption("What it worked on was deleted, or its command was refused: nothing is left of the job.")
        if st.button("Dismiss", key=f"dismiss-{job_id}", type="tertiary"):
            del st.session_state[_VANISHED][job_id]
            st.rerun(scope="app")


def _pace(job: Job) -> float | None:
    """Units a second since this session first saw the job in its present phase; None while nothing can be told."""
    seen = st.session_state.setdefault("paces", {})
    now = time.time()
    first = seen.get(job.id)
    if first is None or first[0] != (job.unit, job.total) or job.done < first[2]:
        seen[job.id] = first = ((job.unit, job.total), now, job.done)
    elapsed = now - first[1]
    return (job.done - first[2]) / elapsed if elapsed > 2 and job.done > first[2] else None


def job_words(job: Job, now: float, pace: float | None) -> tuple[float, str]:
    """Share done (0 to 1) and the line under a job's bar: what, how far, how fast, how long still.

    `pace` is in units a second.
    """
    if job.status == "queued":
        return 0.0, "Waiting to start"
    what = f"{plain(shortened(job.message, 200))} · " if job.message else ""
    if job.total is None:
        return 0.0, f"{what}{job.done:,} {job.unit}".strip() if job.unit else f"{what}starting"
    share = min(1.0, job.done / job.total) if job.total else 1.0
    words = [f"{what}{job.done:,} of {job.total:,} {job.unit}"]
    if pace:
        words.append(f"{pace:,.0f}/s" if pace >= 3 else f"{pace:.1f}/s")
        words.append(f"{duration((job.total - job.done) / pace)} left")
    elif job.started is not None:
        words.append(f"{duration(now - job.started)} so far")
    return share, " · ".join(words)


def finished_job(kind: str, corpus_id: str, minutes: float = 60) -> Job | None:
    """Return the newest job of this kind about this corpus if it is done, not long ago, and was not put away."""
    newest = next(iter(_jobs_about(kind, corpus_id)), None)
    return newest if newest is not None and _is_news(newest, minutes) else None


def finished_jobs(kind: str, corpus_id: str, minutes: float = 60) -> list[Job]:
    """Return the jobs of this kind about this corpus that were done lately and not put away, the newest first."""
    return [job for job in _jobs_about(kind, corpus_id) if _is_news(job, minutes)]


def _jobs_about(kind: str, corpus_id: str) -> list[Job]:
    return [job for job in jobs.jobs(workspace(), 50) if job.kind == kind and job.corpus_id == corpus_id]


def _is_news(job: Job, minutes: float) -> bool:
    """Whether a job was done lately and was not put away."""
    lately = time.time() - (job.finished or 0) < 60 * minutes
    return job.status == "done" and lately and job.id not in st.session_state.get(_PUT_AWAY, set())


def put_away(job: Job) -> None:
    """Show no more what became of a job."""
    st.session_state.setdefault(_PUT_AWAY, set()).add(job.id)


# Words


def duration(seconds: float) -> str:
    """Say a length of time in the unit that fits.

    >>> [duration(s) for s in (0.4, 48, 200, 5000)]
    ['1 s', '48 s', '3 min', '1 h 23 min']
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def ago(then: float, now: float | None = None) -> str:
    """Say how long ago a time was.

    >>> [ago(0, seconds) for seconds in (5, 180, 7200, 200000)]
    ['just now', '3 min ago', '2 h ago', '2 days ago']
    """
    seconds = (time.time() if now is None else now) - then
    if seconds < 90:
        return "just now"
    if seconds < 5400:
        return f"{round(seconds / 60)} min ago"
    return f"{round(seconds / 3600)} h ago" if seconds < 129600 else f"{round(seconds / 86400)} days ago"


def size_words(size: float) -> str:
    """Say a number of bytes.

    >>> [size_words(n) for n in (900, 2048, 3_500_000)]
    ['900 B', '2 KB', '3.3 MB']
    """
    if size < 1024:
        return f"{size:.0f} B"
    return f"{size / 1024:.0f} KB" if size < 2**20 else f"{size / 2**20:,.1f} MB"


def counted(count: int, noun: str) -> str:
    """Say how many there are of something.

    >>> counted(1, "index"), counted(2, "index"), counted(1200, "question")
    ('1 index', '2 indexes', '1,200 questions')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("x") else f"{noun}s"
    plural = "corpora" if noun == "corpus" else plural
    return f"{count:,} {noun if count == 1 else plural}"


def short_name(name: str) -> str:
    """First word of a name, in small letters, to make other names of.

    >>> short_name("Sample: Tarrow Ridge Observatory"), short_name("18F handbook"), short_name("!!")
    ('sample', '18f', 'corpus')
    """
    words = re.findall(r"\w+", name.lower())
    return words[0][:24] if words else "corpus"


def free_name(base: str, taken: Collection[str]) -> str:
    """Return `base`, or the first of base-2, base-3 … that is not taken.

    >>> free_name("a", {"a", "a-2"})
    'a-3'
    """
    return next(name for n in count(1) if (name := base if n == 1 else f"{base}-{n}") not in taken)


LANGUAGES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pt": "Portuguese", "ru": "Russian", "zh": "Chinese", "und": "–",
}  # fmt: skip
"""What the codes of documents' languages are called; others are shown as they are."""
