"""Vectors, and what makes them of texts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (n, dims), float32, rows of unit length."""

Kind = Literal["query", "passage"]
Batch = tuple[list[int], Vectors]
"""Places in a list of texts, and their vectors row by row."""
Remote = Callable[[str, Sequence[str]], Iterable[Batch]]
"""(model, texts) -> their vectors, some at a time: `llm.ModelClient.embed`."""


class Embedder(Protocol):
    """Makes vectors. `identity` changes when the vectors would, and names them in caches and indexes."""

    name: str
    max_tokens: int | None
    """Tokens it reads of a text, its special ones included; the rest is silently left out. None: not known."""
    embedded: int
    """Texts computed since it was opened: neither cached nor the same as another."""

    @property
    def identity(self) -> str:
        """Name of the model and hash of its files, or its revision, or its endpoint."""
        ...

    @property
    def dims(self) -> int:
        """Length of its vectors."""
        ...

    def load(self) -> None:
        """Load now what the first text that is not cached would load: before threads start that import things too.

        Raises:
            ModelError: it cannot be loaded.

        """
        ...

    def embed(self, texts: Sequence[str], kind: Kind, progress: Callable[[int], None] | None = None) -> Vectors:
        """Embed `texts`, row by row; (0, dims) when there are none.

        `progress` is told how many texts are done, cached ones at once. An exception it raises stops the work and
        comes out here; what was computed by then is cached.

        Raises:
            ModelError: the model cannot be loaded or asked, or makes vectors that cannot be used.

        """
        ...


Compute = Callable[[list[str], Kind], Generator[Batch]]
"""Computes vectors of texts batch by batch, in any order, not yet of unit length."""
