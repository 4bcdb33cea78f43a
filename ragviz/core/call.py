"""Calls of models: what one said, what they cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: `prompt` is the version of its prompt, `raw` its reply.

    `seconds` are in flight; `cost` is in dollars, None when the model has no price. A `cached` call cost nothing now.
    Tokens that the endpoint did not report are `estimated` from the texts.
    """

    step: str
    model: str
    prompt: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float | None
    cached: bool
    raw: str
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Paid:
    """Calls that were paid, or are to be paid: their tokens, and the dollars of those whose model has a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: Paid) -> Paid:
        """Return the sum."""
        tokens = (self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)
        return Paid(self.calls + other.calls, *tokens, self.dollars + other.dollars)

    def __sub__(self, other: Paid) -> Paid:
        """Return the difference."""
        tokens = (self.prompt_tokens - other.prompt_tokens, self.completion_tokens - other.completion_tokens)
        return Paid(self.calls - other.calls, *tokens, self.dollars - other.dollars)


@dataclass(frozen=True, slots=True)
class Limits:
    """Dollars that calls may cost: `budget` for all of one run, set or index, `monthly` for all of a person's month."""

    budget: float | None = None
    monthly: float | None = None


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit, in dollars, that does not hold another call, and the sum with that call.

    Of a `person`'s month, `renewed` is the first day of the next one, as 2026-12-01; both are "" of a budget.
    """

    dollars: float
    limit: float
    person: str = ""
    renewed: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions with its 95 % interval; all None when `n` (questions that have the score) is 0.

    `clusters` counts the groups of questions that share documents, which are the units of doubt. `design_effect` is the
    variance of the mean ÷ that of as many independent questions; None where unknown.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int = 0
    design_effect: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval, low and high end; None where one question, or only equal scores, tell nothing of a spread."""
        if self.low is None or self.high is None or self.n < 2 or self.low == self.high:
            return None
        return self.low, self.high

    def interval_words(self, digits: int = 2) -> str:
        """Write the interval, or why there is none.

        >>> Estimate(0.8, 0.741, 0.9, 10).interval_words(), Estimate(0.5, 0.5, 0.5, 1).interval_words()
        ('[0.74, 0.90]', 'no interval')
        """
        ends = self.interval
        return f"[{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]" if ends else "no interval"
