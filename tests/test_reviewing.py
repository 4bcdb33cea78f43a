"""Reviews by people: comments, and what the command line writes and says."""

import json

import pytest

from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.questions import authoring


@pytest.fixture
def asked(workspace):
    store = workspace.store
    question_set = store.sets.add(store.corpora.add("notes").id, "asked")
    questions = [Question(f"q{n:02}", f"Question {n}?", str(n), (), "hand") for n in range(20)]
    questions.append(Question("gone", "Left out?", "", (), "hand", "rejected"))
    store.questions.put(question_set.id, questions)
    return store, question_set


def test_comments_are_kept_in_order(asked):
    store, question_set = asked
    store.comments.add(question_set.id, "q01", "Ann", "Which pump?")
    store.comments.add(question_set.id, "q02", "Bo", "北泵")
    store.comments.add(question_set.id, "q01", "Bo", "The north one.")
    assert [c.text for c in store.comments.all(question_set.id, "q01")] == ["Which pump?", "The north one."]
    assert [(c.author, c.question_id) for c in store.comments.all(question_set.id)] == [
        ("Ann", "q01"),
        ("Bo", "q02"),
        ("Bo", "q01"),
    ]
    store.comments.delete(question_set.id, store.comments.all(question_set.id, "q02")[0].id)
    assert len(store.comments.all(question_set.id)) == 2


def test_the_command_line_reviews_compares_and_takes_back(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    monkeypatch.setenv("RAGVIZ_PERSON", "Ann")
    store = workspace.store
    question_set = store.sets.add(store.corpora.add("notes").id, "asked")
    store.questions.put(question_set.id, [Question(f"q{n}", f"Question {n}?", "1", (), "hand") for n in range(3)])
    assert command_line("questions", "review", "asked", "q1", "--reject", "--reason", "unclear")[0] == 0
    monkeypatch.setenv("RAGVIZ_PERSON", "Bo")
    assert command_line("questions", "review", "asked", "q1", "--accept")[0] == 0
    monkeypatch.setenv("RAGVIZ_PERSON", "Ann")
    listed = json.loads(command_line("questions", "versions", "asked", "--json")[1])
    assert [(v["version"], v["author"]) for v in listed] == [(3, "Bo"), (2, "Ann"), (1, "")]
    [differing] = json.loads(command_line("questions", "diff", "asked", 1, 2, "--json")[1])
    assert (differing["id"], differing["what"]) == ("q1", ["status", "reason"])
    assert command_line("questions", "diff", "asked", 3, 1)[0] == 2
    assert command_line("questions", "undo", "asked")[0] == 0
    assert authoring.question_of(store, question_set, "q1").status == "rejected"
    assert command_line("questions", "restore", "asked", 1)[0] == 0
    assert authoring.question_of(store, question_set, "q1").status == "proposed"
    command_line("questions", "comment", "asked", "q2", "Which pump?")
    [comment] = json.loads(command_line("questions", "comment", "asked", "q2", "--json")[1])
    assert (comment["author"], comment["text"]) == ("Ann", "Which pump?")
    for words in (("versions", "asked"), ("comment", "asked", "q2"), ("diff", "asked", 1)):
        assert command_line("questions", *words)[0] == 0


def test_the_command_line_shows_what_each_changed_field_was_and_is(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    store = workspace.store
    corpus = store.corpora.add("notes")
    corpora.add_file(workspace, corpus, "a.md", b"The mast is 312 metres high. The old mast was 90 metres high.")
    add = ("questions", "add", "asked", "--question", "How high is it?", "--corpus", "notes", "--document", "a.md")
    command_line(*add, "--quote", "The old mast was 90 metres high.", "--answer", "90 metres")
    [added] = store.questions.all(store.sets.get("asked").id)
    edit = ("questions", "edit", "asked", added.id, "--document", "a.md", "--answer", "312 metres")
    assert command_line(*edit, "--quote", "The mast is 312 metres high.")[0] == 0
    command_line("questions", "review", "asked", added.id, "--reject", "--reason", "unclear")
    [differing] = json.loads(command_line("questions", "diff", "asked", 1, "--json")[1])
    old = {"document": "a.md", "quote": "The old mast was 90 metres high.", "start": 29, "end": 61, "stale": False}
    new = {"document": "a.md", "quote": "The mast is 312 metres high.", "start": 0, "end": 28, "stale": False}
    assert differing["changes"] == [
        {"field": "answer", "before": "90 metres", "after": "312 metres"},
        {"field": "status", "before": "accepted", "after": "rejected"},
        {"field": "reason", "before": "", "after": "unclear"},
        {"field": "evidence", "before": [[old]], "after": [[new]]},
    ]
    drawn = command_line("questions", "diff", "asked", 1)[1]
    assert "“The old mast was 90 metres high.” (a.md, from 29)" in drawn
    assert "“The mast is 312 metres high.” (a.md, from 0)" in drawn
    [made] = json.loads(command_line("questions", "diff", "asked", 0, "--json")[1])
    assert (made["what"], made["changes"], made["after"]) == (["added"], [], "How high is it?")
    assert "added" in command_line("questions", "diff", "asked", 0)[1]


def test_an_id_that_begins_with_a_dash_is_an_id(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    store, name = workspace.store, "-1906228607693678047"
    question_set = store.sets.add(store.corpora.add("notes").id, "asked")
    store.questions.put(
        question_set.id, [Question(each, "How?", "1", (), "hand") for each in (name, "-a-1", "--x", "q")]
    )

    def present():
        return {each.id: each for each in store.questions.all(question_set.id)}

    assert command_line("questions", "review", "asked", name, "--accept")[0] == 0
    assert present()[name].status == "accepted"
    assert command_line("questions", "review", "asked", name, "-a-1", "q", "--reject", "--reason", "no")[0] == 0
    assert {i: q.status for i, q in present().items()} == {name: "rejected", "-a-1": "rejected", "q": "rejected"} | {
        "--x": "proposed"
    }
    assert command_line("questions", "edit", "asked", "--answer", "-2", name)[0] == 0
    assert present()[name].answer == "-2"
    assert command_line("questions", "comment", "asked", name, "- why?")[0] == 0
    code, _, said = command_line("inspect", "none", name)
    assert (code, "There is no run called 'none'" in said) == (2, True)
    code, _, said = command_line("questions", "review", "asked", "--x", "--acept", name)
    assert (code, "No such option: --x" in said, "Write -- before" in said) == (2, True, True)
    assert command_line("questions", "review", "--accept", "asked", "--", "--x", name)[0] == 0
    assert {present()["--x"].status, present()[name].status} == {"accepted"}
    code, _, said = command_line("questions", "edit", "asked", "q", "--anwser", "2")
    assert (code, "No such option" in said) == (2, True)


def test_what_a_command_leaves_out_or_leaves_as_it_is_is_said(workspace, command_line, monkeypatch, tmp_path):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    note, rows, out = tmp_path / "a.md", tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    note.write_text("The mast is 312 metres high.")
    assert command_line("corpus", "add", "notes", note)[0] == 0
    note.write_text("The mast is 313 metres high.")
    code, drawn, _ = command_line("corpus", "add", "notes", note)
    assert (code, "give --replace to replace it" in drawn) == (1, True)
    rows.write_text('{"question": "How high is it?", "answer": "1", "type": "zzz"}\n')
    code, _, said = command_line("questions", "import", "notes", rows, "--name", "asked")
    assert (code, "row 1: was imported without its type 'zzz'" in said) == (0, True)
    code, _, said = command_line("questions", "export", "asked", out)
    assert (code, "Comments and versions of the set are not in the file." in said) == (0, True)


def test_every_edit_on_the_command_line_says_who(workspace, command_line, monkeypatch, tmp_path):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    monkeypatch.setenv("RAGVIZ_PERSON", "Ann")
    store = workspace.store
    corpus = store.corpora.add("notes")
    corpora.add_file(workspace, corpus, "a.md", b"The mast of the north station is 312 metres high.")
    add = ("questions", "add", "asked", "--question", "How high is the mast?", "--answer", "312 metres")
    assert command_line(*add, "--corpus", "notes")[0] == 0
    [added] = store.questions.all(store.sets.get("asked").id)
    assert command_line("questions", "review", "asked", added.id, "--reject", "--reason", "unclear")[0] == 0
    assert command_line("questions", "review", "asked", added.id, "--accept")[0] == 0
    assert command_line("questions", "find-evidence", "asked", "--accept", "all")[0] == 0
    assert command_line("questions", "add", "asked", "--question", "Who paints it?")[0] == 0
    log = tmp_path / "log.txt"
    log.write_text("How high is the mast?\n" * 5)
    assert command_line("questions", "asked", "asked", log, "--apply-weights")[0] == 0
    said = [(v.author, v.action) for v in store.versions.all(store.sets.get("asked").id)]
    assert said[::-1] == [
        ("Ann", "added a question"),
        ("Ann", "rejected a question"),
        ("Ann", "accepted a question"),
        ("Ann", "found evidence"),
        ("Ann", "added a question"),
        ("Ann", "weighted by what people ask"),
    ]


def test_a_note_survives_acceptance_and_the_reason_of_a_rejection_does_not():
    note = "“tide” was swapped for “wind”"
    noted = Question("u", "How high is the wind?", "", (), "extractive", reason=note)
    assert authoring.with_status(noted, "accepted").reason == note
    rejected = authoring.with_status(noted, "rejected", "rejected by hand")
    assert rejected.reason == "rejected by hand"
    assert authoring.with_status(rejected, "accepted").reason == ""
