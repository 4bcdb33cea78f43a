"""Figures are read back: their traces, ticks and hover texts show the data."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ragviz.analysis import flows
from ragviz.analysis.points import Points, points_of
from ragviz.core.call import Estimate
from ragviz.report import (
    curve_plots,
    difference_plots,
    expense_plots,
    leaderboard_plots,
    pair_plots,
    plots,
    rank_plots,
    small_multiples,
    style,
)
from ragviz.report.curve_plots import Curve
from ragviz.report.difference_plots import Change
from ragviz.report.expense_plots import Point, Reading
from ragviz.report.leaderboard_plots import Row
from ragviz.report.rank_plots import Ranks

ROOT = Path(__file__).parent.parent


def curve(name: str = "recall", last: int = 5, n: int = 80) -> Curve:
    k = np.arange(1, last + 1)
    mean = 1 - 0.5 / k
    return Curve(name, k, mean, mean - 0.1, np.minimum(mean + 0.1, 1), n)


def test_theme_has_the_same_colours_in_the_same_order() -> None:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    assert tuple(theme["chartCategoricalColors"]) == style.RUN_COLOURS


def test_run_colours_contrast_with_both_backgrounds() -> None:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    for background in (theme["light"]["backgroundColor"], theme["dark"]["backgroundColor"]):
        for colour in (style.ACCENT, style.BETTER, style.WORSE, style.CONTEXT):
            assert contrast(colour, background) >= 3


def contrast(a: str, b: str) -> float:
    """WCAG contrast of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("depth", [1, 3, 20, 21, 50, 100, 999])
def test_bins_hold_every_rank_once(depth: int) -> None:
    bins = rank_plots.rank_bins(depth)
    assert [rank for low, high in bins for rank in range(low, high + 1)] == list(range(1, depth + 1))
    assert len(bins) <= 24


def test_histogram_counts_every_question_and_sets_misses_apart() -> None:
    ranks = np.array([1, 1, 1, 2, 5, 30])
    figure = rank_plots.rank_histogram(Ranks("r", ranks, 4), depth=50, k=3)
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


def test_bars_up_to_k_carry_the_accent() -> None:
    bar = rank_plots.rank_histogram(Ranks("r", np.array([1, 9]), 0), depth=10, k=3).data[0]
    assert list(bar.marker.color[:10]) == [style.ACCENT] * 3 + [style.CONTEXT] * 7


def test_the_line_of_k_is_after_the_bar_of_k() -> None:
    figure = rank_plots.rank_histogram(Ranks("r", np.array([1, 9]), 0), depth=10, k=3)
    assert figure.layout.shapes[0].x0 == 2.5


def test_a_selected_bar_fades_the_others() -> None:
    bar = rank_plots.rank_histogram(Ranks("r", np.array([1, 2]), 1), depth=3, selected=(0, 0)).data[0]
    assert list(bar.marker.opacity) == [0.3, 0.3, 0.3, 1.0]


@pytest.mark.parametrize("misses", [0, 7])
def test_histogram_of_nothing_found(misses: int) -> None:
    figure = rank_plots.rank_histogram(Ranks("r", np.array([], dtype=int), misses), depth=5, k=3)
    assert sum(figure.data[0].y) == misses


def test_axis_of_counts_is_whole() -> None:
    for n in (1, 3, 40, 700):
        figure = rank_plots.rank_histogram(Ranks("r", np.ones(n, dtype=int), 0), depth=5)
        assert figure.layout.yaxis.dtick == int(figure.layout.yaxis.dtick)
        assert figure.layout.yaxis.range[1] > n


def test_histograms_of_runs_keep_their_colours_and_a_legend() -> None:
    runs = [Ranks("knn", np.array([1, 2]), 1), Ranks("hybrid", np.array([1, 1, 2]), 0)]
    figure = rank_plots.rank_histograms(runs, depth=10)
    assert [trace.marker.color[0] for trace in figure.data] == list(style.RUN_COLOURS[:2])
    assert figure.layout.barmode == "group"
    assert figure.layout.showlegend
    assert figure.data[1].hovertext[0] == "hybrid: 2 of 3 questions found at rank 1"


def lines_of(figure: plots.go.Figure) -> list[plots.go.Scatter]:
    return [trace for trace in figure.data if trace.mode == "lines+markers"]


def test_curves_show_values_bands_and_the_mark_at_k() -> None:
    figure = curve_plots.curves([curve("precision"), curve("recall"), curve("f1")], k=3)
    assert [line.name for line in lines_of(figure)] == ["precision", "recall", "f1"]
    assert list(lines_of(figure)[0].x) == [1, 2, 3, 4, 5]
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == 3
    for band in bands:
        opacity = float(re.findall(r"[\d.]+", band.fillcolor)[-1])
        assert 0.15 <= opacity <= 0.20
        assert max(band.y) == pytest.approx(1.0)
        assert min(band.y) == pytest.approx(0.4)
    assert figure.layout.shapes[0].x0 == 3
    assert figure.layout.yaxis.range[0] == 0
    assert {a.text for a in figure.layout.annotations} == {"precision", "recall", "f1"}
    assert lines_of(figure)[0].hovertext[2].startswith("precision at k = 3: 0.83")
    assert "0.73 to 0.93, 80 questions" in lines_of(figure)[0].hovertext[2]
    assert list(lines_of(figure)[0].customdata) == [1, 2, 3, 4, 5]
    assert "recall 0.83" in figure.layout.meta["alt"]


def test_lines_of_one_run_differ_in_dashes_and_lines_of_runs_in_colour() -> None:
    one = lines_of(curve_plots.curves([curve("a"), curve("b"), curve("c")]))
    assert len({line.line.dash for line in one}) == 3
    assert len({line.line.color for line in one}) == 1
    several = lines_of(curve_plots.curves([curve("a"), curve("b"), curve("c")], by_run=True))
    assert [line.line.color for line in several] == list(style.RUN_COLOURS[:3])


def test_many_lines_get_a_legend_instead_of_labels() -> None:
    figure = curve_plots.curves([curve(str(i)) for i in range(4)], by_run=True)
    assert figure.layout.showlegend
    assert not figure.layout.annotations


def test_labels_at_the_ends_do_not_overlap() -> None:
    figure = curve_plots.curves([curve("a"), curve("b"), curve("c")])
    heights = sorted(a.y for a in figure.layout.annotations)
    assert min(np.diff(heights)) >= 0.07


def test_k_past_the_curve_is_not_marked_on_it() -> None:
    figure = curve_plots.curves([curve(last=5)], k=9)
    assert not [trace for trace in figure.data if trace.mode == "markers"]


def test_chunk_lengths_split_at_the_limit() -> None:
    lengths = np.array([10, 200, 254, 255, 300])
    figure = plots.chunk_lengths(lengths, 254)
    bar = figure.data[0]
    assert sum(bar.y) == 5
    past = [n for n, shape in zip(bar.y, bar.marker.pattern.shape, strict=True) if shape]
    assert sum(past) == 2, "255 and 300 are longer than the embedder reads, 254 is not"
    assert any("longer than the embedder reads" in text for text in bar.hovertext)
    assert figure.layout.annotations[0].text == "embedder reads 254"


@pytest.mark.parametrize("limit", [None, 1, 254, 4000])
@pytest.mark.parametrize("lengths", [[], [1], [5, 900], list(range(1, 400))])
def test_chunk_lengths_lose_no_chunk(lengths: list[int], limit: int | None) -> None:
    bar = plots.chunk_lengths(np.array(lengths, dtype=int), limit).data[0]
    assert sum(bar.y) == len(lengths)
    assert len(bar.y) <= 30
    if limit is not None:
        past = [n for n, shape in zip(bar.y, bar.marker.pattern.shape, strict=True) if shape]
        assert sum(past) == sum(length > limit for length in lengths)


def rows_of(**means: float) -> list[Row]:
    """Rows of a leaderboard in this order, each run's place among those compared at the end of its name."""
    return [Row(name, int(name[-1]), Estimate(mean, mean - 0.1, mean + 0.05, 80)) for name, mean in means.items()]


def test_a_leaderboard_draws_intervals_on_one_axis_and_the_baseline() -> None:
    figure = leaderboard_plots.leaderboard(rows_of(hybrid1=0.75, knn0=0.5), x_title="Recall@3")
    assert [(trace.x[0], trace.y[0]) for trace in figure.data] == [(0.75, 0), (0.5, -1)], "the first row is on top"
    assert [trace.marker.color for trace in figure.data] == [style.RUN_COLOURS[1], style.RUN_COLOURS[0]]
    assert figure.data[0].error_x.array[0] == pytest.approx(0.05)
    assert figure.data[0].error_x.arrayminus[0] == pytest.approx(0.1)
    assert list(figure.layout.yaxis.ticktext) == ["hybrid1", "◆ knn0"]
    assert [shape.x0 for shape in figure.layout.shapes] == [0.5], "the baseline's mean"


def test_a_bracket_has_a_tick_at_each_of_its_runs_and_none_at_others() -> None:
    rows = rows_of(a3=0.9, b0=0.8, c1=0.7, d2=0.6)
    figure = leaderboard_plots.leaderboard(rows, [(0, 2), (2, 3)], x_title="Recall@3")
    drawn = [shape for shape in figure.layout.shapes if shape.xsizemode == "pixel"]
    lines = [(shape.x0, shape.y0, shape.y1) for shape in drawn if shape.x0 == shape.x1]
    ticks = [(shape.x1, shape.y0) for shape in drawn if shape.x0 != shape.x1]
    first, second = lines[0][0], lines[1][0]
    assert first != second, "brackets that overlap stand side by side"
    assert ticks == [(first, 0), (first, -2), (second, -2), (second, -3)]
    assert lines[0][1] > 0 > -2 > lines[0][2]
    assert "Not told apart: a3, c1; c1, d2." in figure.layout.meta["alt"]


def test_a_leaderboard_leaves_out_what_no_question_has() -> None:
    rows = [Row("a", 0, Estimate(None, None, None, 0))]
    figure = leaderboard_plots.leaderboard(rows, x_title="Recall@3")
    assert not figure.data
    assert "no question is scored" in figure.layout.annotations[0].text


def test_the_runs_past_the_last_colour_have_open_marks_and_dashed_lines() -> None:
    looks = {(style.run_colour(n), style.run_symbol(n), style.run_dash(n)) for n in range(12)}
    assert len(looks) == 12


def test_small_multiples_have_a_panel_for_each_run_and_the_baseline_in_all() -> None:
    lines = [curve(name) for name in "abcde"]
    figure = small_multiples.curves(lines, k=3, y_title="Recall")
    assert len({trace.xaxis for trace in figure.data}) == 5
    dotted = [trace for trace in figure.data if trace.line.dash == "dot"]
    assert {trace.name for trace in dotted} == {"a"}
    assert len(dotted) == 4
    runs = [Ranks(name, np.array([1, 2, 2]), place) for place, name in enumerate("abcde")]
    drawn = small_multiples.histograms(runs, depth=30, k=3)
    bars = [trace for trace in drawn.data if trace.type == "bar"]
    assert [sum(bar.y) for bar in bars] == [3, 4, 5, 6, 7]
    assert [bar.y[-1] for bar in bars] == [0, 1, 2, 3, 4], "misses are the last bar"
    assert "b: 2 of 4 questions at rank 2" in bars[1].hovertext


def test_recall_by_tokens_marks_k_and_quality_draws_the_front() -> None:
    numbers = np.array([0.5, 0.6, 0.7])
    sizes = {"a": 400, "b": 2000}
    lines = [Reading(name, n, numbers * sizes[name], numbers, numbers, numbers) for n, name in enumerate(sizes)]
    figure = expense_plots.recall_by_tokens(lines, k=2)
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert [(trace.x[0], trace.y[0]) for trace in marks] == [(240.0, 0.6), (1200.0, 0.6)]
    assert "b at k = 2: recall 0.60 for 1,200 tokens" in marks[1].hovertext[0]
    estimate = Estimate(0.5, 0.4, 0.6, 9)
    points = [
        Point("a", 0, 300, "300 tokens", estimate, True),
        Point("b", 1, 500, "500 tokens", estimate, False),
        Point("c", 2, 200, "200 tokens", replace(estimate, mean=0.4), True),
    ]
    drawn = expense_plots.quality_by_expense(points, x_title="Tokens", y_title="Recall@3")
    front, *marks = drawn.data
    assert list(zip(front.x, front.y, strict=True)) == [(200, 0.4), (300, 0.5)]
    assert [mark.marker.symbol for mark in marks] == ["diamond", "diamond-open", "diamond"]
    assert "dominated" in marks[1].hovertext[0]
    assert figure.layout.xaxis.type == "log"


def test_differences_show_their_verdict_by_shape_and_colour() -> None:
    rows = [
        Change("recall@3", 0.07, 0.02, 0.12, 80, "better"),
        Change("mrr", -0.05, -0.09, -0.01, 80, "worse"),
        Change("ndcg@3", 0.01, -0.02, 0.04, 80, "undecided"),
        Change("misses", -3, -5, -1, 80, "better"),
        Change("map", 0.001, -0.002, 0.004, 80, "equivalent"),
    ]
    figure = difference_plots.differences(rows, x_title="Difference")
    symbols = [trace.marker.symbol for trace in figure.data]
    assert symbols == ["triangle-up", "triangle-down", "circle-open", "triangle-up", "square"]
    assert len({trace.marker.color for trace in figure.data}) == 3
    assert "+0.070, better" in figure.data[0].hovertext[0]
    [band] = [s for s in difference_plots.differences(rows, x_title="", margin=0.02).layout.shapes if s.x0 != s.x1]
    assert (band.x0, band.x1) == (-0.02, 0.02)


def ranks_at(*pairs: tuple[int, int]) -> Points:
    return points_of(np.array(pairs).T, most=1000)


def test_rank_scatter_counts_the_questions_of_a_place() -> None:
    ranks = ranks_at((1, 1), (3, 1), (3, 1), (2, 51), (51, 51))
    figure = pair_plots.rank_scatter(ranks, ("knn", "hybrid"), depth=50)
    level, worse, better = figure.data
    assert list(better.hovertext) == ["2 questions<br>rank 3 under knn<br>rank 1 under hybrid"]
    assert list(worse.hovertext) == ["1 question<br>rank 2 under knn<br>not in top 50 under hybrid"]
    assert len(level.x) == 2
    assert worse.y[0] > np.log10(50), "misses are past the deepest rank"
    assert figure.layout.xaxis.ticktext[-1] == "not in<br>top 50"
    assert [ranks.keys[place] for [place] in better.customdata] == ["3,1"]
    assert figure.layout.meta["alt"].endswith("hybrid is better than knn for 2, worse for 1, the same for 2.")


def test_a_score_scatter_has_marks_in_proportion_to_their_questions() -> None:
    points = points_of([[0] * 16 + [1.0], [0] * 16 + [0.5]])
    figure = pair_plots.score_scatter(points, ("knn", "hybrid"), title="Recall@3", selected=0)
    level, worse = figure.data
    assert (level.marker.size[0], worse.marker.size[0]) == (24, 7), "16 questions and one, the smallest that is drawn"
    assert list(level.text) == ["16"]
    assert list(worse.hovertext) == ["1 question<br>1 → 0.5"]
    assert (level.marker.opacity[0], worse.marker.opacity[0]) == (1.0, 0.3), "the first is selected"
    [lower] = pair_plots.score_scatter(points_of([[1.0], [0.5]]), ("a", "b"), title="x", direction=-1).data
    assert lower.marker.symbol == "triangle-up", "less is better"


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
        curve_plots.curves([curve(name)], by_run=True),
        rank_plots.rank_histograms([Ranks(name, np.array([1]), 0)], depth=3),
        pair_plots.rank_scatter(ranks_at((1, 2)), (name, name), depth=3),
        pair_plots.score_scatter(ranks_at((0, 1)), (name, name), title=name),
        pair_plots.flow(flows.flow({"a": "fine"}, {"a": "fine"}), {"fine": name}, (name, name)),
        figure,
    ]
    for each in drawn:
        shown = [text for trace in each.data for text in [trace.name or "", *(trace.hovertext or [])]]
        assert not [text for text in shown if "<a" in text]


def test_figures_are_clear_and_take_the_pages_text_colour() -> None:
    figure = curve_plots.curves([curve()])
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.font.color is None
    assert style.CONFIG["modeBarButtons"] == [["toImage"]]


STEPS = [
    ("Questions", 10, 10),
    ("Not retrieved", 3, 7),
    ("Ranked below k", 0, 7),
    ("Incorrect answer", 2, 5),
    ("Correct", 5, 5),
]


def test_waterfall_bars_hang_where_the_last_one_ended() -> None:
    bar = plots.waterfall(STEPS).data[0]
    assert list(bar.x) == [10, 3, 0, 2, 5]
    assert list(bar.base) == [0, 7, 7, 5, 0]
    ends = [base + length for base, length in zip(bar.base, bar.x, strict=True)]
    assert ends == [10, 10, 7, 7, 5]
    assert bar.hovertext[1] == "Not retrieved: 3 of 10 questions, 7 left"
    assert [list(place) for place in bar.customdata] == [[0], [1], [2], [3], [4]]


def test_waterfall_hatches_what_is_lost_and_fades_what_is_not_chosen() -> None:
    bar = plots.waterfall(STEPS, selected=3).data[0]
    assert list(bar.marker.pattern.shape) == ["", "/", "/", "/", ""]
    assert list(bar.marker.opacity) == [0.3, 0.3, 0.3, 1.0, 0.3]
    alt = plots.waterfall(STEPS).layout.meta["alt"]
    assert alt == "Of 10 questions: 3 not retrieved, 2 incorrect answer, 5 correct."


def test_scores_are_counted_in_tenths_with_one_in_the_last() -> None:
    figure = plots.score_histogram(np.array([0.0, 0.05, 0.1, 0.55, 1.0]), title="Faithfulness")
    assert list(figure.data[0].y) == [2, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert figure.data[0].hovertext[0] == "2 questions of 5 from 0.0 to 0.1"
    assert plots.score_histogram(np.array([]), title="None").layout.meta["alt"] == "None of 0 questions."


def test_quarters_are_counted_and_named() -> None:
    complete, concise = np.array([1, 0.5, 0.2, 0.0, 1.0]), np.array([1, 0.2, 0.9, 0.0, 0.4])
    figure = plots.quarters(complete, concise, [f"q{n}" for n in range(5)])
    texts = [a.text for a in figure.layout.annotations]
    assert [re.match(r"<b>(\d)</b> (\w+)", text).groups() for text in texts] == [  # type: ignore[union-attr]
        ("1", "complete"), ("2", "complete"), ("1", "concise"), ("1", "neither"),
    ]  # fmt: skip


def test_answers_of_one_place_are_spread_so_that_each_can_be_clicked() -> None:
    figure = plots.quarters(np.ones(60), np.zeros(60), ["<b>x</b>"] * 60)
    points = set(zip(figure.data[0].x, figure.data[0].y, strict=True))
    assert len(points) == 60
    assert all(abs(x - 1) <= 0.11 and abs(y) <= 0.11 for x, y in points)
    assert (figure.data[0].x[0], figure.data[0].y[0]) == (1.0, 0.0)
    assert "completeness 1.00, conciseness 0.00" in figure.data[0].hovertext[59]
    assert "&lt;b&gt;" in figure.data[0].hovertext[0]
