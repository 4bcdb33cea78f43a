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
    "unjudged": Verdicts(),
}


def test_a_missed_question_may_be_answered_by_another_chunk():
    found = pooled.measure(RESULTS, VERDICTS, 3, "judge")
    # b at 2 supports all; h of h and i; nobody judged a to d
    assert (found.missed, found.found) == (3, (pooled.Found("answered by b", "b", 2),))
    assert found.share == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert "Of 3 questions without all evidence in the first 3 chunks, 1 is answered by another chunk" in found.sentence
