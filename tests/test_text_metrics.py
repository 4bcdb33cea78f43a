"""Metrics of words: against second implementations, and against Chinese worked by hand."""

import gc
import json
import random
import re
import string
import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from ragviz.metrics.text import exact_match, longest_common, overlap_f1, rouge_l, token_f1

QUERIES = Path(__file__).parent / "data" / "retrieval" / "en" / "queries.jsonl"
CLAPNQ = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "retrieval" / "clapnq" / "queries.jsonl"
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
def test_token_f1_is_squads(prediction, reference):
    assert token_f1(prediction, reference, "en") == pytest.approx(squad_f1(prediction, reference))
    assert exact_match(prediction, reference, "en") == (squad_words(prediction) == squad_words(reference))


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
    expected = ROUGE.score(reference, prediction)["rougeL"].fmeasure
    assert rouge_l(prediction, reference, "en") == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [
        ("The tower.", "A tower", 0.5),  # articles are words: tower of 2 and 2
        ("the well-known U.S. café", "well known u s caf", 10 / 11),  # the | well | known | u | s | caf against five
        ("running", "run", 0.0),  # no stemming
        ("Tower", "tower!", 1.0),
        ("桥", "桥", 0.0),  # nothing that the package would call a word
    ],
)
def test_english_rouge_l_by_hand(prediction, reference, expected):
    assert rouge_l(prediction, reference, "en") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("file", "least"),
    [
        pytest.param(QUERIES, 80, id="own"),
        pytest.param(CLAPNQ, 300, id="clapnq", marks=pytest.mark.skipif(not CLAPNQ.exists(), reason=f"no {CLAPNQ}")),
    ],
)
def test_rouge_l_is_the_packages_on_answers_in_prose(file, least):
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    answers = [answer for row in rows for answer in row["metadata"]["answers"] if answer]
    assert len(answers) >= least
    values = [rouge_l(one, other, "en") for one, other in pairwise(answers)]
    expected = [ROUGE.score(other, one)["rougeL"].fmeasure for one, other in pairwise(answers)]
    assert values == pytest.approx(expected, abs=1e-15)
    assert len(set(values)) > least / 4  # they are not all 0 or 1


@given(tokens, tokens)
def test_bounds_and_symmetry(one, other):
    f1 = overlap_f1(one, other)
    assert 0 <= f1 <= 1
    assert f1 == overlap_f1(other, one)
    assert (f1 == 1) == (sorted(one) == sorted(other))


def test_other_languages_are_compared_by_their_own_words():
    assert token_f1("Das Haus „Sonne“", "das haus sonne", "de") == 1.0
    assert token_f1("東京タワー", "東京", "ja") == pytest.approx(2 * 2 / (5 + 2))  # 2 of 5 and 2 of 2 characters


def test_two_thousand_words_against_as_many_are_fast():
    pick = random.Random(0)
    one, other = ([pick.choice(WORDS) + str(pick.randrange(9)) for _ in range(2000)] for _ in range(2))
    gc.disable()
    started = time.process_time()
    common = longest_common(one, other)
    assert time.process_time() - started < 0.2
    assert 0 < common < 2000
