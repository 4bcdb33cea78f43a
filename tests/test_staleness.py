"""Questions whose evidence is gone are set aside, in one version, and released when it is found again."""

import json

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.job import NewJob
from ragviz.core.question import Question
from ragviz.core.question_set import Edit
from ragviz.core.span import Span
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.jobs import worker
from ragviz.questions import authoring, staleness
from ragviz.runs import running
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


@pytest.mark.parametrize(
    ("name", "text"),
    [("one", f"Since May:\n\n{ONE}\nAll else stays.\n"), ("other", ONE), ("other", f"Since May:\n\n{ONE}")],
)
def test_a_document_that_comes_back_with_more_or_under_another_name_releases_its_questions(shore, name, text):
    workspace, corpus, question_set = shore
    store = workspace.store
    before = {q.id: q for q in store.questions.all(question_set.id)}
    removed(workspace, corpus)
    assert statuses(store, question_set) == GONE | {"tides": "quarantined"}
    done = added(workspace, corpus, **{name: text})
    assert done == [staleness.Refreshed("asked", (), ("tides", "boats", "both"))]
    assert statuses(store, question_set) == BEFORE
    back = store.documents.get(corpus.id, store.documents.find(corpus.id, f"{name}.md").id)
    for question in store.questions.all(question_set.id):
        assert question.reason == before[question.id].reason
        for old, new in zip(before[question.id].evidence, question.evidence, strict=True):
            assert [each.text for each in new] == [each.text for each in old]
            assert not any(each.stale for each in new)
            in_it = [each for each in new if each.text != "Lamps are lit"]
            assert all((each.document_id, back.text[each.start : each.end]) == (back.id, each.text) for each in in_it)
    [version, *_] = store.versions.all(question_set.id)
    assert (version.action, version.questions) == ("stale questions set aside, or released", 5)
    assert staleness.refresh(store, corpus, [back.id]) == []


@pytest.mark.parametrize(
    "texts",
    [
        {"new": "Tides are high.\n\nBoats leave from the south pier.\n"},
        {"new": f"{ONE}\nOnce more: {ONE}"},
        {"new": ONE, "twin": f"The same again.\n\n{ONE}"},
        {"new": "Another north pier has a lamp of its own.\n"},
        {"new": ONE.upper()},
    ],
    ids=["gone", "twice", "in two documents", "too few words", "other characters"],
)
def test_quotes_of_a_removed_document_that_stand_nowhere_or_not_surely_stay_set_aside(shore, texts):
    workspace, corpus, question_set = shore
    removed(workspace, corpus)
    before = workspace.store.questions.all(question_set.id)
    assert added(workspace, corpus, **texts) == []
    assert workspace.store.questions.all(question_set.id) == before


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


def test_what_a_check_put_into_quarantine_stays_there(shore):
    workspace, corpus, question_set = shore
    store = workspace.store
    [lamps] = [q for q in store.questions.all(question_set.id) if q.id == "lamps"]
    held = Question(
        **{f: getattr(lamps, f) for f in lamps.__slots__} | {"status": "quarantined", "reason": "health: x"}
    )
    store.questions.put(question_set.id, [held], edit=Edit(action="quarantined"))
    for _ in range(2):
        with staleness.refreshing(store, corpus):
            corpora.delete_documents(workspace, corpus, [store.documents.find(corpus.id, "two.md").id])
        with staleness.refreshing(store, corpus):
            corpora.add_file(workspace, corpus, "two.md", TWO.encode())
        [now] = [q for q in store.questions.all(question_set.id) if q.id == "lamps"]
        assert (now.status, now.reason) == ("quarantined", "health: x")
        assert not any(each.stale for group in now.evidence for each in group)


def test_a_kill_between_the_move_of_evidence_and_the_refresh_is_made_good_by_the_next_one(shore):
    workspace, corpus, question_set = shore
    corpora.add_file(workspace, corpus, "one.md", b"Nothing is left.\n", replace=True)  # settled, and killed then
    assert statuses(workspace.store, question_set) == BEFORE
    with staleness.refreshing(workspace.store, corpus) as done:
        corpora.add_file(workspace, corpus, "three.md", b"Something else is added.\n")
    assert done == [staleness.Refreshed("asked", ("tides", "boats", "both"), ())]


def test_an_upload_sets_aside_and_earlier_runs_stay_readable(shore):
    workspace, corpus, question_set = shore
    store = workspace.store
    indexing.build_index(workspace, corpus, "index", IndexConfig(embedder="", chunk_size=20))
    config = RunConfig(store.indexes.get("index").id, question_set.id, "bm25", k=1)
    first = running.run(workspace, "first", config)
    asked, results = store.rankings.questions(first.id), store.rankings.all(first.id)
    folder, files = corpora.stage(workspace, [("one.md", b"Tides are low at noon.\n")])
    arguments = {"corpus": corpus.name, "folder": str(folder), "files": files, "replace": True}
    worker.perform_new(workspace, NewJob("documents", "Replace", corpus.id, arguments))
    assert statuses(store, question_set) == GONE
    assert (store.rankings.questions(first.id), store.rankings.all(first.id)) == (asked, results)
    assert {q.id for q in asked} == {"tides", "boats", "either", "both", "lamps"}
    indexing.build_index(workspace, corpus, "index", IndexConfig(embedder="", chunk_size=20))
    second = running.run(workspace, "second", config)
    assert {q.id for q in store.rankings.questions(second.id)} == {"tides", "either", "lamps"}


def test_the_command_line_says_what_was_set_aside(shore, command_line, monkeypatch, tmp_path):
    workspace, _, question_set = shore
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    code, _, err = command_line("corpus", "remove", "shore", "one.md", "--yes")
    assert (code, err.strip()) == (0, "'asked': 3 questions with stale evidence are set aside.")
    (tmp_path / "one.md").write_text(ONE)
    code, _, err = command_line("corpus", "add", "shore", tmp_path / "one.md")
    assert (code, err.strip()) == (0, "'asked': 3 questions are asked again.")
    assert statuses(workspace.store, question_set) == BEFORE


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


def test_a_passage_that_says_the_same_in_other_words_is_asked_again(rules):
    workspace, corpus, question_set = rules
    store = workspace.store
    new = RULES.replace("An absence is announced 30 days before it begins", "Announce each absence thirty days ahead")
    with staleness.refreshing(store, corpus):
        corpora.add_file(workspace, corpus, "rules.md", new.encode(), replace=True)
    document = store.documents.get(corpus.id, store.documents.find(corpus.id, "rules.md").id)
    for name in ("absence", "month"):
        before = authoring.question_of(store, question_set, name)
        assert before.status == "quarantined"
        place = span(document, "Announce each absence thirty days ahead.")
        after = authoring.changed(before, evidence=authoring.mended(before.evidence, 0, 0, place))
        authoring.save(store, question_set, after, version_of(before))
        assert authoring.question_of(store, question_set, name).status == "accepted"
