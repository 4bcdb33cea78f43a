"""A damaged index is reported and repaired; it never answers, least of all with no hits."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ragviz.backends import checksums, elastic_server
from ragviz.backends.elastic import ElasticIndex
from ragviz.backends.local import LocalIndex
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import SearchError
from ragviz.core.index_info import IndexInfo
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import damage, deletion, indexing
from ragviz.questions import exchange
from ragviz.retrieval import search
from ragviz.runs import running
from ragviz.store.stored_indexes import StoredIndexes
from ragviz.ui import cache
from ragviz.workspace import Workspace
from tests.model_server import ModelServer
from tests.test_pages import PAGES, visit, words

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

PLACES = ["north", "south", "east", "west", "upper", "lower", "inner", "outer"]
TEXT = "\n\n".join(f"The {place} pump costs {40 + number} euros a year." for number, place in enumerate(PLACES))
ROW = {"id": "q", "question": "What does the east pump cost?", "answer": "42", "document": "pumps.txt",
       "quote": "The east pump costs 42 euros"}  # fmt: skip


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
        corpus = workspace.store.corpora.add("pumps")
        corpora.add_file(workspace, corpus, "pumps.txt", TEXT.encode())
        build(workspace, backend)
        exchange.import_data(workspace, corpus, json.dumps(ROW).encode(), "q.jsonl", "q")
        yield workspace
        deletion.delete_corpus(workspace, corpus)
        if backend == "elasticsearch":
            elastic_server.Server(home["ELASTICSEARCH_URL"], None).client.options(ignore_status=404).indices.delete(
                index="letters"
            )


def build(workspace: Workspace, backend: str, name: str = "my pumps") -> indexing.Built:
    config = IndexConfig("sentences", 16, embedder="openai:bags", backend=backend)
    return indexing.build_index(workspace, workspace.store.corpora.get("pumps"), name, config)


def index_of(workspace: Workspace) -> LocalIndex | ElasticIndex:
    return workspace.index(workspace.store.indexes.get("my pumps"))


def folder_of(workspace: Workspace) -> Path:
    index = index_of(workspace)
    assert isinstance(index, LocalIndex)
    return index.folder / str(index.live_name())


def overwrite(path: Path, content: bytes) -> None:
    """Change a file in place: one that is cut first, while a thread has it mapped, ends the process (SIGBUS)."""
    assert len(content) == path.stat().st_size
    with path.open("r+b") as file:
        file.write(content)


def other_order(workspace: Workspace, name: str) -> None:
    """The same rows in a file of the same size, the first one last."""
    path = folder_of(workspace) / name
    if path.suffix == ".npy":
        saved = io.BytesIO()
        np.save(saved, np.roll(np.load(path), 1, axis=0))
        overwrite(path, saved.getvalue())
    else:
        overwrite(path, np.roll(np.frombuffer(path.read_bytes(), np.uint8), 384 * 4).tobytes())


def flip(workspace: Workspace, pattern: str) -> None:
    """One bit of a file."""
    path = next(folder_of(workspace).glob(pattern))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    overwrite(path, bytes(content))


def older_content(workspace: Workspace) -> None:
    """What a backup of the folder alone brings back: a whole index, of as many chunks, that the store does not know."""
    folder, corpus = index_of(workspace).folder, workspace.store.corpora.get("pumps")
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


def waiting(workspace: Workspace, pattern: str) -> None:
    """A FIFO where a file was: whoever opens it waits."""
    path = next(index_of(workspace).folder.glob(pattern))
    path.unlink()
    os.mkfifo(path)


def on_the_server(workspace: Workspace) -> tuple[Elasticsearch, str, str]:
    """The server's client, and the names of the concrete index and of its alias."""
    index = index_of(workspace)
    assert isinstance(index, ElasticIndex)
    (concrete,) = index.concretes()
    return index.server.client, concrete, index.alias


def written_to(workspace: Workspace, *, deleted: int = 0, added: int = 0, refresh: bool = True) -> None:
    """Documents that somebody deletes from the index and adds to it; some of the added replace others."""
    client, concrete, _ = on_the_server(workspace)
    client.indices.put_settings(index=concrete, settings={"index.blocks.write": None, "refresh_interval": "-1"})
    ids = [hit["_id"] for hit in client.search(index=concrete, size=8)["hits"]["hits"]]
    for each in ids[:deleted]:
        client.delete(index=concrete, id=each)
    for each in ids[len(ids) - added :]:
        body = {"chunk_id": "f-00000000-00000009", "document_id": "f", "terms": "east pump", "vector": [1.0] * 64}
        client.index(index=concrete, id=f"x{each}" if deleted else each, document=body)
    if refresh:
        client.indices.refresh(index=concrete)


def with_settings(workspace: Workspace, **settings: object) -> None:
    client, concrete, _ = on_the_server(workspace)
    client.indices.put_settings(index=concrete, settings=settings)


def closed(workspace: Workspace) -> None:
    client, concrete, _ = on_the_server(workspace)
    client.indices.close(index=concrete)


def without_alias(workspace: Workspace) -> None:
    client, concrete, alias = on_the_server(workspace)
    client.indices.delete_alias(index=concrete, name=alias)


def leading_elsewhere(workspace: Workspace, *, both: bool) -> None:
    """The alias leads to an index of somebody else, alone or too."""
    client, concrete, alias = on_the_server(workspace)
    client.indices.create(index="letters", mappings={"properties": {"chunk_id": {"type": "keyword"}}})
    taken = [] if both else [{"remove": {"index": concrete, "alias": alias}}]
    client.indices.update_aliases(actions=[*taken, {"add": {"index": "letters", "alias": alias}}])


def with_a_filter(workspace: Workspace) -> None:
    client, concrete, alias = on_the_server(workspace)
    add = {"index": concrete, "alias": alias, "filter": {"term": {"document_id": "none"}}}
    client.indices.update_aliases(actions=[{"add": add}])


def made_by_a_write(workspace: Workspace) -> None:
    """The index is deleted, and the server makes one called like the alias when somebody writes to it."""
    client, concrete, alias = on_the_server(workspace)
    client.indices.delete(index=concrete)
    client.index(index=alias, id="1", document={"chunk_id": "1"}, refresh=True)


def made_again(workspace: Workspace, dims: int, count: int, **settings: object) -> None:
    """An index of the same name, mappings and metadata, but for the dimensions, with so many other chunks."""
    client, concrete, alias = on_the_server(workspace)
    mappings = client.indices.get_mapping(index=concrete)[concrete]["mappings"]
    mappings["properties"]["vector"]["dims"] = dims
    client.indices.delete(index=concrete)
    client.indices.create(
        index=concrete, mappings=mappings, aliases={alias: {}}, settings=settings, wait_for_active_shards=0
    )
    for number in range(count):
        body = {"chunk_id": f"f-0000000{number}-00000009", "document_id": "f", "terms": "east", "vector": [1.0] * dims}
        client.index(index=concrete, document=body, refresh=True)


LOCAL: dict[str, tuple[Callable[[Workspace], None], str]] = {
    "its folder": (lambda w: shutil.rmtree(index_of(w).folder), "removed from"),
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
    "its pointer, a FIFO": (lambda w: waiting(w, "live"), "cannot be read there"),
    "its vectors, a FIFO": (lambda w: waiting(w, "gen-*/rows/vectors.f32"), r"vectors\.f32 is neither a file nor"),
    "the folder of all indexes": (lambda w: shutil.rmtree(index_of(w).folder.parent), "removed from"),
    "another build": (older_content, "chunks are those of another build"),
}
ON_A_SERVER: dict[str, tuple[Callable[[Workspace], None], str]] = {
    "its concrete index": (lambda w: index_of(w).drop(), "removed from Elasticsearch"),
    "its alias": (without_alias, "removed from Elasticsearch"),
    "one of its chunks": (lambda w: written_to(w, deleted=1), "it has 7 chunks, and 8 were built"),
    "all of its chunks": (lambda w: written_to(w, deleted=8), "it has 0 chunks, and 8 were built"),
    "deleted, seen at the next refresh": (lambda w: written_to(w, deleted=8, refresh=False), "somebody changed it"),
    "a chunk is changed": (lambda w: written_to(w, added=1), "somebody changed it"),
    "a chunk for another": (lambda w: written_to(w, deleted=1, added=1), "somebody changed it"),
    "closed": (closed, "it is closed on Elasticsearch at http"),
    "not to be read": (lambda w: with_settings(w, **{"index.blocks.read": True}), "it is blocked on Elasticsearch"),
    "the alias leads elsewhere": (lambda w: leading_elsewhere(w, both=False), "leads to 'letters'"),
    "the alias leads elsewhere too": (lambda w: leading_elsewhere(w, both=True), "leads to .*'letters'"),
    "the alias has a filter": (with_a_filter, "it has 0 chunks, and 8 were built"),
    "an index is called like the alias": (made_by_a_write, "leads to 'ragviz-my-pumps"),
    "made again, other dimensions": (lambda w: made_again(w, 3, 8), "somebody changed it"),
    "made again, other chunks": (lambda w: made_again(w, 64, 9), "it has 9 chunks, and 8 were built"),
    "no node takes its shard": (
        lambda w: made_again(w, 64, 0, **{"index.routing.allocation.require._name": "nobody"}),
        "1 of its 1 shards cannot be reached on Elasticsearch at http",
    ),
}  # fmt: skip


DAMAGES = [pytest.param("local", *each, id=what) for what, each in LOCAL.items()] + [
    pytest.param("elasticsearch", *each, id=f"on a server: {what}", marks=pytest.mark.elasticsearch)
    for what, each in ON_A_SERVER.items()
]


@pytest.mark.parametrize(("backend", "broken", "reason"), DAMAGES, indirect=["backend"])
def test_damage_is_told_and_mended(
    workspace: Workspace, backend: str, broken: Callable[[Workspace], None], reason: str
):
    info = workspace.store.indexes.get("my pumps")
    assert damage.damage(workspace, info) == ""
    broken(workspace)
    info = workspace.store.indexes.get("my pumps")
    config = RunConfig(info.id, workspace.store.sets.get("q").id, "bm25", k=3, depth=5)
    message = f"Index 'my pumps' is damaged: .*{reason}.*`ragviz index build pumps --name 'my pumps'"
    for way in ("knn", "bm25", "hybrid"):
        with pytest.raises(SearchError, match=message):
            search.search(workspace, info, "east pump", way, 3)
    with pytest.raises(SearchError, match=message):
        running.run(workspace, "r", config)
    assert not workspace.store.runs.all()

    built = build(workspace, backend)
    assert (built.chunks, built.embedded) == (8, 0)
    info = workspace.store.indexes.get("my pumps")
    assert damage.damage(workspace, info) == ""
    assert "east" in search.search(workspace, info, "east", "bm25", 3)[0].chunk.text
    running.run(workspace, "r", config)


def test_an_index_that_vanishes_during_a_run_ends_it(workspace: Workspace):
    info = workspace.store.indexes.get("my pumps")
    for way in ("knn", "bm25", "hybrid"):
        ranked = search.retriever(workspace, info, way)
        assert ranked(["east pump"], 3)[0].ids
        index_of(workspace).drop()
        with pytest.raises(SearchError, match="is damaged: it was removed from"):
            ranked(["east pump"], 3)
        build(workspace, info.config.backend)
        info = workspace.store.indexes.get("my pumps")


@pytest.fixture
def stretched(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Thread, Event]]:
    """A build of more documents, as another process makes it, paused after publishing and before its row is written."""
    published, written = Event(), Event()
    update = StoredIndexes.update

    def paused_update(store: StoredIndexes, info: IndexInfo, cuts: Any = None) -> None:
        if cuts is not None:
            published.set()
            written.wait(30)
        update(store, info, cuts)

    corpora.add_file(
        workspace, workspace.store.corpora.get("pumps"), "pipes.txt", TEXT.replace("pump", "pipe").encode()
    )
    monkeypatch.setattr(StoredIndexes, "update", paused_update)
    other = Workspace(workspace.settings)
    building = Thread(target=build, args=(other, workspace.store.indexes.get("my pumps").config.backend))
    building.start()
    assert published.wait(30)
    yield building, written
    written.set()
    building.join()


def test_a_build_that_was_killed_after_it_published_is_damage(
    workspace: Workspace, stretched: tuple[Thread, Event], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(damage, "PUBLISHING_SECONDS", 0.2)
    info = workspace.store.indexes.get("my pumps")
    with pytest.raises(SearchError, match=r"is damaged: its chunks are those of another build.*ragviz index build"):
        search.search(workspace, info, "east", "bm25", 3)


NOBODY = "http://elastic:hunter2@127.0.0.1:9"


def opened(page: str, **params: str) -> tuple[str, str]:
    """The text of a page, and of its error boxes."""
    cache.workspace.clear()
    app = visit(page, corpus="pumps", run="r", **params)
    if page == "index" and "query" in params:  # by an endpoint's embedder only when a person says so
        next(button for button in app.button if button.label == "Search").click()
        app.run()
    assert not app.exception
    return words(app), "\n".join(markup_undone(box.value) for box in app.error)


def markup_undone(text: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).replace("\u200b", "")


def test_no_page_takes_a_damaged_index_for_an_answer(workspace: Workspace, backend: str):
    info = workspace.store.indexes.get("my pumps")
    running.run(workspace, "r", RunConfig(info.id, workspace.store.sets.get("q").id, "bm25", k=3, depth=5))
    shutil.rmtree(index_of(workspace).folder) if backend == "local" else closed(workspace)
    reason = "it was removed from" if backend == "local" else "it is closed on Elasticsearch at"
    for page in PAGES:
        text, errors = opened(page, question="q", index="my pumps", query="east pump")
        if page == "index":
            assert f"**Damaged**: {reason}" in text
            assert f"Index 'my pumps' is damaged: {reason}" in errors
            assert "Nothing found" not in text
        else:
            assert not errors
    cache.workspace.clear()
