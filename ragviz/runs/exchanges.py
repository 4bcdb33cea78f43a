"""The model calls behind one question of a run, with their prompts."""

from __future__ import annotations

from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import replay
from ragviz.models.chat import ModelClient
from ragviz.runs import choices, contexts, judgements
from ragviz.targets.targets import target_of
from ragviz.workspace import Workspace


def exchanges_of(
    workspace: Workspace, run: Run, retrieved: Retrieved, evaluated: EvaluatedAnswer
) -> list[replay.Exchange]:
    """Return every model call behind an evaluated answer with the messages that were sent; asks no model."""
    calls, question = judgements.calls_of(evaluated), evaluated.question
    if not calls:
        return []
    config, target = run.config, target_of(run)
    if target.hands_over is None:
        [item] = contexts.to_judge(workspace, run, [evaluated])
    else:
        [item] = contexts.to_answer(workspace, run.corpus_id, config, target, [(question, retrieved)])
    answerer, judge = (ModelClient(None, None, name) if name else None for name in (config.model, config.judge))
    cache = workspace.store.cache("bank")
    plan = choices.plan_of(config, (), cache, answerer=answerer, judge=judge or answerer, target=target)
    return replay.exchanges(evaluated, calls, item, plan)
