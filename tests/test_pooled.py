"""Rankings measured by pooled verdicts, against numbers worked by hand."""

from __future__ import annotations

import pytest

from ragviz.analysis import pooled
from ragviz.analysis.pooled import Verdicts
from ragviz.core.ranking import Ranking, Retrieved


def result(question_id: str, ids: str, gold: tuple[tuple[str, ...], ...]) -> Retrieved:
    return Retrieved(question_id, Ranking(tuple(ids), tuple(-float(n) for n in range(len(ids)))), gold)


BOTH, ONE, NOTHING = frozenset({0, 1}), frozenset({0}), frozenset[int]()
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
    "half": Verdicts(2, {"a": ONE, "b": ONE, "h": NOTHING}),
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
