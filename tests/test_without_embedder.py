"""An index without an embedder: built, updated, damaged, searched and run on both backends, and nothing is embedded."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Corpus
from ragviz.core.errors import SearchError, UsageError
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import damage, deletion, indexing
from ragviz.questions import exchange
from ragviz.retrieval import search
from ragviz.runs import running
from ragviz.workspace import Workspace

PLACES = ["north", "south", "east", "west", "upper", "lower", "inner", "outer"]
TEXT = "\n\n".join(f"The {place} pump costs {40 + number} euros a year." for number, place in enumerate(PLACES))
ROW = {"id": "q", "question": "What does the east pump cost?", "answer": "42", "document": "pumps.txt",
       "quote": "The east pump costs 42 euros"}  # fmt: skip


def embeds_nothing(*_: object) -> None:
    raise AssertionError("an embedder was opened")


@pytest.fixture
def workspace(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    monkeypatch.setattr(Workspace, "embedder", embeds_nothing)
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    url = request.getfixturevalue("elasticsearch_url") if backend == "elasticsearch" else None
    workspace = Workspace(Settings(_env_file=None, home=tmp_path / "home", elasticsearch_url=url))
    corpus = workspace.store.corpora.add("pumps")
    corpora.add_file(workspace, corpus, "pumps.txt", TEXT.encode())
    exchange.import_data(workspace, corpus, json.dumps(ROW).encode(), "q.jsonl", "q")
    yield workspace
    deletion.delete_corpus(workspace, corpus)


@pytest.fixture
def corpus(workspace: Workspace) -> Corpus:
    return workspace.store.corpora.get("pumps")


@pytest.fixture
def config(backend: str) -> IndexConfig:
    return IndexConfig("sentences", 16, embedder="", backend=backend)  # type: ignore[arg-type]


def test_a_build_a_run_and_a_repair_embed_nothing(workspace: Workspace, corpus: Corpus, config: IndexConfig):
    built = indexing.build_index(workspace, corpus, "words", config)
    info = workspace.store.indexes.get("words")
    assert (built.chunks, built.added, built.embedded, built.longer_than_read, built.calls) == (8, 8, 0, 0, 0)
    assert (info.status, info.dims, info.embedder_identity, info.chunks) == ("ready", 0, "", 8)
    assert (workspace.index(info).count(), damage.damage(workspace, info)) == (8, "")
    choice = RunConfig("words", "q", "bm25", answerer="extractive", metrics=("token_f1",))
    [result] = workspace.store.rankings.all(running.run(workspace, "by words", choice, budget=1.0).id)
    assert result.ranking.ids[:1] == result.gold[0]
    workspace.index(info).drop()
    assert damage.damage(workspace, info) != ""
    with pytest.raises(SearchError, match="ragviz index build pumps --name words"):
        search.search(workspace, info, "east pump", "bm25", 3)
    indexing.build_index(workspace, corpus, "words", config)
    assert damage.damage(workspace, workspace.store.indexes.get("words")) == ""


def test_retrievers_that_compare_vectors_are_refused_before_anything_is_made(
    workspace: Workspace, corpus: Corpus, config: IndexConfig
):
    indexing.build_index(workspace, corpus, "words", config)
    info, choice = workspace.store.indexes.get("words"), RunConfig("words", "q", "hybrid")
    for use in (
        lambda: search.search(workspace, info, "east pump", "hybrid", 3),
        lambda: running.foresee(workspace, choice),
        lambda: running.run(workspace, "r", choice),
    ):
        with pytest.raises(UsageError, match=r"'hybrid' compares vectors.*without an embedder: use bm25, or"):
            use()
    assert workspace.store.runs.find("r") is None


def test_the_command_line_previews_and_proposes_bm25_without_an_embedder(workspace, backend, command_line):
    if backend == "elasticsearch":
        pytest.skip("what the command line does rests on no backend")
    choice = ("--embedder", "none", "--chunker", "sentences", "--chunk-size", 16)
    code, out, _ = command_line("index", "preview", "pumps", *choice)
    assert (code, "8 chunks" in out, "nothing to embed" in out) == (0, True, True)
    assert command_line("index", "build", "pumps", "--name", "words", *choice)[0] == 0
    assert command_line("run", "--index", "words", "--questions", "q", "--name", "r")[0] == 0
    assert workspace.store.runs.get("r").config.retriever == "bm25"
