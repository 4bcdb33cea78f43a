"""Where questions are lost: one hand-made case per cause, which cause comes first, what counts as right."""

from dataclasses import replace

import pytest

from ragviz.analysis import diagnose
from ragviz.analysis.diagnose import Ruling, attribute_failures, cause, is_right
from ragviz.core.configuration import RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.retrieval.gold import gold_chunks

A, B = "a" * 16, "b" * 16
K = 2


def cut(document, start, end):
    return Chunk.make_id(document, start, end)


# Both documents are cut every hundred characters.
A0, A1, A2, A3 = (cut(A, start, start + 100) for start in (0, 100, 200, 300))
B0, B1, B2 = (cut(B, start, start + 100) for start in (0, 100, 200))
CUTS = {
    A: [(A0, 0, 100), (A1, 100, 200), (A2, 200, 300), (A3, 300, 400)],
    B: [(B0, 0, 100), (B1, 100, 200), (B2, 200, 300)],
}


def span(document, start, end, text=""):
    return Span(document, start, end, text)


def question(*groups, answer="May 1974", language="en"):
    return Question("q", "When was it opened?", answer, groups, "hand", "accepted", language=language)


def retrieved(item, *ids):
    gold = gold_chunks(item.evidence, lambda document: CUTS.get(document, []))
    return Retrieved("q", Ranking(ids, tuple(1.0 - i / 10 for i in range(len(ids)))), gold)


def answered(*context, text="In May 1974 [1].", status="answered", cut=()):
    return Recording(
        "q",
        answer=text,
        status=status,
        origin="extractive",
        contexts=tuple(Context(chunk_id=each) for each in context),
        cut=cut,
    )


CLOSED = RunConfig("i", "s", context="none").knows
INSIDE = (span(A, 120, 180),)
ACROSS = (span(A, 160, 240),)
ELSEWHERE = (span(B, 10, 50),)
OUTSIDE = (span("c" * 16, 0, 40),)


def find(item, ids, answer=None, right=None, **more):
    return cause(item, retrieved(item, *ids), K, answer, Ruling(right), **more)


# One case per cause


def test_evidence_that_was_handed_over_without_an_answer_was_not_answered():
    for silent in (
        answered(A1, text="The passages do not tell.", status="refused"),
        answered(A1, text=" "),
        answered(A1, text="", status="failed"),
    ):
        assert find(question(INSIDE), [A1], silent, None) == "not_answered"
        assert find(question(INSIDE), [A1], silent, False) == "not_answered"


def test_a_right_answer_is_fine_whatever_was_missed():
    assert find(question(INSIDE), [A1], answered(A1), True) == "fine"
    for evidence in (OUTSIDE, ACROSS, ELSEWHERE):
        assert find(question(INSIDE, evidence), [A1, A0], answered(A1, A0), True) == "fine"


def test_an_unanswerable_question_should_be_refused():
    unanswerable = question(answer="")
    assert find(unanswerable, [A1], answered(A1, text="…", status="refused"), True) == "fine"
    assert find(unanswerable, [A1], answered(A1), False) == "wrong"
    assert find(unanswerable, [A1], answered(A1), True) == "wrong"
    assert find(unanswerable, [A1], answered(A1, text="", status="failed"), None) == "not_answered"
    assert find(unanswerable, [A1]) == "fine"


# Which comes first


def test_the_earliest_stage_of_any_group_is_the_cause():
    lost = {
        "not_parsed": OUTSIDE,
        "not_retrieved": (span(B, 110, 150),),
        "below_k": (span(B, 210, 250),),
        "split": ACROSS,
        "cut_by_budget": ELSEWHERE,
    }
    ids, answer = [A2, B0, B2], answered(A2, cut=(B0,))
    names = list(lost)
    for first, name in enumerate(names):
        groups = [lost[other] for other in reversed(names[first:])]
        assert find(question((span(A, 210, 220),), *groups), ids, answer, False) == name
        assert find(question(*groups), ids, answer, None) == name


def test_a_cause_of_the_evidence_comes_before_a_refusal():
    refused = answered(A0, A2, text="The passages do not tell.", status="refused")
    assert find(question(INSIDE), [A0, A2, A1], refused, False) == "below_k"


def test_any_member_of_a_group_is_enough():
    assert find(question((*OUTSIDE, *INSIDE)), [A1], answered(A1), False) == "wrong"
    assert find(question((*ACROSS, *ELSEWHERE)), [A1, B0], answered(A1, B0), False) == "wrong"
    assert find(question((*ACROSS, *ELSEWHERE)), [A1, A0, B0], answered(A1, A0), False) == "split"
    assert find(question((*ACROSS, span(B, 110, 150))), [A1, A0], answered(A1, A0), False) == "split"
    stale = replace(INSIDE[0], stale=True)
    assert find(question((*ACROSS, stale)), [A1, A0], answered(A1, A0), False) == "split"


def test_one_character_more_than_the_chunk_is_split():
    assert find(question((span(A, 120, 200),)), [A1], answered(A1), False) == "wrong"
    assert find(question((span(A, 120, 201),)), [A1], answered(A1), False) == "split"
    assert find(question((span(A, 99, 180),)), [A1], answered(A1), False) == "split"


def test_a_closed_book_only_answers():
    assert find(question(OUTSIDE), [], answered(), False, knows=CLOSED) == "wrong"
    assert find(question(INSIDE), [], answered(status="refused"), False, knows=CLOSED) == "not_answered"
    assert find(question(INSIDE), [], answered(), True, knows=CLOSED) == "fine"


# Right or wrong


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"equivalence": 1.0, "factual_recall": 0.0, "token_f1": 0.0}, Ruling(True, "equivalence")),
        ({"equivalence": 0.5, "factual_recall": 1.0, "token_f1": 1.0}, Ruling(False, "equivalence")),
        ({"equivalence": 0.0}, Ruling(False, "equivalence")),
        ({"factual_recall": 0.5, "completeness": 0.0}, Ruling(True, "factual_recall")),
        ({"factual_recall": 0.49, "token_f1": 1.0}, Ruling(False, "factual_recall")),
        ({"completeness": 0.6}, Ruling(True, "completeness")),
        ({"completeness_direct": 0.4, "token_f1": 1.0}, Ruling(False, "completeness_direct")),
        ({"extractive_questeval_recall": 0.5, "token_f1": 0.1}, Ruling(True, "extractive_questeval_recall")),
        ({"extractive_questeval_recall": 0.4, "token_f1": 0.5}, Ruling(True, "token_f1")),
        ({"token_f1": 0.1}, Ruling(True, "reference_in_answer")),
        ({"rouge_l": 0.9}, Ruling(True, "reference_in_answer")),
    ],
)
def test_the_most_reliable_score_decides_what_is_right(scores, expected):
    assert is_right(question(INSIDE), answered(A1), scores) == expected


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("The harbour fee is 35 euros.", "The harbour fee is 3.5 euros."),
        ("The harbour fee is 3.5 euros.", "The harbour fee is not 3.5 euros."),
        ("It opened in May 1974.", "It opened in May 1947."),
        ("港口费为35欧元。", "港口费为3.5欧元。"),
        ("周日开放。", "周日不开放。"),
    ],
)
def test_without_a_judge_another_number_or_a_denial_is_not_right(reference, said):
    asked = question(INSIDE, answer=reference)
    assert is_right(asked, answered(A1, text=said), {"token_f1": 0.9}) == Ruling(None)
    assert is_right(asked, answered(A1, text=f"{reference} [1]"), {"token_f1": 0.9}) == Ruling(True, "token_f1")
    assert is_right(asked, answered(A1, text=said), {"equivalence": 1.0}).right is True


# A whole run


def test_where_a_run_lost_its_questions():
    by_name = {
        "right": question(INSIDE),
        "wrong": question(INSIDE),
        "unjudged": question(INSIDE),
        "missed": question(ELSEWHERE),
        "cut": question(INSIDE),
        "unanswered": question(INSIDE),
        "中文": question(ACROSS, language="zh"),
    }
    questions = [replace(q, id=name) for name, q in by_name.items()]
    rankings = {"missed": [A0, A1], "中文": [A1, A0]}
    results = [replace(retrieved(q, *rankings.get(q.id, [A1])), question_id=q.id) for q in questions]
    answers = {q.id: replace(answered(A1), question_id=q.id) for q in questions if q.id != "unanswered"}
    answers["cut"] = replace(answers["cut"], cut=(A1,))
    rulings = {name: Ruling(False, "equivalence") for name in by_name} | {
        "right": Ruling(True, "equivalence"),
        "unjudged": Ruling(None, "judge_failed"),
    }
    gone = Retrieved("gone", Ranking((), ()), ())
    causes = attribute_failures(questions, [*results, gone], K, answers, rulings)
    assert list(causes.items()) == [
        ("right", "fine"),
        ("wrong", "wrong"),
        ("unjudged", "not_judged"),
        ("missed", "not_retrieved"),
        ("cut", "cut_by_budget"),
        ("unanswered", "fine"),
        ("中文", "split"),
    ]
    assert attribute_failures(questions, results, K) == {
        name: {"missed": "not_retrieved", "中文": "split"}.get(name, "fine") for name in by_name
    }
    closed = attribute_failures(questions, results, K, answers, rulings, knows=CLOSED)
    assert closed["missed"] == "wrong"


def test_the_worst_question_first_by_hand():
    """Lost ones by stage, a missing score worst of all; then one without a cause; then the right ones."""
    by_hand = [  # id, cause, score, rank
        ("missed", "not_retrieved", 0.9, 0),
        ("deepest", "below_k", None, 40),
        ("deep", "below_k", None, 4),
        ("deep, scored", "below_k", 0.0, 50),
        ("refused", "not_answered", None, 1),
        ("wrong, 0.1", "wrong", 0.1, 1),
        ("wrong, 0.4, rank 3", "wrong", 0.4, 3),
        ("wrong, 0.4, rank 1", "wrong", 0.4, 1),
        ("no verdict", "not_judged", None, 2),
        ("reference only", "", 0.0, None),
        ("right, 0.5", "fine", 0.5, 2),
        ("right, 1", "fine", 1.0, 30),
        ("rightly refused", "fine", None, None),
    ]
    expected = [name for name, *_ in by_hand]
    causes, scores, ranks = ({row[0]: row[place] for row in by_hand} for place in (1, 2, 3))
    assert diagnose.worst_first(sorted(expected), causes, scores, ranks) == expected
    errors = {name: None if score is None else 1 - score for name, score in scores.items()}
    assert diagnose.worst_first(expected[::-1], causes, errors, ranks, higher_is_better=False) == expected
    assert diagnose.worst_first(["b", "a"], {}, {}, {}) == ["b", "a"], "what is equal keeps its order"
