"""Numbers with their units, and dates, of Chinese sentences, asked for where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragviz.claims import candidate
from ragviz.claims.chinese_sentence import PLACE, Draft, Sentence, in_place, is_circumstance, is_person, subject_of
from ragviz.claims.chinese_words import DIGITS, frequency, quantity

ONE = ("一", "1")
_COUNTED_BY = candidate.word_set(
    "个 种 条 项 名 位 件 些 样 部 本 张 只 座 块 类 家 场 届 次 份 组 款 下 道 门 篇 幅 首 层 把 代 步 点 分 盏"
    " 支 所 艘 架"
)
_BEFORE_ONE = re.compile("(?:[满足过存留有达为前少]|超过|不足|至少)$")
_LOOSE = candidate.word_set("角 处 把 代 下 对 点 分 部 所 起 笔 号 步 周 月")
"""Measures that are as often part of another word, after a Chinese digit."""
_BEGINS = re.compile(
    "(?:[^，]{1,16}，)?(?:超过|不到|不足|至少|约|近|大约|共|有|仅)?(?:多少[^，]{0,8}都|(?<!，)(?:多少|几|百分|哪|什))"
)
"""A question that begins with what it asks for, or asks which of what was spoken of: "两个都支持"."""
_FRONT = re.compile("(?:(?:^|[，、的在比以到即])[前后近头首]|最[后初近先]|公元前?|第|约合|即|距今)$")


def _is_part(sentence: Sentence, place: int, first: int, last: int) -> bool:
    """Return whether a quantity counts off ("前五年"), bounds another ("± 2 克") or is one of a series."""
    word = sentence.words[place]
    before, after = sentence.text[: word.start].rstrip(), sentence.text[word.end :].lstrip()
    if (
        _FRONT.search(before)
        or before.endswith(("±", "×", "+", "-", "称为", "叫做", "称作", "名为"))
        or after.startswith(("±", "×", "处"))
    ):
        return True
    if re.search("禁止|严禁|避免|防止|是指|系指|指的是", sentence.between(first, place)):
        return True
    if _only_qualifies(sentence, place, first, last):
        return True
    if re.match(rf"以[上下][\d{DIGITS}]", after) or re.search(rf"[\d{DIGITS}][^，]{{0,3}}以[上下]$", before):
        return True  # "五十元以上二百元以下"
    return bool(
        re.match("[NAU]*[KC][NAU]*M", sentence.codes[place + 1 : last])
        or re.search("M[NAU]*[KC][NAU]*$", sentence.codes[first:place])
    )


_COMPARES = candidate.word_set(
    "满 未满 超过 不足 不到 达 达到 大于 小于 多于 少于 高于 低于 不少于 不多于 不大于 不小于 不低于 不高于 不超过 长达"
)
"""Verbs before a measure that tells a noun apart: "超过三天的病假"."""


def _only_qualifies(sentence: Sentence, place: int, first: int, last: int) -> bool:
    """Return whether a quantity belongs to a noun or verb that nobody asks the number of, or to a name.

    "最外层的两个", "全部四个", "两次构建", "8 位数据流", "Ext3 个", "100%的自由软件", "两个主机之间", "A是8，次号是0".
    """
    word, letters = sentence.words[place], sentence.codes
    before, after = letters[first:place], letters[place + 1 : last]
    parts = quantity(word)
    unit = parts.unit if parts else ""
    if re.search("[A-Za-z]$", sentence.text[: word.start]) or "B" in after:
        return True
    if before[-1:] in ("U", "A") and unit in _COUNTED_BY:
        return True
    if re.match("P?[NAU]*F", after) and re.search("之间|中间", sentence.between(place, last)):
        return True
    if after.startswith("U"):
        told = place > first and sentence.words[place - 1].text in _COMPARES
        return not told or unit in ("%", "％", "")
    if word.text == "二次" or (unit in ("次", "遍", "回", "趟") and after.startswith("V")):
        return True
    if "B" in before and "V" in after:
        return True  # "理由是两个软件包使用…"
    if not before and unit in _COUNTED_BY:
        return True
    if (
        place > first
        and sentence.words[place - 1].text in ("有", "存在", "出现")
        and re.search("N[DPZ]*V[^U]*$", after)
    ):
        return True  # "存在两种进化枝与墓葬相关": of which something is said
    if unit == "层" and before.endswith("N"):
        return True
    return unit == "位" and after.startswith("N") and not is_person(sentence.between(place + 1, last))


def quantities(sentence: Sentence) -> Iterator[Draft]:
    """Ask for a number with its unit, or a date, where it stands."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first, last):
            word = sentence.words[place]
            wh = _how_much(sentence, place, first, last)
            if is_circumstance(sentence, clause) and (word.tag == "t" or PLACE.match(sentence.between(first, last))):
                continue
            if not wh or not _stands_alone(sentence, place, first, last) or _is_gapped(sentence, clause, place):
                continue
            if _is_anybody(sentence, clause, place) or _is_step(sentence, clause, place):
                continue
            question = in_place(sentence, clause, place, place + 1, wh)
            if question and (not _BEGINS.match(question) or word.tag == "t"):
                subject = subject_of(sentence, clause)
                score = 8.0 - 0.03 * len(question) + (0.5 if word.text[0].isdigit() else 0.0)
                yield Draft(question, word.text, "number", score, subject, _measured(sentence, first, place))


_USUAL = 2000
"""Occurrences in jieba's texts above which a noun alone names nothing in particular: "数据"."""


def _is_anybody(sentence: Sentence, clause: int, place: int) -> bool:
    """Return whether the subject is one usual noun, no person, and nothing else tells which: "数据存在两个磁盘上"."""
    subject = subject_of(sentence, clause, only=True)
    word = next((word for word in sentence.words if word.text == subject), None)
    if not word or is_person(subject) or sentence.words[place].tag == "t" or frequency(subject) <= _USUAL:
        return False
    inside = sentence.words[slice(*sentence.clauses[clause])]
    return not any(other.tag in ("eng", "nw", "ns", "nt", "nr", "nz") for other in inside)


def _is_step(sentence: Sentence, clause: int, place: int) -> bool:
    """Return whether a sentence begins with an act whose object a quantity counts: "键入两次之后", "检查两个点"."""
    first = sentence.clauses[clause][0]
    acts = bool(re.fullmatch("[DP]*V[VLDP]*|P", sentence.codes[first:place]))
    acts = acts or (place == first + 1 and sentence.words[first].tag == "vn")
    consequence = sentence.words[first].text in ("造成", "导致", "引起", "引发", "使得", "产生", "意味着")
    return consequence or (clause == 0 and acts and "Z" not in sentence.codes[: sentence.clauses[0][1]])


def _how_much(sentence: Sentence, place: int, first: int, last: int) -> str:
    """Return the question word for a quantity or date, "" where it is none that can be asked for."""
    word = sentence.words[place]
    text = word.text
    if word.tag == "t":
        return _when(text)
    parts = quantity(word)
    if parts is None or _is_part(sentence, place, first, last):
        return ""
    if not parts.unit or parts.unit in "%％":
        return "百分之多少"
    if parts.number in ONE and (parts.unit in _COUNTED_BY or not _BEFORE_ONE.search(sentence.between(first, place))):
        return ""
    if parts.number in ONE and re.search("[是成]$", sentence.between(first, place)):
        return ""  # "是一台织机": an article
    if parts.unit in _LOOSE and not parts.number[0].isdigit():
        return ""
    if re.fullmatch(r"[12]\d{3}", parts.number) and parts.unit in ("届", "级", "款", "版", "年"):
        return ""
    blank = " " if parts.unit[0].isascii() else ""
    return f"多少{blank}{parts.unit}"


def _when(text: str) -> str:
    if re.fullmatch(r"\d{4}\s*年", text):
        return "哪一年"
    if re.fullmatch(r"(?:周|星期|礼拜)[一二三四五六日天]", text):
        return f"{text[:-1]}几"
    if re.search(rf"\d\s*[:：]|[\d{DIGITS}]\s*[点时](?:$|\d|半|整)", text):
        return "几点"
    if re.search(r"月", text) and "年" not in text:
        return "几月几日" if re.search("[日号]$", text) else "几月"
    return "什么时候" if re.search(r"\d.*[年月日号/.-]|世纪", text) else ""


def _stands_alone(sentence: Sentence, place: int, first: int, last: int) -> bool:
    """Return whether a quantity is no part of a series, range, comparison of two, name or fraction."""
    before = sentence.words[place - 1] if place > first else None
    after = sentence.words[place + 1] if place + 1 < last else None
    for other in (before, after):
        if other is None:
            continue
        if other.text in "、/-–—~～至到×x*.和与或" or other.tag in ("mo",):
            return False
        if other.tag in ("m", "t", "q") and not (other.tag == "t" and sentence.words[place].tag == "m"):
            return False
    word = sentence.words[place]
    if re.search("[KC]P?[NAMVUT]+$", sentence.codes[first:place]):
        return False  # "自动、睡眠和强劲三种": the series is asked for
    if word.text.endswith("年") and word.text[0] in DIGITS and before is not None and before.tag[0] == "n":
        return False  # "武德四年"
    if word.tag == "t" and after is not None and after.text in ("至", "到", "-", "起", "间", "以来", "代"):
        return after.text in ("起",)
    return True


def _is_gapped(sentence: Sentence, clause: int, place: int) -> bool:
    """Return whether what is measured is left out after a quantity: "甲须提前三十天通知，乙须提前三天"."""
    first, last = sentence.clauses[clause]
    if not clause or place + 1 < last or place == first:
        return False
    before, start = sentence.words[place - 1].text, sentence.clauses[clause - 1]
    return any(
        sentence.words[at].text == before and sentence.codes[at + 1] == "M" and at + 2 < start[1]
        for at in range(start[0], start[1] - 1)
    )


def dates(sentence: Sentence) -> Iterator[Draft]:
    """Ask when a named subject did something: "1931年，沈砚之出版…" gives "沈砚之是哪一年出版…的？"."""
    if len(sentence.clauses) != 2 or sentence.codes[: sentence.clauses[1][0]] != "T,":
        return
    first, last = sentence.clauses[1]
    when, rest = sentence.words[0].text, sentence.codes[first:last]
    match = re.fullmatch(r"(?P<who>[NA]*N)(?P<how>(?:P[NA]*NF?)?)(?P<verb>V)(?P<what>(?:[NAMV]{0,6}N)?)", rest)
    wh = _when(when)
    if not match or not wh or sentence.words[first + match.start("verb")].text in ("有", "任", "是", "无"):
        return
    who = sentence.between(first, first + match.end("who"))
    done = sentence.between(first + match.end("who"), last)
    yield Draft(f"{who}是{wh}{done}的？", when, "number", 7.8, who, "")


def _measured(sentence: Sentence, first: int, place: int) -> str:
    """Return the noun before "为", "是", "达" and a quantity: what it measures; "" where there is none."""
    match = re.search(r"(?:^|U|[,])((?:[NA])*N)(?:[BDV]|P)*$", sentence.codes[first:place])
    return sentence.between(first + match.start(1), first + match.end(1)) if match else ""
