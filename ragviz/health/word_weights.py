"""Words that carry the content of texts, weighted by how rare they are in a corpus."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from ragviz.text.numerals import numbers
from ragviz.text.stems import content_words, stem

OPERANDS = 12
_YES_NO = frozenset(["yes", "no", "true", "false", "是", "否", "是的", "不是", "对", "不对", "可以", "不可以"])
_ENGLISH_RELATIONS = (
    "against versus vs compared comparison more less fewer fewest least greater greatest larger largest bigger biggest"
    " smaller smallest higher highest lower lowest longer longest shorter shortest earlier earliest later latest older"
    " oldest newer newest younger youngest faster fastest slower slowest cheaper cheapest same equal equally identical"
    " alike different differ differs difference neither either twice thrice double triple half times former latter"
    " total altogether together sum average overall respectively whereas while exactly instead"
)
_CHINESE_RELATIONS = (
    "比 相比 比较 相同 不同 一样 同样 一致 相等 更 较 更多 更少 更大 更小 更长 更短 更高 更低 更早 更晚 更快 更慢 多 少"
    " 大 小 长 短 高 低 早 晚 快 慢 倍 两倍 一半 前者 后者 两者 均 而 而是 则 差 相差 差别 区别 合计 共 总共 总计 平均"
)
_MONTHS = "january february march april may june july august september october november december"
_BETWEEN = re.compile(r"[^\w\s'.]+")
"""Characters between words: hyphens too, and quotation marks of any language."""


def content(text: str, language: str) -> frozenset[str]:
    """Return the stems of the words of `text` that carry its content, and its numbers; without yes and no.

    >>> sorted(content("Were the pumps replaced for €1,200 in 2021? Yes.", "en"))
    ['1200', '2021', 'pump', 'replac']
    >>> sorted(content("A six-time “winner”", "en"))
    ['six', 'time', 'winner']
    """
    apart = _BETWEEN.sub(" ", text.replace("’", "'"))
    told = (word for word in content_words(apart, language) if word not in _YES_NO)
    return frozenset(stem(word) for word in told if any(c.isalpha() for c in word)) | numbers(text)


RELATIONS = frozenset(map(stem, _ENGLISH_RELATIONS.split())) | frozenset(_CHINESE_RELATIONS.split())
"""Stems of the words by which an answer compares, counts or sums up what passages say: no passage has to hold them."""
MONTHS = {stem(name): str(number) for number, name in enumerate(_MONTHS.split(), start=1)}
"""Stem of each English month's name → its number, as which a passage may write it."""


def computed(number: str, operands: frozenset[str]) -> bool:
    """Return whether two others give a number as sum, difference, product or quotient, in thousands or millions too.

    A quotient counts within 1 %, as it is rounded. Of many operands the `OPERANDS` smallest are looked at.

    >>> computed("34", frozenset({"1987", "2021"})), computed("12900", frozenset({"310", "24"}))
    (True, True)
    """
    wanted, values = float(number), sorted(map(float, operands))[:OPERANDS]
    exact = [value for left in values for right in values for value in (left + right, left - right)]
    exact += [left * right for left, right in combinations(values, 2)]
    quotients = [left / right for left in values for right in values if right]
    return any(
        abs(scale * value - wanted) <= tolerance * abs(wanted)
        for scale in (1, 1_000, 1_000_000)
        for candidates, tolerance in (([*exact, *values], 1e-9), (quotients, 0.01))
        for value in candidates
    )


@lru_cache(maxsize=1 << 16)
def _weight(texts: int, found: int) -> float:
    return math.log(1 + (texts - found + 0.5) / (found + 0.5))


@dataclass(frozen=True, slots=True)
class Weights:
    """How rare words are: `counts` are the texts, of `texts` in all, in which each stands; the others stand in none.

    The weight of a word is BM25's, ln(1 + (n - df + 0.5) / (df + 0.5)). Without texts all words weigh the same.
    """

    texts: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    def of(self, word: str) -> float:
        """Return the weight of a word, above 0."""
        return _weight(self.texts, self.counts.get(word, 0))

    def total(self, words: Iterable[str]) -> float:
        """Return the weight of all words together."""
        return math.fsum(map(self.of, words))

    def share(self, words: frozenset[str], among: frozenset[str]) -> float | None:
        """Return how much of the weight of `words` stands among other words, from 0 to 1; None without words."""
        return self.total(words & among) / self.total(words) if words else None

    def overlap(self, left: frozenset[str], right: frozenset[str]) -> float:
        """Return the weight that both share ÷ the weight of either (weighted Jaccard); 0 where both are empty."""
        if left == right:
            return 1.0 if left else 0.0
        either = self.total(left | right)
        return self.total(left & right) / either if either else 0.0


def weights_of(texts: Iterable[frozenset[str]]) -> Weights:
    """Count in how many texts, given as sets of words, each word stands."""
    counts: Counter[str] = Counter()
    number = 0
    for number, words in enumerate(texts, start=1):  # noqa: B007
        counts.update(words)
    return Weights(number, counts)
