"""Questions whose evidence is gone are set aside, in one version, and released when it is found again."""

import json

import pytest

from ragviz.core.question import Question
from ragviz.core.span import Span
from ragviz.documents import corpora
from ragviz.questions import authoring, staleness
from ragviz.store.codecs import version_of
from ragviz.store.stored_documents import StoredDocuments

ONE = "Tides are low at noon.\n\nBoats leave from the north pier.\n"
TWO = "Lamps are lit at dusk.\n"


def span(document, quote):
    start = document.text.index(quote)
    return Span(document.id, start, start + len(quote), quote)


@pytest.fixture
def shore(workspace):
    """Two documents; questions: about each sentence, about either of two, about both documents, a rejected one."""
    store = workspace.store
    corpus = store.corpora.ensure("shore")
    for name, text in (("one.md", ONE), ("two.md", TWO)):
        corpora.add_file(workspace, corpus, name, text.encode())
    one, two = (
        store.documents.get(corpus.id, store.documents.find(corpus.id, name).id) for name in ("one.md", "two.md")
    )
    tides, boats, lamps = span(one, "Tides are low"), span(one, "north pier"), span(two, "Lamps are lit")
    made = {
        "tides": (((tides,),), "accepted"),
        "boats": (((boats,),), "proposed"),
        "either": (((boats, lamps),), "accepted"),
        "both": (((boats,), (lamps,)), "accepted"),
        "rejected": (((boats,),), "rejected"),
        "lamps": (((lamps,),), "accepted"),
    }
    question_set = store.sets.add(corpus.id, "asked")
    store.questions.put(
        question_set.id,
        [Question(name, f"{name}?", "answer", *rest, status=status) for name, (rest, status) in
         ((name, ((evidence, "hand"), status)) for name, (evidence, status) in made.items())],
    )  # fmt: skip
    return workspace, corpus, question_set


def statuses(store, question_set):
    return {question.id: question.status for question in store.questions.all(question_set.id)}


BEFORE = {
    "tides": "accepted", "boats": "proposed", "either": "accepted", "both": "accepted", "rejected": "rejected",
    "lamps": "accepted",
}  # fmt: skip
GONE = BEFORE | {"boats": "quarantined", "both": "quarantined"}


def replaced(workspace, corpus, text):
    with staleness.refreshing(workspace.store, corpus) as done:
        corpora.add_file(workspace, corpus, "one.md", text.encode(), replace=True)
    return done


def test_stale_questions_are_set_aside_as_one_version_and_released_when_the_words_come_back(shore):
    workspace, corpus, question_set = shore
    store = workspace.store
    done = replaced(workspace, corpus, "Tides are low at noon.\n\nNo boats leave.\n")
    assert done == [staleness.Refreshed("asked", ("boats", "both"), ())]
    assert statuses(store, question_set) == GONE  # the tides moved, one of either's places is left, rejected stays so
    reasons = {q.id: q.reason for q in store.questions.all(question_set.id)}
    assert reasons["boats"] == "stale evidence: “north pier” is not found any more"
    versions = store.versions.all(question_set.id)
    assert [(v.action, v.questions) for v in versions[:2]] == [
        ("stale questions set aside, or released", 2),
        ("evidence moved with its documents", 5),
    ]
    assert replaced(workspace, corpus, "Tides are low at noon.\n\nNo boats leave.\n") == []  # the same bytes
    assert staleness.refresh(store, corpus) == []
    assert store.versions.all(question_set.id) == versions
    done = replaced(workspace, corpus, ONE)
    assert done == [staleness.Refreshed("asked", (), ("boats", "both"))]
    assert statuses(store, question_set) == BEFORE
    assert all(not q.reason for q in store.questions.all(question_set.id))


def test_a_document_that_is_deleted_and_comes_back_releases_its_questions(shore):
    workspace, corpus, question_set = shore
    store = workspace.store
    before = store.questions.all(question_set.id)
    with staleness.refreshing(store, corpus):
        corpora.delete_documents(workspace, corpus, [store.documents.find(corpus.id, "one.md").id])
    assert statuses(store, question_set) == GONE | {"tides": "quarantined"}
    with staleness.refreshing(store, corpus) as done:
        corpora.add_file(workspace, corpus, "one.md", ONE.encode())
    assert done == [staleness.Refreshed("asked", (), ("tides", "boats", "both"))]
    assert store.questions.all(question_set.id) == before


def removed(workspace, corpus, name="one.md"):
    with staleness.refreshing(workspace.store, corpus):
        corpora.delete_documents(workspace, corpus, [workspace.store.documents.find(corpus.id, name).id])


def added(workspace, corpus, **texts):
    with staleness.refreshing(workspace.store, corpus) as done:
        for name, text in texts.items():
            corpora.add_file(workspace, corpus, f"{name}.md", text.encode())
    return done


def test_evidence_of_a_deleted_document_is_proposed_wherever_it_stands(shore, command_line, monkeypatch):
    workspace, corpus, question_set = shore
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    removed(workspace, corpus)
    added(workspace, corpus, new=f"{ONE}\nTides are low, as always.\n", more="Another north pier has a lamp.\n")
    rows = json.loads(command_line("questions", "mend", "asked", "--json")[1])
    names = {d.id: d.name for d in workspace.store.documents.all(corpus.id)}
    proposed = {
        row["question"]: [(p["how"], names[p["span"]["document_id"]], p["span"]["start"]) for p in row["proposals"]]
        for row in rows
    }
    assert {row["document"] for row in rows} == {"one.md (removed since)"}
    piers = [("exact", "more.md", 8), ("exact", "new.md", ONE.index("north pier"))]
    assert proposed == dict.fromkeys(("boats", "either", "both", "rejected"), piers) | {
        "tides": [("exact", "new.md", 0), ("exact", "new.md", len(ONE) + 1)]
    }
    assert "new.md" in command_line("questions", "mend", "asked")[1]
    assert command_line("questions", "mend", "asked", "tides", "--proposal", "2")[0] == 0
    assert statuses(workspace.store, question_set)["tides"] == "accepted"
    named = json.loads(command_line("questions", "mend", "asked", "--document", "two.md", "--json")[1])
    assert all(not row["proposals"] for row in named), "only the named document is searched"


def test_each_added_document_is_read_once_however_many_questions_lost_theirs(shore, monkeypatch):
    workspace, corpus, question_set = shore
    store = workspace.store
    one = store.documents.find(corpus.id, "one.md").id
    quotes = [Span(one, 0, 9, f"quote number {n}") for n in range(200)]
    many = [Question(f"many{n}", "?", "answer", ((quote,),), "hand") for n, quote in enumerate(quotes)]
    store.questions.put(question_set.id, many)
    removed(workspace, corpus)
    read, texts = [], StoredDocuments.texts

    def counted(self, corpus_id, ids):
        for document in texts(self, corpus_id, ids):
            read.append(document.name)
            yield document

    monkeypatch.setattr(StoredDocuments, "texts", counted)
    text = "\n".join(f"Here is quote number {n}." for n in range(200))
    [done] = added(workspace, corpus, new=text, other="Nothing of it.\n")
    assert len(done.released) == 200
    assert sorted(read) == ["new.md", "new.md", "other.md"], "once for all quotes, and once for where they stand"


def test_mended_evidence_releases_a_question_with_the_status_that_it_had(shore):
    workspace, corpus, question_set = shore
    store = workspace.store
    replaced(workspace, corpus, "Tides are low at noon.\n\nBoats leave from the south quay.\n")
    boats = authoring.question_of(store, question_set, "boats")
    now = store.documents.get(corpus.id, store.documents.find(corpus.id, "one.md").id)
    evidence = authoring.mended(boats.evidence, 0, 0, span(now, "south quay"))
    authoring.save(store, question_set, authoring.changed(boats, evidence=evidence), version_of(boats))
    assert statuses(store, question_set)["boats"] == "proposed"
    both = authoring.question_of(store, question_set, "both")
    authoring.save(store, question_set, authoring.changed(both, text="And both?"), version_of(both))
    assert statuses(store, question_set)["both"] == "quarantined"  # its evidence is still gone


def test_a_kill_between_the_move_of_evidence_and_the_refresh_is_made_good_by_the_next_one(shore):
    workspace, corpus, question_set = shore
    corpora.add_file(workspace, corpus, "one.md", b"Nothing is left.\n", replace=True)  # settled, and killed then
    assert statuses(workspace.store, question_set) == BEFORE
    with staleness.refreshing(workspace.store, corpus) as done:
        corpora.add_file(workspace, corpus, "three.md", b"Something else is added.\n")
    assert done == [staleness.Refreshed("asked", ("tides", "boats", "both"), ())]


RULES = "# Leave\n\nAn absence is announced 30 days before it begins.\n\nThe desk opens at noon.\n\nTea is free.\n"


@pytest.fixture
def rules(workspace):
    """A document of three rules, with a question about each, accepted; and one about the first whose answer is yes."""
    store = workspace.store
    corpus = store.corpora.ensure("rules")
    corpora.add_file(workspace, corpus, "rules.md", RULES.encode())
    document = store.documents.get(corpus.id, store.documents.find(corpus.id, "rules.md").id)
    asked = {
        "absence": ("How long before is an absence announced?", "30 days", "An absence is announced 30 days before"),
        "desk": ("When does the desk open?", "at noon", "The desk opens at noon."),
        "tea": ("What is free?", "Tea", "Tea is free."),
        "month": ("Is an absence announced a month before?", "Yes", "An absence is announced 30 days before"),
    }
    question_set = store.sets.add(corpus.id, "asked")
    store.questions.put(
        question_set.id,
        [Question(name, text, answer, ((span(document, quote),),), "hand", status="accepted", language="en")
         for name, (text, answer, quote) in asked.items()],
    )  # fmt: skip
    return workspace, corpus, question_set


def test_a_passage_with_other_words_is_set_aside_until_its_answer_is_given(rules, command_line, monkeypatch):
    """By hand: 30 days become 45, the desk's rule moves to the end, the one of tea goes."""
    workspace, corpus, question_set = rules
    store = workspace.store
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    new = "# Leave\n\nAn absence is announced 45 days before it begins.\n\nAll is calm.\n\nThe desk opens at noon.\n"
    with staleness.refreshing(store, corpus) as done:
        corpora.add_file(workspace, corpus, "rules.md", new.encode(), replace=True)
    assert done == [staleness.Refreshed("asked", ("absence", "tea", "month"), ())]
    now = {q.id: q for q in store.questions.all(question_set.id)}
    [[moved]] = now["desk"].evidence
    assert (now["desk"].status, new[moved.start : moved.end]) == ("accepted", "The desk opens at noon.")
    listed = json.loads(command_line("questions", "mend", "asked", "--json")[1])
    by_id = {row["question"]: row for row in listed}
    assert by_id["tea"]["proposals"] == []
    [near] = by_id["absence"]["proposals"]
    assert (near["how"], near["span"]["text"]) == ("near", "An absence is announced 45 days before it begins.")

    for name in ("absence", "month"):
        code, _, err = command_line("questions", "mend", "asked", name, "--proposal", "1")
        told = "The passage was “An absence is announced 30 days before” and is “An absence is announced 45 days"
        assert (code, told in " ".join(err.split())) == (0, True), err
    now = {q.id: q for q in store.questions.all(question_set.id)}
    assert {name: now[name].status for name in ("absence", "month", "tea")} == dict.fromkeys(
        ("absence", "month", "tea"), "quarantined"
    )
    assert now["absence"].reason == (
        "stale evidence: “An absence is announced 30 days before” is now “An absence is announced 45 days before it "
        "begins.”: the answer “30 days” is not stated any more: 30"
    )
    assert now["month"].reason.endswith("the passage states other numbers: 45 for 30")
    assert not now["absence"].evidence[0][0].stale
    assert staleness.refresh(store, corpus) == [], "what is doubted stays set aside"
    rows = {row["question"]: row for row in json.loads(command_line("questions", "mend", "asked", "--json")[1])}
    assert (rows["absence"]["text"], rows["absence"]["now"]) == (
        "An absence is announced 30 days before", "An absence is announced 45 days before it begins.",
    )  # fmt: skip
    drawn = command_line("questions", "mend", "asked")[1]
    assert "An absence is announced 45 days before it begins." in drawn
    assert "30 days" in drawn

    absence = now["absence"]
    authoring.save(store, question_set, authoring.changed(absence, answer="60 days"), version_of(absence))
    assert statuses(store, question_set)["absence"] == "quarantined", "nor does the passage state this"
    absence = authoring.question_of(store, question_set, "absence")
    authoring.save(store, question_set, authoring.changed(absence, answer="45 days"), version_of(absence))
    month = authoring.question_of(store, question_set, "month")
    authoring.save(store, question_set, authoring.with_status(month, "accepted"), version_of(month))
    assert statuses(store, question_set) == {
        "absence": "accepted", "desk": "accepted", "tea": "quarantined", "month": "accepted",
    }  # fmt: skip
