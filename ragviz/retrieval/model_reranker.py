"""The model of the endpoint puts the chunks of each question in order: one call for each question."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.errors import ModelError, UsageError
from ragviz.retrieval.reranking import Candidates, Parts, Scorer


def identity(parts: Parts) -> str:
    """Return the version of the prompt, and the model with its host."""
    from ragviz.retrieval import listwise

    if parts.client is None:
        raise UsageError("Reranker 'model' needs a model: set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server.")
    return f"model {listwise.VERSION} by {parts.client.model} at {parts.client.host}"


def build(parts: Parts) -> Scorer:
    """Return the scorer by the model's order: the first of n chunks gets n, the last 1.

    What a reply leaves out keeps its order behind; a question whose call fails keeps its order, and is reported. Where
    the endpoint as a whole fails, the scorer raises ModelError.
    """
    from ragviz.retrieval import listwise

    identity(parts)
    ask = parts.ask
    assert ask is not None

    def scored(candidates: Sequence[Candidates]) -> list[list[float]]:
        asked = [each for each in candidates if len(each.texts) > 1]
        replies = ask([listwise.request(each.question, each.texts) for each in asked])
        of: dict[int, list[float]] = {}
        for done, (each, reply) in enumerate(zip(asked, replies, strict=True), start=1):
            ranking: Sequence[int] = ()
            if isinstance(reply, ModelError):
                if reply.outage:
                    raise reply
                parts.report.failures[each.question] = str(reply)
            else:
                parts.report.add(reply)
                parts.report.failures.pop(each.question, None)
                ranking = reply.parsed.ranking if reply.parsed is not None else ()
            best = listwise.order(ranking, len(each.texts))
            scores = {number: float(len(best) - place) for place, number in enumerate(best)}
            of[id(each)] = [scores[number] for number in range(1, len(best) + 1)]
            parts.progress(done, len(asked), "questions", "Reranking by the model")
        return [of.get(id(each), [1.0]) for each in candidates]

    return scored
