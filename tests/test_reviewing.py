"""Reviews by people: what the command line writes and says."""

import json

from ragviz.core.question import Question
from ragviz.questions import authoring


def test_the_command_line_reviews_compares_and_takes_back(workspace, command_line, monkeypatch):
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
    for words in (("versions", "asked"), ("diff", "asked", 1)):
        assert command_line("questions", *words)[0] == 0


def test_a_note_survives_acceptance_and_the_reason_of_a_rejection_does_not():
    note = "“tide” was swapped for “wind”"
    noted = Question("u", "How high is the wind?", "", (), "extractive", reason=note)
    assert authoring.with_status(noted, "accepted").reason == note
    rejected = authoring.with_status(noted, "rejected", "rejected by hand")
    assert rejected.reason == "rejected by hand"
    assert authoring.with_status(rejected, "accepted").reason == ""
