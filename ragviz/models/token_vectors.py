"""Vectors of the tokens of texts, for late interaction: computed by an embedder on this machine, and kept in a file."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragviz.core.configuration import REMOTE
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.models import weights
from ragviz.models.vectors import Kind, Vectors
from ragviz.text.untrusted import without_surrogates

Encode = Callable[[list[str], Kind], Generator[tuple[list[int], list[Vectors]]]]
"""Texts → batches of their positions, with the vectors of the tokens of each, not yet of unit length."""


def check_has_tokens(name: str) -> None:
    """Raise UsageError for an embedder whose token vectors cannot be had: an endpoint's, or none ("")."""
    if name and not name.startswith(REMOTE):
        return
    reason = f"Embedder '{name}' runs at an endpoint, which returns one vector for each text"
    raise UsageError(
        f"{reason if name else 'This index has no embedder'}: reranking by 'maxsim' needs one for each token. Name an "
        f"embedder on this machine, as in 'maxsim:{weights.PACKAGED}'."
    )


def encode_by(name: str) -> Encode:
    """Return what computes the token vectors of the embedder `name`; loads its model.

    Raises:
        UsageError: it has none, or no folder or model has that name.
        ModelError: the model's files could not be fetched, or the packaged ones are damaged.

    """
    check_has_tokens(name)
    card = weights.card(name)
    weights.loaded(card)
    return partial(weights.encoded_tokens, card)


_kept: dict[tuple[str, Path | None], KeptPassages] = {}


def kept_by(name: str, folder: Path | None) -> KeptPassages:
    """Return the passages that this process keeps of the embedder `name`, with a file in `folder`; loads its model.

    Those of the last embedder only. Raises as `encode_by`.
    """
    encode, key = encode_by(name), (weights.card(name).identity, folder)
    if (kept := _kept.get(key)) is None:
        _kept.clear()
        kept = _kept[key] = KeptPassages(encode, folder)
    return kept


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


MOST_BYTES = 2**31
"""Bytes of the vectors that are kept; when there are more, they are computed anew."""


class KeptPassages:
    """Token vectors of passages, of unit length: each distinct text is computed once, and kept in a temporary file.

    A chunk of 200 tokens takes 150 kB in half precision, so those of a large corpus do not fit into memory. The file
    has no name, and goes with its process. Several threads may use it, each with `lock` from `add` until it has read.
    """

    def __init__(self, encode: Encode, folder: Path | None = None) -> None:
        """Keep vectors in a file in `folder`, by default where the system keeps temporary files."""
        self.computed = 0
        """Texts computed so far."""
        self.lock = threading.Lock()
        self.encode = encode
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it is open as long as this object
        self._places: dict[str, tuple[int, int]] = {}  # digest of a text → first row and number of rows
        self._rows, self._dims = 0, 0

    def add(self, texts: Sequence[str], progress: Callable[[int, int], object] = lambda done, total: None) -> None:
        """Compute the texts that are not kept yet; `progress` gets how many of those are done, and their number.

        An exception that it raises stops the work; what was computed by then is kept.
        """
        if self._rows * self._dims * 2 > MOST_BYTES:
            self._places, self._rows = {}, 0
        missing = {key: text for text in texts if (key := digest(text, length=32)) not in self._places}
        keys = list(missing)
        if not keys:
            return
        progress(0, len(keys))
        done = 0
        with closing(self.encode([without_surrogates(text) for text in missing.values()], "passage")) as batches:
            for places, batch in batches:
                for place, vectors in zip(places, batch, strict=True):
                    self._dims = vectors.shape[1]
                    self._file.seek(self._rows * self._dims * 2)
                    self._file.write(unit(vectors).astype(np.float16).tobytes())
                    self._places[keys[place]] = (self._rows, len(vectors))
                    self._rows += len(vectors)
                done += len(places)
                self.computed += len(places)
                progress(done, len(keys))

    def read(self, texts: Sequence[str]) -> tuple[Vectors, NDArray[np.intp]]:
        """Return the vectors of all tokens of texts that were added, one text after the other, and their numbers."""
        places = [self._places[digest(text, length=32)] for text in texts]
        parts = [np.empty((0, self._dims), np.float16)]
        for first, count in places:
            self._file.seek(first * self._dims * 2)
            data = self._file.read(count * self._dims * 2)
            parts.append(np.frombuffer(data, dtype=np.float16).reshape(count, self._dims))
        return np.concatenate(parts).astype(np.float32), np.array([count for _, count in places], dtype=np.intp)
