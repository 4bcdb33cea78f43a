"""The pictures of a run's rankings, which filter its questions: ranks, curves, where they are lost, by document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis import diagnose, losses, outcomes
from ragviz.analysis.evaluate import Part, Slice, Summary, part_title
from ragviz.core.question import Question
from ragviz.core.run_info import Run
from ragviz.metrics.registry import METRICS, title_of
from ragviz.report import curve_plots, plots, rank_plots
from ragviz.runs import judgements
from ragviz.text.markup import without_middle
from ragviz.ui import address, cache, question_table, widgets
from ragviz.ui.kit import figure, heading, saving, table, tiles

SHOWN = 32
"""Characters of a document's name in a table: of longer ones, beginning and end."""


def outcome_bar(counts: outcomes.Counts, k: int, depth: int) -> None:
    """Draw the outcomes as shares of one bar, in the colours of the histogram; it needs no script to be drawn."""
    shares = "".join(
        f'<i class="rv-{outcome.replace(" ", "-")}" style="flex:{count}"'
        f' title="{outcomes.title(outcome, k, depth)}: {count:,} ({count / counts.total:.0%})"></i>'
        for outcome, count in counts.by_outcome.items()
        if count
    )
    words = outcomes.sum_words(counts, k, depth)
    st.html(f'<div class="rv-shares" role="img" aria-label="{words}">{shares}</div>')


def histogram(summary: Summary, key: str) -> None:
    """Draw the histogram of ranks; a bar filters the questions."""
    heading.section("Rank histogram")
    bars = f"bars-{key}"

    def bar_clicked() -> None:
        question_table.list_clicked("rank", question_table.rank_words(figure.clicked(st.session_state[bars])))

    drawn = rank_plots.rank_histogram(
        _ranks_of(summary),
        depth=summary.depth,
        k=summary.k,
        selected=question_table.rank_pair(st.query_params.get("rank"), summary.depth),
    )
    figure.draw(drawn, bars, on_select=bar_clicked)


def curves(summary: Summary, key: str) -> None:
    """Draw the curves of precision, recall and F1; a point chooses k."""
    heading.section("Precision, recall and F1 against k")
    lines = f"lines-{key}"

    def point_clicked() -> None:
        if point := figure.clicked(st.session_state[lines]):
            address.put(k=point[0])

    figure.draw(curve_plots.curves(_curves_of(summary), k=summary.k), lines, on_select=point_clicked)


def _ranks_of(summary: Summary) -> rank_plots.Ranks:
    return rank_plots.Ranks("", summary.ranks[summary.ranks > 0], summary.misses)


def _curves_of(summary: Summary) -> list[curve_plots.Curve]:
    k = np.arange(1, summary.depth + 1)
    return [curve_plots.Curve(METRICS[name].name, k, *summary.curves[name], summary.n) for name in summary.curves]


def waterfall(run: Run, summary: Summary, key: str) -> None:
    """Draw where questions are lost at the k shown; a bar filters the questions by its cause."""
    k, config = summary.k, run.config
    answered = judgements.answered_at(run, k)
    heading.section(f"Where questions are lost at k = {k}{'' if answered else ', retrieval only'}")
    if question_table.answers(run) and not answered:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.caption(f"Answered at k = {config.k}: what became of the answers is known there only.", width="content")
            own_k, show = config.k, f"Show k = {config.k}"
            st.button(f":blue[{show}]", type="tertiary", key="own-k", on_click=lambda: address.put(k=own_k, cause=None))
    steps = judgements.lost_steps(run, cache.causes(run, k), set(summary.question_ids), k)
    names, bars = [step.cause for step in steps], f"lost-{key}"

    def bar_clicked() -> None:
        place = figure.clicked(st.session_state[bars])
        cause = names[place[0]] if place and names[place[0]] in diagnose.CAUSES else None
        question_table.list_clicked("cause", cause)

    requested = st.query_params.get("cause")
    selected = names.index(requested) if requested in names else None
    drawn = plots.waterfall([(s.title, s.count, s.left) for s in steps], selected=selected)
    figure.draw(drawn, bars, on_select=bar_clicked)
    st.caption(lost_words(run, cache.lost(run, k), k, requested if requested in diagnose.CAUSES else ""))


def lost_words(run: Run, lost: losses.Losses, k: int, chosen: str) -> str:
    """Return what the `chosen` cause of loss means, "": the one to blame; and what was lost without evidence."""
    words = ""
    if name := chosen or lost.blames or ("" if lost.greatest else "fine"):
        cause = judgements.meaning_of(run, name, k, claims=cache.judgement(run).claims)
        lead = "" if chosen or not lost.greatest else "Most with evidence: " if lost.apart else "Most: "
        words = f"{lead}**{cause.title}.** {cause.explanation} *Next:* {cause.next_step}"
    apart = lost.split(chosen) if chosen else lost.apart
    return " ".join(filter(None, [words, apart, "A bar lists its questions."]))


def slices_table(run: Run, summary: Summary, key: str) -> None:
    """Draw one metric by kind and by document, or by type or style; a row filters the questions by it."""
    offered = divisions(cache.questions(run).values())
    labels = {label.split("@")[0]: label for label in (*summary.scores, *cache.judgement(run).metrics)}
    with widgets.above_table("by-document"):
        heading.section("By kind and document" if len(offered) == 1 else "By part of the questions")
        by = address.choose_one("Divided by", {key: title for key, (title, _) in offered.items()}, "by")
        with st.container(width=210):
            name = address.choose(
                "Metric", list(labels), "per", default="recall", label_visibility="collapsed",
                format_func=lambda name: title_of(labels[name]),
            )  # fmt: skip
        shown_slices = cache.breakdown(run, summary.k, offered[by][1], (labels[name or "recall"],))
        column = "Kind or document" if by == "document" else offered[by][0]
        rows = slice_rows(shown_slices, labels[name or "recall"], summary.depth, column)
        saving.button(rows, f"{run.name}-per-{by}", "by-document-csv")
    state = f"by-{by}-{key}"

    def opened() -> None:
        question_table.list_part(table.selected(st.session_state[state], shown_slices))

    columns = {
        column: st.column_config.TextColumn(width=176),
        "95 % CI": st.column_config.TextColumn(width=82),
        "n": st.column_config.NumberColumn(width=35),
        "Questions": st.column_config.NumberColumn(width=66),
        title_of(labels[name or "recall"]): st.column_config.ProgressColumn(
            min_value=0, max_value=1, format="%.2f", width=80
        ),
    }
    rows[column] = [without_middle(name, SHOWN) for name in rows[column]]
    height = widgets.height_of(len(rows), 8)
    widgets.table(rows, state, columns=columns, on_select=opened, height=height, alt="A metric by kind and document")


def divisions(questions: Iterable[Question]) -> dict[str, tuple[str, tuple[Part, ...]]]:
    """Return by what a run's questions can be divided: title and parts by key; type and style where they are said."""
    offered: dict[str, tuple[str, tuple[Part, ...]]] = {"document": ("Kind and document", ("kind", "document"))}
    asked = list(questions)
    if any(question.type for question in asked):
        offered["type"] = ("Type", ("type",))
    if any(question.style for question in asked):
        offered["style"] = ("Style", ("style",))
    return offered


def slice_rows(slices: Sequence[Slice], label: str, depth: int, column: str = "Kind or document") -> pd.DataFrame:
    """Return one row a part, named in `column`: its questions and misses, and the mean of a metric with its n."""
    scored = [part.metrics[label] for part in slices]
    rows = pd.DataFrame(
        {
            column: [part_title(part) for part in slices],
            title_of(label): pd.array([each.estimate.mean for each in scored], dtype="Float64"),
            "95 % CI": [tiles.interval_words(each.estimate) for each in scored],
            "n": [each.estimate.n for each in scored],
            "Questions": [part.questions for part in slices],
            outcomes.title("missed", 0, depth): [part.misses for part in slices],
            "Unscored": [each.without for each in scored],
        }
    )
    return rows if any(rows["Unscored"]) else rows.drop(columns="Unscored")
