"""Questions without a model: what is asked of headings, lists, tables, pairs, terms and sentences, and what is not."""

import math
from collections import Counter

import pytest

from ragviz.core.document import Document, Span
from ragviz.generation.blocks import headed
from ragviz.generation.candidates import Candidate, Corpus, candidates
from ragviz.generation.choosing import FEW, MOST_ALIKE, chosen, unambiguous
from ragviz.generation.phrasing import Phrasing
from ragviz.text.language import detect

pytestmark = pytest.mark.model


def page(text: str, name: str = "a.md", media_type: str = "text/markdown", language: str = "") -> Document:
    return Document(name, name, text, (), language or detect(text), media_type, "", len(text))


def made(*texts: str, **more) -> list[Candidate]:
    documents = [page(text, f"{n}.md", **more) for n, text in enumerate(texts)]
    corpus = Corpus(documents)
    return [each for document in documents for each in candidates(document, corpus)]


def texts_of(found: list[Candidate], pattern: str = "") -> list[str]:
    return [each.phrasings[0].text for each in found if pattern in ("", each.pattern)]


LEAVE = "Full-time staff of the bakery rest twenty-five days every year, and on all public holidays."


# Headings


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("## Annual leave", "When it comes to the bakery, what should I know about annual leave?"),
        ("## 2.1 Annual leave:", "When it comes to the bakery, what should I know about annual leave?"),
        ("## Days of annual leave", "What do I need to know about days of annual leave?"),
        ("## Carrying a day over", "In “The bakery”, what does carrying a day over involve?"),
        ("## Who gets annual leave?", "Who gets annual leave?"),
        ("## Leave vs. holidays", "What is the difference between leave and holidays?"),
        ("## How leave is counted", "Can you tell me how leave is counted?"),
        ("## When to book leave", "When should I book leave?"),
        ("## Version 2.4", "What is new in version 2.4?"),
        ("## `bake.leave`", "What is bake.leave for?"),
        ("## 1.2", ""),
        ("## It is open", ""),
        ("## Annual leave is not paid out", ""),
        ("## Basic example", ""),
    ],
)
def test_what_is_asked_of_a_heading(heading, question):
    found = made(f"# The bakery\n\n{heading}\n\n{LEAVE}")
    assert texts_of(found) == [question] * bool(question)
    for each in found:
        [[span]] = each.evidence
        assert (each.type, each.answer, span.text) == ("section", LEAVE, f"{heading}\n\n{LEAVE}")


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("## 第二章 出差申请", "差旅管理办法对出差申请有什么规定？"),
        ("## 报销流程", "差旅管理办法的报销流程是怎样的？"),
        ("## 办理读者证", "怎么办理读者证？"),
        ("## 如何报销差旅费", "怎么报销差旅费？"),
        ("## 谁可以申请补贴？", "谁可以申请补贴？"),
        ("## 注意事项", "差旅管理办法有哪些注意事项？"),
        ("## 常见问题", ""),
        ("## 该办法的解释", ""),
    ],
)
def test_what_is_asked_of_a_chinese_heading(heading, question):
    body = "员工出差前应当填写申请单，经部门经理批准后才能出行，返回后补交说明。"
    found = [each for each in made(f"# 差旅管理办法\n\n{heading}\n\n{body}") if each.type == "section"]
    assert texts_of(found) == [question] * bool(question)
    assert all(each.evidence[0][0].text == f"{heading}\n\n{body}" for each in found)


def test_other_languages_are_keyword_queries_of_headings_alone():
    body = "Am Wochenende bleibt die Mensa geschlossen; das Bistro hat von zehn bis sechzehn Uhr geöffnet."
    found = made(f"# Mensa\n\n## Zeiten am Wochenende\n\n{body}")
    assert [(each.phrasings, each.answer) for each in found] == [((Phrasing("", "Zeiten am Wochenende"),), body)]


@pytest.mark.parametrize(
    "body",
    [
        "See [the other page](other.md) for all that you want to know about this.",
        "This page explains what the people of the bakery have to know about leave.",
        "Ask Ann.",
        "```\nno prose, only code that nobody reads as an answer to it\n```",
        '<Card href="x">\n\nText inside a card says nothing about the heading that stands above the cards.',
        "The following people have more leave than others in the house have:",
    ],
)
def test_paragraphs_that_say_nothing_answer_no_heading(body):
    assert made(f"# The bakery\n\n## Annual leave\n\n{body}") == []


def test_the_answer_of_a_heading_is_all_that_stands_under_it():
    more = "Who starts in summer gets a part of that, two days a month.\n\n- ask Ann\n- tell the others"
    [found] = [e for e in made(f"# The bakery\n\n## Days of annual leave\n\n{LEAVE}\n\n{more}") if e.type == "section"]
    assert (
        found.answer
        == f"{LEAVE} Who starts in summer gets a part of that, two days a month. - ask Ann - tell the others"
    )
    table = "| Year | Days |\n|---|---|\n| 1 | 20 |\n| 2 | 25 |"
    [with_table] = [
        e for e in made(f"# The bakery\n\n## Days of annual leave\n\n{LEAVE}\n\n{table}") if e.pattern == "heading"
    ]
    assert with_table.answer == f"{LEAVE} Year, Days; 1, 20; 2, 25"
    oven = "bake:\n  hot: yes\n\n  long: no"
    [with_code] = made(f"# The bakery\n\n## Annual leave\n\n{LEAVE} So:\n\n```yaml\n{oven}\n```\n\nAsk first.")
    assert with_code.answer == f"{LEAVE} So:\n{oven}\nAsk first.", "lines of code stay as they are"


@pytest.mark.parametrize(
    "more",
    [
        "### Days of annual leave for bakers\n\nTwo more.",
        "<Card>\n\nA day more.\n\n</Card>",
        "```\n" + "long " * 100 + "\n```",
        "word " * 400,
        "The days are:",
    ],
)
def test_a_heading_with_more_than_an_answer_holds_is_not_asked_about(more):
    assert texts_of(made(f"# The bakery\n\n## Days of annual leave\n\n{LEAVE}\n\n{more}"), "heading") == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "# Kestrel\n\nKestrel is a tool that copies your backups to another place, every night at two.",
            "What is Kestrel?",
        ),
        ("# 红隼\n\n红隼是一种每天夜里把备份从一个地方复制到另一个地方的工具，由系统部维护。", "什么是红隼？"),
    ],
)
def test_a_thing_that_the_text_defines_is_asked_for_with_parts_below(text, question):
    assert texts_of(made(f"{text}\n\n## Use\n\nNo."), "heading") == [question]


def test_a_title_whose_words_another_document_holds_is_named_with_its_own():
    other = "# The mill\n\n## Grain\n\nDays of annual leave are planned by the miller, who tells everybody in January."
    page_of = f"# The bakery\n\n## Days of annual leave\n\n{LEAVE}"
    assert "What do I need to know about days of annual leave?" in texts_of(made(page_of))
    assert "When it comes to the bakery, what should I know about days of annual leave?" in texts_of(
        made(page_of, other)
    )


def test_a_paragraph_of_three_documents_is_no_content_of_any():
    pages = [f"# House {n}\n\n## Rules of house {n}\n\n{LEAVE}" for n in range(3)]
    assert len(made(*pages[:2])) == 2
    assert made(*pages) == []


def test_restructured_text_is_read():
    text = (
        "Kestrel\n=======\n\nKestrel copies your backups from one place to another place.\n\n"
        "Keeping snapshots\n-----------------\n\n"
        ":term:`Snapshots <snapshot>` are kept for ninety days, see :ref:`prune`.\n\n"
        ".. note::\n\n   Deleted ones cannot be restored by anybody, whatever they may try to do."
    )
    found = made(text, media_type="text/x-rst")
    assert "What does “Kestrel” say about keeping snapshots?" in texts_of(found)
    assert (
        "Snapshots are kept for ninety days, see prune. Deleted ones cannot be restored by anybody, whatever they "
        "may try to do." in [each.answer for each in found]
    )
    assert [part.path for part in headed(page(text, media_type="text/x-rst"))] == [
        ("Kestrel",), ("Kestrel", "Keeping snapshots"),
    ]  # fmt: skip


# Lists, tables, pairs, terms


def test_a_list_under_its_heading_is_asked_for_with_it():
    text = "# The bakery\n\n## Supported ovens\n\n- stone\n- gas\n- steam\n"
    [found] = made(text)
    assert (found.type, found.phrasings[0].text, found.answer) == (
        "list",
        "What are the supported ovens in “The bakery”?",
        "stone; gas; steam",
    )
    assert found.evidence[0][0].text.startswith("## Supported ovens")
    [introduced] = made("# The bakery\n\n## Ovens\n\nThe tool box contains:\n\n- tongs\n- gloves\n- a scale\n")
    assert introduced.phrasings[0].text == "What does the tool box contain?"
    [chinese] = made("# 读者指南\n\n## 读者可使用的设施\n\n- 自习室\n- 电子阅览室\n- 无障碍通道\n")
    assert (chinese.phrasings[0].text, chinese.answer) == (
        "读者指南的读者可使用的设施有哪些？",
        "自习室；电子阅览室；无障碍通道",
    )


def test_the_evidence_of_a_cell_holds_the_titles_with_the_row():
    rows = [
        f"| Oven {name} | {size} litres | {'x' * 70} |" for name, size in (("Anna", 40), ("Berta", 60), ("Clara", 80))
    ]
    text = "# Ovens of the bakery\n\n| Oven | Volume of dough | Remark |\n|---|---|---|\n" + "\n".join(rows * 1)
    found = [each for each in made(text) if "litres" in each.answer]
    assert [each.answer for each in found] == ["40 litres", "60 litres", "80 litres"]
    assert found[0].phrasings[0].text == "What is the volume of dough for Oven Anna in “Ovens of the bakery”?"
    near, *_, far = ([span.text for [span] in each.evidence] for each in found)
    assert (len(near), near[0].startswith("| Oven | Volume"), near[0].endswith(rows[0])) == (1, True, True)
    assert far == [text[text.index("| Oven | Volume") :]] or far == ["| Oven | Volume of dough | Remark |", rows[2]]
    assert {each.table for each in found} == {"0.md 0"}


def test_tables_without_names_are_not_asked_about():
    assert made("# Ovens of the bakery\n\n| Oven | Open |\n|---|---|\n| Anna | yes |\n| Berta | no |") == []
    assert made("# Ovens of the bakery\n\n| Oven | Volume |\n|---|---|\n| Anna | 4 |\n| Anna | 5 |") == []
    assert (
        made("# Ovens of the bakery\n\n| Size | v1 oven | v1 tray |\n|---|---|---|\n| Big | 4 | 3 |\n| Small | 5 | 2 |")
        == []
    )


def test_pairs_and_terms():
    meaning = "the soft part inside a loaf of bread, without its hard crust."
    pairs = "**Telephone**: 555 123\n\n**Head baker**: Ann Morland\n\n**Oven room**: see below. Ask Ann.\n\n"
    found = made(f"# The Morland bakery\n\n{pairs}**Note**: closed\n\n**Crumb** – {meaning}\n")
    assert [(e.pattern, e.phrasings[0].text, e.answer) for e in found if e.pattern != "heading"] == [
        ("pair", "What is the telephone for the Morland bakery?", "555 123"),
        ("pair", "What is the head baker for the Morland bakery?", "Ann Morland"),
        ("term", "In “The Morland bakery”, what is meant by “Crumb”?", meaning),
    ]  # fmt: skip
    assert not [e for e in made("# The Morland bakery\n\n**Telephone**: 555 123\n") if e.pattern == "pair"]


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("Full-time staff get 25 days of leave a year.", "How many days of leave a year do full-time staff get?", "25"),
        ("You can carry up to 5 days into the next year.", "How many days can I carry into the next year?", "up to 5"),
        ("The Morland reading room was opened in 1931.", "When was the Morland reading room opened?", "1931"),
        ("The lighthouse of Morland is 40 metres high.", "How high is the lighthouse of Morland?", "40 metres"),
        ("The ferry trip to Morland takes 35 minutes.", "How long does the ferry trip to Morland take?", "35 minutes"),
        ("However, the ferry crossing to Morland takes 35 minutes.", "", ""),
        ("It takes 35 minutes to cross the bay of Morland.", "", ""),
        ("The fee is 20 euros.", "", ""),
        ("This ferry of the county takes 40 passengers.", "", ""),
        ("The ferry does not take more than 40 passengers to Morland.", "", ""),
        ("图书馆于1958年建成，是全市最大的图书馆。", "图书馆于哪一年建成？", "1958年"),
        ("每位读者一次最多可借阅10册图书。", "每位读者一次最多可借阅多少册图书？", "10册"),
        ("国际出差须提前15个工作日提交申请。", "国际出差须提前多少个工作日提交申请？", "15个工作日"),
        ("古籍阅览室由馆员周敏负责管理。", "古籍阅览室由谁负责管理？", "馆员周敏"),
        ("其藏书超过120万册，居全省之首。", "", ""),
        ("该馆于1958年建成，是全市最大的图书馆。", "", ""),
        ("此外，每位读者一次最多可借阅10册图书。", "", ""),
    ],
)  # fmt: skip
def test_what_is_asked_of_a_sentence(sentence, question, answer):
    language = "zh" if "。" in sentence else "en"
    found = [each for each in made(sentence, language=language) if each.pattern == "sentence"]
    assert [(each.phrasings[0].text, each.answer) for each in found] == [(question, answer)] * bool(question)
    assert all(each.evidence[0][0].text == sentence for each in found)


# Choosing


def candidate(
    number: int, owner: str = "a", template: str = "T", pattern: str = "heading", table: str = ""
) -> Candidate:
    span = Span(owner, 10 * number, 10 * number + 5, "text")
    ways = (Phrasing(template, f"{template} {owner} {number}?"),)
    kind = "table" if table else "section"
    return Candidate(kind, pattern, f"answer {number}", ((span,),), ways, "", "en", table)


@pytest.mark.parametrize("size", [10, 40, 100])
def test_no_template_and_no_table_has_more_than_its_share(size):
    """Ten templates would give ten each; of those, three are of one table."""
    found = [candidate(n, f"d{n % 7}", f"T{n % 10}", table="t" if n % 10 < 3 else "") for n in range(200)]
    picked = chosen(found, size, {f"d{n}": 100 for n in range(7)})
    most = max(FEW, math.floor(MOST_ALIKE * len(picked)))
    assert max(Counter(choice.phrasing.template for choice in picked).values()) <= most
    assert sum(choice.candidate.table == "t" for choice in picked) <= most
    assert len(picked) == size


def test_fewer_are_chosen_rather_than_one_template_filled():
    """One template and nothing else: two of it. With nine others of one question: 11 in all, two of eleven."""
    assert len(chosen([candidate(n) for n in range(50)], 50, {"a": 100})) == FEW
    others = [candidate(100 + n, template=f"T{n}") for n in range(9)]
    assert len(chosen([candidate(n) for n in range(50)] + others, 50, {"a": 100})) == 11


def test_no_document_has_more_than_twice_its_share():
    """Weights are 30, 10 and 10: of 20 questions 12, 4, 4 are the shares, and twice that the most."""
    found = [candidate(n, owner, f"T{n % 12}") for owner in "abc" for n in range(60)]
    picked = chosen(found, 20, {"a": 900, "b": 100, "c": 100})
    counts = Counter(choice.candidate.place.document_id for choice in picked)
    assert (len(picked), max(counts["b"], counts["c"]) <= 8) == (20, True)
    assert counts["a"] <= 24


def test_a_wording_that_fits_two_places_is_used_for_none():
    twice = [candidate(1), candidate(1, template="U")]
    assert len(unambiguous(twice)) == 2
    same = Candidate("section", "heading", "other", candidate(2).evidence, candidate(1).phrasings, "", "en")
    assert unambiguous([candidate(1), same]) == []
