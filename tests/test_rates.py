"""Rates of work on this machine: worked by hand, kept per machine, and learnt by real work."""

import socket

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.documents import corpora
from ragviz.index import embedded_chunks, indexing
from ragviz.store import stored_calls


@pytest.fixture
def cache(workspace):
    return workspace.store.cache("rate")


def test_a_rate_is_all_units_by_all_seconds(cache):
    stored_calls.learn(cache, "chunks", 90, 10)
    assert stored_calls.rate(cache, "chunks") == 9.0
    stored_calls.learn(cache, "chunks", 30, 30)
    assert stored_calls.rate(cache, "chunks") == 120 / 40
    assert stored_calls.duration(cache, "chunks", 60) == 20.0
    assert stored_calls.rate(cache, "questions") is None


def test_of_more_than_ten_minutes_the_earlier_fade(cache):
    stored_calls.learn(cache, "chunks", 4000, 400)  # 10 a second
    stored_calls.learn(cache, "chunks", 800, 400)  # 2 a second: half of the first 400 s still counts
    assert stored_calls.rate(cache, "chunks") == pytest.approx((2000 + 800) / 600)
    stored_calls.learn(cache, "chunks", 700, 700)  # longer than the history: the rest is forgotten
    assert stored_calls.rate(cache, "chunks") == 1.0


def test_another_machine_at_the_same_database_has_its_own(cache, monkeypatch):
    stored_calls.learn(cache, "chunks", 90, 10)
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert stored_calls.rate(cache, "chunks") is None


@pytest.mark.model
def test_a_build_teaches_how_fast_texts_are_embedded_and_cached_ones_teach_nothing(workspace, cache):
    corpus = workspace.store.corpora.add("notes")
    text = " ".join(f"Pump {n} was checked on day {n * 7 % 31}." for n in range(300))
    corpora.add_file(workspace, corpus, "notes.txt", text.encode())
    indexing.build_index(workspace, corpus, "i", IndexConfig(chunk_size=60))
    name = workspace.settings.embedder
    tokens = stored_calls.rate(cache, embedded_chunks.tokens_by(name))
    assert tokens is not None
    indexing.build_index(workspace, corpus, "j", IndexConfig(chunk_size=60))
    assert stored_calls.rate(cache, embedded_chunks.tokens_by(name)) == tokens
