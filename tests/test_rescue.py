"""What would rescue the lost questions: by ranks worked by hand, and against really making each run."""

import json
import re
import socket
from dataclasses import replace

import numpy as np
import pytest

from ragviz.analysis import rescue as rescuing
from ragviz.core.configuration import IndexConfig, Run, RunConfig
from ragviz.core.errors import Cancelled
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.index import deletion, indexing
from ragviz.metrics import rank_metrics
from ragviz.runs import alternatives, contexts, overviews, replays, running
from ragviz.workspace import Workspace
from tests.builders import sample_with_models
from tests.model_server import ModelServer

EMBEDDER = "openai:bags"


def test_rescued_broken_and_beyond_by_hand():
    """Six questions at k = 2, of which the first two are found; ranks that are 0 were not found to the depth."""
    ranks = [1, 2, 3, 5, 0, 0]
    deeper = rescuing.Replay("k=4", "k", ranks, 4, tokens=400)
    other = rescuing.Replay("retriever=bm25", "retriever", np.array([0, 1, 2, 1, 0, 2]), 2, tokens=200)
    worse = rescuing.Replay("index=fine", "index", np.array([3, 0, 9, 3, 0, 0]), 2)
    table = rescuing.rescue(ranks, 2, [worse, deeper, other])
    assert table.lost.tolist() == [False, False, True, True, True, True]
    assert [(row.replay.key, row.rescues, row.breaks, row.net) for row in table.rows] == [
        ("retriever=bm25", 3, 1, 2),
        ("k=4", 1, 0, 1),
        ("index=fine", 0, 2, -2),
    ]
    assert table.rows[0].rescued.tolist() == [False, False, True, True, False, True]
    assert table.rows[0].broken.tolist() == [True, False, False, False, False, False]
    assert table.unrescued.tolist() == [False, False, False, False, True, False]
    assert table.rows[0].share.mean == pytest.approx(2 / 6)
    assert table.rows[0].share.low <= 2 / 6 <= table.rows[0].share.high
    assert table.rows[0].share.n == 6


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Workspace, ModelServer]:
    """The sample in four indexes, its questions, and one run of them."""
    with sample_with_models(tmp_path_factory.mktemp("home")) as (workspace, server, corpus):
        configs = {
            "tokens-200": IndexConfig(embedder=EMBEDDER),
            "tokens-80": IndexConfig(embedder=EMBEDDER, chunk_size=80),
            "recursive-120": IndexConfig(embedder=EMBEDDER, chunker="recursive", chunk_size=120),
            "words-only": IndexConfig(embedder="", chunk_size=150),
        }
        for name, config in configs.items():
            indexing.build_index(workspace, corpus, name, config)
        running.run(workspace, "base", RunConfig("tokens-200", "q", "knn", depth=20))
        yield workspace, server


def columns(workspace: Workspace, name: str) -> replays.Columns:
    return replays.columns_of(workspace, workspace.store.runs.get(name))


def counts(table: rescuing.Rescue) -> dict[str, tuple[int, int]]:
    return {row.replay.key: (row.rescues, row.breaks) for row in table.rows}


def by_the_rankings(workspace: Workspace, base: Run, other: Run, k: int, other_k: int) -> tuple[set[str], set[str]]:
    """Count a second way, from the chunks themselves: found is every group with a chunk among the first k."""

    def found(run: Run, most: int) -> set[str]:
        return {
            result.question_id
            for result in workspace.store.rankings.all(run.id)
            if result.gold and all(set(group) & set(result.ranking.ids[:most]) for group in result.gold)
        }

    before, after = found(base, k), found(other, other_k)
    return after - before, before - after


@pytest.mark.model
def test_the_table_is_what_really_making_each_run_gives(made):
    """Every row against its run: the counts, the questions and the tokens, at several k, before the runs exist."""
    workspace, _ = made
    base = workspace.store.runs.get("base")
    indexes, folders = workspace.store.indexes.all(), set(folders_of(workspace))
    replays.replay(workspace, base, build=True)
    assert workspace.store.indexes.all() == indexes  # what was built to be searched was not kept
    assert set(folders_of(workspace)) == folders
    replayed = columns(workspace, "base")
    assert not replayed.missing("search", "compute")
    keys = {change.key for change in replayed.changes.changes}
    assert keys == {
        "retriever=bm25", "retriever=hybrid", "index=tokens-80", "index=recursive-120", "chunking=tokens 100",
        "chunking=tokens 400", "chunking=recursive 200", "chunking=sentences 200", "prefix=title", "prefix=headings",
    }  # fmt: skip
    ids = np.array([question.id for question in replayed.changes.questions])
    tables = {k: replays.rescue(replayed, k) for k in (1, 3, 7)}
    made_of: dict[str, str] = {}
    for change in replayed.changes.changes:
        run = really_made(workspace, change)
        made_of[change.key] = run.name
        for k, table in tables.items():
            row = next(row for row in table.rows if row.replay.key == change.key)
            rescued, broken = by_the_rankings(workspace, base, run, k, k)
            assert (set(ids[row.rescued]), set(ids[row.broken])) == (rescued, broken)
            assert row.replay.tokens == pytest.approx(overviews.overview(workspace, run).tokens[k - 1])
    for table in tables.values():
        for row in table.rows:
            if row.replay.kind == "k":
                rescued, broken = by_the_rankings(workspace, base, base, table.k, row.replay.k)
                assert (set(ids[row.rescued]), set(ids[row.broken])) == (rescued, broken) == (rescued, set())
    assert sum(row.rescues + row.breaks for row in tables[3].rows) > 20  # something is counted
    now_runs = columns(workspace, "base")  # the same numbers from the runs, which replace the replays
    assert all(change.runs for change in now_runs.changes.changes if change.key in made_of)
    by_run = {change.runs[0].name: change.key for change in now_runs.changes.changes if change.runs}
    for k, table in tables.items():
        of_runs = counts(replays.rescue(now_runs, k))
        for key, name in made_of.items():
            assert of_runs[by_run[name]] == counts(table)[key]
    remove_made(workspace)


@pytest.mark.model
def test_a_replay_that_is_killed_or_cancelled_leaves_no_index_and_pays_nothing_twice(made, monkeypatch):
    workspace, server = made
    run = running.run(workspace, "stopped", RunConfig("tokens-80", "q", "bm25", depth=10))
    folders = set(folders_of(workspace))

    def stop(done: int, total: int | None, unit: str, message: str = "") -> None:
        if "Embedding" in message and len(set(folders_of(workspace)) - folders) == 1:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        replays.replay(workspace, run, build=True, progress=stop)
    assert set(folders_of(workspace)) == folders
    monkeypatch.setattr(
        "ragviz.core.processes.this_process", lambda: {"host": socket.gethostname(), "pid": 1, "started": 0}
    )
    monkeypatch.setattr(type(workspace.index(workspace.store.indexes.get("tokens-80"))), "drop", lambda self: None)
    with pytest.raises(Cancelled):  # its index stays, as after a kill
        replays.replay(workspace, run, build=True, progress=stop)
    left = set(folders_of(workspace)) - folders
    assert len(left) == 1
    monkeypatch.undo()
    note = workspace.store.cache("unlisted")
    dead = {"host": socket.gethostname(), "pid": 1, "started": 0}
    (folder,) = left
    identity = re.search(r"unlisted-([0-9a-f]{16})", folder)[1]
    entry = {"id": identity, "backend": "local", "options": {}, "process": dead}
    note.put_many({"open": json.dumps([entry]).encode()})
    replays.replay(workspace, run, build=True)
    assert set(folders_of(workspace)) == folders
    before = server.counts.calls
    assert replays.replay(workspace, run, build=True)["replayed"] == []
    assert server.counts.calls == before
    workspace.store.runs.delete(run.id)


def folders_of(workspace: Workspace) -> list[str]:
    return [folder.name for folder in (workspace.settings.home / "indexes").iterdir()]


def really_made(workspace: Workspace, change: alternatives.Change) -> Run:
    """Build what a change needs, and make its run, as a person would."""
    config = replace(change.config, k=3)
    name = "made-" + re.sub(r"\W+", "-", change.key)
    if not change.index:
        corpus = workspace.store.corpora.get(workspace.store.runs.get("base").corpus_id)
        indexing.build_index(workspace, corpus, name, change.cut)
        config = replace(config, index=workspace.store.indexes.get(name).id)
    return running.run(workspace, name, config)


def remove_made(workspace: Workspace) -> None:
    for run in workspace.store.runs.all():
        if run.name.startswith("made-"):
            workspace.store.runs.delete(run.id)
    for info in workspace.store.indexes.all():
        if info.name.startswith("made-"):
            deletion.delete_index(workspace, info)


def test_tokens_given_are_those_that_an_answerer_can_read():
    """Chunks a, b, c of 100, 50 and 10 tokens; the gold chunk of the second question is c, of the first a and b."""
    sizes = {"a": 100, "b": 50, "c": 10}
    rankings = Ranking(("a", "b", "c"), (3.0, 2.0, 1.0)), Ranking(("c", "a"), (2.0, 1.0))
    results = [Retrieved("1", rankings[0], (("a",), ("b",))), Retrieved("2", rankings[1], (("c",),))]

    def given(**choices):
        config = RunConfig("i", "q", depth=3, **choices)
        run = Run("r", "c", "r", config, "f", {}, "done", 0.0, 1.0)
        return contexts.tokens_given(rank_metrics.read(results, run.config.depth), results, sizes, run).tolist()

    assert given() == [(100 + 10) / 2, (150 + 110) / 2, (160 + 110) / 2]
    answers = {"answerer": "extractive", "context_tokens": 105}
    assert given(**answers) == [55, (105 + 105) / 2, 105]
    assert given(**answers, context="none") == [0, 0, 0]
    assert given(**answers, context="oracle") == [(105 + 10) / 2] * 3
