"""Approximate search of a real Elasticsearch against exact search over the same chunks."""

from __future__ import annotations

import pytest

from ragviz import sample
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.questions import exchange
from ragviz.runs import running, searched_again, what_if_of_run
from ragviz.workspace import Workspace
from tests.model_server import ModelServer

pytestmark = pytest.mark.elasticsearch
POOR = {"type": "hnsw", "m": 2, "ef_construction": 2, "num_candidates": 1}
"""A graph that misses chunks."""


def test_what_a_poor_graph_misses_is_told_from_what_the_embedder_misses(
    tmp_path, elasticsearch_url: str, monkeypatch: pytest.MonkeyPatch
):
    """Exact search finds what an index of the type flat on the same server finds, which compares with every chunk."""
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        workspace = Workspace(Settings(_env_file=None, home=tmp_path / "home", elasticsearch_url=elasticsearch_url))
        corpus = workspace.store.corpora.add("sample")
        for name, data in sample.documents():
            corpora.add_file(workspace, corpus, name, data)
        exchange.import_data(workspace, corpus, sample.questions(), "questions.jsonl", "q")
        for name, options in (("poor", POOR), ("flat", {"type": "flat"})):
            config = IndexConfig(embedder="openai:bags", chunk_size=20, backend="elasticsearch", options=options)
            indexing.build_index(workspace, corpus, f"what-if-{name}", config)
            running.run(workspace, name, RunConfig(f"what-if-{name}", "q", depth=5))
        try:
            run, flat = workspace.store.runs.get("poor"), workspace.store.runs.get("flat")
            assert "type flat compares the question with every chunk" in searched_again.refusal(
                workspace, flat, "exact"
            )
            done = searched_again.search_again(workspace, run, "exact")
            assert done["embedded"] == 0
            stored = what_if_of_run.stored_of(workspace, run)
            questions = [question for question, _ in stored.pairs if question.evidence]
            found = searched_again.exact_of(workspace, run, questions)
            assert found is not None
            exactly = [result.ranking for result in workspace.store.rankings.all(flat.id) if result.gold]
            for ours, theirs in zip(found.rankings, exactly, strict=True):
                assert ours.scores == pytest.approx(theirs.scores, abs=1e-5)
            known = what_if_of_run.losses(workspace, stored, 3)
            assert known is not None
            compared, asked = known
            recalls = [
                len(set(own.ranking.ids[:3]) & set(theirs.ids[:3])) / 3
                for own, theirs in zip(stored.rankings.results, exactly, strict=True)
            ]
            assert compared.agreement.mean >= sum(recalls) / len(recalls) - 1e-9  # equally near chunks count too
            assert compared.agreement.mean < 1  # the graph is poor
            assert sum(mask.sum() for mask in compared.found.values()) == len(asked)
        finally:
            for name in ("poor", "flat"):
                workspace.index(workspace.store.indexes.get(f"what-if-{name}")).drop()
