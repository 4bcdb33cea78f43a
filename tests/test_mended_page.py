"""The page Questions shows the old and the new words of a passage that was mended, and sets the question aside."""

from dataclasses import replace

from ragviz.core.question import Question
from ragviz.core.question_set import Edit
from ragviz.questions import authoring
from ragviz.store.codecs import version_of
from ragviz.text.markup import plain
from ragviz.workspace import open_workspace
from tests.test_pages import bare, built, home, show, words  # noqa: F401 - fixtures


def test_old_and_new_words_are_shown_side_by_side(home):  # noqa: F811
    store = open_workspace().store
    asked = store.sets.get("asked")
    span = next(q for q in store.questions.all(asked.id) if q.evidence).evidence[0][0]
    old = replace(span, text="Absence is announced 30 days before.", stale=True)
    first = Question("absence", "How long before?", "30 days", ((replace(old, stale=False),),), "hand", "accepted")
    store.questions.put(asked.id, [first], edit=Edit(action="written"))
    gone = replace(first, evidence=((old,),), status="quarantined", reason="stale evidence: “Absence …” is gone")
    store.questions.put(asked.id, [gone], edit=Edit(action="set aside"))
    now = replace(span, text="Absence is announced 45 days before.")
    authoring.save(store, asked, authoring.changed(gone, evidence=((now,),)), version_of(gone))
    app = show("questions", set="asked", tab="Review", question="absence", status="stale")
    said = words(app)
    assert "the answer “30 days” is not stated any more: 30" in said
    for title, text in (("It was", old.text), ("It is now", now.text)):
        assert title in said
        assert text in said


def test_places_of_a_deleted_documents_text_are_offered_with_their_document(home):  # noqa: F811
    store = open_workspace().store
    asked = store.sets.get("asked")
    span = next(q for q in store.questions.all(asked.id) if q.evidence).evidence[0][0]
    gone = replace(span, document_id="0123456789abcdef", start=7, end=7 + len(span.text), stale=True)
    store.questions.put(asked.id, [Question("lost", "Where?", "There", ((gone,),), "hand", "quarantined")])
    app = show("questions", set="asked", tab="Review", edit="lost")
    name = next(plain(d.name) for d in store.documents.all(asked.corpus_id) if d.id == span.document_id)
    said = words(app)
    assert "was in a deleted document" in said
    assert "Exact match in {}: “".format(name.replace("\\", "")) in said, "`words` leaves out what escapes signs"
    [use] = [button for button in app.button if button.label == "Use"]
    use.click()
    app.run()
    assert not app.exception
    assert "was in a deleted document" not in words(app)
