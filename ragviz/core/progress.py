"""How a long task reports what it has done."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of a long task; may raise `Cancelled` to stop it."""

    def __call__(self, done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report `done` of `total` (None: unknown) in `unit` ("chunks"); `message` names the current step."""
        ...


def silent(done: int, total: int | None, unit: str, message: str = "") -> None:
    """Ignore progress."""
