"""Doubt by documents: clusters, their intervals and tests against statsmodels, by hand, and by simulation."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import DescrStatsW

from ragviz.core.errors import UsageError
from ragviz.stats.clusters import clusters_of, independent_clusters, numbered
from ragviz.stats.differences import paired_difference, paired_differences, sign_flip
from ragviz.stats.intervals import bands, estimate, moments, resampled_means
from ragviz.stats.standings import standings

EQUAL = numbered(np.repeat(np.arange(12), 5))
UNEQUAL = numbered(np.repeat(np.arange(9), [3, 11, 5, 5, 8, 20, 4, 3, 7]))


def correlated(clusters, columns=1):
    """Values of which those of a cluster are alike, (n, columns)."""
    random = np.random.default_rng(3)
    return random.normal(size=(clusters.count, columns))[clusters.labels] + random.normal(
        size=(len(clusters.labels), columns)
    )


def test_questions_that_share_a_document_are_joined():
    """a–b and b–c by questions that need both; d alone; one without evidence joins the first, as two are too few."""
    found = clusters_of([{"a"}, {"d"}, {"a", "b"}, set(), {"c", "b"}, {"c"}, {"d"}])
    assert found.labels.tolist() == [0, 1, 0, 0, 0, 0, 1]
    assert (found.count, found.documents) == (2, 4)
    assert clusters_of([]).count == 0
    chain = clusters_of([{n, n + 1} for n in range(50_000)])
    assert (chain.count, chain.documents) == (1, 50_001)


def test_sums_by_cluster_and_parts():
    clusters = numbered([5, 2, 5, 9])
    assert clusters.sums(np.array([[1.0], [2.0], [4.0], [8.0]])).tolist() == [[2.0], [5.0], [8.0]]
    assert clusters.sizes.tolist() == [1, 2, 1]
    assert clusters.take([0, 3]).labels.tolist() == [0, 1]
    assert clusters.take([]).count == 0
    with pytest.raises(UsageError, match="clusters of 4 questions were given for 2 scores"):
        estimate([1, 2], clusters)


def test_the_standard_error_equals_statsmodels_where_clusters_are_equal():
    values = correlated(EQUAL)
    fit = sm.OLS(values[:, 0], np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": EQUAL.labels, "use_correction": False}
    )
    known = moments(values, EQUAL)
    assert known.mean[0] == pytest.approx(fit.params[0])
    assert known.error[0] == pytest.approx(fit.bse[0] * np.sqrt(12 / 11), rel=1e-9)
    assert known.freedom[0] <= 11


def test_the_standard_error_is_the_jackknifes_over_clusters():
    values = correlated(UNEQUAL)
    left_out = np.array([values[UNEQUAL.labels != g].mean() for g in range(9)])
    known = moments(values, UNEQUAL)
    assert known.error[0] == pytest.approx(np.sqrt(8 / 9 * ((left_out - values.mean()) ** 2).sum()))
    alone = values.std(ddof=1) / np.sqrt(len(values))
    assert known.design_effect[0] == pytest.approx((known.error[0] / alone) ** 2)
    effective = 66**2 / (UNEQUAL.sizes**2).sum()
    assert known.freedom[0] <= effective - 1


def test_resampled_means_of_clusters_equal_a_loop():
    """Means of whole clusters drawn with replacement, and their spread, against a plain loop."""
    values = correlated(UNEQUAL)
    [means] = resampled_means(values, UNEQUAL, samples=20_000)
    random = np.random.default_rng(1)
    by_cluster = [values[UNEQUAL.labels == g, 0] for g in range(9)]
    drawn = [np.concatenate([by_cluster[g] for g in random.integers(0, 9, 9)]).mean() for _ in range(20_000)]
    expected = np.quantile(drawn, [0.025, 0.5, 0.975])
    assert np.quantile(means, [0.025, 0.5, 0.975]) == pytest.approx(expected, abs=0.03)


def test_below_six_clusters_the_interval_is_of_these_documents():
    """Two documents of very different means: their difference is no doubt about further questions on them."""
    labels = numbered([0] * 40 + [1] * 40)
    values = np.concatenate([np.random.default_rng(0).normal(0, 0.1, 40), np.random.default_rng(1).normal(5, 0.1, 40)])
    found = estimate(values, labels)
    within = np.sqrt(values[:40].var(ddof=1) / 40 + values[40:].var(ddof=1) / 40) / 2
    reach = scipy_stats.t.ppf(0.975, 78)
    assert (found.low, found.high) == pytest.approx((found.mean - reach * within, found.mean + reach * within))
    assert found.design_effect is None
    difference = paired_difference(np.zeros(80), values, labels)
    assert not difference.generalises
    assert difference.p_value < 0.001, "questions flip by themselves"
    six = paired_difference(np.zeros(60), np.ones(60), numbered(np.repeat(np.arange(6), 10)))
    assert six.generalises
    assert six.p_value == 2 / 64


def test_whole_clusters_flip():
    """Sums 3, 2, −1 of three clusters: 4 or more from 0 in 4 of 8 flips."""
    sums = np.array([[3.0], [2.0], [-1.0]])
    assert sign_flip(sums).tolist() == [4 / 8]
    values = np.array([1.0, 2.0, 2.0, -1.0, 0.0, 0.0, 0.0])
    labels = numbered([0, 0, 1, 2, 3, 4, 5])
    assert paired_difference(np.zeros(7), values, labels).p_value == 4 / 8


def test_equivalence_equals_two_one_sided_tests_of_statsmodels():
    """Differences of equal distance from their mean have all degrees of freedom."""
    values = np.array([0.03, -0.01] * 12)
    difference = paired_difference(np.zeros(24), values)
    expected = DescrStatsW(values).ttost_mean(-0.02, 0.02)[0]
    assert difference.equivalent(0.02) == pytest.approx(expected)
    assert difference.equivalent(0.005) > 0.5, "the mean is 0.01"


def test_a_rate_of_clusters_is_wider_than_of_independent_questions_and_has_a_width_at_its_ends():
    values = np.repeat([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0], 10)
    labels = numbered(np.repeat(np.arange(8), 10))
    by_document, by_question = estimate(values, labels), estimate(values)
    assert by_document.low < by_question.low
    assert 0 < by_document.low < 0.75 < by_document.high < 1
    assert by_document.design_effect == pytest.approx(79 / 7)
    sure = estimate(np.ones(80), labels)
    assert sure.low < estimate(np.ones(80)).low < 1 == sure.high


@pytest.mark.parametrize("count", [10, 20, 40])
@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("kind", ["rate", "score"])
def test_intervals_cover_the_truth_of_correlated_questions(count, correlation, kind):
    """95 % intervals of documents with 3 to 40 questions each hold the true mean 92 to 98 % of 600 times.

    The bounds leave three standard errors of a simulation of this size around 95 %.
    """
    random = np.random.default_rng(count + int(10 * correlation))
    covered = []
    for _ in range(6):
        labels = np.repeat(np.arange(count), random.integers(3, 41, count))
        between, within = random.normal(size=(count, 100)), random.normal(size=(len(labels), 100))
        latent = np.sqrt(correlation) * between[labels] + np.sqrt(1 - correlation) * within
        share = scipy_stats.norm.cdf(latent)
        values, truth = (((share < 0.7) * 1.0), 0.7) if kind == "rate" else (share, 0.5)
        _, low, high = bands(values, numbered(labels), samples=500)
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.92 <= np.mean(covered) <= 0.98


def test_tests_of_correlated_questions_keep_their_level():
    """Without a difference, 5 % of p-values are below 0.05 by cluster; by question they would be far more."""
    random = np.random.default_rng(5)
    labels = np.repeat(np.arange(15), random.integers(3, 41, 15))
    values = random.normal(size=(15, 400))[labels] + random.normal(size=(len(labels), 400))
    clustered = np.mean([d.p_value < 0.05 for d in paired_differences(values, numbered(labels))])
    alone = np.mean([d.p_value < 0.05 for d in paired_differences(values)])
    assert 0.02 <= clustered <= 0.085
    assert alone > 0.3


def test_standings_by_hand():
    """Twenty documents: c is always best; a and b take turns."""
    turns = np.tile([1.0, 0.0], 20)
    values = np.stack([turns, 1 - turns, np.full(40, 2.0)])
    found = standings(values, [(2, 0), (2, 1)], numbered(np.repeat(np.arange(20), 2)))
    assert [(each.low, each.high) for each in found] == [(2, 3), (2, 3), (1, 1)]
    assert [each.best for each in found] == [0, 0, 1]
    even = standings(np.stack([np.ones(30), np.ones(30)]), [], independent_clusters(30))
    assert [each.best for each in even] == [0.5, 0.5]
    few = standings(values, [(2, 0), (2, 1)], numbered(np.repeat(np.arange(2), 20)))
    assert [each.best for each in few] == [None] * 3
