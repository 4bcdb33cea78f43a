"""The verification of questions without a model: what can be checked word by word. A model's checks say more.

A question that passes is verified, unless it was made with a doubt: grammar could not tell whether it is a good one.
One that does not is at fault where it was made of the documents' own words, without a model. Others can be right all
the same, with a sum as their answer or in other words: that they leave to a model.

- A question names what it is about: it does not begin with "it" or “它”, and does not speak of "the text".
- The reference answer stands in the passages of the evidence: every number of it, and three of five of its words. A
  word stands there in another form too, or as a part of a compound ("port" in "portside"); words of the question count.
- Each passage is needed: the question or its answer holds a word that stands in that passage and in no other.
- No chunk among the best of the retrievers holds all words of a question that nothing is to answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from ragviz.core.question import Question
from ragviz.generation import rejection
from ragviz.generation.verification import (
    WINDOW,
    Context,
    Contexts,
    decided,
    unanswerable,
    unverified,
)
from ragviz.text import language, prose
from ragviz.text.numerals import numbers
from ragviz.text.stems import content_words, stem

RULES = "rules"
"""What a question is verified by that passed these checks."""
EXTRACTIVE = "extractive"
"""The generator whose answers are words of the documents."""
UNDECIDED = "rules cannot tell"
"""How the reason begins why rules leave a question to a model."""
PART = 3
"""Letters of each part of a compound at least; the part that is looked for has more."""
SUPPORTED = 0.6
"""Share of the reference's words that its evidence has to hold."""


def verify(questions: Iterable[Question], contexts: Contexts) -> Iterator[Question]:
    """Yield the questions in order, as `verification.verify` does: verified, rejected, or left to a model."""
    remaining = iter(questions)
    while window := list(islice(remaining, WINDOW)):
        of_window = contexts(window)
        for question in window:
            context = of_window[question.id]
            found = context.lacking or fault(question, context)
            if context.lacking:
                yield unverified(question, found)
            elif found and question.generator != EXTRACTIVE:
                yield unverified(question, f"{UNDECIDED}: {found}")
            else:
                yield decided(question, RULES, found)


def fault(question: Question, context: Context) -> str:
    """Return which check a question fails in its context, in words; "" when it passes."""
    if unclear := rejection.refers_elsewhere(question.text) if not question.history else "":
        return f"not understood without the passage: “{unclear}” is unclear"
    if unanswerable(question):
        return _answered(question, context)
    return _unsupported(question, context.passages) or _dispensable(question, context.passages)


def _answered(question: Question, context: Context) -> str:
    asked = set(_stems(question.query, question.language))
    for candidate in context.candidates:
        if asked and asked <= set(_stems(candidate.text, question.language)):
            return f"a chunk holds all that it asks about: “{candidate.document}”"
    return ""


def _unsupported(question: Question, passages: Sequence[str]) -> str:
    """Return what of the reference answer is not in its passages."""
    text = "\n\n".join([*passages, *(prose.read(passage).text for passage in passages)])
    if lacking := sorted(numbers(question.answer) - numbers(text)):
        return f"its evidence does not hold a number of its answer: {lacking[0]}"
    answer = [word for word in rejection.words(question.answer) if not any(c.isdigit() for c in word)]
    held = set(rejection.words(text))
    missing = [word for word in answer if not _holds(held, word)]
    asked = set(rejection.words(question.query))
    said = [word for word in missing if _holds(asked, word)]
    says_nothing = len(said) == len(answer) and not numbers(question.answer)
    absent = missing if says_nothing else [word for word in missing if word not in said]
    if len(absent) > (1 - SUPPORTED) * len(answer):
        return f"its answer does not stand in its evidence: “{absent[0]}” is missing"
    return ""


def _holds(words: Collection[str], word: str) -> bool:
    """Return whether a word is among `words`, in another form, or as the beginning or end of a compound."""
    if word in words:
        return True
    root = stem(word)
    is_part = word.isascii() and len(word) > PART
    return any(
        stem(each) == root
        or (is_part and len(each) >= len(word) + PART and (each.startswith(word) or each.endswith(word)))
        for each in words
    )


def _dispensable(question: Question, passages: Sequence[str]) -> str:
    """Return which of several passages alone holds nothing that the question or its answer says."""
    lang = language.of_answers(question)
    said = {*_stems(question.query, lang), *_stems(question.answer, lang)}
    vain = dispensable([said & set(_stems(passage, lang)) for passage in passages]) if len(passages) > 1 else []
    return (
        f"can be answered without passage {vain[0] + 1}: what it asks and answers stands in the others" if vain else ""
    )


def dispensable(held: Sequence[Collection[str]]) -> list[int]:
    """Return the places of passages that can be left out together: each holds no word that those that are left lack.

    `held` are the words of question and answer in each passage. Of two that hold the same the earlier one is left.

    >>> dispensable([{"valve", "2021"}, {"valve"}]), dispensable([{"valve"}, {"valve"}]), dispensable([{"a"}, {"b"}])
    ([1], [1], [])
    """
    left = dict(enumerate(map(frozenset, held)))
    for place in reversed(range(len(held))):
        others = frozenset[str]().union(*(words for other, words in left.items() if other != place))
        if left[place] <= others:
            del left[place]
    return [place for place in range(len(held)) if place not in left]


def _stems(text: str, lang: str) -> list[str]:
    return [stem(word) for word in content_words(text, lang)]
