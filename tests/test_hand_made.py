"""The answers and verdicts of the sample that were written by hand: what was written, and the run that it makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ragviz import sample
from ragviz.core.configuration import Run
from ragviz.core.experiment import Cell
from ragviz.core.settings import Settings
from ragviz.experiments import findings, sample_experiment
from ragviz.runs import judgements
from ragviz.targets import hand_made
from ragviz.workspace import Workspace

# What was written


# The run of the sample


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, loaded_sample: Callable[[Path], str]) -> Workspace:
    home = tmp_path_factory.mktemp("hand_made") / "home"
    loaded_sample(home)
    return Workspace(Settings(home=home, _env_file=None))  # type: ignore[call-arg]


@pytest.fixture
def run(loaded: Workspace) -> Run:
    return loaded.store.runs.get("sample-answered")


def test_the_sample_has_an_answered_and_judged_run_that_asked_no_model(loaded: Workspace, run: Run) -> None:
    assert run.status == "done"
    assert (run.config.model, run.config.judge) == (hand_made.NAME, hand_made.NAME)
    answers = loaded.store.judgements.all(run.id)
    assert len(answers) == 100
    assert all(answer.recording.origin == hand_made.NAME and not answer.calls for answer in answers.values())
    assert all(answer.bank is None or answer.bank.maker == hand_made.NAME for answer in answers.values())
    assert loaded.store.payments.of(run.id).calls == 0
    assert run.choices["answerer"] == hand_made.NAME, "no model is named where runs are compared"
    assert judgements.judge_words(run) == "answered by hand-made · judged by hand-made"
    judgement = judgements.judgement_of(loaded, run)
    assert judgements.decided_words(judgement) == ("correctness decided by Equivalence (69), abstaining or not (31)")
    assert judgements.judge_to_json(run)["answerer"] == {"answerer": "model", "model": hand_made.NAME, "version": None}


def test_the_sample_has_an_experiment_that_was_decided_by_its_rule(loaded: Workspace) -> None:
    """Its differences, of recall at each k on the 45 validation questions with evidence, are worked from the rankings.

    More chunks are shipped, one alone is worse, and reranking is undecided.
    """
    store = loaded.store
    experiment = store.experiments.get(sample_experiment.NAME)
    outcome = findings.outcome_of(loaded, experiment)
    names = ["k 3", "k 1", "k 10", "maxsim k 3", "maxsim k 1", "maxsim k 10"]
    assert [row.cell.name for row in outcome.rows] == names
    rule = experiment.rule
    assert (experiment.split, rule.primary, rule.minimum_effect) == ("validation", "recall@own", 0.02)

    def recalls(cell: Cell) -> dict[str, float]:
        results = (result for result in store.rankings.all(cell.run_id) if result.gold)
        first = cell.run.k
        return {r.question_id: np.mean([bool(set(g) & set(r.ranking.ids[:first])) for g in r.gold]) for r in results}

    base = recalls(experiment.baseline)
    assert len(base) == 45
    for row in outcome.rows[1:]:
        other = recalls(row.cell)
        assert row.delta.difference.mean == pytest.approx(np.mean([other[i] - base[i] for i in base]))
    verdicts = {row.cell.name: row.delta.verdict for row in outcome.rows[1:]}
    assert (verdicts["k 10"], verdicts["k 1"], verdicts["maxsim k 3"]) == ("better", "worse", "undecided")
    assert (outcome.conclusion.decision, outcome.conclusion.chosen) == ("ship", "k 10")
    assert experiment.confirmation.chosen == "k 10"
    asked = {run.id: run.config.split for run in store.runs.all()}
    assert (asked[experiment.confirmation.chosen_run], asked[experiment.confirmation.baseline_run]) == ("test", "test")
    assert (outcome.test.decision, outcome.test.chosen) == ("ship", "k 10")
    assert {run.name for run in store.runs.all()} >= set(sample.RUNS)
