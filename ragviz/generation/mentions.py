"""What passages say about a rare entity: sentences that name it, each the only one of its document or section to do so.

A sentence that no question can be made of by grammar still says something about what it names: "What do “Fairs” and
“Stalls” each say about the Harbour Guild?". Where another sentence of the document names it too, that would be asked
as well, so the section has to tell them apart.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ragviz.backends.terms import HAN_RUN
from ragviz.claims import chinese_sentence
from ragviz.claims.candidate import word_set
from ragviz.claims.english_clauses import Tree
from ragviz.claims.sections import Section, name_of, section_at, sections, title_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.statement import Named, Statement, named_at
from ragviz.claims.structure import structure
from ragviz.core.document import Document
from ragviz.generation.entities import RARE, Claims, bare, holds, is_entity, normal
from ragviz.index.headings import headings, verbatim
from ragviz.questions.units import units
from ragviz.text import prose, segmentation
from ragviz.text.stems import content_words, stem
from ragviz.text.words import parse

SENTENCES = 24
"""Sentences about one entity that are looked at, at most: one of more is not rare."""
PARSED = 1_000
"""Sentences that are parsed in addition to those that claims were made of, at most: some seconds."""
TOGETHER = 3
"""Sentences in a row that name an entity, at most."""
LENGTH = {"en": (6, 60), "zh": (12, 130)}
"""Words of what is said (Chinese: characters), from and to."""
TITLE = {"en": 12, "zh": 24}
"""Words of the title of a document or section that a question names (Chinese: characters)."""
ABOUT = 2
"""Role of an entity in what is said about it at least: its subject or object (`Named.role`)."""
ABOUT_A_NAME = 1
"""The same of an English name, which may be an adverbial, too: "works with the Harbour Guild"."""
SUBJECT = 3
"""Role of the subject of a sentence."""
LISTED = 20
"""Documents that hold a rare entity at most, with those that only list it."""
SCORE = 6.0
"""How good a question is for what a passage says; a quarter more for each step of the entity's role in it."""
GENERAL = 2.0
"""How much worse it is for a general term: it comes after the others."""

_CHINESE_NAME = re.compile(
    r"[“「《](?P<quoted>[^“”「」《》，。；]{2,16})[”」》]|(?<![\w.@/-])[A-Za-z][\w.+-]{1,30}(?![\w@/-])"
)
_SIGN = re.compile(r"https?:|\||[<>{}=\\]|…|\.\.\.|\[[ xX]?\]|\(\s*\)|[\u2190-\u2bff\U0001f000-\U0001faff]")
_ASIDE = re.compile(r"\s\([^()]{1,120}\)")
_MARKER = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_ELSEWHERE = re.compile(
    r"\b(?:following|as follows|above|below|previous|aforementioned|the (?:latter|former|same)|(?:our|the) example)\b"
    r"|^(?:Note|Example)\b",
    re.IGNORECASE,
)
_ELSEWHERE_ZH = re.compile("如下|以下|下列|上述|前者|后者|下面的|上面的|下图|上图")
_LEANS = re.compile(
    r"\b(?:this|these|those|such|also|however|therefore|thus|hence|instead|otherwise|moreover|furthermore"
    r"|nevertheless|consequently|accordingly|meanwhile)\b|,? though\.?$"
    r"|^(?:so|but|and|or|nor|yet|then|too|again|unfortunately|fortunately|similarly|likewise|conversely|indeed|besides"
    r"|finally|additionally|for (?:example|instance)|in (?:addition|fact|particular|short|turn)|as a result|at that"
    r"|(?:\w+ )?(?:it|they|them|its|their|he|she))\b",
    re.IGNORECASE,
)
"""What needs the sentence before it: a demonstrative, a word that continues it, or a pronoun that opens."""
_LEANS_ZH = re.compile("^(?:因此|所以|因而|但|然而|不过|可是|而且|并且|同时|此外|另外|于是|然后|也|还)")
_GOES_ON = re.compile(
    r"(?:It|They|This|These|That|Those|Its|Their|He|She|His|Her|Instead|However|Therefore|Otherwise|Then|Also"
    r"|In (?:addition|that case)|For (?:example|instance))\b"
    r"|(?:它|他|她|这|该|其|此|但|不过|然而|因此|另外|此外|例如|比如)"
)
"""How a sentence begins that goes on about what the one before it is about."""
_CUT = re.compile(
    r"\b(?:and|or|has|have|is|are|was|were|the|an?|of|to|in|for|with|by|on|at|from|that|which)[.!]?$", re.IGNORECASE
)
_PRESSED = re.compile(r"(?:点击|单击|双击|右击|按下|按住|勾选|选中|选择|取消|清除|启用|禁用|[点按])(?:了|一下)?\s*$")
_OPENED = re.compile(r"(?:打开|关闭|进入|切换到|转到)\s*$")
_CONTROL = re.compile(
    r"\s*(?:按钮|菜单|对话框|选项卡|选项|复选框|单选框|[框栏]|图标|命令|窗口|视图|列表|页面|面板|区域|标签|工具栏|字段|键|开关)"
)
_ENGLISH_CONTROL = re.compile(
    r"[\s\"”*'’]*(?:button|menu|dialog|tab|checkbox|check box|icon|field|panel|toolbar|switch|section|key)s?\b",
    re.IGNORECASE,
)
_CONTROL_NAME = re.compile(r" (?:button|menu|dialog|tab|checkbox|check box|icon|toolbar)s?$", re.IGNORECASE)
"""What a name ends in that is of a control itself: "Help menu"."""
_ENGLISH_PRESSED = re.compile(
    r"\b(?:click|press|tap|select|choose|hit|tick|check)(?: on)?(?: the)?[\s\"“*'‘]*$", re.IGNORECASE
)
_PREPOSITION_ZH = re.compile(
    r"(?:[在从用向对与和由以将把给跟于]|通过|根据|关于|按照|使用|利用|例如|比如|称为|叫做?)\s*$"
)
_SPELT_OUT = re.compile(r"(?P<name>[A-Z][\w’'-]*(?:[ \n][\w’'&-]+){1,6}) \((?P<short>[A-Z]{2,5}s?)\)")
_QUOTES = '「」『』“”"《》'
_ABBREVIATION = re.compile(r"[A-Z]{2,5}s?")
_SMALL = word_set("of for and the in to & de la van von")
_Naming = tuple[str, int, Named]  # a document's id, where a sentence of it begins, and what it names


@dataclass(frozen=True, slots=True)
class Mention:
    """What a passage says about an entity, as a claim, and the title by which a question says where that stands.

    `title` is that of its document, `section` that of its section where other sections name the entity, too, else "".
    `phrase` is the entity as a question names it: with its article, or in quotation marks. `is_subject`: it is the
    subject of its sentence; `is_general`: it is a general term of the corpus.
    """

    claim: SourceClaim
    title: str
    section: str
    phrase: str
    is_subject: bool
    is_general: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """Sentences at [start, end) of a document that name an entity, in plain text; the `first` to do so without asides.

    `named_at` is where that one begins; what is before it and after the last one is needed to understand them.
    """

    document: Document
    start: int
    end: int
    named_at: int
    first: str
    text: str
    title: str
    section: str
    path: str

    @property
    def language(self) -> str:
        """The language of the document, as questions are made: "en" or "zh"."""
        return _language(self.document)


@dataclass(frozen=True, slots=True)
class _Read:
    """A document as it is read: where its sentences outside of code, headings, keys and tables are, and its titles."""

    document: Document
    plain: prose.Prose
    starts: Sequence[int]
    ends: Sequence[int]
    headings: Sequence[tuple[int, int]]
    title: str
    parts: Sequence[Section]
    titles: Counter[str]


def mentions(corpus: Claims) -> dict[str, list[Mention]]:
    """Return what is said about each rare entity, by its normal form, in the order of the documents.

    Of two documents with one title neither can be asked about as a whole.
    """
    read = cache(lambda document_id: _read(corpus.documents[document_id]))
    defined, terms = _defined(corpus), _terms(corpus)
    titles = Counter(normal(_title(document)) for document in corpus.documents.values())
    found: dict[str, list[tuple[_Found, Named | None]]] = {}
    names, frequent = dict[str, str](), _most_frequent_capitalised(corpus)
    for entity, naming in sorted(_named(corpus).items()):
        names[entity] = name = _most_frequent(named.name for *_, named in naming)
        if (
            not (_is_one_thing(name, defined) or (entity in terms and name.isascii() and " " in bare(name)))
            or len(naming) > SENTENCES
            or not (corpus.is_rare(name) or _is_rarely_spoken_of(corpus, name, naming))
            or not any(named.role for *_, named in naming)
            or _is_label(corpus, name)
        ):
            continue
        at = {(document_id, start): named for document_id, start, named in naming}
        own = [each for each in _found(corpus, name, read) if titles[normal(each.title)] == 1]
        own = [each for each in own if each.language == "zh" or _is_written(name, each.text)]
        if own:
            found[entity] = [(each, at.get((each.document.id, each.named_at))) for each in own]
    _parse_more(found)
    made = dict[str, list[Mention]]()
    for entity, places in found.items():
        name = names[entity]
        is_general = _is_general(corpus, name, frequent)
        told = [
            _mention(each, named, name, is_general=is_general)
            for each, named in places
            if named and named.role >= _least_role(name, each.language, defined)
        ]
        if told:
            made[entity] = told
    return made


def _least_role(name: str, language: str, defined: Collection[str]) -> int:
    return ABOUT_A_NAME if language != "zh" and _is_one_thing(name, defined) else ABOUT


def _is_rarely_spoken_of(corpus: Claims, name: str, naming: Sequence[_Naming]) -> bool:
    """Return whether sentences of two to five documents name an entity, and few others do in headings and tables."""
    return len({document_id for document_id, *_ in naming}) in RARE and len(corpus.search.documents(name)) <= LISTED


def _terms(corpus: Claims) -> set[str]:
    """Return the terms that the documents themselves treat as one thing: a heading of several words, or defined."""
    titles = (part.title for document in corpus.documents.values() for part in sections(document))
    defined = (claim.subject for claim in corpus.all if claim.type == "definition")
    return {form for name in (*titles, *defined) if len((form := normal(name)).split()) > 1}


def _defined(corpus: Claims) -> set[str]:
    """Return the abbreviations that documents spell out, and all in the same way: "Harbour Watch Office (HWO)"."""
    found: dict[str, set[str]] = defaultdict(set)
    for document in corpus.documents.values():
        for match in _SPELT_OUT.finditer(document.text):
            words = [word for word in re.split(r"[\s-]+", match["name"]) if word not in _SMALL]
            letters = match["short"].removesuffix("s")
            if len(words) >= len(letters) and [word[0].upper() for word in words[-len(letters) :]] == list(letters):
                found[letters].add(normal(" ".join(words[-len(letters) :])))
    return {letters for letters, names in found.items() if len(names) == 1}


def _is_one_thing(name: str, defined: Collection[str] = ()) -> bool:
    """Return whether an English name is of one thing wherever it stands: no common noun, no short abbreviation alone.

    "Storage media" are others in every passage, and "IDE" can be short for several things, if it is not `defined`. Any
    Chinese name is.

    >>> _is_one_thing("Tide Gate"), _is_one_thing("USB port"), _is_one_thing("storage media"), _is_one_thing("IDE")
    (True, True, False, False)
    """
    if HAN_RUN.search(name):
        return True
    text = bare(name)
    first, _, rest = text.partition(" ")
    mixed = first.isalpha() and first.islower() and rest != rest.lower()  # of "email Ann Lee", a verb
    if re.match(r"(?:Appendix|Chapter|Section|Part|Figure|Table|Page|Step|Example) \S+$", text):
        return False
    if re.fullmatch(
        r"[A-Z][a-z]+(?: [a-z]+)* [a-z]+[^\Wsui]s", text
    ):  # "Member cards": common nouns, of several things
        return False
    known = not _ABBREVIATION.fullmatch(text) or text.removesuffix("s") in defined
    return known and not mixed and any(char.isupper() or char.isdigit() for char in text)


def _most_frequent_capitalised(corpus: Claims) -> str:
    """Return the word, capitalised, that most documents hold in names: what they are all about; "" for a rare one."""
    words = {
        word
        for own in corpus.statements.values()
        for statement in own
        for each in statement.names
        for word in bare(each.name).split()
        if word[:1].isupper() and word.isascii()
    }
    counts = {word: len(corpus.search.documents(word)) for word in words}
    first = min(counts, key=lambda word: (-counts[word], word), default="")
    return first if counts.get(first, 0) >= RARE.stop else ""


def _is_general(corpus: Claims, name: str, frequent: str) -> bool:
    """Return whether a name is a general term: not rare, or an abbreviation or a product with a common noun.

    "USB port" and "Harbour file" are, where other documents speak of a USB cable and of files; a rare name in capitals
    throughout is one only by the word that the corpus is all about.
    """
    words = bare(name).split()
    if not corpus.is_rare(name):
        return True
    if HAN_RUN.search(name) or len(words) < 2:
        return False
    if all(word[:1].isupper() or word in _SMALL for word in words):
        return frequent in words
    told = [word for word in words if word not in _SMALL]
    return any(len(corpus.search.documents(word)) >= RARE.stop for word in told)


def _is_label(corpus: Claims, name: str) -> bool:
    """Return whether a name is a label on a screen somewhere: one that is clicked, or that a control has."""
    if re.search(r"\S\s+(?:-|>|→|▸)\s+\S|[,，、]", name) or _CONTROL_NAME.search(bare(name)):
        return True
    for document_id, start in corpus.search.starts(name):
        document = corpus.documents[document_id]
        end = start + len(bare(name))
        before, after = document.text[max(start - 24, 0) : start], document.text[end : end + 24]
        if document.language == "zh":
            quoted = before[-1:] in _QUOTES and after[:1] in _QUOTES
            verb, noun = before.rstrip(_QUOTES), after.lstrip(_QUOTES)
            on_screen = quoted and bool(_PRESSED.search(verb) or _CONTROL.match(noun))
            if on_screen or (before[-1:] == "「" and _OPENED.search(verb)):
                return True
        elif _ENGLISH_PRESSED.search(before) or _ENGLISH_CONTROL.match(after):
            return True
    return False


def _is_written(name: str, text: str) -> bool:
    """Return whether a text has a name with its capitals, in another number perhaps: "Terminal", not "a terminal"."""
    wanted = bare(name).split()
    written = [text[start:end] for _, start, end in units(text)]
    parts = [bare(name)[start:end] for _, start, end in units(bare(name))]
    if len(parts) < len(wanted):  # of a name with signs
        return bare(name) in text
    return any(
        all(
            normal(one) == normal(other) and one[:1].isupper() == other[:1].isupper()
            for one, other in zip(parts, written[at : at + len(parts)], strict=True)
        )
        for at in range(len(written) - len(parts) + 1)
    )


def _parse_more(found: dict[str, list[tuple[_Found, Named | None]]]) -> None:
    """Parse the sentences of which no claim was made, as far as two passages say something of their entity."""
    asked = {
        entity: [each.first for each, named in own if named is None and each.language != "zh"]
        for entity, own in found.items()
        if len(own) > 1
    }
    texts = list[str]()
    for entity in sorted(asked, key=lambda entity: (-len({each.document.id for each, _ in found[entity]}), entity)):
        texts += asked[entity] if len(texts) + len(asked[entity]) <= PARSED else []
    texts = list(dict.fromkeys(texts))
    trees = zip(texts, parse(texts, "en"), strict=True) if texts else ()
    read = {text: Tree(text, words) for text, words in trees}
    for entity, own in found.items():
        found[entity] = [
            (each, named or (_named_at(read[each.first], entity) if each.first in read else None))
            for each, named in own
        ]


def _named_at(tree: Tree, entity: str) -> Named | None:
    """Return an entity as a parsed sentence names it; None where the sentence says nothing about it."""
    wanted = [stem(word) for word in entity.split()]
    said = [(stem(unit), start, end) for unit, start, end in units(tree.sentence)]
    for at in range(len(said) - len(wanted) + 1):
        if [unit for unit, _, _ in said[at : at + len(wanted)]] == wanted:
            start, end = said[at][1], said[at + len(wanted) - 1][2]
            return None if "/" in tree.sentence[start:end] else named_at(tree, start, end)
    return None


def _named(corpus: Claims) -> dict[str, list[_Naming]]:
    """Return the sentences that say something about each name or compound noun, by its normal form."""
    found: dict[str, list[_Naming]] = defaultdict(list)
    for document_id, document in corpus.documents.items():
        language = _language(document)
        own = _chinese_statements(document) if language == "zh" else corpus.statements.get(document_id, ())
        for statement in own:
            for each in statement.names:
                if is_entity(each.name, language) and "/" not in each.name:
                    found[normal(each.name)].append((document_id, statement.start, each))
    return found


def _most_frequent(texts: Iterable[str]) -> str:
    """Return the text that is given most often, of those the first in order."""
    counts = Counter(texts)
    return min(counts, key=lambda text: (-counts[text], text))


def _language(document: Document) -> str:
    return "zh" if document.language == "zh" else "en"


def _chinese_statements(document: Document) -> Iterator[Statement]:
    """Yield the sentences that hold a name by its form: in quotation marks, or in Latin letters."""
    for start, end in segmentation.each_sentence(document.text, "zh"):
        text = document.text[start:end]
        names = dict.fromkeys(match["quoted"] or match.group() for match in _CHINESE_NAME.finditer(text))
        if names:
            yield Statement(start, end, tuple(Named(name, "", _chinese_role(text, name)) for name in names))


def _chinese_role(text: str, name: str) -> int:
    """Return 3 of a name that a Chinese sentence begins with, 2 of one that begins a clause or follows a verb, else 1.

    After a preposition nothing is said about the name.
    """
    before = text[: text.find(name)].rstrip(_QUOTES + " ")
    if not before or before[-1] in "，；：":
        return 2 if before else 3
    last = parse([before[-12:]], "zh")[0][-1:]
    return 2 if last and last[0].tag[:1] == "v" and not _PREPOSITION_ZH.search(before) else 1


# Passages


def _read(document: Document) -> _Read:
    found, heads = structure(document), list(headings(document))
    barred = [
        *verbatim(document.text),
        *heads,
        *((table.start, table.end) for table in found.tables),
        *((pair.start, pair.start + len(pair.key) + 1) for pair in found.key_values),
    ]
    starts, ends = list[int](), list[int]()
    bars, reach = sorted(barred), 0
    at = 0
    for start, end in segmentation.each_sentence(document.text, _language(document)):
        while at < len(bars) and bars[at][0] < end:
            reach, at = max(reach, bars[at][1]), at + 1
        if reach <= start:
            starts.append(start)
            ends.append(end)
    parts = sections(document)
    titles = Counter(normal(part.title) for part in parts)
    return _Read(document, prose.read(document.text), starts, ends, heads, _title(document), parts, titles)


def _title(document: Document) -> str:
    return " ".join((title_of(document) or name_of(document)).split())


def _found(corpus: Claims, name: str, read: Callable[[str], _Read]) -> Iterator[_Found]:
    """Yield what documents, or sections of them, say of a name."""
    by_document: dict[str, list[int]] = defaultdict(list)
    for document_id, start in corpus.search.starts(name):
        by_document[document_id].append(start)
    for document_id, starts in by_document.items():
        yield from _in_document(name, read(document_id), starts)


def _in_document(name: str, read: _Read, starts: Sequence[int]) -> Iterator[_Found]:
    """Yield what each section says of a name, or the document where only one section names it, headings aside.

    That are the sentences that name it, if they follow each other.
    """
    rows: dict[str, list[int | None]] = defaultdict(list)
    for at in starts:
        if read.document.text[max(at - 1, 0) : at] == "-":  # a part of a longer word: "non-Harbour"
            continue
        if _is_spoken(read, at) and not _is_in_heading(read, at):
            rows[section_at(read.parts, at).path].append(_sentence_at(read, at))
    for path, own in rows.items():
        numbers = sorted({row for row in own if row is not None})
        if None in own or not numbers or numbers[-1] - numbers[0] >= TOGETHER:
            continue
        named_at = read.starts[numbers[0]]
        first = _ASIDE.sub("", _plain(read, named_at, read.ends[numbers[0]]))
        start = _begins(read, numbers[0], first)
        if start is None:
            continue
        end = _ends(read, numbers[-1])
        section = "" if len(rows) == 1 else _own_title(read, section_at(read.parts, start))
        text, language = _plain(read, start, end), _language(read.document)
        if (
            all(_can_name(title, language) for title in (read.title, section) if title)
            and (section or len(rows) == 1)
            and not holds(f"{read.title} {section}", name)
            and "\n\n" not in read.document.text[start:end]
            and not _CUT.search(text)
            and _is_readable(text, language, is_item=_is_item(read.document.text, start))
        ):
            yield _Found(read.document, start, end, named_at, first, text, read.title, section, path)


def _begins(read: _Read, number: int, first: str) -> int | None:
    """Return where what is said begins: with the sentence before one that cannot be understood alone, else with it.

    None where that one needs another, too, or stands in another paragraph.
    """
    language = _language(read.document)
    if not _leans(first, language):
        return read.starts[number]
    if not number or _is_paragraph(read.document.text[read.ends[number - 1] : read.starts[number]]):
        return None
    before = _plain(read, read.starts[number - 1], read.ends[number - 1])
    return None if _leans(before, language) else read.starts[number - 1]


def _ends(read: _Read, number: int) -> int:
    """Return where what is said ends: with the sentences after it that go on about the same."""
    while number + 1 < len(read.starts):
        start, end = read.starts[number + 1], read.ends[number + 1]
        between = read.document.text[read.ends[number] : start]
        if _is_paragraph(between) or not _GOES_ON.match(_plain(read, start, end)):
            break
        number += 1
    return read.ends[number]


def _is_paragraph(between: str) -> bool:
    """Return whether what is between two sentences ends a paragraph or an item of a list."""
    return "\n\n" in between or bool(re.search(r"\n\s*(?:[-*+•]|\d{1,2}[.)])\s", between))


def _is_spoken(read: _Read, at: int) -> bool:
    """Return whether a character of a document is read: it is no part of an address or of markup."""
    first, last = read.plain.within(at, at + 1)
    return first < last


def _is_in_heading(read: _Read, at: int) -> bool:
    number = bisect_right(read.headings, (at, len(read.document.text))) - 1
    return number >= 0 and at < read.headings[number][1]


def _sentence_at(read: _Read, at: int) -> int | None:
    """Return the number of the sentence that holds a character, None for a table, a key or code."""
    number = bisect_right(read.starts, at) - 1
    return number if number >= 0 and at < read.ends[number] else None


def _own_title(read: _Read, section: Section) -> str:
    """Return the title of a section that no other of its document has, "" where it has none."""
    title = section.title
    known = read.titles[normal(title)] == 1 and bool(content_words(title, _language(read.document)))
    return title if known and normal(title) != normal(read.title) else ""


def _can_name(title: str, language: str) -> bool:
    size = len(title) if language == "zh" else len(title.split())
    return 0 < size <= TITLE[language] and not re.search(r"[“”\"《》\[\]{}]|[:：]$", title)


def _plain(read: _Read, first: int, last: int) -> str:
    start, end = read.plain.within(first, last)
    return " ".join(read.plain.text[start:end].split())


def _is_item(text: str, start: int) -> bool:
    """Return whether a marker of a list stands before a character on its line."""
    line = text[text.rfind("\n", max(start - 40, 0), start) + 1 : start]
    return bool(_MARKER.fullmatch(line))


def _is_readable(text: str, language: str, *, is_item: bool) -> bool:
    """Return whether sentences are whole, and no markup is left in them; an item needs no full stop."""
    if _SIGN.search(text) or any(text.count(a) != text.count(b) for a, b in ("“”", "()", "（）", "《》", "[]")):
        return False
    fewest, most = LENGTH[language]
    if language == "zh":
        fits = fewest <= len(text) <= most and text.rstrip("”」）")[-1:] in "。！"
        fits = fits and not _ELSEWHERE_ZH.search(text)
        return fits and not chinese_sentence.points(text) and not chinese_sentence.CONTINUES.match(text)
    end = text.rstrip("”\"')*_")[-1:]
    ends = end in (".", "!") or (is_item and end.isalnum())
    whole = ends and not text[0].islower() and "?" not in text and not _ELSEWHERE.search(text)
    return whole and fewest <= len(text.split()) <= most


def _leans(text: str, language: str) -> bool:
    """Return whether a sentence cannot be understood without the one before it."""
    return bool((_LEANS_ZH.match if language == "zh" else _LEANS.search)(text))


# Questions


def _mention(found: _Found, named: Named, name: str, *, is_general: bool) -> Mention:
    document, language = found.document, found.language
    name = bare(name)
    phrase = _as_named(name, named.article, language)
    asked = said_about(phrase, [(found.title, found.section)], language)
    claim = SourceClaim(
        document.id, found.start, found.end, document.text[found.start : found.end], "fact", asked, found.text,
        found.text, name, language, "", found.path, (name,), SCORE + named.role / 4 - GENERAL * is_general,
    )  # fmt: skip
    return Mention(claim, found.title, found.section, phrase, named.role == SUBJECT, is_general)


def _as_named(name: str, article: str, language: str) -> str:
    """Return an entity as a question names it: a common noun in quotation marks, a name with its article."""
    if language == "zh":
        return f"“{name}”"
    is_name = all(word[:1].isupper() or word[:1].isdigit() or word in _SMALL for word in name.split())
    return f"{article} {name}".strip() if is_name else f"“{name}”"


def said_about(phrase: str, places: Sequence[tuple[str, str]], language: str) -> str:
    """Return what asks for what each place, a title and a section ("" for all of it), says about an entity.

    >>> said_about("the Harbour Guild", [("Fairs", ""), ("Stalls", "Fees")], "en")
    'What do “Fairs” and “Fees” in “Stalls” each say about the Harbour Guild?'
    >>> said_about("the Harbour Guild", [("Stalls", "Rent"), ("Stalls", "Fees")], "en")
    'In “Stalls”, what do “Rent” and “Fees” each say about the Harbour Guild?'
    >>> said_about("“港口公会”", [("集市", "")], "zh")
    '《集市》是怎么说“港口公会”的？'
    """
    titles = {title for title, _ in places}
    if language == "zh":
        named = [f"《{title}》的“{section}”" if section else f"《{title}》" for title, section in places]
        together = f"{'、'.join(named[:-1])}和{named[-1]}分别" if len(named) > 1 else named[0]
        return f"{together}是怎么说{phrase}的？"
    if len(titles) == 1 and all(section for _, section in places):
        lead, named = f"In “{places[0][0]}”, what", [f"“{section}”" for _, section in places]
    else:
        lead, named = "What", [f"“{section}” in “{title}”" if section else f"“{title}”" for title, section in places]
    if len(named) == 1:
        return f"{lead} does {named[0]} say about {phrase}?"
    comma = "," if len(named) > 2 else ""
    return f"{lead} do {', '.join(named[:-1])}{comma} and {named[-1]} each say about {phrase}?"
