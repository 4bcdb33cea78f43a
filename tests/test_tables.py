"""Everything a run holds as tables: rows by hand, and the same values in CSV, JSON Lines and Parquet."""

import csv
import io
import json
import zipfile
from collections import Counter

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from ragviz.core.call import Call
from ragviz.core.document import Chunk
from ragviz.core.errors import InputError
from ragviz.core.question import Question
from ragviz.core.ranking import Hit, Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.core.score import Score
from ragviz.core.verdict import Bank, BankItem, Claim, ClaimVerdict, EvaluatedAnswer, Matrix
from ragviz.documents import tables_in
from ragviz.runs import exports, tables
from ragviz.runs.cases import Case
from ragviz.runs.tables import TABLES, Contents

KEY = "sk-a-secret-of-the-endpoint"
FIRST, SECOND, OTHER = Chunk.make_id("d1", 0, 20), Chunk.make_id("d2", 5, 9), Chunk.make_id("d1", 30, 40)
YES, NO, JOINTLY = ClaimVerdict("supported", 0), ClaimVerdict("absent"), ClaimVerdict("together", 2)


def call(step, cost=0.25, raw="{}"):
    return Call(step, "judge-1", "3", 120, 30, 1.5, cost, cached=False, raw=raw)


ASKED = Question("q1", "=1+1，谁负责？", "王芳, since 1931", (), "hand", "accepted", type="fact")
BANK = Bank(
    (BankItem("王芳", "谁？", "王芳"), BankItem("1931", "Since when?", "1931"), BankItem("", "Why?", None)),
    "zh",
    "judge-1",
    calls=(call("bank"),),
)
EVALUATED = EvaluatedAnswer(
    ASKED,
    Recording(
        "q1",
        answer="@王芳 [1]",
        status="answered",
        origin="model",
        contexts=(
            Context(chunk_id=FIRST),
            Context(chunk_id=OTHER),
        ),
        cut=(OTHER,),
        citations=(1,),
        wrong_citations=(7,),
        version="4",
        usage=call("answer"),
    ),
    matrix=Matrix(
        (FIRST, OTHER),
        (Claim("王芳负责", 0), Claim("-5 degrees")),
        (Claim("since 1931", 1),),
        ((YES, NO), (JOINTLY, JOINTLY)),
        None,
        (YES, NO),
        None,
        (True, False),
    ),
    bank=BANK,
    bank_answers=("王芳", None, None),
    calls=(call("claims", None, f'{{"key": "{KEY}"}}'), call("bank")),
    equivalence_reason="The same person.",
)
SILENT = Question("q2", "Why?", "王芳, since 1931", (), "hand", "accepted", style="keywords")
REFUSED = EvaluatedAnswer(SILENT, Recording("q2", answer="I don't know.", status="refused", origin="model"), bank=BANK)
SCORES = {
    "equivalence": Score("equivalence", 1.0),
    "faithfulness": Score("faithfulness", None, "judge_error", "no reply"),
}
CASES = [
    Case(
        ASKED, ("手册.md", "notes.md"), "found", "fine", 1, {"recall@1": 1.0, "mrr": 0.1 + 0.2},
        (Hit(FIRST, 1, -0.5), Hit(SECOND, 2, -0.75)), frozenset({FIRST}), {}, EVALUATED, SCORES, {},
    ),
    Case(
        SILENT, (), "missed", "not_retrieved", None, {"recall@1": 0.0, "mrr": 0.0},
        (), frozenset(), {}, REFUSED, {}, {},
    ),
]  # fmt: skip
RANKED = [
    Retrieved("q1", Ranking((FIRST, SECOND, OTHER), (-0.5, -0.75, -1.5)), ((FIRST,), (OTHER,))),
    Retrieved("q2", Ranking((SECOND,), (2.0,)), ()),
]
CONTENTS = Contents(CASES, [], {"d1": "手册.md", "d2": "notes.md"}, keys=[KEY], rankings=RANKED)


def dicts(name, contents=CONTENTS):
    columns = [column.name for column in TABLES[name].columns]
    return [dict(zip(columns, row, strict=True)) for row in tables.rows(name, contents)]


def test_a_row_a_rank_to_the_depth_of_the_run():
    assert tables.rows("rankings", CONTENTS) == [
        ("q1", 1, FIRST, -0.5, "手册.md", True),
        ("q1", 2, SECOND, -0.75, "notes.md", False),
        ("q1", 3, OTHER, -1.5, "手册.md", True),
        ("q2", 1, SECOND, 2.0, "notes.md", False),
    ]


def test_a_row_a_call_and_a_shared_one_once():
    """Two answers share a bank: its call is listed and counted once, so that the costs sum up to the run's usage."""
    rows = dicts("calls")
    assert Counter((row["question_id"], row["step"]) for row in rows) == {
        ("q1", "answer"): 1, ("q1", "claims"): 1, ("q1", "bank"): 1,
    }  # fmt: skip
    assert [row["cost"] for row in rows if row["step"] == "claims"] == [None]
    assert sum(row["prompt_tokens"] for row in rows) == 360


def test_no_key_in_any_table():
    for name in TABLES:
        for file_format in exports.FORMATS:
            rows = tables.rows(name, CONTENTS)
            assert KEY.encode() not in exports.written(name, rows, file_format)
    assert "sk-" not in next(row["reply"] for row in dicts("calls") if row["step"] == "claims")


def from_csv(data, columns):
    """The values of a CSV file by the kinds of its columns; an empty cell is None."""
    read = {"text": str, "integer": int, "number": float, "yes/no": {"True": True, "False": False}.__getitem__}
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    return [
        {c.name: read[c.kind](row[c.name].removeprefix("'")) if row[c.name] else None for c in columns} for row in rows
    ]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("contents", [CONTENTS, Contents([], [], {})], ids=["filled", "empty"])
def test_every_format_holds_the_same_values(name, contents):
    rows, columns = tables.rows(name, contents), TABLES[name].columns
    expected = dicts(name, contents)
    files = {file_format: exports.written(name, rows, file_format) for file_format in exports.FORMATS}
    assert [json.loads(line) for line in files["jsonl"].decode().splitlines()] == expected
    read = parquet.read_table(io.BytesIO(files["parquet"]))
    assert read.to_pylist() == expected
    assert read.column_names == [column.name for column in columns]
    assert [read.schema.field(c.name).metadata[b"description"].decode() for c in columns] == [
        column.explanation for column in columns
    ]
    assert from_csv(files["csv"], columns) == expected


def test_a_small_table_that_unpacks_to_gigabytes_is_refused():
    """A page of the dashboard reads it, for all who use it."""
    few = pyarrow.array(np.zeros(10_000_000, dtype=np.int32))
    long = pyarrow.DictionaryArray.from_arrays(few, pyarrow.array(["Is it open? " * 20]))
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"question": long, "answer": long}), file, compression="zstd")
    assert len(file.getvalue()) < 2**20
    with pytest.raises(InputError, match="would unpack"):
        tables_in.as_lines(file.getvalue(), "parquet", "q.parquet")
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<" + b" " * 100_000_000)
    with pytest.raises(InputError, match="would unpack"):
        tables_in.as_lines(file.getvalue(), "excel", "q.xlsx")
