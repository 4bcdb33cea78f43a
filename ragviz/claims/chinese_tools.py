"""What Chinese sentences say that named tools, fields and files do, and with which of them something can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragviz.claims import candidate
from ragviz.claims.chinese_sentence import Draft, Sentence, is_circumstance
from ragviz.core.document import Word

_DOES = candidate.word_set(
    "给出 指定 定义 设置 显示 列出 描述 表示 记录 保存 存放 存储 控制 决定 指向 启用 禁用 检查 返回 输出 读取 生成"
    " 删除 替换 启动 停止 接受 接收 监听 解析 转换 压缩 解压 加密 验证 计算 规定 说明 声明 标识"
)
"""Verbs that say what a field, option, file or command is there for."""
_KINDS = candidate.word_set(
    "字段 选项 参数 变量 文件 命令 指令 脚本 程序 函数 工具 目录 模块 服务 软件包 按钮 菜单 键 属性 标签 配置项 格式"
    " 操作 接口 宏 类 方法 事件 信号 端口 协议 插件"
)
_BY = candidate.word_set("使用 通过 用 利用 借助")
_MORE = re.compile("更[多好高快]|^(?:各种|不同|相应|相关|必要|所有|任何|特定|合适|一[些个种])|(?:这|那|该|此|其)")
"""Objects that say too little, or that stand for what was said before."""


def functions(sentence: Sentence) -> Iterator[Draft]:
    """Ask for the object of what a named field, option, file or command does: "Package 字段给出什么？"."""
    if len(sentence.clauses) != 1:
        return
    match = re.fullmatch(
        "(?P<who>N{1,3})(?P<how>[DZ]?)(?P<verb>V)(?P<done>L?)(?P<what>[NAMV][NAMVUKC]*N)", sentence.codes
    )
    if not match:
        return
    subject, verb = sentence.words[: match.end("who")], sentence.words[match.start("verb")]
    what = sentence.between(match.start("what"), match.end("what"))
    known = subject[0].tag in ("eng", "nw") and (subject[-1].text in _KINDS or len(subject) == 1)
    modifies = match["what"][0] == "V" and "U" in match["what"]
    if known and verb.text in _DOES and not modifies and 4 <= len(what) <= 40 and not _MORE.search(what):
        asked = sentence.between(0, match.start("what"))
        blank = "" if match["done"] else sentence.text[verb.end : verb.end + 1].strip(what[0])
        yield Draft(f"{asked}{blank.strip()}什么？", what, "fact", 7.0, sentence.between(0, match.end("who")), "作用")


def tools(sentence: Sentence) -> Iterator[Draft]:
    """Ask with which named tool something can be done: "可以使用什么来构建源码包？"."""
    first, last = sentence.clauses[-1]
    match = re.match("[RA]?Z(?=[VP])", sentence.codes[first:last]) if _has_one_statement(sentence) else None
    if not match or sentence.words[first + match.end() - 1].text not in ("可", "可以", "能", "能够"):
        return
    by, start = sentence.words[first + match.end()].text, first + match.end() + 1
    end = _end_of_tool(sentence.words, start, last)
    begins = end + (end < last and sentence.words[end].text == "来")
    if by not in _BY or end == start or begins >= last - 1:
        return
    does, letters = sentence.words[begins], sentence.codes[begins:last]
    acts = does.tag in ("v", "vn") and len(does.text) > 1 and re.fullmatch("[VN][NAMVUKC]*[NV]", letters)
    do = sentence.between(begins, last)
    if acts and 4 <= len(do) <= 30 and not _MORE.search(do):
        opening = f"{sentence.between(0, first - 1)}，" if first else ""
        yield Draft(f"{opening}可以{by}什么来{do}？", sentence.between(start, end), "fact", 7.0, do, "工具")


def _has_one_statement(sentence: Sentence) -> bool:
    """Return whether only circumstances precede the last clause of a sentence."""
    return all(is_circumstance(sentence, clause) for clause in range(len(sentence.clauses) - 1))


def _end_of_tool(words: Sequence[Word], start: int, last: int) -> int:
    """Return where a named tool from `start` on ends: after its kind, if any; `start` where none is named."""
    if start >= last or words[start].tag not in ("eng", "nw"):
        return start
    bare = start + 1 if words[start].tag == "eng" and words[start].text[0].islower() else start  # "Debian" is no tool
    return next((at + 1 for at in range(start + 1, min(start + 3, last)) if words[at].text in _KINDS), bare)


_MEASURE = re.compile(
    "(?:长度|宽度|高度|深度|大小|数量|数目|数|值|级别|端口|端口号|上限|下限|优先级|编号|比例|比率|容量|权重|次数)$"
)


def values(sentence: Sentence) -> Iterator[Draft]:
    """Ask for a number without a unit that a measure of something is: "字段的最大长度为多少？"."""
    if not _has_one_statement(sentence):
        return
    first, last = sentence.clauses[-1]
    match = re.fullmatch("(?P<what>[NAV]+U[NAV]*N)(?P<be>B)(?P<value>M)", sentence.codes[first:last])
    if not match or not re.fullmatch(r"\d[\d.,]*", sentence.words[last - 1].text):
        return
    what = sentence.between(first, first + match.end("what"))
    if _MEASURE.search(what):
        asked = sentence.between(0, last - 1)
        yield Draft(f"{asked}多少？", sentence.words[last - 1].text, "number", 7.5, what, what.rpartition("的")[2])
