"""What the first screen of a run shows: stored as it is computed, and read without rankings and answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
import pytest

from ragviz.analysis import diagnose
from ragviz.analysis.evaluate import Summary
from ragviz.core.configuration import Run
from ragviz.runs import comparisons, judgements, overviews, running
from ragviz.stats.clusters import Clusters
from ragviz.store.stored_runs import StoredJudgements, StoredRankings
from ragviz.workspace import Workspace, open_workspace
from tests.test_inspect import home, judged  # noqa: F401 - fixtures
from tests.test_pages import built, checked, show, words  # noqa: F401 - fixtures


def stored_now(workspace: Workspace, run: Run) -> bool:
    return workspace.store.runs.overview(run.id, overviews._version()) is not None


@pytest.mark.parametrize("name", ["words", "told"])
def test_a_stored_overview_is_what_rankings_and_answers_are_measured_to(home: Path, name: str) -> None:  # noqa: F811
    workspace = open_workspace()
    run = workspace.store.runs.get(name)
    first = overviews.overview(workspace, run)
    assert stored_now(workspace, run)
    second, computed = overviews.overview(workspace, run), overviews.computed(workspace, run)
    assert type(second.judgement) is judgements.Judgement, "without its answers"
    for stored in (first, second):
        assert stored.questions == computed.questions == len(workspace.store.rankings.questions(run.id))
        for field in fields(Summary):
            pair = [getattr(each.summary, field.name) for each in (stored, computed)]
            np.testing.assert_equal(*(astuple(each) if isinstance(each, Clusters) else each for each in pair))
        for field in fields(judgements.Judgement):
            assert getattr(stored.judgement, field.name) == getattr(computed.judgement, field.name), field.name
    assert all(type(ruling) is diagnose.Ruling for ruling in second.judgement.rulings.values())
    assert type(second.summary.ranks) is type(computed.summary.ranks)
    assert second.summary.ranks.dtype == computed.summary.ranks.dtype


def test_the_first_screen_of_a_run_reads_no_rankings_and_no_answers(
    home: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = open_workspace()
    overviews.overview(workspace, workspace.store.runs.get("told"))
    read = []
    for owner, name in ((StoredRankings, "all"), (StoredJudgements, "of"), (StoredJudgements, "all")):
        monkeypatch.setattr(owner, name, _noting(read, owner, name))  # the page runs in a thread: errors are lost
    app = show("results", run="told")
    assert "Where questions are lost" in words(app)
    assert read == []
    app.session_state["judged-misses-part"] = True
    assert "No judge has said yet which chunks answer these questions" in words(checked(app.run()))
    assert read == ["StoredRankings.all"]


def test_what_runs_take_is_told_of_the_questions_that_all_of_them_asked(home: Path) -> None:  # noqa: F811
    workspace = open_workspace()
    whole = workspace.store.runs.get("told")
    some = running.run(workspace, "some", replace(whole.config, limit=2))
    tokens = {name: price.tokens for name, price in comparisons.prices(workspace, {"a": whole, "b": some}).items()}
    assert tokens["a"] == tokens["b"]
    assert tokens["a"] != overviews.price_of(whole, overviews.overview(workspace, whole), whole.config.k).tokens


def _noting(read: list[str], owner: type, name: str) -> Callable[..., object]:
    """Return the method of a repository that also notes that it was called."""
    method = getattr(owner, name)

    def noted(*args: object, **keys: object) -> object:
        read.append(f"{owner.__name__}.{name}")
        return method(*args, **keys)

    return noted
