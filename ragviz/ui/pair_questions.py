"""The questions of two runs: a scatter of their values beside the list of those that were chosen, the way to a case."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis.points import CELLS
from ragviz.core.run_info import Run
from ragviz.metrics.registry import REGISTRY, title_of
from ragviz.report import pair_plots
from ragviz.text.markup import plain
from ragviz.text.names import distinct
from ragviz.ui import address, cache, compare_choices, pairs, question_table, widgets, wording
from ragviz.ui.kit import figure, heading, notices, saving, table
from ragviz.ui.pairs import RANK, SIDES, Listed, Pair

ANCHOR = "pair-questions"
"""Id of the element at the head of the list."""
OPEN = "open-case"
"""Session state: the question whose case is to be opened, and the side of the list that it was clicked in."""
_SEEN = "pair-list-seen"  # session state: what chose the list when it was last drawn
_SCROLLS = "pair-list-scrolls"  # session state: how often the list was brought into view


def draw(pair: Pair) -> None:
    """Draw the scatter and the list; a click on one question opens its case, one on several lists them."""
    st.html(f"<span id='{ANCHOR}'></span>")
    with st.container(key="beside-cases"):
        left, right = st.columns([2, 3], gap="medium")
        with left, notices.errors_shown():
            _scatter(pair)
        with right, notices.errors_shown():
            _list(pair)
    _bring_into_view()


def open_case(runs: Sequence[Run], k: int) -> None:
    """Go to the page of the question that was clicked, or that the address names: a case has a page of its own."""
    question_id, side = st.session_state.pop(OPEN, None) or (st.query_params.get("question"), None)
    if question_id:
        chosen = pairs.list_parameters() | ({"side": side} if side else {})
        names = compare_choices.written([run.name for run in runs], {run.name: run for run in runs})
        address.go_to("inspect", runs=names, question=question_id, k=k, **chosen)


def _scatter(pair: Pair) -> None:
    name = pairs.scatter_name(pair)
    heading.section("Each question in both runs")
    names = pairs.scatter_names(pair)
    st.session_state["scatter-of"] = name
    st.selectbox(
        "Each question by", names, key="scatter-of", format_func=pairs.scatter_title,
        on_change=lambda: address.put(scatter=st.session_state["scatter-of"], point=None),
    )  # fmt: skip
    ids, found = pairs.points_of(pair, name)
    key = f"scatter-{name}-{st.session_state.get('cleared', 0)}"

    def clicked() -> None:
        place = figure.clicked(st.session_state[key])
        if place is None or not 0 <= place[0] < len(found.keys):
            pairs.list_only("point", None)
        elif found.counts[place[0]] == 1:
            st.session_state[OPEN] = ids[int((found.of == place[0]).nonzero()[0][0])], None
        else:
            pairs.list_only("point", found.keys[place[0]])

    point = st.query_params.get("point")
    selected = found.keys.index(point) if point in found.keys else None
    short = distinct(pair.names, 28)
    if name == RANK:
        drawn = pair_plots.rank_scatter(found, (short[0], short[1]), depth=pair.comparison.depth, selected=selected)
    else:
        metric = REGISTRY.get(name.split("@")[0])
        drawn = pair_plots.score_scatter(
            found, (short[0], short[1]), title=title_of(name), selected=selected,
            limits=metric.range if metric else (0.0, 1.0),
            direction=-1 if metric and not metric.higher_is_better else 1,
        )  # fmt: skip
    figure.draw(drawn, key, on_select=clicked)
    side = "below" if name == RANK else "above"
    cells = f"Scores are gathered in {CELLS} × {CELLS} cells, marks stand at their means. " if found.gathered else ""
    st.caption(
        f"▲ {side} the line: {plain(pair.other)} is better; ▼: worse. {cells}The area of a mark is its number of "
        "questions. A click lists them, or opens the case of a single one."
    )


def _list(pair: Pair) -> None:
    shown = pairs.listed(pair)
    names = distinct(pair.names, 24)
    with widgets.above_table("cases"):
        heading.section(plain(f"Questions by {title_of(pair.metric)}: {names[1]} against {names[0]}"))
    short, full = distinct(pair.names, 12), distinct(pair.names, 60)
    rows = case_rows(pair, shown, (short[0], short[1]))
    with widgets.above_table("cases-filter"):
        _side_filter(shown)
        whole = partial(case_rows, pair, shown, (full[0], full[1]))
        saving.button(whole, "questions-compared", "questions-compared-csv")
    _chips(shown)
    if len(rows):
        _table(rows, shown)
    else:
        st.caption("No question is in both of these: remove a filter.")


def _side_filter(shown: Listed) -> None:
    """Draw the choice between all, won, lost and tied questions."""
    st.session_state["side-filter"] = shown.side
    st.segmented_control(
        "Outcome", ["all", *SIDES], key="side-filter", required=True, label_visibility="collapsed",
        format_func=lambda name: f"{name} {shown.sides[name]:,}",
        on_change=lambda: address.put(side=st.session_state["side-filter"]),
    )  # fmt: skip


def _chips(shown: Listed) -> None:
    """Draw what chose the list, to be removed with a click."""
    if not shown.chips:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"{wording.counted(len(shown.ids), 'question')} with", width="content")
        for name, words in shown.chips.items():
            st.button(
                f"{name}: {plain(words)}", icon=":material/close:", key=f"pair-chip-{name}", help="Remove this filter",
                on_click=_remove, args=(name,),
            )  # fmt: skip


def _remove(name: str) -> None:
    question_table.forget_selections()
    address.put(**{name: None, "side": None})


def case_rows(pair: Pair, shown: Listed, names: tuple[str, str]) -> pd.DataFrame:
    """Return a row for each listed question: its value of the metric and its rank in both runs."""
    comparison, metric = pair.comparison, pair.metric
    questions, both = cache.questions(pair.runs[0]), comparison.pair(metric, pair.place)
    row_of = {question_id: row for row, question_id in enumerate(both.question_ids)}
    cells: dict[str, list[object]] = {"Question": [questions[i].text for i in shown.ids]}
    for name, values in zip(names, both.values, strict=True):
        cells[name] = [float(values[row_of[i]]) if i in row_of else None for i in shown.ids]
    if comparison.metrics:
        rank_row = {question_id: row for row, question_id in enumerate(comparison.question_ids)}
        for name, ranks in zip(names, comparison.ranks[[0, pair.place]], strict=True):
            cells[f"Rank {name}"] = [
                question_table.rank_cell(int(ranks[rank_row[i]]), comparison.depth) if i in rank_row else "–"
                for i in shown.ids
            ]
    rows = pd.DataFrame(cells | {"Id": list(shown.ids)})
    return rows.astype(dict.fromkeys(names, "Float64"))


def _table(rows: pd.DataFrame, shown: Listed) -> None:
    key = f"cases-{shown.side}-{st.session_state.get('cleared', 0)}-{'-'.join(shown.chips)}"

    def opened() -> None:
        st.session_state[OPEN] = table.selected(st.session_state[key], list(rows["Id"])), shown.side

    columns: dict[str, object] = {"Question": st.column_config.TextColumn(width=290)}
    columns |= {
        name: st.column_config.NumberColumn(format="%.2f", width=78)
        for name in rows.columns
        if rows[name].dtype == "Float64"
    }
    columns |= {name: st.column_config.TextColumn(width=98) for name in rows.columns if name.startswith("Rank ")}
    alt = f"Questions, {shown.side}"
    height = widgets.height_of(len(rows), 12)
    widgets.table(rows, key, columns=columns, on_select=opened, height=height, alt=alt, empty="–")


def _bring_into_view() -> None:
    """Scroll to the list when a click on a stream or a slice, which are elsewhere on the page, has chosen it."""
    chosen = {name: st.query_params[name] for name in ("stream", "slice") if st.query_params.get(name)}
    before, st.session_state[_SEEN] = st.session_state.get(_SEEN, {}), chosen
    if chosen and chosen != before:
        st.session_state[_SCROLLS] = st.session_state.get(_SCROLLS, 0) + 1
    if chosen:
        heading.scroll_into_view(ANCHOR, f"pair {st.session_state.get(_SCROLLS, 0)}")
