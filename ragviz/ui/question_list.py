"""The questions of a run below its pictures: removable filters, filters of its own, columns, and the way to a case."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis import outcomes
from ragviz.core.run_info import Run
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs import judgements
from ragviz.text.markup import plain, without_middle
from ragviz.ui import address, question_table, widgets, wording
from ragviz.ui.kit import heading, saving, table

ANCHOR = "questions-shown"
"""Id of the element at the head of the list."""
CASE = "inspect"
"""Path of the page that shows one question."""
MOST_ROWS = 12
"""Rows that are shown without scrolling in the table."""
_SEEN = "filters-seen"  # session state: the filters with which the list was last drawn
_OPENED = "opened-cases"  # session state: run → the question of it that was last opened
_SHOWN_CASE = "shown-case"  # session state: the run of the case that was last shown
_SCROLLS = "scrolls-to-list"  # session state: how often the list was brought into view


def draw(run: Run, rows: pd.DataFrame, total: int, k: int, left_out: str, key: str) -> None:
    """Draw the list of `rows`, those of `total` questions that pass the filters; `left_out` says which never do.

    The list is brought into view when a click or a link changed its filters, and on the way back from a case.
    """
    st.html(f"<span id='{ANCHOR}'></span>")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="list-head"):
        with st.container(width="content"):
            heading.section("Questions")
        words = (
            f"**{len(rows):,} of {wording.counted(total, 'question')}**, the worst first: by stage of loss, then score"
        )
        st.markdown(f"{words}{f' · {left_out}' if left_out else ''}", width="stretch")
    _chips(run, len(rows), k)
    with widgets.above_table("asked"):
        _filters(run, k)
        shown = _chosen_columns(run, rows, k)
        saving.button(shown, f"{run.name}-questions", "questions-csv")
    if len(rows):
        _table(run, rows, shown, k, key)
    else:
        made = judgements.made_at(run, k) if st.query_params.get("cause") else ""
        st.caption(
            f"No question passes these filters.{f' {made}: causes after them are known there only.' if made else ''}"
        )
    _bring_into_view(run)


def open_case(run: Run, question_id: str, k: int, **parameters: str | None) -> None:
    """Open a question's case; on the way back, the list is in view and names the question."""
    address.go_to(
        "inspect", run=run.name, question=question_id, k=k, **parameters, **question_table.filter_parameters()
    )


def note_case(run: Run, question_id: str) -> None:
    """Note that a run's case is shown, for the list of the run that one goes back to."""
    st.session_state.setdefault(_OPENED, {})[run.id] = question_id
    st.session_state[_SHOWN_CASE] = run.id


def _table(run: Run, rows: pd.DataFrame, shown: pd.DataFrame, k: int, key: str) -> None:
    ids = list(rows["Id"])
    last = st.session_state.get(_OPENED, {}).get(run.id)
    if last in ids:
        _opened_last(ids.index(last), rows["Question"].iloc[ids.index(last)], last)
    state = f"asked-{key}"

    def opened() -> None:
        st.session_state["open-question"] = table.selected(st.session_state[state], ids)

    if "Document" in shown:
        shown = shown.assign(Document=[without_middle(name, 40) for name in shown["Document"]])
    widgets.table(
        shown,
        state,
        columns=_formats(run, k),
        on_select=opened,
        height=widgets.height_of(len(rows), MOST_ROWS),
        alt="Questions, the worst first",
        empty="–",
    )


def _opened_last(place: int, text: str, question_id: str) -> None:
    """Draw which row was opened last, as the button that opens it again: the grid cannot be scrolled to a row."""

    def again() -> None:
        st.session_state["open-question"] = question_id

    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(f"Opened last: row {place + 1:,},", width="content")
        words = f":blue[{plain(without_middle(text, 90))}]"
        st.button(words, type="tertiary", key="opened-last", help="Open it again", on_click=again)


def _bring_into_view(run: Run) -> None:
    """Scroll to the head of the list when its filters have changed, and on arrival with filters or from a case.

    Other arrivals begin at the top of the page: Streamlit keeps the position of the page before.
    """
    came_from = address.arrived_from()
    returns = came_from == CASE and st.session_state.get(_SHOWN_CASE) == run.id
    filters = question_table.active_filters()
    before, st.session_state[_SEEN] = st.session_state.get(_SEEN, {}), filters
    if came_from or (filters and filters != before):
        st.session_state[_SCROLLS] = st.session_state.get(_SCROLLS, 0) + 1
    subject = f"{run.id} {st.session_state.get(_SCROLLS, 0)}"
    if returns or filters:  # the same script is not executed again while the page stays
        heading.scroll_into_view(ANCHOR, subject)
    elif came_from:
        heading.scroll_to_top(subject)


# Filters


def _chips(run: Run, count: int, k: int) -> None:
    """Draw every active filter, to be removed with a click."""
    filters = question_table.active_filters()
    if not filters:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"{wording.counted(count, 'question')} with", width="content")
        for name, value in filters.items():
            st.button(
                f"{name}: {plain(question_table.filter_words(run, k, name, value))}",
                icon=":material/close:",
                key=f"chip-{name}",
                help="Remove this filter",
                on_click=clear,
                args=(name,),
            )
        if len(filters) > 1:
            st.button("Clear all", type="tertiary", key="chip-all", on_click=clear, args=tuple(filters))


def clear(*names: str) -> None:
    """Remove filters; the figures and tables lose their selection."""
    address.put(**dict.fromkeys(names))
    question_table.forget_selections()


def _filters(run: Run, k: int) -> None:
    """Draw the filters by outcome, by score and by words."""
    outcome = address.first_of((st.query_params.get("outcome"),), question_table.OUTCOMES)
    st.session_state["outcome-filter"] = outcome
    title = partial(outcomes.title, k=k, depth=run.config.depth)
    st.segmented_control(
        "Outcome", question_table.OUTCOMES, key="outcome-filter", required=True, label_visibility="collapsed",
        format_func=lambda outcome: title(outcome) if outcome != "all" else "All",
        on_change=lambda: _choose_outcome(st.session_state["outcome-filter"]),
    )  # fmt: skip
    with st.popover("Score"):
        limits = question_table.score_range(st.query_params.get("score", "")) or (0.0, 1.0)
        st.session_state["score-filter"] = limits if limits[0] >= 0 else (0.0, 1.0)
        st.slider(
            f"{question_table.score_column(run, k)}: from, to below (1 included)", 0.0, 1.0, step=0.05,
            key="score-filter", on_change=lambda: address.put(score=_score_of(st.session_state["score-filter"])),
        )  # fmt: skip
    st.session_state["find-filter"] = st.query_params.get("find", "")
    with st.container(width=180):
        st.text_input(
            "Find", key="find-filter", placeholder="Find in questions", label_visibility="collapsed",
            on_change=lambda: address.put(find=st.session_state["find-filter"] or None),
        )  # fmt: skip


def _choose_outcome(outcome: str) -> None:
    """Filter by an outcome, instead of a rank or cause that was clicked before and may contradict it."""
    question_table.forget_selections()
    address.put(rank=None, cause=None, outcome=None if outcome == "all" else outcome)


def _score_of(limits: tuple[float, float]) -> str | None:
    return None if limits == (0.0, 1.0) or limits[0] == limits[1] else question_table.score_words(*limits)


# Columns


def _chosen_columns(run: Run, rows: pd.DataFrame, k: int) -> pd.DataFrame:
    """Draw the choice of columns, kept in the address, and return the chosen ones, the id last."""
    offered = {name.partition("@")[0]: name for name in rows.columns if name != "Id"}
    default = [name for name in offered if name not in question_table.hidden_columns(run)]

    def read(text: str) -> list[str] | None:
        names = text.split(",")
        return names if names and set(names) <= set(offered) else None

    chosen = address.readable("columns", read, f"some of {', '.join(offered)}") or default
    with st.popover("Columns"):
        st.session_state["columns-chosen"] = chosen
        st.pills(
            "Columns", list(offered), key="columns-chosen", selection_mode="multi", label_visibility="collapsed",
            on_change=lambda: address.put(columns=_columns_of(st.session_state["columns-chosen"], default)),
        )  # fmt: skip
    return rows[[*(name for key, name in offered.items() if key in chosen), "Id"]]


def _columns_of(chosen: list[str], default: list[str]) -> str | None:
    return None if not chosen or set(chosen) == set(default) else ",".join(chosen)


def _formats(run: Run, k: int) -> dict[str, object]:
    bar = st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f", width=110)
    columns: dict[str, object] = {
        "Answer": st.column_config.TextColumn(width=80),
        "Cause": st.column_config.TextColumn(width=150),
        "Rank": st.column_config.NumberColumn(
            help="By which a chunk of every passage that the question needs has come; empty when one has none.",
            width=50,
        ),
        "Outcome": st.column_config.TextColumn(width=120),
        "Question": st.column_config.TextColumn(width=350),
        "Document": st.column_config.TextColumn(width=180),
        f"Recall@{k}": bar,
        "Id": st.column_config.TextColumn(width=80),
    }
    if metric := question_table.metric_of(run):
        columns[ANSWER_METRICS[metric].title] = bar | {"width": 125}
    return columns
