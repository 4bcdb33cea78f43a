"""The home page in its states: the first visit, the sample being loaded, steps to do and done, what is configured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.core.configuration import RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.span import Span
from ragviz.jobs import queue
from ragviz.targets import hand_made
from ragviz.text.markup import plain
from ragviz.workspace import Workspace, open_workspace
from tests.test_pages import bare, visit, words  # noqa: F401  # a fixture

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def home(bare: Path) -> Workspace:  # noqa: F811
    """An empty home, in which submitted jobs wait."""
    return open_workspace()


def show() -> AppTest:
    app = visit("home")
    assert not app.exception
    return app


def primary(app: AppTest) -> list[str]:
    return [button.label for button in app.button if button.proto.type == "primary"]


def links(app: AppTest) -> list[str]:
    return [re.sub(r":blue\[(.*)\]", r"\1", link.proto.label) for link in app.get("page_link")]


def make(workspace: Workspace, *runs: RunConfig) -> None:
    """Add a corpus with a document, an index, a question and these runs, which are done."""
    store = workspace.store
    corpus = store.corpora.add("notes")
    question_set = store.sets.add(corpus.id, "asked")
    store.questions.put(question_set.id, [Question("q", "Who?", "Ann", ((Span("d", 0, 3),),), "hand", "accepted")])
    for number, config in enumerate(runs):
        run = store.runs.add(f"run {number}", corpus.id, config, str(number), {})
        store.runs.set_status(run.id, "done")


# The picture


# The first visit


def test_the_first_visit_has_the_sentence_and_one_thing_to_press() -> None:
    app = show()
    assert "at which step each question of a RAG system is lost" in words(app)
    assert primary(app) == ["Load the sample"]
    assert "Recent runs" not in words(app)


@pytest.mark.parametrize(("own", "label"), [(False, "Load the sample"), (True, "Load the sample too")])
def test_what_keeps_the_sample_from_loading_is_told_and_the_page_stays(
    home: Workspace, monkeypatch: pytest.MonkeyPatch, own: bool, label: str
) -> None:
    def refused(*_: object) -> None:
        raise UsageError("There is no room for another job.")

    if own:
        make(home)
    monkeypatch.setattr(queue, "submit_once", refused)
    app = show()
    next(button for button in app.button if button.label == label).click().run()
    assert [box.value for box in app.error] == [plain("There is no room for another job.")]
    assert "System status" in words(app)


# Steps


def test_the_first_step_that_is_not_done_is_the_next(home: Workspace) -> None:
    make(home)
    app = show()
    assert "Next step for notes" in words(app)
    assert primary(app) == ["Add documents"]


@pytest.fixture
def ready(home: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A home in which documents, index and questions exist."""
    from ragviz.core.configuration import IndexConfig
    from ragviz.documents import corpora
    from ragviz.index import indexing

    make(home)
    corpus = home.store.corpora.get("notes")
    corpora.add_file(home, corpus, "a.md", b"Ann built the tower in 1903.")
    indexing.build_index(home, corpus, "words", IndexConfig(embedder=""))
    return home


def done(workspace: Workspace, name: str, **config: str) -> None:
    store = workspace.store
    index, question_set = store.indexes.get("words"), store.sets.get("asked")
    run = store.runs.add(
        name,
        index.corpus_id,
        RunConfig(index.id, question_set.id, "bm25", **config),
        name,
        {},  # type: ignore[arg-type]
    )
    store.runs.set_status(run.id, "done")


def test_with_two_runs_done_a_comparison_is_suggested(ready: Workspace) -> None:
    done(ready, "first")
    done(ready, "second", answerer="model", model=hand_made.NAME, judge=hand_made.NAME)
    app = show()
    assert primary(app) == ["Compare the runs"]
    assert "Answers of second" in links(app)
    table = app.dataframe[0].value
    assert list(table["Run"]) == ["second", "first"]
    assert list(table["Answers"]) == [hand_made.NAME, ""]
    assert "Corpus" not in table


# System status


def status(app: AppTest) -> dict[str, str]:
    lines = re.findall(r"^(\S+\[.\]) \*\*(\w+)\*\*", words(app), flags=re.MULTILINE)
    return {name: mark for mark, name in lines}


def test_a_configured_model_and_a_server_that_is_down_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://127.0.0.1:9")
    app = show()
    assert status(app)["Model"] == ":blue[●]"
    assert status(app)["Index"] == ":orange[▲]"
    assert "**Index** does not work: " in words(app)
