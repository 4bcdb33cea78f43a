"""Checks of a judge's reply against the text it is about; none of them calls a model.

A reply is refused for what no honest reading of the text yields: no claims of a text that states something, letters for
claims, another language, words that the text does not hold, one statement over and over, the schema's own words. A
reply is judged as a whole: it is refused when more than `MOST_ODD` of its statements are odd, for a true claim may be
worded freely (names instead of pronouns, numbers in words).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from pydantic import BaseModel

from ragviz.text import language, segmentation

MOST_ODD = 0.5
"""Share of the statements of a reply that may fail a check."""
GROUNDED = 0.25
"""Share of a statement's words, numbers and ideographs that occur in its text (with the question), at least."""
FEW = 3
"""A text of so many content words, or fewer, can be reworded completely."""

_IDEOGRAPH = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Ideographs, and the letters of other scripts that are written without blanks: each is one unit."""
_CHINESE = re.compile(f"[{language.IDEOGRAPH}\u3041-\u30ff\uff66-\uff9f]")
_DIGITS = re.compile(r"\d[\d.,:/-]*")
_UNIT = re.compile(rf"[{_IDEOGRAPH}]|(?:(?![{_IDEOGRAPH}\d_])\w)+|#")
_STEM = 4
"""First letters by which words are compared: replaced, replacement."""

_SMALL_WORDS = (
    "a an the of and or but nor to in on at by for from with as if so is are was were be been being am do does did has"
    " have had can could will would shall should may might must i me my we us our you your he him his she her it its"
    " they them their this that these those there here what which who whom whose when where why how not no than then"
    " also any all some such into over under about after before during between the text answer says states"
)
_NUMBERS_IN_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion once"
    " twice first second third half dozen"
)
_YES_AND_NO = "yes no true false 是 否 不是 有 没有 能 不能 可以 不可以 会 不会 对 不对"
_SMALL, _NUMBER_WORDS, _YES_OR_NO = (
    frozenset(words.split()) for words in (_SMALL_WORDS, _NUMBERS_IN_WORDS, _YES_AND_NO)
)
_SMALL_IDEOGRAPHS = frozenset(
    "的了是在和与及或也都就有为以于对被把由从到这那其之个中上下不没吗呢吧而且所什么哪谁怎样如何"
)
_NUMBER_IDEOGRAPHS = frozenset("〇零一二三四五六七八九十百千万亿两半")

_DENIAL = re.compile(
    r"\b(?:not?|none|never|nothing|neither|nor|cannot|without|sorry|un(?:able|known|clear|certain|specified|stated|mentioned|answered))\b"
    r"|n['’]t\b|[不没沒无無未]|抱歉|对不起",
    re.IGNORECASE,
)
_SAYING = re.compile(
    r"\b(?:know\w*|tell|told|says?|said|stat(?:e|es|ed|ing)|mention\w*|specif\w+|provid\w+|contain\w*|includ\w+|found|find"
    r"|inform\w+|answer\w*|context|passages?|documents?|texts?|sources?|clear|unclear|certain|sure|unknown|sorry|unable"
    r"|determin\w+|confirm\w*|availab\w+|discuss\w*|describ\w+|address\w*|indicat\w+|given|data|details?|help)\b"
    r"|知道|了解|清楚|提到|提及|提供|说明|说到|讲到|包含|涉及|给出|找到|查到|告诉|回答|答案|信息|资料|内容|段落|文本|文中"
    r"|文档|上下文|确定|判断|推断|得知|记载|明确|抱歉|对不起|帮助",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:depend\w*|may|might|could|perhaps|possibl[ey]|probably|maybe|usually|generally|typically|various|please"
    r"|contact|consult|refer|see|check|ask)\b|取决于|视.{0,6}而定|可能|也许|大概|一般|通常|请|建议|咨询|参考|参见|联系",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)\b"
    r"|是否|能否|可否|有没有|是不是|吗[？?]?\s*$",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def units(text: str) -> frozenset[str]:
    """Return what two texts can share: stems of words, ideographs, and "#" for any number, in digits or in words.

    >>> sorted(units("The pump was replaced in seven days.")), sorted(units("北阀门于2021年更换。"))
    (['#', 'days', 'pump', 'repl'], ['#', '北', '年', '换', '更', '门', '阀'])
    """
    folded = _DIGITS.sub("#", unicodedata.normalize("NFKC", text).casefold())
    result = set()
    for unit in _UNIT.findall(folded):
        if unit in _NUMBER_WORDS or unit in _NUMBER_IDEOGRAPHS:
            result.add("#")
        elif unit not in _SMALL and unit not in _SMALL_IDEOGRAPHS:
            result.add(unit[:_STEM])
    return frozenset(result)


def plain(text: str) -> bool:
    """Return whether some sentence of `text` states something: it is no question and no refusal.

    >>> plain("1998"), plain("The passages do not tell when."), plain("抱歉，文中没有提到。"), plain("Why?"), plain("…")
    (True, False, False, False, False)
    """
    sentences = (text[start:end] for start, end in segmentation.sentences(text, language.detect(text)))
    worded = (each for each in sentences if any(character.isalnum() for character in each))
    return any(each.rstrip("\"'”’」』）) ")[-1:] not in ("?", "？") and not refuses(each) for each in worded)


def refuses(sentence: str) -> bool:
    """Return whether a sentence refuses, by a denial of saying or knowing: "It is not stated.", "无法确定。".

    >>> refuses("I do not know."), refuses("The valve must not be opened."), refuses("文中未提及更换时间。")
    (True, False, True)
    """
    return bool(_DENIAL.search(sentence) and _SAYING.search(sentence)) or _bare(sentence) in ("n a", "none", "unknown")


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def evades(text: str) -> bool:
    """Return whether a text may be called evasive: it holds a denial, a hedge, a question, or hardly a content word."""
    return bool(_DENIAL.search(text) or _HEDGE.search(text)) or "?" in text or "？" in text or len(units(text)) <= FEW


def claims_problem(claims: Sequence[str], text: str, question: str, reply: type[BaseModel]) -> str:
    """Return what is wrong with the claims of `text`, an answer to `question`; "" when nothing is."""
    claims = [claim for claim in claims if claim.strip()]
    if not claims:
        return "a reply without a claim, though the text says something" if plain(text) else ""
    made_up = [claim for claim in claims if not grounded(claim, text, question)]
    return (
        _in_pieces(claims, text, "claims")
        or _repeated(claims, "claims")
        or _of_schema(claims, text, reply, "claims")
        or _foreign(claims, (text, question), "claims")
        or _complaint(made_up, len(claims), "claims that the text does not make")
    )


def asked_back_problem(questions: Sequence[str], text: str, question: str, reply: type[BaseModel]) -> str:
    """Return what is wrong with questions that `text` would answer; "" when nothing is."""
    questions = [each for each in questions if each.strip()]
    if not questions:
        return "a reply without a question that the text would answer" if plain(text) else ""
    other = [each for each in questions if not _shares(each, f"{text} {question}")]
    return (
        _in_pieces(questions, "", "questions")
        or _of_schema(questions, f"{text} {question}", reply, "questions")
        or _foreign(questions, (text, question), "questions")
        or _complaint(other, len(questions), "questions about something else")
    )


def bank_problem(
    pairs: Sequence[tuple[str, str]], reference: str, reply: type[BaseModel], *, chinese: bool = False
) -> str:
    """Return what is wrong with (key information, question) pairs about `reference`; "" when nothing is.

    Questions asked for in Chinese may be `chinese` whatever the reference is: a name, say.
    """
    pairs = [(key, question) for key, question in pairs if question.strip()]
    if not pairs:
        return "a reply without a question, though the text says something" if plain(reference) else ""
    questions = [question for _, question in pairs]
    other = [each for each in (f"{key} {question}" for key, question in pairs) if not _shares(each, reference)]
    return (
        _in_pieces(questions, "", "questions")
        or _repeated(questions, "questions")
        or _of_schema(questions, reference, reply, "questions")
        or ("" if chinese else _foreign(questions, (reference,), "questions"))
        or _complaint(other, len(pairs), "questions about something else than the text")
    )


def answers_problem(answers: Sequence[tuple[str, str | None]], text: str, *, own: bool) -> str:
    """Return what is wrong with (question, answer) pairs of `text`, answer None for unanswerable; "" when nothing is.

    An answer occurs in the text, as words or as a number; yes and no answer a yes-or-no question. Of a text's `own`
    questions, made from it, some are answerable; but not of a word or a number alone.
    """
    if not answers:
        return "a reply that answers none of the questions, not even as unanswerable"
    if own and all(answer is None for _, answer in answers) and len(units(text)) > FEW and plain(text):
        return "a reply that finds no answer in the very text that the questions were made from"
    pairs = [(question, answer) for question, answer in answers if answer is not None]
    odd = [
        answer
        for question, answer in pairs
        if not (_bare(answer) in _YES_OR_NO and _YES_NO.search(question))
        and not (_shares(answer, text) or _holds(text, answer))
    ]
    return _complaint(odd, len(pairs), "answers that the text does not hold")


def _holds(text: str, phrase: str) -> bool:
    """Return whether a phrase occurs in a text, as whole words where the script has blanks between words."""
    bare, bare_phrase = _bare(text), _bare(phrase)
    return bare_phrase in bare if re.search(f"[{_IDEOGRAPH}]", bare_phrase) else f" {bare_phrase} " in f" {bare} "


def grounded(claim: str, text: str, question: str = "") -> bool:
    """Return whether a claim may come from `text`: it shares words with it, and enough of them with text and question.

    >>> text, question = "Harlow did, in 1998.", "Who replaced the north pump?"
    >>> grounded("Harlow replaced the north pump.", text, question), grounded("Dogs stay outside.", text, question)
    (True, False)
    """
    claim_units, text_units = units(claim), units(text)
    if not claim_units:
        return _holds(text, claim)
    known = text_units | units(question)
    enough = len(claim_units & known) >= max(1.0, GROUNDED * len(claim_units))
    return enough and (len(text_units) <= FEW or bool(claim_units & text_units))


def _shares(statement: str, text: str) -> bool:
    return bool(units(statement) & units(text))


def distinct(statements: Iterable[str]) -> list[int]:
    """Return the places of the statements that repeat no earlier one, ignoring capitals and punctuation."""
    first: dict[str, int] = {}
    for place, statement in enumerate(statements):
        first.setdefault(_bare(statement) or statement.strip(), place)
    return sorted(first.values())


def _repeated(statements: Sequence[str], what: str) -> str:
    count = len(statements)
    again = count - len(distinct(statements))
    return f"a reply in which {again} of {count} {what} repeat an earlier one" if again > MOST_ODD * count else ""


def _in_pieces(statements: Sequence[str], text: str, what: str) -> str:
    """Complain of letters, words and ideographs, which are no statements, unless the text itself is no longer."""
    whole, odd = _bare(text), []
    for each in statements:
        rest, ideographs = re.subn(f"[{_IDEOGRAPH}]", " ", each)
        size = 2 * ideographs / 3 + len(re.findall(r"\w+", rest))  # three ideographs count as two words
        if size < 2 and not (whole and 2 * len(_bare(each)) >= len(whole)):
            odd.append(each)
    return _complaint(odd, len(statements), f"{what} that are single letters or words")


def _of_schema(statements: Sequence[str], text: str, reply: type[BaseModel], what: str) -> str:
    """Complain of the schema's descriptions of its fields, which are no statements."""
    descriptions, whole, odd = schema_words(reply), _bare(text), []
    for statement in statements:  # it is a description, or one is part of the other; single words, "key", are in many
        bare = _bare(statement)
        parts = [
            words for words in descriptions if min(len(bare), len(words)) >= 12 and (bare in words or words in bare)
        ]
        if bare and (parts or bare in descriptions) and bare not in whole:
            odd.append(statement)
    return _complaint(odd, len(statements), f"{what} copied from the schema")


@lru_cache(maxsize=64)
def schema_words(reply: type[BaseModel]) -> tuple[str, ...]:
    """Return the descriptions and names in a reply type's schema, without capitals and punctuation."""
    schema = reply.model_json_schema()
    types = [schema, *schema.get("$defs", {}).values()]
    fields = [(name, part) for each in types for name, part in each.get("properties", {}).items()]
    descriptions = [each.get("description", "") for each in [*types, *(part for _, part in fields)]]
    return tuple(filter(None, map(_bare, [*descriptions, *(name for name, _ in fields)])))


def _foreign(statements: Sequence[str], texts: Sequence[str], what: str) -> str:
    """Complain of Chinese where neither text is, or the other way round; other languages are not distinguished."""
    languages = {_is_chinese(text) for text in texts if units(text) - {"#"}}
    odd = [each for each in statements if units(each) - {"#"} and languages and _is_chinese(each) not in languages]
    return _complaint(odd, len(statements), f"{what} in another language than the text's")


def _is_chinese(text: str) -> bool:
    return bool(_CHINESE.search(text)) and language.detect(text) in ("zh", "ja")  # a Japanese one can be without kana


def _complaint(odd: Sequence[str], count: int, what: str) -> str:
    """Return the complaint when more than `MOST_ODD` of `count` are odd, with the first of them; else ""."""
    if not odd or len(odd) <= MOST_ODD * count:
        return ""
    first = " ".join(odd[0].split())
    return f"{len(odd)} of {count} {what}, such as “{first[:80]}{'…' if len(first) > 80 else ''}”"
