"""Chinese questions, cause by cause: a fault that was found in a draw is refused or mended, what is like it stays."""

from __future__ import annotations

import pytest

from ragviz.claims import chinese_sentence, chinese_sentences, chinese_words
from ragviz.claims.chinese_claims import asked_of
from ragviz.claims.extractive_claims import claims_of
from ragviz.core.document import Document
from ragviz.generation import entities, follow_ups
from ragviz.generation.comparisons import comparisons
from ragviz.generation.dated_claims import versions
from ragviz.generation.joined_draft import lead
from ragviz.generation.styles import styled
from ragviz.generation.unanswerable import unanswerables


def document(text: str, name: str = "a.md") -> Document:
    media = {"md": "text/markdown", "csv": "text/csv"}.get(name.rpartition(".")[2], "text/plain")
    return Document(Document.make_id(name, text), name, text, (), "zh", media, "", len(text))


def of_sentence(sentence: str) -> dict[str, str]:
    read = chinese_sentence.read(sentence)
    return {draft.question: draft.answer for draft in chinese_sentences.drafts(read)} if read else {}


def of_text(text: str, name: str = "a.md") -> dict[str, str]:
    return {claim.question: claim.answer for claim in claims_of(document(text, name))}


def corpus(*texts: str) -> entities.Claims:
    read = [document(text, f"{number}.md") for number, text in enumerate(texts)]
    return entities.read((each, claims_of(each)) for each in read)


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("餐费补贴标准为一线城市每天120元，其他城市每天90元。", "90元"),  # the verb is left out
        ("正式员工辞职须提前三十天书面通知，试用期员工须提前三天。", "三天"),  # so is what is done
        ("哈希冲突是指两个不同的关键字映射到同一地址的现象。", "两个"),  # a word of a definition
        ("润滑油的检测周期由半年缩短为一个月。", "周期"),  # no day of the week
        ("展厅的镇馆之宝是一台清代大花楼织机。", "一台"),  # an article
        ("博物馆设有历史厅、染织厅和当代厅三个展厅。", "三个"),  # the series is asked for
        ("该版本的代号是蓝色塑料三角龙，于2021年发布。", "三角"),  # a part of a name
        ("超过1012位志愿的维护者维护着该发行版的软件包。", "1012位"),  # the question would begin with it
        ("在主要区域中，两个协议都有多个软件实现。", "两个"),  # which two?
        ("绝大多数人的屏幕是80列宽。", "80列宽"),  # how wide, not what
        ("园艺系的茶艺专业是省级特色专业。", "省级特色专业"),  # of which kind, not what
        ("由于许可证上的限制，软件包可能提供源代码，也可能不提供。", "许可证上的限制"),  # half of what holds
        ("租金为每月8600元，乙方按季度支付。", "季度"),  # how often, not by what
        ("未经信息安全部批准，员工不得安装非授权软件。", "员工"),  # all who are spoken of
        ("多个工具可以管理软件包，从图形界面工具，到用于安装软件包的底层工具。", "安装软件包的底层工具"),
        ("每个发布版本都包含良好定义的、不变的内容。", "良好定义的、不变的内容"),  # one thing, no series
        ("apt-get是基于APT的命令行软件包管理工具。", "APT的命令行软件包管理工具"),
        ("否则，许可证则必须包含完整的许可证文本。", "完整的许可证文本"),
        ("如果你有恒常章节和前封面文字，请将with...", "请将with"),
        ("1996年3月动工，由临溪第二建筑公司承建。", "临溪第二建筑公司"),  # what was built is not said
        ("当计算机打开电源时，由UEFI固件来访问。", "UEFI固件"),  # nor what is visited
        ("老的电脑使用主引导记录方案，将硬盘分区数据保存在第一个扇区。", "第一个扇区"),  # who does it is not asked
        ("bootup手册介绍了基于systemd的系统启动流程。", "systemd的系统启动流程"),
        ("mkfs命令是由 e2fsprogs 包提供的，是文件系统程序的前端。", "e2fsprogs"),  # the package, not its name
        ("青澜江发源于云脊山南麓，全长312公里，流域面积8460平方公里。", "8460平方公里"),  # of "青澜江发源"
        ("在读者亲自确认之前，请勿假定自己系统的情况也是如此。", "假定自己系统的情况也是如此"),
    ],
)
def test_what_was_asked_about_wrongly_is_refused(sentence: str, answer: str) -> None:
    assert answer not in of_sentence(sentence).values()


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("员工每天工作8小时，午休一小时。", "员工每天工作多少小时？", "8小时"),
        ("试用期员工辞职须提前三天。", "试用期员工辞职须提前多少天？", "三天"),
        ("博物馆设有历史厅、染织厅和当代厅三个展厅。", "博物馆设有哪三个展厅？", "历史厅、染织厅和当代厅"),
        ("1931年，沈砚之出版《浙东植物志》。", "沈砚之是哪一年出版《浙东植物志》的？", "1931年"),
        ("单笔金额超过5000元的报销，由财务总监审批。", "单笔金额超过5000元的报销，由谁审批？", "财务总监"),
        (
            "单笔金额超过5000元的报销，由财务总监审批。",
            "单笔金额超过多少元的报销，由财务总监审批？",
            "5000元",
        ),
        ("TCP吞吐量能够通过调整缓冲大小的参数来最大化。", "TCP吞吐量能够通过什么来最大化？", "调整缓冲大小的参数"),
        ("集体证须由单位出具介绍信。", "集体证须由谁出具介绍信？", "单位"),
        ("Debian系统的基石是自由软件的理念。", "Debian系统的基石是什么？", "自由软件的理念"),
        ("未满12周岁的儿童不得骑行共享单车。", "谁不得骑行共享单车？", "未满12周岁的儿童"),
        ("贫困家庭的学生可以申请助学金，资助标准为每学年3300元。",
         "贫困家庭的学生资助标准为每学年多少元？", "3300元"),
    ],
)  # fmt: skip
def test_what_is_like_it_is_asked(sentence: str, question: str, answer: str) -> None:
    assert of_sentence(sentence).get(question) == answer, of_sentence(sentence)


LISTS = [
    ("船舱等级包括一等舱、二等舱和三等舱。", "船舱等级包括哪些内容？", "一等舱、二等舱和三等舱"),
    ("灌溉系统由水泵、过滤器和滴管组成。", "灌溉系统由哪些部分组成？", "水泵、过滤器和滴管"),
    ("器材编号由字母、数字和年份三部分组成。", "器材编号由哪三部分组成？", "字母、数字和年份"),
    ("博物馆展出了多种古代乐器，包括编钟、古琴和骨笛。", "博物馆展出了哪些古代乐器？", "编钟、古琴和骨笛"),
    ("石桥中学开设了多门兴趣课程，包括书法、国画和太极拳。", "石桥中学开设了哪些兴趣课程？", "书法、国画和太极拳"),
    ("申请人必须提交申请表、照片和户口本。", "申请人必须提交什么？", "申请表、照片和户口本"),
]


@pytest.mark.parametrize(("sentence", "question", "answer"), LISTS)
def test_a_series_is_asked_for_as_a_list(sentence: str, question: str, answer: str) -> None:
    read = chinese_sentence.read(sentence)
    assert read is not None
    drafts = {draft.question: draft for draft in chinese_sentences.drafts(read)}
    assert (drafts[question].answer, drafts[question].type) == (answer, "list")


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("自动、睡眠和强劲三种模式下灌溉系统停止。", "哪些"),
        ("博物馆展出了一种古代乐器，包括琴身、琴弦和琴码。", "哪些古代乐器"),  # the parts of one
        ("博物馆展出了古代乐器，包括编钟、古琴和骨笛。", "哪些古代乐器"),  # does not say that there are many
        ("灌溉系统由水泵、过滤器和滴管供水。", "组成"),
        ("灌溉系统由后勤部门管理。", "哪些部分"),
    ],
)
def test_what_is_no_series_of_the_kind_is_not_asked_for(sentence: str, word: str) -> None:
    assert not any(word in question for question in of_sentence(sentence))


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("游泳馆内禁止吸烟。", "游泳馆内禁止什么行为？", "吸烟"),
        ("借用人不得擅自拆卸器材。", "借用人不得做什么？", "擅自拆卸器材"),
        ("授粉期间不得关闭通风口，但暴雨天气除外。", "授粉期间不得关闭通风口，有什么例外？", "暴雨天气"),
        ("使用烤箱应当佩戴隔热手套，低温档除外。", "使用烤箱应当佩戴隔热手套，有什么例外？", "低温档"),
        ("对外提供的接口，不允许修改方法签名，避免影响调用方。", "对外提供的接口，不允许做什么？", "修改方法签名"),
    ],
)
def test_a_ban_and_an_exception_are_asked_for(sentence: str, question: str, answer: str) -> None:
    assert of_sentence(sentence).get(question) == answer, of_sentence(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "单元测试是可以重复执行的，不能受到外界环境的影响。",  # states what holds, and is no circumstance
        "车间内严禁吸烟，并不得使用明火。",  # two bans
        "营业期间不得锁闭安全出口，违者罚款500元。",
        "对外提供的接口，不允许修改方法签名，应当另建一个接口。",  # goes on with what must be
        "对于超大整数的场景，服务端一律返回字符串类型，禁止使用长整数类型。",  # follows what must be
    ],
)
def test_a_ban_beside_another_statement_is_not_asked_for(sentence: str) -> None:
    assert not any("做什么" in question or "什么行为" in question for question in of_sentence(sentence))


def test_a_fine_is_not_of_the_time_in_which_something_is_banned() -> None:
    assert "500元" not in of_sentence("营业期间不得锁闭安全出口，违者罚款500元。").values()


def test_a_verb_alone_is_no_object() -> None:
    assert "使用" not in of_sentence("系统自带的打印队列不推荐使用。").values()
    assert of_sentence("系统自带的打印队列不支持彩色打印。")


def test_a_sentence_that_counts_is_no_name_of_its_items() -> None:
    assert asked_of("校验操作包含三个操作数") in ("", "校验操作包含哪三个操作数？")
    assert asked_of("入职材料") == "入职材料有哪些？"


def test_all_borrowers_are_no_answer_to_who_may_not() -> None:
    assert "谁不得擅自拆卸器材？" not in of_sentence("借用人不得擅自拆卸器材。")


def test_an_exception_in_brackets_is_asked_for() -> None:
    text = "# 云杉图书馆规定\n\n云杉图书馆的阅览室开放至晚上十点（周日除外）。\n\n借书证有效期为两年（见第三页）。"
    found = {question: answer for question, answer in of_text(text).items() if "例外" in question}
    assert list(found.values()) == ["周日"]


def test_items_after_a_colon_are_a_list_where_they_are_announced() -> None:
    text = "# 果园安全手册\n\n## 喷药\n\n喷药人员必须佩戴以下防护用品：口罩、手套和护目镜。喷药须在清晨进行。"
    [asked] = (question for question, answer in of_text(text).items() if answer == "口罩、手套和护目镜")
    assert asked.endswith("喷药人员必须佩戴哪些防护用品？")
    longer = f"{text}\n\n果园在冬季施肥一次。果园施肥采用以下三种方式：沟施、穴施和撒施。"
    assert "沟施、穴施和撒施" in of_text(longer).values()
    two = text.replace("以下防护", "以下三种防护").replace("、手套", "")
    assert "口罩和护目镜" not in of_text(two).values()  # not three
    for label in ("注意", "喷药人员的主要问题是"):
        assert "口罩、手套和护目镜" not in of_text(text.replace("喷药人员必须佩戴以下防护用品", label)).values()


def test_what_is_to_be_checked_may_be_listed_as_questions() -> None:
    text = "# 器材借用办法\n\n归还器材时应当检查以下内容：\n\n1. 器材是否完好\n2. 电池是否取出\n"
    assert "器材是否完好、电池是否取出" in of_text(text).values()
    assert "器材是否完好、电池在哪里" not in of_text(text.replace("电池是否取出", "电池在哪里")).values()


LOANS = """# 医务室器材借用办法

## 轮椅

- 借用期限：14天
- 押金：300元

## 拐杖

- 借用期限：30天
- 押金：50元

## 血压计

- 借用期限：7天
- 使用年限：6年

## 联系方式

- 值班电话：6521-3300
- 值班时长：9小时
"""


def test_sections_beside_each_other_that_say_the_same_two_things_are_compared() -> None:
    asked = {draft.question for draft in comparisons(corpus(LOANS))}
    assert "医务室器材借用的轮椅和拐杖相比，哪一个的押金更高？" in asked
    assert "医务室器材借用的轮椅和拐杖相比，哪一个的借用期限更长？" in asked
    assert not any("血压计" in question for question in asked), "its section has other attributes"
    apart = LOANS.replace("## 拐杖", "# 另一办法\n\n## 拐杖")
    assert not any("轮椅" in draft.question and "拐杖" in draft.question for draft in comparisons(corpus(apart)))


def test_two_things_are_compared_by_what_sentences_say_of_theirs() -> None:
    text = "# 云岭温室\n\n云岭温室育苗区的温度为22℃。\n\n{}\n\n云岭温室生长区的温度为26℃。"
    asked = [draft.question for draft in comparisons(corpus(text.format("每天巡查。" * 40)))]
    assert asked == ["云岭温室育苗区和云岭温室生长区相比，哪一个的温度更高？"]


def test_an_attribute_of_the_section_beside_is_asked_of_a_thing_that_lacks_it() -> None:
    asked = {draft.question for draft in unanswerables(corpus(LOANS))}
    assert "关于医务室器材借用的轮椅，使用年限是多久？" in asked
    assert not any("联系方式" in question for question in asked), "it has nothing in common with the others"
    told = LOANS.replace("- 押金：300元", "- 押金：300元\n\n轮椅的使用年限见合格证。")
    assert "关于医务室器材借用的轮椅，使用年限是多久？" not in {draft.question for draft in unanswerables(corpus(told))}


MACHINES = """# 港口设备手册

## 拖轮

| 名称 | 长度 | 船员人数 |
| --- | --- | --- |
| 海鸥号 | 12米 | 4人 |
| 燕鸥号 | 18米 | 6人 |

{}

## 起重机

| 名称 | 长度 | 额定功率 |
| --- | --- | --- |
| 大力神吊机 | 40米 | 30千瓦 |
| 金刚吊机 | 35米 | 25千瓦 |
"""


def test_the_column_of_another_table_with_a_common_column_is_asked_of_a_row() -> None:
    filler = "每天巡查一次码头。" * 60
    asked = {lead(draft.question)[1] for draft in unanswerables(corpus(MACHINES.format(filler)))}
    assert "海鸥号的额定功率是多少？" in asked
    assert asked <= {f"{name}号的额定功率是多少？" for name in ("海鸥", "燕鸥")} | {
        f"{name}吊机的船员人数是多少？" for name in ("大力神", "金刚")
    }
    apart = MACHINES.replace("| 名称 | 长度 | 额定功率 |", "| 名称 | 起重高度 | 额定功率 |")
    assert not list(unanswerables(corpus(apart.format(filler)))), "nothing says that they are of a sort"
    told = MACHINES.format(f"拖轮的功率由船厂说明。{filler}")
    assert not any("额定功率" in draft.question for draft in unanswerables(corpus(told)))


def test_a_follow_up_about_the_thing_beside_leaves_its_owner_out() -> None:
    found = {draft.question for draft in follow_ups.follow_ups(corpus(LOANS))}
    assert "那拐杖呢？" in found
    assert "那么，押金是多少？" in found


def test_a_part_of_a_name_is_no_pronoun() -> None:
    text = "2019年，青屿轮渡运送了320万名乘客。\n\n{}\n\n2021年，青屿轮渡雇用了90名船员。"
    asked = [draft.question for draft in follow_ups.follow_ups(corpus(text.format("每天巡查。" * 40)))]
    assert not any("此人轮渡" in question or "它轮渡" in question for question in asked)


def test_words_that_jieba_guesses_are_parted() -> None:
    def texts(sentence: str) -> list[str]:
        return [word.text for word in chinese_words.read(sentence)]

    assert texts("集体证须由单位出具介绍信")[1:3] == ["证", "须"]
    assert "的" in texts("行程单的线路编号")
    assert "目的" in texts("搬迁的目的是扩容")
    assert chinese_words.codes(chinese_words.read("员工每天工作8小时")) == "NTNM"


def test_a_key_that_names_a_thing_is_no_attribute() -> None:
    parts = "# 菌落测定规程\n\n## 仪器\n\n- 恒温培养箱：36 ℃ ± 1 ℃\n- 无菌平皿：直径 90 毫米\n"
    legend = "# 云岚净化器\n\n## 指示灯\n\n- 绿色：空气质量优\n- 红色：空气质量差\n"
    assert of_text(parts) == {}
    assert of_text(legend) == {}
    sheet = "# 云岚净化器\n\n## 产品规格\n\n- 额定功率：45 W\n- 滤网寿命：2200 小时\n"
    assert of_text(sheet) == {"云岚净化器的额定功率是多少？": "45 W", "云岚净化器的滤网寿命是多少？": "2200 小时"}


def test_keys_under_a_heading_of_form_are_those_of_the_document() -> None:
    text = "# 临溪丝绸博物馆\n\n## 参观须知\n\n**咨询电话**：8821\n\n**票价**：成人 40 元，学生 20 元\n"
    assert set(of_text(text)) == {"临溪丝绸博物馆的咨询电话是多少？", "临溪丝绸博物馆的票价是多少？"}


def test_a_cell_is_asked_for_as_its_column_is_measured() -> None:
    titles = "| 套餐 | 价格 | 每日免费次数 | 交付周期 |\n|---|---|---|---|\n"
    rows = f"{titles}| 周卡 | 9元 | 4次 | 5个工作日 |\n| 季卡 | 49元 | 不限 | 3个工作日 |\n"
    found = {question.rpartition("，")[2]: answer for question, answer in of_text(f"# 青鸟单车\n\n{rows}").items()}
    assert found["季卡的每日免费次数是多少？"] == "不限"
    assert found["周卡的交付周期是多久？"] == "5个工作日"
    plain = "| 名目 | 收取方式 |\n|---|---|\n| 装修垃圾清运费 | 一次性收取 |\n| 高层物业费 | 按季度预收 |\n"
    assert all(question.endswith("的收取方式是什么？") for question in of_text(f"# 翠屏苑\n\n{plain}"))


def test_an_attribute_that_only_describes_is_refused() -> None:
    rows = (
        "| 命令 | 新的 iproute2 | 用途 |\n|---|---|---|\n| ifconfig | ip addr | 地址 |\n| route | ip route | 路由表 |\n"
    )
    assert not [question for question in of_text(f"# 网络命令\n\n{rows}") if "新的" in question]


def test_lists_are_asked_for_by_their_heading() -> None:
    steps = "# 青鸟单车\n\n## 归还车辆\n\n1. 将车停入停车框\n2. 合上车锁\n3. 确认行程结束\n"
    assert list(of_text(steps)) == ["关于青鸟单车，归还车辆的步骤是什么？"]
    asked = "# 青鸟单车\n\n## 如何归还车辆？\n\n1. 将车停入停车框\n2. 合上车锁\n"
    assert list(of_text(asked)) == ["关于青鸟单车，如何归还车辆？"]
    places = "# 青鸟单车\n\n## 停车区\n\n1. 东门广场\n2. 西门地铁站\n"
    assert of_text(places) == {}
    needed = "# 明川科技员工手册\n\n## 入职\n\n入职材料：\n\n- 身份证复印件\n- 离职证明\n"
    assert of_text(needed) == {"关于明川科技，入职材料有哪些？": "身份证复印件、离职证明"}


def test_any_number_of_what_is_told_may_follow() -> None:
    text = "# 修改源代码\n\n安装程序必须满足以下条件：\n\n- 支持 DESTDIR 变量\n- 遵循文件系统标准\n"
    assert [question.rpartition("，")[2] for question in of_text(text)] == ["安装程序必须满足哪些条件？"]


def test_introductions_that_name_no_kind_are_not_asked_for() -> None:
    assert asked_of("进阶信息参见") == ""
    assert asked_of("单元配置从以下一系列路径中加载") == "单元配置从哪些路径中加载？"


def test_only_a_value_of_who_does_something_is_a_person() -> None:
    table = (
        "| 音乐会 | 指挥 | 关键词 |\n|---|---|---|\n| 开幕音乐会 | 顾维明 | 高亮 |\n| 闭幕音乐会 | 柳叶青 | 高亮 |\n"
    )
    questions = set(of_text(f"# 海棠音乐厅\n\n{table}"))
    assert any(question.endswith("开幕音乐会的指挥是谁？") for question in questions)
    assert not any("关键词是谁" in question for question in questions)


def test_items_that_are_headings_are_no_list() -> None:
    text = "停机事故的调查报告\n\n三、原因分析\n（一）直接原因\n润滑油变质。\n（二）间接原因\n备用泵未做试验。\n"
    assert not [question for question in of_text(text, "a.txt") if "有哪些" in question]


def test_an_item_that_says_what_must_not_be_is_a_sentence() -> None:
    text = "# 翠屏苑管理公约\n\n## 公共秩序\n\n- 文明养犬\n- 电动自行车不得进入电梯\n"
    assert list(of_text(text).values()) == ["进入电梯"]


def test_the_title_stands_for_a_subject_that_is_its_last_word() -> None:
    text = "# 临溪丝绸博物馆\n\n2011年，博物馆因河水上涨闭馆四个月。\n"
    assert of_text(text) == {"2011年，临溪丝绸博物馆因河水上涨闭馆多少个月？": "四个月"}


def test_the_first_line_of_a_plain_text_is_its_title() -> None:
    text = "房屋租赁合同\n\n第一条 使用\n乙方不得改变房屋结构。\n"
    assert of_text(text, "a.txt") == {"关于房屋租赁合同，乙方不得做什么？": "改变房屋结构"}
    assert of_text("他在这里。\n\n第一条 使用\n乙方不得改变房屋结构。\n", "a.txt") == {}


def test_what_is_measured_without_a_verb_needs_its_topic() -> None:
    text = "# 西川农业学院\n\n全日制在校生7400人，专任教师412人。\n"
    assert "关于西川农业学院，全日制在校生多少人？" in of_text(text)


def test_a_table_file_is_asked_about_by_its_name() -> None:
    text = "项目,规格,单价\n展架,80×180厘米,95元\n名片,90×54毫米,35元\n"
    assert of_text(text, "价目表.csv")["关于价目表，展架的单价是多少？"] == "95元"


def test_one_question_with_several_answers_is_told_apart_by_its_section() -> None:
    text = (
        "# 拾光相册发布说明\n\n## 版本 3.0（2023年11月）\n\n免费用户的存储空间为 10 GB。\n\n"
        "## 版本 2.5（2023年2月）\n\n免费用户的存储空间为 5 GB。\n"
    )
    assert of_text(text) == {
        "关于拾光相册的版本 3.0（2023年11月），免费用户的存储空间为多少 GB？": "10 GB",
        "关于拾光相册的版本 2.5（2023年2月），免费用户的存储空间为多少 GB？": "5 GB",
    }
    [draft] = versions(corpus(text))
    assert (draft.question, draft.answer) == ("关于拾光相册，在最新版本中，免费用户的存储空间为多少 GB？", "10 GB")


def test_a_topic_before_a_chinese_question_is_its_lead() -> None:
    assert lead("关于明川科技的假期，年休假的天数是多少？") == ("关于明川科技的假期，", "年休假的天数是多少？")
    assert lead("单笔金额超过5000元的报销，由谁审批？")[0] == ""


PRICES = """# 青鸟单车

## 套餐

| 套餐 | 价格 | 有效期 | 负责人 |
|---|---|---|---|
| 周卡 | 9元 | 7天 | 王芳 |
| 季卡 | 49元 | 90天 | 李明 |
"""


def test_comparisons_say_of_what_and_how() -> None:
    questions = {draft.question.rpartition("，")[2] for draft in comparisons(corpus(PRICES))}
    assert {"哪一个的价格更高？", "哪一个的有效期更长？"} <= questions
    assert "周卡和季卡的负责人分别是谁？" in questions
    assert all(draft.question.startswith("关于青鸟单车的套餐，") for draft in comparisons(corpus(PRICES)))


def test_definitions_of_things_of_no_kind_are_not_compared() -> None:
    text = "# 数据结构\n\n二叉排序树是指左小右大的一种特殊的树。\n\n哈希冲突是指不同关键字映射到同一地址的现象。\n"
    assert not [draft for draft in comparisons(corpus(text)) if "定义" in draft.question]


def test_follow_ups_leave_out_the_topic_and_call_no_person_it() -> None:
    text = (
        "# 房屋租赁合同\n\n未经甲方书面同意，乙方不得转租房屋。\n\n乙方拖欠租金超过三十日的，甲方有权解除合同。\n\n"
        "乙方不得改变房屋结构。\n"
    )
    texts = [draft.question for draft in follow_ups.follow_ups(corpus(text))]
    assert not [each for each in texts if "它" in each or "关于" in each]


def test_what_is_asked_of_a_document_is_not_called_unanswerable() -> None:
    drafts = list(unanswerables(corpus(PRICES, "# 白鹭单车\n\n白鹭单车于2019年取消押金。\n")))
    own = {question for text in (PRICES,) for question in of_text(text)}
    assert own.isdisjoint(draft.question for draft in drafts)


def test_an_event_is_not_moved_to_another_year() -> None:
    once = "# 沈砚之传\n\n1957年，沈砚之因肺炎在杭州病逝。\n"
    rate = "# 西川学院\n\n2023年，西川学院毕业生就业率为94%。\n"
    other = "# 年表\n\n江州市博物馆创建于1961年。\n\n滨海市图书馆创建于2015年。\n"
    questions = [draft.question for draft in unanswerables(corpus(once, rate, other))]
    assert not [question for question in questions if "病逝" in question]
    assert [question for question in questions if "就业率" in question]


@pytest.mark.parametrize(
    ("question", "keywords"),
    [
        ("周卡和季卡相比，哪一个的价格更高？", "周卡 季卡 相比 价格 高"),
        ("未经信息安全部批准，员工不得做什么？", "未经 信息安全部 批准 员工 不得"),
        ("季卡的每日免费次数是多少？", "季卡 每日 免费 次数"),
        ("陪产假的天数是多少？", "陪产假 天数"),
    ],
)
def test_keywords_keep_what_tells(question: str, keywords: str) -> None:
    assert styled(question, "keywords", "zh") == keywords


def test_circumstances_name_a_topic_once() -> None:
    question = "关于明川科技的假期，年休假的天数是多少？"
    long = styled(question, "long", "zh", section="明川科技员工手册 > 3 假期", key="a")
    assert long is not None
    assert long.count("明川科技的假期") == 1
    assert long.endswith("。年休假的天数是多少？")
    other = styled("年休假的天数是多少？", "long", "zh", section="明川科技员工手册 > 3 假期", key="a")
    assert other is not None
    assert "“明川科技员工手册”中“假期”" in other
