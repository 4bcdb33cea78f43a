"""Places where metrics are shown by default."""

from __future__ import annotations

from typing import Literal

Place = Literal["tile", "curve", "row", "sort"]
"""A tile of a run's results; a curve over k; a column per kind and document; the order of a run's questions."""
