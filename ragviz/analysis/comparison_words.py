"""A comparison as it is read: in sentences, in the cells of tables, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from ragviz.analysis import leaderboards, ties
from ragviz.analysis.compare import (
    Comparison,
    Delta,
    MetricRow,
    headline,
    metric_of,
    others_than,
    outcomes,
    pairs,
)
from ragviz.analysis.evaluate import cluster_words
from ragviz.analysis.rules import Verdict
from ragviz.analysis.ties import Price
from ragviz.metrics.registry import title_of
from ragviz.stats.differences import Difference


def to_json(comparison: Comparison, metric: str = "", prices: Mapping[str, Price] | None = None) -> dict[str, Any]:
    """Return the comparison as the command line prints it.

    All pairs, the leaderboard, and the questions won and lost against the baseline, are those by `metric`, as
    `metric_of` reads it. `prices` say what each run takes for a question.
    """
    metric, prices = metric_of(comparison, metric), prices or {}
    found = pairs(comparison, metric)
    board = leaderboards.leaderboard(comparison, metric, prices, found)
    return {
        "runs": comparison.runs,
        "k": comparison.k,
        "depth": comparison.depth,
        "rule": comparison.rule,
        "clusters": comparison.clusters.count,
        "n": len(comparison.question_ids),
        "asked": comparison.asked,
        "sentence": sentence(comparison),
        "settings": comparison.settings,
        "notes": comparison.notes,
        "metrics": comparison.metrics,
        "answers": comparison.answers,
        "metric": metric,
        "pairs": found,
        "leaderboard": board,
        "tie": leaderboards.tie_words(board),
        "takes": prices,
        "standings": ties.standings(comparison.runs, found),
        "questions": {name: outcomes(comparison, metric, run) for run, name in enumerate(comparison.runs) if run},
    }


def sentence(comparison: Comparison, metrics: Sequence[str] = ()) -> str:
    """Return the comparison in words, by these metrics (labels, or names without k); default: primary and `headline`.

    "hybrid beats knn on Recall@3: +0.07 [+0.02, +0.12]; hybrid against knn on MRR: +0.01 [−0.02, +0.04], inconclusive."
    """
    primary, base = comparison.rule.primary, comparison.runs[0]
    clauses = [clause for name in metrics for clause in clauses_of(comparison, metric_of(comparison, name))]
    if primary and not metrics:
        clauses = clauses_of(comparison, primary) + [
            clause(base, name, delta)
            for name in headline(comparison)
            for run, delta in enumerate(comparison.rows[name].deltas, start=1)
            if name in others_than(comparison, primary, run)
        ]
    unranked = "" if comparison.metrics else f"{_UNRANKED} "
    return unranked + (f"{'; '.join(clauses)}." if clauses else "")


_UNRANKED = "Rankings are not compared: there is no question of which all runs know the evidence chunks."


def verdict(comparison: Comparison, metric: str) -> str:
    """Return the verdict in one metric as a sentence: a clause for each of at most two runs; more by their verdicts.

    "Of 5 runs against knn on Recall@3: hybrid +0.07 [+0.02, +0.12] is better; 4 are undecided (−0.01 to +0.03)."
    """
    baseline, deltas = comparison.runs[0], comparison.rows[metric].deltas
    if len(deltas) <= 2:
        return sentence(comparison, [metric])
    parts = []
    for name in get_args(Verdict):
        these = [delta for delta in deltas if delta.verdict == name]
        if not these:
            continue
        verb = f"{'is' if len(these) == 1 else 'are'} {name}{_here(these[0])}"
        if name in ("better", "worse") and len(these) <= _NAMED:
            parts.append(f"{', '.join(f'{d.run} {difference_words(d.difference)}' for d in these)} {verb}")
        else:
            means = sorted(delta.difference.mean or 0.0 for delta in these)
            low, high = (_signed(mean, 2) for mean in (means[0], means[-1]))
            parts.append(f"{len(these)} {verb} ({low if low == high else f'{low} to {high}'})")
    unranked = "" if comparison.metrics else f"{_UNRANKED} "
    return f"{unranked}Of {len(deltas)} runs against {baseline} on {title_of(metric)}: {'; '.join(parts)}."


_NAMED = 4
"""Runs that the verdict names with their differences; of more it gives the range."""


def clauses_of(comparison: Comparison, metric: str) -> list[str]:
    """Return a clause for each run against the baseline, in one metric; always with the estimate and its interval."""
    return [clause(comparison.runs[0], metric, delta) for delta in comparison.rows[metric].deltas]


def clause(baseline: str, metric: str, delta: Delta) -> str:
    """Return a run against a baseline in words: the verdict, the estimate, and what would settle an undecided one."""
    name, n = title_of(metric), delta.difference.n
    if delta.verdict == "equal":
        return f"{delta.run} equals {baseline} on {name} for each of {n:,} question{'s' * (n != 1)}"
    words = difference_words(delta.difference)
    if delta.verdict == "undecided":
        return f"{delta.run} against {baseline} on {name}: {words}, undecided{needed_words(delta)}"
    if delta.verdict == "equivalent":
        return f"{delta.run} is equivalent to {baseline} on {name} within ±{delta.margin:g}{_here(delta)}: {words}"
    return (
        f"{delta.run} {'beats' if delta.verdict == 'better' else 'trails'} {baseline} on {name}{_here(delta)}: {words}"
    )


def _here(delta: Delta) -> str:
    """Say that a verdict speaks of no other documents."""
    return "" if delta.difference.generalises else ", on these documents"


def needed_words(delta: Delta) -> str:
    """Return, in parentheses after a blank, what would probably settle the primary metric; "" where unknown."""
    if not delta.primary or delta.needed is None:
        return ""
    there = delta.difference.documents or delta.difference.clusters
    if delta.needed.documents > there:
        return " (to settle it takes more than these documents can give: take the baseline, or decide by cost)"
    if not delta.needed.questions:
        return f" (close: p = {p_words(delta.p_adjusted)} after Holm's correction)"
    questions = f"about {delta.needed.questions:,} more questions"
    if not delta.difference.generalises:
        return f" ({questions} on these documents would settle it)"
    return f" ({questions} from {delta.needed.documents:,} more documents would settle it)"


def rule_words(comparison: Comparison) -> str:
    """Say what decides, how, and what doubt rests on: documents, and their design effect on the primary metric."""
    rule, row = comparison.rule, comparison.rows[comparison.rule.primary]
    clusters = comparison.paired(rule.primary).clusters
    effects = [estimate.design_effect for estimate in row.estimates if estimate.design_effect is not None]
    effect = f" (design effect {max(effects):.1f})" if effects and not clusters.independent else ""
    chosen = "declared" if rule.declared else "the default"
    return (
        f"Primary metric: {title_of(rule.primary)} ({chosen}), Holm's correction over the runs, in the intervals too, "
        f"equivalent within ±{rule.margin(rule.primary):g}. All other metrics are exploratory (Benjamini-Hochberg). "
        f"{cluster_words(clusters)}{effect}."
    )


def missing_words(row: MetricRow, baseline: str) -> list[str]:
    """Say of each run what scores of a metric are missing, and what they could change; none where all are there."""
    return [
        f"{title_of(row.label)}, of {m.n:,} questions: {m.baseline:,} without a score in {baseline} only, "
        f"{m.other:,} in {delta.run} only, {m.both:,} in both (missing alike: p = {p_words(m.p_value)}). Whatever "
        f"these scores are, the difference is between {_signed(m.low, 2)} and {_signed(m.high, 2)}."
        for delta in row.deltas
        for m in [delta.missing]
        if m is not None
    ]


def difference_words(difference: Difference) -> str:
    """Write a difference with its interval, with two digits, three where it or an end that is not 0 is below 0.01.

    >>> difference_words(Difference(0.05, -0.06, 0.154, 40, 9, 24, 7, 0.4))
    '+0.05 [−0.06, +0.15]'
    >>> difference_words(Difference(-0.004, -0.009, 0.0, 40, 0, 39, 1, 1.0))
    '−0.004 [−0.009, 0.000]'
    >>> difference_words(Difference(0.05, 0.002, 0.1, 40, 9, 31, 0, 0.04))
    '+0.050 [+0.002, +0.100]'
    >>> difference_words(Difference(None, None, None, 0, 0, 0, 0, None))
    'none'
    """
    if difference.mean is None or difference.low is None or difference.high is None:
        return "none"
    if difference.n < 2:
        return f"{_signed(difference.mean, 2)} (n = {difference.n}, no interval)"
    ends = (difference.mean, difference.low, difference.high)
    digits = 3 if any(0.0005 <= abs(number) < 0.01 for number in ends) else 2
    mean, low, high = (_signed(number, digits) for number in (difference.mean, difference.low, difference.high))
    return f"{mean} [{low}, {high}]"


def p_words(p: float) -> str:
    """Write a p-value as tables show it.

    >>> p_words(0.0004), p_words(0.0312), p_words(1.0)
    ('< 0.001', '0.031', '1.000')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _signed(number: float, digits: int) -> str:
    """Write a number with its sign, + or −; 0 has none."""
    text = f"{abs(number):.{digits}f}"
    return text if not float(text) else f"{'+' if number > 0 else '−'}{text}"
