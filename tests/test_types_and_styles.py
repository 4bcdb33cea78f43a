"""Results divided by type and style of question: on the pages, on the command line, in the library."""

import json
from dataclasses import replace

import pytest

from ragviz.core.configuration import RunConfig
from ragviz.library.project import Project
from ragviz.runs import running
from ragviz.workspace import open_workspace
from tests.test_pages import address, bare, built, home, show, words  # noqa: F401 - fixtures


@pytest.fixture
def typed_run(home):  # noqa: F811
    """A run of questions, the first of which is a number in keywords, the second a fact; of the rest nobody said it."""
    workspace = open_workspace()
    asked = workspace.store.sets.get("asked")
    first, second, *_ = [q for q in workspace.store.questions.all(asked.id) if q.asked]
    told = [replace(first, type="number", style="keywords"), replace(second, type="fact")]
    workspace.store.questions.put(asked.id, told)
    config = RunConfig(index="small", questions="asked", retriever="bm25", depth=20)
    return running.run(workspace, "typed", config), first.id, second.id


def test_a_part_of_the_questions_lists_them(typed_run):
    _, first, _ = typed_run
    app = show("results", run="typed", by="type")
    table = next(each.value for each in app.dataframe if "Type" in each.value and "Questions" in each.value)
    assert table["Type"].tolist() == ["fact", "number or date"]
    assert table["Questions"].tolist() == [1, 1]
    app = show("results", run="typed", type="number")
    listed = next(each.value for each in app.dataframe if "Id" in each.value)
    assert listed["Id"].tolist() == [first]
    assert "type: number or date" in [each.label for each in app.button]
    app = show("results", run="typed", style="keywords", type="fact")
    assert "No question passes these filters." in words(app)
    assert address(app)["type"] == "fact"


def test_on_the_command_line_and_in_the_library(typed_run, command_line):
    _, first, _ = typed_run
    code, out, _ = command_line("results", "typed", "--json")
    body = json.loads(out)
    assert [(row["type"], row["questions"]) for row in body["by_type"]] == [("fact", 1), ("number", 1)]
    assert [(row["style"], row["questions"]) for row in body["by_style"]] == [("keywords", 1)]
    code, out, _ = command_line("results", "typed", "--by", "type")
    assert (code, "number" in out) == (0, True)
    code, out, _ = command_line("runs", "questions", "typed", "--type", "number", "--style", "keywords", "--json")
    assert [row["question_id"] for row in json.loads(out)] == [first]
    for filters, expected in ((["--type", "number"], [first]), (["--style", "keywords"], [first])):
        code, out, _ = command_line("questions", "show", "asked", *filters, "--json")
        assert (code, [row["id"] for row in json.loads(out)]) == (0, expected)
    shown = json.loads(command_line("questions", "show", "asked", "--type", "none", "--style", "none", "--json")[1])
    assert shown
    assert all((row["type"], row["style"]) == ("", "") for row in shown)
    code, _, err = command_line("questions", "show", "asked", "--type", "poem")
    assert (code, "There is no type 'poem'" in err) == (2, True)
    code, _, err = command_line("runs", "questions", "typed", "--type", "poem")
    assert (code, "There is no type of question 'poem'" in err) == (2, True)
    project = Project(open_workspace())
    for table in (project.open_run("typed").to_pandas(), project.open_questions("asked").to_pandas()):
        assert table.loc[first, ["type", "style"]].tolist() == ["number", "keywords"]
