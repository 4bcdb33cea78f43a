"""The pictures of the page Compare: curves and ranks of every run, quality against tokens read, cost and latency."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from ragviz.analysis import leaderboards, pareto, ties
from ragviz.analysis.evaluate import CURVES
from ragviz.metrics.registry import METRICS, title_of
from ragviz.report import curve_plots, expense_plots, rank_plots, small_multiples
from ragviz.text.markup import plain
from ragviz.text.names import distinct
from ragviz.ui import address, cache
from ragviz.ui.compare_choices import Shown
from ragviz.ui.kit import figure, heading, notices

OVERLAID = 3
"""Runs that one picture of curves or bars shows together; of more, each has a panel of its own."""
AXES: Mapping[ties.By, str] = {
    "tokens": "Tokens read a question",
    "dollars": "Dollars a question",
    "seconds": "Seconds a question",
}


def curves(shown: Shown) -> None:
    """Draw precision, recall and F1 against k: overlaid, or a panel for each run from four on, one metric at a time."""
    comparison = shown.comparison
    ks, n = np.arange(1, comparison.depth + 1), len(comparison.question_ids)
    names = distinct(comparison.runs, 28)

    def lines_of(name: str) -> list[curve_plots.Curve]:
        bands = cache.compared_curves(shown.of, comparison.k)
        return [curve_plots.Curve(run, ks, *band[name], n) for run, band in zip(names, bands, strict=True)]

    heading.section("Precision, recall and F1 against k")
    if len(names) > OVERLAID:
        name = address.choose_one("Curve", {name: METRICS[name].name for name in CURVES}, "curve")
        drawn = small_multiples.curves(lines_of(name), k=comparison.k, y_title=f"{METRICS[name].name} (0 to 1)")
        figure.draw(drawn, f"curves-{name}")
        st.caption(f"Bands are 95 % intervals; dotted in each panel: the baseline, {plain(comparison.runs[0])}.")
        return
    with st.grid(len(CURVES), min_column_width=300):
        for name in CURVES:
            with st.container(), notices.errors_shown():
                title = f"{METRICS[name].name} (0 to 1)"
                drawn = curve_plots.curves(
                    lines_of(name), k=comparison.k, by_run=True, labels=False, y_title=title, height=290
                )
                figure.draw(drawn, f"curves-{name}")


def histograms(shown: Shown) -> None:
    """Draw the questions by the rank of their evidence: overlaid, or a panel for each run from four on."""
    comparison = shown.comparison
    heading.section("Rank histograms")
    runs = []
    for run, ranks in zip(distinct(comparison.runs, 28), comparison.ranks, strict=True):
        runs.append(rank_plots.Ranks(run, ranks[ranks > 0], int((ranks == 0).sum())))
    if len(runs) > OVERLAID:
        drawn = small_multiples.histograms(runs, depth=comparison.depth, k=comparison.k)
    else:
        drawn = rank_plots.rank_histograms(runs, depth=comparison.depth, k=comparison.k, height=300)
    figure.draw(drawn, "histograms")


def recall_by_tokens(shown: Shown) -> None:
    """Draw recall against the tokens read, which is fair between chunk sizes; and say it for equal tokens."""
    comparison, k = shown.comparison, shown.comparison.k
    heading.section("Recall against tokens read")
    bands = cache.compared_curves(shown.of, k)
    lines, unknown = [], []
    for place, (run, name) in enumerate(zip(shown.runs, distinct(comparison.runs, 28), strict=True)):
        tokens = cache.overview(run).tokens
        if tokens is None or not tokens[0] > 0:
            unknown.append(run.name)
        else:
            parts = [each[: comparison.depth] for each in (tokens, *bands[place]["recall"])]
            lines.append(expense_plots.Reading(name, place, *parts))
    if lines:
        figure.draw(expense_plots.recall_by_tokens(lines, k=k), "tokens")
        st.caption(plain(_equal_tokens_words(lines, k)))
    if unknown:
        reasons = "nothing is ranked, or its index was cut anew, deleted, or is not ours"
        st.caption(plain(f"Not known for {', '.join(unknown)}: {reasons}."))


def _equal_tokens_words(lines: list[expense_plots.Reading], k: int) -> str:
    """Say the recall of all runs when each reads at most what the first reads at `k`."""
    budget = lines[0].tokens[k - 1]
    said = []
    for line in lines:
        kept = int(np.searchsorted(line.tokens, budget * (1 + 1e-9), side="right"))
        said.append(
            f"{line.name} {line.mean[kept - 1]:.2f} (k = {kept})" if kept else f"{line.name} reads more at k = 1"
        )
    return f"With at most the {budget:,.0f} tokens that {lines[0].name} reads at k = {k}: {'; '.join(said)}."


def quality_by_expense(shown: Shown) -> None:
    """Draw the metric shown against tokens read, cost or latency, with the Pareto front, and say what is dominated."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(f"{title_of(metric)} against what it takes"))
    prices = {run.name: cache.price(run, comparison.k) for run in shown.runs}
    telling = leaderboards.telling(prices)
    if not telling:
        st.caption("Tokens read, cost and latency of these runs are the same, as far as they are known.")
        return
    against = address.choose_one("Against", {str(by): AXES[by] for by in telling}, "expense")
    by = next(each for each in AXES if each == against)
    names, row = distinct(comparison.runs, 28), comparison.rows[metric]
    front = leaderboards.front_by(comparison, metric, prices, by)
    drawn = [
        expense_plots.Point(name, place, taken, _taken_words(by, taken), row.estimates[place], run in front.runs)
        for place, (run, name) in enumerate(zip(comparison.runs, names, strict=True))
        if run in front.runs or run in front.dominated
        for taken in [getattr(prices[run], by)]
    ]
    figure.draw(expense_plots.quality_by_expense(drawn, x_title=AXES[by], y_title=title_of(metric)), "front")
    st.caption(plain(f"{pareto.words(front)} By means: runs on the front need not be apart. {_MEANING[by]}"))
    if lacking := [run for run in comparison.runs if getattr(prices[run], by) is None]:
        st.caption(plain(f"{AXES[by]}: not known of {', '.join(lacking)}."))


def _taken_words(by: ties.By, amount: float) -> str:
    words = ties.amount_words(by, amount)
    return f"{words} tokens" if by == "tokens" else words


_MEANING: Mapping[ties.By, str] = {
    "tokens": "Tokens of the first k chunks, on average over the questions with evidence.",
    "dollars": "Dollars of the model calls that answered, when they were made; what judging cost is not in it.",
    "seconds": "Seconds of retrieval, reranking and the answering call, as measured when the run was made.",
}
