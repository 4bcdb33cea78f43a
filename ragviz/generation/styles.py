"""A question put in another style without a model: as keywords, with circumstances, or with errors of typing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragviz.claims import candidate, chinese_words
from ragviz.core.document import Word
from ragviz.core.question import QuestionStyle
from ragviz.generation.joined_draft import lead
from ragviz.text import keyphrases
from ragviz.text.language import IDEOGRAPH
from ragviz.text.words import parse

ERRORS = 3
"""The most errors of typing in one question, each in another word."""


def styled(
    text: str,
    style: QuestionStyle,
    language: str,
    *,
    section: str = "",
    file_name: str = "",
    seed: int = 0,
    key: str = "",
) -> str | None:
    """Return the question `text` in another style; None where that is not possible without a model.

    "colleague" and "" leave it as it is; "keywords" keeps the words that carry meaning, two at least, without a title
    in quotes that is only the document's `file_name` as words; "long" puts before it a sentence that says what the
    asker reads about: the last heading of `section` (headings joined by " > "), else a noun phrase of the question;
    "misspelt" makes one to `ERRORS` errors of typing, never in a name or a number. English, Chinese and "und" (read as
    English) only, else None, as for "other-language" and "other-words", which need a model.
    The same `seed` and `key` (the question's id, say) always give the same text.

    >>> styled("How many days does the desk lend maps?", "keywords", "en")
    'days desk lend maps'
    >>> styled("How many days does the desk lend maps?", "long", "en", section="Library > Maps")
    'I am reading up on “Maps”, a part of “Library”. How many days does the desk lend maps?'
    >>> styled("试用期最长为多少个月？", "keywords", "zh")
    '试用期 最长'
    """
    if style in ("", "colleague"):
        return text
    if language not in ("en", "zh", "und") or not text.strip():
        return None
    language = "zh" if language == "zh" else "en"
    chance = random.Random(f"{seed}\n{key}\n{style}")  # noqa: S311
    match style:
        case "keywords":
            return _keywords(text, language, file_name)
        case "long":
            return _with_circumstances(text, language, section, chance)
        case "misspelt":
            return _misspelt(text, language, chance)
    return None


# Keywords

_FEWEST = 2
"""Words that a search has at least."""


def _keywords(text: str, language: str, file_name: str) -> str | None:
    kept = _chinese_keywords(text) if language == "zh" else _english_keywords(text, file_name)
    pieces: list[str] = []
    last: Word | None = None
    for word in kept:
        if last and last.end == word.start and (language == "en" or _belongs(last, word)):
            pieces[-1] += word.text  # "$" and "5,000", "e", "-" and "mail", "报销" and "单"
        else:
            pieces.append("not" if word.text in ("n't", "n’t") else word.text)
        last = word
    pieces = [piece.strip("「」『』《》“”") for piece in pieces]
    pieces = [piece for piece in dict.fromkeys(pieces) if any(c.isalnum() for c in piece)]
    return " ".join(pieces) if len(pieces) >= _FEWEST else None


_ENGLISH_MEANING = ("NN", "VB", "JJ", "CD", "FW", "$", "HYPH", "RBS", "RBR")
_NEGATIVE = candidate.word_set("not n't n’t never without except no neither nor")
_AMOUNTS = candidate.word_set("many much")
_AUXILIARY = candidate.word_set("do does did")


def _english_keywords(text: str, file_name: str) -> Iterator[Word]:
    """Yield nouns, names, verbs, adjectives, manners, numbers and negatives, and "how often", "how long"."""
    named = re.match("Regarding ", text)
    listed = re.search("what is listed (?:for|under) (?=“)", text, re.IGNORECASE)
    titles = re.finditer("“([^”]+)”", text)
    files = (title for title in titles if title[1].casefold() in file_name.casefold())
    ours = [found.span() for found in (named, listed, *files) if found]  # words of the question's form
    words = parse([text], "en")[0]
    degrees = {
        word.head
        for word in words
        if word.tag == "WRB" and words[word.head].tag in ("RB", "JJ") and words[word.head].text.lower() not in _AMOUNTS
    }
    for place, word in enumerate(words):
        lower = word.text.lower()
        if any(start <= word.start < end for start, end in ours):
            continue
        if lower in _NEGATIVE:
            yield word
        elif word.tag == "WRB" and lower == "how" and word.head in degrees:
            yield replace(word, text=lower)
        elif lower in _AMOUNTS or lower in _AUXILIARY or word.lemma == "be" or word.dep in ("aux", "auxpass"):
            continue
        elif word.tag.startswith(_ENGLISH_MEANING) or place in degrees or _in_name(words, place) or lower[-2:] == "ly":
            yield word


def _in_name(words: Sequence[Word], place: int) -> bool:
    """Return whether a small word or sign is part of a name or number: "Department of Labor", "5%", "C#"."""
    word = words[place]
    sign = word.text in _SIGNS and 0 < place < len(words) - 1 and words[place - 1].end == word.start
    return sign or (word.entity == "ORG" and word.tag in ("IN", "CC"))


_SIGNS = frozenset("%#+/&-")
_ASKING = re.compile(
    "(?:是|为|有|要|需要?)?(?:什么(?:时候|时间|地方|东西|样的?)?|(?:应该|应当|该|要)?怎么(?:样|办|做)?|怎样|如何|为什么|为何"
    "|哪(?:里|儿|些|个|位|种|类|项|几[个项种]|年|天|一?[个年天月日位种类项])?(?:时候)?|谁的?|何(?:时|地|处|人|种)"
    "|(?:百分之)?(?:多少|几)(?:个?(?:工作日|自然日|小时|分钟|星期|年|月|周|日|天|人|次|元(?![素件旦])|万元|美元|位|名|岁|秒|项|条"
    "|份|台|种|字符?)|个|[米克吨层页章节度倍家行])?|多(?:久|长时间|长|大|高|远|重|快|深))"
    "|是不是|有没有|能不能|可不可以|是否|能否|可否|吗(?=[？?]|$)|呢(?=[？?]|$)"
)
_CHINESE_MEANING = frozenset("nvamtjilbgfqzkx")
_CHINESE_FUNCTION = candidate.word_set(
    "是 有 为 会 要 能 能够 可以 可 应 应该 应当 必须 须 需 需要 请 请问 让 使 被 把 对 于 之 到 上 中 里 内 外 前"
    " 后 下 时 个 做 之前 之后 来 去 进行 指 叫 称 称为 叫做 所 以 分别 具体 一下 在 由 从 和 与 及 或"
)
_OFTEN = candidate.word_set("每年 每天 每月 每周 每次 每日 每人 每个 每小时 每晚")
_CHINESE_NEGATIVE = candidate.word_set(
    "不 没 没有 未 未经 尚未 并非 无 非 不得 不能 不可 不要 不需 不用 无需 不必 禁止 除 除了"
)


def _chinese_keywords(text: str) -> Iterator[Word]:
    """Yield nouns, names, verbs, adjectives, numbers with their units, and negatives, without what only asks."""
    masked = _ASKING.sub(lambda match: "\n" * len(match.group()), text)
    for piece in re.finditer(r"[^\n]+", masked):
        for word in chinese_words.read(piece.group()):
            meant = word.tag[0] in _CHINESE_MEANING and any(c.isalnum() or c in _SIGNS for c in word.text)
            meant = meant or word.tag == "eng" or word.text[0].isdigit() or word.text in _OFTEN
            modifies = word.tag == "f" and word.end == word.start + 1 and _leads(piece.group(), word)
            if word.text in _CHINESE_NEGATIVE or modifies or (meant and word.text not in _CHINESE_FUNCTION):
                yield replace(word, start=word.start + piece.start(), end=word.end + piece.start())


def _leads(text: str, word: Word) -> bool:
    """Return whether a localiser begins a noun: "中" of "中虾期", at the beginning or after "的", "，"."""
    after = text[word.end : word.end + 1]
    return (word.start == 0 or text[word.start - 1] in "的，和") and bool(after) and _of_ideographs(after)


def _belongs(left: Word, right: Word) -> bool:
    """Return whether two neighbouring Chinese words are one: "第" and "3", "报销" and "单", "3" and "%"."""
    if not (_of_ideographs(left.text[-1]) and _of_ideographs(right.text[0])):
        return left.tag[0] not in "vpf" and right.tag[0] not in "vf"
    single = len(right.text) == 1 and right.tag[0] in "ngkq"
    single = single or (len(left.text) == 1 and right.tag[0] == "n" and left.tag[0] in "nvag")  # "陪产假"
    return single or len(left.text) == len(right.text) == 1


def _of_ideographs(text: str) -> bool:
    return bool(re.fullmatch(f"[{IDEOGRAPH}]+", text))


# With circumstances

_ENGLISH_CIRCUMSTANCES = (
    "I am reading up on {topic}.",
    "I have a question about {topic}, and I want to be sure before I go on.",
    "I am looking into {topic} and would like to get one point right.",
    "There is something about {topic} that I still have to find out.",
)
_CHINESE_CIRCUMSTANCES = (
    "我正在了解{topic}方面的内容。",
    "我有一个关于{topic}的问题，想先确认清楚再继续。",
    "我正在查{topic}的资料，有一点还想弄明白。",
    "关于{topic}，有一点我还需要弄清楚。",
)
_NUMBERING = re.compile(
    r"^(?:#+\s*|第\s*[\d一二三四五六七八九十百]+\s*[章节条部分篇]+\s*|\d+(?:\.\d+)+\.?\s*|\d{1,2}\s+(?=[\u4e00-\u9fff])"
    r"|[（(]?[\d一二三四五六七八九十]+[)）、.．]\s*|(?:chapter|section|part|appendix)\s+[\dIVXA-Z]+\b[:.\s]*)+",
    re.IGNORECASE,
)
_ASKED_OF = re.compile(r"^(?:how (?:many|much)|which|what|whose|what kind of)\b\s*", re.IGNORECASE)


def _with_circumstances(text: str, language: str, section: str, chance: random.Random) -> str | None:
    """Put a sentence before the question that names its section, else what the question itself names."""
    headings = [_title(heading) for heading in section.split(" > ")]
    headings = [heading for heading in headings if heading]
    topic = headings[-1] if headings else _topic(text, language)
    if not topic:
        return None
    parted = len(headings) > 1 and headings[-2].casefold() != topic.casefold()
    if language == "zh":
        return _chinese_circumstances(text.strip(), topic, headings[-2] if parted else "", chance)
    named, asked = _named_first(text.strip())
    if not named:
        named = f"“{topic}”, a part of “{headings[-2]}”" if parted else f"“{topic}”"
    return f"{chance.choice(_ENGLISH_CIRCUMSTANCES).format(topic=named)} {asked}"


def _named_first(text: str) -> tuple[str, str]:
    """Return what an English question names before it asks, "" for nothing, and the rest as a question of its own.

    >>> _named_first("Regarding rent in “Fares”, who pays?")
    ('rent in “Fares”', 'Who pays?')
    """
    topic, rest = lead(text)
    found = re.match(r"(?:Regarding|In) (.+), $", topic)
    return (found[1], rest[:1].upper() + rest[1:]) if found else ("", text)


_ABOUT = re.compile("^关于(?P<topic>[^，？]{2,60})，")


def _chinese_circumstances(text: str, topic: str, above: str, chance: random.Random) -> str:
    """Put a sentence before the question; a topic that the question begins with ("关于报销，…") moves into it."""
    named = f"“{above}”中“{topic}”" if above else f"“{topic}”"
    if about := _ABOUT.match(text):
        named, text = about["topic"], text[about.end() :]
    return chance.choice(_CHINESE_CIRCUMSTANCES).format(topic=named) + text


def _title(heading: str) -> str:
    """Return a heading without numbering and closing marks; "" when it says nothing or is no heading."""
    title = _NUMBERING.sub("", " ".join(heading.split())).strip(" :：.。*_`“”\"'")
    return title if re.search(r"[^\W\d_]{2}", title) and len(title) <= 80 else ""


def _topic(text: str, language: str) -> str:
    """Return the longest name or noun phrase of the question, the first of equals; "" when it has none."""
    masked = _ASKING.sub(lambda match: "，" * len(match.group()), text)
    phrases = [p.text for p in keyphrases.key_phrases(masked, language) if p.kind not in ("number", "date")]
    named = [phrase for phrase in phrases if not _ASKED_OF.match(phrase)]  # "how many days" names nothing
    topic = " ".join(_ASKED_OF.sub("", max(named or phrases, key=len, default="")).split())
    return topic[:-1] if language == "zh" and len(topic) > _FEWEST and topic[-1] in "时后前" else topic


# Misspelt

Misspelling = Callable[[str, random.Random], str]

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    letter: {
        other
        for line, offset in zip(_KEYBOARD, (0.0, 0.3, 0.7), strict=True)
        for at, other in enumerate(line)
        if other != letter and abs(row - _KEYBOARD.index(line)) <= 1 and abs(at + offset - (place + start)) <= 1.0
    }
    for row, (keys, start) in enumerate(zip(_KEYBOARD, (0.0, 0.3, 0.7), strict=True))
    for place, letter in enumerate(keys)
}
_LONG_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class _Error:
    """A piece of the question, [start, end), and what is typed instead."""

    start: int
    end: int
    typed: str


def _misspelt(text: str, language: str, chance: random.Random) -> str | None:
    """Replace one to `ERRORS` words, the more the longer the question; None when none can be misspelt."""
    words = chinese_words.read(text) if language == "zh" else parse([text], "en")[0]
    errors = list(_chinese_errors(text, words, chance) if language == "zh" else _english_errors(text, words, chance))
    if not errors:
        return None
    most = min(ERRORS, 1 + len(errors) // 4)
    chosen = chance.sample(errors, chance.randint(1, most))
    for error in sorted(chosen, key=lambda each: -each.start):
        text = text[: error.start] + error.typed + text[error.end :]
    return text


def _english_errors(text: str, words: Sequence[Word], chance: random.Random) -> Iterator[_Error]:
    """Yield an error in each noun, verb, adjective and adverb of five letters or more that is not a name."""
    for word in words:
        content = word.tag[:2] in ("NN", "VB", "JJ", "RB") and word.tag[:3] != "NNP" and word.dep[:3] != "aux"
        plain = word.text.isascii() and word.text.isalpha() and word.text.islower() and len(word.text) >= _LONG_ENOUGH
        around = text[word.start - 1 : word.start] + text[word.end : word.end + 1]
        if content and plain and not re.search(r"[\w./@\\:#-]", around.rstrip(".:")) and not word.entity:
            yield _Error(word.start, word.end, _mistyped(word.text, chance))


def _mistyped(word: str, chance: random.Random) -> str:
    """Return a word with one error behind its first letter: letters swapped, doubled, dropped, or a neighbouring key.

    >>> _mistyped("maintain", random.Random(2)) != "maintain"
    True
    """
    kinds: list[Misspelling] = [_swapped, _doubled, _dropped, _neighbouring]
    chance.shuffle(kinds)
    return next(typed for kind in kinds if (typed := kind(word, chance)) != word)


def _swapped(word: str, chance: random.Random) -> str:
    places = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    if not places:
        return word
    at = chance.choice(places)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _doubled(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    return word[:at] + word[at] + word[at:]


def _dropped(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1 :]


def _neighbouring(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    return word[:at] + chance.choice(sorted(_NEIGHBOURS[word[at]])) + word[at + 1 :]


_WORDS_OF_ONE_SOUND = (
    "必须/必需 账户/帐户 账号/帐号 登录/登陆 启用/起用 截止/截至 反映/反应 期间/其间 缴纳/交纳 制定/制订 权利/权力"
    " 时间/事件 实践/时间 申请/深情 地址/地质 使用/试用 适用/使用 公司/公私 会议/回忆 用户/拥护 管理/惯例 支付/制服"
    " 年假/年价 权限/全线 时限/实现 备份/辈分 保修/报修 实验/试验 负责/附则 主管/主观 加班/甲板 面试/免试 城市/程式"
    " 世纪/实际 政府/征服 经济/竞技 国际/国籍 建立/简历 形式/形势 联系/练习 公式/公示 报销/包销 意义/异议 著名/注明"
    " 事故/世故 需要/须要 部署/布署 订单/定单 身份/身分 密码/秘码 包含/包涵 度过/渡过 检查/检察 终止/中止 历史/历时"
    " 记录/纪录 启动/起动 可以/可已"
)
_CHARACTERS_OF_ONE_SOUND = (
    "的得地 在再 做作 须需 账帐 象像向 即既 以已 至致 份分 座坐 戴带 副付 型形 休修 有又由 与于 没每 到道 为未位"
    " 员元原 工公 申身 请清 部步 门们 限线 费废 时实 间件 提题 交教 规归 定订 制治 版板 密秘 服福 务物 电店 话画 址只"
    " 价假 合和 安按 全权 流留 程成 保报 货或 资自 名明 责则 任认 检捡 试式 设社 备倍 维围 护户 新心 客课 单但 出初"
    " 培陪 训迅 加家 班般 数树 级及 期其 会汇 生升 动洞 力利 业叶"
)
_SAME_SOUND: dict[str, list[str]] = {}
for _group in [*map(list, _CHARACTERS_OF_ONE_SOUND.split()), *(w.split("/") for w in _WORDS_OF_ONE_SOUND.split())]:
    for _typed in _group:
        _SAME_SOUND.setdefault(_typed, []).extend(other for other in _group if other != _typed)
_NAMED = ("nw", "nr", "ns", "nt", "nz", "eng", "m", "t", "x")


def _chinese_errors(text: str, words: Sequence[Word], chance: random.Random) -> Iterator[_Error]:
    """Yield an error for each word that is not a name, a number or what asks."""
    asked = [match.span() for match in _ASKING.finditer(text)]
    for word in words:
        if word.tag.startswith(_NAMED) or any(start < word.end and word.start < end for start, end in asked):
            continue
        if typed := _of_pinyin(word.text, chance):
            yield _Error(word.start, word.end, typed)


def _of_pinyin(word: str, chance: random.Random) -> str:
    """Return another word of the same sound, as pinyin input offers it, or two characters swapped; "" when none."""
    if same := _SAME_SOUND.get(word):
        return chance.choice(same)
    places = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    if places and _of_ideographs(word):
        return _swapped(word, chance)
    sounding = [at for at, character in enumerate(word) if character in _SAME_SOUND]
    if len(word) < _FEWEST or not sounding:
        return ""
    at = chance.choice(sounding)
    return word[:at] + chance.choice(_SAME_SOUND[word[at]]) + word[at + 1 :]
