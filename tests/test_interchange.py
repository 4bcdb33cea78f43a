"""Questions in and out of CSV and JSONL: every way to name evidence, every way to get it wrong, exact round trips."""

import io
import json
import zipfile

import pandas as pd
import pytest

from ragviz.core.document import Chunk
from ragviz.core.errors import InputError
from ragviz.questions.formats import input_file
from ragviz.questions.formats.input_file import from_bytes, from_paths
from ragviz.questions.interchange import read_questions
from ragviz.store.schema import question_from_json, question_to_json
from tests.builders import document, span

DESK = "The desk lends maps for 21 days.\nFines are one\neuro a day. Maps are red. Maps are green.\n"
GARAGE = "雪链放在车库里。钥匙挂在厨房。"


DOCUMENTS = {d.name: d for d in (document("rules/desk.md", DESK), document("garage.txt", GARAGE))}
DOCUMENTS |= {name: document(name, "An apple.") for name in ("one/a.md", "two/a.md")}
NAMES = {d.id: d.name for d in DOCUMENTS.values()}
IN_DESK, IN_GARAGE = DOCUMENTS["rules/desk.md"], DOCUMENTS["garage.txt"]
DESK_ID = IN_DESK.id


def one(**row):
    """The single question read from a JSONL row, or the reason why there is none."""
    read = read_questions(json.dumps({"question": "Q?", **row}).encode(), "q.jsonl", DOCUMENTS)
    return read.questions[0] if read.questions else read.left_out[1]


def test_grades_of_judgements_come_in():
    members = [
        {"document": "desk", "quote": "maps for 21 days", "grade": 3},
        {"document": "desk", "quote": "Maps are red", "relevance": "2"},
        {"document": "desk", "quote": "Maps are green"},
    ]
    question = one(evidence=members)
    assert [span.grade for (span,) in question.evidence] == [3, 2, 1]
    assert question_from_json(question_to_json(question)) == question
    assert "grade" in one(evidence=[members[0] | {"grade": 0}])
    assert one(document="desk", quote="Maps are red", grade=2).evidence[0][0].grade == 2


LENT = span(IN_DESK, "maps for 21 days")
CHUNK_ID = Chunk.make_id(DESK_ID, LENT.start, LENT.end)


@pytest.mark.parametrize(
    "row",
    [
        {"document": "rules/desk.md", "start": LENT.start, "end": LENT.end},
        {"document": "rules/desk.md", "start": str(LENT.start), "end": str(LENT.end)},
        {"document": "rules/desk.md", "quote": "maps for 21 days"},
        {"document": "rules/desk.md", "quote": "maps for 21 days", "start": 1, "end": 5},  # offsets of another parse
        {"document": DESK_ID, "quote": "maps for 21 days"},
        {"document": "desk.md", "quote": "maps for 21 days"},
        {"document": "desk", "quote": "maps for 21 days"},
        {"document": "Desk.MD", "quote": "maps for 21 days"},
        {"document": "rules\\desk.md", "quote": "maps for 21 days"},
        {"corpus_id": "desk", "quote": "maps for 21 days"},
        {"Document ": "desk", "QUOTE": "maps for 21 days"},
        {"chunk_id": CHUNK_ID},
        {"evidence": [{"document": "desk", "quote": "maps for 21 days"}]},
        {"evidence": {"document": "desk", "quote": "maps for 21 days"}},
        {"evidence": json.dumps([[{"chunk_id": CHUNK_ID}]])},
        {"spans": str([{"document_id": "desk", "start": LENT.start, "end": LENT.end, "text": LENT.text}])},
        {"corpus_id": "desk", "references": [{"content": LENT.text, "start_index": LENT.start, "end_index": LENT.end}]},
    ],
)
def test_every_way_to_name_evidence(row):
    question = one(**row)
    assert not isinstance(question, str), question
    assert question.evidence == ((LENT,),)
    assert (question.kind, question.generator, question.status) == ("single", "import", "accepted")
    assert question.source_chunks == ((CHUNK_ID,) if "chunk_id" in row else ())


@pytest.mark.parametrize("column", ["quote", "context", "passage"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_triple_of_question_answer_and_passage_is_looked_up_in_the_documents(column, delimiter):
    """Word for word, in other line breaks too; a passage that is nowhere leaves its question, and that is told."""
    rows = [
        f"question,answer,{column}",
        'Fines?,A euro.,"Fines are one euro a day."',
        "钥匙在哪里？,厨房,钥匙挂在厨房。",
        "Who?,Ada.,Ada is the clerk.",
    ]
    data = "\n".join(rows).replace(",", delimiter).encode()
    read = read_questions(data, "q.csv", DOCUMENTS)
    assert [question.evidence for question in read.questions] == [
        ((span(IN_DESK, "Fines are one\neuro a day."),),), ((span(IN_GARAGE, "钥匙挂在厨房。"),),), (),
    ]  # fmt: skip
    assert [question.kind for question in read.questions] == ["single", "single", "reference"]
    assert (read.left_out, [problem.row for problem in read.problems]) == ({}, [4])
    assert f"has a {column} that stands in no document (“Ada is the clerk.”)" in read.problems[0].reason
    assert not any("not kept" in note for note in read.notes)
    more = DOCUMENTS | {"clerk.md": document("clerk.md", "Ada is the clerk.")}
    again = read_questions(data, "q.csv", more).questions[2]
    assert (again.kind, again.id) == ("single", read.questions[2].id)  # importing again adds no second question


@pytest.mark.parametrize("form", ["{}, {}", "{};{}", "{} {}", '["{}", "{}"]', "['{}', '{}']", "list"])
def test_several_chunks_are_named_in_one_cell(form):
    """All are needed, with the document beside them or without."""
    red = span(IN_DESK, "Maps are red")
    ids = [CHUNK_ID, Chunk.make_id(DESK_ID, red.start, red.end)]
    question = one(
        ground_truth_answer="a", document="rules/desk.md", chunk_id=ids if form == "list" else form.format(*ids)
    )
    assert (question.evidence, question.source_chunks) == (((LENT,), (red,)), tuple(ids))


@pytest.mark.parametrize(
    "mark",
    [
        {"unanswerable": True},
        {"Is_Impossible": "1.0"},
        {"answerable": "false"},
        {"kind": "Unanswerable"},
        {"question_type": "unanswerable"},
        {"answer": "无法推断。"},
        {"answer": "<Unanswerable>"},
        {"answer": "N/A"},
    ],
)
def test_an_explicit_mark_makes_a_question_unanswerable(mark):
    question = one(**{"answer": "They are not lent.", "document": "desk"} | mark)
    assert (question.kind, question.unanswerable, question.evidence) == ("unanswerable", True, ())


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"question": " "}, "has no question"),
        ({"document": "desk", "quote": "Maps are"}, "occurs 2 times in 'rules/desk.md' (at 59, 73)"),
        ({"document": "desk", "quote": "maps for 22 days"}, "is not in 'rules/desk.md'"),
        ({"document": "desk", "start": 5, "end": 500}, "names 5 to 500: 'rules/desk.md' has characters 0 to 89"),
        ({"document": "desk", "start": -3, "end": 9}, "names -3 to 9"),
        ({"document": "desk", "start": "x", "end": 9}, "names a place that cannot be used: start ('x')"),
        ({"document": "desk", "start": 3}, "no place in it"),
        ({"document": "desk"}, "no place in it"),
        ({"document": "cellar.md", "quote": "a"}, "'cellar.md', which is not in the corpus"),
        ({"quote": "globes"}, "has a quote that stands in no document (“globes”), and no answer"),
        ({"chunk_id": "c-17"}, "'c-17', which is not an id of ragviz"),
        ({"chunk_id": Chunk.make_id("0" * 16, 1, 2)}, "not in the corpus"),
        ({"evidence": "[{"}, "is not JSON"),
        ({"unanswerable": "perhaps"}, "has 'perhaps' as unanswerable: write true or false"),
        ({"unanswerable": "true", "document": "desk", "quote": "Maps are red"}, "unanswerable and names evidence"),
        ({"evidence": ["maps"]}, "not a list of objects"),
        ({"status": "perhaps"}, "status 'perhaps'"),
        ({"id": "x" * 65}, "id of 65 characters"),
        ({"answer": [["a"]]}, "has an answer that is not text"),
        ({"answer": "red", "reference": "green"}, "two reference answers, answer “red” and reference “green”"),
        ({"document": "a.md", "quote": "a"}, "may be 'one/a.md', 'two/a.md': give its full name"),
        ({"history": "no list"}, "has something as its history that is not JSON"),
        ({"parts": {"a": 1}}, "has something as its parts that is not a list"),
    ],
)
def test_rows_that_are_refused_say_why(row, reason):
    assert reason in str(one(**row))


def test_good_rows_are_kept_and_bad_ones_numbered_as_a_spreadsheet_does():
    rows = ["question,answer,document,quote", 'A?,"two\nlines",desk,Maps are red.', "", "B?,,desk,blue", "C?,x,,"]
    text = "\r\n".join([*rows, rows[1], ""])
    read = read_questions(text.encode(), "q.csv", DOCUMENTS)
    assert [q.text for q in read.questions] == ["A?", "C?"]
    assert read.questions[0].answer == "two\nlines"
    assert set(read.left_out) == {4, 6}
    assert read.left_out[6] == "the same question as row 2: give it another id, or remove one"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encodings_and_delimiters(encoding, delimiter):
    rows = ["question,answer,document,quote", "雪链放在哪里？,车库里,garage.txt,雪链放在车库里。"] + [
        f"钥匙挂在什么地方（第{i}次询问）？,厨房,garage.txt,钥匙挂在厨房。" for i in range(9)
    ]
    data = "\r\n".join(rows).replace(",", delimiter).encode(encoding)
    read = read_questions(data, "问题.csv", DOCUMENTS)
    assert not read.left_out
    assert read.questions[0].evidence == ((span(IN_GARAGE, "雪链放在车库里。"),),)
    assert read.questions[0].language == "zh"


HEAD = "question,answer,document,quote\n"
GOOD = "What is lent?,maps,rules/desk.md,maps for 21 days\n"


def test_a_quotation_mark_that_is_not_closed_swallows_no_other_row():
    """Row 4 opens one; the next marks stand far below, in a cell over two lines that is read whole."""
    rows = [GOOD.replace("What", f"What {n}") for n in range(30)]
    rows[2] = '"What is lent,maps,rules/desk.md,maps for 21 days\n'
    rows[20] = '"Which maps\nare red?",red,rules/desk.md,Maps are red\n'
    rows[25] = 'What is a 5" map?,red,rules/desk.md,Maps are red\n'
    read = read_questions((HEAD + "".join(rows)).encode(), "q.csv", DOCUMENTS)
    assert len(read.questions) == 29
    assert list(read.left_out) == [4]
    assert 'quotation mark that is not closed: “"What is lent,maps' in read.left_out[4]
    assert {"Which maps\nare red?", 'What is a 5" map?'} <= {question.text for question in read.questions}


@pytest.mark.parametrize("delimiter", [";", "|"])
def test_the_delimiter_may_be_named_in_the_first_line(delimiter):
    text = f"sep={delimiter}\n{HEAD}{GOOD}".replace(",", delimiter)
    assert read_questions(text.encode(), "q.csv", DOCUMENTS).questions[0].answer == "maps"


@pytest.mark.parametrize("said", ["nan", "NaN", "None", "null", ""])
def test_what_programs_write_for_nothing_is_no_reference(said):
    assert one(answer=said, document="desk", quote="Maps are red").answer == ""
    assert "neither a reference answer nor evidence" in one(answer=said)


@pytest.mark.parametrize("said", [["red", "crimson"], "['red', 'crimson']"])
def test_of_several_reference_answers_the_first_is_kept(said):
    read = read_questions(json.dumps({"question": "Q?", "answer": said}).encode(), "q.jsonl", DOCUMENTS)
    assert [question.answer for question in read.questions] == ["red"]
    assert "1 question has several reference answers: the first was kept." in read.notes
    assert one(answer="[1, 2]").answer == "[1, 2]"
    assert one(ground_truth="", expected_answer="red", answer="what a system said").answer == "red"


def test_answers_beside_what_a_system_retrieved_are_not_taken_as_references():
    with pytest.raises(InputError, match=r"'answer' beside 'contexts'.*'reference_answer'"):
        read_questions(b"question,answer,contexts\nA?,B,C\n", "log.csv", DOCUMENTS)
    read = read_questions(b"question,answer,contexts,ground_truth\nA?,B,C,D\n", "log.csv", DOCUMENTS)
    assert read.questions[0].answer == "D"


@pytest.mark.parametrize("said", ["I don't know.", "The answer is not present in the context", "文中没有提到。"])
def test_a_reference_that_abstains_makes_a_question_unanswerable(said):
    assert one(answer=said).kind == "unanswerable"
    assert "names evidence" in one(answer=said, document="desk", quote="Maps are red")
    assert one(answer="No, maps are green.").kind == "reference"


def test_excel_and_parquet_are_read_by_the_rows_of_their_table(tmp_path):
    rows = [("Which?", "red", "desk", "Maps are red"), (None, "x", "desk", None)]
    frame = pd.DataFrame(rows, columns=HEAD.strip().split(","))
    path = tmp_path / "q.parquet"
    frame.to_parquet(path)
    for [file] in (from_paths([("q.parquet", path)]), from_bytes("q.parquet", path.read_bytes())):
        read = read_questions(file.data(), file.name, DOCUMENTS)
        [question] = read.questions
        assert (question.text, question.answer, question.evidence) == (
            "Which?",
            "red",
            ((span(IN_DESK, "Maps are red"),),),
        )
        assert read.left_out == {3: "has no question"}
    with pytest.raises(InputError, match=r"'q\.xlsx': The file is damaged"):
        from_bytes("q.xlsx", b"PK\3\4 no workbook")


def test_what_a_small_zip_holds_is_not_read_by_a_page_or_into_memory_as_a_whole(monkeypatch):
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.csv", b" " * 30_000_000)
    data = packed.getvalue()
    assert len(data) < 100_000
    assert (input_file.unpacked(data), input_file.unpacked(b"PK no archive")) == (30_000_000, 13)
    monkeypatch.setattr(input_file, "MOST_WHOLE", 2**20)
    [file] = from_bytes("q.zip", data)
    with pytest.raises(InputError, match="has more than 1 MB"):
        file.text()
