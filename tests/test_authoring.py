"""Questions written and edited by hand: places, quotes, proposals, versions; the commands add, edit and mend."""

import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.questions import authoring, occurrences
from ragviz.store import schema
from ragviz.text import quotes
from ragviz.workspace import Workspace
from tests.builders import added, document

PUMPS = (
    "# Pumps 🚰\n\nThe north pump 🛠️ was replaced in May 2023. It moves 40 litres a minute.\n\n"
    "The south pump was repaired in June 2022.\nIt moves 25 litres a minute and feeds the upper tank.\n"
)
VALVES = "北阀门于2021年更换😀。检修周期为三十天。负责人是王芳。"


@pytest.mark.parametrize(
    ("text", "words"),
    [(PUMPS, "It moves 40 litres a minute."), (VALVES, "检修周期为三十天。"), (PUMPS, "🛠️"), (VALVES, "😀")],
)
def test_a_mark_is_the_characters_without_the_blanks_around(text, words):
    padded = document("d.md", text.replace(words, f" \n{words}\t ", 1))
    at = padded.text.index(words)
    span = authoring.marked(padded, at - 2, at + len(words) + 2)
    assert (span.text, span.start, span.end) == (words, at, at + len(words))


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("we aren't allowed to sign", "As staff, we aren’t\n  allowed to sign.", "we aren’t\n  allowed to sign"),
        ("the companies’ “NDAs”", 'all the companies\' "NDAs" too', 'the companies\' "NDAs"'),
        ("2019-2021 -- final", "In 2019–2021 — final.", "2019–2021 — final"),
        ("所谓“单元测试”（AIR）", "这里所谓「单元测试」(AIR)是", "所谓「单元测试」(AIR)"),
        ("覆盖率70%,必须", "语句覆盖率７０％，必须达到", "覆盖率７０％，必须"),
        ("他说'好'", "他说『好』。", "他说『好』"),
        ("a 🛠️ pump's", "🚰 a 🛠️ pump’s end", "a 🛠️ pump’s"),
        ("Das Büro öffnet", "X: Das Bu\u0308ro o\u0308ffnet.", "Das Bu\u0308ro o\u0308ffnet"),
        ("final office", "The \ufb01nal of\u00ad\ufb01ce.", "\ufb01nal of\u00ad\ufb01ce"),
        ("THE FEE OF 3000 € FOR 5 KM", "the fee of 3\u202f000€ for 5km is due", "the fee of 3\u202f000€ for 5km"),
        ("한국어 12", "\u1112\u1161\u11ab국어 \u0661\u0662", "\u1112\u1161\u11ab국어 \u0661\u0662"),
    ],
)
def test_a_quote_is_found_whatever_its_marks_look_like(quote, text, found):
    """Offsets are those of the document as it is: the text between them is what was meant."""
    one = document("d.md", text)
    span = authoring.quoted(one, quote)
    assert (span.text, text[span.start : span.end]) == (found, found)
    assert [(each.how, each.span.text) for each in occurrences.proposals(one, quote)] == [("exact", found)]


@given(st.text("a'’\"“「-—–，,１1 \n好", max_size=12), st.text("ab'’\"“「-—–，,１1 \n好", max_size=40))
def test_every_place_of_a_quote_is_in_the_text(quote, text):
    """What stands at a place has the words of the quote: without signs and blanks they are the same."""

    def bare(part):
        return "".join(c for c in unicodedata.normalize("NFKC", part) if c.isalnum())

    for start, end in quotes.places(quote, text):
        assert bare(text[start:end]) == bare(quote)
    if quote.strip() and quote.strip() in text:
        assert quotes.places(quote, text)[0][0] == text.index(quote.strip())


@pytest.fixture
def workspace(workspace) -> Workspace:
    added(workspace, "notes", {"pumps.md": PUMPS, "阀门.txt": VALVES})
    return workspace


def stored_questions(workspace: Workspace, name: str = "q"):
    return workspace.store.questions.all(workspace.store.sets.get(name).id)


def test_a_question_is_saved_only_over_the_version_that_was_shown(workspace):
    store = workspace.store
    question_set = store.sets.add(store.corpora.get("notes").id, "q")
    first, second = (authoring.written(f"What moves {n}?", "a pump", ()) for n in (1, 2))
    store.questions.put(question_set.id, [first, second])
    shown = schema.version_of(first)
    theirs = replace(first, answer="two pumps")
    authoring.save(store, question_set, theirs, shown)
    with pytest.raises(authoring.Conflict, match="changed by somebody else") as conflict:
        authoring.save(store, question_set, replace(first, text="What is moved?"), shown)
    assert conflict.value.current == theirs
    assert stored_questions(workspace) == [theirs, second], "nothing was saved, and the order stays"
    authoring.save(store, question_set, replace(first, text="What is moved?"), schema.version_of(theirs))
    store.questions.delete(question_set.id, [first.id])
    with pytest.raises(authoring.Conflict, match="deleted"):
        authoring.save(store, question_set, first, shown)


def test_a_question_is_added_with_quotes(command_line, workspace):
    add = ("questions", "add", "q", "--corpus", "notes", "--json", "--question")
    asked = ("Which pump feeds the tank, and who looks after the valves?", "--answer", "the south pump; 王芳")
    first = ("--quote", "feeds the upper tank", "--document", "pumps.md")
    second = ("--quote", "负责人是王芳", "--document", "阀门.txt")
    code, out, err = command_line(*add, *asked, *first, *second)
    assert code == 0, err
    assert json.loads(out)["kind"] == "multi"
    [question] = stored_questions(workspace)
    assert [[s.text for s in group] for group in question.evidence] == [["feeds the upper tank"], ["负责人是王芳"]]
    assert (question.generator, question.status, question.language) == ("hand", "accepted", "en")
    assert json.loads(command_line(*add, "Who owns it?")[1])["kind"] == "unanswerable"
