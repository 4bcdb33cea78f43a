"""The split of a question set into a validation and a test side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["validation", "test"]
"""A side of a split: what is chosen is chosen on "validation", what is reported of the choice is measured on "test"."""
SIDES: tuple[Side, ...] = ("validation", "test")
SplitKind = Literal["stratified", "grouped", "imported"]


@dataclass(frozen=True, slots=True)
class Split:
    """How the questions of a set were divided into validation and test.

    `share` is that of validation; it and the seed are None where the sides were read from a file ("imported").
    """

    kind: SplitKind
    share: float | None = None
    seed: int | None = None
