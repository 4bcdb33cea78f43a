"""Which questions of Chinese sentences are unclear: of no thing that is named, or with an answer that says nothing."""

from __future__ import annotations

import re

from ragviz.claims import chinese_words
from ragviz.claims.chinese_sentence import Draft

_UNTOLD = re.compile(
    "(?:^|，)(?:新的?(?!闻|[一-鿿]{1,3}[省市县区])|(?:其他|其它|另外|现有|原有|剩余|所[一-鿿]{1,4})的?"
    "|(?:可|能|可以|能够|您|你|我们)[^，？]{0,12}?的)(?=[^，？]*(?:什么|多少|谁|哪))"
)
"""Subjects of which was told before which they are: "新的基线", "可用来代替的软件包", "您选择的语言"."""
_UNSAID = re.compile(
    "(?<![和与及或、比将])(?:其他|其它)(?!人)|(?:未|没有?)被?(?:列出|列入|提及|提到|包含|包括|涵盖|涉及|说明|描述|收录)的"
    "|(?:^|，)(?:相应|对应|各自)的|(?<!与)(?<!和)(?:有关|相关)的?(?:[一-鿿]{2,4})(?=[，？]|$)"
)
"""What is other than, listed in or about something that is not said: "其他格式", "未被列出的错误", "获得有关指引"."""
_DANGLING = re.compile(
    "(?:^|，)请(?!假|求|客|愿|柬|帖)|顾名思义|换(?:句话|言之)|由此可见|请记住|请注意|多少[^，？]{1,3}中的|(?:^|，)(?:造成|导致|引起|引发|使得|意味着)"
)
_JUDGED = (
    "(?:不同|重要|主要|各种|特殊|特定|相关|关键|基本|某些|其他|其它|多种|一定|相应|常见|简单|具体|额外|适当|合适|良好"
    "|必要)的?"
)
_COUNT = f"(?:[一几多某各\\d{chinese_words.DIGITS}]+[个件种项类点样条份些]|一些|许多|很多|若干|部分)"
_ANYTHING = (
    "(?:事情|事|东西|方面|问题|方法|方式|办法|内容|信息|情况|部分|步骤|因素|条件|工作|要求|任务|作用|地方|事项|特点"
    "|功能|选择)"
)
_EMPTY = re.compile(f"(?:{_COUNT}?(?:{_JUDGED})+(?![^的]*[A-Za-z“「《])[^的，、]{{1,6}}|{_COUNT}(?:新的?)?{_ANYTHING})")
"""Answers that only say how many or how important: "几件事情", "不同的方式"."""
_TYPED = re.compile("(?:键入|输入|按下?|运行|执行|敲入|添加|加上|命名为|设置为|[：:])$")
"""Ends of an answer after which a piece of code or a sign was left out."""


def is_clear(draft: Draft) -> bool:
    """Return whether a question names what it is about, and its answer says something that the question does not."""
    if _UNTOLD.search(draft.question) or _DANGLING.search(draft.question) or _TYPED.search(draft.answer):
        return False
    if leaves_open(draft.question):
        return False
    return not _EMPTY.fullmatch(draft.answer) and not _repeats(draft)


def leaves_open(question: str) -> bool:
    """Return whether a question speaks of other or related things without what they are other than or related to."""
    match = _UNSAID.search(question)
    if not match or "除" in question[: match.start()]:
        return False
    clause = question[: match.start()].rpartition("，")[2]
    return not (match.group().startswith(("有关", "相关")) and re.search("[与和跟同]", clause))


def _repeats(draft: Draft) -> bool:
    """Return whether an answer without the kind that is asked for stands in the question: "boot loader 程序"."""
    kind = re.search("(?:什么|哪[个些种])([一-鿿]{1,6})？$", draft.question)
    named = re.sub("(?:软件包|程序|命令|工具|文件|系统)$", "", draft.answer.removesuffix(kind[1] if kind else ""))
    answer = "".join(named.split()).casefold()
    asked = "".join(draft.question.split()).casefold()
    return len(answer) > 1 and answer in asked
