"""Both rankings that a hybrid run fuses, searched for again and kept."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking
from ragviz.core.stopping import Progress, silent
from ragviz.retrieval import search
from ragviz.retrieval.retrievers import FUSED_DEPTH
from ragviz.runs import choices, measurements
from ragviz.store.schema import corpus_hash, decoded, plain, questions_hash
from ragviz.text.counts import first
from ragviz.workspace import Workspace

_VERSION = "4"
"""Version of what is kept, and of the rule by which it is computed."""
_BATCH = 100
"""Questions that are searched together."""


def index_of(workspace: Workspace, current: Run) -> IndexInfo | None:
    """Return the index of a run when its chunks and vectors are those that the run searched; None otherwise."""
    store = workspace.store
    info = next((each for each in store.indexes.all(current.corpus_id) if each.id == current.config.index), None)
    if info is None or not info.build:
        return None
    if (info.built or 0.0) <= current.created:
        return info
    state = corpus_hash({*store.documents.readable(current.corpus_id)}.intersection(info.documents))
    return info if (state, info.config.hash(), info.embedder_identity) == choices.state_of(current) else None


def refusal(workspace: Workspace, current: Run) -> str:
    """Say why both rankings that a run fuses cannot be searched for, or would tell nothing; "" when they can."""
    config = current.config
    if unranked := measurements.unranked_words(current):
        return unranked
    if current.knows.opaque:
        return "The ranking of this run is another system's: it cannot be searched for again."
    if config.reranker != "none":
        return (
            f"The ranking of this run is {config.reranker}'s, which reads {first(config.rerank_depth, 'chunk')}: "
            "what it would make of others is not stored. Make a run with another constant."
        )
    if config.retriever != "hybrid":
        return f"The constant is that of fusing two rankings: this run ranks by {config.retriever} alone."
    if index_of(workspace, current) is None:
        return (
            f"The index {current.provenance['index']} was built anew with other chunks since, or deleted: it cannot be "
            "searched again as this run did."
        )
    return ""


def check(workspace: Workspace, current: Run) -> IndexInfo:
    """Return the index that is searched again; raises UsageError as `refusal` says."""
    if words := refusal(workspace, current):
        raise UsageError(words)
    info = index_of(workspace, current)
    assert info is not None
    return search.ready(workspace, info)


def reach(current: Run) -> int:
    """Return the depth of both rankings that a run fuses."""
    return max(current.config.depth, FUSED_DEPTH)


def search_again(workspace: Workspace, current: Run, *, progress: Progress = silent) -> dict[str, Any]:
    """Search for both rankings that a run fuses, for its questions with evidence, and keep them; never twice.

    Returns {"run", "questions"}, the second a number.

    Raises:
        UsageError: as `check`.

    """
    info = check(workspace, current)
    questions = [question for question in workspace.store.rankings.questions(current.id) if question.evidence]
    key, kept = key_of(workspace, current, questions), workspace.store.cache("replay")
    if not kept.held([key]):
        found = _searched(workspace, current, info, questions, progress)
        kept.put_many({key: zlib.compress(json.dumps(found, default=plain).encode(), 1)})
    return {"run": current.name, "questions": len(questions)}


def key_of(workspace: Workspace, current: Run, questions: Sequence[Question]) -> str:
    """Return the key under which both rankings are kept in the store's cache "replay", "" where there are none."""
    info = index_of(workspace, current)
    if info is None or refusal(workspace, current):
        return ""
    parts = (_VERSION, "components", info.id, info.build, info.embedder_identity, str(reach(current)))
    return digest(*parts, questions_hash(questions))


def components(
    workspace: Workspace, current: Run, questions: Sequence[Question]
) -> tuple[Sequence[Ranking], Sequence[Ranking]] | None:
    """Return the rankings by vectors and by words that a hybrid run fuses, each to `reach`; None before the search.

    `questions` are those of the run with evidence.
    """
    key = key_of(workspace, current, questions)
    body = workspace.store.cache("replay").get_many([key]).get(key) if key else None
    if body is None:
        return None
    both = decoded(tuple[Ranking, ...], json.loads(zlib.decompress(body)))
    return both[: len(questions)], both[len(questions) :]


def _searched(
    workspace: Workspace, current: Run, info: IndexInfo, questions: Sequence[Question], progress: Progress
) -> list[Ranking]:
    spending = workspace.spending(info.id)
    found: list[Ranking] = []
    try:
        for place, name in enumerate(("knn", "bm25")):
            retrieve = search.retriever(workspace, info, name, spending=spending, progress=progress)
            for start in range(0, len(questions), _BATCH):
                texts = [question.query for question in questions[start : start + _BATCH]]
                found += retrieve(texts, reach(current))
                done = place * len(questions) + start + len(texts)
                progress(done, 2 * len(questions), "questions", f"Searching by {name}")
    finally:
        spending.settle()
    return found
