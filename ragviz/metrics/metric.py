"""What a metric of rankings or of characters is, and the places where metrics are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragviz.core.recording import Need

Floats = NDArray[np.float64]
Table = TypeVar("Table")

Place = Literal["tile", "curve", "row", "sort"]
"""A tile of a run's results; a curve over k; a column per kind and document; the order of a run's questions."""


@dataclass(frozen=True, slots=True)
class Metric(Generic[Table]):
    """One metric: how it is computed, and what a person must know to read it.

    `function` gives a number per question: an array (n, depth) with a column per k when `at_k`, else (n,). `needs` is
    what of a recording it reads. `version` changes with the formula. `shown` maps each place where it is shown by
    default to its position there.
    """

    title: str
    explanation: str
    function: Callable[[Table], Floats]
    needs: tuple[Need, ...] = ("ranking", "gold")
    at_k: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    version: str = "1"
    shown: Mapping[Place, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Title without its "@k"."""
        return self.title.removesuffix("@k")
