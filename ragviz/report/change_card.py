"""The change card: ship, do not ship or undecided, under the rule, with the estimate, its doubt and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ragviz.analysis.compare import Comparison, Delta
from ragviz.analysis.comparison_words import difference_words, needed_words, p_words, rule_words
from ragviz.analysis.rules import direction
from ragviz.core.experiment import Guardrail
from ragviz.experiments.conclusion import TITLES, amount_of, amount_words
from ragviz.experiments.findings import Measured
from ragviz.metrics.registry import title_of
from ragviz.report.page import Card, Fact, Facts, Part, Record, Table, Text, estimate_fact
from ragviz.text.counts import counted

MARKS = {"ship": ("▲", "ship"), "do not ship": ("▼", "no"), "undecided": ("○", "")}
"""Decision → its sign, which is there beside the colour, and the class of the card."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a report of several configurations rests on.

    `measured` compares at least two runs. `declared` says when and by whom the rule was made, `limits` are its
    guardrails. `warnings` are sentences that a person who decides must have read, beside the notes of the comparison.
    """

    measured: Measured
    declared: str
    limits: Sequence[Guardrail] = ()
    warnings: Sequence[str] = field(default_factory=tuple)

    @property
    def comparison(self) -> Comparison:
        """The runs compared with the baseline, which is the first."""
        assert self.measured.comparison is not None  # a report of less is made without a card
        return self.measured.comparison

    @property
    def candidate(self) -> int:
        """The place of the run that is shown against the baseline."""
        return self.comparison.runs.index(self.measured.conclusion.candidate)

    @property
    def delta(self) -> Delta:
        """The candidate against the baseline in the primary metric."""
        return self.comparison.rows[self.comparison.rule.primary].deltas[self.candidate - 1]


@dataclass(frozen=True, slots=True)
class Axis(Record):
    """A difference with its interval, drawn on an axis from -`reach` to `reach`; `alt` says it in words."""

    low: float
    mean: float
    high: float
    margin: float
    reach: float
    alt: str


def card(decided: Decided) -> Card:
    """Return the card."""
    comparison, conclusion, delta = decided.comparison, decided.measured.conclusion, decided.delta
    sign, look = MARKS[conclusion.decision]
    title = f"Ship {conclusion.chosen}" if conclusion.decision == "ship" else conclusion.decision.capitalize()
    parts: list[Part] = [
        conclusion.sentence,
        *(Text(warning, "warning") for warning in (*decided.warnings, *comparison.notes)),
        _facts(decided),
        *_axis(delta, direction(comparison.rule.primary)),
        _takes(decided),
        *conclusion.notes,
        Text(f"{decided.declared} {rule_words(comparison)}"),
    ]
    return Card(sign, title, parts, look)


def _facts(decided: Decided) -> Facts:
    comparison, delta = decided.comparison, decided.delta
    row = comparison.rows[comparison.rule.primary]
    metric, documents = title_of(row.label), comparison.pair(row.label, decided.candidate).clusters.documents
    on = f"on {counted(documents, 'document')}" if documents else "each by itself"
    note = f"{delta.verdict}, p = {p_words(delta.p_adjusted)} (Holm)"
    note += needed_words(delta) if delta.verdict == "undecided" else ""
    return Facts(
        [
            Fact(f"{metric}: {delta.run} against {comparison.runs[0]}", difference_words(delta.difference), note),
            Fact("Questions", f"{delta.difference.n:,}", on),
            estimate_fact(f"{metric} of {comparison.runs[0]}", row.estimates[0]),
            estimate_fact(f"{metric} of {delta.run}", row.estimates[decided.candidate]),
        ]
    )


def _axis(delta: Delta, sign: int) -> Iterator[Axis]:
    d = delta.difference
    if d.mean is not None and d.low is not None and d.high is not None:
        alt = (
            f"The difference is {difference_words(d)}; differences within ±{delta.margin:g} do not matter. "
            f"{'Right' if sign > 0 else 'Left'} of 0 is better."
        )
        reach = max(abs(d.low), abs(d.high), 2 * delta.margin) * 1.1
        yield Axis(d.low, d.mean, d.high, delta.margin, reach, alt)


def _takes(decided: Decided) -> Table:
    base, other = decided.comparison.runs[0], decided.comparison.runs[decided.candidate]
    measured = decided.measured
    broken = {(each.cell, each.guardrail): each for each in measured.conclusion.breaches}
    rows = []
    for quantity, title in TITLES.items():
        before, after = (amount_of(quantity, name, measured.prices, measured.refusals) for name in (base, other))
        change, limits = "", []
        for limit in decided.limits:
            if limit.quantity == quantity:
                breach = broken.get((other, limit))
                most = amount_words(quantity, limit.most)
                most = f"{limit.most:g} times the baseline's" if limit.relative else most
                kept = "kept" if breach is None else "cannot be checked" if breach.unknown else "broken"
                limits.append(f"at most {most}: {kept}")
        if before and after is not None:
            change = f"{(after - before) / before:+.0%}".replace("%", " %").replace("-", "−")
        cells = ("not known" if amount is None else amount_words(quantity, amount) for amount in (before, after))
        rows.append((title.capitalize(), *cells, change, "; ".join(limits) or "none declared"))
    head = ("A question takes, on average", base, other, "Change", "Guardrail")
    return Table(head, rows, "What the change costs", numbers=(1, 2, 3))
