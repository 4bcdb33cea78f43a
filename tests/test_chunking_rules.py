"""Indexes cut by earlier chunking rules: usable as they are, known as such, built anew when they are updated."""

import json

import pytest
import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig
from ragviz.documents import corpora
from ragviz.index import chunking, damage, indexing
from ragviz.retrieval import search
from ragviz.store import schema

CONFIG = IndexConfig("sentences", 12, embedder="")


@pytest.fixture
def corpus(workspace):
    corpus = workspace.store.create_corpus("notes")
    corpora.add_file(workspace, corpus, "pumps.md", b"# Pumps\n\nThe pump was replaced.\n\n## Hall\n\nIt is cold.")
    return corpus


def stored_config(workspace, name: str) -> dict:
    indexes = schema._meta.tables["indexes"]
    with workspace.store._engine.connect() as connection:
        return json.loads(connection.execute(sa.select(indexes.c.config).where(indexes.c.name == name)).scalar_one())


def test_an_index_by_earlier_rules_is_used_as_it_is_and_built_anew_when_updated(workspace, corpus, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(chunking, "RULES", 1)
        assert not indexing.build_index(workspace, corpus, "i", CONFIG).earlier_rules
        assert not chunking.by_earlier_rules(workspace.store.index("i"))
    info = workspace.store.index("i")
    assert "chunking_rules" not in stored_config(workspace, "i")  # as before there were versions
    assert info.config == CONFIG
    assert info.config.hash() == CONFIG.hash()
    assert chunking.by_earlier_rules(info)
    assert indexing.stale(workspace, info) == ([], [], [])
    assert damage.damage(workspace, info) == ""
    assert search.search(workspace, info, "pump", "bm25", 3)

    corpora.add_file(workspace, corpus, "doors.md", b"# Doors\n\nThe door is green.")
    built = indexing.build_index(workspace, corpus, "i", CONFIG)
    assert built.earlier_rules
    assert built.added == built.chunks, "no chunk of the earlier rules is kept beside those of the new ones"
    now = workspace.store.index("i")
    assert stored_config(workspace, "i")["chunking_rules"] == chunking.RULES == now.config.chunking_rules
    assert now.config.hash() != CONFIG.hash()
    assert damage.damage(workspace, now) == ""

    again = indexing.build_index(workspace, corpus, "i", CONFIG)
    assert (again.earlier_rules, again.added, again.removed) == (False, 0, 0)
