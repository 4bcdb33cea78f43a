"""What keeps paid-for vectors, replies and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


class Cache(Protocol):
    """Caches vectors and replies, paid once: bytes by content key. Passed to embedders and model clients."""

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values; absent keys are left out."""
        ...

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`; existing keys are overwritten."""
        ...


class Pool(Protocol):
    """Keeps verdicts on chunks for all runs, by subject (what was asked), judge and chunk, each a digest."""

    def verdicts(self, subjects: Sequence[str], judge: str = "") -> Iterable[tuple[str, str, str, str]]:
        """Return (subject, judge, chunk, body) of every verdict on these subjects, by one judge or by all."""
        ...

    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts of a judge: body by (subject, chunk)."""
        ...
