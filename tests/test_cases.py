"""The files of a run: every question with its answer, rank, hits and scores; questions are imported unchanged."""

import csv
import io
import json

from ragviz.analysis.evaluate import summarise
from ragviz.core.document import Chunk, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Recording
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.runs.cases import FILES, cases
from tests.builders import document

DESK = "The desk lends maps for 21 days. Fines are one euro a day. Maps are red."
GARAGE = "雪链放在车库里。钥匙挂在厨房。"
TEXTS = {"rules/desk.md": DESK, "garage.txt": GARAGE}
DOCUMENTS = {name: document(name, text) for name, text in TEXTS.items()}
NAMES = {d.id: d.name for d in DOCUMENTS.values()}
DESK_ID, GARAGE_ID = (d.id for d in DOCUMENTS.values())


def span(document_id, start, end):
    text = DESK if document_id == DESK_ID else GARAGE
    return Span(document_id, start, end, text[start:end])


def chunk(document_id, start, end):
    text = DESK if document_id == DESK_ID else GARAGE
    return Chunk(Chunk.make_id(document_id, start, end), document_id, start, end, text[start:end], 9)


LENT, FINES, KEYS = chunk(DESK_ID, 0, 32), chunk(DESK_ID, 33, 58), chunk(GARAGE_ID, 8, 15)
ONE = Question("q1", "How long?", "21 days", ((span(DESK_ID, 14, 31),),), "import", "accepted", type="number")
SEVERAL = Question(
    "q2",
    '=Which, "two"\nthings？',
    "maps, 钥匙",
    ((span(DESK_ID, 4, 8), span(GARAGE_ID, 8, 14)), (span(DESK_ID, 14, 18),)),
    "gpt-4o",
    "proposed",
    language="zh",
)
NOTHING = Question("q3", "Who owns the moon?", "", (), "hand", "accepted", style="keywords")
QUESTIONS = [ONE, SEVERAL, NOTHING]
RESULTS = [
    Retrieved("q1", Ranking((FINES.id, LENT.id, KEYS.id), (0.5, -0.25, -0.5)), ((LENT.id,),)),
    Retrieved("q2", Ranking((FINES.id,), (0.1,)), ((LENT.id, KEYS.id), (LENT.id,))),
    Retrieved("q3", Ranking((), ()), ()),
]
EVALUATED = {
    "q1": EvaluatedAnswer(
        ONE,
        Recording("q1", answer="21 days [2]", status="answered", origin="model", citations=(2,)),
        equivalence_reason="The same.",
    ),
    "q2": EvaluatedAnswer(
        SEVERAL, Recording("q2", answer="", status="failed", origin="model", reason="HTTP 500: try again")
    ),
    "q3": EvaluatedAnswer(
        NOTHING, Recording("q3", answer="The passages do not tell.", status="refused", origin="model")
    ),
}
SCORES = {
    "completeness": {
        "q1": Score("completeness", 0.5),
        "q2": Score("completeness", None, "skipped", "there is no answer to judge"),
        "q3": Score("completeness", None, "no_answer", "the answer is a refusal"),
    },
    "equivalence": {"q1": Score("equivalence", 1.0)},
}
CAUSES = {"q1": "fine", "q2": "not_retrieved", "q3": "fine"}
CHUNKS = {c.id: c for c in (LENT, FINES)}


def table(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def test_one_file_holds_every_question_answer_rank_hit_and_score_with_reasons():
    summary = summarise(RESULTS, QUESTIONS, k=2, depth=3)
    held = {"chunks": CHUNKS, "evaluated": EVALUATED, "scores": SCORES, "causes": CAUSES, "judged": {}}
    found = cases(summary, QUESTIONS, RESULTS, NAMES, **held)
    written = {name: write(found, NAMES, "") for name, write in FILES.items()}
    one, several, nothing = table(written["results.csv"])
    assert (one["question_id"], one["question"], one["kind"]) == ("q1", "How long?", "single")
    assert (one["type"], one["style"], nothing["type"], nothing["style"]) == ("number", "", "", "keywords")
    assert (one["reference_answer"], one["answer"], one["answer_status"]) == ("21 days", "21 days [2]", "answered")
    assert (one["document"], one["cause"], one["rank"]) == ("rules/desk.md", "fine", "2")
    common = {"supports_reference": None, "document": "rules/desk.md"}
    assert json.loads(one["hits"]) == [
        common | {"rank": 1, "score": 0.5, "gold": False, "chunk_id": FINES.id},
        common | {"rank": 2, "score": -0.25, "gold": True, "chunk_id": LENT.id},
    ]
    assert (float(one["recall@2"]), float(one["mrr"])) == (1.0, 0.5)
    assert (float(one["completeness"]), one["completeness_reason"]) == (0.5, "")
    assert (float(one["equivalence"]), one["equivalence_reason"]) == (1.0, "The same.")
    assert (several["question"], several["document"]) == ("'" + SEVERAL.text, "rules/desk.md, garage.txt")
    assert (several["rank"], several["recall@2"], several["completeness"]) == ("miss", "0.0", "")
    assert several["completeness_reason"] == "skipped: there is no answer to judge"
    assert several["answer_reason"] == "HTTP 500: try again"
    assert (nothing["kind"], nothing["rank"], nothing["recall@2"]) == ("unanswerable", "unanswerable", "")
    assert (nothing["answer_status"], nothing["completeness_reason"]) == (
        "refused",
        "no_answer: the answer is a refusal",
    )
    assert (nothing["equivalence"], nothing["equivalence_reason"], nothing["hits"]) == ("", "", "[]")
