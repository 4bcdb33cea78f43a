"""Claims of Chinese sentences by grammar: regular expressions over the codes of words (`chinese_words.codes`).

A Chinese question word stands where the answer stands, so that a statement becomes a question by replacing the answer.
What decides is which statements are refused: those without a subject, that point elsewhere, or that jieba misreads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ragviz.questions import candidate, chinese_words
from ragviz.questions.chinese_words import DIGITS, quantity
from ragviz.records import QuestionType, Word

LONGEST_QUESTION = 52
LONGEST_ANSWER = 60


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that a sentence answers, with type, subject and attribute of its claim; a higher score is better."""

    question: str
    answer: str
    type: QuestionType
    score: float
    subject: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without its opening and what is in brackets: its words, their codes and its clauses, as ranges."""

    text: str
    words: tuple[Word, ...]
    codes: str
    clauses: tuple[tuple[int, int], ...] = field(default=())

    def between(self, first: int, last: int) -> str:
        """Return the text from the first word up to before the last, without blanks around it."""
        if first >= last:
            return ""
        return self.text[self.words[first].start : self.words[last - 1].end].strip()


OPENING = re.compile(
    "^(?:[【\\[][^】\\]]{1,12}[】\\]]|第[一二三四五六七八九十百\\d]+[、，条]\\s*|[（(]?(?:\\d{1,2}|[一二三四五六七八九十]{1,3})[)）、]"
    "|\\d{1,2}[.．](?!\\d)|[①-⑳]"
    "|(?:因此|所以|但是|但|并且|而且|同时|另外|此外|然而|不过|总之|最后|首先|其次|当然|事实上|实际上|一般来说|通常来说|总的来说)[，,：:]"
    "|(?:但是|但|然而|不过)(?=[\u4e00-\u9fff])|[\\s\ufeff·•*-])+"
)
_BRACKETS = re.compile("（[^（）]*）|\\([^()]*\\)|\\[[^\\[\\]]*\\]|【[^【】]*】|〔[^〔〕]*〕")
_POINTING = re.compile(
    "这|那(?!么)|它|此(?!外)|[^其]他(?!人|们?国)|^他|她|我(?!国)|其(?![他它余次实])|(?<![应活])该(?!死)|本(?=[^身科质人土地领金部息着来能性义])(?<![基根版文样课剧成资日副书脚])"
    "|上述|前述|(?:^|[，、的在和])以[上下](?!游)|如[下上](?!属)|下列|[上下]面|[上下]文|前者|后者|两者|二者|同上|[见如](?:附|图|表)|左图|右图"
    "|[今昨明前][天日年晚]|目前|现在|如今|近日|近来|日前|最近|当前|上[周月]|下[周月]|当时|当[年天日]|届时|后来|随后|之后[，,]|于是|接着|那时"
    "|同样|也|还(?!款|贷|书|原|清|本)|例如|比如|譬如|诸如|一方面|另一|另外|其中|某[些个种]?|前面|刚才|接下来|某"
)
_ASKS = re.compile("什么|怎么|如何|为何|为什么|哪|谁|多少|几(?=[个种天年])|是否|吗|呢|[？?]")
_ODD = re.compile(r"https?:|[{}<>|=\\^~…�→←]|\.\.\.|—|――|--|\S{48,}$^|[!！]|\d\s+\d|TODO")
_CONTINUES = re.compile(
    "^(?:就|则|才|又|再|并|而|且|却|便|故|因而|从而|以便|以|及|或|和|与|的|地|得|之|都|也|还|均|皆|所|只|仍|大多数|多数|大部分|一些|有些|有的|许多|很多|不少|部分|少数|双方|几乎"
    "|(?:原因|结果|目的|结论|理由|意思|问题|方法|答案)(?:是|为|在于)|距|接下来|人们|人家|大家)"
)

# A noun phrase, of bounded length: unbounded repetition of repetitions takes exponential time.
_NP = r"(?:[NAMVTFIKC]{1,12}U){0,2}(?:[NAM][NAMKC]{0,10})?N"


def read(text: str) -> Sentence | None:
    """Return a sentence to ask about, None where it points elsewhere, asks itself, or is no plain statement."""
    joined = re.sub("(?<=[\u4e00-\u9fff，、])\\s+(?=[\u4e00-\u9fff])", "", _unbracketed(text))
    bare = OPENING.sub("", " ".join(joined.split())).strip().rstrip("。；;.！!，,")
    if not 8 <= len(bare) <= 130 or _ODD.search(bare) or _ASKS.search(bare) or _CONTINUES.match(bare):
        return None
    if not _balanced(bare) or len(re.findall("[\u4e00-\u9fff]", bare)) < 0.4 * len(bare):
        return None
    words = tuple(chinese_words.read(bare))
    letters = chinese_words.codes(words)
    return Sentence(bare, words, letters, tuple(_clauses(letters)))


def _unbracketed(text: str) -> str:
    while (shorter := _BRACKETS.sub("", text)) != text:
        text = shorter
    return text


def _balanced(text: str) -> bool:
    pairs = ("（）", "()", "“”", "《》", "「」", "[]", "【】", "‘’")
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in pairs) and text.count('"') % 2 == 0


def _clauses(letters: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer("[^,]+", letters):
        yield match.span()


def points(text: str) -> bool:
    """Return whether a text points to what stands elsewhere, or asks."""
    return bool(_POINTING.search(text) or _ASKS.search(text))


def drafts(sentence: Sentence) -> list[Draft]:
    """Return the questions that a sentence answers, the best first; of equal questions one."""
    found: dict[str, Draft] = {}
    for template in TEMPLATES:
        for draft in template(sentence):
            if is_usable(draft):
                found.setdefault(draft.question, draft)
    return sorted(found.values(), key=lambda draft: -draft.score)


def is_usable(draft: Draft) -> bool:
    """Return whether a question can be understood and has an answer that it does not hold."""
    question, answer = draft.question, draft.answer
    if not 7 <= len(question) <= LONGEST_QUESTION or not 1 <= len(answer) <= LONGEST_ANSWER * (
        4 if draft.type == "list" else 1
    ):
        return False
    if _POINTING.search(question) or _POINTING.match(answer) or not (_balanced(question) and _balanced(answer)):
        return False
    if _NEARBY.match(answer) or re.search("[:：](?!\\d)|之一", question):
        return False
    if len(_ASKS.findall(question.rstrip("？"))) != 1 or _CONTINUES.match(question) or _ASKS.search(answer):
        return False
    return answer not in question and not answer.endswith(("的", "了", "和", "与", "是", "在"))


# Where a question can begin

_CIRCUMSTANCE = re.compile(r"(?:时|时候|后|前|之后|之前|期间|情况下|过程中|的|以来|以后|以前|自.{2,16}起)$")
_PLACE = re.compile(r"^(?:在|从|自|于|截至|截止)?.{2,20}(?:中|内|下|里|上|间)$")
_IF = re.compile("^(?:如果|如|若|当|一旦|只要|在|对于|对|除|凡|自|从|使用|根据|按照|未经|经|为了|为|截至|随着|关于)")
_SUBJECT = re.compile(
    rf"^(?:T|D|P[^,]{{1,12}}?F)*(?:{_NP}F?|N)(?=[VBZDPTMA])|^V[VNAMKCUPF]*N[F]?(?=Z|D*Z)|^V[VNAMKCUPF]*(?=Z)"
)


def is_circumstance(sentence: Sentence, clause: int) -> bool:
    """Return whether a clause says only when, where or in which case: what holds follows it."""
    start, end = sentence.clauses[clause]
    text, letters = sentence.between(start, end), sentence.codes[start:end]
    if _CIRCUMSTANCE.search(text) or (_IF.match(text) and not re.search("[BZ]", letters)):
        return True
    if _PLACE.match(text) and (letters[0] == "P" or re.fullmatch(rf"{_NP}[UF]*", letters)) and "V" not in letters:
        return True
    return bool(
        re.fullmatch(r"[ATNMUKC]*N|T", letters) or (re.fullmatch(r"[^,B]+U[NA]*N", letters) and is_person(text))
    )


def is_person(noun: str) -> bool:
    """Return whether a noun says by its ending that it is a person's."""
    return bool(_PERSON.search(noun))


def _beginning(sentence: Sentence, clause: int) -> int | None:
    """Return the clause at which a question about this one has to begin to be understood; None when none does."""
    for first in range(clause, -1, -1):
        start, end = sentence.clauses[first]
        led = first < clause and is_circumstance(sentence, first)
        if led or _SUBJECT.match(sentence.codes[start:end]):
            while first > 0 and is_circumstance(sentence, first - 1):
                first -= 1
            return first
    return None


def in_place(sentence: Sentence, clause: int, start: int, end: int, wh: str) -> str:
    """Return the question with `wh` in place of the words [start, end); "" where it could not be understood.

    It begins with the circumstances that the sentence begins with, then with the clause that has the subject; what only
    names circumstances is followed by what holds then. A measure that a later clause names, as "，面积89平方米",
    is that of the first clause's subject.
    """
    first, last = _beginning(sentence, clause), _ending(sentence, clause, start)
    if first is None or last is None:
        return ""
    led = 0
    while led < clause and is_circumstance(sentence, led):
        led += 1
    owner = ""
    if led < clause and _is_measure(sentence, clause) and not _is_measure(sentence, led):
        first, owner = clause, _subject_of(sentence, led, only=True)
        if not owner or re.search("[将把给]", sentence.between(*sentence.clauses[led])):
            return ""
    led = min(led, first)
    supposed = _SUPPOSES.match(sentence.between(sentence.clauses[led][0], start))
    if sentence.words[sentence.clauses[first][0]].text in _AIMING or (
        supposed and not re.search("[ZOB]", _codes_of(sentence, last))
    ):
        return ""
    opening = [sentence.between(*sentence.clauses[n]) for n in range(led)]
    before, after = (
        sentence.between(sentence.clauses[first][0], start),
        sentence.between(end, sentence.clauses[last][1]),
    )
    before = before if before.startswith(owner) else owner + before
    if wh.startswith("什么") and start and sentence.words[start - 1].text == "为":
        before = before[:-1] + "是"  # "为什么" asks why
    return "，".join([*opening, f"{before}{wh}{after}"]).strip(" ，,：:、") + "？"


def _ending(sentence: Sentence, clause: int, start: int) -> int | None:
    """Return the clause with which a question about this one ends: the first that says what holds; None without one."""
    last = clause
    while is_circumstance(sentence, last):
        last += 1
        if last == len(sentence.clauses):
            return None
    inside = re.search("U[NA]*N$", sentence.codes[start : sentence.clauses[last][1]])
    if inside and last == clause and re.match("[DZP]+V", _codes_of(sentence, last + 1)):
        last += 1  # "叶绿体被两层膜包裹的事实，常被当作证据": the subject fills the clause
    return last


def _codes_of(sentence: Sentence, clause: int) -> str:
    """Return the codes of a clause, "" past the last."""
    if clause >= len(sentence.clauses):
        return ""
    first, last = sentence.clauses[clause]
    return sentence.codes[first:last]


_SUPPOSES = re.compile("如果|若|虽然|尽管|即使|只要|一旦|除非")
_AIMING = candidate.word_set("计划 预计 估计 决定 打算 希望 要求 距 距离 离 位于 据 经过 通过")


def _is_measure(sentence: Sentence, clause: int) -> bool:
    """Return whether a clause only says how much of something: "最高时速为100公里"."""
    start, end = sentence.clauses[clause]
    match = re.fullmatch(r"(?P<what>V?[NAU]{1,4})[BDZ]*V?[BDP]*M", sentence.codes[start:end])
    named = ("nr", "ns", "nt", "nz", "nw", "eng")
    words = sentence.words[start : start + match.end("what")] if match else ()
    return bool(match) and not any(word.tag.startswith(named) for word in words)


def _subject_of(sentence: Sentence, clause: int, *, only: bool = False) -> str:
    """Return the noun phrase that a clause begins with, else unless `only` the nearest before it; "" without one."""
    for at in range(clause, clause - 1 if only else -1, -1):
        start, end = sentence.clauses[at]
        if match := re.match(rf"(?:T|D)*({_NP})(?=[VBZDPF])", sentence.codes[start:end]):
            return sentence.between(start + match.start(1), start + match.end(1))
    return ""


# Templates

_ONE = ("一", "1")
_COUNTED_BY = candidate.word_set(
    "个 种 条 项 名 位 件 些 样 部 本 张 只 座 块 类 家 场 届 次 份 组 款 下 道 门 篇 幅 首 层 把 代 步 点 分 盏"
    " 支 所 艘 架"
)
_BEFORE_ONE = re.compile("(?:[满足过存留有达为是前少]|超过|不足|至少)$")
_LOOSE = candidate.word_set("处 把 代 下 对 点 分 部 所 起 笔 号 步 周 月")
"""Measures that are as often part of another word, after a Chinese digit."""
_FRONT = re.compile("(?:(?:^|[，、的在比以到])[前后近头首]|最[后初近先]|公元前?|第|约合|即|距今)$")


def _is_part(sentence: Sentence, place: int, first: int, last: int) -> bool:
    """Return whether a quantity counts off ("前五年"), bounds another ("± 2 克") or is one of a series."""
    word = sentence.words[place]
    before, after = sentence.text[: word.start].rstrip(), sentence.text[word.end :].lstrip()
    if _FRONT.search(before) or before.endswith(("±", "×", "+", "-")) or after.startswith(("±", "×", "处")):
        return True
    return bool(
        re.match("[NAU]*[KC][NAU]*M", sentence.codes[place + 1 : last])
        or re.search("M[NAU]*[KC][NAU]*$", sentence.codes[first:place])
    )


def _quantities(sentence: Sentence) -> Iterator[Draft]:
    """Ask for a number with its unit, or a date, where it stands."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first, last):
            word = sentence.words[place]
            wh = _how_much(sentence, place, first, last)
            if is_circumstance(sentence, clause) and (word.tag == "t" or _PLACE.match(sentence.between(first, last))):
                continue
            if not wh or not _stands_alone(sentence, place, first, last):
                continue
            question = in_place(sentence, clause, place, place + 1, wh)
            if question and (question[0] not in "多几百哪什" or word.tag == "t"):
                subject = _subject_of(sentence, clause)
                score = 8.0 - 0.03 * len(question) + (0.5 if word.text[0].isdigit() else 0.0)
                yield Draft(question, word.text, "number", score, subject, _measured(sentence, first, place))


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
    if parts.number in _ONE and (parts.unit in _COUNTED_BY or not _BEFORE_ONE.search(sentence.between(first, place))):
        return ""
    if parts.unit in _LOOSE and not parts.number[0].isdigit():
        return ""
    if re.fullmatch(r"[12]\d{3}", parts.number) and parts.unit in ("届", "级", "款", "版", "年"):
        return ""
    blank = " " if parts.unit[0].isascii() else ""
    return f"多少{blank}{parts.unit}"


def _when(text: str) -> str:
    if re.fullmatch(r"\d{4}\s*年", text):
        return "哪一年"
    if re.fullmatch(r"(?:周|星期|礼拜).", text):
        return f"{text[:-1]}几"
    if re.search(r"[:：]|[点时]|半$", text):
        return "几点"
    if re.search(r"月", text) and "年" not in text:
        return "几月几日" if re.search("[日号]$", text) else "几月"
    return "什么时候" if re.search(r"\d|世纪", text) else ""


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
    if re.search("[KC]P?[NAMVU]+$", sentence.codes[first:place]):
        return False  # "自动、睡眠和强劲三种": the series is asked for
    if word.text.endswith("年") and word.text[0] in DIGITS and before is not None and before.tag[0] == "n":
        return False  # "武德四年"
    if word.tag == "t" and after is not None and after.text in ("至", "到", "-", "起", "间", "以来", "代"):
        return after.text in ("起",)
    return True


def _measured(sentence: Sentence, first: int, place: int) -> str:
    """Return the noun before "为", "是", "达" and a quantity: what it measures; "" where there is none."""
    match = re.search(r"(?:^|U|[,])((?:[NA])*N)(?:[BDV]|P)*$", sentence.codes[first:place])
    return sentence.between(first + match.start(1), first + match.end(1)) if match else ""


_NEARBY = re.compile("^(?:附近|周围|对面|旁边|当地|同|各)")
_PERSON = re.compile(
    "(?:人|员|员工|职工|者|学生|用户|客户|顾客|居民|乘客|旅客|儿童|患者|会员|一方|师|长|经理|主任|主管|总监|总裁|书记|主席|代表|委员|教授|院士|作者|将军|总统|国王)$"
)
_OPEN_NOUN = candidate.word_set("一种 一个 一款 一项 一类 一门 一部 一座 一条 一家 一名 一位 种 个")


def _copulas(sentence: Sentence) -> Iterator[Draft]:
    """Ask what or who "A的B" is, what defines a term, and what is the first or greatest."""
    for clause, (first, last) in enumerate(sentence.clauses):
        letters = sentence.codes[first:last]
        match = re.fullmatch(rf"(?P<subject>{_NP})D*(?P<copula>B)(?P<rest>[^B]+)", letters)
        if not match:
            continue
        start, end = first + match.start("subject"), first + match.end("subject")
        at = first + match.start("copula")
        subject, rest = sentence.between(start, end), sentence.between(at + 1, last)
        copula = sentence.words[at].text
        predicate = sentence.codes[at + 1 : last]
        if (
            rest.startswith("指")
            or predicate[-1] not in "NMT"
            or re.search("[,:ZO]", predicate)
            or _CONTINUES.match(rest)
            or subject in rest
        ):
            continue
        if "V" in re.sub(".*U", "", predicate) and not re.search("N$", predicate):
            continue
        alone = last == len(sentence.words) or clause == len(sentence.clauses) - 1
        yield from _unique(sentence, subject, rest, predicate)
        if is_person(rest) and _is_name(sentence, start, end) and "之一" not in rest and "M" not in predicate:
            yield Draft(f"{rest}是谁？", subject, "fact", 7.5, rest, "")
        owned = re.search(r"U[NA]*N$", match["subject"])
        if owned and copula in ("是", "为") and re.fullmatch(r"[NAMKCU]*N", predicate) and len(rest) <= 24:
            head = sentence.between(start + owned.start() + 1, end)
            wh = "谁" if _PERSON.search(head) and _is_name(sentence, at + 1, last) else "什么"
            yield Draft(f"{subject}是{wh}？", rest, "fact", 7.5, subject, head)
        elif (
            alone
            and copula == "是"
            and not owned
            and re.match("M.*U", predicate)
            and min(len(rest), len(subject) + 4) >= 6
        ):
            if sentence.words[at + 1].text.startswith("一"):
                yield Draft(f"{subject}是什么？", rest, "definition", 7.0, subject, "定义")


_FIRST = re.compile("第一[个座条部家次所届位名]?|首[个座条部家次所届位]|最(?!后|近|初|终)[\u4e00-\u9fff]|唯一|仅有")


def _unique(sentence: Sentence, subject: str, rest: str, predicate: str) -> Iterator[Draft]:
    """Ask for what "X是Y最大的Z" says: "Y最大的Z是什么？"."""
    if (
        not _FIRST.search(rest)
        or len(rest) < 6
        or "之一" in rest
        or not re.search("N$", predicate)
        or len(subject) > 20
    ):
        return
    head = sentence.words[-1].text if rest.endswith(sentence.words[-1].text) else rest[-2:]
    wh = "谁" if _PERSON.search(head) else "什么"
    yield Draft(f"{rest}是{wh}？", subject, "fact", 7.5, rest, "")


def _is_name(sentence: Sentence, first: int, last: int) -> bool:
    return last - first <= 3 and all(word.tag[:2] in ("nr", "nz", "ns", "en") for word in sentence.words[first:last])


_DEFINES = re.compile(r"^(?:所谓)?(?P<term>[^，,]{2,24}?)(?:，)?(?:指的是|是指|系指|，指|即指)(?P<meaning>.{6,})$")
_CALLED = re.compile(
    r"^(?P<term>[^，,]{2,20}?)，?(?P<as>又称为?|又叫|亦称为?|也称为?|也叫做?|简称为?|俗称|别名为?|原名为?|旧称|英文名为?|全称为?|缩写为?)"
    r"[：:]?(?P<name>[“《「]?[^，,、；]{2,20}[”》」]?)(?=$|，)"
)


def _definitions(sentence: Sentence) -> Iterator[Draft]:
    """Ask what a term means, and what else something is called."""
    if match := _DEFINES.match(sentence.text):
        term = match["term"].removesuffix("，")
        if _nominal(sentence, 0, len(match["term"])) and len(match["meaning"]) <= LONGEST_ANSWER:
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
    return bool(re.fullmatch(rf"{_NP}|[NAV]+N?", letters)) and not letters.startswith("D")


_BECAUSE = re.compile(r"^(?P<effect>.{6,40}?)，(?:这)?(?:主要)?(?:是)?因为(?P<cause>.{5,50})$")
_DUE = re.compile(r"^(?:由于|因为|因)(?P<cause>[^，]{4,40})，(?:所以|因此|故)?(?P<effect>[^，]{6,40})(?:，.*)?$")


def _causes(sentence: Sentence) -> Iterator[Draft]:
    """Ask why, where the sentence gives a cause or an aim."""
    text = sentence.text
    if (match := _BECAUSE.match(text)) or (match := _DUE.match(text)):
        yield from _why(sentence, match["effect"], match["cause"])


def _why(sentence: Sentence, effect: str, cause: str) -> Iterator[Draft]:
    start = sentence.text.index(effect)
    first = next((place for place, word in enumerate(sentence.words) if word.start >= start), 0)
    clause = next((n for n, (left, right) in enumerate(sentence.clauses) if left <= first < right), 0)
    begins = sentence.clauses[clause][0]
    subject = re.match(rf"(?:T|D)*({_NP})(?=[BVZDPTF])", sentence.codes[begins:])
    if subject is None or "，" in effect:
        return
    name = sentence.between(begins + subject.start(1), begins + subject.end(1))
    asked = effect.replace("就", "", 1) if effect.startswith(name + "就") else effect
    yield Draft(f"为什么{asked}？", cause, "fact", 8.0, name, "原因")


_ACTION = re.compile("^(?:请|必须|应当|应该|应|须|需要|需|可以|可)(?:立即|首先|先|及时|尽快|马上)?(?P<rest>.+)$")


def _conditions(sentence: Sentence) -> Iterator[Draft]:
    """Ask what is to be done in a case that the sentence names."""
    text = sentence.text
    match = re.match(
        r"^(?P<if>如果|若|如|一旦|当)?(?P<case>[^，]{4,36})，(?P<action>(?:则)?(?:请|必须|应当|应该|应|须|需要|需|可以|立即|首先).{4,50})$",
        text,
    )
    if not match:
        return
    case, action = match["case"], match["action"].removeprefix("则")
    if match["if"]:
        case = case.removesuffix("的")
        question = f"如果{case}，应该怎么办？" if match["if"] != "当" else f"当{case}，应该怎么办？"
    elif re.search("(?:时|后|前|时候)$", case):
        question = f"{case}，应该怎么做？"
    else:
        return
    if _ACTION.match(action) and len(action) >= 6 and action.count("，") <= 2:
        yield Draft(question, action, "fact", 7.0, case, "处理办法")


_FORBIDS = re.compile(r"(?:不得|不准|不许|不允许|不可以|不可|不能|严禁|禁止|切勿|请勿|不要|不应)")
_EXCEPT = re.compile(r"^除(?:了|非)?(?P<except>[^，]{2,30}?)(?:之外|以外|外)，(?P<rule>[^，]{6,40})$")
_EXCEPT_IF = re.compile(r"^(?P<rule>[^，]{6,40})，(?:但(?:是)?)?(?P<except>[^，]{2,30}?)(?:除外|例外)$")
_WITHOUT = re.compile(
    r"^(?P<without>(?:未经|没有|未)[^，]{2,24})，(?P<who>[^，]{0,16}?)(?P<bars>不得|不准|不许|不可|不能|禁止|严禁)(?P<what>[^，]{3,40})$"
)
_NO_NEED = re.compile("(?:无需|无须|不需要|不必|不用)")


def _exceptions(sentence: Sentence) -> Iterator[Draft]:
    """Ask what is not allowed, what is excepted, and what something does not have or cover."""
    text = sentence.text
    if match := _EXCEPT.match(text):
        rule = match["rule"].removeprefix("其他").removeprefix("其余")
        if _has_subject(sentence, match.start("rule")) and "都" not in rule[:3]:
            yield Draft(f"{rule}，有什么例外？", match["except"], "exception", 8.0, rule, "例外")
    elif (match := _EXCEPT_IF.match(text)) and _has_subject(sentence, 0):
        yield Draft(f"{match['rule']}，有什么例外？", match["except"], "exception", 8.0, match["rule"], "例外")
    if match := _WITHOUT.match(text):
        who = match["who"]
        if match["without"].startswith("未经") and re.search(
            "(?:同意|批准|许可|授权|允许|审批|审核|确认)$", match["without"]
        ):
            yield Draft(
                f"{match['without']}，{who}{match['bars']}做什么？", match["what"], "exception", 7.5, who, "禁止"
            )
    for clause, (first, last) in enumerate(sentence.clauses):
        yield from _forbidden(sentence, clause, first, last)


def _has_subject(sentence: Sentence, character: int) -> bool:
    place = next((n for n, word in enumerate(sentence.words) if word.start >= character), None)
    if place is None:
        return False
    end = next((last for first, last in sentence.clauses if first <= place < last), place)
    return bool(re.match(rf"(?:T|D)*{_NP}F?(?=[VBZDPTA])", sentence.codes[place:end]))


def _forbidden(sentence: Sentence, clause: int, first: int, last: int) -> Iterator[Draft]:
    """Ask "谁不得…", "…不得做什么", "禁止在哪里…"."""
    text = sentence.between(first, last)
    match = _FORBIDS.search(text)
    if not match or clause != len(sentence.clauses) - 1 or _FORBIDS.search(text, match.end()):
        return
    before, what, bars = text[: match.start()], text[match.end() :], match.group()
    if bars in ("不能", "不可", "不可以", "不应", "不要") and len(what) < 4:
        return
    if not 3 <= len(what) <= 36 or re.search("超过|少于|低于|高于|大于|小于|多于|晚于|早于", what[:6]):
        return  # a limit: its number is asked for
    start = sentence.clauses[0][0]
    opening = sentence.between(start, first) if clause else ""
    if opening and not (_CIRCUMSTANCE.search(opening.rstrip("，")) or _IF.match(opening)):
        return
    opening = opening + ("，" if opening and not opening.endswith("，") else "")
    letters = sentence.codes[first : first + _words_in(sentence, first, len(before))]
    who = bool(re.fullmatch(rf"(?:{_NP})[F]?", letters))
    if before and not (who or re.fullmatch(rf"(?:{_NP}|[VNAMKCUPF]+)", letters)):
        return
    if not before and not opening:
        return
    asked = "做什么"
    if bars in ("严禁", "禁止") and before.endswith(("内", "中", "里", "上")):
        yield Draft(f"{opening}{before}{bars}什么行为？", what, "exception", 7.0, before or opening, "禁止")
    elif who and _PERSON.search(before):
        yield Draft(f"谁{bars}{what}？", before, "exception", 6.5, before, "禁止")
        yield Draft(f"{opening}{before}{bars}{asked}？", what, "exception", 7.0, before, "禁止")
    elif opening or who:
        yield Draft(f"{opening}{before}{bars}{asked}？", what, "exception", 6.5, before or opening, "禁止")


def _words_in(sentence: Sentence, first: int, characters: int) -> int:
    """Return how many words from `first` on lie within so many characters of the clause."""
    start = sentence.words[first].start
    return sum(1 for word in sentence.words[first:] if word.end <= start + characters)


_SERIES = r"(?P<series>{item}(?:K{item})+(?:[CE]+{item})?E?|{item}(?:K{item})*C{item}E?)".replace(
    "{item}", "[NAMVU]*?[NV]"
)
_HOLDS = candidate.word_set(
    "包括 包含 分为 涵盖 分成 含有 设有 拥有 支持 提供 生产 销售 种植 出土 收录 覆盖 涉及 由 有"
)


def _series(sentence: Sentence) -> Iterator[Draft]:
    """Ask for all members of a series: "支持哪三种工作模式？", "包括哪些农产品？"."""
    for clause, (first, last) in enumerate(sentence.clauses):
        letters = sentence.codes[first:last]
        if letters.count("K") + letters.count("C") < 1 or not re.search("K|C", letters):
            continue
        yield from _counted_series(sentence, clause, first, last)
        verb = next((n for n in range(first, last) if sentence.words[n].text in _HOLDS and n > first), None)
        if verb is None or letters.count("K") < 1:
            continue
        tail = sentence.codes[verb + 1 : last]
        if re.search(r"M[NA]*$", tail) and re.search("[KC].*M", tail):
            continue
        if not re.fullmatch(r"L?[NAMUVK]+(?:[CE][NAMUV]+)?E?", tail) or "K" not in tail or tail[-1] not in "NVE":
            continue
        items = sentence.between(verb + 1, last)
        start = sentence.clauses[clause][0]
        subject = re.fullmatch(rf"(?:T|D)*({_NP})F?[DZB]*", sentence.codes[start:verb])
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


def _counted_series(sentence: Sentence, clause: int, first: int, last: int) -> Iterator[Draft]:
    """Ask for a series that its number and kind close: "自动、睡眠和强劲三种工作模式"."""
    letters = sentence.codes[first:last]
    match = re.search(
        r"(?<=[VZB])(?P<series>[NAVMUP]+?(?:K[NAVMUP]+?)*C[NAVMUP]+?E?)(?P<count>M)(?P<kind>[NA]*)$", letters
    )
    if not match:
        return
    start, count = first + match.start("series"), first + match.start("count")
    parts = quantity(sentence.words[count])
    kind = sentence.between(count + 1, last)
    if (
        parts is None
        or parts.unit not in ("种", "个", "类", "项", "条", "大", "级", "款", "档", "方面")
        or parts.number in _ONE
    ):
        return
    items = sentence.between(start, count).removesuffix("等")
    question = in_place(sentence, clause, start, last, f"哪{sentence.words[count].text}{kind}")
    if question and 1 + len(re.findall("、|和|与|以及|或", items)) >= 2:
        yield Draft(question, items, "list", 8.5, _subject_of(sentence, clause), kind)


_SITS = candidate.word_set(
    "位于 坐落于 地处 座落于 设在 设于 建在 发源于 出生于 生于 毕业于 安装在 存放在 保存在 存储在 保存于 存放于"
    " 收藏于 产于"
)
_BORN = candidate.word_set("毕业于")


def _places(sentence: Sentence) -> Iterator[Draft]:
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
            if any(word.text in _HOLDS for word in sentence.words[first:place]):
                break
            if (
                not re.fullmatch(rf"(?:[TD]|P[NAMT]+F?)*(?:{_NP}F?)?[DZTL]*", sentence.codes[first:place])
                or "K" in rest
            ):
                break
            if not rest or not re.fullmatch(r"[NAMTKCUF]*[NFMT]", rest) or sentence.words[after].tag == "t":
                continue
            where = "什么学校" if verb in _BORN else "哪里"
            question = in_place(sentence, clause, after, last, where)
            if question:
                subject = _subject_of(sentence, clause)
                yield Draft(question, sentence.between(after, last), "fact", 8.0, subject, "位置")
            break


def _doers(sentence: Sentence) -> Iterator[Draft]:
    """Ask by whom something is done."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first, last - 2):
            if sentence.words[place].text != "由" or place == first:
                continue
            match = re.match(r"((?:[NAM]+U)?[NAM]*N(?:[KC][NAM]*N)*)(?=[DZ]*V)", sentence.codes[place + 1 : last])
            if not match or re.search("组成|构成|于|引起|导致|造成", sentence.between(place, last)):
                continue
            end = place + 1 + match.end(1)
            if any(word.tag[0] == "v" for word in sentence.words[place + 1 : end]):
                continue
            question = in_place(sentence, clause, place + 1, end, "谁")
            if question:
                doer = sentence.between(place + 1, end)
                yield Draft(question, doer, "fact", 7.5, _subject_of(sentence, clause), "负责者")


_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏"
)


def _people(sentence: Sentence) -> Iterator[Draft]:
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
    return bool(re.fullmatch(rf"(?:M|{_NP})F?|{_NP}(?:[KC]{_NP})*E?", letters)) if nominal else len(letters) > 1


_CALLS = re.compile(
    "^(?:被)?(?:称为|称作|称之为|叫做|叫作|命名为|改名为|更名为|取名为|译为|译作|当选为|任命为|选为|定为|评为|视为|改为|转换为|划分为|誉为|用作|并称为|统称为|合称为|俗称)$"
)
_INTO = candidate.word_set(
    "取决于 适用于 源于 来源于 起源于 归功于 致力于 服务于 用于 用来 旨在 基于 依赖于 隶属于 属于 负责 得益于"
    " 起因于 应用于 不属于 不适用于"
)
_BRINGS = candidate.word_set("导致 造成 引起 引发 带来")


def _relations(sentence: Sentence) -> Iterator[Draft]:
    """Ask what something is called, is for, depends on, belongs to or leads to: the rest of the clause answers."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first + 1, last - 1):
            text = sentence.words[place].text
            joined = sentence.words[place - 1].text + text
            start = place + 1 + (sentence.codes[place + 1] == "L")
            called = bool(_CALLS.match(text))
            into, brings = text in _INTO, text in _BRINGS
            if not (called or into or brings) or sentence.codes[place - 1] in "MUA" or joined in _INTO:
                continue
            if "指" in sentence.between(first, place):
                break
            if not _until_end(
                sentence, start, last, nominal=called or text in ("属于", "隶属于", "基于", "不属于", "负责")
            ):
                break
            if brings and not re.match(rf"(?:{_NP}|[NVAMU]+)[DZ]*$", sentence.codes[first:place]):
                break
            answer = sentence.between(start, last)
            kind: QuestionType = "exception" if text.startswith("不") else "fact"
            wh = "做什么" if text in ("用来", "旨在") else "什么"
            question = in_place(sentence, clause, start, last, wh)
            if question and 2 <= len(answer) <= 40:
                yield Draft(question, answer, kind, 7.5 if called else 7.0, _subject_of(sentence, clause), "")
            break


_BY = candidate.word_set("通过 凭 凭借 借助 按 按照 经 经由 根据 依据")


def _means(sentence: Sentence) -> Iterator[Draft]:
    """Ask by what something is done, of what it is made, and where it is done."""
    for clause, (first, last) in enumerate(sentence.clauses):
        for place in range(first + 1, last - 2):
            if not (found := _adverbial(sentence, place, first, last)):
                continue
            end, wh, attribute = found
            question = in_place(sentence, clause, place + 1, end, wh)
            if question:
                answer = sentence.between(place + 1, end)
                yield Draft(question, answer, "fact", 7.0, _subject_of(sentence, clause), attribute)


_MADE = {"组成": "什么", "构成": "什么", "制成": "什么", "组合而成": "什么", "编写": "谁"}


def _adverbial(sentence: Sentence, place: int, first: int, last: int) -> tuple[int, str, str] | None:
    """Return end, question word and attribute of what follows the preposition at `place`; None of none to ask."""
    text, rest = sentence.words[place].text, sentence.codes[place + 1 : last]
    made = sentence.words[last - 1].text
    if text == "由" and made in _MADE and (match := re.fullmatch(rf"({_NP}(?:[KC]{_NP}){{0,4}})E?V", rest)):
        return place + 1 + match.end(1), _MADE[made], "组成"
    if text in _BY and re.search("[NZ]D*$", sentence.codes[first:place]):
        match = re.match(r"([NA]*N)(?=[DZ]*V)", rest)
        if match and sentence.words[place + match.end(1)].tag != "vn":
            return place + 1 + match.end(1), "什么", "方式"
    if text == "在" and re.search("N[DZ]*$", sentence.codes[first:place]):
        match = re.match(r"([NA]*N)F?(?=[DZ]*V)", rest)
        if match and sentence.words[place + match.end(1)].tag == "ns":
            return place + 1 + match.end(), "哪里", "地点"
    return None


_MUST = candidate.word_set("必须 应 应当 应该 须 需 需要 务必 必需 只能 可以 可")
_OUGHT = _MUST - {"可以", "可", "只能"}


def _obligations(sentence: Sentence) -> Iterator[Draft]:
    """Ask for the object of what must be done, and of what is not done: "必须提交什么？", "不支持什么？"."""
    for clause, (first, last) in enumerate(sentence.clauses):
        letters = sentence.codes[first:last]
        match = re.fullmatch(
            r"(?P<who>[^Z]*?)Z(?P<how>D*|P[NAM]+F?)V(?P<what>(?:M|[NA]|[NAM]+U)*N(?:[KC][NA]*N)*E?)", letters
        )
        if match and sentence.words[first + match.end("who")].text in _MUST:
            start = first + match.start("what")
            answer = sentence.between(start, last)
            verb = sentence.words[start - 1].text
            if sentence.words[start].tag[0] == "v":
                continue
            led = clause > 0 or re.match(rf"{_NP}F?$|V[NVAMU]*$", match["who"])
            if led and len(answer) >= 2 and verb not in _WEAK_VERBS and not re.match("[一\\d]", answer):
                question = in_place(sentence, clause, start, last, "什么")
                if question:
                    yield Draft(question, answer, "fact", 7.0, _subject_of(sentence, clause), "要求")
        negative = re.fullmatch(rf"(?P<who>{_NP}F?)D+V(?P<what>(?:M|[NA]|[NAM]+U)*N(?:[KC][NA]*N)*E?)", letters)
        if negative and sentence.words[first + negative.end("who")].text in ("不", "未"):
            start = first + negative.start("what")
            verb = sentence.words[start - 1].text
            if len(verb) >= 2 and verb not in _WEAK_VERBS:
                question = in_place(sentence, clause, start, last, "什么")
                if question:
                    answer = sentence.between(start, last)
                    yield Draft(question, answer, "exception", 7.0, _subject_of(sentence, clause), "")


_ONLY = re.compile("^只有(?P<what>[^，]{2,24}?)，?才(?P<can>能|能够|可以|可|会|有权)(?P<rest>[^，]{4,30})$")
_AIM = re.compile("^为了?(?P<aim>[^，]{4,30})，(?P<means>[^，]{8,40})$")
_SO_THAT = re.compile(
    "^(?P<means>[^，]{8,40})，(?:以便|以免|以避免|以防止?|以确保|以保证|从而避免)(?P<aim>[^，]{2,30})$"
)


def _aims(sentence: Sentence) -> Iterator[Draft]:
    """Ask what something is done for, and who or what alone can do it."""
    text = sentence.text
    if match := _ONLY.match(text):
        wh = "谁" if is_person(match["what"]) else "什么情况下"
        yield Draft(f"{wh}才{match['can']}{match['rest']}？", match["what"], "exception", 7.0, match["rest"], "条件")
    match = _AIM.match(text) or _SO_THAT.match(text)
    if match and _has_subject(sentence, match.start("means")):
        means = match["means"]
        aim = (
            text[match.start("aim") - 2 : match.end("aim")]
            if "以" in text[match.start("aim") - 3 : match.start("aim")]
            else match["aim"]
        )
        aim = aim.removeprefix("以").removeprefix("便")
        yield Draft(f"{means}，目的是什么？", aim, "fact", 7.0, means, "目的")


_WEAK_VERBS = candidate.word_set(
    "进行 使用 做 有 没有 成为 作为 使得 认为 表示 指出 发现 可能 希望 开始 继续 受到 得到 具有 存在 出现 发生"
    " 导致 造成 涉及 属于 到 说 想 用 会 让 使 给 被 叫 称 称为 引起 产生 获得 进入 作出 做出 来自 参加 不是 还有"
    " 看到 意味着 相当于 无"
)


def _objects(sentence: Sentence) -> Iterator[Draft]:
    """Ask for the kind of an object that a name or modifier tells apart: "采用什么协议？"."""
    for clause, (first, last) in enumerate(sentence.clauses):
        match = re.fullmatch(
            rf"(?P<subject>{_NP})F?(?:[DZT]|P[NAMT]+F)*(?P<verb>V)L?(?P<object>M?N+N)", sentence.codes[first:last]
        )
        if not match:
            continue
        verb = first + match.start("verb")
        start = first + match.start("object")
        text = sentence.words[verb].text
        if text in _WEAK_VERBS or text in _SITS or len(text) < 2 or "V" in match["subject"].replace("VU", ""):
            continue
        head = sentence.words[last - 1]
        named = sentence.words[last - 2].tag in ("eng", "nw", "nz", "nt")
        subject = sentence.between(first + match.start("subject"), first + match.end("subject"))
        answer = sentence.between(start, last)
        if (
            named
            and last - start >= 2
            and head.tag[0] in "nv"
            and len(head.text) >= 2
            and sentence.codes[last - 1] == "N"
        ):
            question = in_place(sentence, clause, start, last, f"什么{head.text}")
            if question:
                yield Draft(question, answer, "fact", 6.5, subject, head.text)


TEMPLATES: tuple[Callable[[Sentence], Iterator[Draft]], ...] = (
    _definitions,
    _exceptions,
    _causes,
    _conditions,
    _series,
    _places,
    _doers,
    _people,
    _relations,
    _means,
    _obligations,
    _aims,
    _copulas,
    _quantities,
    _objects,
)
"""Every way to ask about a sentence."""
