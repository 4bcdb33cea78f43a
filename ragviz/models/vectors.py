"""Vectors, and the protocol of embedders."""

from __future__ import annotations

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
