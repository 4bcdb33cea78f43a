"""Words of a Chinese sentence for templates: jieba's, with dates, quantities, names and quotes as single words.

Every word has a code of one letter, so that grammar can be written as regular expressions over a sentence's codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragviz.claims import candidate
from ragviz.core.document import Word
from ragviz.text.words import load, parse

COUNTED = 60_101_967
"""The sum of the frequencies of the words in jieba's dictionary."""

DIGITS = "〇零一二两三四五六七八九十百千万亿"
_NUMBER = (
    rf"(?:\d(?:[\d,，]*\d)?(?:\.\d+)?(?:\s*[-–—~～至到]\s*\d[\d,]*(?:\.\d+)?)?[百千万亿]*|[{DIGITS}]+(?:点[{DIGITS}]+)?"
    rf"|[{DIGITS}]+[至到][{DIGITS}]+)"
)
UNIT = (
    "个(?:工作日|自然日|月|小时|星期|季度|百分点|字符|字节|汉字|学分)|平方公里|平方千米|平方米|立方米|公里|千米|厘米|毫米|微米"
    "|纳米|公斤|千克|毫克|毫升|小时|分钟|毫秒|微秒|星期|美元|欧元|日元|港元|英镑|人民币|字节|字符|公顷|海里|英里|英尺|英寸"
    "|摄氏度|工作日|季度|学分|人次|平米|赫兹|千瓦|兆瓦|伏|瓦|[个名人位次天日周月年秒元块角米克吨升度倍家条项种行页章节层级台辆"
    "架艘座只头匹株棵本部套件份张支颗枚届期岁票胜局场组队所间栋亩代门户对篇首字步笔批起盏幅码英磅分款类处]"
    "|°C|℃|[%％‰]|[KMGT]i?B(?![A-Za-z])|[KMG]bps|[kMG]?Hz|[kmcnμ]?m(?![A-Za-z])|m?[gsVAL](?![A-Za-z])|k?[gW](?![A-Za-z])"
    "|kWh|mAh|min|px|dB"
)
_QUANTITY = re.compile(rf"(?P<number>{_NUMBER})(?P<more>[多余几]?)\s*(?P<unit>{UNIT})|百分之[{DIGITS}\d.]+")
_DAY_PART = "(?:上午|中午|下午|晚上|早上|凌晨|夜间|傍晚|清晨|早晨|当晚)"
_HOUR = rf"(?:\d{{1,2}}|[{DIGITS}]{{1,3}})\s*"
_CLOCK = (
    rf"{_DAY_PART}?\s*(?:\d{{1,2}}\s*[:：]\s*\d{{2}}|{_HOUR}(?:点(?!之|以[上下]|数|的)(?:\d{{1,2}}\s*分|半|整)?|时(?:\d{{1,2}}\s*分|半|整))"
    rf"(?![{DIGITS}间]))|(?:{_DAY_PART}|(?<=[日号天]))\s*{_HOUR}时(?!间)"
)
"""A time of day: "时" after a number alone is "when it is": "宽度为零时"."""
_DATE = re.compile(
    r"(?:公元前?|民国)?(?:\d{4}|(?<=公元前)\d{1,4}|[〇零一二三四五六七八九]{4})\s*年(?:\s*(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*月"
    r"(?:\s*(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*[日号])?)?(?:初|底|中|末|[春夏秋冬]季?)?"
    r"|(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*月\s*(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s*[日号]"
    r"|(?<![\d个])\d{1,2}\s*月(?:份|底|初|中旬|上旬|下旬)?(?![\d内球亮])|公元前?\s*\d{1,4}\s*年|\d{1,2}\s*世纪(?:\s*\d0\s*年代)?(?:初|中叶|末)?|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    rf"|(?:周|星期|礼拜)[一二三四五六日天]|(?<!\d){_CLOCK}"
)
_INSIDE = r"[A-Za-z0-9_./+#@$:*-]"
_SPANS = (
    ("nw", re.compile('“[^“”]{1,40}”|「[^「」]{1,40}」|《[^《》]{1,40}》|『[^『』]{1,40}』|"[^"]{1,40}"')),
    ("t", _DATE),
    ("mo", re.compile(rf"第\s*(?:\d+|[{DIGITS}]+)\s*(?:[届次个种条章节项位名代任号层]|大(?!学))?")),
    ("m", _QUANTITY),
    (
        "eng",
        re.compile(
            rf"/?[A-Za-z_@$]{_INSIDE}*(?<![.:])(?: (?!(?:and|or) )[A-Za-z]{_INSIDE}*(?<![.:]))*"
            r"(?: \d+(?:\.\d+)*(?![\d年月日%]))?"
        ),
    ),
)

_MODAL = candidate.word_set(
    "必须 应该 应 应当 须 需 需要 可以 可 能 能够 会 要 请 不得 不能 不可 不应 不要 无需 无须 不必 不需 不许 不准"
    " 务必 必需 宜 不宜 得以"
)
_COPULA = candidate.word_set("是 为")
_JOINING = candidate.word_set("和 与 及 以及 或 或者 并 跟")
_ALL = candidate.word_set("每 各 每个 各个 每人 任何 所有 全部 一切 全体 其他 其它 其余 部分 多数 多")
_COMPARING = candidate.word_set(
    "大于 小于 多于 少于 高于 低于 等于 超过 不少于 不多于 不大于 不小于 不低于 不高于 不超过 不足"
)
_OFTEN = candidate.word_set("每年 每天 每月 每周 每次 每日 每晚 每季度 每小时 每分钟 每学期 每学年")
_MEMBERS = {"Z": _MODAL, "B": _COPULA, "C": _JOINING, "A": _ALL, "T": _OFTEN, "V": _COMPARING}
_PARTS = {"须": "v", "应": "v", "是": "v", "的": "uj", "由": "p", "在": "p"}
_RESULTS = candidate.word_set("好 完 掉 到 出 成 住 开 上 下 起 完成 完毕")
"""What follows a verb and says how it ends: "构造好"."""
_CODES = {"n": "N", "v": "V", "a": "A", "d": "D", "m": "M", "q": "M", "t": "T", "r": "R", "p": "P", "c": "O", "f": "F"}
_CODES |= {"vn": "N", "an": "N", "j": "N", "l": "N", "s": "N", "eng": "N", "b": "A", "z": "A", "ad": "A", "mo": "A"}
_CODES |= {"uj": "U", "ul": "L", "uz": "L", "ug": "L", "uv": "W", "ud": "W", "x": "X", "k": "N", "h": "A", "i": "I"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit as they stand; `unit` is "" of a share written "百分之…"."""

    number: str
    unit: str


def read(sentence: str) -> list[Word]:
    """Return the words of a sentence in order, as `words.parse` does, with what is one thing merged into one word.

    Tags are jieba's, and "nw": quoted, "mo": ordinal, "m": a quantity with its unit, "t": a date or time, "nr" also: a
    name of several parts.

    >>> [(word.text, word.tag) for word in read("罗伯特·莱恩在1886年买了3.5公斤“茶”。")][:4]
    [('罗伯特·莱恩', 'nr'), ('在', 'p'), ('1886年', 't'), ('买', 'v')]
    """
    words = parse([sentence], "zh")[0]
    taken: list[tuple[int, int, str]] = []
    for tag, pattern in _SPANS:
        for match in pattern.finditer(sentence):
            free = all(match.end() <= start or end <= match.start() for start, end, _ in taken)
            if free and _begins_word(words, match, tag):
                taken.append((*match.span(), tag))
    merged = list(_merged(sentence, words, sorted(taken)))
    return list(_compounds(sentence, list(_names(sentence, merged))))


def _begins_word(words: Sequence[Word], match: re.Match[str], tag: str) -> bool:
    """Return whether a span can be a word: one of Chinese digits only where jieba begins a number there."""
    text = match.group()
    if tag == "m" and any(match.end() in range(word.start + 1, word.end) for word in words):
        return False  # "2 支持": the unit is part of a word
    if tag not in ("m", "t") or text[0].isdigit() or text.startswith("百分之"):
        return True
    here = next((word for word in words if word.start == match.start()), None)
    if here is None or match.end() < here.end:
        return False
    return tag == "t" or here.tag[0] in "mt"


def _merged(sentence: str, words: Sequence[Word], spans: Sequence[tuple[int, int, str]]) -> Iterator[Word]:
    """Yield the spans as words, and the words between them; a word that crosses a span's edge is cut there."""
    place = 0
    for start, end, tag in [*spans, (len(sentence), len(sentence), "")]:
        for word in words:
            left, right = max(word.start, place), min(word.end, start)
            if left < right:
                yield Word(left, right, sentence[left:right], word.tag)
        if start < end:
            yield Word(start, end, sentence[start:end], tag)
        place = end


def _names(sentence: str, words: Sequence[Word]) -> Iterator[Word]:
    """Join the parts of a name that a dot separates."""
    pending: list[Word] = []
    for word in words:
        dotted = len(pending) > 1 and pending[-1].text in "·•・"
        if pending and not dotted and word.text not in "·•・":
            yield from _name(sentence, pending)
            pending = []
        pending.append(word)
    yield from _name(sentence, pending)


def _name(sentence: str, pending: Sequence[Word]) -> Iterator[Word]:
    if len(pending) < 3:
        yield from pending
    else:
        start, end = pending[0].start, pending[-1].end
        yield Word(start, end, sentence[start:end], "nr")


def _compounds(sentence: str, words: Sequence[Word]) -> Iterator[Word]:
    """Join "年" and "假" where no number precedes, which jieba's dictionary lacks, "不少" and "于"; part "部位于"."""
    place = 0
    while place < len(words):
        word, after = words[place], words[place + 1] if place + 1 < len(words) else None
        measure = word.tag in ("m", "q") and len(word.text) == 1 and word.text not in DIGITS and not word.text.isdigit()
        measure = measure and (place == 0 or words[place - 1].tag[0] not in "mr")
        if after and after.text == "于" and word.text.endswith("位") and len(word.text) > 1 and word.tag[0] == "n":
            yield Word(word.start, word.end - 1, word.text[:-1], "n")  # "部位" and "于": "部" and "位于"
            yield Word(word.end - 1, after.end, "位于", "v")
            place += 1
        elif len(word.text) == 2 and word.text[1] in _PARTS and word.tag[0] in "nva" and not frequency(word.text):
            yield Word(word.start, word.end - 1, word.text[0], "n")  # "证须", "单的": words that jieba guesses
            yield Word(word.end - 1, word.end, word.text[1], _PARTS[word.text[1]])
        elif after and word.text.endswith("字") and after.text == "段" and word.text in ("字", "名字"):
            if word.text == "名字":
                yield Word(word.start, word.end - 1, "名", "n")
            yield Word(word.end - 1, after.end, "字段", "n")  # which jieba's dictionary lacks
            place += 1
        elif after and after.text == "于" and word.text in ("不少", "不多", "不大", "不小", "不低", "不高"):
            yield Word(word.start, after.end, word.text + "于", "v")
            place += 1
        elif after and measure and len(after.text) == 1 and after.tag[0] in "nav" and after.start == word.end:
            yield Word(word.start, after.end, sentence[word.start : after.end], "n")
            place += 1
        else:
            yield word
        place += 1


def codes(words: Sequence[Word]) -> str:
    """Return one letter for each word.

    N noun, V verb, A adjective or determiner, D adverb, M quantity, T time, R pronoun, P preposition, F localiser,
    B copula, Z modal, U 的, L 了着过, W 地得, C 和与或, O other conjunction, K 、 "," end of a clause, ":" colon,
    E 等, I idiom, X others.
    """
    letters = [_code(word) for word in words]
    for place, word in enumerate(words):
        if place and word.text in _RESULTS and letters[place - 1] == "V":
            letters[place] = "L"
        if word.text == "为" and (place == 0 or letters[place - 1] not in "NUFAVZDT"):
            letters[place] = "P"
    return "".join(letters)


def _code(word: Word) -> str:
    text, tag = word.text, word.tag
    if text in "，,；;。！!？?":
        return ","
    if text in "：:":
        return ":"
    if text == "、":
        return "K"
    if text in ("等", "等等"):
        return "E"
    if code := next((code for code, members in _MEMBERS.items() if text in members), ""):
        return code
    if text in ("之", "的"):
        return "U"
    if tag == "r" and re.fullmatch("每[亩人户台套件平间位名辆元克吨升米]|每平方米", text):
        return "T"
    if text in ("周期", "合同"):  # a time and an adjective by jieba's dictionary
        return "N"
    if tag == "t" and text in ("当代", "现代", "近代", "古代"):
        return "A"
    return _CODES.get(tag) or _CODES.get(tag[:1], "X")


def quantity(word: Word) -> Quantity | None:
    """Return the parts of a word that is a quantity, else None."""
    if word.tag != "m" or not (match := _QUANTITY.fullmatch(word.text)):
        return None
    if match["unit"] is None:
        return Quantity(word.text, "")
    return Quantity(match["number"] + match["more"], match["unit"])


def frequency(word: str) -> int:
    """Return how often a word stood in the texts that jieba's dictionary was counted in, 0 of one that it lacks."""
    load(("zh",))
    import jieba

    return int(jieba.dt.FREQ.get(word) or 0)
