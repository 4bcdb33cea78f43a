"""Comparisons by hand: pairing, words, corrections, and what they warn of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from ragviz.analysis import compare as comparing
from ragviz.analysis import sides
from ragviz.analysis.compare import Comparison, outcomes, pairs
from ragviz.analysis.comparison_words import missing_words, rule_words, sentence, to_json
from ragviz.analysis.rules import Rule
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.score import Score
from ragviz.stats.differences import benjamini_hochberg, holm

GOLD = Chunk.make_id("d", 0, 5)


@dataclass(frozen=True)
class RunSide:
    """A run by its results and the scores of its answers, by metric and question id."""

    name: str
    config: Mapping[str, Any]
    fingerprint: Mapping[str, str]
    results: Sequence[Retrieved]
    scores: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)

    def measured(self, evidence=None):
        return sides.RunSide(
            self.name, self.config, self.fingerprint,
            lambda k, depth: sides.measured(self.results, k, depth, evidence),
            {name: sides.column(by_question) for name, by_question in self.scores.items()},
        )  # fmt: skip


def compare(runs: Sequence[RunSide], *, evidence=None, **choices) -> Comparison:
    """Compare runs, clustered by the documents of the questions' evidence."""
    documents = {i: {span.document_id for group in spans for span in group} for i, spans in (evidence or {}).items()}
    return comparing.compare([run.measured(evidence) for run in runs], documents=documents, **choices)


FINGERPRINT = {"corpus": "c0ffee", "questions": "9a9a"}


def side(name, ranks, **config):
    """A run whose questions q0, q1 … have their gold chunk at these ranks, 0 for a miss, None for unanswerable."""
    results = []
    for number, rank in enumerate(ranks):
        ids = [Chunk.make_id("d", 10 * n, 10 * n + 5) for n in range(1, 11)]
        if rank:
            ids[rank - 1] = GOLD
        gold = () if rank is None else ((GOLD,),)
        results.append(Retrieved(f"q{number}", Ranking(tuple(ids), tuple(range(10, 0, -1))), gold))
    return RunSide(name, {"k": 3, "depth": 10, "retriever": name, **config}, FINGERPRINT, results)


def test_by_hand():
    """Of 40 questions the second run finds 20 more within 3, and one fewer."""
    knn = side("knn", [1] * 15 + [0] * 25)
    hybrid = side("hybrid", [0] + [1] * 14 + [2] * 20 + [0] * 5)
    comparison = compare([knn, hybrid])
    assert (comparison.k, comparison.depth, len(comparison.question_ids)) == (3, 10, 40)
    row = comparison.metrics["recall@3"]
    assert [estimate.mean for estimate in row.estimates] == [15 / 40, 34 / 40]
    (delta,) = row.deltas
    assert delta.run == "hybrid"
    assert delta.difference.mean == pytest.approx(19 / 40)
    assert (delta.difference.wins, delta.difference.ties, delta.difference.losses) == (20, 19, 1)
    assert delta.significant
    assert comparison.metrics["mrr"].deltas[0].difference.mean == pytest.approx((20 / 2 - 1) / 40)
    assert [(ranks > 0).sum() for ranks in comparison.ranks] == [15, 34]
    assert comparison.notes == ()
    assert [(row.key, row.values) for row in comparison.settings] == [("retriever", ("knn", "hybrid"))]


def test_outcomes_list_the_questions_greatest_difference_first():
    comparison = compare([side("a", [1, 2, 5, 0, 4]), side("b", [1, 1, 0, 1, 5])])
    by_rank = outcomes(comparison, "mrr")
    assert (by_rank.won, by_rank.tied, by_rank.lost) == (("q3", "q1"), ("q0",), ("q2", "q4"))
    by_recall = outcomes(comparison, "recall@3")
    assert (by_recall.won, by_recall.tied, by_recall.lost) == (("q3",), ("q0", "q1", "q2", "q4"), ())
    with pytest.raises(NotFoundError, match=r"'recall@4' is not compared; there are recall@3"):
        outcomes(comparison, "recall@4")


def test_correction_counts_a_test_once_however_many_metrics_repeat_it():
    """With one gold chunk seven metrics at k are one hit times a constant but for nDCG; MRR and MAP are one."""
    random = np.random.default_rng(0)
    comparison = compare([side("a", random.integers(0, 9, 60)), side("b", random.integers(0, 6, 60))])
    p = {name: row.deltas[0].difference.p_value for name, row in comparison.metrics.items()}
    adjusted = {name: row.deltas[0].p_adjusted for name, row in comparison.metrics.items()}
    assert [p[name] for name in ("precision@3", "f1@3", "hit@3")] == pytest.approx([p["recall@3"]] * 3)
    assert adjusted["recall@3"] == pytest.approx(p["recall@3"]), "the primary metric of two runs is one test"
    expected = benjamini_hochberg([p["precision@3"], p["ndcg@3"], p["mrr"]])
    assert [adjusted["precision@3"], adjusted["ndcg@3"], adjusted["mrr"]] == pytest.approx(expected)
    assert (adjusted["f1@3"], adjusted["map"]) == (adjusted["precision@3"], adjusted["mrr"])


def test_the_primary_metric_is_corrected_over_the_runs_and_can_be_declared():
    random = np.random.default_rng(1)
    sides = [side(name, random.integers(0, 9 - 2 * n, 60)) for n, name in enumerate("abc")]
    by_default, declared = compare(sides), compare(sides, primary="mrr", minimum_effect=0.1)
    assert (by_default.rule, declared.rule) == (Rule("recall@3"), Rule("mrr", 0.1, declared=True))
    for comparison, primary in ((by_default, "recall@3"), (declared, "mrr")):
        deltas = comparison.metrics[primary].deltas
        assert [d.p_adjusted for d in deltas] == holm([d.difference.p_value for d in deltas])
        others = [d for name, row in comparison.metrics.items() if name != primary for d in row.deltas]
        assert all(d.primary for d in deltas)
        assert not any(d.primary for d in others)
    with pytest.raises(NotFoundError, match="'faithfulness' is not compared; there are recall@3"):
        compare(sides, primary="faithfulness")
    for wrong in (0.0, 1.0, -0.1):
        with pytest.raises(UsageError, match=f"smallest difference that matters is {wrong}"):
            compare(sides, minimum_effect=wrong)


def test_verdicts_follow_from_the_smallest_difference_that_matters():
    """Of 400 questions one is won: ±0.02 holds the difference; 5 more of 40 do not."""
    ranks = [1, 0] * 200
    nearly = compare([side("a", ranks), side("b", [1, 1, *ranks[2:]])])
    (delta,) = nearly.metrics["recall@3"].deltas
    assert delta.verdict == "equivalent"
    assert sentence(nearly, ["recall"]).startswith("b is equivalent to a on Recall@3 within ±0.02: +0.003 [")
    strict = compare([side("a", ranks), side("b", [1, 1, *ranks[2:]])], minimum_effect=0.001)
    assert strict.metrics["recall@3"].deltas[0].verdict == "undecided"


def spans(*documents):
    return tuple((Span(name, 0, 5),) for name in documents)


def test_recall_of_each_runs_own_k():
    """Rank 2 in the first half, 5 in the second: k = 1 finds none, 3 a half, 10 all; recall@1 is 0 for all runs."""
    ranks = [2] * 10 + [5] * 10
    comparison = compare([side(f"k {k}", ranks, k=k) for k in (1, 3, 10)], k=1)
    row = comparison.rows["recall@own"]
    assert [estimate.mean for estimate in row.estimates] == [0, 0.5, 1]
    assert [delta.verdict for delta in row.deltas] == ["better", "better"]
    assert [each.mean for each in comparison.rows["recall@1"].estimates] == [0, 0, 0]
    note = "Recall@own k: measured at each run's own k (k 1: 1, k 3: 3, k 10: 10); every other metric at k = 1."
    assert comparison.notes[0] == note
    by_name = compare([side(f"k {k}", ranks, k=k) for k in (1, 3, 10)], k=1, primary="recall")
    assert by_name.rule == Rule("recall@own", declared=True), "as a sweep reads it"
    at_3 = compare([side(f"k {k}", ranks, k=k) for k in (1, 3, 10)], k=3, primary="recall")
    assert at_3.rule.primary == "recall@3", "the k that was asked for"


def test_one_quantity_is_stated_and_tested_once():
    """Of 8 of 40 questions more is found at k = 3, the own k of a and b: Recall@3 is no second test of their pair."""
    a, b = side("a", [0] * 40), side("b", [1] * 8 + [0] * 32)
    alike = compare([a, b], primary="recall@own")
    assert (alike.rule.primary, "recall@own" in alike.rows) == ("recall@3", False)
    assert to_json(alike) == to_json(compare([a, b], primary="recall"))
    mixed = compare([a, b, side("c", [4] * 20 + [0] * 20, k=5)])
    own, at_3 = mixed.rows["recall@own"].deltas, mixed.rows["recall@3"].deltas
    assert (mixed.rule.primary, own[0]) == ("recall@own", at_3[0])
    assert (own[1].difference.mean, at_3[1].difference.mean) == (0.5, 0.0)
    words = sentence(mixed)
    assert [words.count(f"b beats a on {name}") for name in ("Recall@own k", "Recall@3")] == [1, 0]
    assert "c equals a on Recall@3" in words


def test_what_the_runs_do_not_differ_in_decides_nothing():
    """Two runs with one ranking are compared by their answers, and by the rankings where these differ."""
    a, b = answered("a", [0.0] * 6), answered("b", [1.0] * 6)
    assert compare([a, b]).rule == Rule("completeness")
    assert compare([a, b], primary="recall@3").rule == Rule("recall@3", declared=True)
    assert compare([a, replace(b, results=side("b", [9] * 6).results)]).rule == Rule("recall@3")
    assert compare([side("a", [1] * 6), side("b", [1] * 6)]).rule == Rule("recall@3")


def test_questions_about_one_document_are_one_cluster():
    """Every question of four of eight documents is won: the test is that of the documents' means, 1 or 0."""
    a, b = side("a", [0] * 80), side("b", [1] * 40 + [0] * 40)
    evidence = {f"q{n}": spans(f"d{n // 10}") for n in range(80)}
    alone = compare([a, b]).metrics["recall@3"].deltas[0].difference
    clustered = compare([a, b], evidence=evidence)
    assert clustered.clusters.count == 8
    difference = clustered.metrics["recall@3"].deltas[0].difference
    assert difference.p_value == pytest.approx(scipy_stats.ttest_1samp([1.0] * 4 + [0.0] * 4, 0).pvalue)
    assert alone.p_value < 0.001
    assert difference.high - difference.low > 2 * (alone.high - alone.low)
    assert difference.design_effect == pytest.approx(79 / 7)
    assert clustered.notes == ()
    assert "80 questions on 8 documents: intervals are for documents like these" in rule_words(clustered)


def test_few_documents_say_nothing_about_others():
    """Below six documents doubt is that of these, whatever questions need two of them."""
    a, b = side("a", [0] * 40), side("b", [1, 0] * 20)
    evidence = {f"q{n}": spans(f"d{n % 4}") for n in range(40)} | {"q0": spans("d0", "d1")}
    comparison = compare([a, b], evidence=evidence)
    assert (comparison.clusters.count, comparison.clusters.documents, len(comparison.notes)) == (4, 4, 1)
    assert "rest on 4 documents" in comparison.notes[0]
    delta = comparison.metrics["recall@3"].deltas[0]
    assert not delta.difference.generalises
    assert delta.verdict == "better"
    assert delta.difference.p_value < 0.001, "20 questions are won, none lost"


def test_missing_scores_are_described_and_bounded():
    """Of six questions a lacks one, b another: 4 scored in both; the difference over all six between −1/6 and +5/6."""
    a, b = answered("a", [0.5, 1, None, 0.5, 0, 1]), answered("b", [1, 1, 0.5, 0.25, 0.75, None])
    comparison = compare([a, b])
    row = comparison.answers["completeness"]
    lacking = row.deltas[0].missing
    assert (lacking.n, lacking.baseline, lacking.other, lacking.both) == (6, 1, 1, 0)
    known = 0.5 + 0 - 0.25 + 0.75
    assert (lacking.low, lacking.high) == pytest.approx(((known + (0.5 - 1) + (0 - 1)) / 6, (known + 0.5 + 0) / 6))
    assert lacking.p_value == 1
    assert missing_words(row, "a")[0].startswith(
        "Completeness, of 6 questions: 1 without a score in a only, 1 in b only"
    )
    whole = compare([answered("a", [0.5]), answered("b", [0.5])])
    assert whole.answers["completeness"].deltas[0].missing is None


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(UsageError, match="1 run was given"):
        compare([side("a", [1])])
    with pytest.raises(UsageError, match=r"share no question with evidence \(a 1, b 0\)"):
        compare([side("a", [1]), side("b", [None])])
    with pytest.raises(UsageError, match="k = 11"):
        compare([side("a", [1]), side("b", [1])], k=11)


def test_exploratory_metrics_of_rankings_and_answers_are_corrected_together():
    """Comparing answers too does not change the primary metric."""
    ranks, other = [1] * 20 + [0] * 10, [1] * 20 + [2] * 8 + [0] * 2
    plain = compare([side("a", ranks), side("b", other)])
    random = np.random.default_rng(0)
    scores = [
        {m: {f"q{n}": Score(m, float(random.random() + extra)) for n in range(30)} for m in ("x", "y", "z")}
        for extra in (0, 0.3)
    ]
    sides = [side("a", ranks), side("b", other)]
    with_answers = compare([replace(run, scores=of) for run, of in zip(sides, scores, strict=True)])
    (of_plain,), (primary,) = plain.metrics["recall@3"].deltas, with_answers.metrics["recall@3"].deltas
    assert replace(primary, test=of_plain.test) == of_plain
    deltas = [with_answers.rows[m].deltas[0] for m in ("mrr", "x", "y", "z")]  # all metrics of rankings are one test
    expected = benjamini_hochberg([d.difference.p_value for d in deltas])
    assert [d.p_adjusted for d in deltas] == pytest.approx(expected)
    assert [d.p_adjusted for d in deltas] != pytest.approx([d.difference.p_value for d in deltas])


def answered(name, values):
    """A run with a score of completeness for each question, None for none."""
    scores = {f"q{n}": Score("completeness", v, "ok" if v is not None else "no_answer") for n, v in enumerate(values)}
    return replace(side(name, [1] * len(values)), scores={"completeness": scores})


def test_answers_are_won_and_lost_over_the_questions_scored_in_every_run():
    """q2 has no score in a, q5 none in b: n = 4, and (0.5 + 0 − 0.25 + 0.75) / 4 = 0.25."""
    a, b = answered("a", [0.5, 1, None, 0.5, 0, 1]), answered("b", [1, 1, 0.5, 0.25, 0.75, None])
    comparison = compare([a, b])
    delta = comparison.answers["completeness"].deltas[0]
    assert (delta.difference.mean, delta.difference.n) == (0.25, 4)
    assert (delta.difference.wins, delta.difference.ties, delta.difference.losses) == (2, 1, 1)
    won = outcomes(comparison, "completeness")
    assert (won.won, won.tied, won.lost) == (("q4", "q0"), ("q1",), ("q3",))
    assert comparison.paired("completeness").values.tolist() == [[0.5, 1, 0.5, 0], [1, 1, 0.25, 0.75]]
    assert delta.difference.p_value > 0.3, "two won, one lost"
    assert delta.verdict == "undecided"
    body = to_json(comparison, "completeness")
    assert body["questions"]["b"] == won
    assert body["metric"] == "completeness"


def test_every_pair_is_compared_and_corrected_over_the_pairs():
    a, b, c = answered("a", [0.0] * 6), answered("b", [0.5] * 6), answered("c", [1.0, 1.0, 1.0, 0.5, 0.5, 0.0])
    comparison = compare([a, b, c], primary="completeness")
    found = pairs(comparison, "completeness")
    assert [(pair.delta.run, pair.baseline) for pair in found] == [("b", "a"), ("c", "a"), ("c", "b")]
    assert [pair.delta.difference.mean for pair in found] == pytest.approx([0.5, 4 / 6, 1 / 6])
    raw = [pair.delta.difference.p_value for pair in found]
    tested = [scipy_stats.ttest_1samp(each, 0).pvalue for each in ([1, 1, 1, 0.5, 0.5, 0], [0.5] * 3 + [0, 0, -0.5])]
    assert raw[0] == 2 / 2**6, "without spread: all signs alike"
    assert raw[1:] == pytest.approx(tested, rel=0.2), "the degrees of freedom are of the fourth moment"
    of_baseline = [pair.delta for pair in found[:2]]
    assert of_baseline == list(comparison.answers["completeness"].deltas), "what decides is not decided a second time"
    assert [delta.p_adjusted for delta in of_baseline] == holm(raw[:2])
    assert found[2].delta.p_adjusted == holm(raw)[2]
    turned = compare([b, c, a]).answers["completeness"].deltas[0]
    assert turned.difference.mean == pytest.approx(found[2].delta.difference.mean)
    assert to_json(comparison, "completeness")["pairs"][2].baseline == "b"
