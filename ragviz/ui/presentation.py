"""Presentation mode (`?present=1`): larger type, nothing that can be changed, and a guided path with ← and →.

The path: Home, Results of a run, what would rescue its lost questions, Compare, and one question that the change
rescues. All other pages are closed while presenting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from ragviz.core.document import Corpus
from ragviz.core.run_info import Run
from ragviz.report import telling
from ragviz.ui import address, cache
from ragviz.ui.kit import heading

Params = Mapping[str, str | int | None]
PARAMETER, STEP = "present", "step"
RESCUE = "rescue"
"""The value of `step` at which the page Results is shown from what would rescue the lost questions."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the path: its title, page and parameters; `pair` are the runs of whose questions one is told."""

    title: str
    page: str
    params: Params = field(default_factory=dict)
    pair: tuple[Run, ...] = ()


def on() -> bool:
    """Whether the address asks for presentation."""
    return st.query_params.get(PARAMETER) == "1"


def entry(corpus: Corpus | None) -> None:
    """Draw the link that begins the presentation, where there is something to present."""
    if corpus is None:
        return
    if st.session_state.get(address.PAGE) == "home":  # a link to the page that is shown does not change its address
        if st.button("Present", icon=":material/slideshow:", type="tertiary", key="present-begin"):
            address.put(**{PARAMETER: "1"})
            st.rerun()
    else:
        st.page_link(
            "pages/home.py", label="Present", icon=":material/slideshow:", width="stretch",
            query_params=address.query_of("home", {PARAMETER: 1, "corpus": corpus.name}),
        )  # fmt: skip


def draw(corpus: Corpus | None) -> None:
    """Draw the style of a presentation, and above the page the way through it; end the page where it is not on it."""
    st.html(_STYLE)
    path = steps(_done(corpus))
    page, step = st.session_state.get(address.PAGE, "home"), st.query_params.get(STEP)
    here = next((at for at, each in enumerate(path) if each.page == page and each.params.get(STEP) == step), None)
    if here is None:
        here = next((at for at, each in enumerate(path) if each.page == page), None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="presentation"):
        back = st.button("Back", shortcut="left", disabled=not here, key="present-back")
        last = here is not None and here == len(path) - 1
        following = st.button("Next", shortcut="right", disabled=last, key="present-next")
        titles = " · ".join(f"**{each.title}**" if at == here else each.title for at, each in enumerate(path))
        st.markdown(titles, width="stretch")
        leave = st.button("Leave", shortcut="esc", key="present-leave")
    if leave:
        address.put(**{PARAMETER: None, STEP: None})
        st.rerun()
    if back or following:
        _go(path[0 if here is None else here + (1 if following else -1)])
    if here is None:
        st.info("This page is no part of the presentation. → goes to its beginning, Leave shows this page.")
        st.stop()
    if path[here].params.get(STEP) == RESCUE:
        heading.scroll_into_view(
            f"what-would-rescue-them-at-k-{path[here].params['k']}", f"present {path[here].params}"
        )
    if len(path) == 1:
        st.info("There is no run to present yet: leave, and load the sample or make a run.")


def steps(done: Sequence[Run]) -> list[Step]:
    """Return the path through the runs of a corpus that are done, the newest first.

    The run is the one seen last, else the changed one of the pair; the pair is the one compared last, else the newest
    run with an older one that asks the same, keeps as many chunks and answers in the same way, the older one first.
    """
    path = [Step("Home", "home")]
    by_name = {run.name: run for run in done}
    pair = _pair(done, by_name)
    run = by_name.get(address.last_value("run") or "") or next(iter([*pair[::-1], *done]), None)
    if run is not None:
        of_run: Params = {"run": run.name, "k": run.config.k}
        path += [
            Step("Results", "results", of_run),
            Step("What would rescue them", "results", {**of_run, STEP: RESCUE}),
        ]
    if len(pair) == 2:
        runs = ",".join(each.id if "," in each.name else each.name for each in pair)
        of_pair: Params = {"runs": runs, "k": pair[0].config.k}
        path += [
            Step("Compare", "compare", of_pair),
            Step("One question", "inspect", of_pair, pair),
        ]
    return path


def _pair(done: Sequence[Run], by_name: Mapping[str, Run]) -> tuple[Run, ...]:
    compared = [by_name[name] for name in (address.last_value("runs") or "").split(",") if name in by_name]
    if len(compared) >= 2:
        return tuple(compared[:2])

    def alike(run: Run) -> tuple[object, ...]:
        config = run.config
        return config.questions, config.split, config.k, config.answerer

    pairs = ((old, new) for at, new in enumerate(done) for old in done[at + 1 :] if alike(old) == alike(new))
    return next(pairs, ())


def _done(corpus: Corpus | None) -> list[Run]:
    if corpus is None:
        return []
    return [run for run in cache.workspace().store.runs.all(corpus.id) if run.status == "done"]


def _go(step: Step) -> None:
    """Go to a step; of two runs, to the first question that their comparison tells."""
    params: dict[str, str | int | None] = {PARAMETER: 1, STEP: None, **step.params}
    if step.pair:
        comparison = cache.comparison(cache.state(*(run.id for run in step.pair)), step.pair[0].config.k)
        told = telling.compared(comparison, 1)
        params["question"] = told[0].question_id if told else None
    address.go_to(step.page, **params)


_STYLE = """<style>
html { font-size: 18.5px !important; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stHeader"] { display: none !important; }
.stMainBlockContainer { padding: 1.2rem 3rem 4rem; max-width: 100rem; margin: 0 auto; }
.stMain :is([data-testid="stSelectbox"], [data-testid="stMultiSelect"], [data-testid="stTextInput"],
  [data-testid="stNumberInput"], [data-testid="stTextArea"], [data-testid="stFileUploader"], [data-testid="stCheckbox"],
  [data-testid="stSlider"], [data-testid="stRadio"], [data-testid="stButtonGroup"], [data-testid="stPopover"],
  [data-testid="stDownloadButton"], [data-testid="stForm"], [data-testid="stPageLink"], [data-testid="stDateInput"],
  [data-testid="stElementToolbar"], [data-testid="stColorPicker"], [data-testid="stChatInput"]),
.stMain .rv-crumb,
.stMain [data-testid="stElementContainer"]:not([class*="st-key-present-"]):has(> [data-testid="stButton"]
  button:not([kind="tertiary"])) { display: none !important; }
.stMain button[kind="tertiary"] { pointer-events: none; }
.st-key-presentation { position: sticky; top: 0; z-index: 99; backdrop-filter: blur(10px);
  border-bottom: 1px solid rgba(128, 136, 148, .35); padding: .35rem 0; }
.rv-verdict { font-size: 1.3rem; }
.stPlotlyChart svg text { font-size: 14px !important; }
</style>"""
"""Larger type; whatever takes an input or an action is neither seen nor reached, but for the way through."""
