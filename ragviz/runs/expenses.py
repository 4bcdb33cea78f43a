"""What a run takes for a question: the tokens it reads, the dollars its answer costs, the seconds it lasts."""

from __future__ import annotations

from ragviz.analysis.ties import Price
from ragviz.records import Run
from ragviz.runs.overviews import Overview


def price_of(run: Run, overview: Overview, k: int) -> Price:
    """Return what a run takes for a question: the tokens of its first `k` chunks; dollars and seconds at its own k.

    Dollars are those of the calls that answered, when they were made; what the judge costs is not in them. They are not
    known where a call has no price, or where a model reranks. Seconds are those of retrieval, reranking and the call
    that answered; runs of earlier versions, of less than a batch of questions, or imported, have not recorded them.
    """
    tokens = None
    if overview.tokens is not None and k <= len(overview.tokens):
        tokens = float(overview.tokens[k - 1])
    return Price(tokens, _dollars(run, overview), _seconds(run, overview))


def _dollars(run: Run, overview: Overview) -> float | None:
    calls = overview.answering.calls
    if overview.unpriced or run.provenance.get("reranking", {}).get("calls") or run.config.retriever == "imported":
        return None
    if not calls:
        return None if run.config.answerer == "model" else 0.0
    return overview.answering.cost / calls


def _seconds(run: Run, overview: Overview) -> float | None:
    retrieval, answering = run.provenance.get("retrieval"), overview.answering
    if not retrieval or not retrieval["questions"] or (run.config.answerer == "model" and not answering.calls):
        return None
    answer = answering.seconds / answering.calls if answering.calls else 0.0
    return float(retrieval["seconds"] / retrieval["questions"] + answer)
