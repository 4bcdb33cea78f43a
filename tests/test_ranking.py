"""Ranking metrics by hand, against pytrec_eval and ir-measures, on TREC runs with ties and odd ids too."""

import math
import random
import warnings
from dataclasses import replace
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from ragviz.core.errors import InputError, UsageError
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.metrics import rank_metrics
from ragviz.metrics.registry import scores

OWN = Path(__file__).parent / "data" / "trec"
TREC = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "imports" / "trec"
public = pytest.mark.skipif(not TREC.exists(), reason=f"no {TREC}")


def measure(results, depth):
    return rank_metrics.measure(rank_metrics.read(results, depth))


def retrieved(question_id, ids, *groups):
    """A ranking of one-letter chunks; groups of gold chunks, one string each."""
    return Retrieved(question_id, Ranking(tuple(ids), tuple(range(len(ids), 0, -1))), tuple(map(tuple, groups)))


def at(results, k, depth=5):
    """All scores of the first question at k, by name without k."""
    return {name.split("@")[0]: values[0] for name, values in scores(measure(results, depth), k).items()}


def test_single_gold_chunk_by_hand():
    measured = at([retrieved("q", "abcde", "c")], 3)
    assert measured == pytest.approx(
        {
            "recall": 1,
            "chunk_recall": 1,
            "precision": 1 / 3,
            "f1": 0.5,
            "hit": 1,
            "all_groups": 1,
            "ndcg": 0.5,  # 1 / log2(4)
            "mrr": 1 / 3,
            "map": 1 / 3,
        }
    )
    below = at([retrieved("q", "abcde", "c")], 2)
    assert {name: value for name, value in below.items() if value} == pytest.approx({"mrr": 1 / 3, "map": 1 / 3})


def test_groups_with_several_chunks_by_hand():
    """Groups {b, x}, {d, e}, {y}: x and y are not retrieved, so two of three groups and three of five chunks are."""
    results = [retrieved("q", "abcde", "bx", "de", "y")]
    assert at(results, 1) == pytest.approx(
        dict.fromkeys(["recall", "chunk_recall", "precision", "f1", "hit", "all_groups", "ndcg"], 0)
        | {"mrr": 1 / 2, "map": (1 / 2 + 2 / 4 + 3 / 5) / 5}
    )
    measured = at(results, 4)
    assert measured["recall"] == pytest.approx(2 / 3)
    assert measured["chunk_recall"] == pytest.approx(2 / 5)
    assert measured["precision"] == pytest.approx(2 / 4)
    assert measured["f1"] == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    assert (measured["hit"], measured["all_groups"]) == (1, 0)
    ideal = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3, 4))
    assert measured["ndcg"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert at(results, 5)["chunk_recall"] == pytest.approx(3 / 5)
    assert at([retrieved("q", "abcde", "bx", "de")], 4)["all_groups"] == 1


def test_a_chunk_of_two_groups_finds_both_and_counts_once():
    measured = at([retrieved("q", "abc", "b", "b")], 2)
    assert [measured[name] for name in ("recall", "precision", "chunk_recall", "all_groups")] == [1, 0.5, 1, 1]


def test_group_without_gold_chunks_is_never_found():
    measured = at([retrieved("q", "abc", "a", "")], 3)
    assert (measured["recall"], measured["chunk_recall"], measured["all_groups"]) == (0.5, 1, 0)
    assert set(at([retrieved("q", "abc", "")], 3).values()) == {0}


def test_unanswerable_questions_are_counted_apart():
    table = measure([retrieved("a", "xyz", "x"), retrieved("b", "xyz"), retrieved("c", "xyz", "q")], 3)
    assert table.question_ids == ("a", "c")
    assert rank_metrics.ranks(table).tolist() == [1, 0]


def test_short_and_empty_rankings_still_divide_by_k():
    table = measure([retrieved("a", "x", "x"), retrieved("b", "", "x")], 4)
    assert rank_metrics.precision(table).tolist() == [[1, 1 / 2, 1 / 3, 1 / 4], [0, 0, 0, 0]]
    assert rank_metrics.recall(table)[:, 3].tolist() == [1, 0]


def test_no_questions_give_empty_arrays_and_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for results in ([], [retrieved("unanswerable", "abc")]):
            table = measure(results, 4)
            assert all(values.shape == (0,) for values in scores(table, 2).values())


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match=r"question 'q' holds chunk 'b' twice"):
        measure([retrieved("q", "abcb", "a")], 4)
    with pytest.raises(InputError, match=r"'q' was retrieved twice"):
        measure([retrieved("q", "ab", "a"), retrieved("q", "ab", "a")], 2)
    with pytest.raises(UsageError, match="Depth 0"):
        measure([], 0)
    with pytest.raises(UsageError, match=r"k = 4 .* depth 3"):
        scores(measure([], 3), 4)
    with pytest.raises(UsageError, match="k = 0"):
        scores(measure([], 3), 0)


CUTS = (1, 2, 3, 5, 10, 20)


def random_results(generator, questions=200, depth=20):
    """Rankings of uneven length with one to four groups of one to three gold chunks, not all of them retrieved."""
    chunks = [f"chunk-{n}" for n in range(60)]
    results = []
    for number in range(questions):
        ids = generator.sample(chunks, generator.randint(0, depth))
        groups = [generator.sample(chunks, generator.randint(1, 3)) for _ in range(generator.randint(1, 4))]
        results.append(retrieved(f"q{number}", ids, *groups))
    return results


def oracle_inputs(results):
    """The same rankings with strictly decreasing scores, and their gold chunks, as pytrec_eval takes them."""
    run = {
        result.question_id: {name: float(-rank) for rank, name in enumerate(result.ranking.ids)} for result in results
    }
    qrels = {
        result.question_id: {name: int(result.grades.get(name, 1)) for group in result.gold for name in group}
        for result in results
    }
    return qrels, run


def assert_equals_pytrec_eval(results, depth):
    cuts = ",".join(map(str, CUTS))
    measures = {f"recall.{cuts}", f"P.{cuts}", f"ndcg_cut.{cuts}", f"success.{cuts}", "recip_rank", "map"}
    qrels, run = oracle_inputs(results)
    expected = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(
        {name: hits for name, hits in run.items() if hits}
    )
    table = measure(results, depth)
    names = {"chunk_recall": "recall", "precision": "P", "ndcg": "ndcg_cut", "hit": "success"}
    for k in CUTS:
        measured = scores(table, k)
        for ours, theirs in names.items():
            theirs_by_question = [expected.get(name, {}).get(f"{theirs}_{k}", 0.0) for name in table.question_ids]
            np.testing.assert_allclose(measured[f"{ours}@{k}"], theirs_by_question, atol=1e-9, err_msg=f"{ours}@{k}")
        for ours, theirs in {"mrr": "recip_rank", "map": "map"}.items():
            theirs_by_question = [expected.get(name, {}).get(theirs, 0.0) for name in table.question_ids]
            np.testing.assert_allclose(measured[ours], theirs_by_question, atol=1e-9, err_msg=ours)


@pytest.mark.parametrize("seed", range(3))
def test_equals_pytrec_eval_on_random_rankings(seed):
    assert_equals_pytrec_eval(random_results(random.Random(seed)), depth=20)


def test_graded_judgements_by_hand():
    """Grades 3 and 1 at ranks 3 and 1, a 2 that was not retrieved: (1 + 3 / 2) ÷ (3 + 2 / log2(3) + 1 / 2)."""
    result = replace(retrieved("q", "acb", "a", "b", "x"), grades={"b": 3.0, "x": 2.0})
    table = measure([result, retrieved("plain", "ab", "b")], 3)
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert rank_metrics.ndcg(table)[0] == pytest.approx([1 / 3, 1 / (3 + 2 / math.log2(3)), (1 + 3 / 2) / ideal])
    assert rank_metrics.ndcg(table)[1] == pytest.approx([0, 1 / math.log2(3), 1 / math.log2(3)])
    assert rank_metrics.recall(table)[0] == pytest.approx([1 / 3, 1 / 3, 2 / 3])  # grades weigh in nDCG alone


@pytest.mark.parametrize("seed", range(3))
def test_graded_judgements_equal_pytrec_eval_and_ir_measures(seed):
    generator = random.Random(seed)
    results = []
    for result in random_results(generator):
        names = {name for group in result.gold for name in group}
        results.append(replace(result, grades={name: float(generator.randint(1, 4)) for name in sorted(names)}))
    assert_equals_pytrec_eval(results, depth=20)
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ k for k in CUTS], *oracle_inputs(results))
    ndcg = rank_metrics.ndcg(measure(results, 20)).mean(axis=0)
    assert [ndcg[k - 1] for k in CUTS] == pytest.approx([expected[ir_measures.nDCG @ k] for k in CUTS])


@pytest.mark.parametrize(
    ("folder", "qrels", "run", "questions"),
    [
        (OWN, "ties.qrels", "ties.run", 3),
        (OWN, "grades.qrels", "grades.run", 3),
        pytest.param(TREC, "compat.qrels", "compat.run", 2, marks=public),
        pytest.param(TREC, "qrels.test", "results.test", 3, marks=public),
    ],
)
def test_equals_pytrec_eval_on_runs_with_ties_and_odd_ids(folder, qrels, run, questions):
    """Ties are broken by id before anything is measured; a relevance above 0 is gold, and its grade counts in nDCG."""
    gold: dict[str, dict[str, float]] = {}
    for line in (folder / qrels).read_text(encoding="utf-8").splitlines():
        question, _, chunk, relevance = line.split()
        gold.setdefault(question, {}).update({chunk: float(relevance)} if int(relevance) > 0 else {})
    hits: dict[str, list[tuple[float, str]]] = {}
    for line in (folder / run).read_text(encoding="utf-8").splitlines():
        question, _, chunk, _, score, _ = line.split()
        hits.setdefault(question, []).append((-float(score), chunk))
    results = [
        replace(retrieved(question, [name for _, name in sorted(pairs)], gold[question]), grades=gold[question])
        for question, pairs in hits.items()
        if gold.get(question)
    ]
    assert len(results) == questions
    assert_equals_pytrec_eval(results, depth=max(map(len, hits.values())))


def test_evidence_is_found_at_the_rank_of_its_last_passage():
    """By hand: of q's three passages the chunks come at ranks 2, 5 and 3; r lacks one of two; s has one, at 4."""
    results = [retrieved("q", "abcde", "b", "e", "dc"), retrieved("r", "abc", "a", "z"), retrieved("s", "wxyz", "z")]
    table = measure(results, 5)
    assert rank_metrics.ranks(table).tolist() == [5, 0, 4]
    assert rank_metrics.first_ranks(table).tolist() == [2, 1, 4]
    assert rank_metrics.reciprocal_rank(table).tolist() == [1 / 2, 1, 1 / 4]
    for k in range(1, 6):
        found = [0 < rank <= k for rank in rank_metrics.ranks(table).tolist()]
        assert found == rank_metrics.all_groups(table)[:, k - 1].astype(bool).tolist()
