"""An index that is not what was built any more is told and mended; it never answers, and never as if nothing fitted."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ragviz import cli, corpora, damage, indexing, pipeline, running
from ragviz.config import Settings
from ragviz.errors import SearchError
from ragviz.index import checksums
from ragviz.index.elastic import ElasticIndex
from ragviz.index.local import LocalIndex
from ragviz.records import IndexConfig, IndexInfo, RunConfig
from ragviz.workspace import Workspace
from tests.model_server import ModelServer

PLACES = ["north", "south", "east", "west", "upper", "lower", "inner", "outer"]
TEXT = "\n\n".join(f"The {place} pump costs {40 + number} euros a year." for number, place in enumerate(PLACES))
ROW = {"id": "q", "question": "What does the east pump cost?", "answer": "42", "document": "pumps.txt",
       "quote": "The east pump costs 42 euros"}  # fmt: skip


@pytest.fixture(params=["local", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def workspace(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    with ModelServer() as server:
        home = {"RAGVIZ_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.url, "RAGVIZ_EMBEDDER": "openai:bags"}
        if backend == "elasticsearch":
            home["ELASTICSEARCH_URL"] = request.getfixturevalue("elasticsearch_url")
        else:
            monkeypatch.delenv("ELASTICSEARCH_URL", raising=False)
        for name, value in home.items():
            monkeypatch.setenv(name, value)
        workspace = Workspace(Settings(_env_file=None))
        corpus = workspace.store.create_corpus("pumps")
        corpora.add_file(workspace, corpus, "pumps.txt", TEXT.encode())
        build(workspace, backend)
        pipeline.import_questions(workspace, corpus, json.dumps(ROW).encode(), "q.jsonl", "q")
        yield workspace
        indexing.delete_corpus(workspace, corpus)


def build(workspace: Workspace, backend: str) -> indexing.Built:
    config = IndexConfig("sentences", 16, embedder="openai:bags", backend=backend)
    return indexing.build_index(workspace, workspace.store.corpus("pumps"), "my pumps", config)


def index_of(workspace: Workspace) -> LocalIndex | ElasticIndex:
    return workspace.index(workspace.store.index("my pumps"))


def folder_of(workspace: Workspace) -> Path:
    index = index_of(workspace)
    assert isinstance(index, LocalIndex)
    return index.folder / str(index.live_name())


def other_order(workspace: Workspace, name: str) -> None:
    """The same rows in a file of the same size, the first one last."""
    path = folder_of(workspace) / name
    if path.suffix == ".npy":
        np.save(path, np.roll(np.load(path), 1, axis=0))
    else:
        path.write_bytes(np.roll(np.frombuffer(path.read_bytes(), np.uint8), 384 * 4).tobytes())


def flip(workspace: Workspace, pattern: str) -> None:
    """One bit of a file."""
    path = next(folder_of(workspace).glob(pattern))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def older_content(workspace: Workspace) -> None:
    """What a backup of the folder alone brings back: a whole index, of as many chunks, that the store does not know."""
    folder, corpus = index_of(workspace).folder, workspace.store.corpus("pumps")
    shutil.copytree(folder, folder.with_name("kept"))
    corpora.add_file(workspace, corpus, "pumps.txt", TEXT.replace("pump", "pipe").encode(), replace=True)
    assert build(workspace, "local").added == len(PLACES)
    shutil.rmtree(folder)
    folder.with_name("kept").rename(folder)


def pointing_to(workspace: Workspace, content: bytes) -> None:
    """The file that names the generation says another thing."""
    (index_of(workspace).folder / "live").write_bytes(content)


def other_kind(workspace: Workspace, name: str) -> None:
    """A folder where a file was, and the other way round."""
    path = index_of(workspace).folder / name
    if path.is_dir():
        shutil.rmtree(path)
        path.touch()
    else:
        path.unlink()
        path.mkdir()


def without_one(workspace: Workspace) -> None:
    """One document less on the server."""
    index = index_of(workspace)
    client, ((concrete, _),) = index.server.client, index.concretes().items()
    client.indices.put_settings(index=concrete, settings={"index.blocks.write": None})
    hit = client.search(index=concrete, size=1)["hits"]["hits"][0]["_id"]
    client.delete(index=concrete, id=hit, refresh=True)


def without_alias(workspace: Workspace) -> None:
    index = index_of(workspace)
    index.server.client.indices.delete_alias(index="*", name=index.alias)


LOCAL: dict[str, tuple[Callable[[Workspace], None], str]] = {
    "its folder": (lambda w: shutil.rmtree(index_of(w).folder), "gone from"),
    "its vectors": (lambda w: other_order(w, "rows/vectors.f32"), r"vectors\.f32 is not the file that was built"),
    "its ids": (lambda w: other_order(w, "ids.npy"), r"ids\.npy is not the file"),
    "its terms": (lambda w: flip(w, "rows/terms.txt"), r"terms\.txt is not the file"),
    "its BM25": (lambda w: flip(w, "bm25/*.term"), r"\.term is not the file"),
    "its checksums": (lambda w: (folder_of(w) / checksums.NAME).unlink(), "No such file"),
    "its checksums, none": (lambda w: (folder_of(w) / checksums.NAME).write_text("{}"), r"checksums\.json is damaged"),
    "its pointer, no text": (lambda w: pointing_to(w, b"\xff\xfe\x00"), "cannot be read there"),
    "its pointer, empty": (lambda w: pointing_to(w, b""), "cannot be read there"),
    "its pointer, out of its folder": (lambda w: pointing_to(w, b"../.."), "cannot be read there"),
    "its pointer, a folder": (lambda w: other_kind(w, "live"), "cannot be read there"),
    "its folder, a file": (lambda w: other_kind(w, ""), "cannot be read there"),
    "another build": (older_content, "chunks are those of another build"),
}
ON_A_SERVER: dict[str, tuple[Callable[[Workspace], None], str]] = {
    "its concrete index": (lambda w: index_of(w).drop(), "gone from Elasticsearch"),
    "its alias": (without_alias, "gone from Elasticsearch"),
    "one of its chunks": (without_one, "it has 7 chunks, and 8 were built"),
}


@pytest.mark.parametrize("what", [*LOCAL, *ON_A_SERVER])
def test_damage_is_told_and_mended(workspace: Workspace, backend: str, what: str):
    broken, reason = (LOCAL | ON_A_SERVER)[what]
    if (what in LOCAL) != (backend == "local"):
        pytest.skip("of the other backend")
    info = workspace.store.index("my pumps")
    assert damage.damage(workspace, info) == ""
    broken(workspace)
    info = workspace.store.index("my pumps")
    config = RunConfig(info.id, workspace.store.question_set("q").id, "bm25", 3, 5)
    said = f"Index 'my pumps' is damaged: .*{reason}.*`ragviz index build pumps --name 'my pumps'"
    for way in ("knn", "bm25", "hybrid"):
        with pytest.raises(SearchError, match=said):
            indexing.search(workspace, info, "east pump", way, 3)
    with pytest.raises(SearchError, match=said):
        running.run(workspace, "r", config)
    assert not workspace.store.runs()

    built = build(workspace, backend)
    assert (built.chunks, built.embedded) == (8, 0)
    info = workspace.store.index("my pumps")
    assert damage.damage(workspace, info) == ""
    assert "east" in indexing.search(workspace, info, "east", "bm25", 3)[0].chunk.text
    running.run(workspace, "r", config)


def test_an_index_that_vanishes_during_a_run_ends_it(workspace: Workspace):
    info = workspace.store.index("my pumps")
    for way in ("knn", "bm25", "hybrid"):
        ranked = indexing.retriever(workspace, info, way)
        assert ranked(["east pump"], 3)[0].ids
        index_of(workspace).drop()
        with pytest.raises(SearchError, match="is damaged: it is gone from"):
            ranked(["east pump"], 3)
        build(workspace, info.config.backend)
        info = workspace.store.index("my pumps")


@pytest.mark.parametrize("backend", ["local"], indirect=True)
def test_the_command_that_is_offered_mends_with_the_same_choices(workspace: Workspace, monkeypatch, capsys):
    before = workspace.store.index("my pumps")
    shutil.rmtree(index_of(workspace).folder)
    command = damage.build_command(workspace, before)
    assert command == "ragviz index build pumps --name 'my pumps' --chunker sentences --chunk-size 16"

    def ragviz(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ragviz", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code
        return capsys.readouterr().out

    assert json.loads(ragviz("index", "list", "--json"))[0]["damage"].startswith("it is gone from")
    ragviz("index", "build", "pumps", "--name", "my pumps", "--chunker", "sentences", "--chunk-size", "16")
    assert json.loads(ragviz("index", "list", "--json"))[0]["damage"] == ""
    assert workspace.store.index("my pumps").config == before.config


@pytest.mark.parametrize("backend", ["local"], indirect=True)
def test_unchanged_files_are_read_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    info = workspace.store.index("my pumps")
    monkeypatch.setattr(checksums, "_compared", {})
    read: list[str] = []
    sum_of = checksums._sum_of
    monkeypatch.setattr(checksums, "_sum_of", lambda path: (read.append(str(path)), sum_of(path))[1])
    assert damage.damage(workspace, info) == damage.damage(workspace, info) == ""
    assert sorted(set(read)) == sorted(read)
    assert any(path.endswith("vectors.f32") for path in read)


@pytest.mark.parametrize("backend", ["local"], indirect=True)
def test_an_index_of_an_earlier_version_is_searched_as_before(workspace: Workspace):
    """It has neither checksums nor a digest: what can be compared is."""
    folder = folder_of(workspace)
    (folder / checksums.NAME).unlink()
    meta = json.loads((folder / "meta.json").read_text())
    del meta["content"]
    (folder / "meta.json").write_text(json.dumps(meta))
    info: IndexInfo = workspace.store.index("my pumps")
    assert damage.damage(workspace, info) == ""
    np.save(folder / "ids.npy", np.load(folder / "ids.npy")[:-1])
    assert "7 ids, 8 vectors and 8 texts" in damage.damage(workspace, info)
