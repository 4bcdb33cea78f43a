"""A number, or the reason there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScoreStatus = Literal["ok", "not_applicable", "no_answer", "judge_error", "skipped"]


@dataclass(frozen=True, slots=True)
class Score:
    """A number, or the reason there is none: `value` is None unless `status` is "ok"."""

    metric: str
    value: float | None
    status: ScoreStatus = "ok"
    reason: str = ""
    version: str = "1"
