"""Means per kind and per document, by hand; and what they cost."""

import numpy as np
import pytest

from ragviz.analysis import comparison_words
from ragviz.analysis.evaluate import breakdown, summarise
from ragviz.analysis.sides import column
from ragviz.cli import console
from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.score import Score
from ragviz.health import effects
from ragviz.stats import intervals
from ragviz.stats.clusters import clusters_of, numbered
from ragviz.stats.differences import paired_differences


def question(number, groups):
    spans = tuple((Span("d", at, at + 5),) for at in range(groups))
    return Question(f"q{number}", f"Question {number}?", "yes", spans, "hand", "accepted", unanswerable=number == 3)


def retrieved(number, rank, groups=1):
    """Each group's gold chunk at the same rank; 0 for a miss."""
    gold = tuple((f"d-0000000{group}-00000{group}99",) for group in range(groups))
    ids = [f"e-00000{n}00-00000{n}50" for n in range(9)]
    for place, (chunk_id,) in enumerate(gold):
        if rank:
            ids.insert(rank - 1 + place, chunk_id)
    return Retrieved(f"q{number}", Ranking(tuple(ids), tuple(range(len(ids), 0, -1))), gold)


QUESTIONS = [question(0, 1), question(1, 1), question(2, 2), question(3, 0), question(4, 1)]
RESULTS = [retrieved(0, 1), retrieved(1, 0), retrieved(2, 1, 2), retrieved(3, 0, 0), retrieved(4, 4)]
DOCUMENTS = {"q0": ["a.md"], "q1": ["手册.md"], "q2": ["a.md", "手册.md"], "q4": ["a.md"]}
SCORES = {
    "completeness": {
        "q0": Score("completeness", 1.0),
        "q1": Score("completeness", 0.25),
        "q2": Score("completeness", 0.5),
        "q3": Score("completeness", None, "no_answer", "a refusal"),
        "q4": Score("completeness", None, "judge_error", "timed out"),
    }
}


@pytest.fixture
def parts():
    summary = summarise(RESULTS, QUESTIONS, k=3, depth=9)
    return {
        (part.by, part.name): part
        for part in breakdown(
            summary, {name: column(scores) for name, scores in SCORES.items()}, QUESTIONS, DOCUMENTS
        ).slices()
    }


def test_by_hand(parts):
    assert list(parts) == [
        ("all", ""),
        ("kind", "single"),
        ("kind", "multi"),
        ("kind", "unanswerable"),
        ("document", "手册.md"),
        ("document", "a.md"),
    ]
    means = {key: (part.questions, part.misses, part.metrics["recall@3"].estimate.mean) for key, part in parts.items()}
    assert means == {
        ("all", ""): (5, 1, 0.5),
        ("kind", "single"): (3, 1, pytest.approx(1 / 3)),
        ("kind", "multi"): (1, 0, 1.0),
        ("kind", "unanswerable"): (1, 0, None),
        ("document", "手册.md"): (2, 1, 0.5),
        ("document", "a.md"): (3, 0, pytest.approx(2 / 3)),
    }
    complete = {key: part.metrics["completeness"] for key, part in parts.items()}
    assert complete["all", ""].estimate == intervals.estimate([1.0, 0.25, 0.5], numbered([0, 0, 0]))
    assert complete["document", "a.md"].estimate == intervals.estimate([1.0, 0.5], numbered([0, 0]))
    assert complete["document", "a.md"].statuses == {"ok": 2, "judge_error": 1}
    assert (complete["kind", "unanswerable"].estimate.n, complete["kind", "unanswerable"].statuses) == (
        0,
        {"no_answer": 1},
    )
    assert parts["kind", "unanswerable"].metrics["recall@3"].statuses == {"not_applicable": 1}
    assert parts["all", ""].metrics["mrr"].statuses == {"ok": 4, "not_applicable": 1}


def test_all_is_what_the_run_s_own_summary_says(parts):
    summary = summarise(RESULTS, QUESTIONS, k=3, depth=9)
    everything = parts["all", ""].metrics
    assert {name: everything[name].estimate for name in summary.metrics} == summary.metrics


def test_one_question_has_no_interval_and_nor_have_equal_scores():
    """By hand: one score, or scores that do not differ, tell nothing of a spread; 0 and 1 do, from two questions on."""
    one, same, apart = (intervals.estimate(values) for values in ([0.7], [0.5, 0.5, 0.5], [0.3, 0.9]))
    assert (one.interval, same.interval) == (None, None)
    assert apart.interval == (0.0, 1.0)
    assert intervals.estimate([1]).interval is None
    rate = intervals.estimate([1, 1])
    assert rate.interval == (rate.low, rate.high)
    assert 0.3 < rate.low < 0.4
    assert console.interval(one) == "0.700 (n=1, no interval)"
    assert console.interval(same) == "0.500 (n=3, no interval)"
    assert console.interval(apart) == "0.600 [0.000, 1.000] n=2"
    assert effects.score_words(one) == "0.700 no interval n = 1"
    [difference] = paired_differences(np.array([[1.0]]), clusters_of([{"d"}]))
    assert comparison_words.difference_words(difference) == "+1.00 (n = 1, no interval)"
