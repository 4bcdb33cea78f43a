"""Metrics of claims and of texts against hand-worked cases, and what a metric says when it has no value."""

import re
import string
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.core.recording import Context, Recording
from ragviz.core.verdict import Claim, ClaimVerdict, EvaluatedAnswer, Matrix
from ragviz.judging import context
from ragviz.metrics import grounding
from ragviz.metrics.answers import ANSWER_METRICS, score, scores
from ragviz.metrics.text import exact_match, longest_common, rouge_l, token_f1
from ragviz.store.schema import evaluated_from_json, evaluated_to_json
from ragviz.text.normal_form import normal_form

YES, NO, CONTRA = ClaimVerdict("supported", 0), ClaimVerdict("absent"), ClaimVerdict("contradicted", 1)
QUESTION = Question("q", "When?", "It was replaced in 1998 by Harlow.", ((Span("d", 0, 5, "It wa"),),), "hand")
ANSWER = Recording(
    "q",
    answer="It was replaced in 1998. Harlow is a town. Dogs may enter.",
    status="answered",
    origin="m",
    contexts=tuple(Context(chunk_id=each) for each in "abc"),
)
MATRIX = Matrix(
    chunks=("a", "b", "c"),
    answer_claims=(Claim("replaced in 1998"), Claim("Harlow is a town"), Claim("dogs may enter")),
    reference_claims=(Claim("replaced in 1998"), Claim("by Harlow")),
    answer_by_chunk=((NO, YES, YES), (NO, NO, NO), (CONTRA, NO, NO)),
    reference_by_chunk=((NO, YES, NO), (NO, NO, YES)),
    answer_by_reference=(YES, CONTRA, NO),
    reference_by_answer=(YES, NO),
    useful=(False, True, True),
)
EVALUATED = EvaluatedAnswer(
    QUESTION,
    ANSWER,
    MATRIX,
    asked_back=("When was it?", "Who?"),
    noncommittal=False,
    equivalence="partial",
    completeness=0.4,
    conciseness=0.3,
    similarity=0.8,
    asked_back_similarity=(0.9, 0.5),
    sentence_similarity=(0.7, 0.59, 0.6),
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("faithfulness", 1 / 3),
        ("context_precision", (1 / 2 + 2 / 3) / 2),
        ("context_precision_plain", 2 / 3),
        ("context_recall", 1.0),
        ("answer_relevancy", 0.7),
        ("factual_precision", 1 / 3),  # TP 1, FP 2, FN 1
        ("factual_recall", 1 / 2),
        ("factual_f1", 1 / (1 + 1.5)),
        ("answer_correctness", 0.75 * 0.4 + 0.25 * 0.8),
        ("completeness", 1 / 2),
        ("completeness_direct", 0.4),
        ("conciseness_direct", 0.3),
        ("equivalence", 0.5),
        ("embedding_similarity", 0.8),
        ("embedding_faithfulness", (0.7 + 0.59 + 0.6) / 3),
        ("exact_match", 0.0),
    ],
)
def test_values_worked_by_hand(name, value):
    measured = score(name, EVALUATED)
    assert (measured.status, measured.value) == ("ok", pytest.approx(value))


@pytest.mark.parametrize("name", ["exact_match", "token_f1", "rouge_l"])
def test_marks_of_citations_are_no_words_of_an_answer(name):
    reference = EVALUATED.question.answer.rstrip(".")
    cited = replace(EVALUATED, recording=replace(ANSWER, answer=f"{reference} [2][1, 3]."))
    assert score(name, cited).value == 1.0


def test_a_refusal_has_no_score_of_the_answer_but_of_its_context():
    refused = replace(EVALUATED, recording=replace(ANSWER, status="refused"))
    by_name = {s.metric: s for s in scores(refused, ANSWER_METRICS)}
    assert {name for name, s in by_name.items() if s.status == "ok"} == {
        "context_precision",
        "context_precision_plain",
        "context_recall",
    }
    assert by_name["faithfulness"].status == "no_answer"
    assert by_name["token_f1"].value is None
    assert score("faithfulness", replace(EVALUATED, recording=replace(ANSWER, answer="  "))).status == "no_answer"


def test_a_failed_answer_is_skipped_with_its_reason():
    recording = replace(ANSWER, status="failed", answer="", reason="HTTP 500")
    failed = replace(EVALUATED, recording=recording, failures={"answer": "HTTP 500"})
    assert score("completeness", failed).status == "skipped"
    assert "HTTP 500" in score("completeness", failed).reason


def test_without_a_reference_only_what_needs_none_is_measured():
    bare = replace(EVALUATED, question=replace(QUESTION, answer=""))
    measured = {s.metric for s in scores(bare, ANSWER_METRICS) if s.status == "ok"}
    assert measured == {"faithfulness", "answer_relevancy", "embedding_faithfulness"}
    assert score("rouge_l", bare).status == "not_applicable"


def test_a_failed_step_is_a_judge_error_of_what_rests_on_it_only():
    failed = replace(EVALUATED, failures={"comparison": "the judge left out 2 of the claims"})
    wrong = {s.metric for s in scores(failed, ANSWER_METRICS) if s.status == "judge_error"}
    assert wrong == {n for n, m in ANSWER_METRICS.items() if "comparison" in m.steps}
    assert score("completeness", failed).reason == "the judge left out 2 of the claims"
    assert score("faithfulness", failed).status == "ok"


def test_no_claims_is_not_applicable_and_never_1():
    none = replace(MATRIX, answer_claims=(), answer_by_chunk=(), answer_by_reference=())
    assert score("faithfulness", replace(EVALUATED, matrix=none)).status == "not_applicable"
    assert score("factual_precision", replace(EVALUATED, matrix=none)).status == "not_applicable"
    assert score("completeness", replace(EVALUATED, matrix=none)).value == 0.5


@given(st.lists(st.booleans()), st.lists(st.booleans()))
def test_f1_of_facts_is_the_harmonic_mean_of_precision_and_recall(by_reference, by_answer):
    rows = [[YES if value else NO for value in values] for values in (by_reference, by_answer)]
    precision, recall, f1 = grounding.factual(*rows)
    if precision and recall:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert f1 == 0


def test_a_claim_that_two_passages_support_only_together_is_supported():
    texts = ["Harlow built the north pump.", "The north pump failed in 1998.", "Dogs stay outside."]
    row = context.ClaimSources(
        claim=1,
        supported_by=[],
        supported_together=[context.Source(passage=1, sentence=1), context.Source(passage=2, sentence=1)],
        contradicted_by=[],
    )
    alone = context.ClaimSources(
        claim=2, supported_by=[], supported_together=[context.Source(passage=3, sentence=1)], contradicted_by=[]
    )
    reply = context.ContextReply(claims=[row, alone], passages=[])
    read = context.read_context(reply, 2, texts, context.ContextVerdicts())
    part = ClaimVerdict("together", 0)
    assert read.claims[0] == (part, part, NO)
    assert read.claims[1] == (NO, NO, ClaimVerdict("supported", 0))
    assert grounding.supported_by_any([read.claims[0], (part, NO, NO)]) == 0.5
    matrix = replace(MATRIX, answer_by_chunk=(read.claims[0],) * 3)
    assert score("faithfulness", replace(EVALUATED, matrix=matrix)).value == 1
    stored = evaluated_from_json(evaluated_to_json(replace(EVALUATED, matrix=matrix)), EVALUATED.question)
    assert stored.matrix.answer_by_chunk == matrix.answer_by_chunk


ROUGE = RougeScorer(["rougeL"])
WORDS = ["the", "a", "an", "tower", "river", "1931", "3.5", "U.S.", "Paris,", "paris", "(built)", "well-known"]
texts = st.one_of(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.text(max_size=30))
tokens = st.lists(st.sampled_from("abcde"), max_size=12)


def squad_words(text):
    """SQuAD's normalisation, written again: lower, no punctuation, no articles, single blanks."""
    letters = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return [word for word in re.sub(r"\b(?:a|an|the)\b", " ", letters).split(" ") for word in word.split() if word]


def squad_f1(prediction, reference):
    """F1 by crossing out: each word of the reference is used up by one word of the prediction."""
    left, expected = squad_words(prediction), squad_words(reference)
    if not left or not expected:
        return 1.0 if left == expected else 0.0
    size, same = len(left), 0
    for word in expected:
        if word in left:
            left.remove(word)
            same += 1
    return 2 * same / (size + len(expected))


def slow_common(one, other):
    """Longest common subsequence by its definition."""

    @cache
    def longest(i, j):
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@given(texts, texts)
def test_token_f1_is_squads_of_texts_in_normal_form(prediction, reference):
    said, expected = normal_form(prediction), normal_form(reference)
    assert token_f1(prediction, reference, "en") == pytest.approx(squad_f1(said, expected))
    assert exact_match(prediction, reference, "en") == (squad_words(said) == squad_words(expected))


@pytest.mark.parametrize(
    ("prediction", "reference", "f1", "rouge", "same"),
    [
        # 南京市|长江大桥 against 长江大桥: 1 of 2 and 1 of 1
        ("南京市长江大桥", "长江大桥", 2 / 3, 2 / 3, 0.0),
        # the same words, the other order: 建于|1968|年 and 1968|年|建于; the longest run in order is 1968 年
        ("建于1968年", "１９６８年，建于", 1.0, 2 / 3, 0.0),
        ("上海市。", "上海市", 1.0, 1.0, 1.0),
        ("上海", "上海市", 0.0, 0.0, 0.0),
        ("。", "！", 1.0, 0.0, 1.0),
    ],
)
def test_chinese_by_hand(prediction, reference, f1, rouge, same):
    assert token_f1(prediction, reference, "zh") == pytest.approx(f1)
    assert rouge_l(prediction, reference, "zh") == pytest.approx(rouge)
    assert exact_match(prediction, reference, "zh") == same


@given(tokens, tokens)
def test_longest_common_subsequence_is_its_definition(one, other):
    assert longest_common(one, other) == slow_common(tuple(one), tuple(other))


@given(texts, texts)
def test_rouge_l_is_that_of_the_rouge_score_package(prediction, reference):
    expected = ROUGE.score(normal_form(reference), normal_form(prediction))["rougeL"].fmeasure
    assert rouge_l(prediction, reference, "en") == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("said", "reference", "language"),
    [
        ("The museum's roof doesn't leak.", "The museum’s roof doesn’t leak.", "en"),
        ("The hall holds 3000 people.", "The hall holds 3\u00a0000 people.", "en"),
        ("The range is 5 km.", "The range is 5km.", "en"),
        ("The \ufb01nal of Zoe\u0308 N\u00fan\u0303ez", "The final of Zo\u00eb N\u00fa\u00f1ez", "en"),
    ],
)
def test_what_differs_in_typography_alone_is_the_same(said, reference, language):
    assert exact_match(said, reference, language) == 1
    assert token_f1(said, reference, language) == 1
    assert rouge_l(said, reference, language) == 1


def test_a_decimal_point_is_no_punctuation():
    assert exact_match("3.5 %", "35 %", "en") == 0
    assert exact_match("3.5 %", "3.5%", "en") == 1
    assert exact_match("1,250 people", "1250 people", "en") == 1
