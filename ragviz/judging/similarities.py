"""Inputs of metrics that need no judge: extractive banks, and cosines, the texts of many questions embedded at once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ragviz.core.reply_cache import Cache
from ragviz.core.verdict import Bank, BankItem, EvaluatedAnswer
from ragviz.judging import banks, texts
from ragviz.judging.banks import MOST
from ragviz.judging.planning import Input, Plan
from ragviz.judging.step import State
from ragviz.targets.citations import without_marks
from ragviz.text import keyphrases, language, segmentation, words
from ragviz.text.keyphrases import Phrase

COSINES: frozenset[Input] = frozenset(("cosines", "sentence cosines"))
"""Inputs that are computed from vectors."""


def with_similarities(
    evaluated_answers: Sequence[EvaluatedAnswer], states: Sequence[State], plan: Plan
) -> list[EvaluatedAnswer]:
    """Return the evaluated answers with extractive banks and cosines, as far as the plan needs them."""
    result = list(evaluated_answers)
    if "key phrases" in plan.inputs:
        banks = extractive_banks(
            [j.question.answer for j in evaluated_answers if j.question.kind != "unanswerable"], plan.banks
        )
        for place, evaluated in enumerate(result):
            bank = banks.get(evaluated.question.answer)
            if bank is not None and evaluated.recording.status == "answered":
                answers = extractive_answers(bank, without_marks(evaluated.recording.answer))
                result[place] = replace(evaluated, extractive_bank=bank, extractive_bank_answers=answers)
    if plan.embedder is None or not COSINES & plan.inputs:
        return result
    sentences = "sentence cosines" in plan.inputs
    contexts = [list(state.context.values()) if sentences else [] for state in states]
    unique_texts = dict.fromkeys(
        text
        for evaluated, context in zip(result, contexts, strict=True)
        for text in _texts_to_embed(evaluated, context)
    )
    vectors = (
        dict(zip(unique_texts, plan.embedder.embed(list(unique_texts), "passage"), strict=True)) if unique_texts else {}
    )
    return [_with_cosines(evaluated, context, vectors) for evaluated, context in zip(result, contexts, strict=True)]


def _texts_to_embed(evaluated: EvaluatedAnswer, context: Sequence[str]) -> Iterator[str]:
    """Yield the texts whose embeddings the similarity metrics of an answer need; none unless it is answered."""
    answer = without_marks(evaluated.recording.answer)
    if evaluated.recording.status != "answered" or not answer.strip():
        return
    yield from (text for text in (evaluated.question.query, answer, evaluated.question.answer) if text.strip())
    yield from evaluated.asked_back or ()
    if context:
        yield from _sentences(answer)
        for text in context:
            yield from _sentences(text)


def _with_cosines(evaluated: EvaluatedAnswer, context: Sequence[str], vectors: Mapping[str, Any]) -> EvaluatedAnswer:
    answer = without_marks(evaluated.recording.answer)
    if answer not in vectors or evaluated.recording.status != "answered":
        return evaluated
    reference, question = vectors.get(evaluated.question.answer), vectors.get(evaluated.question.query)
    back = [float(_cosines(vectors[text], question)) for text in evaluated.asked_back or () if question is not None]
    answer_vectors = [vectors[text] for text in _sentences(answer)] if context else []
    context_vectors = [vectors[text] for chunk in context for text in _sentences(chunk)]
    best = None
    if answer_vectors and context_vectors:
        best = _cosines(np.array(answer_vectors), np.array(context_vectors).T).max(axis=1).tolist()
    return replace(
        evaluated,
        similarity=float(_cosines(vectors[answer], reference)) if reference is not None else None,
        asked_back_similarity=tuple(back) if evaluated.asked_back is not None else None,
        sentence_similarity=tuple(map(float, best)) if best is not None else None,
    )


def _cosines(vectors: Any, others: Any) -> Any:
    """Return the cosines of vectors; what is a rounding of float32 away from 1, as for equal texts, is 1."""
    cosines = vectors @ others
    return np.where(cosines > 1 - 1e-6, 1.0, cosines)


@lru_cache(maxsize=1024)
def _sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text without its marks; those without a letter or digit are left out."""
    plain = without_marks(text)
    sentences = (plain[start:end] for start, end in texts.sentences_of(plain))
    return tuple(sentence for sentence in sentences if any(character.isalnum() for character in sentence))


EXTRACTIVE_VERSION = "1"
"""Version of how a bank is made, and answered, without a model."""

BLANK = "____"
"""Replaces the answer in a question."""

_WHOLE = {"en": "What is the answer?", "zh": "答案是什么？"}
_CONTEXT = 160
"""Characters of a sentence that are shown on each side of the blank."""


def made_banks(references: Sequence[str], language: str) -> list[Bank]:
    """Return the bank of the key phrases of each reference: each question is a sentence with the phrase blanked.

    At most `MOST` phrases in the order of the text, none twice; when there are more, noun phrases are left out before
    entities, dates and numbers, and later ones before earlier ones. A reference answers every question of its bank.
    """
    texts = [segmentation.read(reference).text for reference in references]
    found = keyphrases.key_phrases(texts, language)
    return [_bank(text, language, phrases) for text, phrases in zip(texts, found, strict=True)]


def _bank(text: str, language: str, found: Sequence[Phrase]) -> Bank:
    searched = _Text(text, language)
    phrases: dict[tuple[str, ...], Phrase] = {}
    for phrase in found:
        if searched.holds(phrase.text):
            phrases.setdefault(_units(phrase.text), phrase)
    chosen = sorted(phrases.values(), key=lambda phrase: (phrase.kind == "noun", phrase.start))[:MOST]
    sentences = segmentation.sentences(text, language)
    items = []
    for phrase in sorted(chosen, key=lambda phrase: phrase.start):
        key = " ".join(phrase.text.split())
        items.append(BankItem(key, _cloze(phrase, text, sentences, language), key))
    return Bank(tuple(items), language, "extractive", EXTRACTIVE_VERSION)


def extractive_banks(references: Sequence[str], cache: Cache) -> dict[str, Bank]:
    """Return the extractive bank of each reference that is not blank, from the cache or made and cached."""
    keys = {reference: banks.bank_key("extractive", reference) for reference in references if reference.strip()}
    bodies = cache.get_many(list(keys.values()))
    cached = {reference: banks.read_bank(bodies[key]) for reference, key in keys.items() if key in bodies}
    by_language: dict[str, list[str]] = {}
    for reference in keys:
        if reference not in cached:
            by_language.setdefault(language.detect(reference), []).append(reference)
    new = dict[str, Bank]()
    for code, those in by_language.items():
        new |= zip(those, made_banks(those, code), strict=True)
    if new:
        cache.put_many({keys[reference]: banks.bank_bytes(bank) for reference, bank in new.items()})
    return cached | new


def _cloze(phrase: Phrase, text: str, sentences: Sequence[tuple[int, int]], language: str) -> str:
    """Return the sentence around a phrase with a blank wherever the phrase occurs in it."""
    touched = [(s, e) for s, e in sentences if s < phrase.end and phrase.start < e] or [(phrase.start, phrase.end)]
    start, end = min(touched[0][0], phrase.start), max(touched[-1][1], phrase.end)
    pattern = re.escape(phrase.text)
    if language not in ("zh", "ja", "th"):
        pattern = rf"(?<!\w){pattern}(?!\w)"
    before, after = (re.sub(pattern, BLANK, text[s:e]) for s, e in ((start, phrase.start), (phrase.end, end)))
    if not any(c.isalnum() for c in before + after):
        return _WHOLE[banks.language_of_prompt(language)]
    if len(before) > _CONTEXT:  # from the beginning of a word, to the end of one, where a blank shows it
        before = before[-_CONTEXT:]
        before = "… " + before[before.find(" ", 0, 20) + 1 :]
    if len(after) > _CONTEXT:
        after = after[: max(after.rfind(" ", _CONTEXT - 20, _CONTEXT), 0) or _CONTEXT] + " …"
    return " ".join(f"{before}{BLANK}{after}".split())


def extractive_answers(bank: Bank, text: str) -> tuple[str | None, ...]:
    """Return the key phrase of each item of an extractive `bank` that occurs in `text` as whole words, else None.

    "1,000" equals "1000", full-width forms equal the usual ones; capitals and punctuation are ignored. But 5 does not
    occur in 3.5, nor 市长 in 南京市长江大桥.
    """
    searched = _Text(segmentation.read(text).text, bank.language)
    return tuple(item.answer if item.answer and searched.holds(item.answer) else None for item in bank.items)


_ALONE = "\u0e00-\u0e7f\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNIT = re.compile(
    rf"[{_ALONE}]|[%‰$€£¥°]|\d+(?:\.\d+)*"
    rf"|(?:(?![{_ALONE}])[^\W\d_])+(?:\d+(?:\.\d+)*)?(?:[+#]+(?![^\W_]))?"  # tower, b12, c++
)
_IDEOGRAPH = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_INITIALS = re.compile(r"\b(?:[a-z]\.)+[a-z]\b")
_PLACE_ENDINGS = "市省县区州镇村"


def _folded(text: str) -> str:
    """Return the normal form of `text`: NFKC, lower case, 1,000 as 1000, U.S. as us."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), text)
    return _INITIALS.sub(lambda initials: initials.group().replace(".", ""), text)


def _units(text: str) -> tuple[str, ...]:
    """Return words, numbers and symbols; Chinese, Japanese and Thai character by character."""
    return tuple(_UNIT.findall(_folded(text)))


class _Text:
    """A text in which phrases are looked up."""

    def __init__(self, text: str, language: str) -> None:
        self.language = language
        self._folded = _folded(text)
        self._units = list(_units(text))
        self._places = [unit.span() for unit in _UNIT.finditer(self._folded)]

    def holds(self, phrase: str) -> bool:
        """Return whether the phrase occurs as a run of whole words."""
        phrase_units = list(_units(phrase))
        size = len(phrase_units)
        for at, unit in enumerate(self._units if size else ()):
            if unit == phrase_units[0] and self._units[at : at + size] == phrase_units:
                start, end = self._places[at][0], self._places[at + size - 1][1]
                # Only in Chinese the characters do not show whether the ends are ends of words.
                if self.language != "zh" or all(self._separates(each, start, end) for each in (start, end)):
                    return True
        return False

    def _separates(self, at: int, start: int, end: int) -> bool:
        """Return whether `at` is not inside a word, or where a word splits into two.

        jieba cuts the same characters in more ways than one (长江 / 长江大桥), so a word may be split: when the rest
        of it, outside of [start, end), is a word of two or more characters, or the ending of a place's name.
        """
        word = next(((s, e) for s, e in self._words if s < at < e), None)
        if word is None:
            return True
        rest = self._folded[word[0] : at] if at == start else self._folded[at : word[1]]
        if len(rest) == 1:
            return at == end and rest in _PLACE_ENDINGS
        return words.tokens(rest, "zh") == [rest]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        ranges, at = [], 0
        for word in words.tokens(self._folded, "zh"):
            start = self._folded.find(word, at)
            if start >= 0:
                at = start + len(word)
                if len(word) > 1 and all(map(_IDEOGRAPH.match, word)):
                    ranges.append((start, at))
        return ranges
