"""The tabs Drill and New documents of the page Question set health, as Streamlit runs them."""

import pytest

from ragviz.core.configuration import RunConfig
from ragviz.documents import corpora
from ragviz.health import competition, drill, health_sentences
from ragviz.runs import running
from ragviz.workspace import open_workspace
from tests.test_pages import bare, built, button, home, show, words  # noqa: F401 - fixtures


@pytest.fixture
def opened(home):  # noqa: F811
    return open_workspace()


def test_a_drill_is_shown_in_one_sentence_and_one_picture(opened):
    asked, index = opened.store.sets.get("asked"), opened.store.indexes.get("small")
    fact = drill.drill(opened, asked, index, retriever="bm25", repetitions=2)
    app = show("health", set="asked", index="small", tab="Drill")
    assert health_sentences.drill(fact) in words(app).replace("\\", "")
    drawn = " ".join(str(each.proto) for each in app.get("plotly_chart"))
    removed = next(f for f in fact["faults"] if (f["fault"], f["strength"]) == ("removed", 0.05))
    told = f"{removed['noisy']['worse']} of {removed['repetitions']} plantings are called worse with the noise"
    assert (told in drawn) == bool(removed["repetitions"])
    assert button(app, "Drill it again").disabled is False
    assert not app.exception
    assert not app.error


def test_new_documents_are_offered_and_what_they_did_is_shown_by_document(opened):
    store = opened.store
    asked, index = store.sets.get("asked"), store.indexes.get("small")
    first = running.run(opened, "before", RunConfig(index.id, asked.id, "bm25", k=1, depth=20))
    app = show("health", set="asked", tab="New documents", earlier="before")
    button(app, "Update the index and run again").click().run()
    [job] = [job for job in store.jobs.all() if job.kind == "again"]
    assert job.arguments == {"run": first.id, "name": "before, again"}
    store.jobs.update(job.id, status="cancelled")
    corpus = store.corpora.get(asked.corpus_id)
    rival = "\n\n".join(question.text for question in store.rankings.questions(first.id))
    corpora.add_file(opened, corpus, "rival.md", rival.encode())
    later = competition.run_again(opened, first, "after")
    found = competition.competition(opened, first, later)
    assert found.added == ("rival.md",)
    assert found.total.to_competition > 0
    app = show("health", set="asked", tab="New documents", earlier="before", later="after")
    assert f"{found.total.to_competition} lost to the competition of the new chunks" in words(app)
    table = next(each.value for each in app.dataframe if "To competition" in each.value)
    assert table["To competition"].sum() >= found.total.to_competition
    assert table["Document"].tolist() == [row.document for row in found.rows]
    lost = next(each.value for each in app.dataframe if "Lost to" in each.value)
    assert len(lost) == found.total.lost
    assert not app.exception
    assert not app.error


def test_without_a_run_the_tab_says_so(opened):
    for run in opened.store.runs.all():
        opened.store.runs.delete(run.id)
    app = show("health", set="asked", tab="New documents")
    assert "No run has asked this set yet" in words(app)
    assert not app.exception
