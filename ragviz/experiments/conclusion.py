"""What an experiment says: which configuration, under the rule declared before its first result, and how surely.

One pure function; the page, the command line and the report show what it returns. Configurations go by the names of
their cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragviz.analysis import ties
from ragviz.analysis.compare import Comparison, Delta, pairs
from ragviz.analysis.comparison_words import clause, difference_words, needed_words
from ragviz.analysis.rules import direction
from ragviz.analysis.ties import Choice, Price
from ragviz.core.experiment import Experiment, Guardrail, Quantity
from ragviz.metrics.registry import title_of
from ragviz.questions import without_model

Decision = Literal["ship", "do not ship", "undecided"]

TITLES: Mapping[Quantity, str] = {
    "tokens": "tokens read",
    "dollars": "cost",
    "seconds": "latency",
    "refusals": "refusals",
}
"""What a guardrail bounds → its name."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A guardrail that a cell breaks, or that cannot be checked: then `value` or `limit` is None."""

    cell: str
    guardrail: Guardrail
    value: float | None
    limit: float | None

    @property
    def unknown(self) -> bool:
        """Whether it cannot be checked."""
        return self.value is None or self.limit is None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What an experiment says on one side of its split.

    `chosen` is the cell to use, the baseline's name where nothing is shown to be better, "" before there is a result.
    `candidate` is the one to look at beside the baseline: the one chosen, else the best that may be.
    `deltas` are the cells but the baseline in the primary metric, by name; `tied` are the cells between which `choice`
    decided. `final` says whether all cells are done or failed: before that nothing is decided. `notes` are sentences on
    ties, guardrails and cells without a result. `same_questions` says that the configuration was chosen on the
    questions that it is reported on.
    """

    decision: Decision
    chosen: str
    sentence: str
    notes: tuple[str, ...] = ()
    deltas: Mapping[str, Delta] = field(default_factory=dict)
    breaches: tuple[Breach, ...] = ()
    tied: tuple[str, ...] = ()
    choice: Choice = field(default_factory=Choice)
    final: bool = False
    same_questions: bool = True
    candidate: str = ""

    @property
    def leaning(self) -> str:
        """What is said of a choice on the questions that it was made on, "" for no choice, or on others."""
        if self.decision != "ship" or not self.same_questions:
            return ""
        return (
            f"{self.chosen} was chosen on the questions that it is reported on: its estimate leans in its favour. "
            "Confirm it on questions that had no part in the choice."
        )


def conclude(
    experiment: Experiment,
    comparison: Comparison | None,
    prices: Mapping[str, Price],
    refusals: Mapping[str, float],
    *,
    test: bool = False,
) -> Conclusion:
    """Decide between the cells that have a result, by the experiment's rule.

    `comparison` is that of the finished cells by their names, the baseline first, decided by the rule; None while
    there are fewer than two or the baseline has no result. `prices` are what cells take for a question, `refusals` the
    share of the answers that refuse a question that the documents answer, both by name; what is not known is left out.
    With `test`, the comparison is that of baseline and chosen cell on the test side.

    A cell that is worse than the baseline, breaks a guardrail, or answers from the gold chunks is out. Of those that
    are better, the ones that no other is better than are tied, and the tie is broken by tokens read and cost, at last
    by the mean. Where none is better, one that is equivalent to the baseline and takes less is chosen in the
    same way.
    """
    notes = [] if test else _without_result(experiment)
    final = test or all(cell.state in ("done", "failed") for cell in experiment.cells)
    base = experiment.rule.baseline
    if comparison is None:
        return Conclusion("undecided", "", _nothing_words(experiment), tuple(notes), final=final)
    row = comparison.rows[comparison.rule.primary]
    sign, deltas = direction(row.label), {delta.run: delta for delta in row.deltas}
    breaches = [
        breach
        for guardrail in experiment.rule.guardrails
        for name in comparison.runs
        for breach in _breach(name, guardrail, base, prices, refusals)
    ]
    # Cells that are given the gold chunks: what the best retriever could reach.
    bounds = {cell.name for cell in experiment.cells if cell.run.knows.gold_read}
    barred = dict.fromkeys(bounds, "for reading the evidence")
    barred |= {breach.cell: "by a guardrail" for breach in breaches}
    allowed = [name for name in deltas if name not in barred]
    means = {name: sign * (each.mean or 0.0) for name, each in zip(comparison.runs, row.estimates, strict=True)}
    tied = ties.contenders(base, [deltas[name] for name in allowed], lambda: pairs(comparison, row.label))
    if tied[0] != base:
        tied.sort(key=lambda name: -means[name])
    several = len(tied) > 1
    choice = ties.broken(tied, prices) if several else Choice()
    chosen = choice.run or tied[0]
    if several:
        notes.append(ties.words(tied, choice) + ("" if choice.run else _default_words(tied, base, means)))
    notes += [*breach_words(breaches), *_bound_words(bounds & set(deltas))]
    undecided = [name for name in allowed if deltas[name].verdict == "undecided"]
    best = max(undecided or allowed or deltas, key=lambda name: sign * (deltas[name].difference.mean or 0.0))
    decision: Decision = "undecided"
    sentence = "Not decided yet: cells are still to be run"
    if final and chosen != base:
        decision, sentence = "ship", _ship_words(base, row.label, deltas[chosen], choice)
    elif final:
        decision = "undecided" if undecided else "do not ship"
        sentence = _stays_words(base, row.label, deltas, barred, best)
    doubt = _doubt(experiment, comparison, deltas if chosen == base else [chosen]) if final else ""
    return Conclusion(
        decision,
        chosen,
        f"{sentence}{doubt}.",
        tuple(notes),
        deltas,
        tuple(breaches),
        tuple(tied) if several else (),
        choice,
        final,
        same_questions=not test,
        candidate=best if chosen == base else chosen,
    )


def _bound_words(names: Collection[str]) -> list[str]:
    said = "Answered from the evidence, which no retriever knows, and never chosen"
    return [f"{said}: {_listed(sorted(names))}."] if names else []


def _doubt(experiment: Experiment, comparison: Comparison, judged: Collection[str]) -> str:
    """Say what a set that was made without a model cannot tell, where a cell retrieves otherwise than the baseline."""
    ranked_by = {cell.name: cell.run.retriever for cell in experiment.cells}
    between = any(ranked_by[name] != ranked_by[experiment.rule.baseline] for name in judged)
    return without_model.doubt(comparison.generators) if between else ""


def _breach(
    name: str, guardrail: Guardrail, base: str, prices: Mapping[str, Price], refusals: Mapping[str, float]
) -> list[Breach]:
    """Return the breach of a guardrail by one cell, if any; a multiple of the baseline's own does not bound it."""
    if guardrail.relative and name == base:
        return []
    value, baseline = (amount_of(guardrail.quantity, each, prices, refusals) for each in (name, base))
    breach = Breach(name, guardrail, value, guardrail.limit(baseline))
    kept = breach.value is not None and breach.limit is not None and breach.value <= breach.limit * (1 + 1e-9)
    return [] if kept else [breach]


def breach_words(breaches: Sequence[Breach]) -> list[str]:
    """Say which cells break each guardrail, and for which it cannot be checked."""
    said = []
    for guardrail in dict.fromkeys(breach.guardrail for breach in breaches):
        quantity, own = guardrail.quantity, [breach for breach in breaches if breach.guardrail == guardrail]
        unknown, broken, limit = [each.cell for each in own if each.unknown], [], ""
        for each in own:
            if each.value is not None and each.limit is not None:
                broken.append(f"{each.cell} ({amount_words(quantity, each.value)})")
                limit = amount_words(quantity, each.limit)
        if broken:
            times = f", {guardrail.most:g} times the baseline's" if guardrail.relative else ""
            said.append(f"Guardrail on {TITLES[quantity]} (at most {limit}{times}) broken by {_listed(broken)}.")
        if unknown:
            said.append(f"Guardrail on {TITLES[quantity]} cannot be checked for {_listed(unknown)}: not known.")
    return said


def _listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are.

    >>> _listed(["a", "b", "c"]), _listed(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def amount_of(
    quantity: Quantity, name: str, prices: Mapping[str, Price], refusals: Mapping[str, float]
) -> float | None:
    """Return what a cell takes for a question, or the share that it refuses; None where that is not known."""
    if quantity == "refusals":
        return refusals.get(name)
    amount: float | None = getattr(prices.get(name, Price()), quantity)
    return amount


def amount_words(quantity: Quantity, amount: float) -> str:
    """Write what a guardrail bounds in its unit.

    >>> amount_words("tokens", 1203.4), amount_words("refusals", 0.125)
    ('1,203', '12.5 %')
    """
    return f"{100 * amount:.3g} %" if quantity == "refusals" else ties.amount_words(quantity, amount)


def _without_result(experiment: Experiment) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for cell in experiment.cells:
        if cell.state == "failed":
            by_reason.setdefault(cell.reason, []).append(cell.name)
    said = [f"{_listed(names)} failed: {reason}" for reason, names in by_reason.items()]
    states = [cell.state for cell in experiment.cells]
    if any(state not in ("done", "failed") for state in states):
        done = states.count("done")
        said.insert(0, f"{done:,} of {len(states):,} cells are done: the verdict comes when all are.")
    return said


def _nothing_words(experiment: Experiment) -> str:
    base = experiment.baseline
    if base.state == "failed":
        return f"Nothing can be compared: the baseline, {base.name}, failed. Try it again."
    if not experiment.finished:
        return "No cell is done yet."
    return "Nothing can be compared yet: it takes the baseline and another cell."


def _default_words(tied: Sequence[str], base: str, means: Mapping[str, float]) -> str:
    """Say why the first of several that are tied in everything is chosen."""
    first, *others = tied
    if first == base:
        return f" {first} stays."
    highest = all(means[first] > means[name] for name in others)
    return f" {first} {'has the highest mean' if highest else 'is the first that was declared'}."


def _ship_words(base: str, metric: str, delta: Delta, choice: Choice) -> str:
    less = f", and takes less ({ties.TITLES[choice.by]})" if choice.by and delta.verdict != "better" else ""
    return f"Ship {delta.run}: {clause(base, metric, delta)}{less}"


def _stays_words(base: str, metric: str, deltas: Mapping[str, Delta], barred: Mapping[str, str], best: str) -> str:
    """Say why the baseline stays; of what is undecided, with the estimate and interval of the best."""
    undecided = [name for name, delta in deltas.items() if delta.verdict == "undecided"]
    excluded = Counter(barred[name] for name in undecided if name in barred)
    if excluded.total() == len(undecided):
        return f"Do not ship: no configuration within the guardrails is better than {base} on {title_of(metric)}"
    neither, which = "", best
    if len(deltas) > 1 and len(undecided) == len(deltas):
        neither = f": none of {len(deltas):,} configurations is shown to differ from it, or to be equivalent"
        which = f"The best mean, {best}"
    elif len(deltas) > 1:
        neither = f": {len(undecided):,} of {len(deltas):,} configurations may be better, worse or equivalent"
        which = f"The best mean of them, {best}"
    for why, out in excluded.items():
        neither += f"; {out:,} of them {'is' if out == 1 else 'are'} excluded {why}"
        which = f"The best mean of the others, {best}"
    words = difference_words(deltas[best].difference)
    return f"Undecided, {base} stays{neither}. {which}: {words} on {title_of(metric)}{needed_words(deltas[best])}"
