"""Rankings measured by pooled verdicts, against numbers worked by hand and every way that unjudged chunks could be."""

from __future__ import annotations

import json
from itertools import product

import pytest

from ragviz.analysis import pooled
from ragviz.analysis.pooled import AskedSet, Judged, Verdicts
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.metrics import grounding


def result(question_id: str, ids: str, gold: tuple[tuple[str, ...], ...]) -> Retrieved:
    return Retrieved(question_id, Ranking(tuple(ids), tuple(-float(n) for n in range(len(ids)))), gold)


def says(useful: bool, *supports: int) -> Judged:
    return Judged(useful, frozenset(supports))


BOTH, ONE, NOTHING = says(True, 0, 1), says(True, 0), says(False)
RESULTS = [
    result("found", "gabc", (("g",),)),
    result("answered by b", "abcg", (("g",),)),
    result("half", "abhc", (("h",), ("i",))),
    result("unjudged", "abcd", (("g",),)),
    result("open", "abcd", ()),
]
VERDICTS = {
    "found": Verdicts(2, {"g": ONE, "a": NOTHING, "b": ONE, "c": BOTH}),
    "answered by b": Verdicts(2, {"a": NOTHING, "b": BOTH, "g": BOTH}),
    "half": Verdicts(2, {"a": ONE, "b": ONE, "h": NOTHING}, (AskedSet(frozenset("abh"), frozenset({1}), {}),)),
    "unjudged": Verdicts(-1),
}


def test_recall_and_mrr_raw_corrected_and_at_most():
    found = pooled.measure(RESULTS, VERDICTS, 3, "judge")
    # found at 1; b at 2 supports all and c is not judged; h of h and i; nobody judged a to d
    assert [each.mean for each in (found.recall.raw, found.recall.corrected, found.recall.most)] == [
        (1 + 0 + 1 / 2 + 0) / 4,
        (1 + 1 + 1 / 2 + 0) / 4,
        (1 + 1 + 1 / 2 + 1) / 4,
    ]
    means = [each.mean for each in (found.mrr.raw, found.mrr.corrected, found.mrr.most)]
    assert means == pytest.approx(
        [(1 + 1 / 4 + 1 / 3 + 0) / 4, (1 + 1 / 2 + 1 / 3 + 0) / 4, (1 + 1 / 2 + 1 / 3 + 1) / 4]
    )
    assert (found.missed, found.found) == (3, (pooled.Found("answered by b", "b", 2),))
    assert found.share.mean == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert "Of 3 questions without all evidence in the first 3 chunks, 1 is answered by another chunk" in found.sentence


def test_context_metrics_of_the_same_verdicts_at_another_k():
    at = {k: pooled.measure(RESULTS, VERDICTS, k, "judge") for k in (1, 2, 3, 4)}
    # at 1: g useful; a not; a useful; unknown
    assert (at[1].context_precision.least, at[1].context_precision.most) == (0.5, 0.75)
    assert (at[1].context_precision.known.mean, at[1].context_precision.known.n) == (pytest.approx(2 / 3), 3)
    # at 3: g supports 1 of 2 and so does b, 1 open; b both, c unknown; a and b 1 of 2, the other asked in vain
    assert at[3].context_recall.n == 4
    assert at[3].context_recall.least == pytest.approx((1 / 2 + 1 + 1 / 2 + 0) / 4)
    assert at[3].context_recall.most == pytest.approx((1 + 1 + 1 / 2 + 1) / 4)
    assert (at[3].context_recall.known.mean, at[3].context_recall.known.n) == (0.75, 2)
    assert json.dumps(pooled.to_json(at[4]))


def test_bounds_of_context_precision_are_those_of_every_way_the_rest_could_be():
    for useful in product((True, False, None), repeat=6):
        unknown = [place for place, each in enumerate(useful) if each is None]
        values = []
        for filled in product((True, False), repeat=len(unknown)):
            whole = list(useful)
            for place, value in zip(unknown, filled, strict=True):
                whole[place] = value
            values.append(grounding.context_precision(whole))
        assert pooled.precision_bounds(useful) == pytest.approx((min(values), max(values)))


def test_what_follows_together_bounds_context_recall():
    verdicts = Verdicts(
        3,
        dict.fromkeys("abcd", NOTHING) | {"a": ONE},
        (AskedSet(frozenset("abc"), frozenset({1, 2}), {1: frozenset("bc")}),),
    )
    assert pooled.recall_bounds("abc", verdicts) == pytest.approx((2 / 3, 2 / 3))
    assert pooled.recall_bounds("abcd", verdicts) == pytest.approx((2 / 3, 1)), "d may add what is missing"
    assert pooled.recall_bounds("ab", verdicts) == pytest.approx((1 / 3, 2 / 3)), "of 1, another pair was not asked for"
    assert pooled.recall_bounds("a", verdicts) == pytest.approx((1 / 3, 1 / 3))
    assert pooled.recall_bounds("abx", verdicts) == (pytest.approx(1 / 3), 1)
