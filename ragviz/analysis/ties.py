"""Which of several runs cannot be told apart, what they take for a question, and which of them is preferred by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragviz.analysis.compare import Delta, Pair
from ragviz.text.counts import enumerated

By = Literal["tokens", "dollars", "seconds"]

TITLES: Mapping[By, str] = {
    "tokens": "tokens read",
    "dollars": "cost",
    "seconds": "latency",
}
"""What a question takes → its name."""
BREAKING: tuple[By, ...] = ("tokens", "dollars")
"""What breaks a tie, in this order. Latency does not: it is measured once, on a machine that does other things too."""

_NAMED = 4
"""Tied runs that are named; more are counted."""

SAME = 0.01
"""Amounts that differ by less than this share of the greater one are the same."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a configuration takes for a question: the tokens it reads, dollars, seconds; None where it is not known."""

    tokens: float | None = None
    dollars: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The run that is preferred of several, by what; `by` is None, and `run` "", where nothing tells them apart.

    `amount` is what the run takes, `next` the least that another one takes.
    """

    run: str = ""
    by: By | None = None
    amount: float = 0.0
    next: float = 0.0


def broken(tied: Collection[str], prices: Mapping[str, Price]) -> Choice:
    """Choose among runs that are tied: those that read the fewest tokens are left, then those that cost least.

    What is not known of every run that is left is passed over, and so is a difference below `SAME`.

    >>> prices = {"a": Price(600, 0.002), "b": Price(602, 0.001), "c": Price(1200, 0.0)}
    >>> broken(["a", "b", "c"], prices)
    Choice(run='b', by='dollars', amount=0.001, next=0.002)
    >>> broken(["b", "c"], prices), broken(["a", "b"], {"a": Price(600), "b": Price(600)})
    (Choice(run='b', by='tokens', amount=602, next=1200), Choice(run='', by=None, amount=0.0, next=0.0))
    """
    left = list(tied)
    for by in BREAKING:
        amounts = {run: amount for run in left if (amount := getattr(prices.get(run, Price()), by)) is not None}
        if len(left) < 2 or len(amounts) < len(left):
            continue
        least = min(amounts.values())
        cheapest = [run for run in left if amounts[run] - least <= SAME * amounts[run]]
        if len(cheapest) == 1:
            return Choice(cheapest[0], by, least, min(amounts[run] for run in left if run != cheapest[0]))
        left = cheapest
    return Choice()


def words(tied: Collection[str], choice: Choice) -> str:
    """Say which of the tied runs is preferred, and why.

    >>> words(["a", "b"], Choice("a", "tokens", 602, 1200))
    'a and b cannot be told apart. The tie is broken by tokens read: a takes 602 a question, the next 1,200.'
    >>> words(["a", "b"], Choice("b", "dollars", 0.001, 0.0021))
    'a and b cannot be told apart. The tie is broken by cost: b takes $0.001 a question, the next $0.0021.'
    >>> words(["a", "b", "c"], Choice())
    'a, b and c cannot be told apart. Tokens read and cost, as far as they are known, do not break the tie.'
    """
    names = list(tied)
    tie = f"{enumerated(names) if len(names) <= _NAMED else f'{len(names)} runs'} cannot be told apart."
    if choice.by is None:
        return f"{tie} Tokens read and cost, as far as they are known, do not break the tie."
    least, other = (amount_words(choice.by, amount) for amount in (choice.amount, choice.next))
    by = TITLES[choice.by]
    return f"{tie} The tie is broken by {by}: {choice.run} takes {least} a question, the next {other}."


def amount_words(by: By, amount: float) -> str:
    """Write an amount in its unit.

    >>> amount_words("tokens", 1203.4), amount_words("dollars", 0.00042), amount_words("seconds", 1.234)
    ('1,203', '$0.00042', '1.2 s')
    """
    if by == "tokens":
        return f"{amount:,.0f}"
    return f"${amount:.2g}" if by == "dollars" else f"{amount:.2g} s"


def brackets(runs: Sequence[str], pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """Return the largest groups of two runs or more of which no pair is better or worse, in the order of `runs`.

    `pairs` are all pairs of the runs in one metric. A run may be in several groups: a and b, and b and c, may be close
    where a and c are apart. Groups are found by insertion and absorption (Piepho 2004).
    """
    groups = [frozenset(runs)]
    for apart in [frozenset((pair.baseline, pair.delta.run)) for pair in pairs if _is_apart(pair)]:
        split = [part for group in groups for part in ([group - {run} for run in apart] if apart <= group else [group])]
        different = list(dict.fromkeys(split))
        groups = [group for group in different if not any(group < other for other in different)]
    places = {run: place for place, run in enumerate(runs)}
    ordered = [tuple(sorted(group, key=places.__getitem__)) for group in groups if len(group) > 1]
    return sorted(ordered, key=lambda group: [places[run] for run in group])


def contenders(baseline: str, deltas: Sequence[Delta], pairs: Callable[[], Sequence[Pair]]) -> list[str]:
    """Return the runs to choose from: those better than the baseline that no other of them beats; all in a ring.

    Where none is better, the baseline, which stays unless one that is shown to be equivalent takes less, and these.
    `pairs` returns all pairs.
    """
    better = [delta.run for delta in deltas if delta.verdict == "better"]
    if not better:
        return [baseline, *(delta.run for delta in deltas if delta.verdict in ("equivalent", "equal"))]
    among = [pair for pair in pairs() if {pair.baseline, pair.delta.run} <= set(better)]
    beaten = {run for others in beats(better, among).values() for run in others}
    return [run for run in better if run not in beaten] or better


def beats(runs: Sequence[str], pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Return, for each run that is better than another, those that it is better than, both in the order of `runs`."""
    better = {
        (pair.delta.run, pair.baseline) if pair.delta.verdict == "better" else (pair.baseline, pair.delta.run)
        for pair in pairs
        if _is_apart(pair)
    }
    beaten = {run: [other for other in runs if (run, other) in better] for run in runs}
    return {run: others for run, others in beaten.items() if others}


@dataclass(frozen=True, slots=True)
class Standing:
    """The ranks `low` to `high` that a run may have, 1 the best."""

    low: int
    high: int

    @property
    def words(self) -> str:
        """Those ranks as they are read: "1 to 2"."""
        return f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"


def standings(runs: Sequence[str], pairs: Sequence[Pair]) -> dict[str, Standing]:
    """Return the ranks that each of three runs or more may have by all pairs; {} for two.

    A run's best rank is behind all runs that are better than it, its worst before all that it is better than
    (Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    if len(runs) < 3:
        return {}
    beaten = beats(runs, pairs)
    behind = Counter(run for others in beaten.values() for run in others)
    return {run: Standing(1 + behind[run], len(runs) - len(beaten.get(run, ()))) for run in runs}


def _is_apart(pair: Pair) -> bool:
    return pair.delta.verdict in ("better", "worse")
