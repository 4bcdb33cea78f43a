"""The language of a text, detected by script and common words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from ragviz.core.question import Question

SAMPLE = 2000
"""Characters that `detect` reads in each of three places: the beginning, the middle and the end."""

NAMES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pt": "Portuguese", "ru": "Russian", "zh": "Chinese", "und": "–",
}  # fmt: skip
"""Code of a document's language → name; other codes are shown as they are."""

IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# A language's script, and how many of its letters make about one word, so that scripts can be compared.
_SCRIPTS: dict[str, tuple[re.Pattern[str], float]] = {
    "zh": (re.compile(f"[{IDEOGRAPH}]"), 1.6),
    "ja": (re.compile("[\u3041-\u30ff\uff66-\uff9f]"), 2.5),
    "ko": (re.compile("[\u1100-\u11ff\uac00-\ud7af]"), 2.5),
    "ru": (re.compile("[\u0400-\u04ff]"), 6),
    "ar": (re.compile("[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]"), 5),
    "he": (re.compile("[\u0590-\u05ff]"), 5),
    "el": (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), 6),
    "th": (re.compile("[\u0e00-\u0e7f]"), 5),
    "hi": (re.compile("[\u0900-\u097f]"), 4),
    "": (re.compile("[A-Za-z\u00c0-\u024f]"), 5),  # Latin letters: small words show which language
}

_SMALL_WORDS = {
    "en": "the of and to in is for that with on are was by this it from at or what how which who when not be has have"
    " a as do no an i you my me we they their its if why where did does can will more would there about been were",
    "de": "der die das und ist nicht ein eine zu den mit von auf für im dem sich auch wie was wird werden des oder"
    " wann wo wer warum welche",
    "fr": "le la les et des est une du dans que pour qui sur pas au par ce sont avec ou il elle aux plus",
    "es": "el la los las y de que en un una es por con para del se no como más su al lo cuál qué",
    "it": "il la di che e un una per con non del della sono è gli nel anche si da le lo alla quale",
    "pt": "o a os as de que e um uma do da em para com não no na por mais é ao qual se dos das",
    "nl": "de het een en van is dat niet op te voor met zijn die aan door wordt ook bij naar wat hoe",
}
_PROFILES = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
LATIN = frozenset(_SMALL_WORDS)
"""Detected languages that are written in Latin letters."""
DENSE = {"zh": 3, "ja": 3, "ko": 2}
"""How many characters of English say about as much as one of these languages; of others one."""
_CODE = re.compile(r"https?://\S+|```.*?```|`[^`\n]*`|<[^>\n]*>", re.DOTALL)


def detect(text: str) -> str:
    """Return the language of `text`: an ISO 639-1 code, or "und" when its letters and small words do not show it.

    Detected by script: zh, ja, ko, ru, uk, ar, fa, he, el, th, hi; by their commonest words: en, de, fr, es, it, pt,
    nl. Every other language of those scripts is reported as one of these, or as "und". A text is Chinese when at least
    a fifth of its words are, so Chinese documentation full of English code is Chinese; so is one of a twentieth whose
    Latin words make no sentences, such as a table of file types. Reads at most 6,000 characters.

    >>> detect("What is the capital of France?"), detect("连接池 (connection pool) 的默认大小是多少？"), detect("42")
    ('en', 'zh', 'und')
    """
    return _detected(_sample(text))


@lru_cache(maxsize=256)
def _detected(sample: str) -> str:
    """Return the language of a sample; kept, since every step of judging asks about the same few texts."""
    sample = _CODE.sub(" ", sample)
    words = _words_by_script(sample)
    total = sum(words.values())
    if total == 0:
        return "und"
    if words["zh"] + words["ja"] >= total / 5:
        # Japanese is written in ideographs and kana; a Chinese text has at most a stray kana.
        return "ja" if words["ja"] >= 0.15 * (words["zh"] + words["ja"]) else "zh"
    leading = max(words, key=words.__getitem__)
    if not leading and words["zh"] >= total / 20:
        latin = len(re.findall("[A-Za-z\u00c0-\u024f]+", sample))
        if max(_small_words(sample)[0].values()) < PROSE * latin:
            return "zh"  # the Latin letters are names, codes and media types
    if leading == "ru":
        return "uk" if re.search("[іїєґ]", sample) else "ru"
    if leading == "ar":
        return "fa" if re.search("[پچژگ]", sample) else "ar"
    if leading:
        return leading
    hits, count = _small_words(sample)  # of Latin letters; English wins ties
    best = max(hits, key=hits.__getitem__)
    return best if hits[best] > 0.02 * count else "und"


def of_short(text: str, *known: str) -> str:
    """Return the language of a text that may be too short to show it: a question, a name.

    Its script decides, or at least two small words of one language, more than of any other. A text in Latin letters
    with fewer is in the first language of `known` ("" and "und" are skipped): "Los Angeles" is not Spanish. Without
    any, `detect` decides.

    >>> of_short("Los Angeles", "en"), of_short("Who is the king of the hill?", "de"), of_short("308", "und", "zh")
    ('en', 'en', 'zh')
    """
    sample = _CODE.sub(" ", _sample(text))
    detected = detect(text)
    others = any(count for script, count in _words_by_script(sample).items() if script)
    second, first = sorted(_small_words(sample)[0].values())[-2:]
    if detected != "und" and (others or (first >= 2 and first > second)):
        return detected
    return next((language for language in known if language not in ("", "und")), detected)


def of_answers(question: Question) -> str:
    """Return the language in which answers to `question` are compared with its reference, however short these are.

    It is the question's, unless most of the reference is in a script that this language is not written in. A question
    without a language has the one its words show, else that of its evidence, else of its reference, else "en": the
    normalisation of SQuAD's evaluation.

    >>> of_answers(Question("q", "Who?", "Bible", (), "import", language="und"))
    'en'
    >>> of_answers(Question("q", "Which bridge is it?", "南京市长江大桥", (), "import", language="en"))
    'zh'
    """
    reference = question.answer
    marked = question.language if question.language != "und" else ""
    weights = _words_by_script(_CODE.sub(" ", _sample(reference)))
    leading = max(weights, key=weights.__getitem__) if any(weights.values()) else ""
    if leading and _SCRIPT_OF.get(marked, marked) != _SCRIPT_OF.get(leading, leading):
        return detect(reference)
    if marked:
        return marked
    evidence = "\n".join(span.text for span in question.spans)
    return of_short(question.text, of_short(evidence, of_short(reference, "en")))


_SCRIPT_OF = {"ja": "zh", "uk": "ru", "fa": "ar"}
"""Languages that share another's script, and whose short texts may lack their distinctive letters."""

_NAMES = {"english": "en", "chinese": "zh", "英文": "en", "英语": "en", "中文": "zh", "汉语": "zh"}


def code(name: str) -> str:
    """Return the code of a language as a file may name it; "" when it names none.

    >>> code("en-US"), code("zh_Hans"), code(" Chinese "), code("?")
    ('en', 'zh', 'zh', '')
    """
    name = name.strip().lower()
    match = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9_-]+)?", name)
    return _NAMES.get(name) or (match[1] if match else "")


def _words_by_script(sample: str) -> dict[str, float]:
    if sample.isascii():
        letters, size = _SCRIPTS[""]
        return dict.fromkeys(_SCRIPTS, 0.0) | {"": len(letters.findall(sample)) / size}
    return {name: len(letters.findall(sample)) / size for name, (letters, size) in _SCRIPTS.items()}


def _sample(text: str) -> str:
    middle = len(text) // 2
    parts = (text[:SAMPLE], text[middle : middle + SAMPLE], text[-SAMPLE:])
    return unicodedata.normalize("NFC", text if len(text) <= 3 * SAMPLE else "\n".join(parts))


PROSE = 0.15
"""Share of small words below which Latin letters are no sentences; in English prose it is above a third."""


def _small_words(sample: str) -> tuple[dict[str, int], int]:
    words = Counter(re.findall(r"[^\W\d_]+", sample.lower()))
    hits = {language: sum(words[word] for word in profile & words.keys()) for language, profile in _PROFILES.items()}
    return hits, words.total()
