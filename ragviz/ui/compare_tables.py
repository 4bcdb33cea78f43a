"""The tables of the page Compare: what differs in the configurations, where questions are lost, every metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st

from ragviz.analysis import comparison_words, diagnose, settings
from ragviz.analysis.compare import Comparison, MetricRow
from ragviz.metrics.registry import title_of
from ragviz.report import difference_plots
from ragviz.runs import moved_questions
from ragviz.text.markup import plain
from ragviz.text.names import distinct, short_names
from ragviz.ui import cache, widgets, wording
from ragviz.ui.compare_answer import won_words
from ragviz.ui.compare_choices import Shown
from ragviz.ui.kit import figure, heading, saving


def settings_table(comparison: Comparison) -> None:
    """Draw what differs in the configurations, and nothing that does not."""
    heading.section("Configuration differences")
    if not comparison.settings:
        st.caption("None: the runs have the same configuration.")
        return
    titles = [settings.title(each.key) for each in comparison.settings]
    cells = [[settings.value_words(each.key, value) for value in each.values] for each in comparison.settings]
    names = distinct(comparison.runs, 28)
    text = st.column_config.TextColumn
    if len(names) <= SIDE_BY_SIDE:
        rows = pd.DataFrame({"Setting": titles} | dict(zip(names, zip(*cells, strict=True), strict=True)))
        columns: dict[str, object] = {"Setting": text(width=150)}
    else:
        rows = pd.DataFrame({"Run": names} | dict(zip(titles, cells, strict=True)))
        columns = {"Run": text(width=190, pinned=True)}
        columns |= {title: text(width=_width(title)) for title in titles}
    widgets.table(rows, "settings", columns=columns, height="content", alt="Configuration differences")


SIDE_BY_SIDE = 4
"""Runs that have a column each; more have a row each."""


def _width(title: str) -> int:
    return 60 + 5 * len(title)


@st.cache_data(show_spinner=False, max_entries=32)
def _stage_counts(of: cache.State, k: int) -> tuple[bool, list[Counter[str]]]:
    """Return how many of the common questions each run lost at each stage, and whether the stages tell of answers.

    They do when those of all runs do; else the stages of all runs end with the ranking, of questions with evidence.
    """
    runs = [cache.workspace().store.run(run_id) for run_id in of.ids]
    answered, causes = moved_questions.shared_causes(runs, k, cache.SOURCES)
    counted = [i for i in causes[0] if all(each.get(i) for each in causes)]
    return answered, [Counter(each[i] for i in counted) for each in causes]


def stages_table(shown: Shown) -> None:
    """Draw how many of the common questions each run lost at which stage."""
    comparison, runs = shown.comparison, shown.runs
    answered, counts = _stage_counts(shown.of, comparison.k)
    if not (total := counts[0].total()):
        return
    depth = comparison.depth if len({run.config.depth for run in runs}) == 1 else 0
    kind = runs[0].config.context if len({run.config.context for run in runs}) == 1 else "retrieved"
    names = distinct(comparison.runs, 13)
    present = [cause for cause in diagnose.CAUSES if cause == "fine" or any(count[cause] for count in counts)]
    titles = [diagnose.about(c, kind, k=comparison.k, depth=depth, answered=answered).title for c in present]
    heading.section(f"Where questions are lost at k = {comparison.k}{'' if answered else ', retrieval only'}")
    of_all = f"Of {wording.counted(total, 'common question')}{'' if answered else ' with evidence'}"
    if len(runs) <= SIDE_BY_SIDE:
        right = " → ".join(f"{count['fine']:,}" for count in counts)
        said = "answered correctly" if answered else titles[-1].lower()
        st.markdown(plain(f"{of_all}, {said}: {right}.").replace(" → ", "\u00a0→\u00a0"))
        cells = {name: [count[cause] for cause in present] for name, count in zip(names, counts, strict=True)}
        rows = pd.DataFrame({"Stage": titles} | cells)
        columns: dict[str, object] = {name: st.column_config.NumberColumn(width=105) for name in names}
        columns |= {"Stage": st.column_config.TextColumn(width=125)}
    else:
        st.markdown(plain(f"{of_all}:"))
        by_stage = {title: [c[cause] for c in counts] for title, cause in zip(titles, present, strict=True)}
        rows = pd.DataFrame({"Run": distinct(comparison.runs, 28)} | by_stage)
        columns = {"Run": st.column_config.TextColumn(width=160, pinned=True)}
        columns |= {title: st.column_config.NumberColumn(width=_width(title)) for title in titles}
    widgets.table(rows, "stages", columns=columns, height="content", alt="Questions lost at each stage, by run")


def metrics_part(shown: Shown, measured: Mapping[str, MetricRow], name: str) -> None:
    """Draw the differences of a pair in every metric of a kind: as a picture, and as a table beside it."""
    comparison, other = shown.comparison, shown.other
    kind = "Ranking" if name == "comparison" else "Answer"
    pair = " minus ".join(distinct((other, comparison.runs[0]), 40))
    heading.section(plain(f"{kind} metrics: {pair}"))
    with st.container(key=f"beside-{name}"):
        left, right = st.columns([3, 5], gap="medium")
        with left:
            changes = [
                difference_plots.Change(
                    title_of(metric), d.difference.mean or 0.0, d.difference.low or 0.0, d.difference.high or 0.0,
                    d.difference.n, d.verdict,
                )
                for metric in measured
                for d in [shown.delta(metric)]
            ]  # fmt: skip
            figure.draw(difference_plots.differences(changes, x_title="Difference"), f"{name}-differences")
        with right:
            _metrics_table(_rows_of(shown, measured), name)
            for row in measured.values():
                own = tuple(each for each in row.deltas if each.run == other)
                for words in comparison_words.missing_words(replace(row, deltas=own), comparison.runs[0]):
                    st.caption(plain(words))


def _rows_of(shown: Shown, measured: Mapping[str, MetricRow]) -> pd.DataFrame:
    """Return one row a metric: the means of the baseline and of the other run, and their difference."""
    rows, comparison = [], shown.comparison
    for name, row in measured.items():
        delta = shown.delta(name)
        cells: dict[str, object] = {"Metric": title_of(name)}
        means = zip(comparison.runs, row.estimates, strict=True)
        cells |= {run: estimate.mean for run, estimate in means if run in (comparison.runs[0], shown.other)}
        cells |= {
            "Difference [95 % CI]": comparison_words.difference_words(delta.difference),
            "Verdict": delta.verdict,
            "p (adjusted)": comparison_words.p_words(delta.p_adjusted),
            "Won · tied · lost": won_words(delta),
            "n": delta.difference.n,
        }
        rows.append(cells)
    return pd.DataFrame(rows)


def _metrics_table(table: pd.DataFrame, name: str) -> None:
    """Draw the rows of metrics, with their CSV."""
    with widgets.above_table(name):
        st.markdown(wording.counted(len(table), "metric"), width="stretch")
        saving.button(table, name, f"{name}-csv")
    means = [column for column in table.columns if table[column].dtype == float]
    columns: dict[str, object] = {
        column: st.column_config.NumberColumn(short, format="%.3f", width=68)
        for column, short in short_names(means, 10).items()
    }
    columns |= {
        "Metric": st.column_config.TextColumn(width=120),
        "Difference [95 % CI]": st.column_config.TextColumn(width=134),
        "Verdict": st.column_config.TextColumn(width=74),
        "p (adjusted)": st.column_config.TextColumn("p (adj.)", width=54),
        "Won · tied · lost": st.column_config.TextColumn(width=92),
        "n": st.column_config.NumberColumn(width=33),
    }
    widgets.table(table, f"{name}-metrics", columns=columns, height="content", alt="Metrics of the compared runs")
