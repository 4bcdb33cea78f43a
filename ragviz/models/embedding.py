"""Embedders: texts to vectors of unit length, each distinct text computed once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial

import numpy as np

from ragviz.core.configuration import REMOTE
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.reply_cache import Cache
from ragviz.models import weights
from ragviz.models.vectors import Batch, Compute, Embedder, Kind, NoVector, Remote, Vectors, of_unit_length
from ragviz.text.untrusted import without_surrogates

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
        return _Embedder(name, f"{name}@{endpoint}", None, prompts, None, compute, cache, opened)
    card = weights.card(name)

    def load() -> None:
        loading()
        weights.loaded(card)

    compute = partial(weights.encoded, card)
    return _Embedder(name, card.identity, card.max_tokens, card.prompts, card.dims, compute, cache, load)


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


class _Embedder:
    def __init__(
        self,
        name: str,
        identity: str,
        max_tokens: int | None,
        prompts: Mapping[Kind, str],
        dims: int | None,
        compute: Compute,
        cache: Cache | None,
        load: Callable[[], object],
    ) -> None:
        self.name = name
        self.identity = identity
        self.max_tokens = max_tokens
        self.embedded = 0
        self.seconds = 0.0
        self._prompts = prompts
        self._dims = dims
        self._compute = compute
        self._cache = cache
        self._load = load
        self._loaded = False

    def load(self) -> None:
        """See `Embedder.load`."""
        if not self._loaded:
            self._load()
            self._loaded = True

    @cached_property
    def dims(self) -> int:
        """Length of its vectors; computed from one when its files do not name it."""
        if self._dims is not None:
            return self._dims
        key = self._key("dims", "query")
        cached = self._cache.get_many([key]) if self._cache is not None else {}
        if key not in cached:
            ((_, vectors),) = self._compute(["dims"], "query")
            cached = {key: vectors.tobytes()}
            self._keep(cached)
        return len(cached[key]) // 4

    def embed(self, texts: Sequence[str], kind: Kind, progress: Callable[[int], None] | None = None) -> Vectors:
        """See `Embedder.embed`."""
        keys = [self._key(text, kind) for text in texts]
        times = Counter(keys)
        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        missing = self._fill_cached(keys, vectors)
        done = len(texts) - sum(times[keys[row]] for row in missing)
        report = progress or (lambda _: None)
        if missing:
            self.load()
        report(done)
        started = time.monotonic()
        try:
            with closing(self._compute([without_surrogates(texts[row]) for row in missing], kind)) as batches:
                for places, batch in batches:
                    rows = [missing[place] for place in places]
                    vectors[rows] = _checked(batch, self, places)
                    self._keep({keys[row]: vectors[row].tobytes() for row in rows})
                    self.embedded += len(rows)
                    done += sum(times[keys[row]] for row in rows)
                    report(done)
                    self.seconds, started = self.seconds + time.monotonic() - started, time.monotonic()
        except ModelError as error:
            error.place = None if error.place is None else missing[error.place]
            raise
        first: dict[str, int] = {}
        for row, key in enumerate(keys):
            if first.setdefault(key, row) != row:
                vectors[row] = vectors[first[key]]
        return vectors

    def _key(self, text: str, kind: Kind) -> str:
        return digest(self.identity, self._prompts[kind], text, length=32)

    def _fill_cached(self, keys: list[str], vectors: Vectors) -> list[int]:
        """Fill in cached vectors; return the first row of each distinct text without one."""
        first = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
        rows = sorted(first.values())
        missing = []
        for start in range(0, len(rows), 1024):  # never the whole corpus in memory a second time
            window = rows[start : start + 1024]
            cached = self._cache.get_many([keys[row] for row in window]) if self._cache is not None else {}
            for row in window:
                vector = np.frombuffer(cached.get(keys[row], b""), dtype="<f4")
                if len(vector) == self.dims:
                    vectors[row] = vector
                else:
                    missing.append(row)
        return missing

    def _keep(self, items: Mapping[str, bytes]) -> None:
        if self._cache is not None:
            self._cache.put_many(items)


def _checked(vectors: Vectors, embedder: Embedder, places: Sequence[int]) -> Vectors:
    """Scale to unit length; refuse vectors that are zero or not finite, and a wrong number or dimension of vectors."""
    if vectors.shape != (len(places), embedder.dims):
        shape = (len(places), embedder.dims)
        raise ModelError(
            f"'{embedder.name}' made vectors of shape {vectors.shape}, {shape} was expected: choose another."
        )
    try:
        return of_unit_length(vectors)
    except NoVector as wrong:
        error = ModelError(f"'{embedder.name}' made {wrong}. {wrong.step}")
        error.place = places[wrong.place]
        raise error from None


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
