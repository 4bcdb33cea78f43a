"""Metrics of two texts by their words alone: token F1, exact match, ROUGE-L.

Both are compared in their normal form (`text.normal_form`). Words are `words.tokens`; but ROUGE-L's English ones are
those of the rouge-score package.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from ragviz.text import words
from ragviz.text.normal_form import normal_form


def token_f1(prediction: str, reference: str, language: str) -> float:
    """F1 of the words that both texts hold, each as often as the rarer side has it; 0 to 1.

    As SQuAD's evaluation: two texts without words are 1, one without words is 0.

    >>> round(token_f1("in the year 1931", "1931", "en"), 2), token_f1("", "The", "en")
    (0.5, 1.0)
    """
    return overlap_f1(_tokens(prediction, language), _tokens(reference, language))


def overlap_f1(prediction: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of two lists of tokens as multisets; 1 when both are empty, 0 when one is."""
    if not prediction or not reference:
        return float(not prediction and not reference)
    return _f_measure(sum((Counter(prediction) & Counter(reference)).values()), len(prediction), len(reference))


def exact_match(prediction: str, reference: str, language: str) -> float:
    """1 when both texts have the same words in the same order, else 0.

    >>> exact_match("The Tower.", "tower", "en"), exact_match("东京塔。", "东京", "zh")
    (1.0, 0.0)
    """
    return float(_tokens(prediction, language) == _tokens(reference, language))


def rouge_l(prediction: str, reference: str, language: str) -> float:
    """F-measure of the longest common subsequence of words; 0 to 1, and 0 when either text has no words.

    Lin (2004), for a whole text as one sequence, precision and recall weighing the same. In English it is what Google's
    rouge-score package gives as rougeL's fmeasure with its defaults, so without stemming: an article is a word, and
    anything but ASCII letters and digits separates words. The package ignores Chinese; that is cut by jieba.

    >>> rouge_l("police kill the gunman", "police killed the gunman", "en")  # "police the gunman" of 4 and 4
    0.75
    """
    predicted_words, reference_words = _rouge_words(prediction, language), _rouge_words(reference, language)
    if not predicted_words or not reference_words:
        return 0.0
    return _f_measure(longest_common(predicted_words, reference_words), len(predicted_words), len(reference_words))


def _rouge_words(text: str, language: str) -> list[str]:
    return re.findall("[a-z0-9]+", normal_form(text)) if language == "en" else _tokens(text, language)


def _tokens(text: str, language: str) -> list[str]:
    return words.tokens(normal_form(text), language)


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence: 2,000 tokens against as many in a few milliseconds.

    Hyyrö (2004): a row of the table is one long integer, in which a zero bit is a place where the length grows.

    >>> longest_common("ABCBDAB", "BDCABA")
    4
    """
    places: defaultdict[str, int] = defaultdict(int)
    for place, token in enumerate(one):
        places[token] |= 1 << place
    whole = row = (1 << len(one)) - 1
    for token in other:
        matched = row & places.get(token, 0)
        row = ((row + matched) | (row - matched)) & whole
    return len(one) - row.bit_count()


def _f_measure(common: int, in_prediction: int, in_reference: int) -> float:
    if not common:
        return 0.0
    precision, recall = common / in_prediction, common / in_reference
    return 2 * precision * recall / (precision + recall)
