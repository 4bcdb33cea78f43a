"""The page Question set health, as Streamlit runs it: verdict, checks, quarantine and release, plan, drill, map."""

import pytest

from ragviz.core.question import Question
from ragviz.health import drill, quarantine
from ragviz.health.set_checks import CHECKS
from ragviz.workspace import open_workspace
from tests.test_pages import built, home, show, visit, words  # noqa: F401 - fixtures


@pytest.fixture
def store(home):  # noqa: F811
    """The home of the pages' tests, with one question asked twice."""
    store = open_workspace().store
    asked = store.sets.get("asked")
    first = store.questions.all(asked.id)[0]
    twin = Question("twin", first.text.upper(), first.answer, first.evidence, "hand", "accepted")
    store.questions.put(asked.id, [twin])
    return store


def test_the_first_screen_says_what_the_set_notices_and_lists_the_checks(store):
    app = show("health", set="asked")
    said = words(app)
    assert "Between two runs it notices differences in" in said
    table = next(each.value for each in app.dataframe if "Check" in each.value)
    assert table["Check"].tolist() == [check.title for check in CHECKS.values()]
    assert "?" in table["Found"].tolist(), "no run was asked without documents"
    assert table.set_index("Check").loc["Duplicate or nearly", "Found"] == "1"
    assert "Recall@" in said
    assert not app.exception


def test_one_click_quarantines_and_another_releases(store):
    app = show("health", set="asked", check="duplicates")
    asked = store.sets.get("asked")
    versions = len(store.versions.all(asked.id))
    app.button(key="quarantine-duplicates").click().run()
    assert [q.id for q in quarantine.held_by(store.questions.all(asked.id), "duplicates")] == ["twin"]
    assert len(store.versions.all(asked.id)) == versions + 1
    assert "Quarantine 1" not in [each.label for each in app.button if each.key == "quarantine-duplicates"]
    app.button(key="release-duplicates").click().run()
    assert not quarantine.held_by(store.questions.all(asked.id), "duplicates")
    twin = next(q for q in store.questions.all(asked.id) if q.id == "twin")
    assert (twin.status, twin.reason) == ("accepted", "")


def test_the_map_opens_a_chunk(store):
    asked = store.sets.get("asked")
    app = show("health", set="asked", index="small", tab="Coverage map")
    said = words(app)
    assert "chunks are asked about" in said
    assert "Click a point to read its chunk." in said
    question = next(q for q in store.questions.all(asked.id) if q.evidence)
    span = question.evidence[0][0]
    build = store.indexes.get("small")
    start, end, _ = store.indexes.cuts(build.build, [span.document_id])[span.document_id][0].tolist()
    chunk_id = f"{span.document_id}-{start:08d}-{end:08d}"
    app = show("health", set="asked", index="small", tab="Coverage map", chunk=chunk_id)
    assert "Click a point" not in words(app)
    assert "Pump" in words(app)
    odd = show("health", set="asked", index="small", tab="Coverage map", chunk="<b>no chunk</b>")
    assert "cannot be chunk here" in odd.warning[0].value
    assert not odd.exception


def test_the_drill_is_one_sentence_and_one_picture(store):
    opened = open_workspace()
    drill.drill(opened, store.sets.get("asked"), store.indexes.get("small"), retriever="bm25", repetitions=2)
    app = show("health", set="asked", index="small", tab="Drill")
    assert "This set notices 0 % of planted losses of 5 points of recall@3" in words(app)
    assert len(app.get("plotly_chart")) == 1
    assert not app.exception
