"""How Chinese asks for what stands under a heading, in a list, a table, a pair or a definition."""

from __future__ import annotations

import re

from ragviz.generation import chinese_sentences
from ragviz.generation.phrasing import Asked, Heading, Phrasing, phrasings, words_in

_DIGITS = "〇零一二三四五六七八九十百"
_NUMBERING = re.compile(
    rf"^(?:第\s*[{_DIGITS}\d]+\s*(?:部分|[编篇章节条款步])[\s　：:、.．]*|[（(][{_DIGITS}\d]+[）)]\s*"
    rf"|[{_DIGITS}]+[、.．]\s*|\d+(?:[.．]\d+)*[、.．)）]?\s*(?=[^\d\s年月日号%级])|[①-⑳]\s*"
    rf"|附[件录]\s*[\dA-Z{_DIGITS}]*[：:\s　]+|步骤\s*[\d{_DIGITS}]+[：:\s　]*)"
)
_SIGNS = re.compile(r"^[^\w《“（(「]+|[\s　：:。.…—-]+$|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]+")
_EMPTY = words_in(
    "概述 简介 介绍 说明 背景 前言 引言 绪论 总则 附则 其他 其它 备注 注意 注意事项 提示 参见 参考 参考资料"
    " 参考文献 相关链接 相关文档 目的 目录 适用范围 范围 定义 术语 常见问题 问答 示例 例子 例 总结 小结 结论 结语"
    " 后记 附录 附件 更多 更多信息 详情 补充 补充说明 修订记录 变更记录 更新日志 版本 版本历史 下一步 步骤 流程"
    " 操作步骤 操作 用法 使用方法 使用说明 功能 特点 特性 优点 缺点 参数 返回值 选项 配置 安装 前提 前提条件"
    " 先决条件 要求 条件 原则 基本原则 职责 内容 主要内容 一般规定 基本规定 基本要求 要点 重点 背景介绍 基本信息"
    " 联系方式 联系我们 联系人 首页 欢迎 快速开始 开始 正文 标题 摘要 关键词 问题 答案 解决方法 解决方案 原因"
    " 现象 监督 罚则 责任 解释 施行 生效 时间 地点 费用 价格 对象 方式 标准 规则 规定 说明事项 特别说明 温馨提示"
    " 重要提示 免责声明 声明 致谢 版权 许可 更新 帮助 支持 反馈"
)
"""Headings that mean nothing without the one above."""
_JOINED = {
    "注意事项": "{c}有哪些注意事项？",
    "适用范围": "{c}的适用范围是什么？",
    "目的": "{c}的目的是什么？",
    "职责": "{c}中各方的职责是什么？",
    "流程": "{c}的流程是怎样的？",
    "操作步骤": "{c}的操作步骤是怎样的？",
    "步骤": "{c}分哪些步骤？",
    "前提条件": "{c}需要满足哪些前提条件？",
    "先决条件": "{c}需要满足哪些先决条件？",
    "要求": "{c}有哪些要求？",
    "条件": "{c}需要什么条件？",
    "原则": "{c}遵循哪些原则？",
    "基本原则": "{c}的基本原则是什么？",
    "优点": "{c}有哪些优点？",
    "缺点": "{c}有哪些缺点？",
    "特点": "{c}有哪些特点？",
    "功能": "{c}有哪些功能？",
    "参数": "{c}有哪些参数？",
    "费用": "{c}的费用是怎么规定的？",
    "时间": "{c}的时间是怎么安排的？",
    "对象": "{c}面向哪些对象？",
    "标准": "{c}的标准是什么？",
    "联系方式": "{c}的联系方式是什么？",
    "概述": "能概括介绍一下{c}吗？",
    "简介": "能简单介绍一下{c}吗？",
    "介绍": "能介绍一下{c}吗？",
    "用法": "{c}怎么用？",
    "使用方法": "{c}怎么用？",
    "安装": "{c}怎么安装？",
    "原因": "{c}的原因是什么？",
}
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("流程|程序|步骤|过程", ("{h}是怎样的？", "请问{h}是什么样的？", "{h}分哪几步？")),
    ("时间|时刻|日期|期限|时限|周期", ("{h}是怎么规定的？", "请问{h}是怎么安排的？")),
    ("方法|方式|途径|渠道|做法", ("有哪些{h}？", "{h}是什么？")),
    (
        "材料|资料|要求|条件|职责|权利|义务|原则|情形|类型|种类|事项|设施|服务|措施|好处|优势|原因|因素|任务|内容|功能|特点"
        "|限制|权限|待遇|福利",
        ("{h}有哪些？", "{h}包括哪些方面？", "请问具体有哪些{h}？"),
    ),
    (
        "标准|规则|规定|规范|制度|政策|范围|价格|费用|比例|额度|收费|办法",
        ("{h}是什么？", "{h}具体是怎么规定的？", "请问{h}是怎样的？"),
    ),
)
_ENDING = [(re.compile(rf".*(?:{ends})$"), ways) for ends, ways in _ENDINGS]
_VERB = re.compile(
    "(?P<v>(?:办理|申请|创建|新建|建立|安装|配置|设置|使用|添加|增加|删除|移除|修改|更改|更新|查看|查询|查找|搜索|登录|注册|注销"
    "|提交|下载|上传|打开|关闭|启用|禁用|启动|停止|购买|预订|预约|预定|取消|更换|借|续借|归还|报名|缴纳|领取|开具|报销|联系|加入"
    "|退出|退还|退订|退款|准备|选择|导入|导出|备份|恢复|部署|连接|调用|编写|编译|运行|测试|升级|卸载|获取|发送|发布|分享|管理|处理|解决|避免|防止"
    "|制作|定义|实现|优化|调整|转换|补办|挂失|变更|租|清洗|保养|拆卸|组装|打印|投诉)[^的]{2,20})"
)
_HOW = re.compile("(?:如何|怎样|怎么)(?P<v>[^的]{2,20})")
_NOUN_END = re.compile(
    ".*(?:规则|规定|办法|制度|流程|程序|标准|须知|指南|条件|材料|时间|范围|要求|管理|申请|服务|系统|功能|问题|说明|记录|部门"
    "|人员|费用|政策|原则|事项|方式|方法|中心|体系|策略|机制|工具|平台|模块|接口|类型|种类|指标|计划|方案|报告|情况|内容|信息|结构"
    "|架构|概念|组件|环境|权限|结果)$"
)
_REFERS = re.compile("[它其该此这那]|上述|以上|以下|如下|本[章节条文]|前[文述款条]")
_RULES = re.compile("应当?|须|必须|不得|禁止|可以|不予|规定")

_TOPIC = (
    "关于{h}，需要了解哪些内容？", "能介绍一下{h}吗？", "想了解{h}，主要有哪些要点？", "{h}具体是怎么回事？",
    "请问{h}方面有哪些说明？", "{h}的情况是怎样的？",
)  # fmt: skip
_TOPIC_IN = (
    "{c}里，{h}是怎么说的？", "关于{c}的{h}，需要了解哪些内容？", "{c}方面，{h}具体是怎样的？",
    "能介绍一下{c}中的{h}吗？", "{c}对{h}有哪些说明？", "请问{c}中{h}的要点是什么？",
)  # fmt: skip
_RULED = (
    "{h}有什么规定？", "关于{h}，有哪些要求？", "{h}应该注意什么？", "请问{h}是怎么规定的？",
    "{h}方面有哪些规定要遵守？",
)  # fmt: skip
_RULED_IN = (
    "{c}对{h}有什么规定？", "{c}中，{h}有哪些要求？", "按照{c}，{h}是怎么规定的？", "关于{c}中的{h}，有哪些规定？",
    "请问{c}在{h}方面有什么规定？",
)  # fmt: skip
_STEPS_IN = "{c}中，怎么{v}？"
_STEPS = ("怎么{v}？", "如何{v}？", "请问{v}要怎么做？", "想{v}，该怎么操作？", "{v}具体怎么办？")


def cleaned(title: str) -> str:
    """Return a title without its number and signs.

    >>> cleaned("第二章 出差申请"), cleaned("（三）借阅规则"), cleaned("1.2 安装")
    ('出差申请', '借阅规则', '安装')
    """
    title = _NUMBERING.sub("", _SIGNS.sub("", title).strip())
    return _SIGNS.sub("", title).strip()


def is_empty(title: str) -> bool:
    """Return whether a title says nothing without the one above."""
    return title in _EMPTY or not re.search("[\u4e00-\u9fffA-Za-z]{2}", title)


def is_weak(title: str) -> bool:
    """Return whether a title is so short that it names a part of something."""
    return len(re.findall("[\u4e00-\u9fff]", title)) < 4 and not re.search("[A-Za-z]{3}", title)


def _above(context: str) -> str:
    """Return the title above where it can be named in a question, else ""."""
    return "" if is_empty(context) or context.endswith(("？", "?")) else context


def _as_question(heading: Heading) -> tuple[Phrasing, ...]:
    title, context = heading.title.rstrip("？?"), _above(heading.context)
    if len(title) < 5 or _REFERS.search(_without_others(title)):
        return ()
    if heading.alone:
        return (Phrasing("", f"{title}？"),)
    return phrasings(("{c}中，{t}？",), c=context, t=title) if context else ()


def _without_others(title: str) -> str:
    """Return a title without words that hold a sign of reference and refer to nothing."""
    return re.sub("其[他它余]|应该|尤其|极其|与其", "", title)


_ASKS = re.compile("为什么|为何|什么|哪|谁|何时|怎样|如何|怎么|几[个次天]|多少|吗")


def _of_section(heading: Heading) -> tuple[Phrasing, ...]:
    title, above = heading.title, _above(heading.context)
    if len(title) > 40 or len(re.findall("[，。；]", title)) > 1 or title.count("（") != title.count("）"):
        return ()
    if title in _JOINED and above:
        return phrasings((_JOINED[title],), c=above)
    if title.endswith(("？", "?")) or (_ASKS.search(title) and not _HOW.fullmatch(title)):
        return _as_question(heading)
    needs = not heading.alone or is_weak(title) or (heading.short and above)
    if is_empty(title) or _REFERS.search(_without_others(title)) or (needs and not above):
        return ()
    task = _HOW.fullmatch(title) or _VERB.fullmatch(title)
    if task and heading.tells and not _NOUN_END.match(title):
        return phrasings(_STEPS, v=task["v"]) if heading.alone else phrasings((_STEPS_IN,), c=above, v=task["v"])
    for ending, ways in _ENDING:
        if ending.match(title):
            return phrasings(ways, h=f"{above}的{title}" if needs else title)
    ruled = _RULES.search(heading.text) is not None
    if needs:
        return phrasings(_RULED_IN if ruled else _TOPIC_IN, h=title, c=above)
    return phrasings(_RULED if ruled else _TOPIC, h=title)


_INTRODUCED = re.compile(
    "(?P<h>[^，。；：]{4,30}?)(?:主要)?(?P<v>包括|包含|分为|如下|有)(?:以下|下列)?(?:几|[一二三四五六七八九十\\d])?"
    "(?:个|种|类|项|点|方面|内容|部分|步骤)*"
)
_ATTRIBUTE = re.compile(
    ".*(?:额|费|价|价格|数|数量|量|率|期|时间|日期|标准|要求|名称|方式|范围|类型|人|部门|地点|地址|电话|级别|内容|单位|比例"
    "|期限|次数|天数|条件|周期|编号|代码|容量|尺寸|重量|温度|速度|频率|长度|时长|版本|用途|作用|颜色|材料|材质|学分|分数|规格|型号"
    "|楼层|职责|待遇|上限|下限)"
)
"""Titles of columns that name what the thing of a row has."""
_OF_CELL: tuple[str, ...] = (
    "{c}中，{k}的{t}是{w}？", "关于{c}，{k}的{t}是{w}？", "请问{c}里{k}的{t}是{w}？", "按{c}，{k}的{t}是{w}？",
)  # fmt: skip


class Chinese:
    """How Chinese asks."""

    marks, joint, steps = "？?", "；", frozenset((*_STEPS, _STEPS_IN))

    def __init__(self) -> None:
        self.cleaned, self.is_empty, self.is_weak = cleaned, is_empty, is_weak

    def joined(self, title: str, context: str) -> str:
        """Return a title with the one above it."""
        return f"{context}的{title}"

    def section(self, heading: Heading) -> tuple[Phrasing, ...]:
        """Ask what stands under a heading."""
        title = heading.title.strip("《》")
        says = rf"(?:所谓)?[“《]?{re.escape(title)}[”》]?(?:（[^）]*）)?，?(?:是指|指的?是|是一)"
        if len(title) > 1 and re.match(says, heading.text):
            return phrasings(("什么是{h}？", "{h}是什么？"), h=title)
        return () if heading.divided else _of_section(heading)

    def items(self, heading: Heading, *, ordered: bool) -> tuple[Phrasing, ...]:
        """Ask for all items of a list right under a heading."""
        title, above = heading.title, _above(heading.context)
        asks = (
            title.endswith(("？", "?"))
            or _ASKS.search(title)
            or _VERB.fullmatch(title)
            or re.search("[、与和及]", title)
        )
        if is_empty(title) or asks or _REFERS.search(_without_others(title)):
            return ()
        if not heading.alone or heading.short or is_weak(title):
            return phrasings(("{c}的{h}有哪些？", "{c}包括哪些{h}？"), c=above, h=title) if above else ()
        return phrasings(("{h}有哪些？", "{h}包括什么？", "请列出{h}。"), h=title)

    def introduced(self, introduction: str, heading: Heading) -> tuple[Phrasing, ...]:
        """Ask for the items of a list by the sentence that introduces it.

        >>> Chinese().introduced("办理读者证需要携带的材料包括", Heading("材料"))[0].text
        '办理读者证需要携带的材料包括哪些？'
        """
        match = _INTRODUCED.fullmatch(introduction)
        if not match or _REFERS.search(match["h"]):
            return ()
        verb = "有" if match["v"] == "如下" else match["v"]
        return phrasings(("{h}{v}哪些？", "请问{h}{v}哪些？"), h=match["h"], v=verb)

    def cell(self, context: str, key: str, title: str, value: str) -> tuple[Phrasing, ...]:
        """Ask for the cell of a table: of what its row has, or of what the table measures."""
        is_amount = re.search(r"\d", value) and not re.search("时间|日期", title)
        what = "谁" if re.search("[人者员]$", title) else "多少" if is_amount else "什么"
        ways = _OF_CELL if _ATTRIBUTE.fullmatch(title) else ()
        return phrasings(ways, c=context, k=key, t=title, w=what)

    def pair(self, context: str, key: str) -> tuple[Phrasing, ...]:
        """Ask for the value of a key."""
        return phrasings(("{c}的{k}是什么？", "请问{c}的{k}是什么？"), c=context, k=key)

    def sentence(self, sentence: str) -> list[Asked]:
        """Ask for a number, a date, a name or a definition in a sentence."""
        return chinese_sentences.asked(sentence)

    def term(self, term: str, context: str) -> tuple[Phrasing, ...]:
        """Ask what a term means."""
        return phrasings(("什么是{t}？", "{t}是什么意思？", "{t}指的是什么？"), t=term)
