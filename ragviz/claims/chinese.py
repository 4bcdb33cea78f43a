"""Questions from Chinese sentences, by parts of speech: the question word replaces the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragviz.claims import candidate
from ragviz.claims.candidate import Candidate
from ragviz.core.document import Word

# References to other text: anywhere in a question, or at its beginning, where nothing precedes.
_ELSEWHERE = re.compile(
    "上述|以[上下](?!游)|如[下上](?!属)|下列|[上下]面|本(?:[条章节文书]|手册|指南)|前者|后者|[见如](?:附|图|表)"
    "|什么|怎么|如何|为何|哪|谁|[吗呢？?]"
)
_POINTING = re.compile("这|那(?!么)|它|此(?!外)|该(?!死)|(?<!其)他(?!人)|她|其(?![他它中实余次])")
OPENING = re.compile(
    "^(?:[【\\[][^】\\]]{1,8}[】\\]]|第[一二三四五六七八九十]+[、，]|\\d{1,3}[.)）、](?!\\d)"
    "|(?:因此|所以|但是|但|并且|而且|同时|另外|此外|例如|比如|然而|而|且|那么|其中|也就是说|不过|总之|即|并)[，,：:]?|\\s)+"
)
_FRAGMENT = re.compile(
    "(?:也|还|则|就|才|又|或者|以及|及|或|如果|若|当|只要|即使|虽然|因为|由于|为了|从而|以便|之|的|地|得)"
)
_CONDITION = re.compile("(?:如果|若|当|只要|即使|虽然|因为|由于|为了|除非|一旦|对于|关于|在.*[时后前]$)")
_MODAL = candidate.word_set(
    "必须 应该 应 应当 不能 不得 不可 可以 需要 需 不要 能 能够 可 会 要 请 尽量 是 由 为 有 使 让 被 等 如 说"
)
_EMPTY = _MODAL | candidate.word_set(
    "进行 使用 做 问题 情况 时 时候 方式 内容 部分 东西 说明 要求 之一 一种 例子 方面 作用 意义 结果 重要"
    " 禁止 避免 建议 利用 注意"
)
_CAUSES = candidate.word_set("导致 造成 避免 防止 影响 保证 引起 产生 禁止 确保")
_NUMBER = re.compile(r"(?:\d[\d,.]*|[二两三四五六七八九十百千万亿]+)[十百千万亿]*(?:多|余)?")
_TIME = re.compile("[\\d〇一二三四五六七八九十]+\\s*[年月日号点时]|星期|周[一二三四五六日]|世纪|年代")
_UNITS = candidate.word_set(
    "天 年 个月 小时 分钟 秒 毫秒 行 个 位 字符 元 万元 美元 米 公里 千米 厘米 毫米"
    " 人 次 条 层 种 台 间 岁 公斤 克 吨 页 章 节 份 名"
)
_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏"
)
_STOPS = frozenset('，,；;：:。！？!?（()）“”"《》')

_Target = tuple[int, int, str, float]  # first word, past the last, question word, bonus


def chinese(sentence: str, words: Sequence[Word]) -> Iterator[Candidate]:
    """Yield the questions that a parsed Chinese sentence answers."""
    for target in (*_facts(words), *_subject(words), *_objects(words)):
        yield from _candidate(sentence, words, *target)


def _facts(words: Sequence[Word]) -> Iterator[_Target]:
    """Yield numbers with their unit, dates, people, places, and who does something."""
    no_word = Word(0, 0, "", "")
    for place, word in enumerate(words):
        before = words[place - 1] if place else no_word
        after = words[place + 1] if place + 1 < len(words) else no_word
        if _NUMBER.fullmatch(word.text) and before.tag != "m" and before.text not in ("第", "-", ".", "/", ",", ":"):
            yield from _number(place, word, after)
        elif word.tag == "t" and _TIME.search(word.text):
            yield place, place + 1, "什么时候", 3.0
        elif word.tag == "nr" and word.text[0] in _SURNAMES and 2 <= len(word.text) <= 3:
            if "n" not in (before.tag[:1], after.tag[:1]) and "·" not in (before.text, after.text):
                yield place, place + 1, "谁", 2.0
        elif word.tag == "ns" and before.text in ("在", "于", "位于", "到", "去") and after.tag[:1] not in (*"nvfuda",):
            yield place, place + 1, "哪里", 3.0
        elif word.text == "由":
            yield from _doer(place + 1, words)


def _number(place: int, number: Word, after: Word) -> Iterator[_Target]:
    if after.text == "%":
        yield place, place + 2, "百分之多少", 4.0
    elif (after.tag == "q" or after.text in _UNITS) and not (after.text == "年" and len(number.text) == 4):
        yield place, place + 2, f"多少{after.text}", 4.0


def _doer(start: int, words: Sequence[Word]) -> Iterator[_Target]:
    end = start
    while end < len(words) and words[end].tag in ("n", "nr", "nz", "eng", "vn", "b", "l", "nt", "ns"):
        end += 1
    if start < end < len(words) and words[end].tag[0] == "v":
        yield start, end, "谁", 3.0


def _subject(words: Sequence[Word]) -> Iterator[_Target]:
    """Yield the beginning of the sentence, up to the verb or its adverbs."""
    end = 0
    while end < len(words) and (
        words[end].tag in ("n", "nz", "vn", "eng", "l", "b", "a", "j", "ns", "nt", "uj", "c") or words[end].text == "、"
    ):
        end += 1
    clause = next((words[first:last] for first, last in _clauses(words) if first == 0), [])
    if any(word.tag == "uj" for word in clause[end:]) or (end < len(words) and words[end].text in ("都", "也", "均")):
        return  # a verb before "的" belongs to a longer subject; "什么都" is "everything"
    if (
        0 < end < len(words)
        and words[end - 1].tag[0] in "nelj"
        and (words[end].tag in ("d", "p") or words[end].text in _MODAL)
    ):
        person = words[end - 1].text.endswith(("人", "员", "者", "师"))
        yield 0, end, "谁" if person else "什么", 1.5


def _objects(words: Sequence[Word]) -> Iterator[_Target]:
    """Yield what follows a verb, up to the end of its clause."""
    for first, end in _clauses(words):
        verbs = [p for p in range(first, end - 1) if words[p].tag in ("v", "vg", "vd") or words[p].text in ("是", "为")]
        for turn, verb in enumerate(verbs):
            start = verb + 1
            while start < end and (words[start].tag in ("ul", "uz") or words[start].text.isspace()):
                start += 1
            before = words[verb - 1].tag[0] if verb > first else "-"
            is_copula = words[verb].text in ("是", "为") and before in "nveljt"
            # "编译器解析成本", "与注释内容": a verb inside a noun phrase
            inside = before in "pcqmbu" or (turn > 0 and before in "nea")
            inside = inside or (before == "v" and words[verb - 1].text not in _MODAL)
            inside = inside or len(words[verb].text) == 1
            leads = is_copula or not (inside or words[verb].text in _MODAL)
            if leads and start < end and _object(words[start:end], words[verb].text in _CAUSES):
                yield start, end, "什么", 2.5 if is_copula else 2.0


def _object(words: Sequence[Word], is_effect: bool) -> bool:
    """Return whether the words are a noun phrase, or the effect of something."""
    opening, closing = words[0], words[-1]
    if opening.tag[0] not in "nabmelj" or opening.tag in ("ng", "ad") or opening.text[0].isdigit():
        return False
    if is_effect:
        return True
    owned = next((place for place, word in enumerate(words) if word.tag == "uj"), 0)
    if any(word.tag[0] == "v" for word in words[:owned]):
        return False  # "受资助的学校": the verb continues
    closed = closing.tag[0] in "nelj" or (closing.tag[0] == "v" and any(word.tag == "uj" for word in words))
    return (closed or closing.tag == "vn") and not any(word.tag in ("d", "ul") for word in words)


def _clauses(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    first = 0
    for place, word in enumerate(words):
        if word.text in _STOPS:
            if place > first:
                yield first, place
            first = place + 1
    if first < len(words):
        yield first, len(words)


def _candidate(
    sentence: str, words: Sequence[Word], start: int, end: int, wh: str, bonus: float
) -> Iterator[Candidate]:
    """Ask up to the end of the answer's clause, unless the question is not understood alone."""
    first, last = next((f, e) for f, e in _clauses(words) if f <= start < e)
    answer = sentence[words[start].start : words[end - 1].end].strip()
    after = sentence[words[end - 1].end : words[last - 1].end]
    if end > last or _CONDITION.match(sentence[words[first].start : words[last - 1].end]):
        return
    opening = 0
    before = sentence[: words[start].start]
    if len(before) + len(after) > 44:
        opening, before = first, sentence[words[first].start : words[start].start]
    if start > opening and not _has_subject(words, opening, start):
        return
    before = OPENING.sub("", before)
    if wh[0] in "什谁哪" and before.endswith("为"):  # "为什么" asks why
        if words[start - 1].text != "为":
            return
        before = before[:-1] + "是"
    question = re.sub(r"\s+", " ", f"{before.rstrip()}{wh}{after.lstrip()}").strip(" ，,：:、。")
    content = _content([*words[opening:start], *words[end:last]])
    if _is_unusable(before, after, answer) or not 8 <= len(question) <= 60:
        return
    if len(content) < 2 or (bonus < 3 and not _content(words[start:end])):
        return
    score = min(len(content), 7) + bonus - max(0, len(question) - 35) * 0.1 - max(0, len(answer) - 12) * 0.2
    yield Candidate(f"{question}？", answer, score)


def _has_subject(words: Sequence[Word], opening: int, start: int) -> bool:
    """Return whether a clause up to `start` begins with its subject: a noun, after adverbs and times."""
    for first, _ in _clauses(words[:start]):
        place = max(first, opening)
        while place < start and (words[place].tag[0] in "dtc" or words[place].text.isspace()):
            place += 1
        if first >= opening and place < start and (words[place].tag[0] in "nelja" or words[place].tag in ("vn", "b")):
            return True
    return False


def _is_unusable(before: str, after: str, answer: str) -> bool:
    """Return whether a question refers elsewhere, begins in the middle, or has half a pair of brackets."""
    pairs = ("（", "）"), ("(", ")"), ("“", "”"), ("《", "》"), ("[", "]"), ("「", "」")
    if any(text.count(left) != text.count(right) for left, right in pairs for text in (before + after, answer)):
        return True
    if _ELSEWHERE.search(before + after + answer) or _POINTING.search(before[:5]) or _POINTING.match(answer):
        return True
    if _FRAGMENT.match(before) and "，" not in before:
        return True
    return len(answer) > 24 or answer.endswith(("的", "了")) or (len(answer) < 2 and not answer.isdigit())


def _content(words: Sequence[Word]) -> list[Word]:
    """Return the content words: nouns, verbs, adjectives, names, but not the commonest."""
    return [
        word
        for word in words
        if word.tag[0] in "nvajlie" and word.text not in _EMPTY and (len(word.text) > 1 or word.tag[0] == "n")
    ]
