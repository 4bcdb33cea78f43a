"""Questions by a model, the claim first: quotes placed once in the document, types and styles, faults with reasons."""

import pytest

from ragviz.core.document import Chunk, Document
from ragviz.core.question import QuestionStyle, QuestionType
from ragviz.generation import model_questions
from ragviz.generation.model_questions import ClaimReply, QuestionReply, Swap, Task, UnanswerableReply, read
from ragviz.models.chat import ModelClient

PASSAGES = [
    "The guild of weavers was founded in 1412. Its hall stands in the lower town.",
    "The hall in the lower town burned down in 1666. It was built again of stone.",
    "Stone for the new hall came from the quarry of Ardel. The quarry closed in 1701.",
]
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
