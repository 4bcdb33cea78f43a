"""The page of all runs: filtered, renamed, tagged, deleted, compared; links by former names; the stored means."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragviz.core.call import Paid
from ragviz.runs import judgements, measurements, overviews
from ragviz.workspace import open_workspace
from tests.test_pages import address, built, button, checked, home, show, words  # noqa: F401  # fixtures


def table(app):
    return next(d.value for d in app.dataframe if "Run" in d.value)


def test_runs_stand_with_what_they_measured(home: Path) -> None:  # noqa: F811
    workspace = open_workspace()
    rows = table(show("runs")).set_index("Run")
    assert list(rows.index) == ["vectors", "words"], "the newest first"
    for name in rows.index:
        run = workspace.store.runs.get(name)
        summary = measurements.summary_of(workspace, run)
        recall = summary.metrics["recall@3"]
        assert rows.loc[name, "Recall@k"] == f"{recall.mean:.2f} [{recall.low:.2f}, {recall.high:.2f}]"
        assert rows.loc[name, "Not found to depth"] == summary.misses
        assert rows.loc[name, "Question set"] == "asked"
    assert (rows.loc["words", "Retriever"], rows.loc["words", "Chunking"]) == ("bm25", "tokens 20")
    assert rows.loc["words", "Status"] == "done"


def test_runs_are_filtered_by_the_address(home: Path) -> None:  # noqa: F811
    store = open_workspace().store
    store.runs.label(store.runs.get("words").id, note="the 基线 of June", tags=["baseline"])
    for params in ({"find": "june 基线"}, {"tags": "baseline"}, {"find": "bm25 asked"}):
        app = show("runs", **params)
        assert list(table(app)["Run"]) == ["words"]
        assert "1 of 2 runs · filter" in words(app)
    app = show("runs", find="nothing like it")
    assert not app.dataframe
    assert "No run passes the filter" in words(app)
    app = show("runs", tags="baseline,gone")
    assert "gone" in app.warning[0].value
    assert address(app)["tags"] == "baseline"


def test_stored_means_are_those_of_the_run_and_follow_its_changes(home: Path, monkeypatch) -> None:  # noqa: F811
    workspace = open_workspace()
    run = workspace.store.runs.get("words")
    ids = [run.id]
    assert workspace.store.runs.summaries(ids, overviews._version()).keys() == {run.id}, "stored when the run ended"
    summary = overviews.summaries(workspace, [run])[run.id]
    measured = measurements.summary_of(workspace, run)
    assert summary.estimates == measured.metrics | {
        name: scored.estimate for name, scored in judgements.judgement_of(workspace, run).metrics.items()
    }
    assert (summary.questions, summary.ranked, summary.not_found) == (10, measured.n, measured.misses)
    workspace.store.payments.add(run.id, Paid(2, dollars=0.25))
    seen: list[tuple[int, int]] = []
    again = overviews.summaries(workspace, workspace.store.runs.all(), lambda *each: seen.append(each))
    assert seen == [(0, 1)], "the other run's are up to date"
    assert (again[run.id].calls, again[run.id].dollars) == (2, 0.25)
    monkeypatch.setattr(measurements, "summary_of", lambda *_, **__: pytest.fail("it was measured again"))
    assert overviews.summaries(workspace, workspace.store.runs.all()) == again
