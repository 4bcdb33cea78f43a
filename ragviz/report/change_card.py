"""The change card: ship, do not ship or undecided, under the rule, with the estimate, its doubt and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragviz.analysis.compare import Comparison, Delta
from ragviz.analysis.comparison_words import difference_words, needed_words, p_words, rule_words
from ragviz.analysis.rules import direction
from ragviz.analysis.ties import Price
from ragviz.core.experiment import Guardrail
from ragviz.experiments.conclusion import TITLES, Conclusion, amount_of, amount_words
from ragviz.metrics.registry import title_of
from ragviz.report import style
from ragviz.report.elements import Html, element, estimate_fact, fact, table

MARKS = {"ship": ("▲", "ship"), "do not ship": ("▼", "no"), "undecided": ("○", "")}
"""Decision → its sign, which is there beside the colour, and the class of the card."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a report of several configurations rests on.

    The runs of `comparison` are called as it calls them, the baseline first; `prices` are what each takes for a
    question, `refusals` the share of its answers that refuse a question that the documents answer, by name. `declared`
    says when and by whom the rule was made, `limits` are its guardrails. `warnings` are sentences that a person who
    decides must have read.
    """

    comparison: Comparison
    conclusion: Conclusion
    prices: Mapping[str, Price]
    refusals: Mapping[str, float]
    declared: str
    limits: Sequence[Guardrail] = ()
    warnings: Sequence[str] = field(default_factory=tuple)

    @property
    def candidate(self) -> int:
        """The place of the run that is shown against the baseline."""
        return self.comparison.runs.index(self.conclusion.candidate)

    @property
    def delta(self) -> Delta:
        """The candidate against the baseline in the primary metric."""
        return self.comparison.rows[self.comparison.rule.primary].deltas[self.candidate - 1]


def card(decided: Decided) -> Html:
    """Return the card."""
    comparison, conclusion, delta = decided.comparison, decided.conclusion, decided.delta
    sign, class_ = MARKS[conclusion.decision]
    title = conclusion.decision.capitalize()
    if conclusion.decision == "ship":
        title = f"Ship {conclusion.chosen}"
    return element(
        "div",
        element("p", element("i", sign, aria_hidden="true"), title, class_="decision"),
        element("p", conclusion.sentence),
        *(element("p", warning, class_="warning") for warning in decided.warnings),
        _facts(decided),
        interval_picture(delta, direction(comparison.rule.primary)),
        _takes(decided),
        *(element("p", note) for note in conclusion.notes),
        element("p", decided.declared, " ", rule_words(comparison), class_="soft"),
        class_=f"card {class_}".strip(),
    )


def _facts(decided: Decided) -> Html:
    comparison, delta = decided.comparison, decided.delta
    row = comparison.rows[comparison.rule.primary]
    metric, clusters = title_of(row.label), comparison.pair(row.label, decided.candidate).clusters
    n, documents = delta.difference.n, clusters.documents
    on = f"on {style.counted_words(documents, 'document')}" if documents else "each by itself"
    note = f"{delta.verdict}, p = {p_words(delta.p_adjusted)} (Holm)"
    note += needed_words(delta) if delta.verdict == "undecided" else ""
    return element(
        "dl",
        fact(f"{metric}: {delta.run} against {comparison.runs[0]}", difference_words(delta.difference), note),
        fact("Questions", f"{n:,}", on),
        estimate_fact(f"{metric} of {comparison.runs[0]}", row.estimates[0]),
        estimate_fact(f"{metric} of {delta.run}", row.estimates[decided.candidate]),
        class_="facts",
    )


def _takes(decided: Decided) -> Html:
    """Return what a question takes before and after, with the limits that were declared."""
    base, other = decided.comparison.runs[0], decided.comparison.runs[decided.candidate]
    broken = {(each.cell, each.guardrail): each.value is None or each.limit is None
              for each in decided.conclusion.breaches}  # fmt: skip
    rows = []
    for quantity, title in TITLES.items():
        before, after = (amount_of(quantity, name, decided.prices, decided.refusals) for name in (base, other))
        limits = [limit for limit in decided.limits if limit.quantity == quantity]
        said = "; ".join(f"at most {_limit_words(limit)}: {_KEPT[broken.get((other, limit))]}" for limit in limits)
        change = (
            f"{(after - before) / before:+.0%}".replace("%", " %").replace("-", "−")
            if before and after is not None
            else ""
        )
        cells = ("not known" if amount is None else amount_words(quantity, amount) for amount in (before, after))
        rows.append((title.capitalize(), *cells, change, said or "none declared"))
    return table(
        ("A question takes, on average", base, other, "Change", "Guardrail"), rows, "What the change costs",
        numbers=(1, 2, 3),
    )  # fmt: skip


_KEPT = {None: "kept", False: "broken", True: "cannot be checked"}


def _limit_words(limit: Guardrail) -> str:
    return f"{limit.most:g} times the baseline's" if limit.relative else amount_words(limit.quantity, limit.most)


WIDTH, MIDDLE = 560, 280  # of the picture, in its own units


def interval_picture(delta: Delta, sign: int) -> Html | None:
    """Draw the difference with its interval on an axis around 0, the smallest difference that matters as a band."""
    d = delta.difference
    if d.mean is None or d.low is None or d.high is None:
        return None
    reach = max(abs(d.low), abs(d.high), 2 * delta.margin) * 1.1

    def x(value: float) -> str:
        return f"{MIDDLE + value / reach * (MIDDLE - 10):.1f}"

    alt = (
        f"The difference is {difference_words(d)}; differences within ±{delta.margin:g} do not matter. "
        f"{'Right' if sign > 0 else 'Left'} of 0 is better."
    )
    band = float(x(delta.margin)) - float(x(-delta.margin))
    ends = ((30, f"{-reach:+.2f}".replace("-", "−")), (MIDDLE, "0"), (WIDTH - 30, f"{reach:+.2f}"))
    return element(
        "svg",
        element("rect", x=x(-delta.margin), y=8, width=f"{band:.1f}", height=32, fill="currentColor",
                fill_opacity="0.14"),
        element("line", x1=10, x2=WIDTH - 10, y1=40, y2=40, stroke="currentColor", stroke_opacity="0.5"),
        element("line", x1=MIDDLE, x2=MIDDLE, y1=8, y2=46, stroke="currentColor"),
        element("line", x1=x(d.low), x2=x(d.high), y1=24, y2=24, stroke_width=4, class_="whole"),
        element("circle", cx=x(d.mean), cy=24, r=7, class_="mean"),
        *(element("text", words, x=place, y=62, text_anchor="middle") for place, words in ends),
        viewBox=f"0 0 {WIDTH} 70", class_="axis", role="img", aria_label=alt,
    )  # fmt: skip
