"""Metrics of words: against second implementations, and against Chinese worked by hand."""

import re
import string
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from ragviz.metrics.text import exact_match, longest_common, rouge_l, token_f1
from ragviz.text.normal_form import normal_form

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
    ("prediction", "reference", "expected"),
    [
        ("It was built in 1931.", "1931", 1 / 3),  # 1 of 5 and 1 of 1: 2 · 0.2 · 1 ÷ 1.2
        ("red red blue", "red green", 0.4),  # the second "red" has no match: 1 of 3 and 1 of 2
        ("the", "", 1.0),  # an article is no word
        ("tower", "", 0.0),
        ("", "tower", 0.0),
        ("", "", 1.0),
        ("cat", "dog", 0.0),
    ],
)
def test_token_f1_by_hand(prediction, reference, expected):
    assert token_f1(prediction, reference, "en") == pytest.approx(expected)


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
