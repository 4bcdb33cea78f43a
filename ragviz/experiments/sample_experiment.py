"""The sample loaded in one step: documents, questions, indexes, an experiment confirmed on test, and three runs."""

from __future__ import annotations

from typing import Any

from ragviz.errors import UsageError
from ragviz.experiments import confirming, declaring, grid, sweeping
from ragviz.records import Corpus, Experiment, Progress, silent
from ragviz.runs import sample_runs
from ragviz.workspace import Workspace

NAME = "sample-experiment"
VALUES = {"retriever": ["knn", "hybrid"], "reranker": ["none", "maxsim"], "k": ["3"]}
"""Should words be searched for beside vectors, and should the first chunks be reranked?"""
INDEX = sample_runs.SAMPLE_INDEXES["sample-tokens-200"]
GUARDRAILS = ("tokens=1.5x", "seconds=1")
SIDE = "validation"


def load_sample(workspace: Workspace, *, progress: Progress = silent) -> dict[str, Any]:
    """Load the sample; what is there already is kept.

    The runs come last, so that pages open on the newest of them rather than on those of the experiment.

    Returns the names: {"corpus", "questions", "indexes", "experiment", "runs"}.
    """
    corpus = sample_runs.load_corpus(workspace, progress=progress)
    experiment = _experiment(workspace, corpus, progress)
    runs = sample_runs.make_runs(workspace, corpus, progress=progress)
    names = {"indexes": list(sample_runs.SAMPLE_INDEXES), "experiment": experiment.name, "runs": runs}
    return {"corpus": corpus.name, "questions": sample_runs.SAMPLE_QUESTIONS, **names}


def _experiment(workspace: Workspace, corpus: Corpus, progress: Progress) -> Experiment:
    """Return the experiment, declared, swept and, where a configuration was chosen, confirmed on test."""
    store = workspace.store
    experiment = store.experiment_named(NAME) or _declared(workspace)
    if experiment.corpus_id != corpus.id:
        return experiment  # a person's own of this name
    if any(not sweeping.is_done(workspace, cell) for cell in experiment.cells):
        sweeping.sweep(workspace, experiment, progress=progress)
        experiment = store.experiment(experiment.id)
    try:
        confirming.check(workspace, experiment)
    except UsageError:  # it was confirmed before, or the baseline stays
        return experiment
    confirming.confirm(workspace, experiment, progress=progress)
    return store.experiment(experiment.id)


def _declared(workspace: Workspace) -> Experiment:
    question_set = workspace.store.question_set(sample_runs.SAMPLE_QUESTIONS)
    of_index: dict[str, list[str]] = {
        "embedder": [INDEX.embedder],
        "backend": [INDEX.backend],
        "chunk_size": [f"{INDEX.chunk_size}"],
    }
    planned = grid.planned(workspace, question_set, grid.crossed({**of_index, **VALUES}), split=SIDE)
    guardrails = [declaring.read_guardrail(each) for each in GUARDRAILS]
    rule = declaring.rule_of(planned, primary="recall@3", minimum_effect=0.02, guardrails=guardrails)
    return declaring.declare(workspace, NAME, question_set, planned, rule, SIDE)
