"""The tabs Drill and New documents of the page Question set health, as Streamlit runs them."""

import pytest

from ragviz.health import drill, health_sentences
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
