"""Extractive answers, without a model: the sentences of the passages that share most with the question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from ragviz.core.question import Question
from ragviz.core.recording import Recording
from ragviz.targets import citations
from ragviz.text import language, segmentation
from ragviz.text.normal_form import FIXED_BLANKS, normal_form
from ragviz.text.words import STOP_WORDS, stem, tokens

SHARED = 2
"""Words of the question that a sentence must share to answer it (all, when the question has fewer).

On 250 unanswerable and 250 answerable questions of CLAP NQ, with the first three passages by BM25, 1 refuses 1 and 1, 2
refuses 66 and 28, 3 refuses 167 and 123, 4 refuses 217 and 204: none separates them well, 2 refuses few wrongly.
"""
GAIN = 0.15
"""Share of the question's weight that a second sentence must add to the first."""
LONGEST = 400
"""Characters: a longer “sentence” is a table or a list that lost its line breaks."""
VERSION = "5"
"""Version of the rule."""
_JOINED = re.compile(r"\w+(?:-+\w+)+")
_BY_DASH = re.compile(r"\b[^\W\d_]-|-")
_BLANKS = re.compile(rf"[^\S{FIXED_BLANKS}]+")
_RULE = re.compile(r"[|\s:-]*--[|\s:-]*")  # under a table's header


def extractive(question: Question, recording: Recording, lang: str) -> Recording:
    """Answer with the one or two sentences that share most with the question, word for word, each cited.

    A word weighs more the fewer sentences of the contexts hold it. Headings and questions are skipped; a table's row
    counts as a sentence. Refused, with a reason and without words, when no sentence shares `SHARED` words with the
    question, which is a weak test: what the documents do not say is often asked in their own words. `lang` is that of
    the question.
    """
    sentences: dict[str, frozenset[str]] = {}
    ranks: dict[str, int] = {}
    for rank, context in enumerate(recording.contexts, start=1):
        for sentence, words in _sentences(context.text, lang):
            sentences[sentence] = words
            ranks.setdefault(sentence, rank)  # a sentence occurs twice where chunks overlap
    question_words = _asked(question.query, lang, frozenset().union(*sentences.values()))
    picked = _best(question_words, sentences)
    recording = replace(recording, origin="extractive", version=VERSION)
    if picked:
        blank, stop = ("", "。") if lang == "zh" else (" ", ".")
        said = []
        for sentence in picked:  # its citation stands before its final mark, which is added where there is none
            end = re.search(r"[.!。！…]+[\"'”’」』)）]*$", sentence)
            body, mark = (sentence[: end.start()], end.group()) if end else (sentence, stop)
            said.append(f"{body}{blank}[{ranks[sentence]}]{mark}")
        cited = tuple(dict.fromkeys(ranks[sentence] for sentence in picked))
        return replace(recording, answer=blank.join(said), status="answered", citations=cited)
    needed = min(SHARED, len(question_words))
    why = f"no sentence shares {needed} words with the question" if needed else "the question names nothing"
    reason = why if recording.contexts else "there are no passages to answer from"
    return replace(recording, status="refused", reason=reason)


def _best(question_words: frozenset[str], sentences: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the sentence with most of the question's weight, and one that adds enough to it; ties: the earlier one."""
    counts = Counter(word for words in sentences.values() for word in words & question_words)
    weights = {word: math.log(1 + len(sentences) / (counts[word] + 0.5)) for word in question_words}
    needed = min(SHARED, len(question_words))
    candidates = [sentence for sentence, words in sentences.items() if len(words & question_words) >= needed]
    picked: list[str] = []
    left, enough = set(question_words), 0.0
    for _ in range(2):
        if not left or not candidates:
            break
        gains = {s: sum(weights[word] for word in sentences[s] & left) for s in candidates}
        best = max(gains, key=gains.__getitem__)
        if gains[best] <= enough:
            break
        picked.append(best)
        candidates.remove(best)
        left -= sentences[best]
        enough = GAIN * sum(weights.values())
    return picked


@lru_cache(maxsize=4096)
def _sentences(text: str, lang: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return sentences and table rows of a passage as they read, with their words; cached: passages recur."""
    read = segmentation.read(text)
    sentences = []
    for start, end in segmentation.sentences(text, language.detect(text)):
        first, last = read.within(start, end)
        line = _BLANKS.sub(" ", read.text[first:last])
        sentence = citations.without_citations(line).strip("| ").rstrip(" ,;:，、；：")
        before = text[text.rfind("\n", 0, start) + 1 : end].lstrip()
        following = text[end:].lstrip().split("\n", 1)[0]
        is_heading = before.startswith("#") or (before.startswith("|") and _RULE.fullmatch(following))
        if 0 < len(sentence) <= LONGEST and sentence[-1] not in "?？" and not is_heading:
            form = normal_form(sentence)  # words that dashes join also apart
            sentences.append((sentence, _content(form, lang) | _content(form.replace("-", " "), lang)))
    return tuple(sentences)


def _asked(query: str, lang: str, known: frozenset[str]) -> frozenset[str]:
    """Return the content words of a question: joined by dashes as in “e-mail” where `known` has them so, else apart."""
    form = _JOINED.sub(
        lambda match: match.group() if _content(match.group(), lang) <= known else _BY_DASH.sub(" ", match.group()),
        normal_form(query),
    )
    return _content(form, lang)


def _content(form: str, lang: str) -> frozenset[str]:
    """Return the words of a text without stop words, as far as its language has a list; English ones are stemmed."""
    words = [word for word in tokens(form, lang) if word not in STOP_WORDS.get(lang, ())]
    return frozenset(map(stem, words) if lang == "en" else words)
