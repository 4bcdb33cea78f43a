"""Key phrases of a text: entities, noun phrases, dates and numbers, in English and Chinese."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ragviz.text import words
from ragviz.text.untrusted import without_surrogates
from ragviz.text.words import Tagged


@dataclass(frozen=True, slots=True)
class Phrase:
    """A piece of key information: `text` is [start, end) of the text it was found in.

    `kind` is "entity:LABEL" (PERSON, ORG, GPE, … as spaCy calls them), "date", "number" or "noun".
    """

    start: int
    end: int
    text: str
    kind: str


def key_phrases(texts: Sequence[str], language: str) -> list[list[Phrase]]:
    """Return entities, dates, numbers and noun phrases of each text, ordered by start, none overlapping another.

    "zh": jieba's parts of speech, neighbouring nouns joined, numbers with their units. "en" and "und": spaCy's small
    English model, noun phrases without their determiner; where an entity and a noun phrase overlap, the entity stays.
    Other languages have no model here: numbers, and runs of capitalised words ("noun").
    """
    if language in ("en", "und"):
        return list(map(_without_overlaps, texts, _english(texts)))
    if language == "zh":
        return [_without_overlaps(text, chain(_chinese_patterns(text), _chinese_nouns(text))) for text in texts]
    return [_without_overlaps(text, _capitalised(text)) for text in texts]


_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))  # Unicode's last is U+3000
_EDGES = _BLANKS + "*_#`|>[](){}<>\"'“”‘’,;:.!?~=\\、，。；：！？（）《》「」【】·•-–—"


def _without_overlaps(text: str, candidates: Iterable[Tagged]) -> list[Phrase]:
    """Trim the candidates, keep the earlier listed of two that overlap, and order them by start."""
    phrases: list[Phrase] = []
    starts: list[int] = []  # of `phrases`, for the bisection
    for start, end, kind in candidates:
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip(_EDGES))
        end -= len(piece) - len(piece.rstrip(_EDGES))
        if start >= end or "\n\n" in piece or not any(c.isalnum() for c in text[start:end]):
            continue
        at = bisect_right(starts, start)
        if (at and phrases[at - 1].end > start) or (at < len(phrases) and phrases[at].start < end):
            continue
        starts.insert(at, start)
        phrases.insert(at, Phrase(start, end, text[start:end], kind))
    return phrases


PIECE = 20_000
"""Characters given to spaCy at once: bounds its memory on long documents (its own limit is a million)."""

_NUMBER_LABELS = frozenset({"CARDINAL", "QUANTITY", "MONEY", "PERCENT", "ORDINAL"})
_DATE_LABELS = frozenset({"DATE", "TIME"})
_LEADING = frozenset({"DET", "PRON", "PUNCT", "SPACE", "SYM", "ADP", "CCONJ"})


def _english(texts: Sequence[str]) -> Iterator[list[Tagged]]:
    """Yield entities, then noun phrases, of each text, so that entities win."""
    cuts = [list(_pieces(text)) for text in texts]
    pieces = (text[start:end] for text, spans in zip(texts, cuts, strict=True) for start, end in spans)
    # Together, short texts take half the time.
    parsed = words.spacy().pipe(map(without_surrogates, pieces), batch_size=32, disable=["lemmatizer"])
    for spans in cuts:
        entities: list[Tagged] = []
        nouns: list[Tagged] = []
        for (offset, _), document in zip(spans, parsed, strict=False):
            for entity in document.ents:
                label = entity.label_
                kind = "number" if label in _NUMBER_LABELS else "date" if label in _DATE_LABELS else f"entity:{label}"
                entities.extend(_core(entity, offset, kind, {"DET"}))
            for phrase in document.noun_chunks:
                nouns.extend(_core(phrase, offset, "noun", _LEADING))
        yield entities + nouns


def _core(span: Any, offset: int, kind: str, leading: Container[str]) -> Iterator[Tagged]:
    """Yield a spaCy span without its `leading` words and a closing 's, unless nothing is left."""
    words = list(span)
    while words and (words[0].pos_ in leading or words[0].lower_ in ("the", "a", "an")):
        words.pop(0)
    while words and words[-1].tag_ == "POS":
        words.pop()
    if words:
        yield offset + words[0].idx, offset + words[-1].idx + len(words[-1]), kind


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Cut a long text at the last blank line, line or word before every `PIECE` characters."""
    start = 0
    while len(text) - start > PIECE:
        window = text[start : start + PIECE]
        cut = next((at for mark in ("\n\n", "\n", " ") if (at := window.rfind(mark)) > PIECE // 2), PIECE)
        yield start, start + cut
        start += cut
    if start < len(text):
        yield start, len(text)


_CHINESE_DIGITS = "〇零一二三四五六七八九十百千万亿两"
_CHINESE_DATE = re.compile(
    r"(?:公元前?|[上本]世纪|民国)?(?:\d{2,4}|[〇零一二三四五六七八九十]{2,4})\s*年"
    r"(?:\s*(?:\d{1,2}|[一二三四五六七八九十]{1,2})\s*月(?:份|\s*(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*[日号])?)?"
    r"|(?:\d{1,2}|[一二三四五六七八九十]{1,2})\s*月\s*(?:份|(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*[日号])"
    r"|\d{1,2}\s*世纪(?:\s*\d0\s*年代)?|(?<!\d)\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|(?<!\d)\d{1,2}[:：]\d{2}(?!\d)"
)
_UNIT = (
    "平方公里|平方千米|平方米|立方米|公里|千米|厘米|毫米|微米|纳米|公斤|千克|毫克|毫升|小时|分钟|毫秒|微秒|个月|星期|"
    "美元|欧元|日元|港元|英镑|人民币|字节|字符|公顷|海里|英里|英尺|摄氏度|工作日|[个名人位次天日周月年时分秒元块角米克吨升度倍家条项"
    "种行页章节层级台辆架艘座只头匹株棵本部套件份张支颗枚届期岁票胜局场组队所间栋亩代]|[KMGT]i?B|[kmcn]?m|kg|k?Hz|kW|ms|s"
)
_CHINESE_NUMBER = re.compile(
    rf"第?\d+(?:[,，]\d{{3}})*(?:\.\d+)?\s*(?:[%％‰℃]|(?:多|余)?(?:[十百千万亿]+)?(?:多|余)?(?:{_UNIT})?)"
    rf"|百分之[{_CHINESE_DIGITS}点\d]+|(?:第[{_CHINESE_DIGITS}]+|[{_CHINESE_DIGITS}]{{2,}})(?:多|余)?(?:{_UNIT})"
)


def _chinese_patterns(text: str) -> Iterator[Tagged]:
    for kind, pattern in (("date", _CHINESE_DATE), ("number", _CHINESE_NUMBER)):
        for match in pattern.finditer(text):
            yield match.start(), match.end(), kind


_CHINESE_ENTITIES = {"nr": "entity:PERSON", "ns": "entity:GPE", "nt": "entity:ORG", "nz": "entity:PROPER"}


def _chinese_nouns(text: str) -> Iterator[Tagged]:
    """Yield runs of neighbouring nouns: an entity when all its words are of that kind, else a noun phrase."""
    run: list[Tagged] = []
    for start, end, flag in [*words.chinese_words(text), (len(text), len(text), "x")]:
        nominal = flag[0] == "n" or flag in ("vn", "an", "eng")
        if run:
            between = text[run[-1][1] : start]  # English words may have a blank or hyphen between them
            is_joined = not between or (run[-1][2] == flag == "eng" and between in (" ", "-", "·"))
            if not (nominal and is_joined):
                yield from _phrase_of(run)
                run = []
        if nominal:
            run.append((start, end, flag))


def _phrase_of(run: list[Tagged]) -> Iterator[Tagged]:
    while run and run[-1][2] in ("vn", "an"):  # "建议", "服役": as likely the sentence's verb as the phrase's head
        run = run[:-1]
    kinds = {_CHINESE_ENTITIES.get(flag[:2], "noun") for _, _, flag in run}
    if run and run[-1][1] - run[0][0] > 1:  # a noun of one character ("人", "事") says too little
        yield run[0][0], run[-1][1], kinds.pop() if len(kinds) == 1 else "noun"


_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*\s?(?:%|‰|°C|€|\$)?")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w'’-]+(?:[ \t][^\W\d_a-z][\w'’-]+)*")


def _capitalised(text: str) -> Iterator[Tagged]:
    """Yield numbers, and runs of capitalised words, for languages without a model."""
    for match in _DIGITS.finditer(text):
        yield match.start(), match.end(), "number"
    for match in _CAPITALISED.finditer(text):
        if all(word[0].isupper() for word in match.group().split()):
            yield match.start(), match.end(), "noun"
