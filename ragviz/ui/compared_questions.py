"""The questions of two of the compared runs: where they moved, in which slices they differ, each under both runs.

The page Compare and the case of two runs list the same questions: those that the parameters of the address choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis import flows, outcomes, points, slices
from ragviz.analysis.comparison_words import difference_words, p_words
from ragviz.analysis.points import Points
from ragviz.analysis.rules import direction
from ragviz.analysis.slices import DIMENSIONS, Part, Slice, Slices
from ragviz.core.configuration import Run
from ragviz.metrics.registry import range_of, title_of
from ragviz.report import pair_plots
from ragviz.runs import moved_questions
from ragviz.runs.moved_questions import Streams
from ragviz.text.markup import plain
from ragviz.text.names import distinct, short_names
from ragviz.ui import address, cache, question_table, wording
from ragviz.ui.compared_runs import MARKS, Compared, written
from ragviz.ui.kit import figure, filters, heading, notices, table

TAB = "Questions"
SIDES = ("won", "lost", "tied")
RANK = "rank"
"""What the scatter shows of rankings: not a metric, but what they are all made of."""
CHOSEN = ("point", "stream", "slice")
"""Parameters of the address that list the questions of a point, a stream or a slice; one of them at a time."""
LIST = ("metric", "other", "side", *CHOSEN)
ANCHOR = "pair-questions"
OPEN = "open-case"
"""Session state: the question whose case is to be opened, and the side of the list that it was clicked in."""


def list_parameters() -> dict[str, str]:
    """Return the parameters by which the page Compare lists its questions."""
    return {name: st.query_params[name] for name in LIST if st.query_params.get(name)}


def list_only(name: str, value: str | None) -> None:
    """List the questions of a point, a stream or a slice, whatever was listed before; with None, or again, all."""
    again = value is None or value == st.query_params.get(name)
    if any(st.query_params.get(each) for each in CHOSEN if each != name):
        question_table.forget_selections()
    address.put(**(dict.fromkeys((*CHOSEN, "side")) | ({} if again else {name: value})))


def _turn() -> str:
    """Return what tables and figures are drawn of, so that they lose what was selected in them."""
    return str(st.session_state.get("cleared", 0))


# Streams between causes of loss


@cache.kept(64)
def _streams(first: Run, second: Run, k: int) -> Streams:
    return moved_questions.streams(first, second, k, cache.SOURCES)


def flow(shown: Compared) -> None:
    """Draw the flow; a mark lists the questions of its stream."""
    streams = _streams(*shown.both, shown.comparison.k)
    only = "" if streams.answered else ", retrieval only"
    heading.section(f"Where questions moved at k = {shown.comparison.k}{only}")
    words = flows.words(streams.flow)
    if not streams.flow.total:
        st.caption(words)
        return
    st.markdown(plain(words))
    found = streams.flow.streams

    def clicked(place: tuple[int, ...] | None) -> None:
        list_only("stream", found[place[0]].key if place is not None and 0 <= place[0] < len(found) else None)

    short = distinct(shown.names, 26)
    figure.draw(pair_plots.flow(streams.flow, streams.titles, (short[0], short[1])), f"flow-{_turn()}", clicked=clicked)
    unknown = streams.flow.unknown
    left_out = f" {wording.counted(unknown, 'question')} without a known cause in both are left out." if unknown else ""
    st.caption(f"A click lists the questions of a stream.{left_out}")


# Slices


def _corpus(shown: Compared) -> tuple[str]:
    return (shown.runs[0].corpus_id,)


@cache.kept(32, also=_corpus)
def _parts(shown: Compared) -> list[Part]:
    run = shown.runs[0]
    questions, documents = cache.questions(run), cache.documents_of(run)
    ids = shown.comparison.pair(shown.metric, shown.place).question_ids
    return slices.parts_of([questions[i] for i in ids], documents)


@cache.kept(32, "Comparing slices", also=_corpus)
def _slices(shown: Compared) -> Slices:
    comparison = shown.comparison
    return slices.judged(_parts(shown), comparison.pair(shown.metric, shown.place), comparison.rule, shown.metric)


def in_slices(shown: Compared) -> None:
    """Draw the differences by slice as a table; a row opens `TAB` with the questions of its slice."""
    found = _slices(shown)
    names = distinct(shown.names, 24)
    heading.section(plain(f"Slices by {title_of(shown.metric)}: {names[1]} minus {names[0]}"))
    if not found.slices:
        st.caption("The questions cannot be divided: all are of one document, one type, one language and one length.")
        return
    exploratory = "Exploratory: the slices were not declared before. "
    st.markdown(plain(exploratory + slices.multiplicity_words(found)))

    def opened(each: Slice) -> None:
        question_table.forget_selections()
        address.put(**dict.fromkeys((*CHOSEN, "side")) | {"slice": each.part.key, "tab": TAB})

    rows, short = slice_rows(found.slices, shown.names), short_names(shown.names, 16)
    table.draw(
        rows, "slices", alt="Slices of the questions", above=wording.counted(len(rows), "slice"), file="slices",
        columns={"Slice": 260, "n": 50, **{name: table.number(120, "%.2f", label=short[name]) for name in short},
                 "Clusters": table.number(70, help="Documents; those that one question needs are one.")},
        most=12, among=found.slices, turn=_turn(), opened=opened,
    )  # fmt: skip
    notes = [slices.clusters_words(found)]
    if any(each.part.by == "length" for each in found.slices):
        notes.append("The length of a question is in words; each ideograph counts as one.")
    st.caption(plain(" ".join(filter(None, [*notes, "A row lists its questions."]))))


def slice_rows(chosen: Sequence[Slice], names: Sequence[str]) -> pd.DataFrame:
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
        for each in chosen
    )
    return rows.astype({names[0]: float, names[1]: float})


# Points of the scatter


def scatter_name(shown: Compared) -> str:
    """Return what the scatter shows: the rank of the evidence where the metric is one of rankings, else the metric."""
    return RANK if shown.metric in shown.comparison.metrics else shown.metric


def _scatter_title(name: str) -> str:
    return "Rank of the evidence" if name == RANK else title_of(name)


@cache.kept(64)
def points_of(shown: Compared, name: str) -> tuple[tuple[str, ...], Points]:
    """Return the questions of the scatter by `name`, and their points; ranks not found are the depth + 1."""
    comparison = shown.comparison
    if name != RANK:
        paired = comparison.pair(name, shown.place)
        return paired.question_ids, points.points_of(paired.values)
    return comparison.question_ids, points.points_of_ranks(comparison.ranks[[0, shown.place]], comparison.depth)


def _scatter(shown: Compared) -> None:
    name = scatter_name(shown)
    heading.section(plain(f"{_scatter_title(name)} of each question in both runs"))
    ids, found = points_of(shown, name)

    def clicked(place: tuple[int, ...] | None) -> None:
        if place is None or not 0 <= place[0] < len(found.keys):
            list_only("point", None)
        elif found.counts[place[0]] == 1:
            st.session_state[OPEN] = ids[int((found.of == place[0]).nonzero()[0][0])], None
        else:
            list_only("point", found.keys[place[0]])

    point = st.query_params.get("point")
    selected = found.keys.index(point) if point in found.keys else None
    short = distinct(shown.names, 28)
    if name == RANK:
        drawn = pair_plots.rank_scatter(found, (short[0], short[1]), depth=shown.comparison.depth, selected=selected)
    else:
        drawn = pair_plots.score_scatter(
            found, (short[0], short[1]), title=title_of(name), selected=selected,
            limits=range_of(name), direction=direction(name),
        )  # fmt: skip
    figure.draw(drawn, f"scatter-{name}-{_turn()}", clicked=clicked)
    side = "below" if name == RANK else "above"
    st.caption(
        f"▲ {side} the line: {plain(shown.other)} is better; ▼: worse. The area of a mark is its number of "
        "questions. A click lists them, or opens the case of a single one."
    )


# The list


@dataclass(frozen=True, slots=True)
class Listed:
    """The questions that are listed, the greatest difference first, and what chose them.

    `sides` counts those listed before one `side` of them was chosen ("all", or one of `SIDES`), `chips` are the words
    of each active parameter of `CHOSEN`.
    """

    ids: tuple[str, ...]
    side: str
    sides: Mapping[str, int]
    chips: Mapping[str, str]


def listed(shown: Compared) -> Listed:
    """Return the questions that the address chooses of both runs."""
    paired = shown.comparison.pair(shown.metric, shown.place)
    difference = direction(shown.metric) * np.round(paired.values[1] - paired.values[0], 9)
    order = np.argsort(-np.abs(difference), kind="stable")
    outcome = {1: "won", -1: "lost", 0: "tied"}
    side_of = {paired.question_ids[row]: outcome[int(np.sign(difference[row]))] for row in order}
    chips, chosen = _chosen(shown)
    ids = list(side_of) if chosen is None else [i for i in side_of if i in chosen]
    if chosen is not None:  # of a stream, questions without a value in the metric too
        ids += [i for i in cache.questions(shown.runs[0]) if i in chosen and i not in side_of]
    counts = {side: sum(side_of.get(i) == side for i in ids) for side in SIDES}
    options = ("all", *SIDES)
    side = address.readable("side", address.one_of(options), f"one of {', '.join(options)}")
    default = "all" if chosen is not None else next((name for name in SIDES if counts[name]), "all")
    side = side or default
    kept = tuple(i for i in ids if side in ("all", side_of.get(i)))
    return Listed(kept, side, {"all": len(ids)} | counts, chips)


def _chosen(shown: Compared) -> tuple[dict[str, str], set[str] | None]:
    chips: dict[str, str] = {}
    sets: list[set[str]] = []

    def at_point(key: str) -> set[str] | None:
        ids, found = points_of(shown, scatter_name(shown))
        rows = found.members(key)
        return None if rows is None else {ids[row] for row in rows}

    if (at := address.readable("point", at_point, "a point of this scatter")) is not None:
        chips["point"] = _scatter_title(scatter_name(shown))
        sets.append(at)
    streams = _streams(*shown.both, shown.comparison.k) if st.query_params.get("stream") else None
    if streams and (stream := address.readable("stream", streams.flow.stream, "a stream between two causes")):
        chips["stream"] = f"{streams.titles[stream.source]} → {streams.titles[stream.target]}"
        sets.append(set(stream.question_ids))
    parts = {part.key: part for part in _parts(shown)} if st.query_params.get("slice") else {}
    if (part := address.readable("slice", parts.get, "a slice of these questions")) is not None:
        chips["slice"] = f"{DIMENSIONS[part.by]} {part.title}"
        ids = shown.comparison.pair(shown.metric, shown.place).question_ids
        sets.append({ids[row] for row in part.rows})
    return chips, set.intersection(*sets) if sets else None


def each_question(shown: Compared) -> None:
    """Draw the scatter and the list; a click on one question opens its case, one on several lists them."""
    st.html(f"<span id='{ANCHOR}'></span>")
    notices.beside("cases", partial(_scatter, shown), partial(_list, shown))
    heading.follow(ANCHOR, {name: st.query_params[name] for name in ("stream", "slice") if st.query_params.get(name)})


def open_case(runs: Sequence[Run], k: int) -> None:
    """Go to the page of the question that was clicked, or that the address names: a case has a page of its own."""
    question_id, side = st.session_state.pop(OPEN, None) or (st.query_params.get("question"), None)
    if question_id:
        chosen = list_parameters() | ({"side": side} if side else {})
        names = written([run.name for run in runs], {run.name: run for run in runs})
        address.go_to("inspect", runs=names, question=question_id, k=k, **chosen)


def _list(shown: Compared) -> None:
    found, names = listed(shown), distinct(shown.names, 24)
    heading.section(plain(f"Questions by {title_of(shown.metric)}: {names[1]} against {names[0]}"))
    above = table.row_above("cases")
    with above:
        st.segmented_control(
            "Outcome", ["all", *SIDES], required=True, label_visibility="collapsed",
            format_func=lambda name: f"{name} {found.sides[name]:,}",
            **address.shows("side-filter", found.side, lambda side: {"side": side}),
        )  # fmt: skip

    def remove(*names: str) -> None:
        question_table.forget_selections()
        address.put(**dict.fromkeys(names), side=None)

    rows, short = case_rows(shown, found), short_names(shown.names, 10)
    filters.chips(found.chips, f"{wording.counted(len(found.ids), 'question')} with", remove, "pair-chip")
    if not len(rows):
        st.caption("No question is in both of these: remove a filter.")
        return

    values = {name: table.number(84, "%.2f", label=short[name]) for name in short}
    ranks = {f"Rank {name}": table.text(108, label=f"Rank {short[name]}") for name in short}
    table.draw(
        rows, "cases", alt=f"Questions, {found.side}", above=above, file="questions-compared",
        columns={"Question": 142, **values, **ranks},
        among=found.ids, turn=f"{found.side}-{_turn()}-{'-'.join(found.chips)}", most=12, empty="–",
        opened=lambda question_id: st.session_state.update({OPEN: (question_id, found.side)}),
    )  # fmt: skip


def case_rows(shown: Compared, found: Listed) -> pd.DataFrame:
    """Return a row for each listed question: its value of the metric and its rank in both runs."""
    comparison, metric, names = shown.comparison, shown.metric, shown.names
    questions, both = cache.questions(shown.runs[0]), comparison.pair(metric, shown.place)
    row_of = {question_id: row for row, question_id in enumerate(both.question_ids)}
    cells: dict[str, list[object]] = {"Question": [questions[i].text for i in found.ids]}
    for name, values in zip(names, both.values, strict=True):
        cells[name] = [float(values[row_of[i]]) if i in row_of else None for i in found.ids]
    if comparison.metrics:
        missed = outcomes.title("missed", 0, comparison.depth).lower()
        rank_row = {question_id: row for row, question_id in enumerate(comparison.question_ids)}
        for name, ranks in zip(names, comparison.ranks[[0, shown.place]], strict=True):
            cells[f"Rank {name}"] = [str(ranks[rank_row[i]] or missed) if i in rank_row else "–" for i in found.ids]
    rows = pd.DataFrame(cells | {"Id": list(found.ids)})
    return rows.astype(dict.fromkeys(names, "Float64"))
