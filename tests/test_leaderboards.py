"""Leaderboards by hand: order, brackets, ties broken, Pareto fronts, and what `compare --json` says of them."""

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ragviz.analysis import leaderboards
from ragviz.analysis.compare import Delta, Pair
from ragviz.analysis.leaderboards import leaderboard
from ragviz.analysis.ties import Choice, Price, brackets, broken, standings
from ragviz.stats.differences import Difference
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


UNDECIDED = Delta(
    run="", difference=Difference(0.1, -0.1, 0.3, 9, 3, 5, 1, 0.4), test=0, primary=True, margin=0.02, p_adjusted=0.4,
    p_equivalent=0.9, verdict="undecided", detectable=0.2, needed=None,
)  # fmt: skip


def pairs_of(runs, beats):
    """All pairs of runs, each with the later one as the run; `beats` holds (winner, loser)."""
    for first, second in combinations(runs, 2):
        verdict = "better" if (second, first) in beats else "worse" if (first, second) in beats else "undecided"
        yield Pair(first, replace(UNDECIDED, run=second, verdict=verdict))


def groups(runs, *beats):
    return ["".join(group) for group in brackets(runs, list(pairs_of(runs, set(beats))))]


RUNS = "abcdefg"


@given(st.sets(st.sampled_from(list(combinations(RUNS, 2)))))
def test_brackets_are_the_largest_groups_of_runs_that_are_not_apart(beats):
    """Against every subset: those without a pair that is apart, and not within another such."""

    def together(group):
        return not any(pair in beats for pair in combinations(sorted(group), 2))

    found = [set(group) for size in range(2, 8) for group in combinations(RUNS, size) if together(group)]
    largest = {"".join(sorted(group)) for group in found if not any(group < other for other in found)}
    assert set(groups(RUNS, *beats)) == largest


def test_ranks_are_those_that_no_pair_excludes():
    """Of a to d, b is better than a and than c, and d than a: b may be first or share it with d."""
    found = standings("abcd", list(pairs_of("abcd", {("b", "a"), ("b", "c"), ("d", "a")})))
    assert [(each.low, each.high) for each in found.values()] == [(3, 4), (1, 2), (2, 4), (1, 3)]
    assert standings("ab", list(pairs_of("ab", {("a", "b")}))) == {}


def test_tokens_then_cost_break_a_tie_and_latency_does_not():
    prices = {
        "small": Price(300, 0.002, 1.0),
        "small too": Price(300.5, 0.002, 0.4),
        "large": Price(900, 0.0001, 0.1),
        "unknown": Price(None, 0.0001, 0.1),
    }
    assert broken(["small", "large"], prices) == Choice("small", "tokens", 300, 900)
    assert broken(["small", "small too"], prices) == Choice()
    assert broken(["small", "unknown"], prices) == Choice("unknown", "dollars", 0.0001, 0.002)
    assert broken(["large", "unknown"], prices) == Choice()
    assert broken(["small", "never made"], prices) == Choice()
    assert broken(["one"], prices) == Choice()
