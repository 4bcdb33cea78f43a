"""Runs of one name over time: where they changed, and that nothing is called a change by chance."""

import json

import numpy as np
import pytest

from ragviz.core.errors import UsageError
from ragviz.runs import history, imports
from ragviz.stats.clusters import numbered
from ragviz.targets.logged_item import Log, LoggedItem, Passage


def nightly(workspace, corpus, name, right):
    """A run of forty questions, of which the first `right` are answered with the reference."""
    items = [
        LoggedItem(f"q{n}", f"Question {n}?", f"Answer {n}", f"Answer {n}" if n < right else "No.", (Passage("text"),))
        for n in range(40)
    ]
    run = imports.import_run(workspace, corpus, name, Log(tuple(items), (), "file"))
    workspace.store.runs.label(run.id, tags=["nightly"])
    return workspace.store.runs.get(run.id)


def test_the_run_after_which_answers_got_worse_is_named(workspace, command_line):
    corpus = workspace.store.corpora.add("c")
    runs = [nightly(workspace, corpus, f"night {n}", right) for n, right in enumerate([38, 39, 38, 20, 21])]
    found = history.history(workspace, runs[::-1], "exact_match")
    assert [round(mean.mean * 40) for mean in found.means] == [38, 39, 38, 20, 21]
    assert (found.n, found.runs[found.changed].name) == (40, "night 3")
    assert found.difference.mean == pytest.approx((20 + 21) / 80 - (38 + 39 + 38) / 120)
    assert found.difference.high < 0
    steady = history.history(workspace, runs[:3], "exact_match")
    assert (steady.changed, steady.difference) == (None, None)
    with pytest.raises(UsageError, match="two finished runs: there is one"):
        history.history(workspace, runs[:1])
    told = json.loads(command_line("runs", "history", "nightly", "--metric", "exact_match", "--json")[1])
    assert (told["changed"], told["questions"], len(told["runs"])) == ("night 3", 40, 5)


def test_chance_is_rarely_a_change():
    rng, alarms = np.random.default_rng(3), 0
    clusters = numbered(np.repeat(np.arange(20), 3))
    for _ in range(300):
        hard = np.clip(rng.normal(0.6, 0.2, 20).repeat(3)[:, None] + rng.normal(0, 0.1, (60, 1)), 0, 1)
        alarms += history.change_point((rng.random((60, 8)) < hard).astype(float), clusters)[0] is not None
    assert alarms / 300 <= 0.05
