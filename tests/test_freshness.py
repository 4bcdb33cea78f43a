"""A page never shows yesterday: another process changes the store, and the next drawing shows what is there then.

The oracle is the same page in a session with empty caches. Nothing but that comparison clears a cache.
"""

import gc
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ragviz.core.configuration import RunConfig
from ragviz.core.document import Corpus
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.metrics import answers as answer_metrics
from ragviz.runs import running
from ragviz.ui import cache
from ragviz.workspace import Workspace, open_workspace
from tests.model_server import ModelServer
from tests.test_inspect import home, judged, server  # noqa: F401 - fixtures
from tests.test_pages import (
    MARKED,
    built,  # noqa: F401 - a fixture
    checked,
    copied,
    opened,
    show,
    words,
)


def content_of(app: AppTest) -> list[object]:
    """All that a page shows but its buttons and the time of day: words, tiles, tables, figures."""
    shown_words, *tables = (
        re.sub(r"just now|\d+ (min|h|s) ago", "ago", text)
        for text in (words(app), *(d.value.to_csv() for d in app.dataframe))
    )
    tiles = [(m.label, m.value, m.delta) for m in app.metric]
    return [shown_words, tiles, tables, [chart.proto.spec for chart in app.get("plotly_chart")]]


def replaced(workspace: Workspace) -> None:
    corpus = workspace.store.corpora.get("notes")
    text = "\n\n".join(f"# Pump {n}\n\nPump {n} moves {n * 11} gallons an hour." for n in range(60))
    corpora.add_file(workspace, corpus, MARKED, text.encode(), replace=True)


def rebuilt(workspace: Workspace) -> None:
    replaced(workspace)
    info = workspace.store.indexes.get("small")
    indexing.build_index(workspace, workspace.store.corpora.get("notes"), "small", info.config)


def cut_anew(workspace: Workspace) -> None:
    info = workspace.store.indexes.get("small")
    indexing.build_index(workspace, workspace.store.corpora.get("notes"), "small", replace(info.config, chunk_size=60))


def deleted(workspace: Workspace) -> None:
    corpus = workspace.store.corpora.get("notes")
    document = workspace.store.documents.find(corpus.id, MARKED)
    assert document is not None
    corpora.delete_documents(workspace, corpus, [document.id])


def judged_again(workspace: Workspace) -> None:
    """Other answers and scores, while what failed and when the run ended stay as they were."""
    run = workspace.store.runs.get("told")
    evaluated = workspace.store.judgements.all(run.id)
    new = [replace(j, recording=replace(j.recording, answer="It was judged again.")) for j in evaluated.values()]
    zero = [answer_metrics.scores(each, tuple(run.config.metrics)) for each in new]
    scores = [[s if s.value is None else replace(s, value=0.25) for s in mine] for mine in zero]
    workspace.store.judgements.put(run.id, list(zip(new, scores, strict=True)))
    assert workspace.store.runs.get("told").finished == run.finished


def asked_more(workspace: Workspace) -> None:
    """A further question in a run, whose evidence was missed."""
    store = workspace.store
    question = Question(
        "more", "What else is there?", "Nothing.", store.questions.all(store.sets.get("asked").id)[0].evidence, "hand"
    )
    for name in ("words", "vectors"):
        run = store.runs.get(name)
        store.rankings.put(run.id, [(99, question, Retrieved("more", Ranking((), ()), (("gone",),)))])


def edited(workspace: Workspace) -> None:
    question_set = workspace.store.sets.get("asked")
    first = workspace.store.questions.all(question_set.id)[0]
    workspace.store.questions.put(question_set.id, [replace(first, text="Edited elsewhere?", status="rejected")])


CASES: list[tuple[str, dict[str, str], Callable[[Workspace], None]]] = [
    ("home", {}, asked_more),
    ("documents", {"document": MARKED, "index": "small"}, rebuilt),
    ("index", {"index": "small", "query": "litres of pump 7"}, rebuilt),
    ("index", {"index": "small", "query": "litres of pump 7"}, cut_anew),
    ("index", {"index": "small", "query": "litres of pump 7"}, deleted),
    ("index", {"tab": "New index"}, replaced),
    ("questions", {"set": "asked", "question": "q2"}, edited),
    ("questions", {"set": "asked", "question": "q2"}, replaced),
    ("run", {}, edited),
    ("results", {"run": "words"}, asked_more),
    ("results", {"run": "words"}, deleted),
    ("results", {"run": "told"}, judged_again),
    ("inspect", {"run": "told", "question": "q7"}, judged_again),
    ("compare", {"runs": "words,vectors"}, asked_more),
    ("compare", {"runs": "told,told again"}, judged_again),
]


@pytest.fixture(scope="module")
def told_again(judged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    folder = copied(judged, tmp_path_factory.mktemp("again") / "home")
    with pytest.MonkeyPatch.context() as patch:
        for _ in opened(folder, patch):
            config = RunConfig("small", "told", "bm25", depth=20, answerer="extractive")
            running.run(open_workspace(), "told again", config)
    return folder


@pytest.fixture
def twice(told_again: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Another process' workspace on a copy of it."""
    copied(told_again, tmp_path / "home")
    for _ in opened(tmp_path / "home", monkeypatch):
        yield open_workspace()


@pytest.mark.parametrize(
    ("page", "params", "change"), CASES, ids=[f"{c[0]}-{c[2].__name__}-{i}" for i, c in enumerate(CASES)]
)
def test_a_page_shows_what_another_process_changed(
    twice: Workspace, page: str, params: dict[str, str], change: Callable[[Workspace], None]
) -> None:
    app = show(page, corpus="notes", **params)
    before = content_of(app)
    change(twice)
    after = content_of(checked(app.run()))
    st.cache_data.clear()
    st.cache_resource.clear()
    assert after == content_of(checked(app.run()))
    assert after != before, "the change is one that this page shows"


@pytest.mark.parametrize("change", [edited, cut_anew, replaced, lambda w: w.store.prices.put({"loopback": (1.0, 1.0)})])
def test_an_estimate_does_not_outlive_what_it_rests_on(
    server: ModelServer,  # noqa: F811
    change: Callable[[Workspace], None],
) -> None:
    app = show("run", index="small", set="asked")
    next(g for g in app.get("button_group") if g.key and g.key.startswith("answerer-")).set_value("model")
    app.run()
    next(b for b in app.button if b.label == "Estimate calls and cost").click()
    checked(app.run())
    assert {m.label: m.value for m in app.metric}["Calls to pay"] != "–"
    change(open_workspace())
    checked(app.run())
    assert {m.label: m.value for m in app.metric}["Calls to pay"] == "–", "it is to be estimated again"


def test_prices_that_another_process_enters_hold_for_the_next_call(server: ModelServer) -> None:  # noqa: F811
    here = open_workspace()
    assert not here.client("loopback").priced
    assert here.client("loopback") is here.client("loopback")
    open_workspace().store.prices.put({"loopback": (1.0, 2.0)})
    assert here.client("loopback").priced


def test_edits_in_a_table_are_not_written_to_other_rows(home: Path) -> None:  # noqa: F811
    """They are kept by row: what another process or a filter puts into that row is another question."""
    app = show("questions", set="asked", **{"in-table": "true"})
    key = next(name for name in editors(app))
    edited(open_workspace())
    checked(app.run())
    assert next(name for name in editors(app)) != key
    other = show("questions", set="asked", find="older", **{"in-table": "true"})
    assert next(name for name in editors(other)) not in (key, next(name for name in editors(app)))


def editors(app: AppTest) -> list[str]:
    return [str(d.proto.id) for d in app.dataframe if d.proto.editing_mode]


class Ring:
    """Refers to itself: only the search for cyclic garbage frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.model
def test_frozen_objects_are_not_searched_and_frozen_garbage_is_freed_once_much_was_made() -> None:
    gc.unfreeze()
    kept = [[number] for number in range(60_000)]
    ring = Ring()
    freed = weakref.ref(ring)
    cache.freeze()
    assert gc.get_freeze_count() > len(kept) > len(gc.get_objects())
    del ring
    gc.collect()
    assert freed() is not None
    cache.freeze()  # little was made
    assert freed() is not None
    more = [[number] for number in range(60_000)]
    cache.freeze()
    assert freed() is None
    assert gc.get_freeze_count() > len(kept) + len(more)


def test_what_was_made_of_a_former_state_is_freed(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_opened", [workspace])
    corpus = workspace.store.corpora.add("notes")

    @cache.kept(8)
    def made(corpus: Corpus) -> set[str]:
        return {corpus.name}

    former = weakref.ref(made(corpus))
    assert made(corpus) is former()
    workspace.store.touch(corpus.id)
    present = made(corpus)
    assert former() is None
    assert made(corpus) is present


def test_a_click_on_what_was_deleted_meanwhile_does_nothing_to_what_replaces_it(twice: Workspace) -> None:
    first = twice.store.questions.all(twice.store.sets.get("asked").id)
    twice.store.questions.put(twice.store.sets.add(twice.store.corpora.get("notes").id, "copy").id, first)
    app = show("questions", corpus="notes", set="copy", edit=first[0].id)
    twice.store.sets.delete(twice.store.sets.get("copy").id)
    app.button(key="delete-set").click()
    checked(app.run())
    assert "edit" not in app.query_params
    assert "Delete" not in [button.label for button in app.button], "no question about another set"
