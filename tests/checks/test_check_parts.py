"""The parts of the check, each against its definition."""

import numpy as np
import pytest

from support import posteriors
from truemix import InputError, KDEy
from truemix.checks._multiple import critical_value, discoveries, monte_carlo, step_down
from truemix.checks._null import apportioned, null_bags
from truemix.checks._references import references_of
from truemix.checks._scores import Scale
from truemix.checks._statistics import Items, ShiftStatistics, fitted_mix
from truemix.checks._targets import targets_of
from truemix.densities import kde_log_likelihood
from truemix.densities.background import background_log_likelihood
from truemix.inference import maximize_mixture


@pytest.fixture(scope="module")
def statistics():
    P, codes = posteriors(120, 3, 0)
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, codes)
    return ShiftStatistics(references_of(quantifier, np.random.default_rng(0)))


def matrix_of(statistics, target):
    """Return the log-likelihood of a target's items."""
    [found] = targets_of(statistics.references, target[None], [np.arange(len(target))], 0)
    return found.log_likelihood


def tail_by_counting(statistics, mix, density):
    """Return for each density the share of references, and the item, that have none larger."""
    references = statistics.references
    known = np.log(np.exp(references.log_likelihood) @ mix)
    own = sum(mix[k] ** 2 / (references.drawn_codes == k).sum() for k in range(3))
    result = []
    for value in density:
        below = sum(mix[k] * (known[references.drawn_codes == k] <= value).mean() for k in range(3))
        result.append((below + own) / (1 + own))
    return np.array(result)


def test_discoveries_are_those_of_benjamini_and_hochberg():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 30))
        p = rng.random(n) ** rng.integers(1, 6)
        rate = rng.random()
        # By definition: the largest set of j p-values that are all at most rate * j / n.
        sizes = [j for j in range(n + 1) if (p <= rate * j / n).sum() >= j]
        expected = np.sort(p)[: max(sizes)]
        assert np.array_equal(p[discoveries(p, rate)], expected)


def test_discoveries_are_false_as_seldom_as_promised():
    rng = np.random.default_rng(0)
    false = []
    for _ in range(400):
        p = np.concatenate([rng.random(80), rng.random(20) * 1e-3])
        found = discoveries(p, 0.1)
        false.append((found < 80).mean() if found.size else 0.0)
    # Expected 0.1 * 80 / 100, with a standard error of 0.003 over 400 rounds.
    assert np.mean(false) == pytest.approx(0.08, abs=0.015)


def holm(p_values):
    """Return p-values adjusted by the procedure of Holm."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(order))
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted


def test_groups_are_adjusted_as_by_holm_where_their_nulls_are_alike():
    rng = np.random.default_rng(0)
    null = rng.normal(size=99_999)
    statistics = np.array([3.1, 0.2, 4.0, 2.7, 3.6])
    alone = (null[:, None] >= statistics).mean(axis=0)
    nulls = [rng.permutation(null) for _ in statistics]
    # What is observed counts as one draw of 100,000.
    assert np.allclose(step_down(statistics, nulls), holm(alone), atol=2e-5)


def test_few_draws_for_each_of_many_groups_keep_the_level():
    """Any of 40 groups fails in 5 % of cases, although no group has more than 99 draws."""
    rng = np.random.default_rng(0)
    failed = []
    for _ in range(400):
        # Groups with heavy and with light tails.
        draws = rng.standard_t(np.repeat([5, 50], 20)[:, None], size=(40, 100))
        failed.append((step_down(draws[:, 0], draws[:, 1:]) <= 0.05).any())
    # 5 % with a standard error of 1.1 %.
    assert 0.01 <= np.mean(failed) <= 0.085


def test_the_critical_value_is_exceeded_by_as_many_groups_as_the_level_says():
    rng = np.random.default_rng(0)
    nulls = [rng.normal(size=999), rng.normal(size=499) * 2]
    value = critical_value(nulls, 0.1)
    beyond = sum((null > value).mean() for null in nulls)
    assert 0.1 - 1 / 499 <= beyond <= 0.1 + 1e-12


def test_scores_of_bags_are_those_among_the_other_bags():
    values = np.random.default_rng(0).normal(size=(20, 3))
    found = Scale.of(values).scores_of_the_others(values)
    for row in range(20):
        others = np.delete(values, row, axis=0)
        expected = (values[row] - others.mean(axis=0)) / others.std(axis=0)
        assert np.allclose(found[row], expected)


def test_monte_carlo_counts_what_is_observed():
    null = np.arange(99.0)[:, None]
    assert monte_carlo(np.array([98.5]), null)[0] == 0.01
    assert monte_carlo(np.array([98.0 + 1e-12]), null)[0] == 0.02
    assert monte_carlo(np.array([-1.0]), null)[0] == 1.0


def test_shares_are_apportioned_without_bias():
    rng = np.random.default_rng(0)
    mix = np.array([0.0, 0.301, 0.45, 0.249, 0.0])
    counts = apportioned(7, mix, 4000, rng)
    assert (counts.sum(axis=1) == 7).all()
    assert (np.abs(counts - 7 * mix) < 1).all()
    assert (counts[:, [0, -1]] == 0).all()
    # The standard error of each mean is at most 0.5 / sqrt(4000) = 0.008.
    assert np.allclose(counts.mean(axis=0), 7 * mix, atol=0.03)


@pytest.mark.parametrize(("n", "m"), [(100, 100), (20, 400), (200, 15)])
def test_bags_vary_as_targets_do_around_references(n, m):
    """A mean over n targets minus one over m references has the variance 1/n + 1/m."""
    rng = np.random.default_rng(0)
    counts, mix = np.array([m, 50]), np.array([0.5, 0.5])
    found = []
    for _ in range(200):
        values = np.concatenate([rng.normal(size=m), np.full(50, 1e6)])
        bags = null_bags(counts, mix, 2 * n, 20, rng)
        assert ((bags < m).sum(axis=1) == n).all()
        of_class = np.where(bags < m, values[bags], 0.0)
        found.append(((of_class.sum(axis=1) / n - values[:m].mean()) ** 2).mean())
    # 200 sets of references, each with a variance of its own known to 7 % (15 of them) or better,
    # and of 4000 bags: four standard errors.
    assert np.mean(found) == pytest.approx(1 / n + 1 / m, rel=0.1)


def test_references_have_out_of_fold_likelihoods(statistics):
    references = statistics.references
    for row in (0, 50, 119):
        item = references.drawn[row]
        others = references.fold != references.fold[item]
        expected = kde_log_likelihood(
            references.posteriors[others],
            references.codes[others],
            references.posteriors[[item]],
            bandwidth=0.4,
            shrinkage=0.2,
        )
        assert np.allclose(references.log_likelihood[row], expected[0])


def test_targets_are_dealt_to_models_and_folds_in_equal_parts(statistics):
    scored = np.stack([posteriors(100, 3, seed)[0] for seed in range(4)])
    [found] = targets_of(statistics.references, scored, [np.arange(100)], 0)
    model = (found.posteriors[None] == scored).all(axis=2).argmax(axis=0)
    assert np.array_equal(np.bincount(model), [25, 25, 25, 25])
    folds = np.array(
        [
            statistics.references.log_likelihood_of(found.posteriors, np.full(100, f))
            for f in range(5)
        ]
    )
    fold = np.abs(folds - found.log_likelihood).max(axis=2).argmin(axis=0)
    assert np.array_equal(np.bincount(fold), [20] * 5)


def test_groups_have_the_likelihoods_they_would_have_alone(statistics):
    target, _ = posteriors(50, 3, 1)
    both = targets_of(statistics.references, target[None], [np.arange(30), np.arange(30, 50)], 0)
    [first] = targets_of(statistics.references, target[None, :30], [np.arange(30)], 0)
    assert np.array_equal(both[0].log_likelihood, first.log_likelihood)
    assert np.array_equal(both[0].unknown, first.unknown)
    assert [len(each.posteriors) for each in both] == [30, 20]


def test_tail_probabilities_count_references_below(statistics):
    target, _ = posteriors(20, 3, 1)
    matrix = matrix_of(statistics, target)
    mix = np.array([0.5, 0.2, 0.3])
    expected = tail_by_counting(statistics, mix, np.log(np.exp(matrix) @ mix))
    assert np.allclose(statistics.tail_probabilities(Items.of(matrix), mix), expected)


def test_deviations_follow_their_definitions(statistics):
    references = statistics.references
    target, _ = posteriors(30, 3, 1)
    matrix = matrix_of(statistics, target)
    mix = maximize_mixture(matrix).prevalence
    found = statistics.target(Items.of(matrix), target, mix)
    weights = (mix / references.drawn_counts)[references.drawn_codes]
    known = np.log(np.exp(references.log_likelihood) @ mix)
    # A reference is among the references already, a target counts as one more.
    own = np.array([weights[known <= value].sum() for value in known])
    density = np.log(np.exp(matrix) @ mix)
    tail = -np.log(tail_by_counting(statistics, mix, density)).mean() + weights @ np.log(own)
    assert found.whole[0, 0] == pytest.approx(tail)

    def distance(p, q):
        return np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum())

    R = references.drawn_posteriors
    across = sum(w * distance(p, q) for p in target for q, w in zip(R, weights, strict=True)) / 30
    within = np.mean([distance(p, q) for p in target for q in target])
    among = sum(
        v * w * distance(p, q)
        for p, v in zip(R, weights, strict=True)
        for q, w in zip(R, weights, strict=True)
    )
    assert found.whole[0, 1] == pytest.approx(2 * across - within - among)


@pytest.mark.parametrize("size", [5, 40, 500])
def test_bags_of_references_are_compared_as_targets_are(statistics, size):
    """A bag of references and the same items as a target: the same energy distance."""
    rng = np.random.default_rng(0)
    bags = null_bags(statistics.references.drawn_counts, np.array([0.2, 0.3, 0.5]), size, 3, rng)
    found = statistics.deviations(bags, statistics.fit(bags))
    for bag, whole in zip(bags, found.whole, strict=True):
        matrix = statistics.references.log_likelihood[bag]
        alone = statistics.target(
            Items.of(matrix), statistics.references.drawn_posteriors[bag], fitted_mix(matrix)
        )
        assert whole[1] == pytest.approx(alone.whole[0, 1], abs=1e-9)


def test_bags_are_as_far_from_their_mixes_as_targets_on_average():
    """What makes up for the mix being fitted to references: new targets deviate as bags do."""
    P, codes = posteriors(400, 8, 0)
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, codes)
    statistics = ShiftStatistics(references_of(quantifier, np.random.default_rng(0)))
    mix = np.full(8, 1 / 8)
    bags = null_bags(statistics.references.drawn_counts, mix, 400, 300, np.random.default_rng(0))
    shares, mixes = statistics._shares(bags), statistics.fit(bags)
    shift = statistics.optimism(bags, mixes, mix).whole[0, 0]
    outside = statistics._apart(shares, mixes)[:, 0]
    # The same number from many more bags, without taking chance off: it differs by chance only.
    error = outside.std() / np.sqrt(300)
    assert shift < 0
    assert abs(shift - outside.mean()) < 4 * error
    # Taking it off leaves less than a quarter of the chance: 24 bags are enough.
    fixed = statistics._apart(shares, np.broadcast_to(mix, mixes.shape))[:, 0]
    assert (outside - fixed).std() < outside.std() / 2


def test_the_tail_statistic_is_the_sum_over_classes_where_these_are_apart(statistics):
    """With one class only, everything it says is about that class."""
    matrix = np.column_stack([np.log(np.linspace(0.5, 3, 50)), np.full((50, 2), -1000.0)])
    items = Items.of(matrix)
    rng = np.random.default_rng(0)
    weights, shares = rng.dirichlet(np.ones(50), 2)
    mix = np.array([[1.0, 0.0, 0.0]])
    whole, classes = items.compare((shares - weights)[None], weights[None], mix, np.zeros((1, 50)))
    assert classes[0, 0] == pytest.approx(whole[0])
    assert np.allclose(classes[0, 1:], 0)


def test_the_background_is_the_even_mix_tilted_by_how_many_like_references_are_below():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [5, 20, 40])
    reference = rng.normal(size=(65, 3)) + 2 * np.eye(3)[labels]
    items = rng.normal(size=(10, 3)) - 1
    weights = 1 / np.array([5, 20, 40])[labels]
    even = np.exp(reference).mean(axis=1)
    expected = []
    for row in items:
        like = reference.argmax(axis=1) == row.argmax()
        share = weights * like / weights[like].sum()
        scale = sum(
            s * share[even <= v].sum() ** -1.2 for s, v in zip(share, even, strict=True) if s
        )
        own = (share**2).sum()
        value = np.exp(row).mean()
        tail = (share[even <= value].sum() + own) / (1 + own)
        expected.append(value * tail**-1.2 / scale)
    found = np.exp(background_log_likelihood(items, reference, labels))
    assert np.allclose(found, expected)


def test_where_no_reference_looks_like_the_class_the_background_is_the_even_mix():
    reference = np.log([[2.0, 1.0], [3.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    items = np.log([[1.0, 2.0], [1.0, 5.0]])
    found = background_log_likelihood(items, reference, [0, 0, 1, 1])
    assert np.allclose(np.exp(found), [1.5, 3.0])


def test_an_unknown_class_gets_a_share_and_leaves_the_others_theirs():
    def scores(n_no, n_yes, n_other, rng):
        p = np.concatenate(
            [rng.beta(2, 30, n_no), rng.beta(30, 2, n_yes), rng.beta(30, 30, n_other)]
        )
        return np.column_stack([1 - p, p])

    rng = np.random.default_rng(0)
    P, labels = scores(500, 500, 0, rng), np.repeat([0, 1], 500)
    first = np.arange(1000) % 2 == 0

    def matrix(target):
        return kde_log_likelihood(P[first], labels[first], target, bandwidth=0.3, shrinkage=0.1)

    held_out = matrix(P[~first])
    for n_other in (0, 100):
        L = matrix(scores(700, 300, n_other, rng))
        unknown = background_log_likelihood(L, held_out, labels[~first])
        fit = maximize_mixture(np.column_stack([L, unknown])).prevalence
        # Far from everything, the unknown takes a few items in the tails of the others too.
        assert n_other / 1100 <= fit[2] + 1e-12 <= n_other / 1100 + 0.15
        # Two standard errors of a share of 1000 are 0.03.
        assert fit[0] / fit[:2].sum() == pytest.approx(0.7, abs=0.04)


def test_the_background_says_which_shapes_do_not_match():
    with pytest.raises(InputError, match=r"have the shapes \(1, 2\), \(2, 3\) and \(2,\)"):
        background_log_likelihood(np.zeros((1, 2)), np.zeros((2, 3)), [0, 1])
