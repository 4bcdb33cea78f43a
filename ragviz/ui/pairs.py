"""Two of the compared runs, question by question: points, streams and slices, cached; and the questions listed of them.

The page Compare and the case of two runs list the same questions: those that the parameters of the address choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from ragviz.analysis import points, slices
from ragviz.analysis.compare import Comparison
from ragviz.analysis.points import Points
from ragviz.analysis.rules import Rule, direction
from ragviz.analysis.slices import Part, Slices
from ragviz.core.run_info import Run
from ragviz.metrics.registry import title_of
from ragviz.runs import moved_questions
from ragviz.runs.moved_questions import Streams
from ragviz.ui import address, cache, question_table

SIDES = ("won", "lost", "tied")
RANK = "rank"
"""What the scatter shows of rankings: not a metric, but what they are all made of."""
CHOSEN = ("point", "stream", "slice")
"""Parameters of the address that list the questions of a point, a stream or a slice; one of them at a time."""
LIST = ("metric", "other", "side", "scatter", *CHOSEN)
"""Parameters of the address that choose the list of questions on the page Compare."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two of the compared `runs`, the first of which is the baseline, `other` the name of the other, by a metric."""

    runs: tuple[Run, ...]
    comparison: Comparison
    other: str
    metric: str

    @property
    def place(self) -> int:
        """The place of the other run in the comparison."""
        return self.comparison.runs.index(self.other)

    @property
    def names(self) -> tuple[str, str]:
        """The names of both."""
        return self.comparison.runs[0], self.other

    @property
    def both(self) -> tuple[Run, Run]:
        """The runs themselves."""
        return self.runs[0], self.runs[self.place]

    @property
    def of(self) -> cache.State:
        """The state of all compared runs, and of their corpus: the key of what is cached of them."""
        return cache.state(*(run.id for run in self.runs), self.runs[0].corpus_id)


# Points


def scatter_names(pair: Pair) -> list[str]:
    """Return what the scatter can show of both runs: the rank of the evidence, and every metric that is compared."""
    return [*([RANK] if pair.comparison.metrics else []), *pair.comparison.rows]


def scatter_name(pair: Pair) -> str:
    """Return what the scatter shows: the address's, else the rank where the metric is one of rankings, else it."""
    names = scatter_names(pair)
    chosen = address.readable("scatter", address.one_of(names), f"one of {', '.join(names)}")
    return chosen or (RANK if pair.metric in pair.comparison.metrics else pair.metric)


def scatter_title(name: str) -> str:
    """Return what people call that which the scatter shows."""
    return "Rank of the evidence" if name == RANK else title_of(name)


def points_of(pair: Pair, name: str) -> tuple[tuple[str, ...], Points]:
    """Return the questions of the scatter by `name`, and their points; ranks not found are the depth + 1."""
    return _points(pair.of, pair.comparison.k, name, pair.place, pair.comparison)


@st.cache_resource(show_spinner=False, max_entries=64)
def _points(of: cache.State, k: int, name: str, place: int, _comparison: Comparison) -> tuple[tuple[str, ...], Points]:
    if name != RANK:
        paired = _comparison.pair(name, place)
        return paired.question_ids, points.points_of(paired.values)
    return _comparison.question_ids, points.points_of_ranks(_comparison.ranks[[0, place]], _comparison.depth)


# Streams


def streams_of(pair: Pair) -> Streams:
    """Return where the questions of both runs moved between the causes of loss."""
    first, second = pair.both
    return _streams(cache.state(first.id, second.id), pair.comparison.k)


@st.cache_resource(show_spinner=False, max_entries=64)
def _streams(of: cache.State, k: int) -> Streams:
    first, second = (cache.workspace().store.run(run_id) for run_id in of.ids)
    return moved_questions.streams(first, second, k, cache.SOURCES)


def stream_words(streams: Streams, key: str) -> str:
    """Return a stream as a chip says it."""
    source, _, target = key.partition("-")
    return f"{streams.titles.get(source, source)} → {streams.titles.get(target, target)}"


# Slices


def parts_of(pair: Pair) -> list[Part]:
    """Return the parts of the questions that have a value in the metric."""
    return _parts(pair.of, pair.comparison.k, pair.metric, pair.place, pair.comparison)


@st.cache_resource(show_spinner=False, max_entries=32)
def _parts(of: cache.State, k: int, metric: str, place: int, _comparison: Comparison) -> list[Part]:
    run = cache.workspace().store.run(of.ids[0])
    questions, documents = cache.questions(run), cache.documents_of(run)
    return slices.parts_of([questions[i] for i in _comparison.pair(metric, place).question_ids], documents)


def slices_of(pair: Pair) -> Slices:
    """Return the difference in each part."""
    comparison = pair.comparison
    return _slices(pair.of, comparison.k, comparison.rule, pair.metric, pair.place, comparison, parts_of(pair))


@st.cache_resource(show_spinner="Comparing slices", max_entries=32)
def _slices(
    of: cache.State, k: int, rule: Rule, metric: str, place: int, _comparison: Comparison, _parts: Sequence[Part]
) -> Slices:
    return slices.judged(_parts, _comparison.pair(metric, place), rule, metric)


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


def listed(pair: Pair) -> Listed:
    """Return the questions that the address chooses of both runs."""
    paired = pair.comparison.pair(pair.metric, pair.place)
    difference = direction(pair.metric) * np.round(paired.values[1] - paired.values[0], 9)
    order = np.argsort(-np.abs(difference), kind="stable")
    outcome = {1: "won", -1: "lost", 0: "tied"}
    side_of = {paired.question_ids[row]: outcome[int(np.sign(difference[row]))] for row in order}
    chips, chosen = _chosen(pair)
    ids = list(side_of) if chosen is None else [i for i in side_of if i in chosen]
    if chosen is not None:  # of a stream, questions without a value in the metric too
        ids += [i for i in cache.questions(pair.runs[0]) if i in chosen and i not in side_of]
    counts = {side: sum(side_of.get(i) == side for i in ids) for side in SIDES}
    options = ("all", *SIDES)
    side = address.readable("side", address.one_of(options), f"one of {', '.join(options)}")
    default = "all" if chosen is not None else next((name for name in SIDES if counts[name]), "all")
    side = side or default
    kept = tuple(i for i in ids if side in ("all", side_of.get(i)))
    return Listed(kept, side, {"all": len(ids)} | counts, chips)


def _chosen(pair: Pair) -> tuple[dict[str, str], set[str] | None]:
    """Return the words of what is chosen of `CHOSEN`, and the ids of the questions; None when nothing is."""
    chips: dict[str, str] = {}
    sets: list[set[str]] = []
    if (at := address.readable("point", partial(_at_point, pair), "a point of this scatter")) is not None:
        name = scatter_name(pair)
        chips["point"] = f"{scatter_title(name)} {point_words(pair, name, at[0])}"
        sets.append(at[1])
    streams = streams_of(pair) if st.query_params.get("stream") else None
    if streams and (stream := address.readable("stream", streams.flow.stream, "a stream between two causes")):
        chips["stream"] = stream_words(streams, stream.key)
        sets.append(set(stream.question_ids))
    if (part := address.readable("slice", partial(_part, pair), "a slice of these questions")) is not None:
        chips["slice"] = f"{slices.DIMENSIONS[part.by]} {part.title}"
        ids = pair.comparison.pair(pair.metric, pair.place).question_ids
        sets.append({ids[row] for row in part.rows})
    return chips, set.intersection(*sets) if sets else None


def _at_point(pair: Pair, key: str) -> tuple[int, set[str]] | None:
    ids, found = points_of(pair, scatter_name(pair))
    rows = found.members(key)
    return None if rows is None else (found.keys.index(key), {ids[row] for row in rows})


def _part(pair: Pair, key: str) -> Part | None:
    return next((part for part in parts_of(pair) if part.key == key), None)


def point_words(pair: Pair, name: str, point: int) -> str:
    """Return the values at a point, under the baseline and under the other run."""
    _, found = points_of(pair, name)
    if name == RANK:
        depth = pair.comparison.depth
        sides = [question_table.rank_cell(int(r) if r <= depth else 0, depth) for r in found.places[point]]
    else:
        ends = zip(found.low[point], found.high[point], strict=True)
        sides = [f"{low:.3g}" if high - low < 1e-6 else f"{low:.2f} to {high:.2f}" for low, high in ends]
    return " → ".join(sides)


def list_parameters() -> dict[str, str]:
    """Return the parameters by which the page Compare lists its questions."""
    return {name: st.query_params[name] for name in LIST if st.query_params.get(name)}


def list_only(name: str, value: str | None) -> None:
    """List the questions of a point, a stream or a slice, whatever was listed before; with None, or again, all."""
    again = value is None or value == st.query_params.get(name)
    if any(st.query_params.get(each) for each in CHOSEN if each != name):
        question_table.forget_selections()
    address.put(**(dict.fromkeys((*CHOSEN, "side")) | ({} if again else {name: value})))
