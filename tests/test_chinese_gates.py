"""What Chinese sentences and places are refused before they are asked about, each with a neighbour that is asked."""

from __future__ import annotations

import pytest

from ragviz.claims import chinese_claims, chinese_words
from ragviz.text import language
from tests.test_chinese_questions import of_sentence, of_text


@pytest.mark.parametrize(
    ("refused", "part", "asked", "question"),
    [
        (  # what is for something tells a noun apart
            "在弹出的菜单里选择要用于封面的图片。",
            "封面",
            "Ansible 用于批量配置服务器。",
            "Ansible 用于什么？",
        ),
        (
            "工作台包括用于裁剪和拼接照片的工具。",
            "照片",
            "Rsync 可用于修改照片边缘。",
            "Rsync 可用于什么？",
        ),
        (  # half of what is said
            "备份守护进程负责收集日志，然后上传到归档服务器。",
            "收集日志",
            "值班人员负责档案管理工作。",
            "值班人员负责什么？",
        ),
        (  # "by what" is part of a compound
            "全部申请由电子签章系统处理。",
            "电子",
            "房屋主体结构的维修由物业公司处理。",
            "房屋主体结构的维修由谁处理？",
        ),
        (  # a modifier
            "清单是由逗号分隔的名称。",
            "逗号",
            "集体证须由单位出具介绍信。",
            "集体证须由谁出具介绍信？",
        ),
        (  # anaphora
            "Syncthing 是一种这样的工具。",
            "一种这样的工具",
            "Syncthing 是一种去中心化的文件同步工具。",
            "Syncthing是什么？",
        ),
        (  # how good it is
            "核对清单的内容是最好的办法。",
            "最好的办法",
            "临溪丝绸的主要产地是青浦。",
            "临溪丝绸的主要产地是什么？",
        ),
        (  # more of the same follows
            "蒸馏水的用途包括清洗、稀释和配液，还有灭菌等。",
            "清洗、稀释和配液",
            "蒸馏水的用途包括清洗、稀释、配液。",
            "蒸馏水的用途包括哪些？",
        ),
    ],
)
def test_what_is_cut_wrongly_is_refused_and_its_neighbour_asked(
    refused: str, part: str, asked: str, question: str
) -> None:
    assert part not in of_sentence(refused).values(), of_sentence(refused)
    assert question in of_sentence(asked), of_sentence(asked)


@pytest.mark.parametrize(
    ("refused", "part", "asked", "question"),
    [
        ("边距为零时将打印到纸张边缘。", "零时", "校园开放日下午3时开始。", "校园开放日几点开始？"),
        (
            "每个学期有十八个教学周，每三年修订一次培养方案，同时公布选课目录。",
            "三年",
            "会员资格每三年审核一次。",
            "会员资格每多少年审核一次？",
        ),
        ("外围的三个传感器用作参照。", "三个", "温室安装了三个湿度传感器。", "温室安装了多少个湿度传感器？"),
        ("协议不得限制二次创作。", "二次", "校验程序每天运行两次。", "校验程序每天运行多少次？"),
        ("该镜像需要 8 位数据流。", "8 位", "培训班招收了80位教师。", "培训班招收了多少位教师？"),
        ("卷尺可以测量两点之间的距离。", "两点", "闭馆时间为晚上九点。", "闭馆时间为几点？"),
        ("数据以相同方式存储在两个磁盘上。", "两个", "镜像阵列占用两个磁盘。", "镜像阵列占用多少个磁盘？"),
    ],
)  # fmt: skip
def test_numbers_are_asked_for_in_their_own_clause(refused: str, part: str, asked: str, question: str) -> None:
    assert part not in of_sentence(refused).values(), of_sentence(refused)
    assert question in of_sentence(asked), of_sentence(asked)


@pytest.mark.parametrize(
    "sentence",
    [
        "如果想从校外访问数据库，则需要图书证和验证码。",  # what is needed first
        "如果您要迁移旧档案，请包含带有目录的首页。",  # a hint
        "如果发现纸张受潮，请注意通风。",
        "如果要更换模板，可以使用下面的步骤。",  # elsewhere
        "如果要管理读者名单，请在列表中选择一个条目。",  # in which list?
    ],
)
def test_a_hint_or_a_condition_is_no_procedure(sentence: str) -> None:
    assert of_sentence(sentence) == {}


def test_a_procedure_is_asked_for_by_its_aim_under_its_topic() -> None:
    text = "# 热敏打印机\n\n## 更换纸卷\n\n要取消正在打印的任务，请长按「停止」键三秒。\n"
    [question] = of_text(text)
    assert question.startswith("关于")
    assert question.endswith("，如何取消正在打印的任务？")
    stepped = "# 热敏打印机\n\n## 更换纸卷\n\n1. 打开上盖。\n2. 要取消正在打印的任务，请长按「停止」键三秒。\n"
    assert not any("如何取消" in question for question in of_text(stepped))
    goes_on = "# 热敏打印机\n\n## 更换纸卷\n\n要取消正在打印的任务，请长按「停止」键三秒。然后打开上盖。\n"
    assert of_text(goes_on) == {}


def test_what_was_in_brackets_is_not_missing_from_an_answer() -> None:
    lost = "# 临溪丝绸博物馆藏品系统\n\n要打开检索窗口，请按快捷键 (Ctrl+F) 并输入「档号」。\n"
    assert of_text(lost) == {}
    kept = "# 临溪丝绸博物馆藏品系统\n\n要打开检索窗口，请按 Ctrl+F 并输入「档号」。\n"
    assert list(of_text(kept).values()) == ["请按 Ctrl+F 并输入「档号」"]


def test_a_title_keeps_the_noun_that_its_genre_is_part_of() -> None:
    assert chinese_claims._about("使用母文档和子文档") == "使用母文档和子文档"
    assert chinese_claims._about("云帆科技员工手册") == "云帆科技"


def test_headings_that_are_actions_are_names_in_quotes() -> None:
    text = "# 维护服务器\n\n## 更换硬盘\n\n由于热插拔容易损坏接口，机房默认禁用热插拔。\n"
    [question] = of_text(text)
    assert "维护服务器的更换硬盘" not in question
    assert question.endswith("为什么机房默认禁用热插拔？")


def test_an_action_is_asked_for_by_its_steps_and_not_as_a_kind_of_thing() -> None:
    text = "# 档案系统\n\n## 每次归档时创建备份文件\n\n1. 打开「设置」页\n2. 勾选「自动备份」\n"
    assert not any("有哪些" in question for question in of_text(text))
    steps = "# 档案系统\n\n## 创建备份文件\n\n1. 打开「设置」页\n2. 勾选「自动备份」\n"
    assert of_text(steps) == {"关于档案系统，创建备份文件的步骤是什么？": "打开「设置」页、勾选「自动备份」"}


def test_navigation_is_no_list() -> None:
    text = "# 档案系统\n\n## 目录文件\n\n- 上一页 3. 安装\n- 上一级\n- 起始页\n- 下一页 5. 维护\n"
    assert of_text(text) == {}


def test_an_item_of_a_list_is_no_definition_without_its_topic() -> None:
    text = "# 消息设施\n\n- `cron`：定时任务的守护进程的消息\n- `lpr`：打印子系统的消息\n"
    assert not any(question in ("cron是什么？", "lpr是什么？") for question in of_text(text))


def test_what_may_not_be_done_in_several_ways_is_not_asked_for() -> None:
    text = "# 船模许可协议\n\n许可协议禁止转售船模图纸。\n\n许可协议不得限制读者批注。\n"
    assert not any("做什么" in question for question in of_text(text))
    once = "# 船模许可协议\n\n许可协议禁止转售船模图纸。\n"
    assert of_text(once) == {"船模许可协议禁止做什么？": "转售船模图纸"}


def test_introductions_that_only_begin_a_list_are_refused() -> None:
    assert chinese_claims.asked_of("请执行以下操作") == ""
    assert chinese_claims.asked_of("打开图纸，并使用下列工具栏") == ""
    assert chinese_claims.asked_of("以下按升序列出") == ""
    assert chinese_claims.asked_of("要更改纸张的方向，请执行以下任一操作") == "要更改纸张的方向，有哪些办法？"
    assert chinese_claims.asked_of("有4种阶梯类型") == "阶梯类型有哪些？"


def test_a_cell_that_says_something_of_its_row_is_no_value() -> None:
    rows = "| TreeBag | 不允许为空值 | 单线程安全 |\n| HashBag | 不允许为空值 | 多线程安全 |\n"
    table = f"| 集合 | 键值 | 线程安全性 |\n|---|---|---|\n{rows}"
    assert not any("不允许" in answer for answer in of_text(f"# 集合\n\n{table}").values())
    assert "单线程安全" in of_text(f"# 集合\n\n{table}").values()


def test_a_word_that_begins_like_a_number_is_none() -> None:
    assert not chinese_claims._is_amount("百分比")
    assert chinese_claims._is_amount("三个月")
    assert "零时" not in [word.text for word in chinese_words.read("宽度为零时") if word.tag == "t"]


def test_a_chinese_table_of_codes_is_chinese_and_english_prose_is_not() -> None:
    rows = "".join(
        f"| 图纸格式{n} | application/vnd.example.drawing-{n}+xml | filter_name_export_{n} |\n" for n in range(40)
    )
    assert language.detect(f"# 格式清单\n\n| 名称 | 类型 | 代码 |\n|---|---|---|\n{rows}") == "zh"
    prose = "The curator keeps the list of the drawings in the archive, and it is open to all of the readers. " * 20
    assert language.detect(prose + "（馆藏目录）") == "en"


def test_items_that_are_titles_of_sections_are_no_list() -> None:
    listed = "# 临溪植物园灌溉控制器手册\n\n## 主要功能\n\n- 滴灌控制\n- 通风控制\n"
    text = listed + "\n## 滴灌控制\n\n见表。\n\n## 通风控制\n\n见表。\n"
    assert of_text(text) == {}
    assert of_text(listed) == {"临溪植物园灌溉控制器的主要功能有哪些？": "滴灌控制、通风控制"}


def test_an_action_with_one_paragraph_is_asked_for_by_how() -> None:
    text = "# 海棠图书馆打印终端\n\n## 归还外文图书\n\n点击「归还」，把图书放入右侧的回收口。\n"
    assert list(of_text(text).values()) == ["点击「归还」，把图书放入右侧的回收口。"]
    unclear = "# 海棠图书馆打印终端\n\n## 归还外文图书\n\n选中该选项，外文图书也可归还。\n"
    assert of_text(unclear) == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "登记证书由馆员使用专用打印机统一打印。",  # what is done comes later
        "升级的目标是确保中断最小化。",
        "最后两行的内容不依赖于存储介质。",
        "如果已选中「自动」复选框，请输入间隔的秒数。",  # in the middle of a procedure
    ],
)
def test_what_is_only_part_of_something_is_refused(sentence: str) -> None:
    assert of_sentence(sentence) == {}


TABLE_OF_DATA = """# 仪器说明

## 温室的接口

| port0 | 连接温度计的接口 |
| --- | --- |
| port1 | 连接湿度计的接口 |
| alarm | 指向水泵的符号链接 |
"""


def test_a_table_without_titles_is_asked_by_its_terms_only() -> None:
    asked = of_text(TABLE_OF_DATA)
    assert asked["关于仪器的温室的接口，alarm是什么？"] == "指向水泵的符号链接"
    assert not any("连接温度计的接口" in question for question in asked)
    titled = of_text(
        "# 仪器说明\n\n## 温室的接口\n\n| 接口 | 电压 |\n| --- | --- |\n| alarm | 12 伏 |\n| port0 | 5 伏 |\n"
    )
    assert [answer for question, answer in titled.items() if question.endswith("alarm的电压是多少？")] == ["12 伏"]


@pytest.mark.parametrize(
    ("refused", "asked", "question"),
    [
        ("可用来替换的清洗液是乙醇。", "Lumo 打印机的清洗液是乙醇。", "Lumo 打印机的清洗液是什么？"),
        ("您选择的水泵可用于灌溉温室。", "Lumo 水泵可用于灌溉温室。", "Lumo 水泵可用于什么？"),
        ("新的水泵可用于灌溉温室。", "Lumo 水泵可用于灌溉花园。", "Lumo 水泵可用于什么？"),
        ("file 和 pipe 方法分别用于不同的传输方式。", "Lumo 方法用于夜间传输。", "Lumo 方法用于什么？"),
        (
            "在 Lumo 系统上，安装打印机时需要考虑几件事情。",
            "在 Lumo 系统上，安装打印机时需要考虑室内温度。",
            "在 Lumo 系统上，安装打印机时需要考虑什么？",
        ),
        ("Lumo 3.2 是一个重要的发布版本。", "Lumo 是一个管理温室阀门的工具，可以远程操作。", "Lumo是什么？"),
        ("输入三次之后点击右下角的“校准”。", "Lumo 打印机每天需要校准三次。", "Lumo 打印机每天需要校准多少次？"),
        ("比较两个温室之间的差异，可以使用 gdiff 命令。", "Lumo 温室支持两个水泵。", "Lumo 温室支持多少个水泵？"),
        ("apt-lumo 由 apt-lumo 软件包提供。", "apt-lumo 由 green-tools 软件包提供。", "apt-lumo 由什么提供？"),
        ("水泵 Lumo 的主编号是4，次编号是64。", "水泵 Lumo 的主要功率是4瓦。", "水泵 Lumo 的主要功率是多少瓦？"),
        (
            "因为温室推荐“Lumo”，“Lumo”对于灌溉来说，是一个好的选择。",
            "因为温室推荐“Lumo”，新手都使用“Lumo”水泵。",
            "为什么新手都使用“Lumo”水泵？",
        ),
        ("造成需要使用两种不同的阀门。", "Lumo 温室需要使用两种阀门。", "Lumo 温室需要使用多少种阀门？"),
        (
            "greenhouse 安装程序在阀门上安装 green house 程序。",
            "greenhouse 安装程序在阀门上安装 Lumo 程序。",
            "greenhouse 安装程序在阀门上安装什么程序？",
        ),
    ],
)
def test_what_names_nothing_or_answers_nothing_is_refused(refused: str, asked: str, question: str) -> None:
    assert of_sentence(refused) == {}
    assert question in of_sentence(asked)


def test_an_aim_needs_its_verb() -> None:
    assert not any("如何" in asked for asked in of_sentence("如果您想要更多的灌溉相关信息，请看第三章使用水泵。"))
    assert "如何了解更多的灌溉信息？" in of_sentence("如果您想要了解更多的灌溉信息，请查询水泵的日志文件。")


def test_a_sign_that_is_typed_is_no_end_of_a_sentence() -> None:
    assert of_sentence("如果您想了解温室，请在提示符下键入 ！。") == {}
    assert "如何了解温室？" in of_sentence("如果您想了解温室，请在提示符下键入 reset 命令。")


def test_headings_that_only_announce_are_no_topic() -> None:
    said = "# 温室手册\n\n## {}\n\n默认的口令是“green”。"
    for heading in ("需要知道的东西", "一些有用的信息", "与上一版相比的其他更改"):
        assert not any(heading in asked for asked in of_text(said.format(heading)))
    assert any("登录水泵控制台" in asked for asked in of_text(said.format("登录水泵控制台")))


def test_a_heading_that_stands_twice_is_named_with_the_one_above() -> None:
    said = "# 手册\n\n## {0}月版温室\n\n### 灌溉的更新\n\nLumo 温室支持 {1} 种语言。\n\n"
    asked = of_text(said.format("五", 12) + said.format("六", 14).removeprefix("# 手册\n\n"))
    assert {question: answer for question, answer in asked.items() if "语言" in question} == {
        "关于“五月版温室”中的“灌溉的更新”，Lumo 温室支持多少种语言？": "12 种",
        "关于“六月版温室”中的“灌溉的更新”，Lumo 温室支持多少种语言？": "14 种",
    }


def test_lists_that_these_announce_are_asked_for() -> None:
    assert chinese_claims.asked_of("使用 Lumo 你可以管理这些阀门") == "使用 Lumo 你可以管理哪些阀门？"
    assert chinese_claims.asked_of("温室里有几种灌溉方式可用") == "温室里有哪些灌溉方式可用？"
    assert chinese_claims.asked_of("这些阀门已经损坏，请注意") == ""


@pytest.mark.parametrize(
    ("refused", "part", "asked", "question"),
    [
        ("alarm 是指定的水泵名称。", "定的水泵名称", "热备份是指由两台水泵同时供水的方式。", "热备份是指什么？"),
        (
            "alarm 链接是指向阀门目录的符号链接。",
            "向阀门目录的符号链接",
            "静态水路是指由管理员手工配置的水路。",
            "静态水路是指什么？",
        ),
        ("当给出的阀门是 all 时，全部的水泵都会停机。", "all 时", "Lumo 的阀门是 valve9。", "Lumo 的阀门是什么？"),
        (
            "更多信息，请参阅位于 /srv/lumo 的用户指南。",
            "/srv/lumo 的用户指南",
            "Lumo 指南位于 /srv/lumo。",
            "Lumo 指南位于哪里？",
        ),
        ("Lumo 的调试是一项非常漫长的工作。", "一项非常漫长的工作", "Lumo 是一个管理温室阀门的工具。", "Lumo是什么？"),
        (
            "图纸可以通过 lumo-doc 软件包下载。",
            "lumo-doc 软件包",
            "Lumo 图纸可以通过 lumo-doc 软件包下载。",
            "Lumo 图纸可以通过什么下载？",
        ),
        (
            "要获得相关说明，请发送邮件到 help@lumo.example。",
            "请发送邮件到 help@lumo.example",
            "要获得阀门的说明，请发送邮件到 help@lumo.example。",
            "如何获得阀门的说明？",
        ),
        (
            "如果水泵使用其他阀门接口，请联系 Lumo 管理员。",
            "请联系 Lumo 管理员",
            "如果水泵使用铜制阀门接口，请联系 Lumo 管理员。",
            "如果水泵使用铜制阀门接口，应该怎么办？",
        ),
        (
            "如果您发现一个未被收录的故障，请联系 Lumo 管理员。",
            "请联系 Lumo 管理员",
            "如果您发现一个未付款的订单，请联系 Lumo 管理员。",
            "如果您发现一个未付款的订单，应该怎么办？",
        ),
        (
            "如果 Lumo 水泵过热，可以使用这些备用风扇降温。",
            "可以使用这些备用风扇降温",
            "如果 Lumo 水泵过热，可以打开备用风扇降温。",
            "如果 Lumo 水泵过热，可以怎么做？",
        ),
        (
            "您可以使用 lumo 命令检查更多的温室。",
            "lumo 命令",
            "您可以使用 lumo 命令检查温室的湿度。",
            "可以使用什么来检查温室的湿度？",
        ),
        ("Lumo 字段显示更多的温室湿度。", "更多的温室湿度", "Lumo 字段显示温室的湿度。", "Lumo 字段显示什么？"),
        (
            "您可以使用 Lumo 检查温室的湿度。",
            "Lumo",
            "您可以使用 lumo 检查温室的湿度。",
            "可以使用什么来检查温室的湿度？",
        ),
        ("水泵的图纸是 30。", "30", "水泵的默认端口是 8080。", "水泵的默认端口是多少？"),
    ],
)
def test_what_is_cut_or_left_open_is_refused_and_its_neighbour_asked(
    refused: str, part: str, asked: str, question: str
) -> None:
    assert part not in of_sentence(refused).values(), of_sentence(refused)
    assert question in of_sentence(asked), of_sentence(asked)


def test_an_aim_is_told_whole() -> None:
    asked = of_sentence("为了便于灌溉，Lumo 水泵按照区域和阀门进行编号。")
    assert asked["Lumo 水泵按照区域和阀门进行编号，目的是什么？"] == "便于灌溉"
    asked = of_sentence("Lumo 水泵按照区域和阀门进行编号，以便查找。")
    assert asked["Lumo 水泵按照区域和阀门进行编号，目的是什么？"] == "查找"
    asked = of_sentence("Lumo 水泵按照区域和阀门进行编号，以避免混淆。")
    assert asked["Lumo 水泵按照区域和阀门进行编号，目的是什么？"] == "避免混淆"


def test_a_sentence_behind_a_hint_is_asked_about() -> None:
    assert of_sentence("请注意：Lumo 打印机每天需要校准三次。") == {"Lumo 打印机每天需要校准多少次？": "三次"}
    said = "# 温室手册\n\n请注意：Lumo 打印机每天需要校准三次。\n"
    assert "Lumo 打印机每天需要校准多少次？" in of_text(said)
    assert of_text(said.replace("请注意：", "王芳说：")) == {}


def test_a_list_is_asked_for_by_the_noun_that_its_introduction_counts() -> None:
    assert chinese_claims.asked_of("这些水泵使用 3 个阀门来控制水流") == ""
    assert chinese_claims.asked_of("有非常多的方式可以达到这一目标") == ""
    assert chinese_claims.asked_of("你可以管理这些阀门") == "你可以管理哪些阀门？"
    listed = "# Lumo 温室手册\n\nLumo 温室分为三个区域：\n\n- 热带区\n- 沙漠区\n- 水生区\n"
    assert of_text(listed) == {"Lumo 温室分为哪三个区域？": "热带区、沙漠区、水生区"}
    assert of_text(listed.replace("三个", "四个")) == {}


def test_marks_of_footnotes_are_no_part_of_an_answer() -> None:
    listed = "# Lumo 温室手册\n\nLumo 温室有以下区域：\n\n- 热带区 [23]\n- 水生区。[24]\n- 数组 seats[0]\n"
    assert of_text(listed) == {"Lumo 温室有哪些区域？": "热带区、水生区、数组 seats[0]"}


def test_the_name_of_a_page_is_no_attribute() -> None:
    said = "# Lumo 温室\n\n## 应用\n\n- {}: 现实生活中的应用。\n- 地址: 海棠路 5 号\n"
    assert "现实生活中的应用" not in of_text(said.format("制作")).values()
    assert "海棠路 5 号" in of_text(said.format("制作")).values()


def test_a_sentence_that_lost_a_wildcard_is_refused() -> None:
    said = "# Lumo 温室手册\n\n{} 打印机每天需要校准三次，{} 水泵每天需要清洗两次。\n"
    assert of_text(said.format("lumo-*", "green-*")) == {}
    assert "三次" in of_text(said.format("lumo-a", "green-b")).values()


def test_a_term_with_what_it_does_is_asked_for_by_its_purpose() -> None:
    said = "# Lumo 工具集\n\n## 命令行\n\n- lumo-build(1)：从阀门清单中构建灌溉计划。\n- lumo-send(1)：{}\n"
    asked = of_text(said.format("参见另一份文档。"))
    assert list(asked.values()) == ["从阀门清单中构建灌溉计划"]
    assert next(iter(asked)).endswith("lumo-build 的作用是什么？")
    assert "支持铜制的阀门" not in of_text(said.format("支持铜制的阀门。")).values()
    assert "应该先停止水泵" not in of_text(said.format("应该先停止水泵。")).values()


def test_a_list_of_corresponding_things_is_refused() -> None:
    said = "# Lumo 温室手册\n\n{}如下：\n\n- 热带区\n- 水生区\n"
    assert of_text(said.format("相应的区域")) == {}
    assert list(of_text(said.format("Lumo 温室的区域")).values()) == ["热带区、水生区"]
