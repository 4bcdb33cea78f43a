"""Retrieval for the questions of a large run in shards, which several machines take; rankings go into the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.share import Share
from ragviz.core.stopping import Progress
from ragviz.retrieval import rerankers, search
from ragviz.store import schema
from ragviz.workspace import Workspace

SHARD = 32
"""Questions of a shard: a cross-encoder takes a minute for them."""
FEWEST = 8
"""Shards from which on a run is shared."""

Placed = tuple[int, Question]
"""A question with its place in the run."""
Retrieve = Callable[[Sequence[Placed], int], object]
"""Stores rankings for questions; the number is how many others have theirs."""


def is_shared(workspace: Workspace, run: Run, index: IndexInfo, unanswered: Sequence[Placed]) -> bool:
    """Return whether a run's questions are enough for several machines, and these can reach its index.

    A reranker that asks a model waits for its endpoint, whoever asks.
    """
    reachable = workspace.store.is_shared and index.config.backend == "elasticsearch"
    return reachable and len(unanswered) >= FEWEST * SHARD and not rerankers.model_of(run.config.reranker)


def retrieve_together(
    workspace: Workspace,
    run: Run,
    unanswered: Sequence[Placed],
    retrieve: Retrieve,
    total: int,
    budget: float | None,
    progress: Progress,
) -> None:
    """Offer the questions of a run in shards to other machines, and do what they leave; return when all are done."""
    bodies = [
        json.dumps([[place, schema.question_to_json(q)] for place, q in unanswered[start : start + SHARD]]).encode()
        for start in range(0, len(unanswered), SHARD)
    ]
    share = workspace.share("run", run, total=total, size=SHARD, budget=budget)
    with workspace.store.shares.offered(share, bodies):
        take_shards(workspace, share, retrieve, progress)


def check_same(workspace: Workspace, run: Run, index: IndexInfo) -> None:
    """Raise UsageError when this machine would rank otherwise than the one that makes the run."""
    of = index.config
    embedder = workspace.embedder(of.embedder, prompts=of.prompts).identity if of.embedder else ""
    here = embedder, search.identity_of(workspace, index, run.config.reranker)
    there = index.embedder_identity, run.provenance["identity"].get("reranking", "")
    if here != there:
        told = " and ".join(filter(None, here)), " and ".join(filter(None, there))
        raise UsageError(
            f"Run '{run.name}' is made with {told[1]}, and here is {told[0]}: give this worker the same settings."
        )


def take_shards(workspace: Workspace, share: Share, retrieve: Retrieve, progress: Progress) -> int:
    """Retrieve for shards until all are done; return for how many questions this machine did."""
    shares, mine = workspace.store.shares, 0

    def work(body: bytes) -> int:
        nonlocal mine
        placed = [(place, schema.question_from_json(question)) for place, question in json.loads(body)]
        retrieve(placed, shares.reached(share))
        mine += len(placed)
        return len(placed)

    def waiting() -> None:
        progress(shares.reached(share), share.facts["total"], "questions", "Retrieving")

    shares.take_all(share, work, waiting)
    return mine
