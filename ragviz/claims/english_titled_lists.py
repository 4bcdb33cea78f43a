"""Questions about English lists that no sentence introduces, from the heading that they stand under."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragviz.claims.english_topics import Title
from ragviz.claims.sections import Section
from ragviz.core.question import QuestionType

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_INTERROGATIVE = re.compile(r"(?:What|Which|Who)\b[^?]*\?")
_POINTING = re.compile(
    r"\b(?:this|that|these|those|it|they|them|here|there|above|below|following|other)\b", re.IGNORECASE
)
_DETERMINED = re.compile(r"(?:some|any|other|all|each|every|no|our|your|my|their|its|more|most|\d+)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)
_LEAST_STEPS = 3
"""Steps of which one is asked for by its number."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, begun in lower case, with its answer; `words` are the lemmas that it holds."""

    question: str
    answer: str
    type: QuestionType
    words: frozenset[str]
    score: float


def repeated(parts: Sequence[Section]) -> frozenset[str]:
    """Return the titles that several sections of a document have."""
    counts = Counter(part.title for part in parts)
    return frozenset(title for title, count in counts.items() if count > 1)


def asked_of(
    title: str, named: Title, above: str, texts: Sequence[str], *, is_steps: bool, is_named: bool, has_keys: bool
) -> Iterator[Asked]:
    """Yield the questions of a list under a title.

    `title` is as it stands there, `named` as it stands in a question; `above` the title of the section around it where
    several sections have the same, else "". `texts` are the items as an answer holds them. The title
    `is_named` as its items are: nouns both. "What is listed …?" is not asked where the items have keys, which are asked
    about one by one.
    """
    answer = "; ".join(texts)
    under = f"“{named.text}”" + (f" within “{above}”" if above else "")
    words = named.words | frozenset(re.findall(r"\w+", above.lower()))
    if _POINTING.search(title) or "following" in title:
        return
    is_plural = is_named and named.is_plural and not above and not _DETERMINED.match(named.text)
    if is_steps and not is_plural:
        yield Asked(f"what are the steps under {under}?", answer, "list", words, 7.0)
        yield from _of_steps(under, words, texts)
    elif _INTERROGATIVE.fullmatch(title):
        if not above:
            yield Asked(title[:1].lower() + title[1:], answer, "list", words, 7.0)
    elif "?" not in title:
        if is_plural:
            yield Asked(f"what are the {_ARTICLE.sub('', named.phrase)}?", answer, "list", words, 7.0)
        elif not has_keys:
            yield Asked(f"what is listed under {under}?", answer, "list", words, 6.0)


def _of_steps(under: str, words: frozenset[str], texts: Sequence[str]) -> Iterator[Asked]:
    """Ask for the step in the middle by its number, and for the last one by the one before it.

    Of five or more, the second is asked for by the first, too.
    """
    if not _LEAST_STEPS <= len(texts) <= len(_ORDINALS) or len(set(texts)) < len(texts):
        return
    middle = len(texts) // 2
    yield Asked(f"what is the {_ORDINALS[middle]} step under {under}?", texts[middle], "fact", words, 5.0)
    for place in (len(texts) - 2, 0):
        is_new = place + 1 != middle and (place or len(texts) > 4)
        if is_new and "“" not in texts[place]:
            line = f"which step under {under} comes after “{texts[place]}”?"
            yield Asked(line, texts[place + 1], "fact", words, 5.0 if place else 4.5)
