"""Reviews by people: random samples, verdicts and the status they give, agreement against statsmodels."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.questions import authoring, reviewing, versions
from ragviz.stats.agreement import agreement


@pytest.fixture
def asked(workspace):
    store = workspace.store
    question_set = store.create_question_set(store.create_corpus("notes").id, "asked")
    questions = [Question(f"q{n:02}", f"Question {n}?", str(n), (), "hand") for n in range(20)]
    questions.append(Question("gone", "Left out?", "", (), "hand", "rejected"))
    store.put_questions(question_set.id, questions)
    return store, question_set


def question_of(asked, question_id):
    store, question_set = asked
    return authoring.question_of(store, question_set, question_id)


def test_a_sample_is_drawn_by_chance_and_is_the_same_for_the_same_seed(asked):
    store, question_set = asked
    mine = reviewing.assign(store, question_set, " Ann ", 8, seed=3)
    theirs = reviewing.assign(store, question_set, "Bo", 8, seed=3)
    assert mine == theirs
    assert len(set(mine)) == 8
    assert "gone" not in mine
    more = reviewing.assign(store, question_set, "Ann", 20, seed=3)
    assert len(more) == 12
    assert not set(more) & set(mine)
    with pytest.raises(UsageError, match="assigned to Ann already"):
        reviewing.assign(store, question_set, "Ann", 1)
    for wrong in (("", 1), ("A\n", 0), ("x" * 201, 1)):
        with pytest.raises(UsageError):
            reviewing.assign(store, question_set, *wrong)


def test_a_verdict_of_the_only_reviewer_is_the_status_and_two_that_differ_are_not(asked):
    store, question_set = asked
    first, second, third, *_ = reviewing.assign(store, question_set, "Ann", 4)
    reviewing.decide(store, question_set, question_of(asked, first), "Ann", "accept")
    assert question_of(asked, first).status == "accepted"
    reviewing.decide(store, question_set, question_of(asked, second), "Ann", "reject")
    assert (question_of(asked, second).status, question_of(asked, second).reason) == ("rejected", "rejected by Ann")
    reviewing.decide(store, question_set, question_of(asked, first), "Bo", "reject")
    assert question_of(asked, first).status == "proposed"
    reviewing.decide(store, question_set, question_of(asked, third), "Bo", "unsure")
    reviews = store.reviews.all(question_set.id)
    assert reviewing.disagreed(reviews) == sorted([first, third])
    assert store.history.versions(question_set.id)[0].author == "Bo"
    loads = {load.reviewer: load for load in reviewing.workloads(reviews)}
    assert (loads["Ann"].assigned, loads["Ann"].waiting) == (4, 2)
    assert loads["Ann"].verdicts == {"accept": 1, "reject": 1}
    assert third in reviewing.waiting_for(reviews, "Ann")
    assert reviewing.unassign(store, question_set, "Ann") == 2
    assert reviewing.waiting_for(store.reviews.all(question_set.id), "Ann") == []


def test_a_verdict_on_what_was_changed_meanwhile_is_not_recorded(asked):
    store, question_set = asked
    shown = question_of(asked, "q00")
    store.put_questions(question_set.id, [authoring.changed(shown, text="Another?")])
    with pytest.raises(authoring.Conflict):
        reviewing.decide(store, question_set, shown, "Ann", "accept")
    assert store.reviews.all(question_set.id) == []


def test_a_verdict_is_taken_back_with_the_version_that_it_made(asked):
    store, question_set = asked

    def verdicts():
        found = store.reviews.all(question_set.id)
        return {each.reviewer: each.verdict for each in found if each.question_id == "q00"}

    def present():
        return store.question_set(question_set.id)

    reviewing.decide(store, question_set, question_of(asked, "q00"), "Ann", "accept")  # version 2
    reviewing.decide(store, question_set, question_of(asked, "q00"), "bob", "reject")  # version 3
    kept = store.reviews.all(question_set.id)
    assert versions.undo(store, present()).number == 3  # version 4
    assert (question_of(asked, "q00").status, verdicts()) == ("accepted", {"Ann": "accept"})
    versions.restore(store, present(), 3)
    assert (question_of(asked, "q00").status, store.reviews.all(question_set.id)) == ("proposed", kept)
    versions.restore(store, present(), 1)
    assert (question_of(asked, "q00").status, verdicts()) == ("proposed", {})


def test_an_assignment_and_a_verdict_given_since_stay_when_a_version_is_taken_back(asked):
    store, question_set = asked
    [first] = reviewing.assign(store, question_set, "Ann", 1)
    [assigned] = store.reviews.all(question_set.id)
    reviewing.decide(store, question_set, question_of(asked, first), "Ann", "accept")
    reviewing.decide(store, question_set, question_of(asked, first), "Ann", "reject")
    versions.undo(store, store.question_set(question_set.id))
    assert [each.verdict for each in store.reviews.all(question_set.id)] == ["accept"]
    versions.undo(store, store.question_set(question_set.id))
    assert store.reviews.all(question_set.id) == [assigned]
    reviewing.decide(store, question_set, question_of(asked, first), "Ann", "accept")
    reviewing.decide(store, question_set, question_of(asked, first), "Ann", "accept")  # makes no version
    versions.undo(store, store.question_set(question_set.id))
    assert store.reviews.all(question_set.id) == [assigned]
    reviewing.decide(store, question_set, question_of(asked, first), "Ann", "accept")
    reviewing.decide(store, question_set, question_of(asked, first), "bob", "reject")
    reviewing.decide(store, question_set, question_of(asked, first), "bob", "unsure")  # changes no status
    versions.undo(store, store.question_set(question_set.id))
    assert {each.reviewer: each.verdict for each in store.reviews.all(question_set.id)} == {
        "Ann": "accept",
        "bob": "reject",
    }


def test_verdicts_that_change_no_status_go_and_come_back_with_the_others(asked):
    """Anna judges first, Ben agrees with her: his verdicts change no status."""
    store, question_set = asked
    for reviewer in ("Anna", "Ben"):
        reviewing.assign(store, question_set, reviewer, 20)
    assigned, states = store.reviews.all(question_set.id), {}

    def state():
        return (
            store.reviews.all(question_set.id),
            {question.id: replace(question, split="") for question in store.questions(question_set.id)},
        )

    def present():
        return store.question_set(question_set.id)

    states[present().version] = state()
    for reviewer, question_id, verdict in (
        ("Anna", "q00", "accept"), ("Anna", "q01", "reject"), ("Ben", "q00", "accept"), ("Ben", "q01", "unsure"),
        ("Ben", "q01", "reject"), ("Ben", "q02", "unsure"),
    ):  # fmt: skip
        reviewing.decide(store, question_set, question_of(asked, question_id), reviewer, verdict)
        states[present().version] = state()
    assert sorted(states) == list(range(1, 8))
    for back in (6, 5, 4):
        versions.undo(store, present())
        states[present().version] = state()
        assert state() == states[back]
    versions.restore(store, present(), 1)
    assert state() == states[1]
    assert store.reviews.all(question_set.id) == assigned
    versions.undo(store, present())
    assert state() == states[10]
    for number in (7, 2, 9, 5, 1, 6):
        versions.restore(store, present(), number)
        assert state()[0] == states[number][0]
        assert state()[1].keys() == states[number][1].keys()
        assert state()[1] == states[number][1]
    assert store.history.versions(question_set.id)[0].action == "restored version 6"
    differing = versions.differences(store, present(), 6)
    assert differing == []


def test_a_verdict_on_what_was_changed_is_refused_also_when_it_changes_no_status(asked):
    store, question_set = asked
    shown = question_of(asked, "q00")
    store.put_questions(question_set.id, [authoring.changed(shown, text="Another?")])
    with pytest.raises(authoring.Conflict):
        reviewing.decide(store, question_set, shown, "Ann", "unsure")
    assert store.reviews.all(question_set.id) == []


def test_comments_are_kept_in_order(asked):
    store, question_set = asked
    store.reviews.comment(question_set.id, "q01", "Ann", "Which pump?")
    store.reviews.comment(question_set.id, "q02", "Bo", "北泵")
    store.reviews.comment(question_set.id, "q01", "Bo", "The north one.")
    assert [c.text for c in store.reviews.comments(question_set.id, "q01")] == ["Which pump?", "The north one."]
    assert [(c.author, c.question_id) for c in store.reviews.comments(question_set.id)] == [
        ("Ann", "q01"),
        ("Bo", "q02"),
        ("Bo", "q01"),
    ]
    store.reviews.delete_comment(question_set.id, store.reviews.comments(question_set.id, "q02")[0].id)
    assert len(store.reviews.comments(question_set.id)) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_kappa_is_that_of_statsmodels(pairs):
    ours = agreement([a for a, _ in pairs], [b for _, b in pairs])
    table = np.zeros((3, 3))
    for a, b in pairs:
        table["abc".index(a), "abc".index(b)] += 1
    if ours.kappa is None:
        assert len({category for pair in pairs for category in pair}) == 1
    else:
        assert ours.kappa == pytest.approx(cohens_kappa(table).kappa)
    assert ours.share == sum(a == b for a, b in pairs) / len(pairs)


def test_agreement_by_hand(asked):
    """Ann: accept, accept, reject, reject; Bo: accept, reject, reject, reject: 3 of 4, kappa (0.75 − 0.5) ÷ 0.5."""
    store, question_set = asked
    for reviewer, verdicts in (("Ann", "aarr"), ("Bo", "arrr")):
        for n, letter in enumerate(verdicts):
            verdict = {"a": "accept", "r": "reject"}[letter]
            reviewing.decide(store, question_set, question_of(asked, f"q{n:02}"), reviewer, verdict)
    [pair] = reviewing.agreements(store.reviews.all(question_set.id))
    assert (pair.one, pair.other, pair.agreement.n, pair.agreement.agreed) == ("Ann", "Bo", 4, 3)
    assert pair.agreement.kappa == pytest.approx(0.5)


def test_the_command_line_assigns_judges_compares_and_takes_back(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    monkeypatch.setenv("RAGVIZ_PERSON", "Ann")
    store = workspace.store
    question_set = store.create_question_set(store.create_corpus("notes").id, "asked")
    store.put_questions(question_set.id, [Question(f"q{n}", f"Question {n}?", "1", (), "hand") for n in range(3)])
    assert len(json.loads(command_line("questions", "assign", "asked", "Ann", "--count", 2, "--json")[1])["ids"]) == 2
    code, out, _ = command_line("questions", "judge", "asked", "q1", "reject", "--json")
    assert (code, json.loads(out)) == (0, {"id": "q1", "status": "rejected"})
    assert command_line("questions", "judge", "asked", "q1", "perhaps")[0] == 2
    assert command_line("questions", "judge", "asked", "q1", "accept", "--by", "Bo")[0] == 0
    body = json.loads(command_line("questions", "reviewers", "asked", "--json")[1])
    assert body["agreement"] == [{"reviewers": ["Ann", "Bo"], "n": 1, "agreed": 0, "kappa": 0.0}]
    assert body["disagreed"] == ["q1"]
    said = [(each["id"], each["reviewer"], each["verdict"]) for each in body["verdicts"]]
    assert said == [("q1", "Ann", "reject"), ("q1", "Bo", "accept")]
    ann, bo = (each["decided"] for each in body["verdicts"])
    assert time.time() - 60 < ann < bo < time.time()
    assert [each["newest"] for each in body["reviewers"]] == [ann, bo]
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
    for words in (("versions", "asked"), ("reviewers", "asked"), ("comment", "asked", "q2"), ("diff", "asked", 1)):
        assert command_line("questions", *words)[0] == 0


def test_the_command_line_shows_what_each_changed_field_was_and_is(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    store = workspace.store
    corpus = store.create_corpus("notes")
    corpora.add_file(workspace, corpus, "a.md", b"The mast is 312 metres high. The old mast was 90 metres high.")
    add = ("questions", "add", "asked", "--question", "How high is it?", "--corpus", "notes", "--document", "a.md")
    command_line(*add, "--quote", "The old mast was 90 metres high.", "--answer", "90 metres")
    [added] = store.questions(store.question_set("asked").id)
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
    question_set = store.create_question_set(store.create_corpus("notes").id, "asked")
    store.put_questions(
        question_set.id, [Question(each, "How?", "1", (), "hand") for each in (name, "-a-1", "--x", "q")]
    )

    def present():
        return {each.id: each for each in store.questions(question_set.id)}

    assert command_line("questions", "judge", "asked", name, "accept", "--by", "Ann")[0] == 0
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
    assert (code, "Comments, verdicts of reviewers and versions of the set are not in the file." in said) == (0, True)


def test_every_edit_on_the_command_line_says_who(workspace, command_line, monkeypatch, tmp_path):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    monkeypatch.setenv("RAGVIZ_PERSON", "Ann")
    store = workspace.store
    corpus = store.create_corpus("notes")
    corpora.add_file(workspace, corpus, "a.md", b"The mast of the north station is 312 metres high.")
    add = ("questions", "add", "asked", "--question", "How high is the mast?", "--answer", "312 metres")
    assert command_line(*add, "--corpus", "notes")[0] == 0
    [added] = store.questions(store.question_set("asked").id)
    assert command_line("questions", "review", "asked", added.id, "--reject", "--reason", "unclear")[0] == 0
    assert command_line("questions", "review", "asked", added.id, "--accept")[0] == 0
    assert command_line("questions", "find-evidence", "asked", "--accept", "all")[0] == 0
    assert command_line("questions", "add", "asked", "--question", "Who paints it?")[0] == 0
    log = tmp_path / "log.txt"
    log.write_text("How high is the mast?\n" * 5)
    assert command_line("questions", "asked", "asked", log, "--apply-weights")[0] == 0
    said = [(v.author, v.action) for v in store.history.versions(store.question_set("asked").id)]
    assert said[::-1] == [
        ("Ann", "added a question"),
        ("Ann", "rejected a question"),
        ("Ann", "accepted a question"),
        ("Ann", "found evidence"),
        ("Ann", "added a question"),
        ("Ann", "weighted by what people ask"),
    ]


def test_a_note_survives_a_verdict_and_the_reason_of_a_rejection_does_not_survive_acceptance(asked):
    store, question_set = asked
    note = "“tide” was swapped for “wind”"
    store.put_questions(question_set.id, [Question("u", "How high is the wind?", "", (), "extractive", reason=note)])
    reviewing.decide(store, question_set, question_of(asked, "u"), "Ann", "unsure")
    assert (question_of(asked, "u").status, question_of(asked, "u").reason) == ("proposed", note)
    reviewing.decide(store, question_set, question_of(asked, "u"), "Ann", "accept")
    assert (question_of(asked, "u").status, question_of(asked, "u").reason) == ("accepted", note)
    reviewing.decide(store, question_set, question_of(asked, "u"), "Ann", "reject")
    assert question_of(asked, "u").reason == "rejected by Ann"
    reviewing.decide(store, question_set, question_of(asked, "u"), "Ann", "accept")
    assert (question_of(asked, "u").status, question_of(asked, "u").reason) == ("accepted", "")
    kept = store.history.versions(question_set.id)[0].number
    reviewing.decide(store, question_set, question_of(asked, "u"), "Ann", "accept")
    assert store.history.versions(question_set.id)[0].number == kept
