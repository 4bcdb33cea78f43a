"""What a run takes for a question: the tokens it reads, the dollars its answer costs, the seconds it lasts."""

from __future__ import annotations

from ragviz.analysis.ties import Price
from ragviz.core.run_info import Run
from ragviz.runs.overviews import Overview


def price_of(run: Run, overview: Overview, k: int) -> Price:
    """Return what a run takes for a question: tokens of the context of `k` chunks; dollars and seconds at its own k.

    Tokens are those that the answerer is given, within its budget; of a run without answers those of the first `k`
    chunks. Dollars are those of the calls that answered and reranked, when they were made; what the judge costs is not
    in them. They are not known where a call has no price. Seconds are those of retrieval, reranking and the call
    that answered; runs of less than a batch of questions, or imported, have not recorded them.
    """
    tokens = None
    if overview.given is not None and k <= len(overview.given):
        tokens = float(overview.given[k - 1])
    return Price(tokens, _dollars(run, overview), _seconds(run, overview))


def _dollars(run: Run, overview: Overview) -> float | None:
    calls, reranking = overview.answering.calls, run.provenance.get("reranking", {})
    reranked = 0.0
    if reranking.get("calls"):
        if reranking["unpriced"]:
            return None
        reranked = reranking["cost"] / reranking["questions"]
    if overview.unpriced or not run.knows.again:
        return None
    if not calls:
        return None if run.config.asks_model else reranked
    return overview.answering.cost / calls + reranked


def _seconds(run: Run, overview: Overview) -> float | None:
    retrieval, answering = run.provenance.get("retrieval"), overview.answering
    if not retrieval or not retrieval["questions"] or (run.config.asks_model and not answering.calls):
        return None
    answer = answering.seconds / answering.calls if answering.calls else 0.0
    return float(retrieval["seconds"] / retrieval["questions"] + answer)
