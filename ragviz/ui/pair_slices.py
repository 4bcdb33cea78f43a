"""The difference between two runs in the parts of the questions: by document, kind, language and length."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from ragviz.analysis import slices
from ragviz.analysis.comparison_words import difference_words, p_words
from ragviz.analysis.slices import DIMENSIONS, Slice, Slices
from ragviz.metrics.registry import title_of
from ragviz.report import difference_plots
from ragviz.text.markup import plain, without_middle
from ragviz.text.names import distinct
from ragviz.ui import address, pairs, widgets, wording
from ragviz.ui.compare_answer import MARKS
from ragviz.ui.kit import figure, heading, notices, saving, table
from ragviz.ui.pairs import Pair

STYLE = """<style>
.st-key-pair-slices [data-testid="stColumn"] { min-width: 330px; }
.st-key-above-slices { padding-top: .36rem; }
</style>"""
DRAWN = 14
"""Slices that the picture shows at most."""


def draw(pair: Pair) -> None:
    """Draw the differences as a picture, and as a table; a row lists the questions of its slice."""
    found = pairs.slices_of(pair)
    names = distinct(pair.names, 24)
    heading.section(plain(f"Slices by {title_of(pair.metric)}: {names[1]} minus {names[0]}"))
    if not found.slices:
        st.caption("The questions cannot be divided: all are of one document, one kind, one language and one length.")
        return
    exploratory = "Exploratory: the slices were not declared before. "
    st.markdown(plain(exploratory + slices.multiplicity_words(found)))
    by = _chosen_dimension(found)
    shown = [each for each in found.slices if by in ("all", each.part.by)]
    st.html(STYLE)
    with st.container(key="pair-slices"):
        left, right = st.columns([1, 2], gap="medium")
        with left, notices.errors_shown():
            _figure(shown, pair.comparison.rule.margin(pair.metric))
        with right, notices.errors_shown():
            _table(pair, shown)
    notes = [slices.several_words(found) if by in ("all", "document") else ""]
    notes.append(slices.clusters_words(replace(found, slices=tuple(shown))))
    if any(each.part.by == "length" for each in shown):
        notes.append("The length of a question is in words; each ideograph counts as one.")
    st.caption(plain(" ".join(filter(None, notes))))


def _chosen_dimension(found: Slices) -> str:
    """Draw the choice of what the questions are divided by."""
    present = {each.part.by for each in found.slices}
    titles = {"all": "All"} | {by: title for by, title in DIMENSIONS.items() if by in present}
    return address.choose_one("Divided by", titles, "by")


def _figure(shown: list[Slice], margin: float) -> None:
    judged = [each for each in shown if each.difference is not None]
    # the widest intervals say least: the largest slices are drawn
    drawn = sorted(sorted(judged, key=lambda each: -each.n)[:DRAWN], key=judged.index)
    if not drawn:
        st.caption("No slice of these is large enough to be judged.")
        return
    titles = distinct([each.part.title for each in drawn], 26)
    changes = [
        difference_plots.Change(title, d.mean or 0.0, d.low or 0.0, d.high or 0.0, d.n, each.verdict or "undecided")
        for title, each in zip(titles, drawn, strict=True)
        for d in [each.difference]
        if d is not None
    ]
    figure.draw(difference_plots.differences(changes, x_title="Difference", margin=margin), "slices-differences")
    if len(judged) > len(drawn):
        st.caption(f"The {len(drawn)} slices with most questions, of {len(judged)} judged.")


def slice_rows(shown: list[Slice], names: tuple[str, str]) -> pd.DataFrame:
    """Return a row for each slice: its size, the means of both runs, and the difference where it is judged."""
    rows = pd.DataFrame(
        {
            "Divided by": DIMENSIONS[each.part.by],
            "Slice": each.part.title,
            "n": each.n,
            "Clusters": each.clusters,
            names[0]: each.baseline,
            names[1]: each.other,
            "Difference [95 % CI]": difference_words(each.difference) if each.difference else "–",
            "Verdict": MARKS[each.verdict] if each.verdict else "too few",
            "p (adjusted)": "–" if each.p_adjusted is None else p_words(each.p_adjusted),
        }
        for each in shown
    )
    return rows.astype({names[0]: float, names[1]: float})


def _table(pair: Pair, shown: list[Slice]) -> None:
    short = distinct(pair.names, 9 if all(map(str.isascii, pair.names)) else 5)  # ideographs are twice as wide
    rows = slice_rows(shown, (short[0], short[1]))
    key = f"slices-{st.session_state.get('cleared', 0)}"

    def opened() -> None:
        each = table.selected(st.session_state[key], shown)
        pairs.list_only("slice", each.part.key if each else None)

    with widgets.above_table("slices"):
        st.markdown(wording.counted(len(rows), "slice"), width="stretch")
        full = distinct(pair.names, 60)
        saving.button(lambda: slice_rows(shown, (full[0], full[1])), "slices", "slices-csv")
    columns: dict[str, object] = {
        "Divided by": st.column_config.TextColumn(width=80),
        "Slice": st.column_config.TextColumn(width=110),
        "n": st.column_config.NumberColumn(width=38),
        "Clusters": st.column_config.NumberColumn(width=66, help="Documents; those that one question needs are one."),
        "Difference [95 % CI]": st.column_config.TextColumn(width=126),
        "Verdict": st.column_config.TextColumn(width=78),
        "p (adjusted)": st.column_config.TextColumn("p (adj.)", width=54),
    }
    columns |= {name: st.column_config.NumberColumn(format="%.2f", width=74) for name in short}
    cut = rows.assign(Slice=[without_middle(name, 60) for name in rows["Slice"]])
    height = widgets.height_of(len(rows), 8, widgets.TWO_LINES)  # a document's name may need two lines
    widgets.table(
        cut, key, columns=columns, on_select=opened, height=height, row_height=widgets.TWO_LINES,
        alt="Slices of the questions",
    )  # fmt: skip
