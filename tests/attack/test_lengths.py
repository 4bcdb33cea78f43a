"""What is longer than a database keeps or indexes: a sentence about it, and all else goes on."""

import pytest

from ragviz.core import question as questions
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.runs import imports
from ragviz.targets import ragchecker
from ragviz.workspace import Workspace
from tests.attack.test_deletions import server, workspace  # noqa: F401 - fixtures
from tests.test_imports import result, written

LONG = "".join(map(chr, range(0x4E00, 0x4E00 + 12_000)))
"""Nothing that a database can compress."""


def test_results_of_another_program(workspace: Workspace) -> None:  # noqa: F811
    contexts = [{"doc_id": LONG, "text": "Dogs."}, {"doc_id": "b", "text": "1998: Harlow."}]
    rows = written(result(query_id=LONG), result(query_id="8" * 65), result(retrieved_context=contexts))
    judged_run = ragchecker.read(rows, "out.json")
    assert [problem.partition("query_id has ")[2] for problem in judged_run.problems] == [
        "12,000 characters: at most 64 can be kept.",
        "65 characters: at most 64 can be kept.",
    ]
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "imported", judged_run)
    assert [question.id for question in workspace.store.rankings.questions(run.id)] == ["7"]
    assert [len(result.ranking.ids) for result in workspace.store.rankings.all(run.id)] == [2]


def test_names_of_files(workspace: Workspace, tmp_path) -> None:  # noqa: F811
    """They are cut to what can be indexed, and stay different."""
    corpus, path = workspace.store.corpora.add("c"), tmp_path / "a.txt"
    path.write_text("Dogs stay outside.")
    deep = ["/".join(LONG[place : place + 40] for place in range(start, start + 4000, 40)) for start in (0, 4000)]
    names = [f"{LONG}.txt", *(f"{folders}.txt" for folders in deep), "𠮷" * 5000, "b.txt"]
    outcomes = corpora.add_files(workspace, corpus, [(name, path) for name in names])
    assert [outcome.status for outcome in outcomes] == ["added"] * 5
    assert len({info.name for info in workspace.store.documents.all(corpus.id)}) == 5


def test_a_text_that_only_the_server_refuses_is_reported_as_too_long(workspace: Workspace) -> None:  # noqa: F811
    """Not as a server that is down."""
    corpus = workspace.store.corpora.add("c")
    question_set = workspace.store.sets.add(corpus.id, "s")
    question = Question(LONG[: questions.LONGEST_ID + 1], "Why?", "", (), "hand")
    if workspace.settings.database_url is None:
        pytest.skip("SQLite has no such limits")
    with pytest.raises(UsageError, match="cannot store something this long"):
        workspace.store.questions.put(question_set.id, [question])
