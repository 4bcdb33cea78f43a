"""Figures are read back: their traces, ticks and hover texts show the data; points and streams of two runs."""

import numpy as np
import pytest

from ragviz.analysis import flows, points
from ragviz.analysis.points import Points, points_of
from ragviz.core.call import Estimate
from ragviz.report import curve_plots, leaderboard_plots, pair_plots
from ragviz.report.curve_plots import Curve, Ranks
from ragviz.report.leaderboard_plots import Row


def curve(name: str = "recall", last: int = 5, n: int = 80) -> Curve:
    k = np.arange(1, last + 1)
    mean = 1 - 0.5 / k
    return Curve(name, mean, mean - 0.1, np.minimum(mean + 0.1, 1), n)


@pytest.mark.parametrize("depth", [1, 3, 20, 21, 50, 100, 999])
def test_bins_hold_every_rank_once(depth: int) -> None:
    bins = curve_plots.rank_bins(depth)
    assert [rank for low, high in bins for rank in range(low, high + 1)] == list(range(1, depth + 1))
    assert len(bins) <= 24


def test_histogram_counts_every_question_and_sets_misses_apart() -> None:
    ranks = np.array([1, 1, 1, 2, 5, 30, 0, 0, 0, 0])
    figure = curve_plots.rank_histogram(Ranks("r", ranks), depth=50, k=3)
    bar = figure.data[0]
    assert sum(bar.y) == 10
    by_ranks = dict(zip(map(tuple, bar.customdata), bar.y, strict=True))
    assert by_ranks[1, 1] == 3
    assert by_ranks[2, 2] == 1
    assert by_ranks[21, 30] == 1
    assert by_ranks[0, 0] == 4
    assert bar.x[-1] > bar.x[-2] + 2, "the bar of misses is set apart"
    assert bar.marker.pattern.shape[-1] == "/"
    assert not any(bar.marker.pattern.shape[:-1])
    assert figure.layout.xaxis.ticktext[-1] == "not in<br>top 50"
    assert "3 of 10 questions found at rank 1" in bar.hovertext[0]
    assert "1 of 10 questions found at ranks 21 to 30" in bar.hovertext
    assert bar.hovertext[-1] == "4 of 10 questions not in top 50: a passage has no chunk there"
    assert "k = 3: 4 of 10" in [a.text for a in figure.layout.annotations]
    assert "6 of 10" in figure.layout.meta["alt"]


def ranks_at(*pairs: tuple[int, int]) -> Points:
    return points_of(np.array(pairs).T, most=1000)


def test_a_flow_is_drawn_in_proportion_and_can_be_clicked() -> None:
    before = dict.fromkeys("abcdef", "below_k") | dict.fromkeys("gh", "fine")
    after = dict.fromkeys("abcd", "fine") | dict.fromkeys("ef", "below_k") | {"g": "fine", "h": "<b>"}
    titles = {"fine": "Found", "below_k": "Below", "split": "<b>Split</b>"}
    of = flows.flow(before, after | {"h": "split"})
    figure = pair_plots.flow(of, titles, ("knn", "hybrid"))
    ribbons = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(ribbons) == len(of.streams) == 4
    heights = {trace.text: round(max(trace.y[23], trace.y[24]) - min(trace.y[23], trace.y[24]), 6) for trace in ribbons}
    assert heights == {
        "4 questions from Below<br>to Found": 4,
        "1 question from Found<br>to &lt;b&gt;Split&lt;/b&gt;": 1,
        "2 questions: Below in both": 2,
        "1 question: Found in both": 1,
    }
    marks = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert [of.streams[mark.customdata[0][0]].key for mark in marks] == ["below_k-fine", "fine-split"]
    assert [mark.marker.symbol for mark in marks] == ["triangle-up", "triangle-down"]
    labels = [note.text for note in figure.layout.annotations]
    assert labels[:2] == ["Found <b>2</b>", "Below <b>6</b>"]
    assert not any("<b>Split" in label for label in labels)


def test_names_of_runs_cannot_break_a_figure_or_become_markup() -> None:
    name = '<a href="x">' + "y" * 60
    row = Row(name, 1, Estimate(0.5, 0.4, 0.6, 3))
    figure = leaderboard_plots.leaderboard([row], x_title="Recall@3")
    assert "<a" not in figure.layout.yaxis.ticktext[0]
    assert figure.layout.yaxis.ticktext[0].endswith("…" + "y" * 13), "its end stays"
    drawn = [
        curve_plots.curves([curve(name)], k=1, by_run=True),
        curve_plots.rank_histograms([Ranks(name, np.array([1]))], depth=3, k=1),
        pair_plots.rank_scatter(ranks_at((1, 2)), (name, name), depth=3),
        pair_plots.score_scatter(ranks_at((0, 1)), (name, name), title=name),
        pair_plots.flow(flows.flow({"a": "fine"}, {"a": "fine"}), {"fine": name}, (name, name)),
        figure,
    ]
    for each in drawn:
        shown = [text for trace in each.data for text in [trace.name or "", *(trace.hovertext or [])]]
        assert not [text for text in shown if "<a" in text]


def test_questions_with_equal_values_are_one_point_with_their_count():
    found = points.points_of([[0.0, 1.0, 1.0, 0.5, 0.1 + 0.2], [0.0, 1.0, 1.0, 1.0, 0.3]])
    assert found.keys == ("0,0", "0.3,0.3", "0.5,1", "1,1")
    assert found.counts.tolist() == [1, 1, 1, 2]
    assert found.higher.tolist() == [0, 0, 1, 0], "0.1 + 0.2 is 0.3"
    assert found.places.tolist() == [[0, 0], [pytest.approx(0.3), 0.3], [0.5, 1], [1, 1]]
    members = found.members("1,1")
    assert members is not None
    assert members.tolist() == [1, 2]
    assert found.members("2,2") is None


def test_every_question_is_in_one_stream_and_the_greatest_come_first():
    before = {"a": "below_k", "b": "below_k", "c": "fine", "d": "not_retrieved", "e": "fine", "f": "fine", "g": ""}
    after = {"a": "fine", "b": "fine", "c": "split", "d": "below_k", "e": "fine", "f": "fine", "g": "fine", "h": "fine"}
    of = flows.flow(before, after)
    assert [(s.key, s.question_ids, s.effect) for s in of.streams] == [
        ("below_k-fine", ("a", "b"), "rescued"),
        ("not_retrieved-below_k", ("d",), "moved"),
        ("fine-split", ("c",), "broken"),
        ("fine-fine", ("e", "f"), "stayed"),
    ]
    assert (of.total, of.unknown) == (6, 2)
    assert of.causes == ("fine", "not_retrieved", "below_k", "split")
    assert [of.at(cause, before=True) for cause in of.causes] == [3, 1, 2, 0]
    assert [of.at(cause, before=False) for cause in of.causes] == [4, 0, 1, 1]
    assert flows.words(of) == (
        "Of 6 questions, 2 are lost no longer, 1 is lost only now, 1 is lost at another stage; 2 stay."
    )
    stream = of.stream("fine-split")
    assert stream is not None
    assert stream.question_ids == ("c",)
    assert of.stream("split-fine") is None
