"""What Chinese sentences say of things: where they are, who does them, by what, what for, and what to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragviz.claims import candidate, chinese_words
from ragviz.claims.chinese_sentence import (
    NOUN_PHRASE,
    WEAK_VERBS,
    Draft,
    Sentence,
    goes_on,
    has_one_subject,
    in_place,
    is_circumstance,
    is_person,
    subject_of,
)
from ragviz.claims.chinese_terms import HOLDS
from ragviz.core.question import QuestionType

_SITS = candidate.word_set(
    "任教于 就读于 葬于 位于 坐落于 地处 座落于 设在 设于 建在 发源于 出生于 生于 毕业于 安装在 存放在 保存在 存储在"
    " 保存于 存放于 收藏于 产于"
)


def places(sentence: Sentence) -> Iterator[Draft]:
    """Ask where something is."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first + 1, last - 1):
            verb = sentence.words[place].text
            two = verb + sentence.words[place + 1].text
            after = place + 1
            if two in _SITS and verb not in _SITS:
                after += 1
            elif verb not in _SITS:
                continue
            rest = sentence.codes[after:last]
            if any(word.text in HOLDS for word in sentence.words[first:place]):
                break
            if (
                not re.fullmatch(rf"(?:[TD]|P[NAMT]+F?)*(?:{NOUN_PHRASE}F?)?[DZTL]*", sentence.codes[first:place])
                or "K" in rest
            ):
                break
            if not rest or not re.fullmatch(r"[NAMTKCUF]*[NFMT]", rest) or sentence.words[after].tag == "t":
                continue
            where = "什么学校" if verb == "毕业于" else "哪里"
            question = in_place(sentence, clause, after, last, where)
            if question and not _is_any(sentence, clause, place):
                own = re.fullmatch(rf"(?:T|D)*({NOUN_PHRASE})F?[DZ]*", sentence.codes[first:place])
                subject = sentence.between(first + own.start(1), first + own.end(1)) if own else ""
                subject = subject or subject_of(sentence, clause)
                yield Draft(question, sentence.between(after, last), "fact", 8.0, subject, "位置")
            break


def doers(sentence: Sentence) -> Iterator[Draft]:
    """Ask by whom something is done."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first, last - 2):
            told = clause and not all(is_circumstance(sentence, before) for before in range(clause))
            led = has_one_subject(sentence, clause, place) if place > first else told and subject_of(sentence, clause)
            if sentence.words[place].text != "由" or not led:
                continue
            match = re.match(r"((?:[NAM]+U)?[NAM]*N(?:[KC][NAM]*N)*)(?=[DZ]*V)", sentence.codes[place + 1 : last])
            if not match or re.search("组成|构成|于|引起|导致|造成", sentence.between(place, last)):
                continue
            end = place + 1 + match.end(1)
            if sentence.words[end - 1].text in _HOW:
                end -= 1
            named = sentence.words[place + 1 : end]
            cut = re.match("VV", sentence.codes[place + 1 + match.end(1) : last])
            if not named or (cut and len(sentence.words[place + 1 + match.end(1)].text) == 1):
                continue  # "由 e2fsprogs 包提供"
            if not _does_it(sentence, place + 1, end, last):
                continue
            doer = sentence.between(place + 1, end)
            question = in_place(sentence, clause, place + 1, end, "谁" if _acts(doer) else "什么")
            if question and "，" not in question.rpartition("由")[2]:
                yield Draft(question, doer, "fact", 7.5, subject_of(sentence, clause), "")


def _does_it(sentence: Sentence, start: int, end: int, last: int) -> bool:
    """Return whether the words [start, end) after "由" are a noun phrase of their own, and one verb follows them."""
    named, after = sentence.words[start:end], sentence.codes[end:last]
    if re.match("[DZ]*V+(?:U.|[NA]+V|[^,]*[NU][DZ]*V+$)", after) or sentence.words[end].text in ("使用", "通过", "用"):
        return False  # "由分号分隔的清单": a modifier; "由链接追踪机制处理": a compound
    if named[-1].tag[0] == "v" or any(word.tag[0] in "tm" for word in named):
        return False
    return "K" not in sentence.codes[start:end] or not any(word.tag[0] == "v" for word in named)


_BODY = re.compile(
    "[部局会司位构团队方院所厅处科室组社校行府门心盟商厂店馆站办家]$|集团|物业|单位|机构|警|法院|企业|中介|平台|联盟|政府|甲方|乙方"
)


def _acts(doer: str) -> bool:
    """Return whether a noun names a person or a body of persons by its ending: others are "什么"."""
    names = [word.tag[:2] for word in chinese_words.read(doer)]
    return is_person(doer) or bool(_BODY.search(doer)) or names[-1:] in (["nr"], ["nt"], ["ns"])


_HOW = candidate.word_set("手动 自动 统一 单独 直接 共同 集中 定期 逐级")
"""How something is done, which jieba takes for nouns."""
_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏"
)


def people(sentence: Sentence) -> Iterator[Draft]:
    """Ask who, where the sentence begins with a person's name."""
    first, last = sentence.clauses[0]
    match = re.match(r"N{1,4}?(?=[VDPZB])", sentence.codes[first:last])
    if not match or last - first < 4:
        return
    name = sentence.words[first + match.end() - 1]
    known = "·" in name.text or (name.tag == "nr" and name.text[0] in _SURNAMES and 2 <= len(name.text) <= 3)
    rest = sentence.between(first + match.end(), last)
    follows = sentence.words[first + match.end()].text
    known = known and (len(follows) > 1 or follows in "在是于为因以从对将被曾把")
    known = known and ("·" in name.text or chinese_words.frequency(name.text) <= 20)
    if (
        known
        and len(rest) >= 8
        and "之一" not in rest
        and not re.match("[和与、]|表示|认为|说|称|指出", rest)
        and not is_circumstance(sentence, 0)
    ):
        yield Draft(f"谁{rest}？", name.text, "fact", 7.0, rest, "")


def _until_end(sentence: Sentence, start: int, last: int, *, nominal: bool = True) -> bool:
    """Return whether the words up to the end of the clause can be an answer: a noun phrase, or with verbs in it."""
    letters = sentence.codes[start:last]
    if not letters or letters[0] in "LUWXKCBF:" or re.search("[R:]", letters):
        return False
    return (
        bool(re.fullmatch(rf"(?:M|{NOUN_PHRASE})F?|{NOUN_PHRASE}(?:[KC]{NOUN_PHRASE})*E?", letters))
        if nominal
        else len(letters) > 1
    )


_CALLS = re.compile(
    "^(?:被)?(?:称为|称作|叫做|叫作|命名为|改名为|更名为|取名为|译为|译作|当选为|任命为|选为|定为|评为|视为|改为|转换为|划分为|誉为|用作|并称为|统称为|合称为|俗称)$"
)
_INTO = candidate.word_set(
    "取决于 适用于 源于 来源于 起源于 归功于 致力于 服务于 用于 用来 旨在 基于 依赖于 隶属于 属于 负责 得益于"
    " 起因于 应用于 不属于 不适用于"
)
_USUAL = 500
"""Occurrences in jieba's texts above which a noun alone names nothing in particular: "错误可以导致"."""
_BRINGS = candidate.word_set("导致 造成 引起 引发")


_OF_NOUNS = candidate.word_set("属于 隶属于 基于 不属于 负责")
_NO_SUBJECT = candidate.word_set("许多 很多 不少 一些 各种 有 专门 主要")


def _is_told(sentence: Sentence, clause: int, place: int, start: int) -> bool:
    """Return whether a clause says with the verb at `place`, and its rest from `start`, all of one thing it names."""
    first, last = sentence.clauses[clause]
    subject, text = sentence.words[first:place], sentence.words[place].text
    if subject[0].text in _NO_SUBJECT or subject[-1].text in ("别", "又", "也", "亦"):
        return False
    if "指" in sentence.between(first, place) or (_CALLS.match(text) and sentence.codes[place - 1] == "F"):
        return False
    is_tool = any(word.tag in ("eng", "nw") for word in subject[-2:])
    if text in _INTO and not is_tool and re.fullmatch("V[^,]*U[NA]*N", sentence.codes[start:last]):
        return False  # "用于脚注的字符": what is for the footnote, or what the footnote's character is for?
    before = next((n for n, word in enumerate(subject) if word.tag == "p"), len(subject))
    nouns = [word for word in subject[:before] if word.tag[0] not in "dvtr" or word is subject[0]]
    usual = len(nouns) == 1 and chinese_words.frequency(nouns[0].text) > _USUAL
    if usual and not _CALLS.match(text):
        return False
    return has_one_subject(sentence, clause, place, acting=text in _BRINGS) and not goes_on(sentence, clause)


def relations(sentence: Sentence) -> Iterator[Draft]:
    """Ask what something is called, is for, depends on, belongs to or leads to: the rest of the clause answers."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first + 1, last - 1):
            text = sentence.words[place].text
            joined = sentence.words[place - 1].text + text
            start = place + 1 + (sentence.codes[place + 1] == "L")
            called = bool(_CALLS.match(text))
            if not (called or text in _INTO | _BRINGS) or sentence.codes[place - 1] in "MUABL" or joined in _INTO:
                continue
            nominal = called or text in _OF_NOUNS
            if not _until_end(sentence, start, last, nominal=nominal) or not _is_told(sentence, clause, place, start):
                break
            answer = sentence.between(start, last)
            kind: QuestionType = "exception" if text.startswith("不") else "fact"
            wh = "做什么" if text in ("用来", "旨在") else "什么"
            question = in_place(sentence, clause, start, last, wh)
            if question and 2 <= len(answer) <= 40 and "，" not in question.partition(wh)[2]:
                yield Draft(question, answer, kind, 7.5 if called else 7.0, subject_of(sentence, clause), "")
            break


def _is_any(sentence: Sentence, clause: int, place: int) -> bool:
    """Return whether the clause up to a word says of which things by one common noun only: "文档可以通过"."""
    first = sentence.clauses[clause][0]
    bare = clause == 0 and re.fullmatch("N[FDZ]*", sentence.codes[first:place])
    word = sentence.words[first]
    return bool(bare) and word.tag == "n" and not is_person(word.text) and chinese_words.frequency(word.text) > 0


_BY = candidate.word_set("通过 凭 凭借 借助 按 按照 经 经由 根据 依据")


def means(sentence: Sentence) -> Iterator[Draft]:
    """Ask by what something is done, of what it is made, and where it is done."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first + 1, last - 2):
            if not (found := _adverbial(sentence, place, first, last)):
                continue
            if not has_one_subject(sentence, clause, place) or re.search("VV[^V]*$", sentence.codes[place:last]):
                continue
            end, wh, attribute = found
            question = in_place(sentence, clause, place + 1, end, wh)
            if question and not _is_any(sentence, clause, place):
                answer = sentence.between(place + 1, end)
                yield Draft(question, answer, "fact", 7.0, subject_of(sentence, clause), attribute)


_MADE = {"组成": "什么", "构成": "什么", "制成": "什么", "组合而成": "什么", "编写": "谁"}


def _adverbial(sentence: Sentence, place: int, first: int, last: int) -> tuple[int, str, str] | None:
    """Return end, question word and attribute of what follows the preposition at `place`; None of none to ask."""
    text, rest = sentence.words[place].text, sentence.codes[place + 1 : last]
    made = sentence.words[last - 1].text
    if (
        text == "由"
        and made in _MADE
        and (match := re.fullmatch(rf"({NOUN_PHRASE}(?:[KC]{NOUN_PHRASE}){{0,4}})E?V", rest))
    ):
        return place + 1 + match.end(1), _MADE[made], "组成"
    paced = text == "按" and place + 1 < last and len(sentence.words[place + 1].text) <= 2  # "按季度支付"
    to = next((at for at in range(place + 1, last - 1) if sentence.words[at].text == "来"), 0)
    if text in _BY and re.search("[NZ]D*$", sentence.codes[first:place]) and to:
        inside = sentence.codes[place + 1 : to]
        return (to, "什么", "方式") if re.fullmatch("[NAMVU]*N", inside) else None
    if text in _BY and not paced and re.search("[NZ]D*$", sentence.codes[first:place]):
        match = re.match(r"([NA]*N)(?=[DZ]*V)", rest)
        compound = re.fullmatch("[NA]*NVN", rest) and last < len(sentence.words)  # "通过软件包配置脚本，尽力…"
        modifies = match and re.match("[DZ]*V{1,2}U", rest[match.end() :])  # "按照语言使用的字符": what is used
        if match and not modifies and not compound and sentence.words[place + match.end(1)].tag != "vn":
            return place + 1 + match.end(1), "什么", "方式"
    if text == "在" and re.search("N[DZ]*$", sentence.codes[first:place]):
        match = re.match(r"([NA]*N)F?(?=[DZ]*V)", rest)
        if match and sentence.words[place + match.end(1)].tag == "ns":
            return place + 1 + match.end(), "哪里", "地点"
    return None


def objects(sentence: Sentence) -> Iterator[Draft]:
    """Ask for the object of a verb by its kind, which a name tells apart: "采用什么协议？"."""
    first, last = next(
        ((a, b) for n, (a, b) in enumerate(sentence.clauses) if not is_circumstance(sentence, n)), (0, 0)
    )
    match = re.fullmatch(
        rf"(?P<subject>(?:T|P[NAMT]+F)?{NOUN_PHRASE})F?(?P<how>(?:[DT]|P[NAMT]+F?)*)"
        r"(?P<verb>V)(?:L(?P<done>M?[NAVU]{0,10}N)|(?P<object>[NAM]{1,4}(?:U[NA]{0,3})?N))",
        sentence.codes[first:last],
    )
    if not match:
        return
    said = "done" if match["done"] else "object"
    verb, start = first + match.start("verb"), first + match.start(said)
    text, head = sentence.words[verb].text, sentence.words[last - 1]
    if text.endswith(("为", "作")) or not sentence.words[last - 2].text[-1].isalnum():
        return
    if text in WEAK_VERBS or text in _SITS or text in HOLDS or text in _INTO or len(text) < 2:
        return
    clause = next(n for n, (a, _) in enumerate(sentence.clauses) if a == first)
    kind = (
        last - start >= 2
        and not set("UV") & set(match[said])
        and sentence.words[last - 2].tag in ("eng", "nw", "nz", "nt", "ns")
    )
    if not kind or len(head.text) < 2 or head.tag[0] != "n":
        return
    if question := in_place(sentence, clause, start, last, f"什么{head.text}"):
        yield Draft(question, sentence.between(start, last), "fact", 6.5, subject_of(sentence, clause), "")
