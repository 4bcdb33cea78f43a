"""The sample corpus: its documents are read completely, and every quote occurs in them once."""

import json
import re
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

from ragviz import sample
from ragviz.core.chunk import Chunk
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.core.question import Question
from ragviz.documents import parsing
from ragviz.index import chunking
from ragviz.models.tokenizer import open_tokenizer
from ragviz.questions import interchange
from ragviz.retrieval import gold
from ragviz.text import language

SOURCES = Path(__file__).parents[1] / "tools" / "sample"
HAN = re.compile(r"[\u4e00-\u9fff]")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    return {name: parsing.parse(name, data, detect=language.detect) for name, data in sample.documents()}


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return [json.loads(line) for line in sample.questions().decode().splitlines()]


@pytest.fixture(scope="module")
def questions(documents: dict[str, Document]) -> list[Question]:
    imported = interchange.read_questions(
        sample.questions(), "questions.jsonl", {document.name: document for document in documents.values()}
    )
    assert imported.problems == {}
    return list(imported.questions)


def groups(row: dict) -> list[list[dict]]:
    if "quote" in row:
        return [[row]]
    return [group if isinstance(group, list) else [group] for group in row["evidence"]]


def flat(text: str) -> str:
    """Remove what Markdown adds: escapes, emphasis, the lines of tables, and white space of any width."""
    return re.sub(r"[\s*|]+", " ", text.replace("\\", ""))


def test_twelve_documents_in_five_formats(documents: dict[str, Document]) -> None:
    kinds = Counter(PurePosixPath(name).suffix for name in documents)
    assert kinds == {".md": 5, ".html": 2, ".pdf": 2, ".docx": 2, ".xlsx": 1}
    assert list(documents) == sorted(documents)
    assert [name for name, document in documents.items() if document.warnings] == []
    chinese = [name for name, document in documents.items() if document.language == "zh"]
    assert chinese == ["visiting-observers-zh.docx"]
    assert {document.language for document in documents.values()} == {"en", "zh"}
    assert len(documents["annual-report-2023.pdf"].pages) == 5
    assert len(documents["prices-and-equipment.xlsx"].pages) == 4


@pytest.mark.parametrize(
    "name",
    [
        "annual-report-2023.pdf",
        "incident-report-2023-07.pdf",
        "engineering-procedures.docx",
        "visiting-observers-zh.docx",
    ],
)
def test_generated_documents_hold_all_of_their_source(name: str, documents: dict[str, Document]) -> None:
    source = SOURCES / f"{PurePosixPath(name).stem}.md"
    text = flat(documents[name].text)
    lines = [flat(line.lstrip("# ")).strip() for line in source.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if line not in text] == []


def test_sixty_single_thirty_multi_ten_unanswerable(questions: list[Question], rows: list[dict]) -> None:
    assert [q.kind for q in questions] == ["single"] * 60 + ["multi"] * 30 + ["unanswerable"] * 10
    assert {len(q.evidence) for q in questions if q.kind == "multi"} == {3}
    assert [q.kind == "unanswerable" for q in questions] == [q.answer == "" for q in questions]
    chinese = [row for row in rows[:60] if HAN.search(row["question"])]
    assert len(chinese) == 8
    assert {row["document"] for row in chinese} == {"visiting-observers-zh.docx"}


def test_every_quote_occurs_once_in_its_document(documents: dict[str, Document], rows: list[dict]) -> None:
    members = [member for row in rows for group in groups(row) for member in group]
    counted = [(documents[m["document"]].text.count(m["quote"]), m["quote"]) for m in members]
    assert [(count, quote) for count, quote in counted if count != 1] == []
    assert {m["document"] for m in members} == set(documents)


def test_questions_differ_and_name_no_document(rows: list[dict]) -> None:
    texts = [" ".join(row["question"].lower().split()) for row in rows]
    assert len(set(texts)) == 100
    assert [t for t in texts if re.search(r"\b(document|passage|text|report|handbook)s?\b|文中|本文|指南", t)] == []


def test_a_number_in_an_answer_occurs_in_its_quote(rows: list[dict]) -> None:
    unsupported = []
    for row in rows[:60]:
        quotes = " ".join(member["quote"] for group in groups(row) for member in group).replace(",", "")
        if missing := [n for n in NUMBER.findall(row["answer"].replace(",", "")) if n not in quotes]:
            unsupported.append((row["question"], missing))
    # 19 TB is what is left of 80 when 61 are used.
    assert [missing for _, missing in unsupported] == [["19"]]


def test_multi_evidence_comes_from_more_than_one_place(questions: list[Question]) -> None:
    multi = [q for q in questions if q.kind == "multi"]
    across = [q for q in multi if not set.intersection(*({s.document_id for s in group} for group in q.evidence))]
    assert len(across) >= 20
    assert [q.text for q in multi if len({group[0].start for group in q.evidence}) < 2] == []


def test_default_chunks_are_many_and_the_groups_of_a_question_lie_apart(
    documents: dict[str, Document], questions: list[Question]
) -> None:
    tokenizer = open_tokenizer("all-MiniLM-L6-v2")
    chunks: dict[str, list[Chunk]] = {
        d.id: chunking.split(d, IndexConfig(chunk_size=200), tokenizer) for d in documents.values()
    }
    assert 85 <= sum(map(len, chunks.values())) <= 110

    def of(document_id: str) -> list[tuple[str, int, int]]:
        return [(chunk.id, chunk.start, chunk.end) for chunk in chunks[document_id]]

    needed = [{ids[0] for ids in gold.gold_chunks(q.evidence, of)} for q in questions[60:90]]
    assert min(map(len, needed)) >= 2
    assert sum(len(ids) == 3 for ids in needed) >= 18
