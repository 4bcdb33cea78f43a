"""Runs on the same questions → what differs between them, and whether the difference is significant.

The first run is the baseline; `pairs` has all other pairs too. Everything is paired: of rankings only questions that
every run has, and that have evidence, count; of answers a difference rests on those for which both runs have a score,
the means of all runs side by side on those for which every run has one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis.evaluate import few_notes
from ragviz.analysis.rules import Rule, Verdict, checked_effect, direction, verdict_of
from ragviz.analysis.sides import (
    Measured,
    RunSide,
    Setting,
    answer_metrics,
    answer_notes,
    notes,
    of_different_sides,
    settings_that_differ,
    shared,
    side_by_side,
    versions,
)
from ragviz.core.call import Estimate
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.metrics.rank_metrics import Floats
from ragviz.metrics.registry import METRICS, OWN, label, range_of, shown_in
from ragviz.questions import without_model
from ragviz.stats.clusters import Clusters, clusters_of
from ragviz.stats.differences import (
    ALPHA,
    Difference,
    Missing,
    Needed,
    benjamini_hochberg,
    corrected,
    holm,
    missing,
    needed,
    paired_differences,
)
from ragviz.stats.intervals import estimates

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Delta:
    """A run against the baseline in one metric.

    In the primary metric `p_adjusted` is Holm's over the runs, in all others Benjamini and Hochberg's over runs and
    metrics; metrics whose differences are the same but for a factor (recall@k and precision@k with one gold chunk) are
    one test. `p_equivalent` is that of equivalence within ± `margin`, adjusted in the same way; None when the spread is
    unknown. `needed` is how many more questions and documents would probably settle it, None when unknown. `missing`
    describes scores that one side lacks. Deltas with the same number `test` are one test. Where both runs' own k is
    that of the comparison, recall@own and recall@k are one quantity: it is decided once, as the primary one, and
    `primary` is true of both.
    """

    run: str
    difference: Difference
    test: int
    primary: bool
    margin: float
    p_adjusted: float
    p_equivalent: float | None
    verdict: Verdict
    needed: Needed | None
    missing: Missing | None = None

    @property
    def significant(self) -> bool:
        """Whether the adjusted p-value is at most `ALPHA`."""
        return self.p_adjusted <= ALPHA


@dataclass(frozen=True, slots=True)
class Pair:
    """Any two runs in one metric; the p-values of `delta` are adjusted over all pairs in this metric (Holm).

    A pair with the comparison's baseline has the `delta` of the comparison: what decides is not decided a second time.
    """

    baseline: str
    delta: Delta


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """A metric's values of some runs, (runs, n), over the n questions for which all of these have one.

    `clusters` joins the questions about the same documents.
    """

    question_ids: tuple[str, ...]
    values: Floats
    clusters: Clusters


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of all runs: an estimate for each, and a difference for each but the baseline, in their order."""

    label: str
    estimates: tuple[Estimate, ...]
    deltas: tuple[Delta, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Runs side by side, `runs[0]` the baseline, over `question_ids`: n questions with gold chunks in all of them.

    `settings` are what differs in their configurations, `notes` sentences on what else makes them hard to compare.
    `rows` are by label ("recall@3", "mrr", "faithfulness"), those of rankings first. `ranks` are those by which each
    run finds the evidence, (runs, n), 0 for none in the common `depth`. `clusters` joins questions about the same
    documents. `rule` decides; only its primary metric is not exploratory. The means of a metric of answers are over the
    questions for which all runs have a score, its differences over those for which both have one, so that n differs
    from row to row. `scored` are the numbers behind the rows. `asked` says which questions were asked when all runs ask
    the same side of a split, else ""; `generators` what made each.
    """

    runs: tuple[str, ...]
    k: int
    depth: int
    rule: Rule
    question_ids: tuple[str, ...]
    clusters: Clusters
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]
    rows: dict[str, MetricRow]
    ranks: NDArray[np.int64]
    scored: Scores
    asked: str = ""
    generators: tuple[str, ...] = ()

    @property
    def metrics(self) -> dict[str, MetricRow]:
        """The rows of rankings."""
        return {name: row for name, row in self.rows.items() if name.partition("@")[0] in METRICS}

    @property
    def answers(self) -> dict[str, MetricRow]:
        """The rows of answers."""
        return {name: row for name, row in self.rows.items() if name.partition("@")[0] not in METRICS}

    def paired(self, metric: str) -> Paired:
        """Return the values of a metric by its label ("recall@3", "faithfulness").

        Raises:
            NotFoundError: it is not compared.

        """
        if metric not in self.rows:
            raise NotFoundError(f"'{metric}' is not compared; there are {', '.join(self.rows)}.")
        return self.scored.of(metric, range(len(self.runs)))

    def pair(self, metric: str, run: int, baseline: int = 0) -> Paired:
        """Return the values of a metric of two runs by their places, (2, n): `baseline` first, then `run`.

        Raises:
            NotFoundError: it is not compared.

        """
        self.paired(metric)  # raises where it is not compared
        return self.scored.of(metric, (baseline, run))


def headline(comparison: Comparison) -> list[str]:
    """Return the metrics that sum a comparison up: recall@k and MRR, then the first two of answers.

    The first of them is what runs are compared by unless another is asked for.
    """
    return _headline(comparison.k, list(comparison.metrics), list(comparison.answers))


def _headline(k: int, rankings: Sequence[str], answers: Sequence[str]) -> list[str]:
    of_answers = [name for name in shown_in("row") if name in answers] or list(answers)
    of_rankings = (label("recall", OWN), label("recall", k), label("mrr", k))
    return [*(name for name in of_rankings if name in rankings), *of_answers[:2]]


def others_than(comparison: Comparison, metric: str, run: int) -> list[str]:
    """Return the headline's metrics without `metric`, and without its equal at another label for run number `run`."""
    plain, delta = metric.partition("@")[0], comparison.rows[metric].deltas[run - 1]
    return [
        name
        for name in headline(comparison)
        if name.partition("@")[0] != plain or comparison.rows[name].deltas[run - 1] != delta
    ]


def metric_of(comparison: Comparison, name: str) -> str:
    """Return the label of a metric that is compared by its label or its name without k, the primary one by "".

    Raises:
        NotFoundError: it is not compared.

    """
    metric = _label(name, comparison.k, comparison.rows) or comparison.rule.primary
    comparison.paired(metric)
    return metric


def ranking_by(comparison: Comparison, metric: str) -> list[int]:
    """Return the places of the runs from the best to the worst mean in one metric; equal ones in their order.

    Raises:
        NotFoundError: the comparison has no such metric.

    """
    means = direction(metric) * comparison.paired(metric).values.mean(axis=1)
    return [int(place) for place in np.argsort(-means, kind="stable")]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Ids of the questions on which a run is better than the baseline, equal, and worse; greatest difference first."""

    won: tuple[str, ...]
    tied: tuple[str, ...]
    lost: tuple[str, ...]


def compare(
    sides: Sequence[RunSide],
    *,
    k: int | None = None,
    documents: Mapping[str, Collection[str]] | None = None,
    generators: Mapping[str, str] | None = None,
    primary: str = "",
    minimum_effect: float | None = None,
) -> Comparison:
    """Compare runs with the first of them at `k` (default: the first run's), to the least of their depths.

    With the `documents` that hold the evidence of each question, by question id, questions about the same documents are
    clustered; `generators` names what made each question, by question id, for the note on questions made without a
    model. `primary` is the metric that decides, by its label or its name without k (default: the first of the headline
    in which the runs differ), `minimum_effect` the smallest difference that matters. "recall@own" is of each run's own
    k, and so is "recall" unless another `k` than the first run's is asked for; where `k` is the own of all runs, both
    are recall@k. Runs that share no question with known gold chunks, as imported ones, are compared by their answers:
    `metrics` and `values` are then empty.

    Raises:
        UsageError: fewer than two runs, no question that all of them have, a `k` past their depth, or a
            `minimum_effect` that is no share.
        NotFoundError: `primary` is not measured in all runs.

    """
    if len(sides) < 2:
        raise UsageError(f"{len(sides)} run was given; name two or more to compare.")
    depth = min(side.config["depth"] for side in sides)
    k = min(sides[0].config["k"], depth) if k is None else k
    if not 1 <= k <= depth:
        raise UsageError(f"k = {k}, but the runs rank {depth} chunks: give a k from 1 to {depth}.")
    clusters = cache(lambda ids: clusters_of([(documents or {}).get(i, ()) for i in ids]))
    everyone, columns = range(len(sides)), dict[str, Scored]()
    for name in answer_metrics(sides):
        if len(versions(sides, name)) == 1:
            asked, numbers, applicable = side_by_side([side.scores[name] for side in sides])
            columns[name] = asked, clusters(asked), numbers, applicable
    answers = [name for name in columns if Scores(columns).of(name, everyone).question_ids]
    rankings = [side.measure(k, depth) for side in sides]
    ids, rows = _common(sides, rankings, needed=not answers)
    values = _values(rankings, rows) if ids else {}
    primary, own = _labels(sides, primary, k, depth, measured=label("recall", k) in values)
    values |= {name: _at_own_k(sides, rows, name, depth) for name in sorted(own) if values}
    applies = np.ones((len(sides), len(ids)), dtype=np.bool_)
    scored = Scores(columns | {name: (ids, clusters(ids), matrix, applies) for name, matrix in values.items()})
    names, made_by = [side.name for side in sides], tuple((generators or {}).get(i, "") for i in ids)
    paired = {name: scored.of(name, everyone) for name in [*values, *answers]}
    rule = _rule(primary, minimum_effect, k, values, answers)
    return Comparison(
        runs=tuple(names),
        k=k,
        depth=depth,
        rule=rule,
        question_ids=ids,
        clusters=clusters(ids),
        settings=settings_that_differ(sides),
        notes=(
            *notes(sides, k, depth, [len(each.question_ids) for each in rankings], len(ids), own),
            *few_notes({name: each.clusters for name, each in paired.items()}, rule.primary),
            *answer_notes(sides),
            *filter(None, [without_model.words(made_by)]),
        ),
        rows=_rows(paired, scored, names, rule),
        ranks=np.stack([each.ranks[place] for each, place in zip(rankings, rows, strict=True)]),
        scored=scored,
        asked=sides[0].asked if sides[0].config.get("split") and len({side.asked for side in sides}) == 1 else "",
        generators=made_by,
    )


def _labels(sides: Sequence[RunSide], primary: str, k: int, depth: int, *, measured: bool) -> tuple[str, set[str]]:
    """Return the label of the primary metric, and those at each run's own k; `measured` is whether recall is at `k`."""
    ks = [min(side.config["k"], depth) for side in sides]
    name = primary.removesuffix(f"@{OWN}")
    is_own = k == ks[0] and len(set(ks)) > 1  # else all are compared at the k that was asked for
    if name in METRICS:
        at_own = is_own if name == primary else set(ks) != {k}
        primary = label(name, OWN if at_own else k)
    own = {primary} if primary.endswith(f"@{OWN}") else set[str]()
    return primary, own | ({label("recall", OWN)} if measured and is_own else set())


Scored: TypeAlias = tuple[tuple[str, ...], Clusters, Floats, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of all runs by metric: question ids, clusters, values, NaN for none, and where the metric applies.

    Both of the last are (runs, n).
    """

    columns: Mapping[str, Scored]

    def of(self, name: str, runs: Sequence[int]) -> Paired:
        """Return the scores of some runs, by their places, of the questions for which all of these have one."""
        ids, clusters, matrix, _ = self.columns[name]
        some = matrix[list(runs)]
        rows = np.flatnonzero(~np.isnan(some).any(axis=0))
        if len(rows) == len(ids):
            return Paired(ids, some, clusters)
        return Paired(tuple(ids[row] for row in rows.tolist()), some[:, rows], clusters.take(rows))

    def missing(self, name: str, run: int) -> Missing | None:
        """Describe what the baseline and a run lack, of the questions to which the metric applies in one of them."""
        _, clusters, matrix, applicable = self.columns[name]
        rows = np.flatnonzero(applicable[0] | applicable[run])
        baseline, other = matrix[0, rows], matrix[run, rows]
        return missing(baseline, other, clusters.take(rows), limits=range_of(name))


def _rule(
    primary: str, minimum_effect: float | None, k: int, rankings: Mapping[str, Floats], answers: Sequence[str]
) -> Rule:
    """Return the rule with the label of its primary metric, which has to be measured.

    By default the first of the headline in which the runs can differ: rankings that are equal decide nothing.
    """
    name = _label(primary, k, rankings)
    if name and name not in (*rankings, *answers):
        raise NotFoundError(f"'{primary}' is not compared; there are {', '.join((*rankings, *answers))}.")
    offered = _headline(k, list(rankings), answers)
    differs = [name for name in offered if name in answers or (rankings[name] != rankings[name][0]).any()]
    default = next(iter([*differs, *offered]), "")
    return Rule(name or default, checked_effect(minimum_effect), declared=bool(name))


def _label(name: str, k: int, compared: Collection[str]) -> str:
    """Return the label of a metric: by its name without k that of each run's own k where it is compared, else at k."""
    if name not in METRICS:
        return name
    own = label(name, OWN)
    return own if own in compared else label(name, k)


def outcomes(comparison: Comparison, metric: str, run: int = 1) -> Outcomes:
    """Return the questions that run number `run` wins, ties and loses against the baseline in the metric `metric`.

    `metric` is a label ("recall@3", "faithfulness"). By "mrr" they are won by the rank of the first gold chunk.

    Raises:
        NotFoundError: the comparison has no such metric.

    """
    paired = comparison.pair(metric, run)
    difference = direction(metric) * differences(paired.values)
    order = np.argsort(-np.abs(difference), kind="stable")
    won, tied, lost = (
        tuple(paired.question_ids[row] for row in order if np.sign(difference[row]) == sign) for sign in (1, 0, -1)
    )
    return Outcomes(won, tied, lost)


def pairs(comparison: Comparison, metric: str) -> tuple[Pair, ...]:
    """Compare each run with each that comes before it, in one metric.

    Those with the baseline are the comparison's; the p-values of the others are corrected over all pairs (Holm).

    Raises:
        NotFoundError: the comparison has no such metric.

    """
    comparison.paired(metric)  # raises where it is not compared
    names, of_baseline = comparison.runs, comparison.rows[metric].deltas
    places = list(combinations(range(1, len(names)), 2))
    values = {(first, second): comparison.pair(metric, second, first) for first, second in places}
    measured = {place: _directed(metric, difference) for place, difference, _ in _differences(values)}
    compared = [(delta.run, delta.difference) for delta in of_baseline]
    compared += [(names[second], measured[first, second]) for first, second in places]
    tests = [Tested(metric, run, difference, number) for number, (run, difference) in enumerate(compared)]
    others = adjusted(tests, comparison.rule, holm)[len(of_baseline) :]
    return (
        *(Pair(names[0], delta) for delta in of_baseline),
        *(Pair(names[first], delta) for (first, _), delta in zip(places, others, strict=True)),
    )


def _common(
    sides: Sequence[RunSide], rankings: Sequence[Measured], *, needed: bool
) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Return the questions with evidence that all runs have, in the first run's order, and their rows in each run.

    Raises UsageError where there is none and one is `needed`, as no answers are compared.
    """
    ids, rows = shared([each.question_ids for each in rankings])
    if not ids and needed:
        pairs = zip(sides, rankings, strict=True)
        counts = ", ".join(f"{side.name} {len(each.question_ids)}" for side, each in pairs)
        if of_different_sides(sides):
            asked = "; ".join(f"{side.name} asked {side.asked}" for side in sides)
            raise UsageError(
                f"The runs share no question with evidence, because they ask different sides of a split: {asked}. "
                "Compare runs of the same side."
            )
        raise UsageError(
            f"The runs share no question with evidence ({counts}), and no metric of answers: compare runs on the same "
            "question set, judged by the same metrics."
        )
    return ids, rows


def _at_own_k(sides: Sequence[RunSide], rows: Sequence[NDArray[np.int64]], metric: str, depth: int) -> Floats:
    """Return the values of a metric, (runs, n), each run's at its own k, or at the common depth where that is less."""
    name, found = metric.partition("@")[0], []
    for side, place in zip(sides, rows, strict=True):
        k = min(side.config["k"], depth)
        measured = side.measure(k, depth).values
        if label(name, k) not in measured:
            raise NotFoundError(f"'{name}' is not measured in run '{side.name}': choose another metric.")
        found.append(measured[label(name, k)][place])
    return np.stack(found)


def _values(rankings: Sequence[Measured], rows: Sequence[NDArray[np.int64]]) -> dict[str, Floats]:
    names = [name for name in rankings[0].values if all(name in each.values for each in rankings)]
    return {
        name: np.stack([each.values[name][place] for each, place in zip(rankings, rows, strict=True)]) for name in names
    }


@dataclass(frozen=True, slots=True)
class Tested:
    """A difference in a metric; those that have the same `number` are one test."""

    label: str
    run: str
    difference: Difference
    number: int


def _rows(paired: Mapping[str, Paired], scored: Scores, names: Sequence[str], rule: Rule) -> dict[str, MetricRow]:
    """Estimate all metrics over the questions of all runs, their differences over those of baseline and run."""
    runs = range(len(names))
    means: dict[tuple[str, int], Estimate] = {}
    for metrics in _by_questions(paired):
        columns = {(name, run): paired[name].values[run] for name in metrics for run in runs}
        means |= estimates(columns, paired[metrics[0]].clusters)
    pairs = {(name, run): scored.of(name, (0, run)) for name in paired for run in runs[1:]}
    tests = {
        (name, run): Tested(name, names[run], _directed(name, difference), number)
        for (name, run), difference, number in _differences(pairs)
    }
    deltas = _judged([tests[key] for key in pairs], rule)
    return {
        name: MetricRow(
            name,
            tuple(means[name, run] for run in runs),
            tuple(replace(each, missing=scored.missing(name, run)) for run, each in enumerate(deltas[name], start=1)),
        )
        for name in paired
    }


def _differences(pairs: Mapping[Key, Paired]) -> list[tuple[Key, Difference, int]]:
    """Return the difference of each pair, and the number of its test; those over the same questions come together."""
    found: list[tuple[Key, Difference, int]] = []
    first = 0  # number of the first test over these questions
    for keys in _by_questions(pairs):
        matrix = np.column_stack([differences(pairs[key].values) for key in keys])
        paired = paired_differences(matrix, pairs[keys[0]].clusters)
        # Columns that are multiples of each other are one test.
        greatest = np.abs(matrix).max(axis=0)
        scaled = np.round(matrix / np.where(greatest > 0, greatest, 1.0), 9) + 0.0  # + 0.0: no −0
        of_columns = [column.tobytes() for column in scaled.T]
        different = dict(zip(of_columns, scaled.T.tolist(), strict=True))
        number = {column: first + place for place, column in enumerate(sorted(different, key=different.__getitem__))}
        found += zip(keys, paired, map(number.__getitem__, of_columns), strict=True)
        first += len(number)
    return found


def _by_questions(paired: Mapping[Key, Paired]) -> list[list[Key]]:
    groups: dict[tuple[str, ...], list[Key]] = {}
    for key, each in paired.items():
        groups.setdefault(each.question_ids, []).append(key)
    return list(groups.values())


def _judged(tests: Sequence[Tested], rule: Rule) -> dict[str, list[Delta]]:
    """Return the deltas by metric; the tests of the primary metric are corrected apart from all others.

    What is the primary one at another label, as recall@3 of two runs whose own k is 3, is not tested a second time.
    """
    different = {_quantity(test): test for test in sorted(tests, key=lambda test: test.label == rule.primary)}
    primary = [test for test in different.values() if test.label == rule.primary]
    others = [test for test in different.values() if test.label != rule.primary]
    judged = [*adjusted(primary, rule, holm), *adjusted(others, rule, benjamini_hochberg)]
    decided = dict(zip(map(_quantity, [*primary, *others]), judged, strict=True))
    deltas: dict[str, list[Delta]] = {}
    for test in tests:
        deltas.setdefault(test.label, []).append(decided[_quantity(test)])
    return deltas


def _quantity(test: Tested) -> tuple[str, str, int, float | None]:
    """Return what is the same for a metric at two labels where these mean the same k for a run and the baseline."""
    return test.label.partition("@")[0], test.run, test.number, test.difference.mean


def adjusted(tests: Sequence[Tested], rule: Rule, correct: Callable[[Sequence[float]], list[float]]) -> list[Delta]:
    """Return the deltas of a family of tests, their p-values adjusted for the number of different tests."""
    raw = {test.number: test.difference.p_value or 0.0 for test in tests}  # not None, for n > 0
    p_values = dict(zip(raw, correct(list(raw.values())), strict=True))
    margins = [rule.margin(test.label) for test in tests]
    equivalent = [test.difference.equivalent(margin) for test, margin in zip(tests, margins, strict=True)]
    # margins differ from metric to metric, so that here every metric is a test of its own
    equivalences = iter(correct([p for p in equivalent if p is not None]))
    deltas = []
    for test, margin, known in zip(tests, margins, equivalent, strict=True):
        p = p_values[test.number]
        difference = corrected(test.difference, p, len(raw), margin / rule.minimum_effect)
        p_equivalent = None if known is None else next(equivalences)
        deltas.append(
            Delta(
                run=test.run,
                difference=difference,
                test=test.number,
                primary=test.label == rule.primary,
                margin=margin,
                p_adjusted=p,
                p_equivalent=p_equivalent,
                verdict=verdict_of(test.label, difference, p, p_equivalent),
                needed=needed(difference, margin, tests=len(raw)),
            )
        )
    return deltas


def _directed(label: str, difference: Difference) -> Difference:
    """Return the difference with wins where the run is better, not where it is higher."""
    return difference if direction(label) > 0 else replace(difference, wins=difference.losses, losses=difference.wins)


def differences(values: Floats) -> Floats:
    """Return the second row minus the first, (n,); differences in the last bits are 0."""
    difference = values[1] - values[0]
    return np.where(np.abs(difference) < 1e-12, 0.0, difference)
