"""Claims of Chinese documents without a model: what is asked, what is refused, and where it stands."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from ragviz.claims import chinese_claims, chinese_sentence, chinese_sentences, chinese_words
from ragviz.claims.extractive_claims import claims_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from tests.processor_time import seconds_of

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = ROOT.parent / "shared" / "data"
HANDBOOK = """# 云帆科技员工手册

## 第二章 休假

入职满一年的员工每年享有5天带薪年假。除春节前后一周外，直属主管可以直接批准年假。

## 第三章 费用报销

单笔金额超过5000元的报销需要由分管副总裁审批。

报销时需要提交以下材料：

- 报销单
- 发票原件
- 付款凭证

### 差旅标准

| 职级 | 交通工具 | 住宿标准 | 备注 |
|---|---|---|---|
| 部门经理 | 高铁一等座 | 600元 | 可协商 |
| 副总裁 | 飞机经济舱 | 900元 | |

## 第四章 信息安全

灰度发布是指将新版本先开放给一小部分用户的发布方式。由于U盘容易传播病毒，公司电脑默认禁用USB存储设备。
未经信息安全部批准，任何人不得在生产环境安装软件。他们每天要检查20台服务器。

说明：以上规定适用于全体员工。

```
starlink start --port 8080 需要30秒
```

### 忘记密码怎么办

点击登录页的“找回密码”，按短信提示重新设置。

## 联系方式

负责人：王芳
办公地点：3号楼502室
咨询电话：8801
"""


def document(text: str, name: str = "a.md") -> Document:
    media = "text/markdown" if name.endswith(".md") else "text/plain"
    return Document(Document.make_id(name, text), name, text, (), "zh", media, "", len(text))


@pytest.fixture(scope="module")
def handbook() -> dict[str, SourceClaim]:
    return {claim.question: claim for claim in claims_of(document(HANDBOOK))}


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("入职满一年的员工每年享有多少天带薪年假？", "5天", "number"),
        ("直属主管可以直接批准年假，有什么例外？", "春节前后一周", "exception"),
        ("单笔金额超过多少元的报销需要由分管副总裁审批？", "5000元", "number"),
        ("单笔金额超过5000元的报销需要由谁审批？", "分管副总裁", "fact"),
        ("关于云帆科技的费用报销，报销时需要提交哪些材料？", "报销单、发票原件、付款凭证", "list"),
        ("关于云帆科技的差旅标准，部门经理的交通工具是什么？", "高铁一等座", "table"),
        ("关于云帆科技的差旅标准，副总裁的住宿标准是多少？", "900元", "table"),
        ("为什么公司电脑默认禁用USB存储设备？", "U盘容易传播病毒", "fact"),
        ("未经信息安全部批准，任何人不得做什么？", "在生产环境安装软件", "exception"),
        ("关于云帆科技的信息安全，忘记密码怎么办？", "点击登录页的“找回密码”，按短信提示重新设置。", "fact"),
        ("云帆科技的负责人是谁？", "王芳", "fact"),
        ("云帆科技的办公地点在哪里？", "3号楼502室", "fact"),
        ("云帆科技的咨询电话是多少？", "8801", "fact"),
    ],
)
def test_each_kind_of_claim_is_found(handbook: dict[str, SourceClaim], question: str, answer: str, kind: str) -> None:
    claim = handbook[question]
    assert (claim.answer, claim.type) == (answer, kind)


def test_definitions_are_asked_for(handbook: dict[str, SourceClaim]) -> None:
    claim = next(claim for claim in handbook.values() if claim.type == "definition")
    assert claim.question.endswith("灰度发布是指什么？")
    assert (claim.subject, claim.answer) == ("灰度发布", "将新版本先开放给一小部分用户的发布方式")


def test_pronouns_labels_code_and_remarks_are_not_asked_about(handbook: dict[str, SourceClaim]) -> None:
    asked = "\n".join(f"{claim.question} {claim.answer}" for claim in handbook.values())
    assert "20台" not in asked, "“他们” points elsewhere"
    assert "30秒" not in asked, "code"
    assert "全体员工" not in asked, "“说明” is a label"
    assert "可协商" not in asked, "“备注” is no attribute"


def test_quotes_stand_in_the_document_once_and_hold_the_answer(handbook: dict[str, SourceClaim]) -> None:
    for claim in handbook.values():
        assert HANDBOOK[claim.start : claim.end] == claim.quote
        assert HANDBOOK.count(claim.quote) == 1
        for part in claim.answer.replace("；", "、").split("、"):
            assert part in claim.quote
        assert "\n" not in claim.statement
        assert claim.language == "zh"


def test_claims_say_their_section_subject_attribute_and_entities(handbook: dict[str, SourceClaim]) -> None:
    person = handbook["云帆科技的负责人是谁？"]
    assert (person.section, person.subject, person.attribute) == ("云帆科技员工手册 > 联系方式", "云帆科技", "负责人")
    assert "王芳" in person.entities
    cell = handbook["关于云帆科技的差旅标准，副总裁的住宿标准是多少？"]
    assert (cell.subject, cell.attribute) == ("副总裁", "住宿标准")


def test_the_claims_of_a_document_are_the_same_each_time() -> None:
    assert list(chinese_claims.claims(document(HANDBOOK))) == list(chinese_claims.claims(document(HANDBOOK)))


def test_two_answers_to_one_question_are_no_claims() -> None:
    text = "# 收费\n\n借书证补办工本费为10元。\n\n## 旧规定\n\n借书证补办工本费为20元。\n"
    assert not [claim for claim in claims_of(document(text)) if "工本费" in claim.question]


def asked(sentence: str) -> dict[str, tuple[str, str]]:
    read = chinese_sentence.read(sentence)
    return {draft.question: (draft.answer, draft.type) for draft in chinese_sentences.drafts(read)} if read else {}


@pytest.mark.parametrize(
    ("sentence", "question", "answer", "kind"),
    [
        (
            "江州市地铁6号线于2023年9月28日正式开通运营。",
            "江州市地铁6号线于什么时候正式开通运营？",
            "2023年9月28日",
            "number",
        ),
        ("滨海市图书馆创建于1956年。", "滨海市图书馆创建于哪一年？", "1956年", "number"),
        ("首班车的发车时间为早上6点。", "首班车的发车时间为几点？", "早上6点", "number"),
        ("病假期间的工资按基本工资的80%发放。", "病假期间的工资按基本工资的百分之多少发放？", "80%", "number"),
        ("6号线采用A型列车，最高时速为100公里。", "6号线最高时速为多少公里？", "100公里", "number"),
        (
            "连续病假超过15天的员工，返岗前须提交康复证明。",
            "连续病假超过多少天的员工，返岗前须提交康复证明？",
            "15天",
            "number",
        ),
        (
            "连续病假超过15天的员工，返岗前须提交康复证明。",
            "连续病假超过15天的员工，返岗前须提交什么？",
            "康复证明",
            "fact",
        ),
        ("古籍部位于主楼五层。", "古籍部位于哪里？", "主楼五层", "fact"),
        (
            "租赁企业应当自收到交通部门通知之日起三十日内，完成车辆回收工作。",
            "租赁企业应当自收到交通部门通知之日起多少日内，完成车辆回收工作？",
            "三十日",
            "number",
        ),
        (
            "单表行数超过500万行或者单表容量超过2GB，才推荐分库分表。",
            "单表行数超过多少行或者单表容量超过2GB，才推荐分库分表？",
            "500万行",
            "number",
        ),
        ("房屋主体结构的维修由甲方负责。", "房屋主体结构的维修由谁负责？", "甲方", "fact"),
        ("借书证分为普通证、专业证和少儿证三种。", "借书证分为哪三种？", "普通证、专业证和少儿证", "list"),
        (
            "患者可以通过微信公众号、自助机和人工窗口三种方式挂号。",
            "患者可以通过哪三种方式挂号？",
            "微信公众号、自助机和人工窗口",
            "list",
        ),
        ("清源河是清源县最长的河流。", "清源县最长的河流是什么？", "清源河", "fact"),
        ("港珠澳大桥的总设计师是孟凡超。", "港珠澳大桥的总设计师是谁？", "孟凡超", "fact"),
        ("星链网关是一款面向微服务的API网关。", "星链网关是什么？", "一款面向微服务的API网关", "definition"),
        ("如果忘记密码，请联系IT服务台重置。", "如果忘记密码，应该怎么办？", "请联系IT服务台重置", "fact"),
        ("一个集群至少要部署三个节点，以避免脑裂。", "一个集群至少要部署三个节点，目的是什么？", "避免脑裂", "fact"),
        (
            "药品一经售出不予退换，但药品质量问题除外。",
            "药品一经售出不予退换，有什么例外？",
            "药品质量问题",
            "exception",
        ),
        ("受过刑事处罚的人员不得报名应聘。", "谁不得报名应聘？", "受过刑事处罚的人员", "exception"),
        ("实验室内严禁穿拖鞋和短裤。", "实验室内严禁什么行为？", "穿拖鞋和短裤", "exception"),
        ("滤网不能用水清洗，因为水会破坏滤网的静电层。", "为什么滤网不能用水清洗？", "水会破坏滤网的静电层", "fact"),
        ("西藏的法师通常被称为喇嘛。", "西藏的法师通常被称为什么？", "喇嘛", "fact"),
    ],
)
def test_a_sentence_is_asked_about_by_its_grammar(sentence: str, question: str, answer: str, kind: str) -> None:
    assert asked(sentence).get(question) == (answer, kind), asked(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "该系统每天备份3次配置库。",
        "它的最大连接数为1024个。",
        "上述情况应当在24小时内上报。",
        "其有效期为30天。",
        "目前公司共有120名员工。",
        "例如员工可以申请5天事假。",
        "为什么要等待30分钟？",
        "共计3本。",
        "于2005年被评为优秀企业。",
        "距市中心大约3公里。",
        "原因是30%的用户没有登录。",
        "一些员工每周工作60小时。",
        "具体办法由市公安局制定。",
        "应当处五十元以上二百元以下罚款。",
        "罗伯特·沃森，于1997年任职。",
        "配置项为timeout=30 {retry: 3}。",
        "1563年，1593年，1603年瘟疫肆虐伦敦。",
    ],
)
def test_what_points_elsewhere_or_lacks_a_subject_is_refused(sentence: str) -> None:
    assert asked(sentence) == {}


@pytest.mark.parametrize(
    ("sentence", "part"),
    [
        ("一个员工可以带一名家属参加活动。", "一名"),  # "一" is an article
        ("会议室的桌子长2.5 ± 0.1米。", "0.1米"),
        ("比前五年增长的森林面积在亚马孙流域达到18%。", "五年"),
        ("产品支持自动、睡眠和强劲三种工作模式。", "三种"),  # the series is asked for
        ("唐武德四年清源县归江州管辖。", "四年"),
        ("学校现有140万名小学教师和100万名高中教师。", "140万名"),
    ],
)
def test_numbers_that_count_no_measure_are_not_asked_for(sentence: str, part: str) -> None:
    assert part not in {answer for answer, _ in asked(sentence).values()}


def test_a_question_that_says_too_little_needs_its_heading() -> None:
    plain = document("手册由人力资源部解释。\n", "a.txt")
    assert claims_of(plain) == []
    headed = document("# 云帆科技员工手册\n\n## 附则\n\n手册由人力资源部解释。\n")
    assert [claim.question for claim in claims_of(headed)] == ["关于云帆科技，手册由谁解释？"]


def test_a_document_that_names_itself_is_asked_about_by_its_title() -> None:
    text = (
        "# 上海市公共图书馆条例\n\n第三十八条 本条例自2025年1月1日起施行。\n\n第三十九条 本办法自2026年1月1日起施行。\n"
    )
    questions = {claim.question: claim.answer for claim in claims_of(document(text))}
    assert questions == {"上海市公共图书馆条例自什么时候起施行？": "2025年1月1日"}


def test_a_table_that_compares_is_asked_by_its_columns() -> None:
    rows = [
        "| 功能 | 免费版 | 企业版 |",
        "|---|---|---|",
        "| 存储空间 | 5 GB | 500 GB |",
        "| 每日发信量 | 200封 | 2000封 |",
    ]
    found = claims_of(document("# 云邮箱套餐\n\n" + "\n".join(rows) + "\n"))
    assert {claim.question.rpartition("，")[2]: claim.answer for claim in found} == {
        "免费版的存储空间是多少？": "5 GB",
        "企业版的存储空间是多少？": "500 GB",
        "免费版的每日发信量是多少？": "200封",
        "企业版的每日发信量是多少？": "2000封",
    }


@pytest.mark.parametrize(
    ("introduction", "question"),
    [
        ("系统支持以下三种部署方式", "系统支持哪三种部署方式？"),
        ("以下情况不在保修范围内", "哪些情况不在保修范围内？"),
        ("申请流程如下", "申请流程是什么？"),
        ("合同的主要条款包括", "合同的主要条款包括哪些？"),
        ("请看", ""),
        ("如下", ""),
    ],
)
def test_introductions_of_lists_become_questions(introduction: str, question: str) -> None:
    assert chinese_claims.asked_of(introduction) == question


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        ("负责人", True),
        ("办公时间", True),
        ("注意", False),
        ("正例", False),
        ("其他", False),
        ("示例1", False),
        ("必须注意的是", False),
    ],
)
def test_labels_are_no_attributes(key: str, is_one: bool) -> None:
    assert chinese_claims.is_attribute(key) is is_one


def test_words_are_merged_into_what_is_one_thing() -> None:
    words = chinese_words.read("罗伯特·莱恩在1886年3月买了3.5公斤“碧螺春”和20%的Apache 2.0股份")
    assert [word.text for word in words if word.tag in ("nr", "t", "m", "nw", "eng")] == [
        "罗伯特·莱恩", "1886年3月", "3.5公斤", "“碧螺春”", "20%", "Apache 2.0",
    ]  # fmt: skip
    assert "".join(word.text for word in words) == "罗伯特·莱恩在1886年3月买了3.5公斤“碧螺春”和20%的Apache 2.0股份"


def test_a_sentence_of_many_nouns_takes_no_exponential_time() -> None:
    sentence = "数据的备份的系统的管理的规则的" * 8 + "长度为30米"
    assert seconds_of(lambda: asked(sentence[-120:])) < 2


def test_nothing_is_said_by_an_empty_document() -> None:
    assert claims_of(document("")) == []
    assert claims_of(document("# 标题\n")) == []


def test_of_a_hundred_graded_by_hand_three_in_four_are_good() -> None:
    with (ROOT / "docs" / "graded-extractive-zh.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    good = [row for row in rows if all(row[mark] == "yes" for mark in ("sensible", "answerable", "unambiguous"))]
    assert len(rows) == 100
    assert len(good) >= 75
    assert all(row["note"] for row in rows if row not in good), "a reason for each that is not"


@pytest.mark.skipif(not (PUBLIC / "retrieval").is_dir(), reason="needs ../shared/data/retrieval/xquad_zh")
def test_claims_of_public_paragraphs_stand_in_them_and_do_not_hold_their_answers() -> None:
    lines = (PUBLIC / "retrieval" / "xquad_zh" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    found = 0
    for row in map(json.loads, lines[::4]):
        for claim in claims_of(document(row["text"], f"{row['_id']}.txt")):
            found += 1
            assert row["text"][claim.start : claim.end] == claim.quote
            assert row["text"].count(claim.quote) == 1
            assert "".join(claim.answer.split()) in "".join(chinese_sentence.unbracketed(claim.quote).split())
            assert claim.answer not in claim.question
    assert found > 10
