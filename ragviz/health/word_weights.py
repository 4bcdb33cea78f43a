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
from ragviz.text.words import content_words, stem

OPERANDS = 12
_YES_NO = frozenset(["yes", "no", "true", "false", "是", "否", "是的", "不是", "对", "不对", "可以", "不可以"])
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
