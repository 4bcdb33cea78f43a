"""Questions whose evidence is gone are set aside, in one version, and released when it is found again."""

import pytest

from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.questions import authoring, staleness
from ragviz.store.schema import version_of
from ragviz.store.stored_documents import StoredDocuments
from tests.builders import added, span, stored

ONE = "Tides are low at noon.\n\nBoats leave from the north pier.\n"
TWO = "Lamps are lit at dusk.\n"


@pytest.fixture
def shore(workspace):
    """Two documents; questions: about each sentence, about either of two, about both documents, a rejected one."""
    store = workspace.store
    corpus = added(workspace, "shore", {"one.md": ONE, "two.md": TWO})
    one, two = (stored(workspace, corpus, name) for name in ("one.md", "two.md"))
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
        [Question(name, f"{name}?", "answer", evidence, "hand", status) for name, (evidence, status) in made.items()],
    )
    return workspace, corpus, question_set


def statuses(store, question_set):
    return {question.id: question.status for question in store.questions.all(question_set.id)}


BEFORE = {
    "tides": "accepted", "boats": "proposed", "either": "accepted", "both": "accepted", "rejected": "rejected",
    "lamps": "accepted",
}  # fmt: skip
GONE = BEFORE | {"boats": "quarantined", "both": "quarantined"}


def replaced(workspace, corpus, text):
    with staleness.refreshing(workspace, corpus) as done:
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
    assert staleness.refresh(workspace, corpus) == []
    assert store.versions.all(question_set.id) == versions
    done = replaced(workspace, corpus, ONE)
    assert done == [staleness.Refreshed("asked", (), ("boats", "both"))]
    assert statuses(store, question_set) == BEFORE
    assert all(not q.reason for q in store.questions.all(question_set.id))


def test_each_added_document_is_read_once_however_many_questions_lost_theirs(shore, monkeypatch):
    workspace, corpus, question_set = shore
    store = workspace.store
    one = store.documents.find(corpus.id, "one.md").id
    quotes = [Span(one, 0, 9, f"quote number {n}") for n in range(200)]
    many = [Question(f"many{n}", "?", "answer", ((quote,),), "hand") for n, quote in enumerate(quotes)]
    store.questions.put(question_set.id, many)
    with staleness.refreshing(workspace, corpus):
        corpora.delete_documents(workspace, corpus, [one])
    read, texts = [], StoredDocuments.texts

    def counted(self, corpus_id, ids):
        for document in texts(self, corpus_id, ids):
            read.append(document.name)
            yield document

    monkeypatch.setattr(StoredDocuments, "texts", counted)
    text = "\n".join(f"Here is quote number {n}." for n in range(200))
    with staleness.refreshing(workspace, corpus) as done:
        for name, content in {"new.md": text, "other.md": "Nothing of it.\n"}.items():
            corpora.add_file(workspace, corpus, name, content.encode())
    assert [len(each.released) for each in done] == [200]
    assert sorted(read) == ["new.md", "new.md", "other.md"], "once for all quotes, and once for where they stand"


def test_mended_evidence_releases_a_question_with_the_status_that_it_had(shore):
    workspace, corpus, question_set = shore
    store = workspace.store
    replaced(workspace, corpus, "Tides are low at noon.\n\nBoats leave from the south quay.\n")
    boats = authoring.question_of(store, question_set, "boats")
    now = stored(workspace, corpus, "one.md")
    mended = authoring.changed(boats, evidence=((span(now, "south quay"),),))
    authoring.save(store, question_set, mended, version_of(boats))
    assert statuses(store, question_set)["boats"] == "proposed"
    both = authoring.question_of(store, question_set, "both")
    authoring.save(store, question_set, authoring.changed(both, text="And both?"), version_of(both))
    assert statuses(store, question_set)["both"] == "quarantined"  # its evidence is still gone


def test_a_kill_between_the_move_of_evidence_and_the_refresh_is_made_good_by_the_next_one(shore):
    workspace, corpus, question_set = shore
    corpora.add_file(workspace, corpus, "one.md", b"Nothing is left.\n", replace=True)  # settled, and killed then
    assert statuses(workspace.store, question_set) == BEFORE
    with staleness.refreshing(workspace, corpus) as done:
        corpora.add_file(workspace, corpus, "three.md", b"Something else is added.\n")
    assert done == [staleness.Refreshed("asked", ("tides", "boats", "both"), ())]
