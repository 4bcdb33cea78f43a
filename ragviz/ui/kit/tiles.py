"""Tiles: one number each, with its range or interval, n, and which direction is better."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from ragviz.core.call import Estimate
from ragviz.judging.forecast import Forecast
from ragviz.metrics.answers import AnswerMetric
from ragviz.metrics.rank_metrics import Metric
from ragviz.ui import wording

_COUNT = re.compile(r"n = [\d,]+( of [\d,]+)?")


def row(most: int = 4, narrowest: int = 140) -> Any:
    """Return the row for tiles, `most` side by side where there is room for tiles of `narrowest` pixels."""
    return st.grid(most, min_column_width=narrowest)


def tile(label: str, value: str, note: str = "", *, explained: str | None = None) -> None:
    """Draw one number with its note: range or interval, and n; no line ends within “n = 7 of 9”."""
    st.metric(
        label.replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓"),
        value,
        delta=_COUNT.sub(lambda count: count[0].replace(" ", "\u00a0"), note) or None,
        delta_color="off",
        delta_arrow="off",
        help=explained,
        border=True,
        height="stretch",
    )


def mean(metric: Metric[Any] | AnswerMetric, estimate: Estimate, title: str = "", total: int = 0) -> None:
    """Draw a metric's mean with its 95 % interval, its n of `total`, and an arrow for which direction is better."""
    arrow = "↑" if metric.higher_is_better else "↓"
    value, note = "–", "no question is scored"
    if estimate.mean is not None:
        of = f" of {total:,}" if total > estimate.n else ""
        value, note = f"{estimate.mean:.2f}", f"{estimate.interval_words()} · n = {estimate.n:,}{of}"
    tile(f"{title or metric.title} {arrow}", value, note, explained=metric.explanation)


def interval_words(estimate: Estimate) -> str:
    """Return an interval as a cell shows it."""
    return "" if estimate.mean is None else estimate.interval_words()


def forecast(of: Forecast) -> None:
    """Draw the tiles of a dry run: calls, tokens, cost, time."""
    unpaid = of.to_pay
    tile("Calls to pay", f"{unpaid.calls:,}", f"{of.cached:,} more are already paid")
    tokens = f"{unpaid.prompt_tokens:,} input + {unpaid.completion_tokens:,} output"
    tile("Tokens to pay", f"{unpaid.prompt_tokens + unpaid.completion_tokens:,}", f"{tokens}, estimated")
    dollars = "–" if of.cost is None else f"\\${of.cost:,.2f}"
    tile("Cost", dollars, "no price known: enter it in Settings" if of.cost is None else "estimated")
    duration = wording.duration(of.seconds) if unpaid.calls and of.seconds is not None else "–"
    basis = "from this endpoint's earlier calls" if of.seconds is not None else "the endpoint does not answer"
    tile("Time for the calls", duration, basis if unpaid.calls else "all are paid")
