"""Prompts and reply types of the verification of questions: what a model is asked, and in which form it replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field

from ragviz.core.question import Question
from ragviz.judging.comparison import ComparisonReply, comparison_request
from ragviz.judging.texts import THOUGHT, bounded, judge_request
from ragviz.models.requests import Request
from ragviz.text import language

VERSIONS: Mapping[str, str] = {"alone": "2", "evidence": "2", "others": "1"}
"""Version of each prompt."""

TOGETHER = 10
"""Questions that one call is asked about alone."""
MOST_CANDIDATES = 60
"""Passages that one call is asked about, at most."""
ROW = 120
"""Tokens of a question's or a passage's row in a reply, at most twice what is expected."""


class AloneRow(BaseModel):
    """What one question is without any passage."""

    number: int = Field(description="Number of the question.")
    understood: bool = Field(description="Whether it says by itself what it asks about.")
    unclear: str = Field(description="The words that refer to something unsaid; empty when it is understood.")
    known: bool = Field(description="Whether you know its answer without any document.")
    answer: str = Field(description="That answer, short; empty when you do not know it.")


class AloneReply(BaseModel):
    """A row for every question."""

    rows: list[AloneRow] = bounded(2 * TOGETHER, "One row for every question.")


class EvidenceReply(BaseModel):
    """Whether the passages answer the question, and how."""

    answerable: bool
    answer: str
    missing: str = Field(description="What the passages do not tell, in a few words; empty when they tell all.")


class OtherRow(BaseModel):
    """What one passage beside the evidence says to the question."""

    passage: int = Field(description="Number of the passage.")
    answers: bool = Field(description="Whether it tells what the question asks for, of exactly what it names.")
    differs: bool = Field(description="Whether what it tells contradicts the expected answer.")
    quote: str = Field(description="The words of the passage that tell it, copied; empty when it does not.")


class OthersReply(BaseModel):
    """A row for every passage."""

    rows: list[OtherRow] = bounded(MOST_CANDIDATES, "One row for every passage.")


ALONE = {
    "en": """You check questions that test a search engine over documents, without seeing these documents. {data}
"questions" holds questions under their numbers; "earlier" are the earlier turns of its conversation, where there are
some, as questions with their answers; "answer_in" is the language of its answer, where that is another one.
Give one row for every number:
- understood: true when somebody who has seen no document knows what is asked about, from the question and its earlier
  turns alone. False when it refers to something that is nowhere named: "it", "this", "the above", "the company".
  Keywords, errors of typing and names that you do not know are no reason for false. unclear: the words that refer to
  something unsaid.
- known: true only when you are sure of the answer from general knowledge, as of an encyclopedia. What would have to be
  looked up in these documents, or guessed, is false. answer: the answer that you know, short.""",
    "zh": """你要检查一个测试集里的问题，它用来测试文档检索系统；你看不到这些文档。{data}
“questions”是带编号的问题；“earlier”是其对话中较早的几轮（如果有），每轮为问题及其答案；“answer_in”是答案所用的语言
（与问题不同时才有）。
每个编号给出一行：
- understood：没有看过任何文档的人仅凭这个问题及较早的几轮，就知道问的是什么，则为 true。如果它指的是没有说出的对象
  （“它”“这个”“上述”“该公司”等），则为 false。关键词、打字错误和你不认识的名称都不是判为 false 的理由。
  unclear：指代不明的词语。
- known：只有当你凭一般知识（如百科全书）能确定答案时才为 true。需要查阅这些文档才知道的，或者靠猜测的，为 false。
  answer：你所知道的答案，要简短。""",
}
EVIDENCE = {
    "en": """You answer a question from passages of documents and from nothing else. {data}
"passages" holds passages under their numbers, "question" the question, "earlier" the earlier turns of its conversation,
where there are some.
- answerable: true only when these passages together tell all that the question asks for. What you know from elsewhere
  does not count. False when a part of the answer is not told, or when the passages do not tell that what they speak of
  is what the question describes. A guess is no answer.
- answer: short and complete, in the words and the language of the passages; empty when not answerable.
- missing: what the passages do not tell; empty when answerable.""",
    "zh": """你要只依据文档的段落回答一个问题。{data}
“passages”是带编号的段落，“question”是问题，“earlier”是其对话中较早的几轮（如果有）。
- answerable：只有当这些段落合起来说明了问题所问的全部内容时才为 true。你从别处知道的不算。答案的某一部分没有说明，
  或者段落没有说明它所讲的就是问题所描述的对象时，为 false。猜测不算回答。
- answer：简短而完整，使用段落的说法和语言；不能回答时留空。
- missing：段落没有说明的内容；能回答时留空。""",
}
OTHERS = {
    "en": """You check whether other passages answer a question. {data}
"passages" holds passages under their numbers, "question" the question, "expected" the answer that is expected; it is
empty where no document should answer. Give one row for every passage:
- answers: true when the passage tells what the question asks for, of exactly the thing and the time that it names. A
  passage on the same subject that tells it of something else, of another time, or not at all, is false.
- differs: true when it answers the question, and somebody who read it would give another answer than "expected". More
  detail, other words or a part of the answer are no difference.
- quote: the words of the passage that tell it, copied; empty when it does not.""",
    "zh": """你要判断其他段落是否回答了一个问题。{data}
“passages”是带编号的段落，“question”是问题，“expected”是预期的答案；如果文档本不应回答，则为空。每个段落给出一行：
- answers：该段落说明了问题所问的内容，而且正是问题所说的对象和时间，则为 true。主题相同、但说的是别的对象或别的时间，
  或者没有说明的，为 false。
- differs：该段落回答了问题，而读到它的人会给出与“expected”不同的答案，则为 true。
  更详细、措辞不同或只是答案的一部分，不算不同。
- quote：说明它的原文，逐字照抄；没有则留空。""",
}


SAME = ComparisonReply(
    answer_claims=[], reference_claims=[], reason="", equivalence="equivalent", completeness=1, conciseness=1
)
"""The reply to `same_request` that lets a question pass."""


def _conversation(question: Question) -> dict[str, Any]:
    earlier = {"earlier": [list(turn) for turn in question.history]} if question.history else {}
    return {"question": question.text, **earlier}


def alone_request(entries: Mapping[int, Question]) -> Request[AloneReply]:
    """Build the request what questions, by number, are without any passage."""
    questions = {}
    for number, question in entries.items():
        questions[str(number)] = _conversation(question)
        evidence = language.detect("\n".join(span.text for span in question.spans))
        asked = language.of_short(question.text, question.language)
        if evidence not in (asked, "und") and evidence in language.NAMES:  # else answers could not be compared
            questions[str(number)]["answer_in"] = language.NAMES[evidence]
    wording = " ".join(question.text for question in entries.values())
    request = judge_request(ALONE, {"questions": questions}, AloneReply, wording)
    return replace(request, max_tokens=THOUGHT + ROW * len(entries))


def evidence_request(question: Question, passages: Sequence[str]) -> Request[EvidenceReply]:
    """Build the request for an answer from passages alone."""
    numbered = {str(number): text for number, text in enumerate(passages, start=1)}
    texts = {"passages": numbered, **_conversation(question)}
    request = judge_request(EVIDENCE, texts, EvidenceReply, "\n".join(passages))
    return replace(request, max_tokens=THOUGHT + 4 * ROW + 2 * len(question.answer))


def others_request(question: Question, passages: Mapping[int, str]) -> Request[OthersReply]:
    """Build the request which other `passages`, by number, answer a question, and which in another way."""
    numbered = {str(number): text for number, text in passages.items()}
    texts = {"passages": numbered, **_conversation(question), "expected": question.answer}
    request = judge_request(OTHERS, texts, OthersReply, "\n".join(passages.values()))
    return replace(request, max_tokens=THOUGHT + ROW * len(passages))


def same_request(question: Question, answer: str) -> Request[ComparisonReply]:
    """Build the request of the judging step that compares an answer with the reference as wholes."""
    return comparison_request(question.query, (answer, question.answer), {}, {})
