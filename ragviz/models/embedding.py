"""Embedders by name: of an endpoint, or of this machine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial

from ragviz.core.configuration import REMOTE
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.reply_cache import Cache
from ragviz.models import weights
from ragviz.models.vectors import Batch, Embedder, Kind, Remote

NO_PROMPTS: Mapping[Kind, str] = {"query": "", "passage": ""}


def open_embedder(
    name: str,
    *,
    cache: Cache | None = None,
    remote: Remote | None = None,
    endpoint: str = "",
    prompts: Mapping[Kind, str] = NO_PROMPTS,
    opened: Callable[[], object] = lambda: None,
    loading: Callable[[], object] = lambda: None,
) -> Embedder:
    """Open the embedder called `name`; its model is loaded when the first text is computed, after `loading`.

    `remote` computes the vectors of "openai:MODEL", `opened` imports what that needs, and `endpoint`, its address
    without a key, distinguishes models of one name at two servers. `prompts` stand before its texts, with a blank
    between; models of this machine bring their own.

    Raises:
        UsageError: no folder or model has that name, or "openai:MODEL" without `remote`.
        ModelError: the model's files could not be fetched, or the packaged ones are damaged.

    """
    if name.startswith(REMOTE):
        if remote is None:
            raise UsageError(f"Embedder '{name}' needs a model endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL.")
        compute = partial(_requested, remote, name.removeprefix(REMOTE), prompts)
        return Embedder(name, f"{name}@{endpoint}", None, prompts, None, compute, cache, opened)
    card = weights.card(name)

    def load() -> None:
        loading()
        weights.loaded(card)

    compute = partial(weights.encoded, card)
    return Embedder(name, card.identity, card.max_tokens, card.prompts, card.dims, compute, cache, load)


def is_here(name: str) -> bool:
    """Return whether an embedder's small files can be read without a network; an endpoint's models have none.

    >>> is_here("all-MiniLM-L6-v2"), is_here("openai:text-embedding-3-small"), is_here("nobody/has-fetched-this")
    (True, True, False)
    """
    return (
        name.startswith(REMOTE)
        or not (repository := weights.repository_of(name))
        or weights.fetched_snapshot(repository) is not None
    )


def _requested(
    remote: Remote, model: str, prompts: Mapping[Kind, str], texts: list[str], kind: Kind
) -> Generator[Batch]:
    """Request vectors in large blocks, which `remote` divides; each of its batches is cached and reported."""
    prompted = [f"{prompts[kind]} {text}" if prompts[kind] else text for text in texts]
    for start in range(0, len(texts), 512):
        try:
            for places, vectors in remote(model, prompted[start : start + 512]):
                yield [start + place for place in places], vectors
        except ModelError as error:
            error.place = None if error.place is None else start + error.place
            raise
