"""Doubt by documents: clusters, their intervals and tests against statsmodels, by hand, and by simulation."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import DescrStatsW

from ragviz.core.errors import UsageError
from ragviz.stats.clusters import clusters_of, numbered
from ragviz.stats.differences import paired_difference, paired_differences
from ragviz.stats.intervals import bands, estimate, moments, resampled_means

EQUAL = numbered(np.repeat(np.arange(12), 5))
UNEQUAL = numbered(np.repeat(np.arange(9), [3, 11, 5, 5, 8, 20, 4, 3, 7]))


def correlated(clusters, columns=1):
    """Values of which those of a cluster are alike, (n, columns)."""
    random = np.random.default_rng(3)
    return random.normal(size=(clusters.count, columns))[clusters.labels] + random.normal(
        size=(len(clusters.labels), columns)
    )


def test_a_question_is_in_the_cluster_of_each_of_its_documents():
    """Four documents, and a question about none, which is a cluster by itself; four are too few to speak of others."""
    found = clusters_of([{"a"}, {"d"}, {"a", "b"}, set(), {"c", "b"}, {"c"}, {"d"}])
    assert (found.count, found.documents, found.generalise, found.disjoint) == (5, 4, False, False)
    assert sorted(found.sizes.tolist()) == [1, 2, 2, 2, 2]
    part = found.take([2, 3, 4])
    assert (part.n, part.count, part.documents, sorted(part.sizes.tolist())) == (3, 4, 3, [1, 1, 1, 2])
    assert clusters_of([]).count == 0
    chain = clusters_of([{n, n + 1} for n in range(50_000)])
    assert (chain.count, chain.documents) == (50_001, 50_001)
    assert not clusters_of([{0, n} for n in range(1, 20)]).generalise, "all rest on one document"


def test_each_document_is_left_out_with_every_question_that_touches_it():
    """The jackknife by hand, less what the three questions in two documents are counted twice."""
    members = [{n % 8} | ({(n + 3) % 8} if n in (1, 12, 30) else set()) for n in range(40)]
    values = np.random.default_rng(2).normal(size=40)
    clusters = clusters_of(members)
    without = np.array([values[[d not in own for own in members]].mean() for d in range(8)])
    twice = sum((values[n] - values.mean()) ** 2 for n in (1, 12, 30)) / 40**2
    expected = np.sqrt(7 / 8 * ((without - values.mean()) ** 2).sum() - twice)
    known = moments(values[:, None], clusters)
    assert known.error[0] == pytest.approx(expected)
    assert known.freedom[0] <= 43**2 / (clusters.sizes**2).sum() - 1
    difference = paired_difference(np.zeros(40), values, clusters)
    reach = scipy_stats.t.ppf(0.975, known.freedom[0])
    assert (difference.low, difference.high) == pytest.approx(
        (values.mean() - reach * expected, values.mean() + reach * expected)
    )
    assert difference.p_value == pytest.approx(2 * scipy_stats.t.sf(abs(values.mean()) / expected, known.freedom[0]))
    assert paired_difference(np.zeros(40), np.ones(40), clusters).p_value == 2 / 2**8


@pytest.mark.parametrize("several", [0.1, 1 / 3])
@pytest.mark.parametrize("count", [12, 30])
@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.4])
def test_intervals_cover_the_truth_where_questions_rest_on_several_documents(several, count, correlation):
    """Of 480 intervals each 92 to 98.5 % hold the truth, of differences too, and at most 8 % of tests find one."""
    random = np.random.default_rng(count)
    covered, found = [], []
    for _ in range(8):
        members = [{d} for d in range(count) for _ in range(random.integers(3, 41))]
        for own in members:
            if random.random() < several:
                own |= set(random.choice(count, size=random.integers(1, 3), replace=False).tolist())
        of = np.zeros((len(members), count))
        for row, own in enumerate(members):
            of[row, list(own)] = 1 / np.sqrt(len(own))
        sides = [
            np.sqrt(correlation) * of @ random.normal(size=(count, 60))
            + np.sqrt(1 - correlation) * random.normal(size=(len(members), 60))
            for _ in range(2)
        ]
        rates = [(scipy_stats.norm.cdf(side) < 0.7) * 1.0 for side in sides]
        clusters = clusters_of(members)
        _, low, high = bands(rates[0], clusters)
        covered.append(((low <= 0.7) & (high >= 0.7)).mean())
        found += [each.p_value < 0.05 for each in paired_differences(rates[1] - rates[0], clusters)]
    assert 0.92 <= np.mean(covered) <= 0.985
    assert np.mean(found) <= 0.08


def test_resamples_count_a_question_by_its_documents():
    clusters = clusters_of([{"a"}, {"a", "b"}, {"b"}])
    assert clusters.weights(np.array([[2.0, 1.0]], dtype=np.float32)).tolist() == [[2.0, 1.5, 1.0]]
    assert clusters.parts(np.array([[1.0], [4.0], [8.0]])).tolist() == [[3.0], [10.0]]


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
    assert difference.p_value < 0.001, "of further questions on these documents"
    six = paired_difference(np.zeros(60), np.ones(60), numbered(np.repeat(np.arange(6), 10)))
    assert six.generalises
    assert six.p_value == 2 / 64


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
