"""Vectors, and the embedders that compute them."""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.reply_cache import Cache
from ragviz.models.replies import Malformed
from ragviz.text.untrusted import without_surrogates

Vectors = NDArray[np.float32]
"""Shape (n, dims), float32, rows of unit length."""

Kind = Literal["query", "passage"]
Batch = tuple[list[int], Vectors]
"""Positions in a list of texts, and their vectors row by row."""
Remote = Callable[[str, Sequence[str]], Iterable[Batch]]
"""(model, texts) -> their vectors in batches: `chat.ModelClient.embed`."""


def decoded(vector: str | list[float]) -> NDArray[np.float32]:
    """Return a vector as an endpoint sends it: the bytes of its float32, little-endian, in base64; else numbers.

    >>> decoded("AACAPwAAAMA=").tolist(), decoded([1, -2]).tolist()
    ([1.0, -2.0], [1.0, -2.0])
    """
    if isinstance(vector, str):
        return np.frombuffer(base64.b64decode(vector), dtype="<f4")
    return np.array(vector, dtype=np.float32)


def of_unit_length(vectors: NDArray[np.float32]) -> Vectors:
    """Return vectors, row by row, divided by their lengths.

    Raises:
        Malformed: one is zero, or has a number that is not finite.

    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    wrong = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(wrong):
        what = "a zero vector" if lengths[wrong[0]] == 0 else "a vector with a number that is not finite"
        raise Malformed(what, "Choose another embedder, or take the text out.", int(wrong[0]))
    return np.asarray(vectors / lengths, dtype=np.float32)


Compute = Callable[[list[str], Kind], Generator[Batch]]
"""Computes vectors of texts batch by batch, in any order, not yet of unit length."""


class Embedder:
    """Computes vectors of unit length, each distinct text once, and caches them.

    `identity` (name of the model and hash of its files, or its revision, or its endpoint) changes when the vectors
    would. It reads `max_tokens` of a text, special ones included, and silently ignores the rest; None when unknown.
    `embedded` counts the texts computed since it was opened, and `seconds` what that took without loading the model.
    """

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
        """Compute by `compute`, once `load` has been called; `prompts` stand before texts, and count in cache keys."""
        self.name, self.identity, self.max_tokens = name, identity, max_tokens
        self.embedded, self.seconds = 0, 0.0
        self._prompts, self._dims, self._compute = prompts, dims, compute
        self._cache, self._load, self._loaded = cache, load, False

    def load(self) -> None:
        """Load the model now, before threads start whose imports could conflict with it; ModelError when it cannot."""
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
        """Return the vectors of `texts`, row by row; (0, dims) when there are none.

        `progress` is called with the number of texts done, cached ones at once. An exception it raises stops the work
        and is raised here; vectors computed by then are cached.

        Raises:
            ModelError: the model cannot be loaded or called, or returns vectors that cannot be used.

        """
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
    except Malformed as wrong:
        error = ModelError(f"'{embedder.name}' made {wrong}. {wrong.step}")
        error.place = None if wrong.place is None else places[wrong.place]
        raise error from None
