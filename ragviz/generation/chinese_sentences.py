"""Questions of Chinese sentences with a number, a date or a name: the word that asks stands where the answer stands."""

from __future__ import annotations

import re

from ragviz.generation.phrasing import Asked, Phrasing
from ragviz.text import words

_NUMBER = r"\d[\d,，.]*(?:\s?[–—~～至-]\s?\d[\d,.]*)?"
_UNIT = (
    "[多余]?(?:万|亿)?(?:个工作日|个自然日|个月|小时|分钟|平方米|平方公里|立方米|公里|千米|厘米|毫米|公斤|千克|人民币|美元|欧元|港元|[元天日年周页册本人名位次个张件份项条"
    "米克吨升度倍级层座台辆间所家种类套只支瓶箱期届轮门课分秒])"
)
_AMOUNT = re.compile(rf"(?P<n>{_NUMBER})(?P<u>{_UNIT})?(?P<p>[%％])?")
_DATE = re.compile(r"(?P<d>(?:公元)?\d{3,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月\d{1,2}[日号])(?!内|以)")
_CLOCK = re.compile(r"\d{1,2}[:：]\d{2}")
_OPENS = re.compile(
    "(?:其中|此外|另外|因此|所以|但|但是|而|而且|并|并且|同时|然后|接着|首先|其次|最后|例如|比如|如图|见|由于|因为|如果|若|如|当|虽然|尽管|为了|为|经|按|据|对于|在此|截至|目前"
    "|又|也|还|再|则|即|或|以及|和|与|不过|然而|否则|从而|于是|总之|第[一二三四五六])"
)
_REFERS = re.compile(
    "[它其该此这那您你我他她]|本(?:次|章|节|条|款|文|页|表|图|办法|规定|制度|手册|指南|项目|公司|馆|校|院|店|系统|软件|产品|协议|合同|书)"
    "|上述|以上|以下|如下|下列|下[表图]|上[表图]|前[述款者]|后者|同上|所示|见[表图第附]|附[件录表]|者$"
)
_NAME = re.compile(
    r"由(?P<w>[^，。；的由]{2,14}?)(?P<v>负责|设计|创建|创立|编写|担任|主持|建造|开发|管理|审批|审核|组织|承办|维护|发明|撰写|制定|牵头)"
)
_DEFINED = re.compile(
    r"(?:所谓)?[“「]?(?P<t>[^，。；：“”「」]{2,16})[”」]?[，]?(?:是指|指的是|，指|即指|是一[种个款项座])"
)


def asked(sentence: str) -> list[Asked]:
    """Return questions of a sentence, at most one of each type; none of a sentence that is not understood alone.

    >>> [(each.phrasings[0].text, each.answer) for each in asked("每位读者一次最多可借阅10册图书。")]
    [('每位读者一次最多可借阅多少册图书？', '10册')]
    """
    body = sentence.strip().rstrip("。！.")
    if (
        not 8 <= len(body) <= 60
        or not sentence.strip().endswith("。")
        or re.search("[？?：:“”（）()；;|*`\\[\\]]", body)
    ):
        return []
    if _OPENS.match(body) or _REFERS.search(body) or not _has_subject(body):
        return []
    found = [_of_date(body), _of_amount(body), _of_name(body), _of_definition(sentence.strip())]
    return [each for each in found if each]


def _has_subject(body: str) -> bool:
    """Return whether a sentence begins with what it speaks of: a noun, maybe after what describes it, then a verb."""
    clause = re.split("[，、]", body)[0]
    tags = [tag for *_, tag in words.chinese_words(clause)]
    first = tags[0] if tags else ""
    opens = first[:1] in tuple("nlijsbav") or (first == "r" and body[0] in "每各")
    return len(clause) >= 3 and opens and any(tag[0] in "nlij" or tag in ("vn", "s", "eng") for tag in tags[:4])


def _of_date(body: str) -> Asked | None:
    dates = list(_DATE.finditer(body))
    if len(dates) != 1:
        return None
    [match] = dates
    before, after = body[: match.start()], body[match.end() :]
    if not re.search("[于在自从]$", before):
        return None
    if not re.match("[^，]{1,}", after) and not re.search("[于]$", before):
        return None
    word = "哪一年" if match["d"].endswith("年") else "什么时候"
    clauses = f"{before}{word}{after}".split("，")
    number = next(n for n, clause in enumerate(clauses) if word in clause)
    if number and len(clauses[number]) < 10:
        return None
    text = "，".join(clauses[: number + 1])
    return Asked("number", match["d"], (Phrasing(f"…{word}…", f"{text}？"),)) if len(text) > 7 else None


def _of_amount(body: str) -> Asked | None:
    """Ask for the only number of a sentence, or of its first clause."""
    amounts = [
        m for m in _AMOUNT.finditer(body) if not _DATE.match(body, m.start()) and not _CLOCK.match(body, m.start())
    ]
    if _DATE.search(body) or _CLOCK.search(body) or not amounts:
        return None
    clauses = re.split("(?<=[，])", body)
    ends = [sum(map(len, clauses[: n + 1])) for n in range(len(clauses))]
    match = amounts[0]
    end = next(each for each in ends if each >= match.end())
    if len(amounts) > 1 and amounts[1].start() < end:
        return None
    if not (match["u"] or match["p"]) or re.search("第|[月A-Za-z.-]$", body[: match.start()]):
        return None
    unit = match["u"] or ""
    bare = re.sub("^[多余]", "", unit)
    asking = "百分之多少" if match["p"] else f"多少{bare.removeprefix('万').removeprefix('亿')}"
    text = f"{body[: match.start()]}{asking}{body[match.end() : end]}".rstrip("，")
    if text.endswith("的") or text.count("，") > 1:  # without what follows from it; a rule told whole
        return None
    if len(text) < 9 or len(re.sub("[^\u4e00-\u9fffA-Za-z]", "", text)) < 8:
        return None
    return Asked("number", match.group(), (Phrasing(f"…{asking}…", f"{text}？"),))


def _of_name(body: str) -> Asked | None:
    match = _NAME.search(body)
    if not match or not body[: match.start()].strip("，"):
        return None
    before = body[: match.start()]
    if "，" in before[:-1] or len(before) < 4:
        before_clauses = before.split("，")
        if len(before_clauses) != 2 or before_clauses[1]:
            return None
        before = before_clauses[0] + "，"
    if len(before) < 4:
        return None
    rest = re.split("[，。]", body[match.end("v") :])[0]
    return Asked("fact", match["w"], (Phrasing("…由谁…", f"{before}由谁{match['v']}{rest}？"),))


def _of_definition(sentence: str) -> Asked | None:
    match = _DEFINED.match(sentence)
    if not match or _REFERS.search(match["t"]) or len(sentence) < len(match["t"]) + 10:
        return None
    term = match["t"]
    return Asked(
        "definition", sentence, (Phrasing("什么是…", f"什么是{term}？"), Phrasing("…是什么", f"{term}是什么？"))
    )
