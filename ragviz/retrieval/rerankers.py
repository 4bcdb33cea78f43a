"""Rerankers by name: what puts the first chunks of a retriever's ranking in a new order."""

from __future__ import annotations

from collections.abc import Mapping

from ragviz.core.configuration import IndexConfig, RerankerName
from ragviz.core.errors import UsageError
from ragviz.retrieval import cross_encoder_reranker, maxsim_reranker, model_reranker
from ragviz.retrieval.reranking import RerankerSpec

NONE = "none"
"""The name of a run's reranker where its retriever's ranking stays as it is."""

RERANKERS: Mapping[str, RerankerSpec] = {
    "maxsim": RerankerSpec(
        "Late interaction: each word of the question finds its nearest word in the chunk. The embedder of the index "
        "computes it on this machine; 'maxsim:NAME' uses another one.",
        "optional",
        maxsim_reranker.identity,
        maxsim_reranker.build,
        check=maxsim_reranker.check,
        embeds=True,
    ),
    "cross-encoder": RerankerSpec(
        "A model on this machine that reads question and chunk together: give its name on the hub, or its folder.",
        "required",
        cross_encoder_reranker.identity,
        cross_encoder_reranker.build,
    ),
    "model": RerankerSpec(
        "The model of the endpoint reads all of these chunks at once and puts them in order: one call for a question.",
        "optional",
        model_reranker.identity,
        model_reranker.build,
        asks=True,
        depth=20,
    ),
}
"""Rerankers by their name, without what may follow its colon."""


def parsed(name: RerankerName) -> tuple[str, str]:
    """Return kind and argument of a reranker's name.

    >>> parsed("maxsim"), parsed("cross-encoder:acme/mini")
    (('maxsim', ''), ('cross-encoder', 'acme/mini'))
    """
    kind, _, argument = name.partition(":")
    return kind.strip(), argument.strip()


def written() -> list[str]:
    """Return the names of all rerankers, with what follows a colon."""
    forms = {"optional": "", "required": ":NAME-OR-FOLDER"}
    return [NONE, *(f"{name}{forms[spec.takes]}" for name, spec in RERANKERS.items())]


def spec_of(name: RerankerName) -> RerankerSpec | None:
    """Return what the reranker called `name` is, None for "none"; UsageError for one that does not exist."""
    if name == NONE:
        return None
    kind, argument = parsed(name)
    spec = RERANKERS.get(kind)
    if spec is None:
        raise UsageError(f"There is no reranker '{name}': choose one of {', '.join(written())}.")
    if spec.takes == "required" and not argument:
        raise UsageError(f"Reranker '{kind}' needs a model: name one, as in {kind}:NAME-OR-FOLDER.")
    return spec


def default_depth(name: RerankerName) -> int:
    """Return the number of chunks that this reranker reads by default."""
    spec = spec_of(name)
    return 50 if spec is None else spec.depth


def model_of(name: RerankerName) -> str:
    """Return the endpoint's model that a reranker asks, "" for one that asks none.

    >>> model_of("model:mini"), model_of("maxsim:all-MiniLM-L6-v2"), model_of("none")
    ('mini', '', '')
    """
    spec = spec_of(name)
    return parsed(name)[1] if spec is not None and spec.asks else ""


def check_offered(config: IndexConfig, name: RerankerName) -> None:
    """Raise UsageError for a reranker that does not exist, or that this index cannot serve; loads no model."""
    if (spec := spec_of(name)) is not None and spec.check is not None:
        spec.check(parsed(name)[1], config)
