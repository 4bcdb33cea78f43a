"""What Chinese sentences lay down: causes and aims, what to do when, what must and must not be, exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragviz.claims import candidate, chinese_words
from ragviz.claims.chinese_sentence import (
    CIRCUMSTANCE,
    CONDITION,
    NOUN_PHRASE,
    WEAK_VERBS,
    Draft,
    Sentence,
    goes_on,
    in_place,
    is_person,
    subject_of,
)
from ragviz.core.question import QuestionType

_BECAUSE = re.compile(r"^(?P<effect>.{6,40}?)，(?:这)?(?:主要)?(?:是)?因为(?P<cause>.{5,50})$")
_DUE = re.compile(
    r"^(?:由于|因为|因)(?P<cause>[^，]{4,40})，(?:所以|因此|故)?(?P<effect>[^，]{6,40})(?:，(?!也|但|而|却).*)?$"
)


def causes(sentence: Sentence) -> Iterator[Draft]:
    """Ask why, where the sentence gives a cause or an aim."""
    text = sentence.text
    if (match := _BECAUSE.match(text)) or (match := _DUE.match(text)):
        yield from _why(sentence, match["effect"], match["cause"])


def _why(sentence: Sentence, effect: str, cause: str) -> Iterator[Draft]:
    start = sentence.text.index(effect)
    first = next((place for place, word in enumerate(sentence.words) if word.start >= start), 0)
    clause = next((n for n, (left, right) in enumerate(sentence.clauses) if left <= first < right), 0)
    begins = sentence.clauses[clause][0]
    subject = re.match(rf"(?:T|D)*({NOUN_PHRASE})(?=[BVZDPTF])", sentence.codes[begins:])
    if re.search("(?:来说|来讲|而言|看来|[时后])$", effect):
        return
    if subject is None or "，" in effect or re.match("B", sentence.codes[begins + subject.end() :]):
        return
    name = sentence.between(begins + subject.start(1), begins + subject.end(1))
    asked = effect.replace("就", "", 1) if effect.startswith(name + "就") else effect
    yield Draft(f"为什么{asked}？", cause.strip(), "fact", 8.0, name, "原因")


_ACTION = re.compile("^(?:请|必须|应当|应该|应|须|需要|需|可以|可)(?:立即|首先|先|及时|尽快|马上)?(?P<rest>.+)$")


_HINT = re.compile(
    "注意|确保|确认|保证|包含|包括|考虑|记住|牢记|了解|参[见阅考]|阅读|查阅|尽量|尽可能|务必(?:阅读|注意|确|记)|小心|当心|放心|知道|使用下面"
)
"""Beginnings of what is only a hint, and no way to do something."""


_UNNAMED = re.compile("(?:列表框?|窗格|对话框|窗口|字段|选项卡|工具栏|图标|按钮|方框|菜单)")
"""Parts of a window, which have a name or are known only from what stands before."""


def _is_procedure(action: str) -> bool:
    """Return whether an action answers what to do: an act, no mere hint, condition or first of several steps."""
    match = _ACTION.match(action)
    if not match or _HINT.match(match["rest"]) or re.match("可以?", action):
        return False
    if re.match("(?:请|必须|应当|应该|应|须|需要|需)?(?:首先|先)", action) and not re.search("再|然后|之后", action):
        return False
    if _UNNAMED.search(action) and not re.search('[「“《"A-Za-z]', action):
        return False  # "请在列表中选择一个条目": in which?
    letters = chinese_words.codes(chinese_words.read(match["rest"]))
    if re.match("需要?", action) and (action.startswith("需要") or re.fullmatch("V?[NAMU]+", letters)):
        return False  # what is needed before it can be done
    asked = action.startswith("请") or match["rest"].startswith(("将", "把"))
    return asked or bool(re.match("[DT]*(?:V|P[^,]*V|Z?D?V)", letters))


_AIMED = re.compile(
    "(?:如果|若|如)?(?:您|你)?(?:想要?|要|希望)(?![求点素件么是])(?P<what>(?![有不让]|一[个种])[^，]{3,30}(?<![时后前的]))$"
)


_SEEN = re.compile("已(?:选中|打开|启用|选择)|选中了|看到|看见|出现")
"""What is seen or was done before, in the middle of a procedure."""


def conditions(sentence: Sentence) -> Iterator[Draft]:
    """Ask what is to be done in a case that the sentence names."""
    text = sentence.text
    match = re.match(
        r"^(?P<if>如果|若|如(?!果)|一旦|当)?(?P<case>[^，]{3,36})，(?P<action>(?:则)?(?:您|你)?(?:请|必须|应当|应该|应|须|需要|需|可以|立即|首先).{4,50})$",
        text,
    )
    if not match:
        return
    case, action = match["case"], match["action"].removeprefix("则")
    if _SEEN.search(case) or re.search("(?:选择|打开)[^，]*对话框$", action):
        return
    if aim := _AIMED.match((match["if"] or "") + case):
        letters = chinese_words.codes(chinese_words.read(aim["what"]))
        if re.match("更|[最很]", aim["what"]) or not re.match("[^U]*V", letters):
            return  # "想要更多信息": the verb is left out
        way = action.removeprefix("可以").removeprefix("可")
        if action.count("，") <= 2 and len(action) >= 6 and _is_procedure(way if way == action else f"请{way}"):
            yield Draft(f"如何{aim['what']}？", action, "fact", 7.5, aim["what"], "处理办法")
        return
    if match["if"]:
        case = case.removesuffix("的")
        question = f"如果{case}，应该怎么办？" if match["if"] != "当" else f"当{case}，应该怎么办？"
    elif re.search("(?:时|后|前|时候)$", case) and CIRCUMSTANCE.search(case):
        question = f"{case}，应该怎么做？"
    else:
        return
    if match["if"] != "当" and _MAY.match(action):
        yield from _choice(case, action)
    elif len(action) >= 6 and action.count("，") <= 2 and _is_procedure(action):
        yield Draft(question, action, "fact", 7.0, case, "处理办法")


_MAY = re.compile("(?:您|你)?可以?(?:考虑)?")


def _choice(case: str, action: str) -> Iterator[Draft]:
    """Ask what may be done in a case where that is one act, told without what stands before: "可以考虑降低转速"."""
    way = _MAY.sub("", action, count=1)
    pointing = re.search("，|这|那|该|此|它|其", way) or case.endswith(("时", "后", "前"))
    if len(way) >= 4 and not pointing and _is_procedure(f"请{way}"):
        yield Draft(f"如果{case}，可以怎么做？", action, "fact", 7.0, case, "处理办法")


_FORBIDS = re.compile(r"(?:请不要|不得|不准|不许|不允许|不可以|不可|不能|严禁|禁止|切勿|请勿|不要|不应|不宜)")
_WEAKLY = candidate.word_set("不能 不可 不可以 不应 不要 不宜")
_REASON = re.compile("(?:避免|以免|防止|以防|否则|以便|以确保|以保证|以避免|以防止|因为)")
"""Beginnings of a clause that says why, after what must not be."""
_LIMIT = re.compile("超过|少于|低于|高于|大于|小于|多于|晚于|早于")
"""Of a limit the number is asked for."""
_EXCEPT = re.compile(r"^除(?:了|非)?(?P<except>[^，]{2,30}?)(?:之外|以外|外)，(?P<rule>[^，]{6,40})$")
_EXCEPT_IF = re.compile(r"^(?P<rule>[^，]{6,40})，(?:但(?:是)?)?(?P<except>[^，]{2,30}?)(?:除外|例外)$")
_WITHOUT = re.compile(
    r"^(?P<without>(?:未经|没有|未)[^，]{2,24})，(?P<who>[^，]{0,16}?)(?P<bars>不得|不准|不许|不可|不能|禁止|严禁)(?P<what>[^，]{3,40})$"
)


def exceptions(sentence: Sentence) -> Iterator[Draft]:
    """Ask what is not allowed, what is excepted, and what something does not have or cover."""
    text = sentence.text
    if match := _EXCEPT.match(text):
        rule = match["rule"].removeprefix("其他").removeprefix("其余")
        if _has_subject(sentence, match.start("rule")) and "都" not in rule[:3]:
            yield Draft(f"{rule}，有什么例外？", match["except"], "exception", 8.0, rule, "例外")
    elif (match := _EXCEPT_IF.match(text)) and (_has_subject(sentence, 0) or _is_ruled(sentence)):
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


def _is_ruled(sentence: Sentence) -> bool:
    """Return whether a sentence says what must or must not be in a case that it names: "使用烤箱应当戴手套"."""
    return bool(re.match("V[NA]*[NF]+Z[^,]*V", sentence.codes))


def _has_subject(sentence: Sentence, character: int) -> bool:
    place = next((n for n, word in enumerate(sentence.words) if word.start >= character), None)
    if place is None:
        return False
    end = next((last for first, last in sentence.clauses if first <= place < last), place)
    return bool(re.match(rf"(?:T|D)*{NOUN_PHRASE}F?(?=[VBZDPTA])", sentence.codes[place:end]))


def _forbidden(sentence: Sentence, clause: int, first: int, last: int) -> Iterator[Draft]:
    """Ask who may not do something, and what somebody may not do."""
    text = sentence.between(first, last)
    match = _FORBIDS.search(text)
    if not match or _FORBIDS.search(text, match.end()):
        return
    if not all(_REASON.match(sentence.between(*after)) for after in sentence.clauses[clause + 1 :]):
        return
    before, what, bars = text[: match.start()], text[match.end() :], match.group()
    placed = bars in ("严禁", "禁止") and before.endswith(("内", "中", "里", "上"))
    fewest = 2 if placed else 4 if bars in _WEAKLY else 3
    if not fewest <= len(what) <= 36 or _LIMIT.search(what[:6]) or what[0] in "被由":
        return
    opening = sentence.between(sentence.clauses[0][0], first) if clause else ""
    if opening and not _opens(sentence, clause):
        return
    opening = opening + ("，" if opening and not opening.endswith("，") else "")
    letters = sentence.codes[first : first + _words_in(sentence, first, len(before))]
    who = bool(re.fullmatch(rf"(?:{NOUN_PHRASE})F?", letters))
    who = who or (is_person(before) and bool(re.fullmatch("[NAV]*VN", letters)))  # "借用人"
    if not (before or opening) or (before and not who and not re.fullmatch("[VNAMKCUPF]+", letters)):
        return
    if placed:
        yield Draft(f"{opening}{before}{bars}什么行为？", what, "exception", 7.0, before or opening, "禁止")
    elif opening or who:
        told = (
            not opening and len(letters) > 1 and not re.fullmatch("[NAV]*VN", letters)
        )  # "员工", "借用人": all there are
        if who and told and is_person(before) and bars[0] == "不":  # "谁禁止…" would ask who forbids it
            yield Draft(f"谁{bars}{what}？", before, "exception", 6.5, before, "禁止")
        yield Draft(f"{opening}{before}{bars}做什么？", what, "exception", 7.0, before or opening, "禁止")


def _opens(sentence: Sentence, clause: int) -> bool:
    """Return whether each clause before a ban says when, in which case or of which thing, and states nothing."""
    for first, last in sentence.clauses[:clause]:
        text, letters = sentence.between(first, last), sentence.codes[first:last]
        of_thing = clause == 1 and re.fullmatch("[^Z]*U[NA]*[NV]", letters)
        if "B" in letters or not (CIRCUMSTANCE.search(text) or CONDITION.match(text) or of_thing):
            return False
    return True


def _words_in(sentence: Sentence, first: int, characters: int) -> int:
    """Return how many words from `first` on lie within so many characters of the clause."""
    start = sentence.words[first].start
    return sum(1 for word in sentence.words[first:] if word.end <= start + characters)


_MUST = candidate.word_set("必须 应 应当 应该 须 需 需要 务必 必需 只能")


def obligations(sentence: Sentence) -> Iterator[Draft]:
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
            if sentence.words[start].tag[0] in "vd" or sentence.words[start].tag == "ad":
                continue
            if goes_on(sentence, clause) or re.search(
                "首先|先|再|由", sentence.between(first + match.end("who"), start)
            ):
                continue
            led = clause > 0 or re.match(rf"{NOUN_PHRASE}F?$|V[NVAMU]*$", match["who"])
            if led and len(answer) >= 2 and verb not in WEAK_VERBS and not re.match("[一\\d]", answer):
                question = in_place(sentence, clause, start, last, "哪里" if verb in ("到", "至") else "什么")
                if question:
                    kind: QuestionType = "list" if "K" in match["what"] else "fact"
                    yield Draft(question, answer, kind, 7.0, subject_of(sentence, clause), "要求")
        negative = re.fullmatch(
            rf"(?P<who>{NOUN_PHRASE}F?)D+V(?P<what>(?:M|[NA]|[NAM]+U)*[NV](?:[KC][NA]*N)*E?)", letters
        )
        if negative and sentence.words[first + negative.end("who")].text in ("不", "未"):
            start = first + negative.start("what")
            verb = sentence.words[start - 1].text
            if len(verb) >= 2 and verb not in WEAK_VERBS and not goes_on(sentence, clause):
                question = in_place(sentence, clause, start, last, "什么")
                if question and negative["what"] != "V":  # "不推荐使用"
                    answer = sentence.between(start, last)
                    yield Draft(question, answer, "exception", 7.0, subject_of(sentence, clause), "")


_ONLY = re.compile("^只有(?P<what>[^，]{2,24}?)，?才(?P<can>能|能够|可以|可|会|有权)(?P<rest>[^，]{4,30})$")
_AIM = re.compile("^为了?(?P<aim>[^，]{4,30})，(?P<means>[^，]{8,40})$")
_SO_THAT = re.compile("^(?P<means>[^，]{8,40})，(?:以便|以(?=避免|防止|确保|保证)|从而(?=避免))(?P<aim>[^，]{2,30})$")


def aims(sentence: Sentence) -> Iterator[Draft]:
    """Ask what something is done for, and who or what alone can do it."""
    text = sentence.text
    if match := _ONLY.match(text):
        nominal = chinese_words.codes(chinese_words.read(match["what"]))[-1:] == "N"
        wh = "谁" if is_person(match["what"]) else "什么情况下"
        if nominal and wh != "谁" and not re.match("[在当]", match["what"]):
            wh = "只有什么"
        yield Draft(f"{wh}才{match['can']}{match['rest']}？", match["what"], "exception", 7.0, match["rest"], "条件")
    match = _AIM.match(text) or _SO_THAT.match(text)
    if match and _has_subject(sentence, match.start("means")):
        means, aim = match["means"], match["aim"]
        if re.search("(?:起见|原因|缘故|目的|考虑|需要)$", aim):
            return
        yield Draft(f"{means}，目的是什么？", aim, "fact", 7.0, means, "目的")
