"""Terms of a text for BM25: words, and pairs of Chinese characters."""

from __future__ import annotations

import re
from itertools import pairwise

from ragviz.text.normal_form import folded

HAN = r"\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
RUNS = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
HAN_RUN = re.compile(f"[{HAN}]")
HANGUL_RUN = re.compile("[\uac00-\ud7a3]+")
NO_TERM = {code: " " for code in range(128) if not chr(code).isalnum()}


def terms(text: str) -> list[str]:
    """Return the words of `text` for BM25, folded and without stemming; empty when it has no letter or digit.

    Chinese (and Hiragana), written without spaces, gives its single characters and its pairs of neighbours: that
    ranked better than jieba's words on XQuAD, and needs no dictionary. A Korean word, which ends in its particles,
    gives the pairs beside itself.

    >>> terms("It’s the 308-分, 三次!"), terms("1,250km")
    (['it', 's', 'the', '308', '分', '三', '次', '三次'], ['1250', 'km'])
    """
    text = folded(text)
    if text.isascii():
        return text.translate(NO_TERM).split()
    runs: list[str] = RUNS.findall(text)
    return [term for run in runs for term in (han_terms(run) if HAN_RUN.match(run) else hangul_terms(run))]


def hangul_terms(run: str) -> list[str]:
    """Return a word, and of a Korean one of three syllables or more the pairs of neighbours."""
    return [run, *map("".join, pairwise(run))] if len(run) > 2 and HANGUL_RUN.fullmatch(run) else [run]


def han_terms(run: str) -> list[str]:
    """Return the characters of `run`, and its pairs of neighbours."""
    return [*run, *map("".join, pairwise(run))]
