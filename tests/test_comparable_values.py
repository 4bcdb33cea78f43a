"""Which values and things are compared: planted tables and sections, each with a neighbour that must still be asked."""

import pytest

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.generation import entities, joined_claims
from ragviz.generation.comparable_values import are_alike

pytestmark = pytest.mark.model


def document(name, text, language="en"):
    return Document(Document.make_id(name, text), name, text, (), language, "text/markdown", "h", len(text))


def claim(of, quote, question, answer, subject, **more):
    start = of.text.index(quote)
    values = {"type": "fact", "statement": quote, "language": of.language, "score": 8.0} | more
    return SourceClaim(of.id, start, start + len(quote), quote, question=question, answer=answer, subject=subject,
                       **values)  # fmt: skip


def corpus_of(*pairs):
    return entities.read(pairs)


@pytest.mark.parametrize(
    ("one", "other", "language", "alike"),
    [
        ("$4", "$19", "en", True),
        ("9 days", "blue paint", "en", False),
        ("weekdays", "Sundays", "en", True),
        ("a wooden oar", "the harbour bell", "en", False),
        ("a short wooden oar", "a long wooden oar", "en", True),
        ("tide --open north", "tide --close south", "en", False),  # commands share their first word only
        (  # remarks have any two words in common
            "ask the harbour office for the long list of all the free northern berths of this week",
            "leave the box empty unless the harbour office has told you which berths are free",
            "en",
            False,
        ),
        ("四元", "九元", "zh", True),
        ("四元", "九天", "zh", False),
        ("船长姓名", "停泊日期", "zh", False),
        ("Ctrl+2", "Ctrl+7", "zh", False),
    ],
)
def test_values_that_can_be_compared(one, other, language, alike):
    assert are_alike(one, other, language) is alike


def compared(rows, attribute, names, values):
    of = document("berths.md", "# Berths\n\n" + "\n".join(rows))
    claims = [
        claim(of, line, f"What is the {attribute} of “{name}”?", value, name, attribute=attribute, type="table",
              section="Berths")
        for line, name, value in zip(rows, names, values, strict=True)
    ]  # fmt: skip
    return list(joined_claims.drafts(corpus_of((of, claims)), "comparison"))


def berths(attribute, values, names=("North berth", "South berth", "East berth", "West berth")):
    rows = [f"| {name} | {value} |" for name, value in zip(names, values, strict=False)]
    return compared(rows, attribute, names[: len(values)], values)


def test_texts_with_nothing_in_common_are_not_compared():
    assert not berths("equipment", ["a wooden oar", "brass lamps"])
    [draft] = berths("equipment", ["short wooden oars", "long wooden oars"])
    assert draft.question == "How do “North berth” and “South berth” differ in equipment?"


def test_values_that_a_column_repeats_are_a_choice():
    assert berths("access", ["by ferry", "on foot", "by ferry", "on foot"])
    assert not berths("access", ["by ferry", "on foot"])


@pytest.mark.parametrize(
    "attribute", ["Close the current gate.", "Open the gate. Then wait for the bell", "helps with", "open the gate"]
)
def test_the_first_row_of_a_table_without_titles_is_no_attribute(attribute):
    assert not berths(attribute, ["4 days", "9 days"])


def test_a_number_of_things_is_the_greater_one():
    [draft] = berths("number of boats", ["4 boats", "9 boats"])
    assert draft.question == "Which has the greater number of boats, “North berth” or “South berth”?"


def test_paths_are_not_compared_and_titles_are():
    assert not berths("size", ["4 KB", "9 KB"], ("docs/fees/north.md", "docs/fees/south.md"))
    assert berths("size", ["4 KB", "9 KB"])


def test_things_of_sections_are_of_one_kind():
    def conditions(first, second):
        quotes = [f"如果{first}，请敲钟。", f"如果{second}，请等待涨潮。"]
        of = document("港.md", "\n\n".join(quotes), "zh")
        claims = [
            claim(of, quote, f"如果{name}，应该怎么办？", answer, name, attribute="处理办法", section="港")
            for quote, name, answer in ((quotes[0], first, "敲钟"), (quotes[1], second, "等待涨潮"))
        ]
        return list(joined_claims.drafts(corpus_of((of, claims)), "comparison"))

    assert conditions("渔船白天靠岸", "渔船夜里靠岸")
    assert not conditions("渔船白天靠岸", "仓库钥匙丢失")


def test_things_of_one_pattern_are_of_one_kind():
    def asked(first, second):
        quotes = [f"The {name} is painted with {paint} in spring." for name, paint in (first, second)]
        of = document("paint.md", "\n\n".join(quotes))
        claims = [
            claim(of, quote, f"With what is the {name} painted in spring?", paint, name)
            for quote, (name, paint) in zip(quotes, (first, second), strict=True)
        ]
        return list(joined_claims.drafts(corpus_of((of, claims)), "comparison"))

    assert asked(("north gate", "tar"), ("south gate", "red lead"))
    assert not asked(("north gate", "tar"), ("Ida Brandt", "red lead"))
