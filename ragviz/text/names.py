"""Several names shortened together, so that they stay distinct and what differs between them remains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os.path import commonprefix

from ragviz.text.markup import without_middle

_CUT_WORD = re.compile("[A-Za-z0-9]{1,11}$")
"""The beginning of a word at the end of what names share: words that differ are shown whole, unless they are long."""


def distinct(names: Iterable[str], most: int) -> list[str]:
    """Return each name with at most `most` characters: what all names share is left out first, `…` in its place.

    Names that fit stay whole, and different names stay different: numbered, where `most` is too small for more.

    >>> distinct(["tts-tokens-200-knn-extractive", "tts-tokens-200-hybrid-extractive"], 16)
    ['tts-tokens-…knn…', 'tts-toke…hybrid…']
    >>> distinct(["sample-knn", "sample-hybrid"], 20), distinct(["sample-hybrid-rerank"], 11)
    (['sample-knn', 'sample-hybrid'], ['sampl…erank'])
    >>> distinct(["供水系统运行手册-向量检索-抽取式回答", "供水系统运行手册-混合检索-抽取式回答"], 10)
    ['供水系统运行…向量…', '供水系统运行…混合…']
    >>> distinct(["aaaaaaaa-1", "aaaaaaaa-2", "b"], 5), distinct(["abcdefgh", "abcdefgx"], 1)
    (['aa…-1', 'aa…-2', 'b'], ['…', '2'])
    """
    given = list(names)
    shown = _shortened(list(dict.fromkeys(given)), most)
    for text in set(shown.values()):
        alike = [name for name, each in shown.items() if each == text]
        shown |= _shortened(alike, most) if len(alike) > 1 else {}
    taken = set[str]()
    for name, text in shown.items():
        number = 1
        while shown[name] in taken:
            number += 1
            shown[name] = f"{text[: max(0, most - len(str(number)))]}{number}"
        taken.add(shown[name])
    return [shown[name] for name in given]


def short_names(names: Iterable[str], most: int) -> dict[str, str]:
    """Return name → the same as `distinct` shows it.

    >>> short_names(["sample-knn", "sample-hybrid-rerank"], 10)
    {'sample-knn': 'sample-knn', 'sample-hybrid-rerank': '…hybr…rank'}
    """
    given = list(names)
    return dict(zip(given, distinct(given, most), strict=True))


def _shortened(names: Sequence[str], most: int) -> dict[str, str]:
    start, end = 0, 0
    if len(names) > 1:
        start = len(_CUT_WORD.sub("", commonprefix(names)))  # noqa: RUF071 - texts, no paths
        end = len(_CUT_WORD.sub("", commonprefix([name[start:][::-1] for name in names])))  # noqa: RUF071
    shown, after = {name: name for name in names}, "…" * (end > 0)
    for name in (name for name in names if len(name) > most):  # as much of its beginning as fits before what differs
        part = name[start : len(name) - end]
        before = name[: max(0, most - len(part) - len(after) - 1)] + "…" if start else ""
        inside = without_middle(part, max(1, most - len(after) - min(len(before), 1)))
        shown[name] = f"{before}{inside}{after}"[:most]
    return shown
