from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ragviz import stats
from ragviz.analysis import compare
from ragviz.analysis.compare import Comparison
from ragviz.analysis.evaluate import CURVES
from ragviz.metrics import ranking
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import METRICS, label
from ragviz.records import Run
from ragviz.report import curve_plots, difference_plots, rank_plots
from ragviz.runs import measurements
from ragviz.text.markup import highlighted, legend, plain
from ragviz.ui import address, cache, frame, heading, passages, question_table, widgets, wording

MOST = 7  # runs that can be told apart by colour
SIDES = ("won", "lost", "tied")

workspace = frame.begin()
store = workspace.store


# Choosing


def chosen_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs of the address, the first of which is the baseline; by default the two newest on the same questions."""
    by_name = {run.name: run for run in runs} | {run.id: run for run in runs}
    requested = (st.query_params.get("runs") or "").split(",")
    known = list(dict.fromkeys(by_name[name].name for name in requested if name in by_name))
    for name in requested:
        if name and name not in by_name:
            st.warning(f"There is no run called “{wording.quoted(name)}” here.")
    st.session_state["runs-shown"] = known or default_names(runs)
    names = st.multiselect(
        "Runs; the first is the baseline", [run.name for run in runs], key="runs-shown", max_selections=MOST,
        on_change=lambda: address.put(runs=written(st.session_state["runs-shown"], by_name) or None, question=None),
    )  # fmt: skip
    address.settle("runs", written(names, by_name) or None)
    return [by_name[name] for name in names]


def default_names(runs: Sequence[Run]) -> list[str]:
    """The newest run and the newest before it on the same questions, the older one first."""
    if not runs:
        return []
    newest = runs[0]
    same = [run for run in runs[1:] if run.config.questions == newest.config.questions]
    return [same[0].name, newest.name] if same else [newest.name]


def written(names: Sequence[str], by_name: dict[str, Run]) -> str:
    """The names separated by commas; a run with a comma in its name is written by its id."""
    return ",".join(by_name[name].id if "," in name else name for name in names)


@st.cache_data(show_spinner="Comparing", max_entries=32)
def compared(of: cache.State, k: int) -> Comparison:
    workspace = cache.workspace()
    return measurements.compare_runs(workspace, [workspace.store.run(run_id) for run_id in of.ids], k)


@st.cache_data(show_spinner=False, max_entries=32)
def bands(of: cache.State, k: int, name: str) -> list[curve_plots.Curve]:
    comparison = compared(of, k)
    ks, n = np.arange(1, comparison.depth + 1), len(comparison.question_ids)
    curves = []
    for run, table in zip(comparison.runs, comparison.tables, strict=True):
        mean, low, high = stats.bootstrap_columns(CURVES[name](table))
        curves.append(curve_plots.Curve(run, ks, mean, low, high, n))  # type: ignore[arg-type]
    return curves


# The answer


def leaderboard(comparison: Comparison) -> None:
    names = list(comparison.metrics)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Leaderboard**", width="stretch")
        with st.container(width=210):
            metric = address.choose(
                "Metric", names, "metric", default=label("recall", comparison.k), label_visibility="collapsed"
            )
    row = comparison.metrics[metric or names[0]]
    verdicts = ["baseline", *(verdict(row.label, delta) for delta in row.deltas)]
    rows = list(zip(comparison.runs, row.estimates, strict=True))
    widgets.figure(
        difference_plots.forest(rows, x_title=f"{row.label} (0 to 1)", baseline=0, notes=verdicts), "leaderboard"
    )


def verdict(metric: str, delta: compare.Delta) -> str:
    if not delta.significant:
        return "≈ not significant"
    better = ((delta.difference.mean or 0) > 0) == METRICS[metric.split("@")[0]].higher_is_better
    return "▲ better" if better else "▼ worse"


def in_words(comparison: Comparison) -> None:
    st.markdown("**Verdict**")
    st.markdown(f"#### {plain(compare.sentence(comparison))}", anchors=False)
    st.caption(
        f"Paired by question over {wording.counted(len(comparison.question_ids), 'question')} with evidence that all "
        "runs share; bootstrap 95 % intervals; p-values of a randomisation test, corrected over metrics and runs "
        "(Holm)."
    )
    deltas = [
        d
        for name in ("recall", "mrr")
        for d in comparison.metrics[label(name, comparison.k)].deltas
        if not d.significant
    ]
    if detectable := [d.detectable for d in deltas if d.detectable is not None]:
        needed = [d.needed for d in deltas if d.needed is not None]
        count = len(comparison.question_ids)
        sentence = f"{count:,} questions detect a true difference of {max(detectable):.2f} with 80 % power"
        if needed and max(needed) < 100_000:
            sentence += f"; the differences observed here would need about {max(needed):,}"
        st.caption(f"{sentence}.")
    for note in comparison.notes:
        st.warning(plain(note))


# The evidence


def settings_table(comparison: Comparison) -> None:
    st.markdown("**Configuration differences**")
    if not comparison.settings:
        st.caption("None: the runs have the same configuration.")
        return
    rows = pd.DataFrame(
        [[setting.key, *(setting_words(v) for v in setting.values)] for setting in comparison.settings],
        columns=["Setting", *comparison.runs],
    )
    columns = {name: st.column_config.TextColumn(width="medium") for name in comparison.runs}
    widgets.table(rows, "settings", columns=columns, height="content", alt="Configuration differences")


def setting_words(value: object) -> str:
    """A setting as a cell shows it; an empty one is a dash."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None or value == "" else str(value)


def differences(comparison: Comparison) -> None:
    others = comparison.runs[1:]
    with st.container(horizontal=True, vertical_alignment="center"):
        title = st.container(width="stretch")
        if len(others) > 1:
            with st.container(width=210):
                other = address.choose("Against", others, "other", label_visibility="collapsed")
        else:
            other = others[0]
        title.markdown(f"**{plain(str(other))} minus {plain(comparison.runs[0])}**")
    changes = [
        difference_plots.Change(
            name, d.difference.mean or 0.0, d.difference.low or 0.0, d.difference.high or 0.0, d.difference.n,
            d.significant, METRICS[name.split("@")[0]].higher_is_better,
        )
        for name, row in comparison.metrics.items()
        for d in row.deltas
        if d.run == other
    ]  # fmt: skip
    widgets.figure(difference_plots.differences(changes, x_title="Difference"), "differences")


def rows_of(comparison: Comparison, measured: Mapping[str, compare.MetricRow]) -> pd.DataFrame:
    """One row a metric: every run's mean, and its difference from the baseline."""
    rows = []
    for name, row in measured.items():
        title = ANSWER_METRICS[name].title if name in ANSWER_METRICS else name
        cells: dict[str, object] = {"Metric": title, "n": row.estimates[0].n}
        cells |= {run: estimate.mean for run, estimate in zip(comparison.runs, row.estimates, strict=True)}
        for delta in row.deltas:
            mark = f" {delta.run}" if len(row.deltas) > 1 else ""
            d = delta.difference
            cells |= {f"Difference{mark}": d.mean, f"95 % CI{mark}": f"[{d.low:+.3f}, {d.high:+.3f}]"}
            cells |= {
                f"p (Holm){mark}": "< 0.001" if delta.p_adjusted < 0.001 else f"{delta.p_adjusted:.3f}",
                f"Won · tied · lost{mark}": f"{d.wins} · {d.ties} · {d.losses}",
            }
        rows.append(cells)
    return pd.DataFrame(rows)


def metrics_table(title: str, table: pd.DataFrame, name: str) -> None:
    """A table of `rows_of`, with its CSV."""
    with widgets.above_table(name):
        st.markdown(title, width="stretch")
        widgets.csv_button(table, f"{name}.csv", f"{name}-csv")
    columns: dict[str, object] = {"Metric": st.column_config.TextColumn(width=140)}
    columns |= {
        column: st.column_config.NumberColumn(format="%.3f", width=75)
        for column in table.columns
        if table[column].dtype == float
    }
    widgets.table(table, f"{name}-metrics", columns=columns, height="content", alt="Metrics of the compared runs")


def answers_table(comparison: Comparison) -> None:
    title = "**Answer metrics**, over the questions that are scored in every run"
    metrics_table(title, rows_of(comparison, comparison.answers), "answers")
    st.caption(
        "Differences are paired by question, with bootstrap 95 % intervals; p-values are corrected over answer metrics "
        "and runs (Holm)."
    )


def pictures(comparison: Comparison, of: cache.State) -> None:
    st.markdown("**Curves**")
    for column, name in zip(st.columns(len(CURVES), gap="medium"), CURVES, strict=True):
        with column, widgets.errors_shown():
            lines = bands(of, comparison.k, name)
            widgets.figure(
                curve_plots.curves(
                    lines,
                    k=comparison.k,
                    by_run=True,
                    labels=False,
                    y_title=f"{METRICS[name].name} (0 to 1)",
                    height=290,
                ),
                f"curves-{name}",
            )
    st.markdown("**Rank histograms**")
    runs = []
    for run, table in zip(comparison.runs, comparison.tables, strict=True):
        ranks = ranking.ranks(table)
        runs.append(rank_plots.Ranks(run, ranks[ranks > 0], int((ranks == 0).sum())))
    widgets.figure(rank_plots.rank_histograms(runs, depth=comparison.depth, k=comparison.k, height=300), "histograms")


# The questions


def cases(comparison: Comparison, runs: Sequence[Run]) -> None:
    """Questions won, lost and tied against the baseline; a click opens both rankings."""
    others = list(comparison.runs[1:])
    other = address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    requested = (st.query_params.get("metric"),)
    metric = address.first_of(requested, list(comparison.metrics)) or label("recall", comparison.k)
    outcomes = compare.outcomes(comparison, metric, comparison.runs.index(other))
    pair = (comparison.runs[0], other)
    ranks = [ranking.ranks(comparison.tables[comparison.runs.index(name)]) for name in pair]
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown("**Rank of each question in both runs**")
        drawn = difference_plots.rank_scatter(np.stack(ranks, axis=1), pair, depth=comparison.depth)
        widgets.figure(drawn, "scatter")
        st.caption(f"▲ below the line: {plain(other)} ranks the target better. A larger mark is more questions.")
    with right:
        with widgets.above_table("cases"):
            st.markdown(f"**Questions by {metric}: {plain(other)} against {plain(pair[0])}**", width="stretch")
            side = side_filter({side: len(getattr(outcomes, side)) for side in SIDES})
        ids = list(getattr(outcomes, side))
        retrievals = cache.retrievals(runs[0])
        places = [comparison.question_ids.index(i) for i in ids]
        rows = pd.DataFrame(
            {"Question": [retrievals[i][0].text for i in ids]}
            | {
                f"Rank {name}": [question_table.rank_cell(int(of_run[place])) for place in places]
                for name, of_run in zip(pair, ranks, strict=True)
            }
            | {"Id": ids}
        )
        cases_table(rows, side)


def side_filter(counts: Mapping[str, int]) -> str:
    """Choose between won, lost and tied; at first the first of them that has questions."""
    side = address.readable("side", address.one_of(SIDES), f"one of {', '.join(SIDES)}")
    first = next((name for name in SIDES if counts[name]), SIDES[0])
    st.session_state["side-filter"] = side = side or first
    st.segmented_control(
        "Outcome", SIDES, key="side-filter", required=True, label_visibility="collapsed",
        format_func=lambda name: f"{name} {counts[name]}",
        on_change=lambda: address.put(side=st.session_state["side-filter"]),
    )  # fmt: skip
    return side


def cases_table(rows: pd.DataFrame, side: str) -> None:
    def opened() -> None:
        address.put(question=widgets.selected(st.session_state[f"cases-{side}"], list(rows["Id"])))

    columns = {"Question": st.column_config.TextColumn(width="large")}
    widgets.table(rows, f"cases-{side}", columns=columns, on_select=opened, height=330, alt=f"Questions {side}")


def draw_heading() -> None:
    heading.header("Compare", "Whether a change really helped.")


def opened_question(question_id: str, comparison: Comparison, runs: Sequence[Run]) -> None:
    """The rankings of one question in every run, side by side."""
    question = cache.retrievals(runs[0])[question_id][0]
    crumbs = [("compare", "Compare " + ", ".join(comparison.runs), {"runs": st.query_params.get("runs", "")})]
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            heading.breadcrumb(crumbs)
        if st.button("All questions", shortcut="esc"):
            address.put(question=None)
            st.rerun()
    heading.header(question.text)
    st.html(highlighted(question.answer or "(no answer given)", language=question.language))
    st.html(legend([("gold", "evidence")]))
    for place, (column, run) in enumerate(zip(st.columns(len(runs), gap="medium"), runs, strict=True)):
        with column, widgets.errors_shown():
            row = comparison.question_ids.index(question_id)
            rank = int(ranking.ranks(comparison.tables[place])[row])
            st.markdown(f"**{plain(run.name)}** · {'target at rank ' + str(rank) if rank else 'target missed'}")
            retrieved = cache.retrievals(run)[question_id][1]
            passages.ranked_chunks(
                run.corpus_id, question, retrieved, k=comparison.k, first=5, key=run.id, narrow=len(runs) > 1
            )
    heading.scroll_to_top(question_id)


corpus = frame.need_corpus()
done = [run for run in store.runs(corpus.id) if run.status == "done"]
if len(done) < 2:
    draw_heading()
    with widgets.nothing(
        f"Comparing takes two runs on the same questions; {plain(corpus.name)} has {wording.counted(len(done), 'run')}."
    ):
        address.link("run", "Make a run")
    st.stop()
requested_question = st.query_params.get("question")
title, top = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
with top:
    with st.container():
        if not requested_question:
            draw_heading()
        runs = chosen_runs(done)
    depth = min((run.config.depth for run in runs), default=1)
    with st.container(width=110):
        k = address.chosen_number("k", 1, depth, runs[0].config.k if runs else 1)
        st.session_state["k-compared"] = k
        st.number_input(
            "k", 1, depth, key="k-compared", on_change=lambda: address.put(k=st.session_state["k-compared"])
        )
if len(runs) < 2:
    st.markdown("Choose two runs or more.")
    st.stop()
of = cache.state(*(run.id for run in runs))
with widgets.errors_shown():
    comparison = compared(of, k)
    with title:
        ids = address.one_of(comparison.question_ids)
        opened = address.readable("question", ids, "a question with evidence that all these runs share")
        if requested_question and opened is None:
            draw_heading()
    if opened is not None:
        opened_question(opened, comparison, runs)
        st.stop()
    if not comparison.metrics:  # of imported runs no ranking is measured
        st.markdown(plain(compare.sentence(comparison)))
        for note in comparison.notes:
            st.warning(plain(note))
        settings_table(comparison)
        answers_table(comparison)
        st.stop()
    left, right = st.columns(2, gap="medium")
    with left:
        leaderboard(comparison)
    with right:
        in_words(comparison)
        settings_table(comparison)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        differences(comparison)
    with right:
        metrics_table("**All metrics**", rows_of(comparison, comparison.metrics).drop(columns="n"), "comparison")
    if comparison.answers:
        with widgets.errors_shown():
            answers_table(comparison)
    pictures(comparison, of)
    cases(comparison, runs)
