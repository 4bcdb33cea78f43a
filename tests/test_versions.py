"""Versions of a question set: what each replaced, what differs between two, what taking one back restores."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ragviz.core.errors import UsageError
from ragviz.core.person import Person
from ragviz.core.question import Question, Split
from ragviz.core.question_set import Edit
from ragviz.questions import authoring, versions
from ragviz.store import schema
from ragviz.workspace import Workspace


def question(name, text="How high is it?", **values):
    return Question(name, text, "3 m", (), "hand", "accepted", **values)


@pytest.fixture
def question_set(workspace: Workspace):
    corpus = workspace.store.corpora.add("notes")
    return workspace.store.sets.add(corpus.id, "asked")


def now(workspace, question_set):
    return {q.id: q for q in workspace.store.questions.all(question_set.id)}


def latest(workspace, question_set):
    return workspace.store.sets.get(question_set.id)


def test_every_edit_is_a_version_that_says_who_and_what(workspace, question_set):
    store = workspace.store
    assert question_set.version == 0
    store.questions.put(question_set.id, [question("a"), question("b")], edit=Edit("Ann", "imported"))
    shown = now(workspace, question_set)["a"]
    authoring.save(store, question_set, replace(shown, text="How tall is it?"), schema.version_of(shown))
    store.questions.delete(question_set.id, ["b"], Edit("Bo", "deleted"))
    listed = store.versions.all(question_set.id)
    assert [(v.number, v.author, v.action, v.questions) for v in listed] == [
        (3, "Bo", "deleted", 1),
        (2, "", "edited", 1),
        (1, "Ann", "imported", 2),
    ]
    assert latest(workspace, question_set).version == 3
    assert [(v.number, q and q.text) for v, q in store.versions.of_question(question_set.id, "a")] == [
        (2, "How high is it?"),
        (1, None),
    ]


def test_two_versions_are_compared_question_by_question(workspace, question_set):
    store = workspace.store
    store.questions.put(question_set.id, [question("a"), question("b"), question("c")])  # 1
    store.questions.put(question_set.id, [question("a", "Second?")])  # 2
    store.questions.put(question_set.id, [question("a", "Third?", type="fact"), question("d")])  # 3
    store.questions.delete(question_set.id, ["b"])  # 4
    store.questions.put(question_set.id, [question("c", "Other?")])  # 5
    store.questions.put(question_set.id, [question("c")])  # 6: as before
    found = versions.differences(store, latest(workspace, question_set), 1)
    assert [(d.question.id, d.what) for d in found] == [
        ("a", ("question", "type")),
        ("b", ("removed",)),
        ("d", ("added",)),
    ]
    older = versions.differences(store, latest(workspace, question_set), 1, 2)
    assert [(d.change.before.text, d.change.after.text) for d in older] == [("How high is it?", "Second?")]
    assert versions.differences(store, latest(workspace, question_set), 4, 6) == []
    for wrong in ((7, None), (3, 2), (-1, 2), (0, 9)):
        with pytest.raises(UsageError, match="versions 0 to 6"):
            versions.differences(store, latest(workspace, question_set), *wrong)


def test_edits_are_taken_back_one_after_the_other(workspace, question_set):
    workspace.person, store = Person("Ann"), workspace.store
    store.questions.put(question_set.id, [question("a"), question("b")])  # 1
    store.questions.put(question_set.id, [question("a", "Second?"), question("c")])  # 2
    store.questions.delete(question_set.id, ["b"])  # 3
    assert versions.undo(workspace, latest(workspace, question_set)).number == 3
    assert sorted(now(workspace, question_set)) == ["a", "b", "c"]
    assert versions.undo(workspace, latest(workspace, question_set)).number == 2
    assert {i: q.text for i, q in now(workspace, question_set).items()} == dict.fromkeys("ab", "How high is it?")
    listed = store.versions.all(question_set.id)
    assert [(v.number, v.undoes) for v in listed[:2]] == [(5, 2), (4, 3)]
    assert listed[1].author == "Ann"
    assert versions.undo(workspace, latest(workspace, question_set)).number == 1
    assert now(workspace, question_set) == {}
    with pytest.raises(UsageError, match="no edit of 'asked'"):
        versions.undo(workspace, latest(workspace, question_set))


def test_questions_that_come_back_are_on_the_side_that_they_had(workspace, question_set):
    store = workspace.store
    store.questions.put(question_set.id, [question("a"), question("b")])  # 1
    store.questions.put(question_set.id, [question("c", text='A "side": ["test", "0"]}')])  # 2
    split = Split("stratified", 0.5, 0)
    sides = {"a": "validation", "b": "test", "c": "test"}
    store.sets.put_split(question_set.id, split, sides)
    store.questions.delete(question_set.id, ["c"])  # 3
    versions.undo(workspace, latest(workspace, question_set))  # 4
    assert {i: q.split for i, q in now(workspace, question_set).items()} == {
        "a": "validation",
        "b": "test",
        "c": "test",
    }
    assert versions.differences(store, latest(workspace, question_set), 2) == []  # a side is not part of a version
    store.questions.delete(question_set.id, ["c"])  # 5
    store.sets.put_split(question_set.id, split, {"a": "test", "b": "validation"})
    store.questions.put(question_set.id, [question("c")])  # 6: new, not taken back
    assert now(workspace, question_set)["c"].split == ""
    store.questions.delete(question_set.id, ["b"])  # 7
    store.sets.put_split(question_set.id, Split("stratified", 0.5, 1), {"a": "test", "c": "validation"})
    versions.undo(workspace, latest(workspace, question_set))
    assert {i: q.split for i, q in now(workspace, question_set).items()} == {"a": "test", "b": "", "c": "validation"}
    store.questions.delete(question_set.id, ["c"])
    store.sets.put_split(question_set.id, None, {})
    versions.undo(workspace, latest(workspace, question_set))
    assert {q.split for q in now(workspace, question_set).values()} == {""}


@hypothesis_settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), max_size=12))
def test_any_version_can_be_rebuilt(tmp_path_factory, edits):
    from ragviz.core.settings import Settings

    workspace = Workspace(Settings(_env_file=None, home=tmp_path_factory.mktemp("home")))
    store = workspace.store
    question_set = store.sets.add(store.corpora.add("notes").id, "asked")
    states = [{}]
    for name, turn in edits:
        if turn:
            store.questions.put(question_set.id, [question(name, f"Text {turn}?")])
        else:
            store.questions.delete(question_set.id, [name])
        state = now(workspace, question_set)
        if state != states[-1]:
            states.append(state)
    last = latest(workspace, question_set)
    assert last.version == len(states) - 1
    for older, before in enumerate(states):
        for newer in range(older, len(states)):
            changes = store.versions.changes(question_set.id, older, newer)
            rebuilt = dict(before)
            for change in changes:
                assert change.before == before.get(change.question_id)
                rebuilt.pop(change.question_id, None)
                if change.after is not None:
                    rebuilt[change.question_id] = change.after
            assert rebuilt == states[newer]


def test_the_command_line_reviews_and_takes_back(workspace, command_line, monkeypatch):
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
    assert command_line("questions", "undo", "asked")[0] == 0
    assert authoring.question_of(store, question_set, "q1").status == "rejected"
    assert command_line("questions", "undo", "asked")[0] == 0
    assert authoring.question_of(store, question_set, "q1").status == "proposed"
    assert command_line("questions", "versions", "asked")[0] == 0


def test_a_note_survives_acceptance_and_the_reason_of_a_rejection_does_not():
    note = "“tide” was swapped for “wind”"
    noted = Question("u", "How high is the wind?", "", (), "extractive", reason=note)
    assert authoring.with_status(noted, "accepted").reason == note
    rejected = authoring.with_status(noted, "rejected", "rejected by hand")
    assert rejected.reason == "rejected by hand"
    assert authoring.with_status(rejected, "accepted").reason == ""
