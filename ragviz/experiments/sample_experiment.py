"""The sample loaded in one step: documents, questions split in two, indexes, an experiment, and three runs."""

from __future__ import annotations

from typing import Any

from ragviz.core.experiment import Experiment
from ragviz.core.stopping import Progress, silent
from ragviz.experiments import confirming, declaring, findings, grid, sweeping
from ragviz.runs import sample_runs
from ragviz.workspace import Workspace

NAME = "sample-experiment"
VALUES = {"retriever": ["knn"], "reranker": ["none", "maxsim"], "k": ["3", "1", "10"]}
"""How many chunks should be read, and should the first be reranked?"""
INDEX = sample_runs.SAMPLE_INDEXES["sample-tokens-200"]
GUARDRAILS = ("tokens=4x", "seconds=1")
SIDE = "validation"


def load_sample(workspace: Workspace, *, progress: Progress = silent) -> dict[str, Any]:
    """Load the sample; what is there already is kept.

    What the experiment chose is confirmed on the test questions. The runs come last, so that pages open on the newest
    of them rather than on those of the experiment.

    Returns the names: {"corpus", "questions", "indexes", "experiment", "runs"}.
    """
    corpus = sample_runs.load_corpus(workspace, progress=progress)
    experiment = workspace.store.experiments.find(NAME) or _declared(workspace)
    own = experiment.corpus_id == corpus.id  # not a person's of this name
    if own and not all(sweeping.is_done(workspace, cell) for cell in experiment.cells):
        sweeping.sweep(workspace, experiment, progress=progress)
    tried = workspace.store.experiments.get(experiment.name)
    unconfirmed = own and tried.confirmation is None
    chosen = findings.of_cells(workspace, tried).conclusion.chosen if unconfirmed else ""
    if chosen not in ("", experiment.rule.baseline):
        confirming.confirm(workspace, tried, progress=progress)
    runs = sample_runs.make_runs(workspace, corpus, progress=progress)
    names = {"indexes": list(sample_runs.SAMPLE_INDEXES), "experiment": experiment.name, "runs": runs}
    return {"corpus": corpus.name, "questions": sample_runs.SAMPLE_QUESTIONS, **names}


def _declared(workspace: Workspace) -> Experiment:
    question_set = workspace.store.sets.get(sample_runs.SAMPLE_QUESTIONS)
    of_index: dict[str, list[str]] = {
        "embedder": [INDEX.embedder],
        "backend": [INDEX.backend],
        "chunk_size": [f"{INDEX.chunk_size}"],
    }
    planned = grid.planned(workspace, question_set, grid.crossed({**of_index, **VALUES}), split=SIDE)
    guardrails = [declaring.read_guardrail(each) for each in GUARDRAILS]
    rule = declaring.rule_of(planned, primary="recall", minimum_effect=0.02, guardrails=guardrails)
    return declaring.declare(workspace, NAME, question_set, planned, rule, SIDE)
