"""The scores of a run: how one metric is distributed, two against each other, and the means of all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis.evaluate import KIND_TITLES, Scored, Summary
from ragviz.core.run_info import Run
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import METRICS, title_of
from ragviz.report import plots
from ragviz.runs import judgements
from ragviz.ui import address, cache, question_table, wording
from ragviz.ui.kit import figure, heading, notices, table, tiles


def distributions(run: Run, judgement: judgements.Judgement, key: str) -> None:
    """Draw the distribution of one metric, and completeness against conciseness where both were measured."""
    pairs = ((name, ANSWER_METRICS[name].drawn_against) for name in judgement.metrics)
    pair = next((pair for pair in pairs if pair[1] in judgement.metrics), None)
    with st.container(key="beside-scores"):
        left, right = st.columns(2, gap="medium") if pair else (st.container(), None)
        with left, notices.errors_shown():
            score_distribution(run, judgement, key)
        if right is not None and pair is not None:
            with right, notices.errors_shown():
                completeness_against_conciseness(run, pair, key)


def score_distribution(run: Run, judgement: judgements.Judgement, key: str) -> None:
    """Draw the scores of the answers by one metric, in tenths; a bar filters the questions by its range."""
    with st.container(horizontal=True, vertical_alignment="center", key="scores-head"):
        heading.section("Score distribution")
        st.session_state["metric-shown"] = name = question_table.metric_of(run)
        with st.container(width=270):
            st.selectbox(
                "Metric", list(judgement.metrics), key="metric-shown", label_visibility="collapsed",
                format_func=lambda name: ANSWER_METRICS[name].title,
                on_change=lambda: address.put(metric=st.session_state["metric-shown"], score=None),
            )  # fmt: skip
    values = np.array([s.value for s in cache.scores(run, name).values() if s.value is not None])
    if len(values):
        bars = f"spread-{name}-{key}"

        def bar_clicked() -> None:
            tenth = figure.clicked(st.session_state[bars])
            limits = (tenth[0] / 10, (tenth[0] + 1) / 10) if tenth else None
            question_table.list_clicked("score", question_table.score_words(*limits) if limits else None, metric=name)

        selected = question_table.score_range(st.query_params.get("score", ""))
        drawn = plots.score_histogram(values, title=ANSWER_METRICS[name].title, selected=selected)
        figure.draw(drawn, bars, on_select=bar_clicked)
    else:
        st.markdown("No answer is scored by this metric.")
    without = judgement.metrics[name].without
    count = f"{len(values)} of {judgement.metrics[name].total} scored{f', {without}' if without else ''}"
    st.caption(f"{ANSWER_METRICS[name].explanation} {count}. Click a bar to list its questions.")
    if unscored := judgement.metrics[name].total - len(values):
        words = f":blue[{wording.counted(unscored, 'question')} without a score]"
        st.button(
            words, type="tertiary", key="unscored",
            on_click=lambda: question_table.list_only("score", "none", metric=name),
        )  # fmt: skip


def completeness_against_conciseness(run: Run, pair: tuple[str, str], key: str) -> None:
    """Each answer by its completeness and conciseness (factual precision); a click opens the question."""
    heading.section("Completeness against conciseness")
    first, second = (cache.scores(run, name) for name in pair)
    ids = [i for i in first if i in second and first[i].value is not None and second[i].value is not None]
    points = f"quadrants-{key}"

    def point_clicked() -> None:
        if place := figure.clicked(st.session_state[points]):
            st.session_state["open-question"] = ids[place[0]]

    x, y = (np.array([scores[i].value for i in ids], dtype=float) for scores in (first, second))
    questions = cache.questions(run)
    figure.draw(plots.quarters(x, y, [questions[i].text for i in ids]), points, on_select=point_clicked)
    st.caption(
        "Low completeness: evidence was not retrieved, or was ignored. Low conciseness: too much was retrieved or "
        "said. Low on both: the answer is off topic. Click a point to open its question."
    )


def metrics_table(run: Run, summary: Summary) -> None:
    """Draw every metric, over all questions and by kind."""
    whole, *others = cache.breakdown(run, summary.k, ("all", "kind"))
    made = judgements.made_at(run, summary.k)
    at = f", at k = {run.config.k}" if made else ""
    kinds = {KIND_TITLES[part.name].capitalize(): part for part in others} if len(others) > 1 else {}
    names = [name for name in whole.metrics if name in ANSWER_METRICS]
    names += [name for name in whole.metrics if name not in ANSWER_METRICS]
    scored = [whole.metrics[name] for name in names]
    rows = pd.DataFrame(
        {
            "Metric": [f"{title_of(name)}{at if name in ANSWER_METRICS else ''}" for name in names],
            "Mean": pd.array([each.estimate.mean for each in scored], dtype="Float64"),
            "95 % CI": [tiles.interval_words(each.estimate) for each in scored],
            "n": [each.estimate.n for each in scored],
        }
        | {title: [mean_words(part.metrics[name]) for name in names] for title, part in kinds.items()}
        | {
            "Unscored": [
                each.without if name in ANSWER_METRICS else "" for name, each in zip(names, scored, strict=True)
            ],
            "Description": [
                ANSWER_METRICS[name].explanation if name in ANSWER_METRICS else METRICS[name.split("@")[0]].explanation
                for name in names
            ],
        }
    )
    if not any(rows["Unscored"]):
        rows = rows.drop(columns="Unscored")
    above = table.row_above("metrics")
    with above:
        heading.section(f"All metrics at k = {summary.k}")
        if made:
            st.caption(f"{made}", width="content")
    columns = {"Mean": table.bar(110, "%.3f"), "Description": table.text("large")}
    table.draw(rows, "metrics", alt="All metrics", above=above, file=f"{run.name}-metrics", columns=columns, most=8)


def mean_words(scored: Scored) -> str:
    """Return a mean with its n, as a cell shows it."""
    mean, n = scored.estimate.mean, scored.estimate.n
    return "–" if mean is None else f"{mean:.2f} (n = {n:,})"
