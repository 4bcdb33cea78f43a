"""Speed and truth of the intervals that are clustered by document.

Speed: 10,000 resamples of whole clusters for 12 runs × 20 metrics over 1,000 questions of 40 documents, against
`scipy.stats.bootstrap` called for one column after another (a few of them, times their number), with the greatest
difference between the ends of both percentile intervals.

Coverage: of documents with 3 to 40 questions, how often a 95 % interval holds the true mean, for every number of
documents, correlation of the questions of a document, and kind of score: "score" is continuous, "rate 0.7" is 1 with
this probability. Questions and documents are drawn anew for each mean. Of paired differences it is the same: "rate 0.7
to 0.75" is a change from the one probability to the other, of sides that share how hard a document and a question is.

Several: the same where a tenth or a third of the questions rest on one or two further documents, for a score, a rate of
0.7 and the difference of two such rates, and of the last the power to see 0.6 against 0.8. A question whose evidence
stands in several documents, any of which would do, is a cluster by itself: the case of independent questions.

Family: the share of comparisons of four runs without a difference (40 documents, correlated) in which the primary
metric is significant for one run or more, by tests of clusters with Holm's correction.

Prints one JSON line. Exit code 1 when the speed is below 20 times scipy's, an interval of a mean covers less than 93 or
more than 97 % (98 % of several documents), one of a difference less than 93 %, or the family-wise error is above 5 %,
each by more than three standard errors of the simulation. Rates above 0.9 (`NEAR_ONE`) are printed and not held to it:
a few documents hold all the zeros there, and no interval knows of documents that are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np
from scipy import stats as scipy_stats

from ragviz.stats.clusters import Clusters, clusters_of, numbered
from ragviz.stats.differences import holm, paired_differences
from ragviz.stats.intervals import bands, percentiles, resampled_means

SEVERAL = {"shares": (0.1, 1 / 3), "counts": (12, 30, 48)}
COUNTS = (10, 15, 20, 29, 30, 50)
CORRELATIONS = (0.0, 0.1, 0.2, 0.4)
KINDS = ("score", "rate 0.5", "rate 0.7", "rate 0.8", "rate 0.9", "rate 0.95")
DIFFERENCES = ("score", "rate 0.5 to 0.55", "rate 0.7 to 0.75", "rate 0.9 to 0.9", "rate 0.9 to 0.95")
ROUNDING = 1e-12
NEAR_ONE = ("rate 0.95", "rate 0.9 to 0.95")


def documents(count: int, random: np.random.Generator) -> Clusters:
    """Return the clusters of `count` documents with 3 to 40 questions each."""
    return numbered(np.repeat(np.arange(count), random.integers(3, 41, count)))


def drawn(
    clusters: Clusters, correlation: float, kind: str, columns: int, random: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return values of questions, (n, columns), and their true mean; `correlation` is within a document."""
    if kind == "score":
        between = random.normal(size=(clusters.count, columns))[clusters.labels]
        within = random.normal(size=(len(clusters.labels), columns))
        latent = np.sqrt(correlation) * between + np.sqrt(1 - correlation) * within
        return np.sqrt(scipy_stats.norm.cdf(latent)), 2 / 3
    rate = float(kind.split()[1])
    share: np.ndarray | float = rate
    if correlation:
        spread = (1 - correlation) / correlation
        share = random.beta(rate * spread, (1 - rate) * spread, size=(clusters.count, columns))[clusters.labels]
    return (random.random((len(clusters.labels), columns)) < share).astype(float), rate


def drawn_pairs(
    clusters: Clusters, correlation: float, kind: str, columns: int, random: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return differences of questions, (n, columns), and their true mean; the sides share documents and questions."""
    if kind == "score":
        first, second = (drawn(clusters, correlation, kind, columns, random)[0] for _ in range(2))
        return second - first, 0.0
    shape = len(clusters.labels), columns
    document = random.random((clusters.count, columns))[clusters.labels]
    question = random.normal(size=shape)
    rates = [float(word) for word in kind.split()[1::2]]
    sides = []
    for rate in rates:
        share: np.ndarray | float = rate
        if correlation:
            spread, grid = (1 - correlation) / correlation, np.linspace(0, 1, 2001)
            share = np.interp(document, grid, scipy_stats.beta.ppf(grid, rate * spread, (1 - rate) * spread))
        hard = scipy_stats.norm.cdf(np.sqrt(0.5) * (question + random.normal(size=shape)))
        sides.append((hard < share).astype(float))
    return sides[1] - sides[0], rates[1] - rates[0]


def coverage(
    times: int, samples: int, random: np.random.Generator, *, paired: bool = False
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the share of intervals that hold the truth, by kind, number of documents and correlation."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind in DIFFERENCES if paired else KINDS:
        for count in COUNTS:
            for correlation in CORRELATIONS:
                held = []
                for _ in range(times // 50):
                    clusters = documents(count, random)
                    if paired:
                        values, truth = drawn_pairs(clusters, correlation, kind, 50, random)
                        found_pairs = paired_differences(values, clusters)
                        low = np.array([each.low for each in found_pairs], dtype=np.float64)
                        high = np.array([each.high for each in found_pairs], dtype=np.float64)
                    else:
                        values, truth = drawn(clusters, correlation, kind, 50, random)
                        _, low, high = bands(values, clusters, samples=samples)
                    held.append(((low <= truth + ROUNDING) & (truth - ROUNDING <= high)).mean())
                found.setdefault(kind, {}).setdefault(str(count), {})[str(correlation)] = round(float(np.mean(held)), 4)
    return found


def several(times: int, random: np.random.Generator) -> dict[str, dict[str, float]]:
    """Return coverage, and power, of questions of which a share rests on several documents, by case."""
    found: dict[str, dict[str, float]] = {}
    for share in SEVERAL["shares"]:
        for count in SEVERAL["counts"]:
            for correlation in CORRELATIONS:
                held: dict[str, list[float]] = {"score": [], "rate 0.7": [], "difference": [], "power": []}
                for _ in range(times // 50):
                    members = [{d} for d in range(int(count)) for _ in range(random.integers(3, 41))]
                    for own in members:
                        if random.random() < share:
                            own |= set(random.choice(int(count), size=random.integers(1, 3), replace=False).tolist())
                    of = np.zeros((len(members), int(count)))
                    for row, own in enumerate(members):
                        of[row, list(own)] = 1 / np.sqrt(len(own))
                    first, second = (
                        scipy_stats.norm.cdf(
                            np.sqrt(correlation) * of @ random.normal(size=(int(count), 50))
                            + np.sqrt(1 - correlation) * random.normal(size=(len(members), 50))
                        )
                        for _ in range(2)
                    )
                    clusters = clusters_of(members)
                    for kind, values, truth in (("score", first, 0.5), ("rate 0.7", (first < 0.7) * 1.0, 0.7)):
                        _, low, high = bands(values, clusters)
                        held[kind].append(((low <= truth) & (truth <= high)).mean())
                    for kind, one, other in (("difference", 0.7, 0.7), ("power", 0.6, 0.8)):
                        values = (second < other) * 1.0 - (first < one) * 1.0
                        tested = [each.p_value or 0.0 for each in paired_differences(values, clusters)]
                        held[kind].append(np.mean([(p < 0.05) == (kind == "power") for p in tested]))
                name = f"{share:.2f} of the questions, {count} documents, correlation {correlation}"
                found[name] = {kind: round(float(np.mean(shares)), 4) for kind, shares in held.items()}
    return found


def shares(held: dict[str, dict[str, dict[str, float]]]) -> list[float]:
    """Return the coverage of the cases that are held to their bounds."""
    inside = [by for kind, by in held.items() if kind not in NEAR_ONE]
    return [share for by in inside for each in by.values() for share in each.values()]


def family(times: int, random: np.random.Generator) -> float:
    """Return the share of comparisons of a baseline with three equal runs that find a difference."""
    wrong = 0
    for _ in range(times):
        clusters = documents(40, random)
        values, _ = drawn(clusters, 0.3, "score", 4, random)
        differences = paired_differences(values[:, 1:] - values[:, :1], clusters)
        wrong += min(holm([difference.p_value or 0.0 for difference in differences])) <= 0.05
    return wrong / times


def speed(scipys: int, random: np.random.Generator) -> dict[str, float]:
    """Return seconds of both sides, and the greatest difference of an end of an interval."""
    clusters = numbered(np.sort(random.integers(0, 40, 1000)))
    values = random.normal(size=(40, 240))[clusters.labels] * 0.3 + random.normal(size=(1000, 240))
    times = []
    for seed in range(5):  # each draws its own resamples
        started = time.perf_counter()
        ends = percentiles(resampled_means(values, clusters, seed=seed, samples=10_000), np.full(240, 0.025))
        times.append(time.perf_counter() - started)
    ours = float(np.median(times))
    sums, sizes = clusters.sums(values), clusters.sizes
    started, far = time.perf_counter(), 0.0
    for column in range(scipys):
        theirs = scipy_stats.bootstrap(
            (sums[:, column], sizes), lambda total, size, axis: total.sum(axis=axis) / size.sum(axis=axis),
            paired=True, vectorized=True, n_resamples=10_000, method="percentile", rng=random,
        ).confidence_interval  # fmt: skip
        far = max(far, abs(ends[0][column] - theirs.low), abs(ends[1][column] - theirs.high))
    of_scipy = (time.perf_counter() - started) / scipys * 240
    return {"ours_s": ours, "scipy_s": of_scipy, "ratio": of_scipy / ours, "greatest_difference": far}


def main() -> int:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=2000, help="Intervals simulated for each case.")
    parser.add_argument("--samples", type=int, default=1000, help="Resamples of a simulated interval.")
    parser.add_argument("--families", type=int, default=1000, help="Comparisons simulated.")
    parser.add_argument("--scipy", type=int, default=12, help="Columns that scipy resamples; the time is scaled.")
    chosen = parser.parse_args()
    random = np.random.default_rng(0)
    measured_speed = speed(chosen.scipy, random)
    held = coverage(chosen.times, chosen.samples, random)
    held_differences = coverage(chosen.times, chosen.samples, random, paired=True)
    of_several = several(chosen.times, random)
    covered_several = [share for by in of_several.values() for kind, share in by.items() if kind != "power"]
    wrong = family(chosen.families, random)
    covered, covered_differences = shares(held), shares(held_differences)
    slack = 3 * (0.95 * 0.05 / chosen.times) ** 0.5
    slack_of_family = 3 * (0.95 * 0.05 / chosen.families) ** 0.5
    body = {
        **{name: round(number, 4) for name, number in measured_speed.items()},
        "least_coverage": min(covered),
        "greatest_coverage": max(covered),
        "least_coverage_of_differences": min(covered_differences),
        "family_wise_error": wrong,
        "coverage_of_several": [min(covered_several), max(covered_several)],
        "least_power_of_several": min(by["power"] for by in of_several.values()),
        "several": of_several,
        "coverage": held,
        "coverage_of_differences": held_differences,
        "load": os.getloadavg()[0],
    }
    print(json.dumps(body))
    least = min(*covered, *covered_differences, *covered_several)
    most = max(*covered, max(covered_several) - 0.01)
    right = measured_speed["ratio"] >= 20 and least >= 0.93 - slack and most <= 0.97 + slack
    return 0 if right and wrong <= 0.05 + slack_of_family else 1


if __name__ == "__main__":
    raise SystemExit(main())
