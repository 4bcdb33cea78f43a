"""The tab RAGQuestEval of the results: rows and counts by hand, filters, the link to a case, the empty state."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragviz.core.configuration import RunConfig
from ragviz.core.recording import Recording
from ragviz.core.verdict import Bank, BankItem, EvaluatedAnswer
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.questeval import Row
from ragviz.runs import running
from ragviz.ui.questeval_tab import counts_by, frame_of
from ragviz.workspace import open_workspace
from tests.test_inspect import home, judged, text_of  # noqa: F401 - fixtures among them
from tests.test_pages import address, bare, built, checked, show, words  # noqa: F401 - fixtures among them


def row(question_id, number, reference, generated, f1=None, documents=("a.md",), kind="single", variant="judged"):
    asked = f"Asked {question_id}.{number}?"
    return Row(
        variant,
        question_id,
        f"Question {question_id}?",
        kind,
        documents,
        number,
        "",
        asked,
        reference,
        generated,
        f1,
        "m",
    )


ROWS = [
    row("q1", 1, "1931", "1931", 1.0),
    row("q1", 2, "Paris", None),
    row("q1", 3, None, "green"),
    row("q2", 1, "王芳", None, documents=("a.md", "阀门.txt"), kind="multi"),
    row("q2", 2, "=1+1", None, documents=("a.md", "阀门.txt"), kind="multi"),
    row("q3", 1, "red", "red and blue", 0.5, documents=()),
    row("q3", 2, None, None, documents=()),
]


def test_counts_by_kind_and_document():
    """A question with evidence in two documents counts in both, one without evidence in none."""
    columns = ["asked", "answerable", "both", "missed"]
    by_document = counts_by(frame_of(ROWS), "documents")
    assert {name: list(cells[columns]) for name, cells in by_document.iterrows()} == {
        "a.md": [5, 4, 1, 3],
        "阀门.txt": [2, 2, 0, 2],
    }
    by_kind = counts_by(frame_of(ROWS), "kind")
    assert list(by_kind.loc["single", columns]) == [5, 3, 2, 1]
    assert list(by_kind.loc["multi", columns]) == [2, 2, 0, 2]


# The page


def grid(app, column="RAGQuestEval question"):
    return next(table.value for table in app.dataframe if column in table.value.columns)


def tiles(app):
    return {metric.label: (metric.value, metric.delta) for metric in app.metric}


def test_tiles_tables_and_rows_of_a_run(home: Path) -> None:  # noqa: F811
    """The bank of q7, by hand: both answer one with F1 1, one is missed, one the reference does not answer."""
    app = show("results", run="told", tab="RAGQuestEval")
    shown = tiles(app)
    assert shown["Asked, |Q|"] == ("3", "of 1 answer")
    assert shown["Answerable, |A|"] == ("2", "unanswerable: 1 of 3")
    assert shown["Answered by both, |B|"] == ("1", "1 of 2 missed")
    assert "Questions are asked that the reference answers" in text_of(app)
    explained = {metric.label: metric.help for metric in app.metric}
    assert "recall is 0.33 and precision 0.33" in explained["Asked, |Q|"], "1 of 3, F1 of 1 over 3"
    assert shown["Recall\u00a0↑"][0] == "0.50"
    assert shown["Precision\u00a0↑"][0] == "1.00"
    rows = grid(app)
    assert list(rows["RAGQuestEval question"]) == ["Which colour?", "How many?", "Who?"]
    assert list(rows["Answerable by"]) == ["reference only", "both", "neither"]
    assert set(rows["Id"]) == {"q7"}
    by = grid(app, "Missed")
    assert list(by["Missed"]) == [1, 1], "its kind and its document"
    assert "The generated answers answer 1 of the 2 questions that their references answer" in text_of(app)


@pytest.fixture
def hostile(home: Path) -> None:  # noqa: F811
    """A run whose only bank nobody answers, and whose texts are markup."""
    workspace = open_workspace()
    run = running.run(workspace, "hostile", RunConfig("small", "told", "bm25", depth=20, answerer="extractive"))
    [stored] = [e for e in workspace.store.judgements.all(run.id).values() if e.question.id == "q7"]
    text = "<img src=x onerror=y> :red[r] $x$"
    bank = Bank((BankItem("", text, text),), "en", text)
    evaluated = EvaluatedAnswer(
        stored.question,
        Recording("q7", answer="Text.", status="answered", origin="model"),
        bank=bank,
        bank_answers=(text,),
    )
    scores = answer_metrics.scores(evaluated, ["questeval_recall", "questeval_precision"])
    workspace.store.judgements.put(run.id, [(evaluated, scores)])
