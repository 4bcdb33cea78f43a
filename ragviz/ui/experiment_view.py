"""An experiment as it is made and when it is done: verdict, cells with their states, confirmation."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis.comparison_words import difference_words
from ragviz.core.document import Corpus
from ragviz.core.errors import RagvizError
from ragviz.core.experiment import Experiment
from ragviz.experiments import confirming, declaring
from ragviz.experiments.conclusion import Conclusion
from ragviz.experiments.findings import Measured, Outcome, Row
from ragviz.metrics.registry import title_of
from ragviz.service import experiment_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, budget, cache, compared_runs, experiment_form, job_panel, presentation, wording
from ragviz.ui.compared_runs import Compared
from ragviz.ui.kit import acting, heading, notices, table, tiles
from ragviz.ui.run_table import MOST_COMPARED

STATES = {"waiting": "· waiting", "running": "▷ running", "done": "✓ done", "failed": "✗ failed"}


def draw(experiment: Experiment) -> None:
    """Draw an experiment; while it is being made, its cells fill in."""
    kinds = ("sweep", "confirm")
    active = any(job_panel.active_job(kind, experiment.corpus_id, experiment=experiment.id) for kind in kinds)
    st.fragment(_draw, run_every=2.0 if active else None)(experiment.id, active=active)


def _draw(experiment_id: str, *, active: bool) -> None:
    with notices.errors_shown():
        shown = cache.outcome(cache.workspace().store.experiments.get(experiment_id))
        experiment, conclusion = shown.experiment, shown.conclusion
        heading.section(plain(shown.sentence))
        asked = experiment.split or "all questions"
        made = wording.made(experiment.created, experiment.person)
        st.caption(plain(f"Rule: {declaring.rule_words(experiment.rule)}. Asked: {asked}. Declared {made}."))
        if shown.scope:
            st.caption(plain(f"{shown.scope}."))
        if shown.lost:
            st.warning(plain(shown.lost))
        if presentation.shows(presentation.DO):
            if shown.test is None:
                _notes(conclusion)
                if conclusion.leaning:
                    st.caption(f":orange[▲] {plain(conclusion.leaning)}")
            else:
                sides = ("On validation, where it was chosen", shown.conclusion), ("On test, once", shown.test)
                with st.container(key="beside-sides"):
                    for column, (where, said) in zip(st.columns(2, gap="medium"), sides, strict=True):
                        with column, st.container(border=True):
                            st.markdown(f"**{where}:** {plain(said.sentence)}")
                            _notes(said)
            _actions(shown, active=active)
        if presentation.shows(""):
            _pictures(shown)
            _cells(shown)
        for words in declaring.left_out_words(experiment.left_out):
            st.caption(plain(words))


def _notes(conclusion: Conclusion) -> None:
    if conclusion.notes:
        st.markdown("\n".join(f"- {plain(note)}" for note in conclusion.notes))


def _actions(shown: Outcome, *, active: bool) -> None:
    experiment = shown.experiment
    states = [row.cell.state for row in shown.rows]
    todo, failed = len(states) - states.count("done"), states.count("failed")
    refusal = ""
    try:
        confirming.check(cache.workspace(), experiment)
    except RagvizError as error:
        refusal = str(error)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pays = experiment_form.asks_models(experiment.cells) and (todo or not refusal)
        dollars = budget.field_of(experiment, f"budget-{experiment.id}") if pays else None
        if todo:
            label = f"Try {wording.counted(failed, 'failed cell')} again" if failed == todo else "Go on"
            new = partial(experiment_verbs.go_on, cache.workspace(), experiment, dollars)
            job_panel.button(label, "sweep-on", new, disabled=active, kind="primary")
        if st.button("Compare the cells", disabled=shown.comparison is None, key="compare-cells"):
            address.go_to("compare", **presentation.comparing(shown), question=None)
        if experiment.confirmation is None:
            new = partial(experiment_verbs.confirm, cache.workspace(), experiment, dollars)
            both = "Runs the baseline and the chosen configuration on the test side, once."
            off = bool(refusal) or active
            job_panel.button("Confirm on test", "confirm-on-test", new, disabled=off, explained=both)
        if st.button("Delete", disabled=active or acting.off(), key="delete-experiment"):
            notices.confirm(
                f"Deletes the experiment “{experiment.name}” with its rule. Its indexes and runs stay.",
                "Delete",
                lambda: experiment_verbs.delete(cache.workspace(), experiment),
            )
    if experiment.confirmation is None and refusal and "done" in states:
        st.caption(plain(f"{refusal.replace(shown.conclusion.sentence, '').strip().rstrip('.:')}."))  # it stands above


def compared(shown: Outcome, measured: Measured) -> Compared | None:
    """Return what an experiment `measured`, of its cells or on test, to be drawn; None for fewer than two runs."""
    if (comparison := measured.comparison) is None:
        return None
    state = cache.state(shown.experiment.id, *cache.runs_of(shown.experiment))
    return Compared((), comparison, comparison.rule.primary, comparison.runs[1], state)


def _pictures(shown: Outcome) -> None:
    if (cells := compared(shown, shown.measured)) is None:
        return
    if shown.test is not None:
        st.caption("Pictures and table are those of the validation questions, where the choice was made.")
    if len(cells.comparison.runs) > MOST_COMPARED:
        compared_runs.differences(cells)
        return
    notices.beside("cells", partial(compared_runs.leaderboard, cells), partial(compared_runs.differences, cells))


def _cells(shown: Outcome) -> None:
    experiment, done = shown.experiment, sum(row.cell.state == "done" for row in shown.rows)
    rows = pd.DataFrame([_cell(name, row, experiment) for name, row in shown.lines])
    if not rows["Dollars"].fillna(0).any():  # nothing was paid
        rows = rows.drop(columns="Dollars")
    if done == len(shown.rows):
        rows = rows.drop(columns="State")

    def goes(row: Row) -> None:
        if row.run:
            address.go_to("results", run=row.run, k=None)

    table.draw(
        rows, "cells", alt="Cells", above=f"{done} of {wording.counted(len(shown.rows), 'cell')} done",
        file=experiment.name, among=[row for _, row in shown.lines], goes=goes, empty="–",
        columns={"Cell": 180, title_of(experiment.rule.primary): table.number(75, "%.2f"), "95 %": 90,
                 "Difference": 126, "Verdict": 80, "Tokens read": table.number(80, "localized"),
                 "Dollars": table.number(70, "%.4f", help="For a question."),
                 "Seconds": table.number(70, "%.3f", help="For a question."), "Why": table.text("large")},
    )  # fmt: skip


def _cell(name: str, row: Row, experiment: Experiment) -> dict[str, object]:
    estimate, delta = row.estimate, row.delta
    values: dict[str, object] = {
        "Cell": name,
        "State": STATES[row.cell.state],
        title_of(experiment.rule.primary): estimate.mean if estimate else None,
        "95 %": tiles.interval_words(estimate) if estimate else "",
        "Difference": difference_words(delta.difference) if delta else "",
        "Verdict": delta.verdict if delta else "",
        "Tokens read": None if row.price.tokens is None else round(row.price.tokens),
        "Dollars": row.price.dollars,
        "Seconds": row.price.seconds,
    }
    return values | ({"Why": row.cell.reason} if any(cell.reason for cell in experiment.cells) else {})


def listed(corpus: Corpus) -> None:
    """Draw the experiments of a corpus above its runs: rule declared, cells done, verdict."""
    experiments = cache.workspace().store.experiments.all(corpus.id)
    if not experiments:
        return
    shown = [cache.outcome(experiment) for experiment in experiments]
    sides = [each.experiment.split or "all questions" for each in shown]
    rows = pd.DataFrame(
        {
            "Experiment": [each.experiment.name for each in shown],
            "Cells done": [f"{len(each.experiment.finished)} of {len(each.experiment.cells)}" for each in shown],
            "Says": [each.sentence for each in shown],
            "Asked": [
                each.lost or (f"{side}, then test" if each.test else side)
                for each, side in zip(shown, sides, strict=True)
            ],
            "Rule": [declaring.rule_words(each.experiment.rule) for each in shown],
        }
    )

    st.markdown(wording.counted(len(experiments), "experiment"))
    table.draw(
        rows, "experiments", alt="Experiments", columns={name: table.text("large") for name in ("Says", "Rule")},
        among=experiments, goes=lambda each: address.go_to("experiment", experiment=each.name), most=5, empty="–",
    )  # fmt: skip
