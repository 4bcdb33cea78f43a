"""Claims of a Chinese document: of its key–value lines, tables, lists, defined terms and sentences, without a model."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ragviz.claims import candidate, chinese_sentence, chinese_sentences, chinese_words
from ragviz.claims.chinese_gate import leaves_open
from ragviz.claims.chinese_sentence import Draft
from ragviz.claims.sections import SEPARATOR, Section, name_of, section_at, sections, title_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.structure import CSV_TYPES, Definition, KeyValue, ListPlace, Row, Structure, Table, structure
from ragviz.core.document import Document, Word
from ragviz.core.question import QuestionType
from ragviz.index.headings import headings, verbatim
from ragviz.text import keyphrases, prose, segmentation
from ragviz.text.numerals import stated_numbers

TELLING = 15.0
"""How much the words of a question have to tell (`information`) for it to be understood without its heading."""

NAMED = 9.0
"""How much they have to tell where one of them is a name."""
TITLED = 10.0
"""How much its words and its heading's have to tell together."""
MEASURED = 20.0
"""How much they have to tell where how much of something is asked for."""
ALONE = 26.0
"""How much they have to tell where none is a name and the document has no headings."""


def claims(document: Document) -> Iterator[SourceClaim]:
    """Yield what a Chinese document says, each with its question; places may overlap, quotes may be repeated in it."""
    places = structure(document)
    if not places.sections:
        return
    reader = _Reader(document, title_of(document))
    yield from _told_apart(list(_all(reader, places)), reader)


def _all(reader: _Reader, places: Structure) -> Iterator[SourceClaim]:
    yield from reader.key_values(places.key_values)
    for table in places.tables:
        yield from reader.table(table)
    ordered = Counter(found.section for found in places.lists if found.is_ordered)
    before: set[str] = set()
    for found in places.lists:
        is_first = found.section not in before and ordered[found.section] == found.is_ordered
        yield from reader.list_of(found, is_first=is_first)
        before.add(found.section)
    for definition in places.definitions:
        yield from reader.definition(definition)
    yield from reader.answered_headings(places.sections)
    yield from reader.sentences(places)


def _told_apart(claims: Sequence[SourceClaim], reader: _Reader) -> Iterator[SourceClaim]:
    """Yield the claims; of one question with several answers, each with what its section is about before it."""
    answers: dict[str, set[str]] = defaultdict(set)
    for claim in claims:
        answers[claim.question].add(claim.answer.casefold())
    for claim in claims:
        topic = reader.topic(claim.section)
        if len(answers[claim.question]) > 1 and topic and topic not in claim.question:
            yield replace(claim, question=f"关于{topic}，{claim.question}")
        else:
            yield claim


# How much words tell

_UNKNOWN = 7.0
_COMMON = 200
_TELLING_TAGS = "nvaijlt"


@lru_cache(maxsize=20_000)
def information(text: str) -> float:
    """Return how much the content words of a text tell: their rarity in jieba's dictionary, in powers of ten, summed.

    Names, quoted and Latin words count at least as an unknown word. Each word counts once.
    """
    total = 0.0
    for word in {word.text: word for word in chinese_words.read(text)}.values():
        if word.tag == "eng" or word.tag == "nw" or "·" in word.text:
            total += _UNKNOWN + 3.0
        elif word.tag[0] in _TELLING_TAGS and not re.search(r"^[\d\W]+$", word.text):
            count = chinese_words.frequency(word.text)
            rarity = math.log10(chinese_words.COUNTED / count) if count else _UNKNOWN
            named = word.tag[:2] in ("nr", "ns", "nt", "nz") and _is_name(word)
            total += max(rarity, 5.0) + 3.0 if named else max(rarity - 1.5, 0.0)
    return total


@lru_cache(maxsize=20_000)
def names_something(text: str) -> bool:
    """Return whether a text holds a name: of a person, place or body, a quoted or a Latin one."""
    return any(
        word.tag in ("eng", "nw") or "·" in word.text or (word.tag[:2] in ("ns", "nt") and _is_name(word))
        for word in chinese_words.read(text)
    )


def _is_name(word: Word) -> bool:
    """Return whether a word that jieba takes for a name is no common word, such as "高峰"."""
    return len(word.text) > 1 and (word.tag[:2] not in ("nr", "nz") or chinese_words.frequency(word.text) <= _COMMON)


def is_proper(text: str) -> bool:
    """Return whether a text holds a quoted or Latin word, or the name of a person, place or body."""
    tags = [word.tag[:2] for word in chinese_words.read(text) if _is_name(word)]
    return any(tag in ("en", "nw", "nr", "ns", "nt") for tag in tags)


# What a section is about

_NUMBERING = re.compile(
    r"^(?:第\s*[\d一二三四五六七八九十百零]+\s*(?:部分|[章节条编篇回])\s*|[（(]?[\d一二三四五六七八九十]{1,3}[)）、.．]\s*|\d+(?:\.\d+)+\.?\s*|\d+\s+(?![年月日个])"
    r"|附录\s*[A-Z\d一二三四五六七八九十]*\s*|[A-Z](?:\.\d+)+\.?\s+|(?:[^\w《“「『]|_)+)+"
)
_GENERIC = candidate.word_set(
    "概述 概览 简介 介绍 说明 其他 其它 附录 附则 总则 背景 前言 引言 导言 目录 常见问题 注意事项 联系方式"
    " 联系我们 关于 关于我们 基本信息 信息 产品规格 规格 参数 技术参数 内容 正文 摘要 结论 总结 小结 参考"
    " 参考资料 参考文献 示例 例子 举例 补充说明 其他事项 其他说明 更多信息 注释 备注 定义 术语 术语定义 名词解释"
    " 基本要求 一般规定 基本规定 通用 通则 细则 要求 规定 问答 提示 警告 重要提示 特别说明 更新记录 使用说明"
    " 版本历史 更新日志 快速开始 入门 配置项 基本概念 概念 原则 步骤 流程 特点 优点 缺点 功能 职责 范围 条件 材料"
    " 所需材料 目的 适用范围 名词 概况 简况 语法 用法 选项 类型 设置 操作 方法 格式 字段 属性"
)
_GENRE = re.compile(
    r"(?:的)?(?:使用|用户|操作|产品|部署|安装|管理|工作|服务|读者|员工|新人|开发|入门|帮助|教学|发布|更新|会议|调查)*(?:说明书?|手册|指南|文档|规程|规范|规约"
    r"|须知|教程|白皮书|简介|介绍|办法|制度|条例|规定|细则|指引|章程|守则|公告|通知|帮助|帮助中心|大纲|纪要|通报|报告|常见问题(?:与?解答)?|（[^（）]*）|\([^()]*\))+$"
)


_FORM = re.compile("(?:须知|指南|说明|信息|概况|情况|资料|参数|规格|数据|政策|规则|方式)$")
"""Endings of headings that say how something is written about, and not what."""


_ANYTHING = re.compile(
    "(?:一些|几[个点条件]|其他|其它|更多|有用|相关|有关|需要|应该|必须|要|您|你|值得|各种|进一步)[^A-Za-z]*"
    "(?:东西|信息|事项|事情|更改|变化|改变|变更|内容|问题|资料|说明|知识|提示|建议|链接|资源|情况|方面|部分)"
)
"""Headings that say that something follows, and not what."""


def _says_nothing(title: str) -> bool:
    """Return whether a heading is of any text: "一些有用的信息", "与之前版本相比的其他更改"."""
    return any(map(_ANYTHING.fullmatch, (title, _last_part(title))))


def _last_part(title: str) -> str:
    """Return a title from its last "其他", "其它" or "一些" on, "" without one."""
    at = max(title.rfind(word) for word in ("其他", "其它", "一些"))
    return title[at:] if at >= 0 else ""


def _title(heading: str) -> str:
    """Return a heading without its number and closing marks, "" where it says nothing of what it heads."""
    if re.search(r"[./-]\*$", heading):
        return ""  # "emacsen-*", of which the star is lost
    title = _NUMBERING.sub("", heading).strip(" ：:。.、*#　").removeprefix("关于")
    plain = re.fullmatch(r"[^，。；？?！!：:]{2,24}", title) and re.search("[\u4e00-\u9fffA-Za-z]{2}", title)
    return (
        title
        if plain and title not in _GENERIC and not chinese_sentence.points(title) and not _says_nothing(title)
        else ""
    )


def _about(title: str) -> str:
    """Return what a title is about: without its genre, unless that is part of its noun, as in "子文档"."""
    match = _GENRE.search(title)
    rest = title[: match.start()].strip() if match else title
    words = chinese_words.read(rest)
    if match and re.search("[和与及、].?$", rest):
        return title.removeprefix("关于")  # "主文档和子文档"
    last = words[-1] if rest else None
    named = last and (not re.search("[\u4e00-\u9fff]", last.text) or last.tag[:2] in ("nr", "ns", "nt", "nz", "nw"))
    known = last and (named or (len(last.text) > 1 and chinese_words.frequency(last.text) > 0))
    whole = known and chinese_words.codes(words)[-1] in "NVTEIM"
    return (rest if whole else title).removeprefix("关于")


def _acts(title: str) -> bool:
    """Return whether a heading says what is done, so that it stands as a name in quotes: "安装打印机"."""
    letters = chinese_words.codes(chinese_words.read(title))
    return bool(re.match(r"(?:D|Z|[将把])*[VP]|.*(?<=.)P", letters)) and not re.search("V(?:N)?$|^V{1,2}$", letters[:2])


_PARTY = re.compile("[甲乙丙]方")
_LONGEST_ABOVE = 60
"""Characters at most of a heading that tells sections with one title apart."""


def _first_line(document: Document) -> str:
    """Return the first line of a plain text where it can only be its title: a short noun phrase on its own line."""
    if document.media_type != "text/plain":
        return ""
    line, _, rest = document.text.lstrip("\ufeff \n").partition("\n")
    line = line.strip()
    letters = chinese_words.codes(chinese_words.read(line)) if 2 <= len(line) <= 30 else ""
    nominal = re.fullmatch(r"P?[NAVMTKCUX]*N", letters) and not re.search("[，。；：？！,;:?!]", line)
    return line if nominal and rest.strip() else ""


def _file_of_table(document: Document) -> str:
    """Return the Chinese name of a CSV file, which has no other title."""
    name = name_of(document) if document.media_type in CSV_TYPES else ""
    return name if re.search("[\u4e00-\u9fff]{2}", name) else ""


def _needed(draft: Draft, section: str, *, named: bool) -> float:
    """Return how much the words of a question have to tell for it to be asked without its topic."""
    if draft.attribute == "处理办法" or (draft.type == "definition" and re.match('[「“‘『"]', draft.question)):
        return math.inf  # what is to be done in a case, while what is done? "「值」" of what?
    if named:
        owned = names_something(draft.subject.rpartition("的")[0])  # "云岭山区的药材"
        return MEASURED if draft.type == "list" and not owned else NAMED
    if not section:
        return ALONE
    return MEASURED if draft.type in ("number", "list") else TELLING


class _Reader:
    """Makes claims of the places of one document."""

    def __init__(self, document: Document, title: str) -> None:
        self._document = document
        named = title or _first_line(document) or _file_of_table(document)
        subject = _NUMBERING.sub("", named).strip()
        self._title = subject if _title(subject) else ""
        self._about = _about(subject) if self._title else ""
        self._titles = Counter(_NUMBERING.sub("", part.title).strip(" ：:") for part in sections(document))

    def topic(self, section: str) -> str:
        """Return what a section is about, with the document's title where its own says little; "" where none does."""
        path = section.split(SEPARATOR)
        for depth in range(len(path) - 1, -1, -1):
            title = _title(path[depth])
            if not title or _about(title) in self._about or _letters(title) == "V":
                continue
            if above := self._above(path, depth):
                return f"“{above}”中的“{title}”"
            if self._about and information(title) < TELLING and self._about not in title:
                joined = f"{self._about}的{title}"
                return f"“{self._about}”中的“{title}”" if _acts(self._about) or _acts(title) else joined
            return title
        return self._about

    def _above(self, path: Sequence[str], depth: int) -> str:
        """Return the heading above one of a path that heads several sections; "" of one that heads one."""
        named, above = (_NUMBERING.sub("", part).strip(" ：:") for part in (path[depth], path[depth - 1]))
        told = depth and self._titles[named] > 1 and 2 <= len(above) <= _LONGEST_ABOVE
        return above if told and not re.search("[，。；？！“”]", above) else ""

    def _owner(self, section: str) -> str:
        """Return what the keys under a heading are of: the document where the heading only names a form of text."""
        path, _, last = section.rpartition(SEPARATOR)
        is_form = self._about and path and _FORM.search(_title(last))
        return self._about if is_form else self.topic(section)

    def _by_title(self, draft: Draft) -> Draft:
        """Return the draft with the document's title for a subject that is only its last words: "博物馆"."""
        words = chinese_words.read(draft.question)
        letters = chinese_words.codes(words)
        if self._about in draft.question:
            return draft
        for place in range(len(words)):
            if place and letters[place - 1] not in ",T":
                continue
            for end in range(min(place + 3, len(words) - 1), place, -1):
                text = draft.question[words[place].start : words[end - 1].end]
                whole = self._whole(text) if set(letters[place:end]) == {"N"} and letters[end] in "VZPDBUFTN" else ""
                if whole and (letters[end] != "N" or draft.type == "number"):
                    at = words[place].start
                    question = draft.question[:at] + whole + draft.question[at + len(text) :]
                    return replace(draft, question=question, subject=whole if draft.subject == text else draft.subject)
        return draft

    def _whole(self, text: str) -> str:
        """Return the name in the document's title that ends in a noun: "海棠音乐厅" of "音乐厅"; "" without one."""
        at = self._about.rfind(text)
        ends = {word.end for word in chinese_words.read(self._about)} if at > 0 and len(text) > 1 else set()
        whole = self._about[: at + len(text)] if at + len(text) in ends else ""
        if _acts(whole):
            return ""
        named = whole == self._about or re.fullmatch("[NA]+", chinese_words.codes(chinese_words.read(whole)) or "-")
        return whole if named else ""

    def _asked(self, draft: Draft, section: str) -> str:
        """Return the question, with its topic before it where it needs one; "" where that is not enough."""
        if draft.question.startswith("关于"):
            return draft.question
        if _PARTY.search(draft.question):  # who they are is said by the contract
            about = f"关于{self._about}，{draft.question}"
            return about if self._about and self._about not in draft.question else ""
        known = information(draft.question)
        named = names_something(draft.question)
        if not re.search("[VBZP]", chinese_words.codes(chinese_words.read(draft.question))):
            named = is_proper(draft.question)  # "在校生多少人": of what has to be said
            known = known if named else 0.0
        if known >= _needed(draft, section, named=named):
            return draft.question
        topic = self.topic(section)
        local = topic.removeprefix(f"{self._about}的")
        missing = [part for part in ((topic,) if local not in draft.question else (self._about,)) if part]
        about = (
            f"关于{missing[0]}，{draft.question}" if missing and missing[0] not in draft.question else draft.question
        )
        if not topic and known < ALONE:
            return ""
        return about if information(about) >= (TITLED if missing else TELLING) and draft.answer not in about else ""

    def _claim(self, draft: Draft, start: int, end: int, statement: str, section: str) -> Iterator[SourceClaim]:
        draft = self._by_title(draft) if self._about else draft
        question = self._asked(draft, section)
        if not question:
            return
        text = self._document.text
        yield SourceClaim(
            document_id=self._document.id,
            start=start,
            end=end,
            quote=text[start:end],
            type=draft.type,
            question=question,
            answer=draft.answer,
            statement=" ".join(statement.split()),
            subject=draft.subject.strip("，, ") or self.topic(section),
            language="zh",
            attribute=draft.attribute,
            section=section,
            entities=_entities(statement),
            score=draft.score,
        )

    # Key–value lines

    def key_values(self, found: Sequence[KeyValue]) -> Iterator[SourceClaim]:
        """Yield a claim of each line whose key is an attribute and whose value is a noun phrase, number or time."""
        counts = Counter((pair.section, pair.key) for pair in found)
        together: dict[str, list[bool]] = defaultdict(list)
        for pair in found:
            together[pair.section].append(bool(_RELATIONAL.search(_unbracketed(pair.key))))
        for pair in found:
            named = pair.value.partition("。")[0]
            at = self._document.text.find(named, pair.start + len(pair.key), pair.end)
            if at > 0:
                yield from self._enumeration(pair.key, named, pair.start, at + len(named), pair.section)
            topic = self._owner(pair.section)
            sure = pair.is_marked or pair.is_item or pair.alone
            if not sure or counts[pair.section, pair.key] > 1 or not topic or not is_attribute(pair.key):
                continue
            value, key = pair.value.rstrip("。；;"), pair.key.strip()
            beside = together[pair.section]
            if not _RELATIONAL.search(_unbracketed(key)) and 3 * sum(beside) < len(beside):
                yield from self._means(pair.start, pair.end, key, value, pair.section)
                continue
            if re.fullmatch('[“「"][^”」"]*[”」"]', value):
                continue  # what to enter, in an example
            if not is_value(value) or set(chinese_words.codes(chinese_words.read(key))) <= set("VD"):
                continue
            plain = _RELATIONAL.search(key) and "的" not in topic and not _acts(topic)
            joined = f"{topic}的{key}" if plain else f"关于{topic}，{key}"
            wh = _wh(key, value)
            if wh == "是什么" and len(chinese_words.read(key)) == 1 and _is_doing(key):
                continue  # "制作：…" is the name of a page
            draft = Draft(f"{joined}{wh}？", value, _type(wh, value), 8.0, topic, key)
            yield from self._usable(draft, pair.start, pair.end, f"{topic}的{key}：{value}", pair.section)

    def _usable(self, draft: Draft, start: int, end: int, statement: str, section: str) -> Iterator[SourceClaim]:
        if chinese_sentence.is_usable(draft) and not (draft.type == "list" and leaves_open(draft.question)):
            yield from self._claim(draft, start, end, statement, section)

    # Tables

    def table(self, table: Table) -> Iterator[SourceClaim]:
        """Yield a claim of each cell whose row and column have names of their own.

        A table of two columns without titles says what the first column's terms are.
        """
        if not any(table.header):
            for row in table.rows if len(table.header) == 2 else ():
                yield from self._means(row.start, row.end, row.cells[0], row.cells[1], table.section)
            return
        names = [name.lstrip("•·▪◦‣ ") for name in _names_of_rows(table)]
        counts, titles = Counter(names), Counter(table.header)
        first = _first_named(table)
        by_column = _attributes_are_rows(table, names)
        columns = range(len(table.header))
        measures = {n for n in columns if sum(_is_amount(row.cells[n]) for row in table.rows) * 2 >= len(names)}
        for row, name in zip(table.rows, names, strict=True):
            if counts[name] > 1 or not _NAMED_ROW.fullmatch(name) or not re.search(r"[^\W\d_]", name):
                continue
            if re.search("^[DPRZO]|N.*P", _letters(name)) or chinese_sentence.points(name):
                continue  # "除了…外": of all other rows
            for column, (title, cell) in list(enumerate(zip(table.header, row.cells, strict=True)))[first + 1 :]:
                entity, attribute = (title, name) if by_column else (name, title)
                if titles[title] == 1 and title and is_attribute(_unbracketed(attribute)) and attribute != "单位":
                    measured = column in measures and not by_column
                    yield from self._cell(
                        row, entity, attribute, _unmarked(cell).rstrip("。；; "), table, measured=measured
                    )

    def _cell(
        self, row: Row, entity: str, attribute: str, cell: str, table: Table, *, measured: bool
    ) -> Iterator[SourceClaim]:
        if not re.search("[\u4e00-\u9fff]", attribute) and re.search("[a-z]{3}", attribute):
            return  # a title that was not translated
        if not re.search(r"\w", cell) or _NO_CELL.fullmatch(cell) or len(cell) > chinese_sentence.LONGEST_ANSWER:
            return
        if "的" in entity and entity[-2:] == attribute[-2:]:
            return  # "多边形的设置" and "文本设置": a table that is read wrongly
        topic = self.topic(table.section)
        wh = _wh(attribute, cell) if is_value(cell) or not _is_doing(attribute) else "是怎样的"
        if wh in ("是什么", "是怎样的") and len(chinese_words.read(attribute)) == 1 and _is_doing(attribute):
            return  # "放大": what is done, and no attribute
        said = not is_value(cell) and len(cell) > 3 and re.match("[DZB]", _letters(cell))
        if said and not _DESCRIBES.search(attribute):
            return  # "不允许为空": said of the row, and no value of the column
        if wh == "是什么" and measured and not re.match("[A-Za-z]", cell):
            wh = "是多少"
        coded = bool(re.fullmatch(r"[\x20-\x7e]+", entity))
        about = f"关于{topic}，" if topic and (coded or not is_proper(entity)) and topic not in entity else ""
        kind = table.header[_first_named(table)]
        if coded and not about.endswith(f"{kind}，") and entity in _names_of_rows(table) and _is_kind(kind):
            entity = f"{kind} {entity} "
        told = re.match("V+[NA]*U", _letters(attribute)) is not None  # "支持的格式"
        of = " " if told and re.search("[\x21-\x7e]$", entity) else "" if told else "的"
        draft = Draft(f"{about}{entity}{of}{attribute}{wh}？", cell, "table", 7.5, entity, attribute)
        yield from self._usable(draft, row.start, row.end, f"{about}{entity}的{attribute}：{cell}", table.section)

    # Lists

    def list_of(self, found: ListPlace, *, is_first: bool) -> Iterator[SourceClaim]:
        """Yield a claim of a list that a sentence or its heading introduces: all of its items.

        `is_first`: no other list of its section is before it, and none has numbers besides it.
        """
        items = [_unmarked(item.text).rstrip("。；;，, ") for item in found.items]
        longest = 2 * _LONGEST_ITEM if found.is_ordered else _LONGEST_ITEM
        if not 2 <= len(items) <= 9 or any(
            not 1 < len(item) <= longest or item.endswith(("：", ":", "？")) for item in items
        ):
            return
        if any(not re.search("[\u4e00-\u9fff]", item) and len(item.split()) > 3 for item in items):
            return  # not translated
        leads = sum(bool(_NAVIGATION.match(item)) or _NUMBERING.sub("", item) in self._titles for item in items)
        if leads * 2 >= len(items):
            return  # to other pages, or to the sections that follow
        if any(re.match(r"[^，。]{1,8}[：:]", item) and _is_label(re.split("[：:]", item)[0]) for item in items):
            return
        heading = _NUMBERING.sub("", found.section.rpartition(SEPARATOR)[2])
        if heading and not found.introduction and items[0].startswith(heading):
            return  # the items are headings themselves
        said = re.sub("[，,]\\s*[，,]", "，", chinese_sentence.unbracketed(found.introduction))
        by_heading = is_first and (not said or _DO_THIS.fullmatch(said))
        asked = self._of_heading(found, items) if by_heading else asked_of(said) if said else ""
        counted = re.search(rf"哪([\d{chinese_words.DIGITS}]+)", asked)
        if not asked or (counted and str(len(items)) not in stated_numbers(counted[1].replace("两", "二"))):
            return
        answer = ("；" if any(re.search("[、，,：]", item) for item in items) else "、").join(items)
        statement = f"{found.introduction or found.section.rpartition(SEPARATOR)[2]}：{answer}"
        draft = Draft(asked, answer, "list", 8.5 if found.introduction else 7.0, "", "")
        yield from self._usable(draft, found.start, found.end, statement, found.section)

    def _enumeration(self, said: str, named: str, start: int, end: int, section: str) -> Iterator[SourceClaim]:
        """Yield a claim of what follows a colon in one sentence, where what is before it announces several things."""
        said, answer = chinese_sentence.OPENING.sub("", said.strip()), _unmarked(named.strip()).rstrip("。；; ")
        items = [item.strip() for item in re.split("、|(?<!、)(?:以及|和|与|及)(?!、)", answer)]
        if "、" not in answer or re.search("[。，；：:]", answer) or not all(1 < len(item) <= 16 for item in items):
            return
        announced = _FOLLOWING.match(said) or _COUNTING.fullmatch(said) or _ENDING.match(said)
        asked = asked_of(said) if announced and not re.search("[是为]$", said) else ""
        counted = re.search(rf"哪([\d{chinese_words.DIGITS}]+)", asked)
        if not asked or (counted and str(len(items)) not in stated_numbers(counted[1].replace("两", "二"))):
            return
        draft = Draft(asked, answer, "list", 8.0, "", "")
        yield from self._usable(draft, start, end, f"{said}：{answer}", section)

    def _of_heading(self, found: ListPlace, items: Sequence[str]) -> str:
        """Ask for the list under a heading that names many, or what is done: "还车的步骤是什么？"."""
        path, _, last = found.section.rpartition(SEPARATOR)
        heading = _NUMBERING.sub("", last).strip(" ：:").rstrip("？?")
        above = self.topic(path)
        if _ASKING.search(heading) and len(heading) <= 40 and not chinese_sentence.points_elsewhere(heading):
            return f"{heading}？"
        if not above or len(heading) > 16 or chinese_sentence.points(heading):
            return ""
        acting = sum(map(_is_action, items))
        if _is_action(heading) and (acting == len(items) or (found.is_ordered and 2 * acting > len(items))):
            about = "" if above in heading else f"关于{above}，"
            how = "是什么" if heading.endswith(("方法", "步骤", "办法", "方式", "流程")) else "的步骤是什么"
            return f"{about}{heading}{how}？" if found.is_ordered else ""
        if (
            not found.title
            or not _MANY.search(heading)
            or not re.fullmatch("[NAMKCU]*[NV]", _letters(heading))
            or _acts(heading)
        ):
            return ""
        wh = "是什么" if heading.endswith(("步骤", "流程", "顺序")) else "有哪些"
        return f"{above}的{heading}{wh}？" if above not in heading else f"{heading}{wh}？"

    # Defined terms

    def definition(self, found: Definition) -> Iterator[SourceClaim]:
        """Yield a claim of a term whose meaning is a noun phrase."""
        yield from self._means(found.start, found.end, found.term, found.meaning, found.section)

    def _means(self, start: int, end: int, term: str, said: str, section: str) -> Iterator[SourceClaim]:
        meaning = _unmarked(said).rstrip("。；; ")
        if _is_label(term) or not is_attribute(term):
            return
        topic, named = self.topic(section), _unbracketed(term)
        if not is_defining(meaning):
            if topic and re.fullmatch(r"[a-z][a-z0-9_.+-]+", named) and _is_purpose(meaning):
                draft = Draft(f"关于{topic}，{named} 的作用是什么？", meaning, "fact", 7.0, named, "作用")
                yield from self._usable(draft, start, end, f"{term}：{meaning}", section)
            return
        about = f"关于{topic}，" if topic and re.fullmatch("[\x20-\x7e]+", term) and topic not in term else ""
        draft = Draft(f"{about}{term}是什么？", meaning, "definition", 8.0, term, "定义")
        yield from self._usable(draft, start, end, f"{term}：{meaning}", section)

    # Headings that ask

    def answered_headings(self, parts: Sequence[Section]) -> Iterator[SourceClaim]:
        """Yield a claim of each section whose heading is a question that its only paragraph answers."""
        text = self._document.text
        for part in parts:
            heading = _NUMBERING.sub("", part.title).strip().rstrip("？?")
            asks = bool(_ASKING.search(heading))
            acts = not asks and len(heading) <= 20 and _is_action(heading)
            if not (acts or asks) or not 5 <= len(heading) <= 40 or chinese_sentence.points_elsewhere(heading):
                continue
            body = text.find("\n", part.start, part.end)
            said = text[body : part.end].strip() if body >= 0 else ""
            if not 6 <= len(said) <= _LONGEST_PARAGRAPH or "\n" in said or re.match(r"[#|>\-*+`\d]", said):
                continue
            start = text.index(said, body)
            answer = " ".join(prose.read(said).text.split())
            above = self.topic(part.path.rpartition(SEPARATOR)[0])
            if acts:
                if (
                    not _INSTRUCTS.match(answer)
                    or re.match(".{0,8}(?:该|此|这|上述)", answer)
                    or chinese_sentence.points_elsewhere(heading)
                ):
                    continue
                heading = f"关于{above}，如何{heading}" if above and above not in heading else f"如何{heading}"
            draft = Draft(f"{heading}？", answer, "fact", 8.0, self.topic(part.path.rpartition(SEPARATOR)[0]), "")
            yield from self._claim(draft, start, start + len(said), f"{heading}？{answer}", part.path)

    # Sentences

    def sentences(self, places: Structure) -> Iterator[SourceClaim]:
        """Yield the claims of sentences outside of code, headings, tables, labelled lines and introduced lists."""
        text = self._document.text
        plain = prose.read(text)
        code = [] if self._document.media_type in _WITHOUT_MARKUP else list(verbatim(text))
        barred = sorted([*code, *headings(self._document), *_barred(places)])
        ends, reach = [], 0
        for _, end in barred:
            reach = max(reach, end)
            ends.append(reach)
        starts = [start for start, _ in barred]
        items = sorted((item.start, item.end) for found in places.lists for item in found.items if not item.items)
        begins = [start for start, _ in items]

        steps = sorted((found.start, found.end) for found in places.lists if found.is_ordered)
        step_begins = [start for start, _ in steps]

        def is_step(left: int) -> bool:
            """Return whether a sentence stands in or after the numbered steps of its section."""
            at = bisect_right(step_begins, left) - 1
            return at >= 0 and section_at(places.sections, left).start <= steps[at][0]

        def is_item(left: int, right: int) -> bool:
            """Return whether a sentence without its mark is all of an item that says what must or must not be."""
            at = bisect_right(begins, right - 1) - 1
            inside = at >= 0 and items[at][0] <= right and abs(items[at][1] - right) <= 1 and left <= items[at][0]
            said = plain.text[slice(*plain.within(*items[at]))] if inside else ""
            return bool(said) and "Z" in chinese_words.codes(chinese_words.read(said))

        for left, right in segmentation.each_sentence(text, "zh"):
            before = bisect_right(starts, right - 1)
            if before and ends[before - 1] > left:
                continue
            start, end = plain.within(left, right)
            while start < end and plain.text[start].isspace():
                start += 1
            if start < end and (_ends_as_sentence(text, right) or is_item(left, right)):
                yield from self._of_sentence(
                    plain.text[start:end], *plain.source(start, end), places.sections, is_step=is_step(left)
                )

    def _of_sentence(
        self, said: str, start: int, end: int, parts: Sequence[Section], *, is_step: bool
    ) -> Iterator[SourceClaim]:
        stated = chinese_sentence.OPENING.sub("", said)
        section = section_at(parts, start).path
        if enumerated := _ENUMERATES.fullmatch(stated):
            yield from self._enumeration(enumerated["said"], enumerated["named"], start, end, section)
        if said.startswith("|") or _LABELLED.match(stated):
            return
        if len(_WILDCARD.findall(self._document.text[start:end])) > len(_WILDCARD.findall(said)):
            return  # a "*" that was read as emphasis
        if re.search("[\u4e00-\u9fff]\\s*[=＝]\\s*", said):
            return
        named = _THIS.sub(lambda match: self._title if self._title.endswith(match[1]) else match[0], said)
        sentence = chinese_sentence.read(_EXCEPTED.sub(r"，\1", named if self._title else said))
        if sentence is None:
            return
        told, plain = ("".join(text.split()) for text in (said, _LATIN_BRACKETS.sub("", said)))
        for draft in chinese_sentences.drafts(sentence)[:3]:
            bracketed = "".join(draft.answer.split()) not in (plain if draft.type == "list" else told)  # it is missing
            if bracketed or (draft.attribute == "禁止" and self._forbids_more(draft)):
                continue
            if draft.attribute == "处理办法" and information(draft.subject) < _CASE:
                continue
            if draft.attribute == "处理办法" and (is_step or draft.answer.startswith("请勿") or self._goes_on(end)):
                continue
            yield from self._claim(draft, start, end, said, section)

    def _forbids_more(self, draft: Draft) -> bool:
        """Return whether the document says more than once what may not be done by the same, without a condition."""
        text, subject = self._document.text, re.escape(draft.subject)
        before = draft.question.partition(draft.subject)[0] if draft.subject else "，"
        bars = "不得|不准|不许|不允许|不可|不能|严禁|禁止|切勿|请勿|不要|不应|不宜"
        return "，" not in before and len(re.findall(f"{subject}[^，。；\n]{{0,6}}(?:{bars})", text)) > 1

    def _goes_on(self, end: int) -> bool:
        """Return whether the sentence after a place is the next step of what is done."""
        return bool(_NEXT_STEP.match(self._document.text, end))


_ENUMERATES = re.compile("(?P<said>[^：:。；]{4,40})[：:](?P<named>[^：:。；]{3,80})[。；]?")
_LATIN_BRACKETS = re.compile(r"[（(][A-Za-z][\x20-\x7e]{0,20}[）)]")
"""An abbreviation or foreign name in brackets, which is not missed in a list."""
_EXCEPTED = re.compile("[（(]([^（）()，]{2,20}(?:除外|例外))[）)](?=[。；]?$)")
"""An exception in brackets, which are left out of a sentence otherwise."""
_WILDCARD = re.compile(r"(?<=[A-Za-z0-9_/.-])\*(?![*A-Za-z0-9])|(?<![*A-Za-z0-9])\*(?=\.\w)")
"""A "*" that stands for any name, and marks no emphasis."""
_CASE = 6.0
"""How much a case has to tell for anybody to ask what to do in it."""
_NEXT_STEP = re.compile(
    "[\\s*_]*(?:然后|再|接着|随后|之后|接下来|最后|最终|此时|这时|随即|选择|单击|点击|按下|\\d+[.)、])"
)
_WITHOUT_MARKUP = ("application/pdf", "text/plain")
"""Texts in which "<script" or "~~~" is no markup, which could go on to the end."""
_THIS = re.compile(
    "本(手册|指南|条例|办法|规定|制度|规范|规程|规约|公告|章程|守则|细则|文档|合同|协议|标准|说明书|须知|通知|教程)"
)
"""A document that names itself: its title says which."""
_LONGEST_PARAGRAPH = 160
_INSTRUCTS = re.compile(
    "(?:请|您可以|你可以|选择|选中|点击|单击|双击|右击|按下?|拖动|打开|使用|执行|运行|在[^，。]{2,20}[中上里]，?(?:选择|点击|单击|按|输入))"
)
_ASKING = re.compile("^(?:如何|怎么|怎样|为什么|什么是|哪)|(?:怎么办|怎么做|吗|呢|多久|多少|是什么|有哪些)$")
_LABELLED = re.compile(r"(?:[【\[][^】\]]{1,8}[】\]])?[^，。；！？]{1,20}[：:](?!\d)")


def _ends_as_sentence(text: str, right: int) -> bool:
    """Return whether a sentence ends with its mark: what does not is a heading, a label or cut off."""
    return text[:right].rstrip("”’」』）)】*_ ")[-1:] in "。！；!;." if right else False


def _barred(places: Structure) -> Iterator[tuple[int, int]]:
    """Yield the ranges of which no sentence is read: tables, key–value lines, lists with an introduction."""
    yield from ((table.start, table.end) for table in places.tables)
    yield from (
        (pair.start, min(pair.end, pair.start + len(pair.key) + 1))
        for pair in places.key_values
        if not chinese_sentence.OPENING.fullmatch(f"{pair.key}：")
    )
    yield from ((found.start, found.end) for found in places.lists if found.introduction)
    yield from ((found.start, found.end) for found in places.definitions)


# Keys and values

_LABELS = candidate.word_set(
    "注 注意 说明 提示 备注 示例 例 例子 例如 举例 正例 反例 警告 重要 参考 摘要 问 答 来源 附 定义 解释 结论"
    " 原因 理由 优点 缺点 总结 小结 推荐 建议 强制 注释 案例 样例 目的 背景 结果 输出 输入 命令 代码 用法 格式 Q"
    " A 注意事项 温馨提示 特别提示 重要提示 补充 补充说明 扩展 思考 图 表 图片 链接 更多 详见 参见 另见 译者注"
    " Notes Note 提示 编者按 正确 错误 好 坏"
)
_GENERIC_KEYS = candidate.word_set("其他 其它 其余 合计 总计 小计 内容 信息 情况 部分")
_RELATIONAL = re.compile(
    "(?:人|者|员|师|长|经理|期|期限|(?<![变常向矢])量|率|值|数|度|级|号|费|费用|(?<!评)价|价格|金额|地址|地点|位置|时间|日期|电话|邮箱|热线|网址|邮编|面积|功率|容量|尺寸|大小"
    "|版本|名称|类型|方式|范围|产地|部门|单位|语言|重量|颜色|材质|压力|寿命|噪声|频率|规模|品牌|型号|格式|标准|上限|下限|标题)$"
)
_MANY = re.compile(
    "(?:材料|条件|步骤|流程|要求|职责|功能|特点|优点|缺点|优势|原则|事项|方式|类型|种类|目标|权利|义务|措施|方法|症状|原因|资料|文件|内容)$"
)


def _is_label(key: str) -> bool:
    return key.strip("【】[]*“” ：:") in _LABELS or bool(
        re.fullmatch(r".{0,4}(?:示例|例|注|图|表)\s*[\d一二三四五六七八九十.-]*", key)
    )


_FOOTNOTE = re.compile(r"\s*(?<![A-Za-z0-9_)\]])\[\d{1,3}\](?=$|[\s，。；、,;)）])")


def _unmarked(text: str) -> str:
    """Return a text without the marks of its footnotes: "上游源码树。[72]"."""
    return _FOOTNOTE.sub("", text).strip()


def _unbracketed(text: str) -> str:
    return re.sub(r"（[^（）]*）|\([^()]*\)", "", text).strip()


def is_attribute(key: str) -> bool:
    """Return whether a key or a column's title is a noun phrase, and no label such as "注意"."""
    key = _unbracketed(key.strip())
    if (
        _is_label(key)
        or key in _GENERIC_KEYS
        or not 2 <= len(key) <= 16
        or chinese_sentence.points(key)
        or re.search("[，。？?！!：:“”]", key)
    ):
        return False
    letters = chinese_words.codes(chinese_words.read(key))
    told = not re.match(r"[VD]*[ZDPR]|A+U", letters)  # "新的命令" is said of what is on the row
    return told and bool(re.fullmatch(r"[NAVMKCUTF]*[NMV]|N+F|[NVA]+", letters))


def is_value(value: str) -> bool:
    """Return whether a value is a noun phrase, a name, a number or a time, and no sentence."""
    if not 1 <= len(value) <= 40 or "。" in value or chinese_sentence.points(value) or re.search("[？?！!]", value):
        return False
    if re.search("待定|暂无|^无$|见|详|如", value):
        return False
    letters = chinese_words.codes(chinese_words.read(value))
    return bool(re.fullmatch(r"(?:[NAMTFKCUXPE,:]|V(?=[NU]))+V?", letters)) and not letters.startswith("P")


def is_defining(meaning: str) -> bool:
    """Return whether a meaning is a noun phrase of some length."""
    if not 6 <= len(meaning) <= chinese_sentence.LONGEST_ANSWER + 20 or chinese_sentence.points(meaning[:6]):
        return False
    letters = chinese_words.codes(chinese_words.read(meaning))
    first = letters.partition(",")[0]
    nominal = letters[-1:] == "N" and first[-1:] == "N" and "U" in first
    return nominal and not re.search("^[ZDPOV]|Z", letters) and not re.search("[。→]", meaning)


def _is_purpose(meaning: str) -> bool:
    """Return whether a meaning says in one clause what something does: "从 Git 仓库中构建软件包"."""
    if not 6 <= len(meaning) <= 40 or chinese_sentence.points(meaning) or re.search("[。，；：!！→]", meaning):
        return False
    words = chinese_words.read(meaning)
    letters = chinese_words.codes(words)
    acts = [place for place, word in enumerate(words) if word.tag in ("v", "vn") and len(word.text) > 1]
    begins = re.match("用|将|把|从", meaning) or (words[0].tag == "v" and "U" not in letters)
    if words[0].text in chinese_sentence.WEAK_VERBS or words[0].text in ("支持", "适用", "包含", "包括", "含有"):
        return False
    return bool(begins and acts) and letters[-1] in "NF" and not re.search("[ZRO]|^VU", letters)


_AMOUNT = re.compile(
    r"(?:约|近|不超过|不少于|至少|最多|不低于|不高于|[<>≤≥±¥￥$])?\s*[\d一二两三四五六七八九十百千万亿][\d,.]*(?:\s*[-–—~～至到]\s*\d[\d,.]*)?[万亿]?"
    r"\s*(?:个(?:工作|自然)日|(?!次性)[\u4e00-\u9fff]{1,3}|[A-Za-zμ%‰℃°²³]+)?(?:/[^，/]{1,4}|以[上下内]|左右|（[^）]*）)?"
)
_CLOCKS = re.compile(r"\d\s*[:：]\s*\d\d|[周星]期?[一二三四五六日]|\d\s*[年月日号点]|每[天周月年]|[上下]午")


def _type(wh: str, value: str) -> QuestionType:
    numeric = bool(_AMOUNT.fullmatch(value)) and not re.fullmatch(r"[\d\s()+-]{4,}", value)
    return "number" if wh == "是什么时候" or (wh in ("是多少", "是多久") and numeric) else "fact"


def _is_amount(value: str) -> bool:
    """Return whether a value is a number with its unit, and no word that begins like one: "百分比"."""
    return bool(_AMOUNT.fullmatch(value)) and (bool(re.search(r"\d", value)) or chinese_words.read(value)[0].tag == "m")


def _wh(key: str, value: str) -> str:
    """Return the predicate that asks for a value of this form under this key."""
    head = _unbracketed(key)
    if _CLOCKS.search(value) and head.endswith(("时间", "日期", "日", "时段")):
        return "是什么时候"
    if chinese_sentence.is_person(head) and not re.search(r"\d", value):
        return "是谁"
    names = chinese_words.read(value)
    if len(value) > 1 and all(word.tag[:2] == "nr" for word in names) and _is_doing(head):
        return "是谁"  # "指挥"
    if head.endswith(("地址", "地点", "位置")):
        return "在哪里"
    if _DURATION.search(head) and not re.search(r"\d{4}|[-–—~～至]\s*\d", value):
        return "是多久"
    if _is_amount(value) or _COUNTED.search(head):
        return "是多少"
    return "是什么"


_COUNTED = re.compile("(?:电话|号码|热线|编号|邮编|次数|天数|数量|金额|价格|票价|单价|售价|费用|押金)$")
"""What is asked for by "多少", also where its value is no number: "不限", "成人40元"."""


_DURATION = re.compile("(?:周期|时长|工期|期限|年限|时限|寿命|[效质修用借租任聘]期)$")


def _is_doing(key: str) -> bool:
    """Return whether a key ends in a verb: "故障处理"."""
    return chinese_words.read(_unbracketed(key))[-1].tag[0] == "v"


# Tables

_NAMED_ROW = re.compile("[^，。；？]{2,24}")
_NO_CELL = re.compile("是|否|有|无|支持|不支持|[YNyn]|yes|no|同上|不适用|N/A|待定|可选|必填|[-—–/]+")
_COMPARED = candidate.word_set("功能 项目 指标 属性 对比项 比较项 特性 内容 维度 权益 服务项目")
_DESCRIBES = re.compile("(?:说明|描述|含义|作用|单位|取值|备注|用途|解释|示例|默认值?)$")


def _first_named(table: Table) -> int:
    """Return the column that names the rows: the second where the first numbers them."""
    numbers = [row.cells[0].strip(".、") for row in table.rows]
    return int(re.fullmatch(r"序号|编号|No\.?|#|", table.header[0]) is not None or all(map(str.isdigit, numbers)))


def _names_of_rows(table: Table) -> list[str]:
    return [row.cells[_first_named(table)] for row in table.rows]


def _attributes_are_rows(table: Table, names: Sequence[str]) -> bool:
    """Return whether rows are attributes and columns what has them, as in a table that compares products."""
    first = _first_named(table)
    titles = table.header[first + 1 :]
    if any(_RELATIONAL.search(_unbracketed(title)) or _DESCRIBES.search(title) for title in titles):
        return False
    if len(titles) > 1 and len({title[-2:] for title in titles}) == 1 and min(map(len, titles)) > 2:
        return True  # "最低配置", "推荐配置": things of one kind
    related = sum(bool(_RELATIONAL.search(_unbracketed(name))) for name in names)
    return table.header[first] in _COMPARED or 2 * related > len(names)


def _is_kind(title: str) -> bool:
    """Return whether the title of the column of names says what they are: "软件包", and not "名称"."""
    letters = chinese_words.codes(chinese_words.read(title)) if title else ""
    form = re.search("名$|名称|名字|项目|编号|序号|代码|值$|标识|类型|功能", title)
    return bool(re.fullmatch("[NA]{0,2}N", letters)) and 2 <= len(title) <= 8 and form is None


def _is_action(text: str) -> bool:
    """Return whether a text says what to do: it begins with a verb, maybe after where, with what or how."""
    letters = chinese_words.codes(chinese_words.read(text))
    acts = re.match("[将把]", text) or re.match(r"(?:D|T|P[NAMTCKUV]{1,6}F?)*V", letters)
    return bool(acts) and "B" not in letters


# Introductions of lists

_FOLLOWING = re.compile(
    r"^(?P<before>.*?)(?:以下|下列|下面|如下|下述|这些|这(?=[几\d一二两三四五六七八九十]))(?:的)?(?:(?P<count>[\d一二两三四五六七八九十]+|几)(?P<unit>个|种|项|类|点|条|步|方面|大)?)?(?:的)?(?P<kind>[^，。：:]*)$"
)
_SEVERAL = re.compile(
    r"(?P<before>[^，]{0,24}?)有(?:[几多\d一二两三四五六七八九十]+[个种类项]|许多|很多|若干)(?P<kind>[^，]{2,14})"
)
_ENDING = re.compile(r"^(?P<before>.{2,}?)(?P<verb>主要包括|包括|包含|分为|主要有|有|分别是|分别为|主要是|是|为)$")


_LONGEST_ITEM = 60
_NAVIGATION = re.compile(
    r"(?:上|下|前|后)一?(?:页|级|节|章|篇)|起始页|首页|主页|目录|返回|(?:prev(?:ious)?|next|home|up)\b", re.IGNORECASE
)
"""What leads from page to page."""
_DO_THIS = re.compile(
    "请?您?(?:可以)?(?:执行|按照?|进行|完成|采用|使用)?(?:以下|下列|下面|如下)的?(?:操作|步骤|方法|方式)(?:执行|进行|操作)?"
)
_AIM = re.compile(
    "(?P<aim>(?:要|如果要|若要|想要|如果想|如果您想)[^，,]{4,})[，,]\\s*请?您?(?:可以)?(?:执行|使用|采用)"
)


def _letters(text: str) -> str:
    return chinese_words.codes(chinese_words.read(text))


def asked_of(introduction: str) -> str:
    """Return the question that a list with this introduction answers, "" where it cannot be told.

    >>> asked_of("报销时需要提交以下材料"), asked_of("以下情况不在保修范围内"), asked_of("更换步骤如下")
    ('报销时需要提交哪些材料？', '哪些情况不在保修范围内？', '更换步骤是什么？')
    """
    said = chinese_sentence.OPENING.sub("", introduction.strip()).strip(" ，,：:")
    said = re.sub(rf"^(?:共|总共|一共)?有(?:[\d{chinese_words.DIGITS}]+|几|多)[个种类项条](?=..)", "", said)
    if re.match("请?(?:考虑|注意|参|查看|看|记住)|尽管|虽然|即使|由于|因为", said) or re.fullmatch(_DO_THIS, said):
        return ""
    if match := _FOLLOWING.match(said):
        return "" if _counts_more(match) else _of_following(match)
    if (match := _COUNTING.fullmatch(said)) and _counts_what_follows(match):
        return f"{match['before']}哪{match['count']}{match['kind']}？"
    if (match := _SEVERAL.fullmatch(said)) and not chinese_sentence.points(match["before"] + match["kind"]):
        return f"{match['before']}有哪些{match['kind']}？"
    if (match := _ENDING.match(said)) and not match["before"].endswith(("不", "没", "以", "因", "称")):
        before, verb = match["before"], match["verb"]
        many = {
            "包括": "包括哪些",
            "包含": "包含哪些",
            "主要包括": "主要包括哪些",
            "分为": "分为哪些",
            "主要有": "主要有哪些",
            "有": "有哪些",
        }
        asked = many.get(verb, "分别是什么" if verb.startswith("分别") else "是什么")
        return f"{before}{asked}？"
    letters = _letters(said)
    named = letters[-1:] == "N" and "VM" not in letters and not re.search("[参详另]见|阅读|参考", said)
    if len(said) <= 16 and is_attribute(said) and named:  # "入职材料："
        return f"{said}{'是什么' if said.endswith(('步骤', '流程', '顺序')) else '有哪些'}？"
    return ""


_COUNTING = re.compile(
    rf"(?P<before>[^，]{{2,24}}?)\s*(?P<count>(?:[2-9]|[{chinese_words.DIGITS[2:]}])\s*[个种类项条大])(?P<kind>[^，的]{{2,8}})"
)


def _counts_what_follows(match: re.Match[str]) -> bool:
    """Return whether an introduction ends with how many there are of a kind: "温室分为三个区域"."""
    before, kind = _letters(match["before"]), _letters(match["kind"])
    told = re.fullmatch(r"[NAMUVZDKCPF]*N[F]?[DZ]*[VB]L?", before) and re.fullmatch("[NA]*N", kind)
    return bool(told) and not chinese_sentence.points(match["before"] + match["kind"])


_COUNT = re.compile(rf"(?:[\d{chinese_words.DIGITS}几多]+\s*[个种类项条]|许多|很多|若干|[很非]常?多的)(?!人)")


def _counts_more(match: re.Match[str]) -> bool:
    """Return whether what follows is of another noun than the one after "这些": "这些命令使用3个分支"."""
    whole, at = match.string, match.end("before")
    if whole[at] != "这":
        return False
    before, kind = match["before"] or "", match["kind"] or ""
    return match["count"] == "一" or bool(_COUNT.search(before) or _COUNT.search(kind))


def _of_following(match: re.Match[str]) -> str:
    before, count, unit, kind = (match[name] or "" for name in ("before", "count", "unit", "kind"))
    if _letters(before) == "P" or re.search("[把将]$", before):
        return ""  # "为下列任务选择一个图表"
    led = before.rpartition("，")[0]
    if led and not (chinese_sentence.CIRCUMSTANCE.search(led) or re.match("如果|若|要|想|当|对于|为|在|除", led)):
        return ""  # "打开文档，并使用下列工具"
    if kind.startswith("任一") or kind.endswith("之一"):
        aim = _AIM.fullmatch(before)
        return f"{aim['aim']}，有哪些办法？" if aim else ""
    if kind and not unit and not before and re.match("[PZVDUL]", _letters(kind)):
        return ""  # "以下按降序列出"
    if kind.startswith("所"):
        return ""
    if count == "一" and not unit:  # "以下一系列路径"
        count, kind = "", kind.removeprefix("系列").removeprefix("些")
    if not kind and not unit:
        before = before.removesuffix("是").rstrip("，")
        if len(before) < 2 or re.search("[，]$", before) or not re.search("[NV]$", _letters(before)):
            return ""
        return (
            f"{before}是什么？"
            if before.endswith(("步骤", "流程", "顺序", "方法", "公式", "定义"))
            else f"{before}有哪些？"
        )
    if kind.startswith(("是", "为")):
        return f"{kind[1:]}有哪些？" if not before and len(kind) > 3 else ""
    which = f"哪{count}{unit}" if count and count != "几" and unit else f"哪{count}{unit}" if count == "几" else "哪些"
    kind = kind.removesuffix("之一")
    return f"{before}{which}{kind}？" if kind or unit else ""


def _entities(text: str) -> tuple[str, ...]:
    """Return the names in a text, and its noun phrases that are rare by jieba's dictionary, each once, in order."""
    phrases = [phrase for phrase in keyphrases.key_phrases(text, "zh") if phrase.kind not in ("number", "date")]
    rare = [p.text for p in phrases if p.kind.startswith("entity:") or information(p.text) >= _UNKNOWN]
    return tuple(dict.fromkeys(rare))
