"""Languages of texts: which one it is. English and Chinese are done fully."""

from __future__ import annotations

import re

from ragviz.records import Question

SAMPLE = 2000
"""Characters looked at by `detect` in each of three places: the beginning, the middle and the end."""

IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Script, the language it stands for, and how many of its letters make about one word, so that scripts can be compared.
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
    "": (re.compile("[A-Za-z\u00c0-\u024f]"), 5),  # Latin letters: which language is asked of its small words
}

_SMALL_WORDS = {
    "en": "the of and to in is for that with on are was by this it from at or what how which who when not be has have"
    " a as do no an i you my me we they their its if why where did does can will more would there about been were",
    "de": "der die das und ist nicht ein eine zu den mit von auf für im dem sich auch wie was wird werden des oder",
    "fr": "le la les et des est une du dans que pour qui sur pas au par ce sont avec ou il elle aux plus",
    "es": "el la los las y de que en un una es por con para del se no como más su al lo cuál qué",
    "it": "il la di che e un una per con non del della sono è gli nel anche si da le lo alla quale",
    "pt": "o a os as de que e um uma do da em para com não no na por mais é ao qual se dos das",
    "nl": "de het een en van is dat niet op te voor met zijn die aan door wordt ook bij naar wat hoe",
}
_PROFILES = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
_CODE = re.compile(r"https?://\S+|```.*?```|`[^`\n]*`|<[^>\n]*>", re.DOTALL)


def detect(text: str) -> str:
    """Tell the language of `text`: an ISO 639-1 code, or "und" when its letters and small words tell nothing.

    Told by script: zh, ja, ko, ru, uk, ar, fa, he, el, th, hi. Told by their commonest words: en, de, fr, es, it, pt,
    nl. Every other language of those scripts is taken for one of these, or is "und". A text is Chinese when at least a
    fifth of its words are, so Chinese documentation full of English code is Chinese. Reads at most 6,000 characters.

    >>> detect("What is the capital of France?"), detect("连接池 (connection pool) 的默认大小是多少？"), detect("42")
    ('en', 'zh', 'und')
    """
    sample = _CODE.sub(" ", _sample(text))
    words = _words_by_script(sample)
    total = sum(words.values())
    if total == 0:
        return "und"
    if words["zh"] + words["ja"] >= total / 5:
        # Japanese is written in ideographs and kana; a Chinese text has at most a stray kana.
        return "ja" if words["ja"] >= 0.15 * (words["zh"] + words["ja"]) else "zh"
    leading = max(words, key=words.__getitem__)
    if leading == "ru":
        return "uk" if re.search("[іїєґ]", sample) else "ru"
    if leading == "ar":
        return "fa" if re.search("[پچژگ]", sample) else "ar"
    return leading or _latin(sample)


def of_short(text: str, *known: str) -> str:
    """Tell the language of a text that may be too short to show it: a question, a name.

    Its script tells, or at least two small words of one language, more than of any other. A text in Latin letters with
    fewer is of the first language of `known` that is one ("" and "und" are none): "Los Angeles" is no Spanish. Without
    any it is what `detect` makes of it.

    >>> of_short("Los Angeles", "en"), of_short("Who is the king of the hill?", "de"), of_short("308", "und", "zh")
    ('en', 'en', 'zh')
    """
    sample = _CODE.sub(" ", _sample(text))
    told = detect(text)
    if told != "und" and (_shown_by_small_words(sample) or not _in_latin(sample)):
        return told
    return next((language for language in known if language not in ("", "und")), told)


def of_answers(question: Question) -> str:
    """Tell the language in which answers to `question` are compared with its reference, however short these are.

    The question's own; unless most of the reference is in a script that this language is not written in. A question
    that is marked with none has what its words show, else its evidence, else its reference. Where nothing tells, it is
    "en": the normalisation of SQuAD's evaluation.

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
    evidence = "\n".join(span.text for group in question.evidence for span in group)
    return of_short(question.text, of_short(evidence, of_short(reference, "en")))


_SCRIPT_OF = {"ja": "zh", "uk": "ru", "fa": "ar"}
"""Languages told apart within one script, of which a few words may lack what tells them."""

_NAMES = {"english": "en", "chinese": "zh", "英文": "en", "英语": "en", "中文": "zh", "汉语": "zh"}


def code(name: str) -> str:
    """The code of a language as a file may name it; "" when it names none.

    >>> code("en-US"), code("zh_Hans"), code(" Chinese "), code("?")
    ('en', 'zh', 'zh', '')
    """
    name = name.strip().lower()
    found = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9_-]+)?", name)
    return _NAMES.get(name) or (found[1] if found else "")


def _words_by_script(sample: str) -> dict[str, float]:
    """About how many words of `sample` each script writes."""
    return {name: len(letters.findall(sample)) / size for name, (letters, size) in _SCRIPTS.items()}


def _in_latin(sample: str) -> bool:
    """Tell whether no other script than Latin is written here, or none at all."""
    return not any(count for script, count in _words_by_script(sample).items() if script)


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE:
        return text
    middle = len(text) // 2
    return "\n".join((text[:SAMPLE], text[middle : middle + SAMPLE], text[-SAMPLE:]))


def _latin(sample: str) -> str:
    """Tell a language of Latin letters by its small words; English when it is as good as the best."""
    hits, words = _small_words(sample)
    best = max(hits, key=hits.__getitem__)
    return best if hits[best] > 0.02 * words else "und"


def _shown_by_small_words(sample: str) -> bool:
    """Tell whether two small words or more speak for one language, and more than for any other."""
    second, first = sorted(_small_words(sample)[0].values())[-2:]
    return first >= 2 and first > second


def _small_words(sample: str) -> tuple[dict[str, int], int]:
    """How many small words of each language there are, and how many words in all."""
    words = re.findall(r"[^\W\d_]+", sample.lower())
    return {language: sum(word in profile for word in words) for language, profile in _PROFILES.items()}, len(words)
