"""The rankings of a run: pictures that filter its questions, and a table by part."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.analysis import diagnose, outcomes, run_verdict
from ragviz.analysis.evaluate import PARTS, Part, Slice, Summary
from ragviz.core.configuration import Run
from ragviz.metrics.registry import METRICS, title_of
from ragviz.report import curve_plots, plots
from ragviz.runs import judgements
from ragviz.ui import address, cache, question_table
from ragviz.ui.kit import figure, heading, table, tiles

ROWS = 100
"""Parts that are shown at once."""


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
    selected = question_table.rank_pair(st.query_params.get("rank"), summary.depth)
    ranks = curve_plots.Ranks("", summary.ranks)
    drawn = curve_plots.rank_histogram(ranks, depth=summary.depth, k=summary.k, selected=selected)
    written = question_table.rank_words
    figure.draw(drawn, f"bars-{key}", clicked=lambda pair: question_table.list_clicked("rank", written(pair)))


def curves(summary: Summary, key: str) -> None:
    """Draw the curves of precision, recall and F1; a point chooses k."""
    heading.section("Precision, recall and F1 against k")
    drawn = [curve_plots.Curve(METRICS[name].name, *summary.curves[name], summary.n) for name in summary.curves]
    lines = curve_plots.curves(drawn, k=summary.k)
    figure.draw(lines, f"lines-{key}", clicked=lambda point: address.put(**{"k": point[0]} if point else {}))


def waterfall(run: Run, summary: Summary, key: str) -> None:
    """Draw where questions are lost at the k shown; a bar filters the questions by its cause."""
    k = summary.k
    of_run = cache.at(run, k)
    answered, steps = of_run.answered, of_run.steps
    at = "" if run.knows.opaque else f" at k = {k}{'' if answered else ', retrieval only'}"
    heading.section(f"Where questions are lost{at}")
    if run.knows.answers and not answered:
        st.caption(f"Answered at k = {run.config.k}: what became of the answers is known there only.")
    names = [step.cause for step in steps]

    def clicked(place: tuple[int, ...] | None) -> None:
        cause = names[place[0]] if place and names[place[0]] in diagnose.CAUSES else None
        question_table.list_clicked("cause", cause)

    requested = st.query_params.get("cause")
    selected = names.index(requested) if requested in names else None
    bars_of, correct = [(s.title, s.count, s.left) for s in steps], names[-1] == "fine"
    drawn = plots.waterfall(bars_of, correct=correct, selected=selected)
    figure.draw(drawn, f"lost-{key}", clicked=clicked)
    st.caption(lost_words(run, of_run.losses, k, requested if requested in diagnose.CAUSES else ""))


def lost_words(run: Run, lost: run_verdict.Losses, k: int, chosen: str) -> str:
    """Return what the `chosen` cause of loss means, "": the one to blame; and what was lost without evidence."""
    words = ""
    if name := chosen or lost.blames or ("" if lost.greatest else "fine"):
        cause = judgements.meaning_of(run, name, k, claims=cache.overview(run).judgement.claims)
        lead = "" if chosen or not lost.greatest else "Most with evidence: " if lost.without_evidence else "Most: "
        words = f"{lead}**{cause.title}.** {cause.explanation} *Next:* {cause.next_step}"
    apart = "" if chosen else lost.without_evidence
    return " ".join(filter(None, [words, apart, "A bar lists its questions."]))


def slices_table(run: Run, summary: Summary, key: str) -> None:
    """Draw one metric by kind and by document, or by type or style; a row filters the questions by it."""
    offered: dict[str, tuple[str, tuple[Part, ...]]] = {"document": ("Evidence and document", ("kind", "document"))}
    said: tuple[Part, ...] = ("type", "style")
    asked = cache.questions(run).values()
    offered |= {part: (part.capitalize(), (part,)) for part in said if any(getattr(each, part) for each in asked)}
    labels = {label.split("@")[0]: label for label in (*summary.scores, *cache.overview(run).judgement.metrics)}
    title = "By evidence and document" if len(offered) == 1 else "By part of the questions"
    above = table.row_above("by-document", title=title)
    with above:
        by = address.choose_one("Divided by", {key: title for key, (title, _) in offered.items()}, "by")
        name = address.choose(
            "Metric", list(labels), "per", default="recall", label_visibility="collapsed", width=210,
            format_func=lambda name: title_of(labels[name]),
        )  # fmt: skip
    label = labels[name or "recall"]
    divided = cache.breakdown(run, summary.k, offered[by][1], (label,))
    column = "Evidence or document" if by == "document" else offered[by][0]
    shown = divided.slices(*table.page(len(divided.parts), ROWS, "parts"))
    table.draw(
        slice_rows(shown, label, summary.depth, column), "by-document",
        alt="A metric by kind and document", above=above, file=f"{run.name}-per-{by}", most=8,
        columns={column: 176, "95 % CI": 82, "n": 35, "Questions": 66, title_of(label): table.bar(80)},
        among=shown, turn=f"{by}-{key}",
        opened=lambda part: address.put(**dict.fromkeys(PARTS[1:]) | {part.by: part.name}),
    )  # fmt: skip


def slice_rows(slices: Sequence[Slice], label: str, depth: int, column: str = "Evidence or document") -> pd.DataFrame:
    """Return one row a part, named in `column`: its questions and misses, and the mean of a metric with its n."""
    scored = [part.metrics[label] for part in slices]
    rows = pd.DataFrame(
        {
            column: [part.title for part in slices],
            title_of(label): pd.array([each.estimate.mean for each in scored], dtype="Float64"),
            "95 % CI": [tiles.interval_words(each.estimate) for each in scored],
            "n": [each.estimate.n for each in scored],
            "Questions": [part.questions for part in slices],
            outcomes.title("missed", 0, depth): [part.misses for part in slices],
            "Unscored": [each.without for each in scored],
        }
    )
    return rows if any(rows["Unscored"]) else rows.drop(columns="Unscored")
