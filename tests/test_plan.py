"""Plans of question sets: quotas worked by hand, what holds of every plan; questions by a model, the claim first."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.core.document import Chunk, Document
from ragviz.core.question import QuestionStyle, QuestionType
from ragviz.generation import model_questions
from ragviz.generation.model_questions import ClaimReply, QuestionReply, Swap, Task, UnanswerableReply, read
from ragviz.generation.plan import MIX, Cell, Outline, apportioned, kinds_of, plan, spread, styles_of
from ragviz.models.chat import ModelClient
from ragviz.questions.question_types import TYPES
from tests.test_verification import PASSAGES


def of(cells: list[Cell], what: str) -> Counter:
    counts = Counter()
    for cell in cells:
        counts[getattr(cell, what)] += cell.planned
    return counts


def test_kinds_without_a_number_share_what_is_left_by_the_mix():
    # By hand: 100 - 40 = 60; shares of number and list are 12 and 8: 36 and 24.
    assert kinds_of(100, {"fact": 40, "number": None, "list": None}) == {"fact": 40, "number": 36, "list": 24}
    assert sum(kinds_of(None, {}).values()) == 50
    assert sum(kinds_of(1000, {}).values()) == 1000
    assert kinds_of(100, {})["fact"] == round(100 * MIX["fact"] / sum(MIX.values()))


def test_documents_share_by_the_square_root_of_their_length():
    # By hand: roots 10, 20, 30, 40; 20 questions: 2, 4, 6, 8.
    assert spread({"a": 100, "b": 400, "c": 900, "d": 1600}, 20, 0) == {"a": 2, "b": 4, "c": 6, "d": 8}
    # By hand: 21 questions: 2.1, 4.2, 6.3, 8.4: the greatest remainder is that of d.
    assert spread({"a": 100, "b": 400, "c": 900, "d": 1600}, 21, 0) == {"a": 2, "b": 4, "c": 6, "d": 9}


def test_a_plan_worked_by_hand():
    cells = plan([Outline("a", 500), Outline("b", 139)], {"fact": 6, "number": 2}, {"colleague": 4, "keywords": 4})
    # 22.36 and 11.79 of 34.15: 8 questions are 5.24 and 2.76.
    assert of(cells, "document_id") == {"a": 5, "b": 3}
    assert of(cells, "type") == {"fact": 6, "number": 2}
    assert of(cells, "style") == {"colleague": 4, "keywords": 4}
    assert of([c for c in cells if c.type == "fact"], "style") == {"colleague": 3, "keywords": 3}


kinds_drawn = st.dictionaries(st.sampled_from(list(TYPES)), st.integers(1, 40), min_size=1)
documents_drawn = st.dictionaries(st.integers(0, 30).map(lambda n: f"d{n}"), st.integers(0, 20_000), min_size=1)


@settings(max_examples=150)
@given(documents_drawn, kinds_drawn, st.integers(0, 3), st.floats(0, 1))
def test_every_plan_keeps_its_quotas(documents, kinds, seed, share):
    outlines = [Outline(name, size, ["table"] if size > 2000 else []) for name, size in documents.items()]
    total = sum(kinds.values())
    styles = styles_of({"colleague": 1 - share, "keywords": share}, total)
    cells = plan(outlines, kinds, styles, seed=seed)
    assert plan(list(reversed(outlines)), kinds, styles, seed=seed) == cells
    lengths = {name: size for name, size in documents.items() if size}
    if not lengths:
        assert cells == []
        return
    assert of(cells, "type") == kinds
    assert of(cells, "style") == styles
    assert len({(c.document_id, c.type, c.style) for c in cells}) == len(cells)
    assert all(cell.planned > 0 for cell in cells)
    quotas = of(cells, "document_id")
    assert len(quotas) == min(total, len(lengths)), "each document has one, as far as the total reaches"
    able = sum(quotas[name] for name in lengths if lengths[name] > 2000)
    tables = sum(c.planned for c in cells if c.type == "table" and documents[c.document_id] > 2000)
    assert tables == min(kinds.get("table", 0), able) or "list" in kinds, "tables are planned where there are some"
    if total > len(lengths):
        more = {name: size for name, size in lengths.items() if quotas[name] > 1}
        each = (total - (len(lengths) - len(more))) / (sum(map(math.sqrt, more.values())) or 1)
        alone = [name for name in lengths if quotas[name] == 1]
        assert all(abs(quotas[name] - each * math.sqrt(size)) < 1 + 1e-6 for name, size in more.items())
        assert all(each * math.sqrt(lengths[name]) <= 2 + 1e-6 for name in alone)
    for kind, count in kinds.items():
        of_kind = of([c for c in cells if c.type == kind], "style")
        for style, in_all in styles.items():
            assert abs(of_kind[style] - count * in_all / total) <= 1 + 1e-9, "every type has the styles in proportion"


@given(st.dictionaries(st.text(max_size=3), st.floats(0.001, 1000), min_size=1, max_size=9), st.integers(0, 300))
def test_what_is_apportioned_sums_up_and_is_near_its_share(weights, total):
    counts = apportioned(weights, total)
    assert sum(counts.values()) == total
    whole_weight = sum(weights.values())
    assert all(abs(counts[name] - total * weight / whole_weight) < 1 + 1e-6 for name, weight in weights.items())
    assert apportioned(dict(reversed(weights.items())), total) == counts


TEXT = "\n\n".join(PASSAGES)
CHINESE = ["织工行会成立于1412年，会馆位于下城区。", "下城区的会馆在1666年被烧毁，后来用石头重建。"]


def document(text: str = TEXT, language: str = "en", name: str = "d") -> Document:
    return Document(name, f"{name}.txt", text, (), language, "text/plain", "", len(text))


def chunk(of: Document, words: str) -> Chunk:
    start = of.text.index(words)
    return Chunk(Chunk.make_id(of.id, start, start + len(words)), of.id, start, start + len(words), words, 0)


def task(kind: QuestionType = "fact", passages: int = 1, style: QuestionStyle = "colleague", **more) -> Task:
    of = document()
    return Task(kind, style, [chunk(of, text) for text in PASSAGES[:passages]], **more)


def claim(quote: str, passage: int = 1, statement: str = "") -> ClaimReply:
    return ClaimReply(passage=passage, quote=quote, statement=statement or quote)


def reply(*claims: ClaimReply, question="When was the guild of weavers founded?", answer="1412") -> QuestionReply:
    return QuestionReply(claims=list(claims), question=question, answer=answer)


def made(given: QuestionReply, of: Task | None = None, text: str = TEXT, existing: set[str] | None = None):
    return read(given, of or task(), {"d": document(text)}, "judge", existing=existing)


def test_the_quote_is_the_evidence_and_the_statement_the_part():
    quote = "The guild of weavers was founded in 1412."
    question = made(reply(claim(quote, statement="The guild of weavers\nwas founded in 1412.")))
    [[span]] = question.evidence
    assert (span.document_id, span.start, span.end, span.text) == ("d", 0, len(quote), quote)
    assert TEXT[span.start : span.end] == span.text
    assert question.parts == ("The guild of weavers was founded in 1412.",)
    assert (question.status, question.type, question.style, question.generator) == (
        *("proposed", "fact", "colleague"),
        "judge",
    )
    assert question.verified_by == "", "the call that writes a question does not verify it"


def test_each_passage_of_a_bridge_has_its_part_in_the_order_of_the_passages():
    bridge = task("bridge", 3)
    claims = [claim("The quarry closed in 1701.", 3), claim("burned down in 1666", 2), claim("Its hall stands", 1)]
    asked = "When did the quarry close that gave the stone for the burned hall of the guild of weavers?"
    question = made(reply(*claims, question=asked, answer="1701"), bridge)
    assert [span.text for [span] in question.evidence] == [each.quote for each in reversed(claims)]
    assert question.parts == tuple(each.statement for each in reversed(claims))
    assert question.source_chunks == tuple(each.id for each in bridge.passages)
    lacking = made(reply(*claims[:2], question=asked, answer="1701"), bridge)
    assert (lacking.status, lacking.reason) == ("rejected", "no evidence is quoted from passage 1")


TWICE = "Desk A opens at nine. It closes at noon. Desk B opens at ten. It closes at noon. Desk C is new."


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (reply(claim("founded in 1413")), "no evidence stands word for word in the chunk"),
        (reply(), "no evidence is quoted from the chunk"),
        (reply(claim("founded in 1412", passage=2)), "no evidence is quoted from the chunk"),
        (reply(claim("founded in 1412"), question=" "), "the question is empty"),
        (reply(claim("founded in 1412"), answer=""), "the answer is empty"),
        (reply(claim("founded in 1412"), answer="in 1987"), "the answer is not in the chunk"),
        (reply(claim("founded in 1412"), question="Was it founded in 1412?", answer="in 1412"), "holds its answer"),
        (reply(claim("founded in 1412"), question="What does the text say of 1412?", answer="founded"), "the text"),
        (reply(claim("founded in 1412"), question="founded when?"), "the question is too short"),
    ],
)  # fmt: skip
def test_what_is_not_usable_is_rejected_with_its_reason(given, reason):
    question = made(given)
    assert question.status == "rejected"
    assert reason in question.reason


def unanswerable(question: str, original: str = "weavers", replacement: str = "tanners", **more) -> UnanswerableReply:
    swap = Swap(what="entity", original=original, replacement=replacement)
    true = more.pop("true", "When was the guild of weavers founded?")
    return UnanswerableReply(
        claims=[claim("founded in 1412")], question=question, answer="", true_question=true, swap=swap
    )


def test_an_unanswerable_question_says_what_was_swapped_and_has_no_evidence():
    question = made(unanswerable("When was the guild of tanners founded?"), task("unanswerable"))
    assert (question.unanswerable, question.evidence, question.answer) == (True, (), "")
    assert question.reason == "swapped: “weavers” → “tanners” (entity)"
    assert (question.status, question.kind) == ("proposed", "unanswerable")


FEES = "Fees of the desk:\n\n| Desk | Fee |\n| --- | --- |\n| North | 5 EUR |\n\nThe desk in the south is free."
WEAVERS = "The guild of weavers was founded in 1412."


@pytest.mark.parametrize(
    ("kind", "style", "text", "quote", "asked", "answer", "reason"),
    [
        ("number", "", TEXT, WEAVERS, "When was the guild of weavers founded?", "in 1412", ""),
        ("number", "", TEXT, "It was built again of stone.", "What was the hall built of again?", "stone", "no number"),
        (
            "number", "", "It opens on Monday at the quay.", "It opens on Monday", "When does the quay open?",
            "Monday", "",
        ),
        ("number", "", CHINESE[0], CHINESE[0][:12], "织工行会是哪一年成立的？", "1412年", ""),
        ("number", "", CHINESE[0], CHINESE[0], "织工行会的会馆在什么地方？", "下城区", "no number"),
        ("table", "", FEES, "| North | 5 EUR |", "What is the fee of the north desk?", "5 EUR", ""),
        ("table", "", FEES, "The desk in the south is free.", "What does the south desk cost?", "free", "in a table"),
        ("fact", "other-language", TEXT, WEAVERS, "织工行会是哪一年成立的？", "1412", ""),
        ("fact", "other-language", TEXT, WEAVERS, "When was the guild of weavers founded?", "1412", ": English"),
        ("fact", "other-language", TEXT, WEAVERS, "Weavers guild founding year?", "1412", ": English"),
        ("fact", "other-language", CHINESE[0], CHINESE[0], "When did the weavers begin?", "1412年", ""),
        ("fact", "other-language", CHINESE[0], CHINESE[0], "织工行会是哪一年成立的？", "1412年", ": Chinese"),
        ("fact", "other-words", TEXT, WEAVERS, "In which year did cloth makers first organise?", "1412", ""),
        ("fact", "other-words", TEXT, WEAVERS, "When was the guild of weavers founded?", "1412", "100% of its own"),
        ("fact", "other-words", CHINESE[0], CHINESE[0], "织工行会成立于哪年，会馆位于哪里？", "1412年", "of its own"),
        ("fact", "colleague", TEXT, WEAVERS, "When was the guild of weavers founded?", "1412", ""),
    ],
)  # fmt: skip
def test_a_question_is_of_the_type_and_style_that_was_asked_for(kind, style, text, quote, asked, answer, reason):
    of = document(text)
    one = Task(kind, style, [chunk(of, text)])
    question = read(reply(claim(quote), question=asked, answer=answer), one, {"d": of}, "judge")
    assert (question.status, bool(question.reason)) == (("rejected", True) if reason else ("proposed", False))
    assert reason in question.reason


def test_a_quote_that_stands_more_than_once_is_refused():
    of = document(TWICE)
    one = Task("fact", "", [chunk(of, TWICE[:40])])
    question = read(reply(claim("closes at noon")), one, {"d": of}, "judge")
    assert question.reason == (
        "its quote “closes at noon” stands 2 times in the document: which one is meant is not clear"
    )


def test_a_failed_call_costs_one_question_and_says_so(server):
    server.script.extend(["500"] * 8)
    client = ModelClient(server.url, None, "loopback", concurrency=1, backoff=0.001)
    questions = list(model_questions.written([task(), task("bridge", 2)], {"d": document()}, set(), client))
    assert [question.status for question in questions] == ["rejected", "proposed"]
    assert questions[0].reason.startswith("model failed: ")
    assert questions[0].id == model_questions.question_id(task(), "loopback")
