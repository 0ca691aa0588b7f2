"""The parts of the check, each against its definition."""

import numpy as np
import pytest

from support import posteriors
from truemix import InputError, KDEy
from truemix.checks._multiple import discoveries, holm, monte_carlo
from truemix.checks._null import apportioned, null_bags
from truemix.checks._references import references_of
from truemix.checks._statistics import Items, Judge
from truemix.densities import kde_log_likelihood
from truemix.densities.background import background_log_likelihood
from truemix.inference import maximize_mixture


@pytest.fixture(scope="module")
def judge():
    P, codes = posteriors(120, 3, 0)
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, codes)
    return Judge(references_of(quantifier, np.random.default_rng(0)))


def tail_by_counting(judge, mix, density):
    """Return for each density the share of references, and the item, that have none larger."""
    references = judge.references
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


def test_holm_rejects_as_the_stepwise_procedure():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(int(rng.integers(1, 12))) ** 3
        level = rng.random()
        rejected = set()
        for rank, place in enumerate(np.argsort(p)):
            if p[place] > level / (len(p) - rank):
                break
            rejected.add(int(place))
        assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected


def test_monte_carlo_counts_what_is_observed():
    null = np.arange(99.0)[:, None]
    assert monte_carlo(np.array([98.5]), null)[0] == 0.01
    assert monte_carlo(np.array([98.0 + 1e-12]), null)[0] == 0.02
    assert monte_carlo(np.array([-1.0]), null)[0] == 1.0


def test_shares_are_apportioned_without_bias():
    rng = np.random.default_rng(0)
    mix = np.array([0.0, 0.301, 0.45, 0.249, 0.0])
    counts = np.array([apportioned(7, mix, rng) for _ in range(4000)])
    assert (counts.sum(axis=1) == 7).all()
    assert (np.abs(counts - 7 * mix) < 1).all()
    assert (counts[:, [0, -1]] == 0).all()
    # The standard error of each mean is at most 0.5 / sqrt(4000) = 0.008.
    assert np.allclose(counts.mean(axis=0), 7 * mix, atol=0.03)


def test_bags_vary_as_targets_do_around_references():
    """A mean over n targets minus one over m references has the variance 1/n + 1/m."""
    rng = np.random.default_rng(0)
    values, n = rng.normal(size=400), 200
    counts = np.array([100, 300])
    bags = list(null_bags(counts, np.array([0.5, 0.5]), n, 3000, rng))
    assert {tuple(np.bincount((bag >= 100).astype(int))) for bag in bags} == {(100, 100)}
    first = np.array([values[bag[bag < 100]].mean() for bag in bags])
    spread = values[:100].var()
    # Bayesian bootstrap: 1 / (m + 1); a variance of 3000 values is known within 8 % (3 errors).
    assert first.var() == pytest.approx(spread * (1 / 100 + 1 / 101), rel=0.08)


def test_references_are_judged_by_the_other_folds(judge):
    references = judge.references
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


def test_targets_are_dealt_to_models_and_folds_in_equal_parts(judge):
    scored = np.stack([posteriors(100, 3, seed)[0] for seed in range(4)])
    chosen, matrix = judge.references.judge_targets(scored, np.random.default_rng(0))
    model = (chosen[None] == scored).all(axis=2).argmax(axis=0)
    assert np.array_equal(np.bincount(model), [25, 25, 25, 25])
    folds = np.array([judge.references.judge(chosen, np.full(100, f)) for f in range(5)])
    fold = np.abs(folds - matrix).max(axis=2).argmin(axis=0)
    assert np.array_equal(np.bincount(fold), [20] * 5)


def test_tail_probabilities_count_references_below(judge):
    target, _ = posteriors(20, 3, 1)
    _, matrix = judge.references.judge_targets(target[None], np.random.default_rng(0))
    mix = np.array([0.5, 0.2, 0.3])
    expected = tail_by_counting(judge, mix, np.log(np.exp(matrix) @ mix))
    assert np.allclose(judge.tail_probabilities(Items.of(matrix), mix), expected)


def test_deviations_follow_their_definitions(judge):
    references = judge.references
    target, _ = posteriors(30, 3, 1)
    _, matrix = references.judge_targets(target[None], np.random.default_rng(0))
    mix = maximize_mixture(matrix).prevalence
    found = judge.target(Items.of(matrix), target, mix)
    weights = (mix / references.drawn_counts)[references.drawn_codes]
    known = np.log(np.exp(references.log_likelihood) @ mix)
    # A reference is among the references already, a target counts as one more.
    own = np.array([weights[known <= value].sum() for value in known])
    density = np.log(np.exp(matrix) @ mix)
    tail = -np.log(tail_by_counting(judge, mix, density)).mean() + weights @ np.log(own)
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


def test_bags_of_references_are_compared_as_targets_are(judge):
    """A bag of references and the same items as a target: the same energy distance."""
    rng = np.random.default_rng(0)
    [bag] = null_bags(judge.references.drawn_counts, np.array([0.2, 0.3, 0.5]), 40, 1, rng)
    matrix = judge.references.log_likelihood[bag]
    mix = maximize_mixture(matrix, tol=1e-6).prevalence
    alone = judge.target(Items.of(matrix), judge.references.drawn_posteriors[bag], mix)
    assert judge.bags([bag]).whole[0, 1] == pytest.approx(alone.whole[0, 1], abs=1e-9)


def test_the_tail_statistic_is_the_sum_over_classes_where_these_are_apart(judge):
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
