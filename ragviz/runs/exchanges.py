"""The model calls behind one question of a run, with their prompts."""

from __future__ import annotations

from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import replay
from ragviz.runs import contexts, judgements
from ragviz.workspace import Workspace


def exchanges_of(
    workspace: Workspace, run: Run, retrieved: Retrieved, evaluated: EvaluatedAnswer
) -> list[replay.Exchange]:
    """Return every model call behind an evaluated answer with the messages that were sent; asks no model."""
    calls, question = judgements.calls_of(evaluated), evaluated.question
    if not calls:
        return []
    [item] = contexts.items(workspace, run.config.index, run.corpus_id, run.config, [question], [retrieved])
    return replay.exchanges(evaluated, calls, item, run.config)
