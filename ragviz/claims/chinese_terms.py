"""What Chinese sentences say things are: definitions, names, what is first or greatest, and the members of a series."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragviz.claims import candidate
from ragviz.claims.chinese_quantities import ONE
from ragviz.claims.chinese_sentence import (
    CONTINUES,
    LONGEST_ANSWER,
    NOUN_PHRASE,
    PERSON,
    Draft,
    Sentence,
    goes_on,
    in_place,
    is_circumstance,
    is_person,
    subject_of,
)
from ragviz.claims.chinese_words import frequency, quantity


def copulas(sentence: Sentence) -> Iterator[Draft]:
    """Ask what or who "A的B" is, what defines a term, and what is the first or greatest."""
    for clause, (first, last) in enumerate(sentence.clauses):
        letters = sentence.codes[first:last]
        match = re.fullmatch(rf"(?P<subject>{NOUN_PHRASE})(?P<copula>B)(?P<rest>[^B]+)", letters)
        if not match or is_circumstance(sentence, clause):
            continue  # "当参数是 all 时" says when
        start, end = first + match.start("subject"), first + match.end("subject")
        at = first + match.start("copula")
        subject, rest = sentence.between(start, end), sentence.between(at + 1, last)
        copula = sentence.words[at].text
        predicate = sentence.codes[at + 1 : last]
        if (
            rest.startswith("指")
            or predicate[-1] not in "NMT"
            or re.search("[,:ZO]", predicate)
            or CONTINUES.match(rest)
            or subject in rest
        ):
            continue
        if "V" in re.sub(".*U", "", predicate) and not re.search("N$", predicate):
            continue
        plain = last == at + 2 and sentence.words[at + 1].tag == "n" and frequency(rest) > _USUAL
        if plain or rest.startswith("最") or letters[0] == "M" or (letters[0] == "V" and copula == "为"):
            continue  # "检查信息是最好的方法" says how good it is; "一个系统是X" that there is one
        alone = last == len(sentence.words) or clause == len(sentence.clauses) - 1
        # what follows says more of it: "rsync 是一个复制文件的工具，可以…"
        alone = alone or (clause == 0 and match["subject"] == "N" and sentence.words[start].tag in ("eng", "nw", "nz"))
        yield from _unique(sentence, subject, rest, predicate)
        if is_person(rest) and _is_name(sentence, start, end) and "之一" not in rest and "M" not in predicate:
            yield Draft(f"{rest}是谁？", subject, "fact", 7.5, rest, "")
        owned = re.search(r"U[NA]*N$", match["subject"])
        head = sentence.between(start + owned.start() + 1, end) if owned else ""
        # "屏幕是80列宽" says how wide; "园艺系的茶艺专业是特色专业" of what kind
        told = len(head) > 1 and predicate[0] != "M" and len(rest) <= 24 and not rest.endswith(head[-2:])
        if told and head not in _MANIFOLD and copula in ("是", "为") and re.fullmatch(r"[NAMKCU]*N", predicate):
            wh = "谁" if PERSON.search(head) and _is_name(sentence, at + 1, last) else "什么"
            yield Draft(f"{subject}是{wh}？", rest, "fact", 7.5, subject, head)
        judged = re.fullmatch("M[DA]+U?N", predicate) and sentence.words[last - 1].text in _JUDGING
        defines = alone and copula == "是" and not owned and not judged and re.match("M.*U", predicate)
        if defines and len(rest) >= 6 and len(subject) > 1 and sentence.words[at + 1].text.startswith("一"):
            yield Draft(f"{subject}是什么？", rest, "definition", 7.0, subject, "定义")


_USUAL = 500
"""Occurrences in jieba's texts above which a noun alone tells nothing: "目标"."""
_JUDGING = candidate.word_set(
    "问题 事情 事 工作 过程 任务 挑战 话题 主题 选择 决定 想法 主意 经历 目标 领域 东西 项目 现象 情况 难题 阶段"
)
"""Nouns that with an adjective alone say how something is, and not what: "一个相当复杂的问题"."""
_MANIFOLD = candidate.word_set("属性 特点 特性 特征 优点 缺点 优势 问题 例子 部分 内容 情况 结果 方面 信息 东西")
"""What a thing has many of, so that the one that is named is not the only answer."""
_FIRST = re.compile("第一[个座条部家次所届位名]?|首[个座条部家次所届位]|最(?!后|近|初|终)[\u4e00-\u9fff]|唯一|仅有")


def _unique(sentence: Sentence, subject: str, rest: str, predicate: str) -> Iterator[Draft]:
    """Ask for what "X是Y最大的Z" says: "Y最大的Z是什么？"."""
    if (
        not _FIRST.search(rest)
        or len(rest) < 6
        or "之一" in rest
        or not re.search("N$", predicate)
        or len(subject) > 20
        or (predicate.startswith("V") and "U" not in predicate)  # "目标是确保…最小化"
    ):
        return
    head = sentence.words[-1].text if rest.endswith(sentence.words[-1].text) else rest[-2:]
    wh = "谁" if PERSON.search(head) else "什么"
    yield Draft(f"{rest}是{wh}？", subject, "fact", 7.5, rest, "")


def _is_name(sentence: Sentence, first: int, last: int) -> bool:
    return last - first <= 3 and all(word.tag[:2] in ("nr", "nz", "ns", "en") for word in sentence.words[first:last])


_DEFINES = re.compile(r"^(?:所谓)?(?P<term>[^，,]{2,24}?)(?:，)?(?:指的是|是指|系指|，指|即指)\s*(?P<meaning>\S.{5,})$")
_CALLED = re.compile(
    r"^(?P<term>[^，,]{2,20}?)，?(?P<as>又称为?|又叫|亦称为?|也称为?|也叫做?|简称为?|俗称|别名为?|原名为?|旧称|英文名为?|全称为?|缩写为?)"
    r"[：:]?(?P<name>[“《「]?[^，,、；]{2,20}[”》」]?)(?=$|，)"
)


def definitions(sentence: Sentence) -> Iterator[Draft]:
    """Ask what a term means, and what else something is called."""
    if match := _DEFINES.match(sentence.text):
        term = match["term"].removesuffix("，")
        whole = _nominal(sentence, 0, len(match["term"])) and sentence.codes[0] not in "AM"  # "每个文件是指…"
        parted = any(word.start == match.start("meaning") for word in sentence.words)  # "是指向…": "是" and "指向"
        if whole and parted and len(match["meaning"]) <= LONGEST_ANSWER:
            yield Draft(f"{term}是指什么？", match["meaning"], "definition", 9.0, term.strip("“”"), "定义")
    if (match := _CALLED.match(sentence.text)) and _nominal(sentence, 0, len(match["term"])):
        how = match["as"].removesuffix("为")
        how = how + "什么"
        yield Draft(f"{match['term']}{how}？", match["name"], "definition", 8.0, match["term"], match["as"])


def _nominal(sentence: Sentence, start: int, end: int) -> bool:
    """Return whether the characters [start, end) are a noun phrase."""
    inside = [place for place, word in enumerate(sentence.words) if start <= word.start and word.end <= end]
    if not inside:
        return False
    letters = sentence.codes[inside[0] : inside[-1] + 1]
    return bool(re.fullmatch(rf"{NOUN_PHRASE}|[NA]*VN?", letters))


HOLDS = candidate.word_set("包括 包含 分为 涵盖 分成 含有 设有 拥有 支持 提供 生产 销售 种植 出土 收录 覆盖 涉及 由 有")


def series(sentence: Sentence) -> Iterator[Draft]:
    """Ask for all members of a series: "支持哪三种工作模式？", "包括哪些农产品？"."""
    for clause, (first, last) in enumerate(sentence.clauses):
        letters = sentence.codes[first:last]
        if letters.count("K") + letters.count("C") < 1 or not re.search("K|C", letters):
            continue
        yield from _counted_series(sentence, clause, first, last)
        if letters.count("K") < 1:
            continue
        yield from _parts(sentence, clause, first, last)
        yield from _named_series(sentence, clause, first, last)
        verb = next((n for n in range(first, last) if sentence.words[n].text in HOLDS and n > first), None)
        if verb is None or goes_on(sentence, clause) or not _is_series(sentence.codes[verb + 1 : last]):
            continue
        items = sentence.between(verb + 1, last)
        start = sentence.clauses[clause][0]
        subject = re.fullmatch(rf"(?:T|D)*({NOUN_PHRASE}|N+A)F?[DZB]*", sentence.codes[start:verb])  # "等级": an "A"
        text = sentence.words[verb].text
        if subject is None or (text == "由"):
            continue
        name = sentence.between(start + subject.start(1), start + subject.end(1))
        wh = (
            "哪些"
            if text in ("有", "含有", "分为", "分成")
            else "哪些内容"
            if text in ("包括", "包含", "涵盖")
            else "什么"
        )
        if (text in ("有", "包括", "包含")) and re.search("U[NA]*N$", subject[1]):
            wh = "哪些"
        yield Draft(f"{sentence.between(start, verb)}{text}{wh}？", items, "list", 7.5, name, "")


def _is_series(letters: str) -> bool:
    """Return whether codes are those of a series to the end of its clause, which no number closes.

    Between "U" and "K" stands no noun: "良好的、不变的内容" is one thing.
    """
    closed = re.search(r"[KC][^KC]+M[NA]*$", letters)
    whole = re.fullmatch(r"L?[NAMUVKFI]+(?:[CE][NAMUVFI]+)?E?", letters)
    return bool(whole) and not closed and "K" in letters and letters[-1] in "NVIE" and "UK" not in letters


def _parts(sentence: Sentence, clause: int, first: int, last: int) -> Iterator[Draft]:
    """Ask for the parts of a whole: "灌溉系统由哪些部分组成？", "编号由哪三部分组成？"."""
    match = re.fullmatch(
        rf"(?P<who>(?:[TD])*{NOUN_PHRASE})[DZ]*(?P<of>P)(?P<items>[NAI]+(?:K[NAI]+)+(?:C[NAI]+)?E?)(?P<count>M[NA])?V",
        sentence.codes[first:last],
    )
    if not match or sentence.words[first + match.start("of")].text != "由":
        return
    start, end = first + match.start("items"), first + match.end("items")
    if sentence.words[last - 1].text not in ("组成", "构成") or goes_on(sentence, clause):
        return
    counted = sentence.between(first + match.start("count"), last - 1) if match["count"] else ""
    items = sentence.between(start, end)
    which = f"哪{counted}" if counted else "什么" if is_person(items) else "哪些部分"
    if counted and not counted.endswith(("部分", "部件", "要素", "成分", "单元")):
        return
    if question := in_place(sentence, clause, start, last - 1, which):
        yield Draft(question, items, "list", 8.0, subject_of(sentence, clause), "组成")


def _named_series(sentence: Sentence, clause: int, first: int, last: int) -> Iterator[Draft]:
    """Ask for what a clause names of a kind that the one before it ends with: "多种乐器，包括编钟和古琴"."""
    match = re.match("(?:D?B|V)", sentence.codes[first:last]) if clause else None
    named = sentence.between(first, first + match.end()) if match else ""
    if named not in ("包括", "包含", "分别是", "分别为", "即") or goes_on(sentence, clause):
        return
    left, right = sentence.clauses[clause - 1]
    kind = re.search("[NVL](?P<count>M)(?P<kind>[NAI]*[NI])$", sentence.codes[left:right])
    begins = first + match.end() if match else first
    if not kind or not _is_series(sentence.codes[begins:last]) or not subject_of(sentence, clause - 1):
        return
    count = left + kind.start("count")
    parts, word = quantity(sentence.words[count]), sentence.words[count].text
    items = sentence.between(begins, last)
    if parts is None or parts.number in ONE:
        if not _SEVERAL.fullmatch(word):
            return
    elif parts.unit not in _COUNTED:
        return
    which = "哪些" if named in ("包括", "包含") or _SEVERAL.fullmatch(word) else f"哪{word}"
    noun = sentence.between(count + 1, right)
    if question := in_place(sentence, clause - 1, count, right, f"{which}{noun}"):
        yield Draft(question, items, "list", 8.0, subject_of(sentence, clause - 1), noun)


_SEVERAL = re.compile("[多几数各][种个类项门座件名位家所条款级]|[许很诸众]多|不少|若干")
_COUNTED = candidate.word_set("种 个 类 项 条 大 级 款 档 方面 座 位 名 所 家 部 门")


def _counted_series(sentence: Sentence, clause: int, first: int, last: int) -> Iterator[Draft]:
    """Ask for a series that its number and kind close: "自动、睡眠和强劲三种工作模式"."""
    letters = sentence.codes[first:last]
    match = re.search(
        r"(?<=[VZB])(?P<series>[NAVMUP]+?(?:K[NAVMUP]+?)*C[NAVMUP]+?E?)(?P<count>M)(?P<kind>[NA]*)$", letters
    )
    if not match:
        return
    start, count = first + match.start("series"), first + match.start("count")
    if match["series"][0] == "P" and "P" not in match["series"][1:]:
        start += 1
    parts = quantity(sentence.words[count])
    kind = sentence.between(count + 1, last)
    if (
        parts is None
        or parts.unit not in ("种", "个", "类", "项", "条", "大", "级", "款", "档", "方面")
        or parts.number in ONE
    ):
        return
    items = sentence.between(start, count).removesuffix("等")
    question = in_place(sentence, clause, start, last, f"哪{sentence.words[count].text}{kind}")
    if question and 1 + len(re.findall("、|和|与|以及|或", items)) >= 2:
        yield Draft(question, items, "list", 8.5, subject_of(sentence, clause), kind)
