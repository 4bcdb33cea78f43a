"""Presentation mode (`?present=1`): larger type, nothing that can be changed, and a guided path with ← and →.

The path: what an experiment asked and found, where the answers of its baseline are lost, what would rescue them, the
comparison, one question that the change rescues, and what to do. Without an experiment it begins with the results of
a run, and ends with the question. All other pages are closed while presenting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.document import Corpus
from ragviz.experiments.findings import Outcome
from ragviz.metrics import registry
from ragviz.report import telling
from ragviz.runs import comparisons
from ragviz.ui import address, cache
from ragviz.ui.kit import heading

Params = Mapping[str, str | int | None]
PARAMETER, STEP = "present", "step"
RESCUE, DO = "rescue", "do"
"""Values of `step`: the page Results from what would rescue the lost questions; of an experiment, what to do."""


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


def shows(step: str) -> bool:
    """Whether a part of a page is shown: on its `step` only while presenting, "" for the first step on the page."""
    return not on() or st.query_params.get(STEP, "") == step


def entry(corpus: Corpus | None) -> None:
    """Draw the link that begins the presentation, where there is something to present."""
    if corpus is not None and st.button("Present", icon=":material/slideshow:", type="tertiary", key="present-begin"):
        _go(_path(corpus)[0])


def draw(corpus: Corpus | None) -> None:
    """Draw the style of a presentation, and above the page the way through it; end the page where it is not on it."""
    st.html(_STYLE)
    path = _path(corpus)
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
    if back or following or (here is None and page == "home"):
        _go(path[0 if here is None else here + (1 if following else -1)])
    if here is None:
        st.info("This page is no part of the presentation. → goes to its beginning, Leave shows this page.")
        st.stop()
    if path[here].params.get(STEP) == RESCUE:
        heading.scroll_into_view(
            f"what-would-rescue-them-at-k-{path[here].params['k']}", f"present {path[here].params}"
        )
    if path[0].page == "home":
        st.info("There is no run to present yet: leave, and load the sample or make a run.")


def steps(done: Sequence[Run], shown: Outcome | None = None) -> list[Step]:
    """Return the path through the runs of a corpus that are done, the newest first, and an experiment.

    The pair is the experiment's baseline and the cell that its answer names, compared as it compares them; else the one
    compared last, or the newest run with an older one that asks the same, keeps as many chunks and answers in the same
    way, the older one first. The run is the one seen last, else the older one of the pair.
    """
    path, by_name = list[Step](), {run.name: run for run in done}
    of_experiment: Params = {}
    pair = _pair(done, by_name)
    if shown is not None:
        path.append(Step("The answer", "experiment", {"experiment": shown.experiment.name}))
        if shown.comparison is not None:
            of_experiment, by_id = comparing(shown), {run.id: run for run in done}
            pair = tuple(by_id[run_id] for run_id in str(of_experiment["runs"]).split(",")[:2])
    run = by_name.get(address.last_value("run") or "") or next(iter([*pair, *done]), None)
    if run is not None:
        of_run: Params = {"run": run.name, "k": run.config.k}
        path += [
            Step("Where answers are lost", "results", of_run),
            Step("What would rescue them", "results", {**of_run, STEP: RESCUE}),
        ]
    if len(pair) == 2:
        runs = ",".join(each.id if "," in each.name else each.name for each in pair)
        of_pair: Params = {"runs": runs, "k": pair[0].config.k}
        own = registry.label("recall", registry.OWN)  # each side of a question is shown at its own k
        path += [
            Step("The comparison", "compare", of_experiment or of_pair),
            Step("One question", "inspect", {**of_pair, "metric": own}, pair),
        ]
    if shown is not None:
        path.append(Step("What to do", "experiment", {"experiment": shown.experiment.name, STEP: DO}))
    return path or [Step("Home", "home")]


def comparing(shown: Outcome) -> dict[str, str | int]:
    """Return the parameters of the page Compare that show what an experiment compares, by its own rule."""
    experiment, rule = shown.experiment, shown.experiment.rule
    answer = experiment.confirmation.chosen if experiment.confirmation else shown.conclusion.candidate
    first = {name: place for place, name in enumerate((rule.baseline, answer))}
    cells = sorted((row.cell for row in shown.rows if row.run), key=lambda cell: first.get(cell.name, 2))
    primary = shown.comparison.rule.primary if shown.comparison else rule.primary
    return {
        "runs": ",".join(cell.run_id for cell in cells[: comparisons.MOST]),
        "k": registry.k_of(rule.primary, experiment.baseline.run.k),
        "primary": primary,
        "effect": f"{rule.minimum_effect:g}",
    }


def _pair(done: Sequence[Run], by_name: Mapping[str, Run]) -> tuple[Run, ...]:
    compared = [by_name[name] for name in (address.last_value("runs") or "").split(",") if name in by_name]
    if len(compared) >= 2:
        return tuple(compared[:2])

    def alike(run: Run) -> tuple[object, ...]:
        config = run.config
        return config.questions, config.split, config.k, config.answerer

    pairs = ((old, new) for at, new in enumerate(done) for old in done[at + 1 :] if alike(old) == alike(new))
    return next(pairs, ())


def _path(corpus: Corpus | None) -> list[Step]:
    """Return the steps through a corpus: by its newest experiment that was confirmed, else its newest that has runs."""
    if corpus is None:
        return steps(())
    store = cache.workspace().store
    done = [run for run in store.runs.all(corpus.id) if run.status == "done"]
    tried = [each for each in store.experiments.all(corpus.id) if len(each.finished) > 1]
    newest = sorted(tried, key=lambda each: (each.confirmation is not None, each.created))
    return steps(done, cache.outcome(newest[-1]) if newest else None)


def _go(step: Step) -> None:
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
  [data-testid="stSlider"], [data-testid="stButtonGroup"], [data-testid="stPopover"], [data-testid="stForm"],
  [data-testid="stDownloadButton"], [data-testid="stPageLink"], [data-testid="stElementToolbar"]),
.stMain .rv-crumb,
.stMain [data-testid="stElementContainer"]:not([class*="st-key-present-"]):has(> [data-testid="stButton"]
  button:not([kind="tertiary"])) { display: none !important; }
.stMain button[kind="tertiary"] { pointer-events: none; }
.st-key-presentation { position: sticky; top: 0; z-index: 99; backdrop-filter: blur(10px);
  border-bottom: 1px solid rgba(128, 136, 148, .35); padding: .35rem 0; }
.rv-verdict { font-size: 1.3rem; }
[class*="st-key-beside-"] [data-testid="stColumn"] { min-width: 500px; }
.stPlotlyChart svg text { font-size: 14px !important; }
</style>"""
"""Larger type; whatever takes an input or an action is neither seen nor reached, but for the way through."""
