"""Verdicts on chunks are asked once for all runs: what is asked, over real HTTP, and what sets of chunks tell."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragviz.analysis import pooled
from ragviz.analysis.pooled import Verdicts
from ragviz.core.call import Call
from ragviz.core.document import Chunk, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.core.verdict import ClaimVerdict
from ragviz.judging import forecast, planning, pool, work
from ragviz.metrics.answers import ANSWER_METRICS
from tests import model_server
from tests.model_server import ModelServer
from tests.test_judging import Memory, Results, plan_of

YES, NO = ClaimVerdict("supported", 0), ClaimVerdict("absent")
CONTEXT = ("context_recall", "context_precision")
TEXTS = {
    "a": "The north pump was replaced in 1998.",
    "b": "Harlow replaced it for 300 euros.",
    "c": "Dogs stay outside.",
    "d": "The gates open at noon.",
}
QUESTION = Question(
    "q",
    "When was the north pump replaced?",
    "The north pump was replaced in 1998.",
    ((Span("d", 0, 9, "The north"),),),
    "hand",
)


def item(letters: str, question: Question = QUESTION) -> planning.Item:
    places = {letter: 100 * number for number, letter in enumerate(TEXTS)}
    chunks = [(places[each], TEXTS[each]) for each in letters]
    read = tuple(Context(text, Chunk.make_id("d", s, s + 50), 20) for s, text in chunks)
    return planning.Item(question, Recording(question.id, read))


def asked(server: ModelServer) -> list[tuple[list[str], list[str]]]:
    """Claims and passages of each call about passages."""
    prompts = [body["messages"][1]["content"] for body in server.bodies if "messages" in body]
    data = [model_server._texts(prompt) for prompt in prompts if '"passages"' in prompt]
    return [
        (list(each.get("claims", {}).values()), [" ".join(p.values()) for p in each["passages"].values()])
        for each in data
    ]


def judged(server: ModelServer, letters: str, shared: Any, names: Sequence[str] = CONTEXT, **more: Any) -> Results:
    results, question = Results(), more.pop("question", QUESTION)
    answerer = more.pop("answerer", "none")
    work.work([item(letters, question)], plan_of(server, names=names, answerer=answerer, pool=shared, **more), results)
    return results


def test_a_chunk_is_judged_once_whatever_run_reads_it():
    shared = pool.Memory()
    with ModelServer() as server:
        first = judged(server, "abc", shared)
        assert asked(server) == [([TEXTS["a"]], [TEXTS["a"], TEXTS["b"], TEXTS["c"]])]
        again = judged(server, "ca", shared)  # another order, a smaller k: all is known
        assert len(asked(server)) == 1
        more = judged(server, "adc", shared)
        assert asked(server)[1:] == [([TEXTS["a"]], [TEXTS["d"]])], "only the missing chunk is asked about"
    matrix = [results.judged["q"].matrix for results in (first, again, more)]
    assert [each.useful for each in matrix] == [(True, False, False), (False, True), (True, False, False)]
    assert [each.reference_by_chunk for each in matrix] == [((YES, NO, NO),), ((NO, YES),), ((YES, NO, NO),)]
    assert again.scores["q"]["context_precision"].value == 0.5
    assert again.judged["q"].failures == {}
    [call] = [call for call in again.judged["q"].calls if call.step == "context"]
    assert call.cached, "the call behind a verdict is shown, and was paid before"
    assert call.raw == first.judged["q"].calls[-1].raw


def test_verdicts_are_those_without_a_pool():
    """Runs that share a pool have the verdicts that each has alone."""
    shared, contexts = pool.Memory(), ("abc", "cab", "dcba", "a", "dc")
    with ModelServer() as server:
        pooled = [judged(server, each, shared, ("all",), answerer="model") for each in contexts]
    with ModelServer() as server:
        alone = [judged(server, each, pool.Memory(), ("all",), answerer="model") for each in contexts]
    for one, other in zip(pooled, alone, strict=True):
        matrices = [results.judged["q"].matrix for results in (one, other)]
        first, second = [replace(matrix, answer_claims=None) for matrix in matrices]
        assert first == second, "all but the numbers that claims cite"
        assert {n: s.value for n, s in one.scores["q"].items()} == {n: s.value for n, s in other.scores["q"].items()}
        assert set(one.scores["q"]) == set(ANSWER_METRICS)


@pytest.mark.parametrize(
    "change",
    [
        {"question": replace(QUESTION, answer="The pump was replaced in 1999.")},
        {"question": replace(QUESTION, text="Which year?")},
        {"edition": 1},
    ],
    ids=["reference", "question", "judge"],
)
def test_what_changed_is_asked_anew(change: dict[str, Any]):
    shared = pool.Memory()
    with ModelServer() as server:
        judged(server, "ab", shared)
        judged(server, "ab", shared, **change)
        assert len(asked(server)) == 2


def together(prompt: str) -> dict[str, Any]:
    """Say that every claim follows from the pump and its price together, and from nothing alone."""
    data = model_server._texts(prompt)
    numbers = {" ".join(sentences.values()): int(p) for p, sentences in data["passages"].items()}
    both = [numbers[TEXTS[each]] for each in "ab" if TEXTS[each] in numbers]
    sources = [{"passage": number, "sentence": 1} for number in both if len(both) == 2]
    rows = [
        {"claim": int(n), "supported_by": [], "supported_together": sources, "contradicted_by": []}
        for n in data.get("claims", {})
    ]
    return {"claims": rows, "passages": [{"passage": n, "useful": False} for n in numbers.values()]}


def test_a_claim_that_no_chunk_supports_is_asked_once_of_the_whole_set(monkeypatch: pytest.MonkeyPatch):
    replies = [(of, together if of == {"claims", "passages"} else make) for of, make in model_server.REPLIES]
    monkeypatch.setattr(model_server, "REPLIES", replies)
    shared, whole = pool.Memory(), [TEXTS[each] for each in "acd"]
    with ModelServer() as server:
        assert judged(server, "acd", shared).scores["q"]["context_recall"].value == 0
        judged(server, "ca", shared)
        assert asked(server) == [([TEXTS["a"]], whole)], "what does not follow from a set does not from a part of it"
        found = judged(server, "ab", shared)
        assert found.scores["q"]["context_recall"].value == 1
        assert asked(server)[1:] == [([TEXTS["a"]], [TEXTS["a"], TEXTS["b"]])]
        found = judged(server, "bdca", shared).judged["q"].matrix
        assert len(asked(server)) == 2, "what follows from two chunks follows from more"
    part, absent = ClaimVerdict("together", 0), ClaimVerdict("absent")
    assert found.reference_by_chunk == ((part, absent, absent, part),)


def test_a_dry_run_knows_what_is_pooled_and_keeps_nothing():
    shared, cache = pool.Memory(), Memory()
    with ModelServer() as server:
        judged(server, "ab", shared, cache=cache)
        kept = dict(shared.bodies)
        plan = plan_of(server, names=CONTEXT, answerer="none", pool=shared, cache=cache)
        estimate = forecast.foresee([item("ba"), item("bad")], plan)
        assert estimate.calls["context"] == 1
        assert shared.bodies == kept
        assert len(asked(server)) == 1


def known(shared: pool.Memory, letters: str, claims: int = 1) -> pool.Known:
    texts = {each: TEXTS[each] for each in letters}
    return pool.known(shared, ("j", "m"), ("q", "r"), ((), [f"c{n}" for n in range(claims)]), texts, frozenset(letters))


def test_the_pool_keeps_what_single_chunks_say_and_what_sets_say():
    shared, call = pool.Memory(), Call("context", "m", "2", 1, 1, 0.1, None, False, "{}")
    first = known(shared, "abc", 2)
    assert first.wanted() == pool.Asked((0, 1), (0, 1, 2))
    part = ClaimVerdict("together", 3)
    verdicts, useful = {0: (YES, NO, NO), 1: (NO, part, part)}, dict.fromkeys(range(3), True)
    shared.add("j", first.learn(pool.Asked((0, 1), (0, 1, 2)), verdicts, useful, [call]))
    assert known(shared, "cab", 2).rows() == {0: (NO, YES, NO), 1: (part, NO, part)}
    assert known(shared, "bc", 2).wanted() == pool.Asked((0,), (0, 1)), "nobody said that b and c do not together"
    assert known(shared, "ab", 2).wanted() == pool.Asked((1,), (0, 1))
    assert known(shared, "a", 2).wanted() is None
    assert known(shared, "ad", 2).wanted() == pool.Asked((0, 1), (0, 1))
    assert known(shared, "a", 1).wanted() == pool.Asked((0,), (0,)), "these are other claims"
    bodies = [json.loads(body) for (about, *_), body in shared.bodies.items() if about == pool.subject("q", "r")]
    assert sorted(body["id"] for body in bodies) == ["a", "b", "c"]


# Rankings measured by pooled verdicts


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
