"""The questions won, lost and tied against the baseline, on the page Compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis import compare
from ragviz.analysis.compare import Comparison
from ragviz.metrics.registry import title_of
from ragviz.records import Run
from ragviz.report import difference_plots
from ragviz.text.markup import plain
from ragviz.text.names import distinct
from ragviz.ui import address, cache, compare_choices, heading, question_table, widgets
from ragviz.ui.both_sides import SIDES
from ragviz.ui.compare_choices import Shown


def cases(shown: Shown) -> None:
    """Draw the questions won, lost and tied against the baseline; a click opens the case in both runs."""
    comparison, metric, other = shown.comparison, shown.metric, shown.other
    pair = (0, comparison.runs.index(other))
    outcomes = compare.outcomes(comparison, metric, pair[1])
    ranks = [comparison.ranks[place] for place in pair]
    names = distinct([comparison.runs[place] for place in pair], 24)
    with st.container(key="beside-cases"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            if comparison.metrics:
                _rank_scatter(comparison, ranks, other)
            else:
                st.caption("The ranks of these runs are not known.")
        with right:
            with widgets.above_table("cases"):
                said = f"Questions by {title_of(metric)}: {names[1]} against {names[0]}"
                heading.section(plain(said))
                side = _side_filter({side: len(getattr(outcomes, side)) for side in SIDES})
            rows = _case_rows(comparison, shown.runs, metric, list(getattr(outcomes, side)), pair, ranks)
            _cases_table(rows, side)


def _rank_scatter(comparison: Comparison, ranks: Sequence[np.ndarray], other: str) -> None:
    heading.section("Rank of each question in both runs")
    names = distinct((comparison.runs[0], other), 32)
    drawn = difference_plots.rank_scatter(np.stack(ranks, axis=1), (names[0], names[1]), depth=comparison.depth)
    widgets.figure(drawn, "scatter")
    st.caption(f"▲ below the line: {plain(other)} ranks the evidence better. A larger mark is more questions.")


def _case_rows(
    comparison: Comparison,
    runs: Sequence[Run],
    metric: str,
    ids: Sequence[str],
    pair: tuple[int, int],
    ranks: Sequence[np.ndarray],
) -> pd.DataFrame:
    """Return a row for each question: its value of the metric and its rank in both runs."""
    paired, questions = comparison.paired(metric), cache.questions(runs[0])
    row_of = {question_id: row for row, question_id in enumerate(paired.question_ids)}
    rank_row = {question_id: row for row, question_id in enumerate(comparison.question_ids)}
    names = distinct([comparison.runs[place] for place in pair], 24)
    cells: dict[str, list[object]] = {"Question": [questions[i].text for i in ids]}
    if metric in comparison.answers:
        cells |= {name: [float(paired.values[p, row_of[i]]) for i in ids] for name, p in zip(names, pair, strict=True)}
    if comparison.metrics:
        cells |= {
            f"Rank {name}": [
                question_table.rank_cell(int(r[rank_row[i]]), comparison.depth) if i in rank_row else "–" for i in ids
            ]
            for name, r in zip(names, ranks, strict=True)
        }
    return pd.DataFrame(cells | {"Id": list(ids)})


def _side_filter(counts: Mapping[str, int]) -> str:
    """Draw the choice between won, lost and tied; at first the first of them that has questions."""
    side = address.readable("side", address.one_of(SIDES), f"one of {', '.join(SIDES)}")
    first = next((name for name in SIDES if counts[name]), SIDES[0])
    st.session_state["side-filter"] = side = side or first
    st.segmented_control(
        "Outcome", SIDES, key="side-filter", required=True, label_visibility="collapsed",
        format_func=lambda name: f"{name} {counts[name]}",
        on_change=lambda: address.put(side=st.session_state["side-filter"]),
    )  # fmt: skip
    return side


def _cases_table(rows: pd.DataFrame, side: str) -> None:
    def opened() -> None:
        st.session_state["open-case"] = widgets.selected(st.session_state[f"cases-{side}"], list(rows["Id"])), side

    columns: dict[str, object] = {"Question": st.column_config.TextColumn(width=330)}
    columns |= {
        name: st.column_config.NumberColumn(format="%.2f", width=110)
        for name in rows.columns
        if rows[name].dtype == float
    }
    widgets.table(
        rows,
        f"cases-{side}",
        columns=columns,
        on_select=opened,
        height=widgets.height_of(len(rows), 9),
        alt=f"Questions {side}",
    )


def open_case(runs: Sequence[Run], k: int) -> None:
    """Go to the page of the question that was clicked, or that the address names: a case has a page of its own."""
    question_id, side = st.session_state.pop("open-case", None) or (st.query_params.get("question"), None)
    if question_id:
        kept = {name: st.query_params.get(name) for name in ("metric", "other")}
        names = compare_choices.written([run.name for run in runs], {run.name: run for run in runs})
        address.go_to("inspect", runs=names, question=question_id, k=k, side=side, **kept)
