"""Comparisons: two claims that say the same of different things, as a column of a table does of its rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from ragviz.backends.terms import HAN_RUN
from ragviz.claims.candidate import word_set
from ragviz.claims.chinese_sentence import is_person
from ragviz.claims.english_clauses import Tree
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import joined_draft
from ragviz.generation.comparable_values import are_alike, are_measured, items, share_words
from ragviz.generation.entities import Claims, bare, holds, is_entity, kind, normal
from ragviz.generation.joined_draft import JoinedDraft, can_join, is_usable, lead, lowered, order
from ragviz.generation.noun_phrases import NounPhrase, noun_phrases
from ragviz.generation.sections_beside import SectionsBeside, is_of_heading, place_of
from ragviz.text.stems import content_words, stem
from ragviz.text.words import parse

_QUANTITY = re.compile(
    r"(?P<before>[$€£¥]?)\s*(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s*(?P<unit>\D{0,20})"
)
_HIGHER = re.compile(r"[$€£¥%％℃°]|dollars?|euros?|percent|元|美元")
_TIME = re.compile(r"\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|h|min|s|ms)\b", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(?:miles?|kilomet(?:er|re)s?|met(?:er|re)s?|feet|foot|inch(?:es)?|km|cm|mm|m)\b", re.IGNORECASE
)
_LONG = re.compile(
    r"\b(?:time|duration|length|period|term|timeline|deadline|wait|delay|notice|distance|stay|leave|loan|lease|range|warranty"
    r"|guarantee|flight|validity|retention|lifetime)\w*$",
    re.IGNORECASE,
)
_IN = "\0"
_TAIL = re.compile(r" in “[^”]+”(?=\?$)")
_DATE = re.compile(r"(?:1[5-9]|20)\d{2}(?:\s*年.*)?")
_NO_THING = re.compile(r"\d|(?:totals?|sum|average|mean|all|other|others|合计|总计|小计|平均|其他)$", re.IGNORECASE)
_PATH = re.compile(r"\S*(?:/\S+|\w)\.[A-Za-z]{1,5}|(?:\S*/){2,}\S*")
_REPEATED = 0.1
"""How much worse each further comparison of one column is, so that others come first."""
_NO_ATTRIBUTE = re.compile(
    r"(?:the )?(?:(?:long|short|high|low|larg|great|small|bigg|old|new|fast|slow|earli|lat|cheap|few|deep|near)est"
    r"|most|least)\b",
    re.IGNORECASE,
)
"""A superlative is of one thing: of two longest loans none is the longer."""
_CROSSED = re.compile(r"what is listed for ", re.IGNORECASE)
"""How a cell is asked for that no title names alone: an amount under "Adult" is no adult; a number under "Days" is."""
_COUNT = re.compile(r"(?:total )?(?:number|amount|count|quantity|share|rate)s?\b", re.IGNORECASE)
_ORDINAL = word_set("st nd rd th")
_VAGUE = word_set(
    "item items use details detail resource resources file files example examples name title description notes note"
    " comments comment id no link url email e-mail phone telephone address"
)
_CHINESE_VAGUE = word_set("名称 姓名 说明 备注 描述 编号 序号 链接 网址 邮箱 电话 地址")

TITLE = {"en": 6, "zh": 12}
"""Words of the attribute that is compared (Chinese: characters), at most."""
SAME = 1 / 2
"""Share of the words of two names that are equal where things of no table are alike."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, "" for none."""

    number: Decimal
    unit: str


def quantity(answer: str) -> Quantity | None:
    """Return the number that is all of an answer, with its unit; None of dates, ranges, codes and other text.

    >>> quantity("$1,250"), quantity("21 days").unit, quantity("2021"), quantity("3 to 5 days")
    (Quantity(number=Decimal('1250'), unit='$'), 'day', None, None)
    """
    match = _QUANTITY.fullmatch(answer.strip().rstrip("."))
    if match is None or _DATE.fullmatch(answer.strip()):
        return None
    unit = normal(match["unit"]) or match["unit"].strip()
    if unit in _ORDINAL or len(unit.split()) > 2 or re.search(r"[/–-]", match["unit"]):
        return None
    return Quantity(Decimal(match["number"].replace(",", "")), match["before"] or unit)


def comparable(corpus: Claims, seed: int = 0) -> Iterator[tuple[SourceClaim, SourceClaim]]:
    """Yield pairs of claims with one attribute about different things: of a section, of a document, of the corpus.

    Their values are alike (`comparable_values`), and outside of one table the things are, too; so are those that
    sections beside each other are about, where these have the same attributes, two at least. Every claim is in two
    pairs of each sort at most: neighbours in an order that the seed decides.
    """
    groups: dict[tuple[str, ...], list[SourceClaim]] = defaultdict(list)
    beside: dict[tuple[str | frozenset[str], ...], list[SourceClaim]] = defaultdict(list)
    sections = SectionsBeside(corpus.all)
    for claim in _named_by_nouns([claim for claim in map(_of_owner, corpus.all) if _is_comparable(claim)]):
        if is_of_heading(claim) and len(attributes := sections.attributes(claim)) > 1:
            beside[normal(claim.attribute), *place_of(claim), attributes].append(claim)
        groups[claim.language, normal(claim.attribute), claim.document_id, claim.section].append(claim)
    wider: dict[tuple[str, ...], list[SourceClaim]] = defaultdict(list)
    for key, claims in groups.items():
        if len({normal(claim.subject) for claim in claims}) > 1:
            yield from _worth_asking(claims, seed)
        else:
            wider[*key[:2], kind(claims[0].subject, key[0])].extend(claims[:1])
    for key, claims in wider.items():
        if key[2]:  # things of one kind: "the north desk", "the south desk"
            yield from _worth_asking(claims, seed)
    for claims in beside.values():
        yield from _worth_asking(claims, seed)


def _of_owner(claim: SourceClaim) -> SourceClaim:
    """Return a Chinese claim about “A的B” that is asked for its B as one about A: “育苗区的温度”."""
    owner = claim.subject.removesuffix(f"的{claim.attribute}")
    is_owned = claim.language == "zh" and bool(claim.attribute and owner) and owner != claim.subject
    return replace(claim, subject=owner) if is_owned else claim


def _worth_asking(claims: Sequence[SourceClaim], seed: int) -> Iterator[tuple[SourceClaim, SourceClaim]]:
    """Yield neighbours whose things and values are alike, so that a person could want to know the difference."""
    counts = Counter(item for claim in claims for item in set(items(claim.answer)))
    choice = {item for item, count in counts.items() if count > 1}  # values that a column repeats
    for one, other in _neighbours(claims, seed):
        language = one.language
        larger = _larger(one, other) is not None
        if one.type == other.type == "table":
            persons = language == "zh" and is_person(bare(one.attribute))  # "分别是谁"
            worth = larger or persons or are_alike(one.answer, other.answer, language, choice)
        else:
            worth = (
                larger
                or are_measured(one.answer, other.answer)
                or share_words(one.subject, other.subject, language, SAME)
            )
            worth = worth or (_same_kind(one, other) and are_alike(one.answer, other.answer, language, choice))
        if worth:
            yield one, other


def _same_kind(one: SourceClaim, other: SourceClaim) -> bool:
    return bool(form := kind(one.subject, one.language)) and form == kind(other.subject, other.language)


def _neighbours(claims: Sequence[SourceClaim], seed: int) -> Iterator[tuple[SourceClaim, SourceClaim]]:
    ordered = sorted(claims, key=lambda claim: order(claim, seed))
    for one, other in pairwise(ordered):
        if normal(one.subject) != normal(other.subject):
            first, second = sorted((one, other), key=lambda claim: (claim.document_id, claim.start))
            yield first, second


def _is_comparable(claim: SourceClaim) -> bool:
    named = bool(claim.attribute) and is_entity(claim.subject, claim.language)
    named = named and not holds(claim.subject, claim.attribute) and not _NO_THING.match(bare(claim.subject))
    size = quantity(claim.answer)
    is_crossed = size is not None and bool(size.unit) and bool(_CROSSED.match(lead(claim.question)[1]))
    named = named and not _NO_ATTRIBUTE.match(claim.attribute) and not is_crossed
    named = (
        named
        and claim.subject.count('"') % 2 == 0
        and not _PATH.fullmatch(bare(claim.subject))
        and _is_title(claim.attribute, claim.language)
    )
    defined = claim.language == "zh" and claim.type == "definition"  # of two things of no kind, nothing is compared
    return named and can_join(claim) and not _is_vague(claim) and not defined


def _is_title(attribute: str, language: str) -> bool:
    """Return whether an attribute can be the title of a column: short, no sentence, in the question's language."""
    text = bare(attribute)
    if not text[:1].isalnum() or re.search(r"[.!?。！？；]\s|[.!?。！？；]$|: ", attribute.strip()):
        return False
    if language == "zh":
        return len(text) <= TITLE["zh"]
    return len(text.split()) <= TITLE["en"] and not HAN_RUN.search(text)


def _named_by_nouns(claims: Sequence[SourceClaim]) -> list[SourceClaim]:
    """Return the claims whose English attribute is a noun phrase: "close the window" and "helps with" are none."""
    attributes = sorted({bare(claim.attribute) for claim in claims if claim.language != "zh"})
    trees = zip(attributes, parse([_in_sentence(each) for each in attributes], "en"), strict=True) if attributes else ()
    nouns = {each for each, words in trees if words and _is_noun(Tree(_in_sentence(each), words))}
    return [claim for claim in claims if claim.language == "zh" or bare(claim.attribute) in nouns]


def _in_sentence(attribute: str) -> str:
    """Return a noun phrase where a parser reads one: a title alone is taken for a verb too often."""
    return f"They differ in {attribute.lower() if attribute.istitle() or attribute.isupper() else lowered(attribute)}."


def _is_noun(tree: Tree) -> bool:
    """Return whether what stands after "They differ in" is a noun phrase."""
    return any(
        word.dep == "pobj" and word.tag[:2] == "NN" and tree.low(word.head) == "in" and word.head == 2
        for word in tree.words
    )


def _is_vague(claim: SourceClaim) -> bool:
    """Return whether the attribute is one that tells everything apart, or one of no content."""
    words = content_words(claim.attribute, claim.language)
    return not words or words[-1] in (_CHINESE_VAGUE if claim.language == "zh" else _VAGUE)


def comparisons(corpus: Claims, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield comparisons of what stands in different quotes and differs; each further one of a column is worse."""
    made: Counter[tuple[str, ...]] = Counter()
    for one, other in comparable(corpus, seed):
        if _asks_for_unit(one, other):
            continue
        if apart(one, other, corpus) and normal(one.answer) != normal(other.answer):
            is_empty = _may_be_codes(one, other) or _repeat_subjects(one, other)
            draft = _larger(one, other) or (None if is_empty else _differ(one, other))
            if draft is not None and is_usable(draft):
                column = (one.document_id, one.section, normal(one.attribute))
                yield replace(draft, score=draft.score - min(made[column] * _REPEATED, 1.0))
                made[column] += 1
    yield from _of_patterns(corpus, seed)


def _asks_for_unit(one: SourceClaim, other: SourceClaim) -> bool:
    """Return whether the attribute is the unit of both values, or money without what it is for: "euros"."""
    units = {found.unit for claim in (one, other) if (found := quantity(claim.answer))}
    return units == {normal(one.attribute)} or bool(_HIGHER.fullmatch(bare(one.attribute).lower()))


def apart(one: SourceClaim, other: SourceClaim, corpus: Claims) -> bool:
    """Return whether neither quote has the other's answer or is said elsewhere; two rows may be of one table."""
    if one.document_id == other.document_id and one.start < other.end and other.start < one.end:
        return False
    if holds(one.quote, other.answer) or holds(other.quote, one.answer):
        return False
    return all(corpus.search.count(claim.quote) == 1 for claim in (one, other))


def _may_be_codes(one: SourceClaim, other: SourceClaim) -> bool:
    """Return whether both answers are bare numbers, which need not measure anything."""
    return all(re.fullmatch(r"[\d.,]+", claim.answer.strip()) for claim in (one, other))


def _repeat_subjects(one: SourceClaim, other: SourceClaim) -> bool:
    """Return whether answers say only what their subjects are called: of "Quay", "QUAY (west)", and of "Lock" as well.

    Without the words of their subjects they are equal, and both have some of these.
    """
    said = [content_words(claim.answer, claim.language) for claim in (one, other)]
    named = [{stem(word) for word in content_words(claim.subject, claim.language)} for claim in (one, other)]
    rest = [[word for word in words if stem(word) not in own] for words, own in zip(said, named, strict=True)]
    return rest[0] == rest[1] and all(len(left) < len(words) for left, words in zip(rest, said, strict=True))


def _larger(one: SourceClaim, other: SourceClaim) -> JoinedDraft | None:
    """Ask which of two numbers with the same unit is the larger one."""
    sizes = quantity(one.answer), quantity(other.answer)
    if sizes[0] is None or sizes[1] is None or sizes[0].unit != sizes[1].unit or sizes[0].number == sizes[1].number:
        return None
    plural = bool(re.fullmatch(r"[a-z ]+[^s]s", _attribute(one)))
    if not sizes[0].unit and not plural:  # it may be a code
        return None
    more, less = (one, other) if sizes[0].number > sizes[1].number else (other, one)
    a, b = subject(one), subject(other)
    if one.language == "zh":
        question = (
            f"{_topic(one, other)}{a}和{without_owner(b, a)}相比，哪一个的{_attribute(one)}{_chinese_more(one)}？"
        )
        answer = f"{subject(more)}（{more.answer}，{subject(less)}为{less.answer}）"
    else:
        word = _english_more(one)
        counted = plural and word not in ("higher", "longer") and not _COUNT.match(_attribute(one))
        which = f"which has {'more' if counted else f'the {word}'} {_attribute(one)}"
        question = _placed(one, other, f"{which}{_IN}, {a} or {b}?")
        answer = f"{subject(more)} ({more.answer}, against {less.answer} for {subject(less)})"
    return joined_draft.of_claims("comparison", (one, other), question, answer, entity=one.attribute, bonus=1.0)


def without_owner(name: str, other: str) -> str:
    """Return a name without the owner that the other one has before it, too: “拐杖” of “医务室的拐杖”."""
    owner = name[: name.rfind("的") + 1]
    return name.removeprefix(owner) if other.startswith(owner) else name


def _english_more(claim: SourceClaim) -> str:
    """Return the comparative that goes with the attribute and its unit: a time is longer, a price higher."""
    answer = claim.answer
    if _HIGHER.search(answer):
        return "higher"
    if _TIME.search(answer) or _LENGTH.search(answer):
        return "longer" if _LONG.search(claim.attribute) else "greater"
    return "greater"


def _topic(one: SourceClaim, other: SourceClaim) -> str:
    """Return the topic that Chinese questions have before them, if it is the same one or only one names it."""
    topics = {lead(claim.question)[0] for claim in (one, other)} - {""}
    return topics.pop() if len(topics) == 1 else ""


def _chinese_more(claim: SourceClaim) -> str:
    """Return "更…" as the attribute is measured: a time is long, a price high, a count large."""
    attribute, answer = bare(claim.attribute), claim.answer
    if re.search("[次天人]?数量?$|[次天人]数$", attribute):
        return "更多"
    if re.search("[期长久]$|[期时年]限$|时间$|距离$|寿命$", attribute):
        return "更长"
    if re.search("[元角分]$|[￥¥%％℃]", answer) or re.search("[价费率温]$|金额$|价格$|费用$", attribute):
        return "更高"
    return "更重" if attribute.endswith("重") else "数值更大"


def _differ(one: SourceClaim, other: SourceClaim) -> JoinedDraft:
    a, b = subject(one), subject(other)
    if one.language == "zh":
        differ = "分别是谁" if is_person(bare(one.attribute)) else "有什么不同"
        question = f"{_topic(one, other)}{a}和{without_owner(b, a)}的{_attribute(one)}{differ}？"
        answer = f"{a}：{one.answer}；{b}：{other.answer}"
    else:
        question = _placed(one, other, f"how do {a} and {b} differ in {_attribute(one)}{_IN}?")
        answer = f"{a}: {one.answer}; {b}: {other.answer}"
    return joined_draft.of_claims("comparison", (one, other), question, answer, entity=one.attribute)


def _placed(one: SourceClaim, other: SourceClaim, question: str) -> str:
    """Return an English question with what both questions say of where it holds: before it, or at `_IN`."""
    before = {lead(claim.question)[0] for claim in (one, other)}
    ends = {match[0] if (match := _TAIL.search(claim.question)) else "" for claim in (one, other)}
    tail = ends.pop() if len(ends) == 1 else ""
    text = question.replace(_IN, tail)
    text = f"{before.pop()}{text}" if len(before) == 1 else text
    return text[:1].upper() + text[1:]


def _attribute(claim: SourceClaim) -> str:
    """Return the attribute as inside a sentence: a title of a column in capitals, as all around it are, is no name."""
    text = bare(claim.attribute)
    if claim.language == "zh":
        return text
    text = re.sub(r"\((e?s)\)", r"\1", text)  # "architecture(s)" of two things
    shouted = [word for word in re.findall(r"[A-Z]{2,}", text) if len(word) > 3]
    return text.lower() if shouted and text.isupper() else lowered(text)


def subject(claim: SourceClaim) -> str:
    """Return the subject as its question has it: with its article or in its quotation marks, without a capital The."""
    name = bare(claim.subject)
    at = claim.question.lower().find(name.lower())
    if at < 0:
        return name
    before, after = claim.question[:at], claim.question[at + len(name) :]
    if before[-1:] in ("“", '"', "《", "「") and after[:1] in ("”", '"', "》", "」"):
        return f"{before[-1]}{name}{after[0]}"
    article = re.search(r"\b([Tt]he|[Aa]n?)\s$", before)
    return f"{article[1].lower()} {name}" if article else name


def _of_patterns(corpus: Claims, seed: int) -> Iterator[JoinedDraft]:
    """Yield comparisons of claims whose questions differ by their subject alone: "… do each of A and B …?"."""
    groups: dict[tuple[str, str], list[SourceClaim]] = defaultdict(list)
    for claim in corpus.all:
        pattern = _pattern(claim)
        if pattern and can_join(claim):
            groups[claim.language, pattern].append(claim)
    for (language, _), claims in groups.items():
        pairs = [pair for pair in _neighbours(claims, seed) if apart(*pair, corpus) and _are_of_a_kind(*pair)]
        found = noun_phrases([(one.question, one.subject) for one, _ in pairs], language) if pairs else ()
        for (one, other), phrase in zip(pairs, found, strict=False):
            if phrase is None or phrase.plural or phrase.possessive or normal(one.answer) == normal(other.answer):
                continue
            draft = _each(one, other, phrase)
            if is_usable(draft):
                yield draft


def _are_of_a_kind(one: SourceClaim, other: SourceClaim) -> bool:
    alike = _same_kind(one, other) or share_words(one.subject, other.subject, one.language, SAME)
    return alike or are_measured(one.answer, other.answer)


def _pattern(claim: SourceClaim) -> str:
    """Return the question without its subject, "" where too little is left to compare by."""
    rest = f" {normal(claim.question)} ".replace(f" {normal(claim.subject)} ", " _ ")
    telling = content_words(lead(claim.question)[1].replace(bare(claim.subject), " "), claim.language)
    fits = not claim.attribute and claim.subject and claim.type not in ("definition", "list", "table")
    return rest if fits and " _ " in rest and len(telling) >= 2 else ""


def _each(one: SourceClaim, other: SourceClaim, phrase: NounPhrase) -> JoinedDraft:
    a, b = subject(one), subject(other)
    together = f"{a}和{b}分别" if one.language == "zh" else f"each of {a} and {b}"
    separator = ("：", "；") if one.language == "zh" else (": ", "; ")
    answer = separator[1].join(f"{s}{separator[0]}{claim.answer}" for s, claim in ((a, one), (b, other)))
    return joined_draft.of_claims("comparison", (one, other), phrase.replaced(together), answer, bonus=-1.0)
