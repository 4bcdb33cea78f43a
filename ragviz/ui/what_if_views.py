"""The pictures of the tab *What if*: risk against coverage, approximate against exact search."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis import risk_coverage
from ragviz.analysis.approximation import OUTCOMES
from ragviz.analysis.risk_coverage import Confidence
from ragviz.core.run_info import Run
from ragviz.report import what_if_plots
from ragviz.runs import what_if_of_run
from ragviz.text.markup import plain
from ragviz.ui import address, cache, what_if_cache, widgets
from ragviz.ui.kit import figure, heading, table

RISK = 10
"""Per cent of wrong answers for which a threshold is chosen by default."""


def risk(run: Run, k: int) -> None:
    """Draw wrong answers against the share answered, and the threshold for a chosen risk."""
    heading.section("Answer only above a score: wrong answers against refusals")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=430):
            by = cast(Confidence, address.choose_one("Confidence", risk_coverage.TITLES, "confidence"))
        with st.container(width=280):
            bound = address.bound("risk", RISK, address.number_within(0, 100), "0 to 100 per cent")
            most = st.slider("Wrong among the answered, at most", 0, 100, format="%d %%", **bound) / 100
    found, curve, reason = what_if_cache.risk(run, k, by)
    if curve is None:
        st.markdown(plain(reason))
        return
    picked = what_if_of_run.chosen(found, most, seed=run.config.seed)
    drawn = what_if_plots.risk_coverage(
        curve.thresholds, curve.coverage, curve.risk, curve.low, curve.high, chosen=picked.threshold
    )
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        figure.draw(drawn, f"risk-{run.id}-{by}")
    with right:
        st.markdown(plain(what_if_of_run.chosen_words(picked, curve)))
        at = f" Wrong: evidence not all among the first {k}." if not found.judged else ""
        st.caption(plain(f"{what_if_of_run.curve_words(found, curve)}{at}"))
        comparable, words = what_if_of_run.score_words(run)
        if not comparable or run.config.retriever == "bm25":
            st.caption(plain(words.partition(":")[0] + ": as a confidence they tell little; see the AURC."))
        st.caption(plain(found.scope))


def exact(run: Run, k: int, button: Callable[[], None]) -> None:
    """Draw what the embedder misses and what the approximate search of the index does."""
    heading.section("Exact against approximate search")
    if refused := what_if_cache.refusal(run, "exact"):
        st.markdown(plain(refused))
        return
    compared = what_if_cache.losses(run, k)
    if compared is None:
        st.markdown(
            "This index finds the nearest chunks approximately (HNSW). Exact search over the same chunks tells what "
            "the embedder misses from what the index does."
        )
        button()
        return
    losses, ids = compared
    st.markdown(plain(what_if_of_run.losses_words(losses)))
    questions, names = cache.questions(run), np.array(ids, dtype=object)
    differing = [
        (question_id, OUTCOMES[outcome])
        for outcome in ("exact", "approximate")
        for question_id in names[losses.found[outcome]].tolist()
    ]
    if not differing:
        return
    rows = pd.DataFrame(
        {"Question": [questions[i].text for i, _ in differing], "Outcome": [outcome for _, outcome in differing]}
    )
    state = f"exact-{run.id}-{k}"

    def opened() -> None:
        if row := table.selected(st.session_state[state], differing):
            st.session_state["open-question"] = row[0]

    widgets.table(
        rows, state, on_select=opened, height=widgets.height_of(len(rows), 8), alt="Where the searches differ"
    )
