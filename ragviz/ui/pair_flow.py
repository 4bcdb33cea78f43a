"""Where questions moved between causes of loss from the baseline to another run: a flow, and a row for each stream."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ragviz.report import pair_plots
from ragviz.runs import moved_questions
from ragviz.runs.moved_questions import Streams
from ragviz.text.markup import plain
from ragviz.text.names import distinct
from ragviz.ui import pairs, wording
from ragviz.ui.kit import figure, heading, notices, table
from ragviz.ui.pairs import Pair

EFFECTS = {
    "rescued": "▲ rescued",
    "broken": "▼ broken",
    "moved": "lost elsewhere",
    "stayed": "same",
}
"""Effect of a stream → how its rows say it."""


def draw(pair: Pair) -> None:
    """Draw the flow with the table of its streams beside it; a row or a mark lists its questions."""
    streams = pairs.streams_of(pair)
    flow = streams.flow
    only = "" if streams.answered else ", retrieval only"
    heading.section(f"Where questions moved at k = {pair.comparison.k}{only}")
    words = moved_questions.sentence(streams)
    if not flow.total:
        st.caption(words)
        return
    st.markdown(plain(words))
    with st.container(key="beside-flow"):
        left, right = st.columns([5, 4], gap="medium")
        with left, notices.errors_shown():
            _figure(pair, streams)
        with right, notices.errors_shown():
            _table(pair, streams)


def _figure(pair: Pair, streams: Streams) -> None:
    key = f"flow-{st.session_state.get('cleared', 0)}"

    def clicked() -> None:
        place = figure.clicked(st.session_state[key])
        known = place is not None and 0 <= place[0] < len(streams.flow.streams)
        pairs.list_only("stream", streams.flow.streams[place[0]].key if place is not None and known else None)

    short = distinct(pair.names, 26)
    drawn = pair_plots.flow(streams.flow, streams.titles, (short[0], short[1]))
    figure.draw(drawn, key, on_select=clicked)


def stream_rows(streams: Streams, names: tuple[str, str]) -> pd.DataFrame:
    """Return a row for each stream: where its questions were lost in both runs, and how many they are."""
    return pd.DataFrame(
        {
            names[0]: streams.titles[stream.source],
            names[1]: streams.titles[stream.target],
            "Questions": stream.count,
            "Effect": EFFECTS[stream.effect],
        }
        for stream in streams.flow.streams
    )


def _table(pair: Pair, streams: Streams) -> None:
    short = distinct(pair.names, 20)
    rows = stream_rows(streams, (short[0], short[1]))
    table.draw(
        rows, "streams", alt="Streams between causes of loss", above=wording.counted(len(rows), "stream"),
        file="streams", columns={short[0]: 150, short[1]: 150, "Questions": 75, "Effect": 115}, most=10,
        among=streams.flow.streams, turn=str(st.session_state.get("cleared", 0)),
        opened=lambda stream: pairs.list_only("stream", stream.key),
        closed=lambda: pairs.list_only("stream", None),
    )  # fmt: skip
    unknown = streams.flow.unknown
    left_out = f" {wording.counted(unknown, 'question')} without a known cause in both are left out." if unknown else ""
    st.caption(f"A click lists the questions of a stream.{left_out}")
