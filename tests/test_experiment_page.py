"""The page Experiment: a grid is chosen and started by a click, cells fill in, the choice is confirmed on test."""

import pytest

from ragviz.experiments import sweeping
from ragviz.jobs import worker
from ragviz.workspace import open_workspace
from tests.test_experiments import declared, filled
from tests.test_pages import address, bare, button, show, visit, words  # noqa: F401 - fixtures


@pytest.fixture
def workspace(bare):  # noqa: F811
    workspace = open_workspace()
    filled(workspace)
    return workspace


@pytest.fixture
def question_set(workspace):
    return workspace.store.sets.get("asked")


def test_one_click_starts_what_is_chosen_at_first(workspace):
    app = show("experiment")
    said = words(app)
    assert [metric.value for metric in app.metric][:3] == ["6", "6", "2"]
    assert "No model is asked: nothing to pay." in said
    button(app, "Start").click().run()
    experiment = workspace.store.experiments.get("experiment-1")
    assert [cell.name for cell in experiment.cells] == [
        f"{size} {retriever}" for size in (100, 200) for retriever in ("knn", "bm25", "hybrid")
    ]
    rule = experiment.rule
    assert (rule.primary, rule.baseline, experiment.split) == ("recall@3", "100 knn", "validation")
    (job,) = workspace.store.jobs.all()
    assert (job.kind, job.arguments) == ("sweep", {"experiment": experiment.id, "budget": None})
    assert address(app)["experiment"] == "experiment-1"
    assert "No cell is done yet" in words(app)


def test_the_address_holds_the_grid_and_what_is_impossible_is_told(workspace):
    app = show("experiment", embedders="none,all-MiniLM-L6-v2", retrievers="knn,bm25", chunk_sizes="30")
    assert app.metric[0].value == "3"
    assert "Left out: no embedder knn. Retriever 'knn' compares vectors" in words(app)
    odd = visit("experiment", chunk_sizes="large")
    assert "'large' is not a whole number" in odd.warning[0].value.replace("\\", "")
    assert not odd.exception


def test_the_choice_is_confirmed_on_test_once_and_said_so(workspace, question_set):
    sweeping.sweep(workspace, declared(workspace, question_set, k=[2, 1]))
    app = show("experiment", experiment="chunks")
    assert "chosen on the questions that it is reported on" in words(app)
    button(app, "Confirm on test").click().run()
    worker.perform(workspace, workspace.store.jobs.all()[0].id)
    app = show("experiment", experiment="chunks")
    assert "On test, once:" in words(app)
    assert "Confirmed on test. Ship k 1" in words(app)
    assert "Confirm on test" not in [each.label for each in app.button]
