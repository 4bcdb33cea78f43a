"""Vectors, and the protocol of embedders."""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (n, dims), float32, rows of unit length."""

Kind = Literal["query", "passage"]
Batch = tuple[list[int], Vectors]
"""Positions in a list of texts, and their vectors row by row."""
Remote = Callable[[str, Sequence[str]], Iterable[Batch]]
"""(model, texts) -> their vectors in batches: `chat.ModelClient.embed`."""


class NoVector(Exception):
    """A vector that cannot be used, of the text at `place`; the message says what it is."""

    step = "Choose another embedder, or take the text out."

    def __init__(self, message: str, place: int) -> None:
        """Keep whose vector it is."""
        self.place = place
        super().__init__(message)


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
        NoVector: one is zero, or has a number that is not finite.

    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    wrong = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(wrong):
        what = "a zero vector" if lengths[wrong[0]] == 0 else "a vector with a number that is not finite"
        raise NoVector(what, int(wrong[0]))
    return np.asarray(vectors / lengths, dtype=np.float32)


class Embedder(Protocol):
    """Computes vectors. `identity` changes when the vectors would, and is part of their cache keys."""

    name: str
    max_tokens: int | None
    """Tokens it reads of a text, special ones included; the rest is silently ignored. None when unknown."""
    embedded: int
    """Texts computed since it was opened: neither cached nor duplicates."""
    seconds: float
    """Seconds that computing them took, without loading the model."""

    @property
    def identity(self) -> str:
        """Name of the model and hash of its files, or its revision, or its endpoint."""
        ...

    @property
    def dims(self) -> int:
        """Length of its vectors."""
        ...

    def load(self) -> None:
        """Load the model now, before threads start whose imports could conflict with it.

        Raises:
            ModelError: it cannot be loaded.

        """
        ...

    def embed(self, texts: Sequence[str], kind: Kind, progress: Callable[[int], None] | None = None) -> Vectors:
        """Return the vectors of `texts`, row by row; (0, dims) when there are none.

        `progress` is called with the number of texts done, cached ones at once. An exception it raises stops the work
        and is raised here; vectors computed by then are cached.

        Raises:
            ModelError: the model cannot be loaded or called, or returns vectors that cannot be used.

        """
        ...


Compute = Callable[[list[str], Kind], Generator[Batch]]
"""Computes vectors of texts batch by batch, in any order, not yet of unit length."""
