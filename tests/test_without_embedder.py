"""An index without an embedder: built, updated, damaged, searched and run on both backends, and nothing is embedded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
from ragviz.runs import choices, running
from ragviz.workspace import Workspace, open_workspace
from tests.conftest import CommandResult

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


def test_a_build_embeds_nothing(workspace: Workspace, corpus: Corpus, config: IndexConfig):
    built = indexing.build_index(workspace, corpus, "words", config)
    info = workspace.store.indexes.get("words")
    assert (built.chunks, built.added, built.embedded, built.longer_than_read, built.calls) == (8, 8, 0, 0, 0)
    assert (info.status, info.dims, info.embedder_identity, info.chunks) == ("ready", 0, "", 8)
    index = workspace.index(info)
    assert (index.count(), damage.damage(workspace, info)) == (8, "")
    assert index.size() > 0


def test_damage_is_found_and_mended_by_its_own_command(workspace: Workspace, corpus: Corpus, config: IndexConfig):
    indexing.build_index(workspace, corpus, "words", config)
    info = workspace.store.indexes.get("words")
    workspace.index(info).drop()
    assert damage.damage(workspace, info) != ""
    with pytest.raises(SearchError, match="ragviz index build pumps --name words"):
        search.search(workspace, info, "east pump", "bm25", 3)
    indexing.build_index(workspace, corpus, "words", config)
    assert damage.damage(workspace, workspace.store.indexes.get("words")) == ""


def test_a_run_by_bm25(workspace: Workspace, corpus: Corpus, config: IndexConfig):
    indexing.build_index(workspace, corpus, "words", config)
    choice = RunConfig("words", "q", "bm25", answerer="extractive", metrics=("token_f1",))
    assert running.foresee(workspace, choice).questions == 1
    run = running.run(workspace, "by words", choice, budget=1.0)
    [result] = workspace.store.rankings.all(run.id)
    assert result.ranking.ids[:1] == result.gold[0]


@pytest.mark.parametrize("name", ["knn", "hybrid"])
def test_retrievers_that_compare_vectors_are_refused_before_anything_is_made(
    workspace: Workspace, corpus: Corpus, config: IndexConfig, name: str
):
    indexing.build_index(workspace, corpus, "words", config)
    info = workspace.store.indexes.get("words")
    choice = RunConfig("words", "q", name)  # type: ignore[arg-type]
    for use in (
        lambda: search.search(workspace, info, "east pump", name, 3),  # type: ignore[arg-type]
        lambda: choices.resolved(workspace, choice),
        lambda: running.foresee(workspace, choice),
        lambda: running.run(workspace, "r", choice),
    ):
        with pytest.raises(UsageError, match=rf"'{name}' compares vectors.*'words'.*without an embedder: use bm25, or"):
            use()
    assert workspace.store.runs.find("r") is None


# The command line


@pytest.fixture
def ragviz(command_line: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Call the command line in this process: (exit code, standard output, standard error)."""
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pumps.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "q.jsonl").write_text(json.dumps(ROW), encoding="utf-8")

    assert command_line("corpus", "add", "pumps", "pumps.txt")[0] == 0
    assert command_line("questions", "import", "pumps", "q.jsonl", "--name", "q")[0] == 0
    return command_line


def test_the_command_line_builds_and_searches_without_an_embedder(ragviz):
    choice = ("--embedder", "none", "--chunker", "sentences", "--chunk-size", 16)
    code, out, _ = ragviz("index", "preview", "pumps", *choice)
    assert code == 0
    assert "8 chunks" in out
    assert "nothing to embed" in out
    code, out, err = ragviz("index", "build", "pumps", "--name", "words", *choice, "--json")
    assert (code, json.loads(out)["embedded"], json.loads(out)["chunks"]) == (0, 0, 8), err
    code, out, _ = ragviz("index", "list", "--json")
    [row] = json.loads(out)
    assert (row["config"]["embedder"], row["damage"]) == ("", "")
    code, out, _ = ragviz("index", "search", "words", "the east pump", "--json")
    assert (code, "east" in json.loads(out)[0]["text"]) == (0, True)
    for words_of in (("index", "search", "words", "pump"), ("run", "--index", "words", "--questions", "q")):
        code, out, err = ragviz(*words_of, "--retriever", "knn")
        assert (code, out) == (2, "")
        assert "built without an embedder: use bm25, or build an index with an embedder" in " ".join(err.split())
    code, out, err = ragviz("run", "--index", "words", "--questions", "q", "--name", "r", "--json")
    assert code == 0, err
    assert open_workspace().store.runs.get("r").config.retriever == "bm25"
