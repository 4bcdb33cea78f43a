from collections.abc import Sequence

import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.digests import digest
from ragviz.jobs import queue
from ragviz.report import leaderboard_plots
from ragviz.runs import history, overviews
from ragviz.text.markup import plain
from ragviz.ui import address, experiment_view, frame, run_table, wording
from ragviz.ui.kit import acting, figure, heading, notices, table

workspace = frame.begin()
store = workspace.store


def actions(ticked: Sequence[Run], known: Sequence[str]) -> None:
    common = store.rankings.common([run.id for run in ticked]) if len(ticked) > 1 else 0
    missing = run_table.cannot_compare(ticked, common)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Compare", type="primary", disabled=bool(missing), key="compare-runs"):
            oldest_first = ",".join(run.id for run in reversed(ticked))  # the first is the baseline
            address.go_to("compare", runs=oldest_first, k=None, question=None)
        if st.button("Edit", disabled=len(ticked) != 1 or acting.off(), key="edit-run"):
            run_table.edit(ticked[0], known)
        if st.button("Delete", disabled=not ticked or acting.off(), key="delete-runs"):
            run_table.delete(ticked)
        st.caption(plain(missing) or f"{wording.counted(common, 'common question')} to compare.", width="stretch")


def over_time(of_tag: Sequence[Run]) -> None:
    found = history.history(workspace, of_tag)
    pairs = zip(found.runs, found.means, strict=True)
    rows = [leaderboard_plots.Row(run.name, at, mean) for at, (run, mean) in enumerate(pairs)]
    st.markdown(plain(found.sentence))
    figure.draw(leaderboard_plots.over_time(rows, found.changed, y_title=found.metric), "over-time")


corpus = frame.need_corpus()
runs = store.runs.all(corpus.id)
heading.header("Runs", f"What the runs of {corpus.name} measured, each at its own k.")
with notices.errors_shown():
    experiment_view.listed(corpus)
if runs:
    address.link("experiment", "New experiment", experiment="*")
else:
    with notices.empty(
        f"{plain(corpus.name)} has no runs yet. A run retrieves chunks for every question of a set, and records at "
        "which rank its evidence is."
    ):
        address.link("run", "Make a run")
        address.link("experiment", "New experiment", experiment="*")
        address.link("questions", "Questions")
    st.stop()
with notices.errors_shown():
    shown, said, tags = run_table.chosen_filter(runs)
    with st.spinner("Measuring"):
        measured_runs = overviews.summaries(workspace, runs)
    status = queue.run_statuses(workspace, runs)
    metrics = run_table.metrics_of(measured_runs.values())
    buttons = st.container()
    filtered = f" · filter: {plain(said)}" if said else ""
    above = table.row_above("runs", f"{len(shown)} of {wording.counted(len(runs), 'run')}{filtered}")
    turn = digest(*(run.id for run in shown))  # a tick holds for the rows it was made in
    with buttons:
        ticked = table.ticked(st.session_state.get(f"runs-{turn}"), shown)
        actions(ticked, sorted({tag for run in runs for tag in run.tags}))
    if len(tags) == 1 and len([run for run in shown if run.status == "done"]) > 1:
        with notices.errors_shown():
            over_time(shown)
    if shown:
        rows = run_table.rows(shown, measured_runs, status, run_table.columns_of(metrics), metrics)
        table.draw(
            rows, "runs", alt="Runs", above=above, file="runs", columns=run_table.column_configs(metrics),
            among=shown, turn=turn, several=True,
            goes=lambda run: address.go_to("results", run=run.name, k=None), most=14, empty="–",
        )  # fmt: skip
    else:
        st.markdown("No run passes the filter.")
