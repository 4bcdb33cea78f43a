"""Rankings that a new run takes over from an earlier one, where they would be the same: no k is ever a re-run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragviz.core.index_info import IndexInfo
from ragviz.core.question import Question
from ragviz.core.run_info import Run
from ragviz.runs import provenance
from ragviz.workspace import Workspace

_IDENTITY = ("corpus", "questions", "index", "embedder", "reranking")
"""Parts of a run's identity on which its rankings depend, beside the choices below."""


def take_rankings(workspace: Workspace, current: Run, index: IndexInfo, questions: Sequence[Question]) -> int:
    """Copy into a run the rankings of another one that asked the same in the same way; return how many.

    Such a run differs in k, or in how it answers and is judged. It asked the present build of the index, and all of its
    reranking succeeded. What it recorded of the time that retrieving took is copied too.
    """
    store, have = workspace.store, workspace.store.rankings.question_ids(current.id)
    missing = {question.id: place for place, question in enumerate(questions) if question.id not in have}
    if not missing or (donor := _donor(workspace, current, index)) is None:
        return 0
    stored = zip(store.rankings.questions(donor.id), store.rankings.all(donor.id), strict=True)
    taken = [(missing[question.id], question, result) for question, result in stored if question.id in missing]
    store.rankings.put(current.id, taken)
    facts = {name: donor.provenance[name] for name in ("retrieval", "reranking") if name in donor.provenance}
    if taken and not have:
        store.runs.note(current.id, rankings_of=donor.name, **facts)
    return len(taken)


def _donor(workspace: Workspace, current: Run, index: IndexInfo) -> Run | None:
    wanted = _asked_of(current)
    return next(
        (
            run
            for run in workspace.store.runs.all(current.corpus_id)
            if run.id != current.id
            and run.status == "done"
            and run.created >= (index.built or 0.0)
            and not provenance.not_reranked(run)
            and _asked_of(run) == wanted
        ),
        None,
    )


def _asked_of(run: Run) -> list[Any]:
    """Return what a run's rankings depend on."""
    config, identity = run.config, run.provenance["identity"]
    fusion = config.rrf_constant if config.retriever == "hybrid" else None
    reads = config.rerank_depth if config.reranker != "none" else None
    asked = [config.index, config.retriever, config.depth, fusion, config.reranker, reads, config.split]
    asked += [config.limit, config.seed if config.limit else None]
    return asked + [identity.get(part) for part in _IDENTITY]
