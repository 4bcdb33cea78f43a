"""Leaderboards by hand: order, brackets, ties broken, Pareto fronts, and what `compare --json` says of them."""

from ragviz.analysis import comparison_words, leaderboards
from ragviz.analysis.compare import pairs
from ragviz.analysis.leaderboards import leaderboard
from ragviz.analysis.ties import Price
from tests.test_compare import compare, side


def three():
    """Two good runs that are alike, and one that is worse than both."""
    found = [1] * 36 + [0] * 4
    return compare([side("base", [1] * 12 + [0] * 28), side("first", found), side("second", found[::-1])])


PRICES = {"base": Price(900, 0.0, None), "first": Price(600, 0.002, 0.5), "second": Price(300, 0.004, 0.5)}


def test_a_leaderboard_by_hand():
    board = leaderboard(three(), "recall@3", PRICES)
    assert board.order == ("first", "second", "base")
    assert board.groups == (("first", "second"),)
    assert board.tied == ("first", "second")
    assert (board.choice.run, board.choice.by) == ("second", "tokens")
    assert leaderboards.tie_words(board).startswith(
        "first and second cannot be told apart. The tie is broken by tokens read: second takes 300"
    )
    assert board.fronts["tokens"].runs == ("second",)
    assert board.fronts["dollars"].runs == ("base", "first")
    assert board.fronts["dollars"].dominated == {"second": ("first",)}
    assert list(board.fronts) == ["tokens", "dollars"], "seconds are the same for all runs that have them"


def test_the_front_by_hand():
    """d costs as much as c and is worse; e is as good as b and costs more; a and f are equal."""
    points = {"a": (1, 0.5), "b": (2, 0.7), "c": (3, 0.9), "d": (3, 0.8), "e": (4, 0.7), "f": (1, 0.5)}
    front = leaderboards.front(points)
    assert front.runs == ("a", "f", "b", "c")
    assert front.dominated == {"d": ("c",), "e": ("b", "c")}
    assert leaderboards.front({}).runs == ()


def test_json_has_the_leaderboard_of_rankings_and_of_answers():
    comparison = three()
    body = comparison_words.to_json(comparison, "mrr", PRICES)
    assert body["leaderboard"].order == ("first", "second", "base")
    assert body["leaderboard"].choice.run == "second"
    assert body["takes"] == PRICES
    assert len(pairs(comparison, "mrr")) == 3
    alike = compare([side(name, [1] * 40) for name in ("base", "second")])
    assert leaderboard(alike, "recall@3", PRICES).choice.run == "second", "equal to the baseline, and reads less"
    without = comparison_words.to_json(comparison)
    assert (without["takes"], without["leaderboard"].fronts, without["leaderboard"].choice.run) == ({}, {}, "")
