"""Whether an answer says what the reference answer says, by words and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from ragviz.core.question import Question
from ragviz.text import language, words

AGREES, PART = 0.7, 1 / 3
"""An answer agrees with the reference that has this share of its words; or this share of whose words the reference has,
if it is no less than this part of the reference."""


def agrees(answer: str, question: Question, *, whole: bool = False) -> bool:
    """Return whether an answer says what the reference answer says: by words, and every number of the reference.

    Words are compared in any order, without articles and case. An answer agrees that has seven of ten words of the
    reference. Unless the `whole` reference is needed, a shorter one agrees too that has hardly other words.

    >>> question = Question("q", "How long is the leave?", "12 weeks, paid in full", (), "hand")
    >>> [agrees(answer, question) for answer in ("12 weeks", "It is 12 weeks and in full paid.", "10 weeks", "")]
    [True, True, False, False]
    >>> agrees("12 weeks", question, whole=True)
    False
    """
    lang = language.of_answers(question)
    given, reference = words.tokens(answer, lang), words.tokens(question.answer, lang)
    if not given or not reference or not numbers(question.answer) <= numbers(answer):
        return False
    common = sum((Counter(given) & Counter(reference)).values())
    if common >= AGREES * len(reference):
        return True
    return not whole and common >= AGREES * len(given) and common >= PART * len(reference)


_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+,\d{1,2}(?![\d.])|\d+(?:[.:]\d+)*")
"""A number: with commas of thousands, with a decimal comma, else without: cells of a row have commas between them."""


def numbers(text: str) -> set[str]:
    """Return the numbers of a text, without the commas of thousands.

    >>> sorted(numbers("１,200 of 3.5 at 9:30")), sorted(numbers("loaf,1000,5.20")), sorted(numbers("12,5 %"))
    (['1200', '3.5', '9:30'], ['1000', '5.20'], ['12,5'])
    """
    found = _NUMBER.findall(unicodedata.normalize("NFKC", text))
    return {re.sub(r",(?=\d{3}(?!\d))", "", number) for number in found}
