"""A Chinese sentence to ask about: its words, codes and clauses; what question can be understood, and where it begins.

A Chinese question word stands where the answer stands, so that a statement becomes a question by replacing the answer.
What decides is which statements are refused: those without a subject, that point elsewhere, or that jieba misreads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ragviz.claims import candidate, chinese_words
from ragviz.core.document import Word
from ragviz.core.question import QuestionType

LONGEST_QUESTION = 50
LONGEST_ANSWER = 60
"""Characters at most; the members of a list may be six times as long."""


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
    "|(?:但是|但|然而|不过)(?=[\u4e00-\u9fff])|那么?，?(?=对|如果|在|当)|(?:请您?)?(?:注意|记住|牢记)(?:[：:，,]|事项[：:])"
    "|(?:提示|警告|重要|小?贴士|备注|重要提示|温馨提示|特别提醒|提醒|小心|当心)[：:]|[\\s\ufeff·•*-])+"
)
"""What a sentence may begin with that says nothing: a label, a number, a connective."""
_BRACKETS = re.compile("（[^（）]*）|\\([^()]*\\)|\\[[^\\[\\]]*\\]|【[^【】]*】|〔[^〔〕]*〕")
_POINTING = re.compile(
    "这|(?<!刹)那(?!么)|它|(?<!彼)此(?!外)|(?<![其吉耳])他(?!人|国)|她|(?<!自)我(?!国)|(?<![尤极耳与])其(?![他它余次实])"
    "|(?<!应)该(?!死)|(?<![基根版文样课剧成资日副书脚标])本(?=[^身科质人土地领金部息着来能性义])|上述|前述"
    "|(?:^|[，、的在和])以[上下](?!游)|如[下上](?!属)|下列|[上下]面|[上下]文|前者|后者|[前后][一二两三几]行|两者|二者|同上|[见如](?:附|图|表)|左图|右图"
    "|[今昨明前][天日年晚]|目前|现在|如今|近日|近来|日前|最近|当前|上[周月]|下[周月]|当时|当[年天日]|届时|后来|随后|之后[，,]"
    "|于是|接着|那时|同样|也(?!门)|(?<![归偿退返交送发])还(?!款|贷|书|原|清|本|车|债)|例如|比如|譬如|诸如|一方面|另一|另外|其中|某|前面|刚才|接下来|整个|又(?![称叫名])|第\\s*\\d[\\d.]*\\s*[节章条]"
)
_ASKS = re.compile("什么|多久|怎么|怎样|如何|为何|为什么|哪|谁|多少|[周期]几|几(?=[个种天年点月])|是否|吗|呢|[？?]")
_ODD = re.compile(r"https?:|//|\(\)|;|[{}<>|=\\^~…�→←]|\.\.\.|—|――|--|－ |[!！]|\d\s+\d|TODO")
CONTINUES = re.compile(
    "^(?:所有的|其他|其它|其余|另外?|有时|[前后][一两几][个种类次]|在[前后]一[个种类次]|否则|反之|不然|第[一二三四五六七八九十]个|因而|从而|以便|以及|大多数|多数|大部分|一些|有些|有的|许多|很多|不少|少数|双方|几乎|接下来|人们|人家|大家"
    "|具体(?:措施|办法|内容|情况|规定|要求|标准)|(?:原因|结果|目的|结论|理由|意思|问题|方法|答案)(?:是|为|在于))"
)
"""Beginnings that go on from another sentence, or that leave open what they are about."""
_JOINED_ON = candidate.word_set(
    "例如 比如 譬如 如 即 就 则 才 又 再 并 而 且 却 便 故 以 及 或 和 与 的 地 得 之 都 也 还 均 皆 所 只 仍 被"
    " 部分 距 并且 而且 或者 但 但是"
)
"""Words that a sentence does not begin with unless it goes on from another."""


_OWNER = "[NAMVTFIKC]{1,12}U"
NOUN_PHRASE = rf"(?:(?:{_OWNER}){{0,2}}(?:(?<=U)V)?(?:[NAM][NAMKC]{{0,10}})?N|(?:{_OWNER}){{1,2}}V(?=[BPZD]))"
"""A noun phrase in codes; its length is bounded, because repetitions of repetitions take exponential time."""


def read(text: str) -> Sentence | None:
    """Return a sentence to ask about, None where it points elsewhere, asks itself, or is no plain statement."""
    joined = re.sub("(?<=[\u4e00-\u9fff，、])\\s+(?=[\u4e00-\u9fff])", "", unbracketed(text))
    if joined.rstrip().endswith(("..", "…", "⋯")):
        return None
    joined = re.sub("\\s+(?=[，。；：、）」])", "", joined)
    if re.search('[^\\s。！!][ “‘"]*[！!][ ”’"]*[。.]\\s*$', joined):
        return None  # "键入 !。": the sign is what is typed
    bare = OPENING.sub("", " ".join(joined.split())).strip().rstrip("。；;.！!，,")
    if not 8 <= len(bare) <= 130 or _ODD.search(bare) or _ASKS.search(bare) or CONTINUES.match(bare):
        return None
    if not _balanced(bare) or not _is_written_in_chinese(bare):
        return None
    words = tuple(chinese_words.read(bare))
    letters = chinese_words.codes(words)
    if words[0].text in _JOINED_ON:
        return None
    return Sentence(bare, words, letters, tuple(_clauses(letters)))


def _is_written_in_chinese(text: str) -> bool:
    """Return whether two in five characters are Chinese, a word of other letters counted as two: names may be long."""
    counted = re.sub("[0-9_./+#@$:*-]*[A-Za-z][A-Za-z0-9_./+#@$:*-]*", "xx", text)
    return len(re.findall("[\u4e00-\u9fff]", counted)) >= 0.4 * len(counted)


def unbracketed(text: str) -> str:
    """Return a text without what is in brackets."""
    while (shorter := _BRACKETS.sub("", text)) != text:
        text = shorter
    return text


def _balanced(text: str) -> bool:
    pairs = ("（）", "()", "“”", "《》", "「」", "[]", "【】", "‘’")
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in pairs) and text.count('"') % 2 == 0


def _clauses(letters: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer("[^,]+", letters):
        yield match.span()


def points_elsewhere(text: str) -> bool:
    """Return whether a text points to what stands elsewhere."""
    return bool(_POINTING.search(text))


def points(text: str) -> bool:
    """Return whether a text points to what stands elsewhere, or asks."""
    return bool(_POINTING.search(text) or _ASKS.search(text))


_OUTSIDE = re.compile(
    "上述|前述|[上前下后]文|[上下]面|如[上下](?!属)|本[章节]|[参详另]见|上一[章节]|[上下]一页|[上下]表|(?:相同|同样)的(?:过程|方法|步骤|方式|操作)"
)
_BACK = re.compile("这|那(?!么)|它|(?<![应活])该(?!死)|(?<![尤极耳与])其(?![他它余次实中])|(?<!彼)此(?!外)")


def refers_back(draft: Draft) -> bool:
    """Return whether an answer is not understood without what stands before it: "一种这样的服务".

    A list and what to do in a case may name a second time what they themselves or the question name.
    """
    itself = draft.type == "list" or draft.attribute == "处理办法"
    if draft.attribute == "处理办法":
        named = re.findall("(?:这[个些种]?|此|该)([一-鿿]{2})", draft.answer)
        if any(name not in draft.question for name in named):
            return True  # "将其放在此文件夹中"
    return bool(_OUTSIDE.search(draft.answer) or (not itself and _BACK.search(draft.answer)))


def is_usable(draft: Draft) -> bool:
    """Return whether a question can be understood and has an answer that it does not hold."""
    question, answer = draft.question, draft.answer
    if not 7 <= len(question) <= LONGEST_QUESTION or not 1 <= len(answer) <= LONGEST_ANSWER * (
        6 if draft.type == "list" else 1
    ):
        return False
    if re.search("，(?:然后|再|并|且|而且|同时|接着|而)", question):
        return False
    if re.search("以下|下列|如下|如此", answer) or refers_back(draft):
        return False
    if _POINTING.search(question) or _POINTING.match(answer) or not (_balanced(question) and _balanced(answer)):
        return False
    if (
        re.search("^[^，]{1,12}占百分之多少|一些|有些|(?:谁|什么|哪里)即", question)
        or _NEARBY.match(answer)
        or re.search("[:：](?!\\d)|之一", question)
    ):
        return False
    if len(_ASKS.findall(question.rstrip("？"))) != 1 or CONTINUES.match(question):
        return False
    if _ASKS.search(answer.replace("是否", "") if draft.type == "list" else answer):
        return False  # what is to be checked is listed as questions: "电池是否取出"
    return answer not in question and not answer.endswith(("的", "了", "和", "与", "是", "在"))


CIRCUMSTANCE = re.compile(
    r"(?:(?<![小耗及同临定按平随准])时|时候|(?<![最今先])后|(?<!目)前|之后|之前|期间|情况下|过程中|的|以来|以后|以前|自.{2,16}起)$"
)
"""Endings of a clause that only says when or in which case."""
PLACE = re.compile(r"^(?:在|从|自|于|截至|截止)?.{2,20}(?:中|内|下|里|上|间)$")
"""A clause that only says where."""
CONDITION = re.compile(
    "^(?:如果|如|若|当|一旦|只要|在|对于|对|除|凡|自|从|使用|根据|按照|未经|经|为了|为|截至|随着|关于)"
)
"""Beginnings of a clause that only says in which case, where or for what."""
_SUBJECT = re.compile(
    rf"^(?:T|D|P[^,]{{1,12}}?F)*(?:{NOUN_PHRASE}F?|N)(?=[VBZDPTMA])|^V[VNAMKCUPF]*N[F]?(?=Z|D*Z)|^V[VNAMKCUPF]*(?=Z)"
)


def is_circumstance(sentence: Sentence, clause: int) -> bool:
    """Return whether a clause says only when, where or in which case: what holds follows it."""
    start, end = sentence.clauses[clause]
    text, letters = sentence.between(start, end), sentence.codes[start:end]
    if CIRCUMSTANCE.search(text) or re.match("如果|若|一旦", text):
        return True
    if CONDITION.match(text) and not re.search("[BZ]", letters):
        return True
    if (
        PLACE.match(text)
        and (letters[0] == "P" or re.fullmatch(rf"{NOUN_PHRASE}[UF]*", letters))
        and "V" not in letters
    ):
        return True
    return bool(
        re.fullmatch(r"[ATNMUKC]*N|T", letters) or (re.fullmatch(r"[^,B]+U[NA]*N", letters) and is_person(text))
    )


_HAS_SUBJECT = re.compile(rf"(?:[TD]|P[NAMTUKC]{{1,8}}F?)*{NOUN_PHRASE}F?(?:[DZTLB]|P[NAMT]{{1,6}}F)*P?(?=.$)")
_ACTING = re.compile(r"(?:[TD]|P[NAMT]{1,6}F)*V[NAMKC]{1,6}(?=[DZ])[DZ]*(?=.$)")
_GOES_ON = re.compile(
    "然后|接着|随后|再|并|且|而且|以及|及|和|与|或|同时|还|也|其中|从而|分别|甚至|包括|例如|比如|如(?!果)"
)


def has_one_subject(sentence: Sentence, clause: int, place: int, *, acting: bool = False) -> bool:
    """Return whether a clause up to a word is its subject with adverbs and modals: no other predicate before it.

    "要用于脚注的字符" and "工具栏包括用于绘图的工具" are none: the word begins what tells a noun apart. With `acting`,
    an action can be the subject too: "合并单元格可能会".
    """
    letters = sentence.codes[sentence.clauses[clause][0] : place + 1]
    if letters[-2:-1] == "P" and sentence.words[place - 1].text != "被":
        return False
    if "B" in letters[:-2] or (letters[-2:-1] == "B" and sentence.words[place].text != "由"):
        return False  # "是用于绘图的工具"
    return bool(_HAS_SUBJECT.match(letters) or (acting and _ACTING.match(letters)))


def goes_on(sentence: Sentence, clause: int) -> bool:
    """Return whether the clause after this one says more of the same: "…，然后…", "…，并…"."""
    following = sentence.clauses[clause + 1 : clause + 2]
    return bool(following) and bool(_GOES_ON.match(sentence.between(*following[0])))


def _only_leads(sentence: Sentence, clause: int) -> bool:
    """Return whether a clause is a circumstance, or a noun phrase of which what follows says something."""
    return is_circumstance(sentence, clause) or bool(re.fullmatch("[^,BZ]*U[NA]*[NV]", _codes_of(sentence, clause)))


def is_person(noun: str) -> bool:
    """Return whether a noun says by its ending that it is a person's."""
    return bool(PERSON.search(noun))


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
        first, owner = clause, _owner(sentence, led)
        if not owner or re.search("[将把给]", sentence.between(*sentence.clauses[led])):
            return ""
    led = min(led, first)
    if not all(_only_leads(sentence, between) for between in range(first, clause)):
        return ""  # a question within what only comes before it: "每个版本有五年寿命，每多少年发行新版"
    if led < clause and not owner and not re.search("[VBZP]", _codes_of(sentence, clause)):
        return ""  # "一线城市每天120元，其他城市每天90元": the verb is left out
    if clause and re.fullmatch("[NAM]*[KC][NAMKC]*", _codes_of(sentence, clause - 1)):
        return ""  # the first members of a series
    goes_on = wh == "什么" and end == sentence.clauses[clause][1]
    goes_on = goes_on and bool(re.fullmatch("[NAMKCUE]+", _codes_of(sentence, clause + 1)))
    if goes_on or _is_broken(sentence, led, first, clause, last, start):
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


def _owner(sentence: Sentence, clause: int) -> str:
    """Return what a clause says something of; where it measures "A的B", A, of which a measure that follows is, too."""
    owner = subject_of(sentence, clause, only=True)
    if owner and re.match("之?[前后时中内]|期间", sentence.between(*sentence.clauses[clause]).partition(owner)[2]):
        return ""  # "放苗前15天用石灰清塘，用量为…"
    if re.match("于", sentence.between(*sentence.clauses[clause]).partition(owner)[2] if owner else ""):
        return ""  # "青澜江发源于…": jieba takes the verb for a part of the name
    measures = sentence.codes[sentence.clauses[clause][1] - 1] == "M"
    return (owner.rpartition("的")[0] or owner) if measures else owner


def _is_broken(sentence: Sentence, led: int, first: int, clause: int, last: int, start: int) -> bool:
    """Return whether a question of these clauses would begin or end in the middle."""
    if clause and re.match("而|以|或|到|至|并不|且不", sentence.between(sentence.clauses[clause][0], start) or " "):
        return True
    if sentence.words[sentence.clauses[first][0]].text in ("将", "把", "使", "让", "令"):
        return True  # whose doing it is was said before
    if sentence.words[sentence.clauses[led][0]].text in _JOINED_ON:
        return True
    if clause and re.fullmatch("N+", _codes_of(sentence, 0)) and _codes_of(sentence, clause)[0] == "P":
        return True  # "罗伯特·沃森，于1997年任职": a line of a list
    supposed = _SUPPOSES.search(sentence.between(sentence.clauses[led][0], start))
    aiming = sentence.words[sentence.clauses[first][0]].text in _AIMING
    return aiming or (bool(supposed) and not re.search("[ZB]", _codes_of(sentence, last)))


def _ending(sentence: Sentence, clause: int, start: int) -> int | None:
    """Return the clause with which a question about this one ends: the first that says what holds; None without one."""
    last = clause
    while is_circumstance(sentence, last):
        last += 1
        if last == len(sentence.clauses):
            return None
    if re.search("M[FN]$", _codes_of(sentence, last)) and re.search(
        "[内前后]$", sentence.between(*sentence.clauses[last])
    ):
        if last + 1 == len(sentence.clauses):
            return None
        last += 1  # "应当自收到通知之日起三十日内，完成回收工作"
    following = sentence.clauses[last + 1 : last + 2]
    if following and _THEN.match(sentence.between(*following[0])) and "Z" not in _codes_of(sentence, last):
        last += 1  # "单表行数超过500万行，才推荐分库分表"
    inside = re.search("U[NAV]*[NV]$", sentence.codes[start : sentence.clauses[last][1]])
    if inside and last == clause and re.match("[DZP]+(?:[NA]*N)?V", _codes_of(sentence, last + 1)):
        last += 1  # "叶绿体被两层膜包裹的事实，常被当作证据": the subject fills the clause
    return last


def _codes_of(sentence: Sentence, clause: int) -> str:
    """Return the codes of a clause, "" past the last."""
    if clause >= len(sentence.clauses):
        return ""
    first, last = sentence.clauses[clause]
    return sentence.codes[first:last]


_THEN = re.compile("才|就|则|都|均|方可|方能")
_SUPPOSES = re.compile("(?:^|，)(?:如果|若|虽然|尽管|即使|只要|一旦|除非)")
_AIMING = candidate.word_set(
    "认为 以为 觉得 相信 表示 指出 建议 推荐 避免 防止 确保 保证 注意 计划 预计 估计 决定 打算 希望 要求 距 距离"
    " 离 位于 据 经过 通过"
)


def _is_measure(sentence: Sentence, clause: int) -> bool:
    """Return whether a clause only says how much of something: "最高时速为100公里"."""
    start, end = sentence.clauses[clause]
    match = re.fullmatch(r"(?P<what>V?[NAU]{1,4})[BDZ]*V?[BDP]*T?M", sentence.codes[start:end])
    named = ("nr", "ns", "nt", "nz", "nw", "eng")
    words = sentence.words[start : start + match.end("what")] if match else ()
    if match and words[0].text in ("其他", "其它", "其余"):
        return False
    verb = sentence.words[end - 2].text if match and sentence.codes[end - 2] == "V" else "达"
    return verb in _REACHES and bool(match) and not any(word.tag.startswith(named) for word in words)


_REACHES = candidate.word_set("达 达到 超过 不足 少于 低于 高于 多于 小于 大于 约 占")


def subject_of(sentence: Sentence, clause: int, *, only: bool = False) -> str:
    """Return the noun phrase that a clause begins with, else unless `only` the nearest before it; "" without one."""
    for at in range(clause, clause - 1 if only else -1, -1):
        start, end = sentence.clauses[at]
        if match := re.match(rf"(?:T|D)*({NOUN_PHRASE})(?=[VBZDPF])", sentence.codes[start:end]):
            return sentence.between(start + match.start(1), start + match.end(1))
    return ""


_NEARBY = re.compile("^(?:附近|周围|对面|旁边|当地|同|各|任何|一切|所有)")
PERSON = re.compile(
    "(?:人|员|员工|职工|者|学生|用户|客户|顾客|居民|乘客|旅客|儿童|患者|会员|一方|师|长|经理|主任|主管|总监|总裁|书记|主席|代表|委员|教授|院士|作者|将军|总统|国王)$"
)
"""Endings of nouns for persons."""
WEAK_VERBS = candidate.word_set(
    "允许 鼓励 强制 要求 建议 停止 避免 防止 抵达 到达 前往 进入 离开 来到 返回 进行 使用 做 有 没有 成为 作为"
    " 使得 认为 表示 指出 发现 可能 希望 开始 继续 受到 得到 具有 存在 出现 发生 导致 造成 涉及 属于 到 说 想 用"
    " 会 让 使 给 被 叫 称 称为 引起 产生 获得 进入 作出 做出 来自 参加 不是 还有 看到 意味着 相当于 无"
)
"""Verbs whose object says too little to be asked for, or that a clause follows."""
