"""Densities are known only as well as the references tell."""

import weakref

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, logsumexp
from sklearn.base import clone

import truemix
from support import in_order, posteriors
from truemix import BayesianKDEy, InputError, _replicate_budget, simplex
from truemix.densities import kde_log_likelihood
from truemix.densities.class_densities import ClassDensities
from truemix.inference import sample_mixture
from truemix.metrics import absolute_error, hard_coverage, soft_coverage, winkler_score
from truemix.models import KernelDensity
from truemix.models.bayesian_bootstrap import UNSEEN, reference_weights, unseen_parts
from truemix.protocols import DirichletBags
from truemix.selection import GridSearch, calibrate_temperature
from truemix.selection._validation import split

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.1}
# The uncertainty of the references by itself, before bags of them widen intervals.
ALONE = {**SMOOTH, "self_calibration": False}


def normal_posteriors(n, mix, rng):
    """Two classes; the log-odds are normal around -0.7 and 0.7, so label shift holds exactly."""
    codes = rng.choice(2, n, p=mix)
    p = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.4 * codes - 0.7)))
    return np.column_stack([1 - p, p]), codes


def test_weights_within_a_class_are_a_flat_dirichlet():
    weights = reference_weights(12, np.arange(4000), seed=0)
    shares = weights[:, :5] / weights[:, :5].sum(axis=1, keepdims=True)
    # A share of a Dirichlet(1, 1, 1, 1, 1) is Beta(1, 4).
    for k in range(5):
        assert stats.kstest(shares[:, k], stats.beta(1, 4).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(weights[:-1, 0], weights[1:, 0])[0, 1]) < 0.06


def test_each_class_may_hold_items_like_another_as_far_as_its_references_are_few():
    """Closed form: the share of class j in class k is a Beta variable."""
    parts = unseen_parts(np.array([5, 50, 500]), np.arange(4000), seed=0)
    np.testing.assert_allclose(parts.sum(axis=2), 1.0)
    for k, count in enumerate([5, 50, 500]):
        for j in range(3):
            a = UNSEEN / 3 + count * (j == k)
            law = stats.beta(a, UNSEEN + count - a)
            assert stats.kstest(parts[:, k, j], law.cdf).pvalue > 1e-3
    some = unseen_parts(np.array([5, 50, 500]), np.array([17, 3]), seed=0)
    np.testing.assert_array_equal(some, parts[[17, 3]])


def replicated(P, codes, target, bandwidth, shrinkage, numbers, seed):
    """Replicates by their definition: reweighted densities, mixed as unseen items may look."""
    weights = reference_weights(len(codes), numbers, seed)
    likelihood = np.exp(evened(P, codes, target, bandwidth, shrinkage, weights))
    parts = unseen_parts(np.bincount(codes), numbers, seed)
    mixed = np.log(np.einsum("vnj,vkj->vnk", likelihood, parts))
    return mixed - mixed.max(axis=2, keepdims=True)


def evened(P, codes, target, bandwidth, shrinkage, weights):
    """Log-likelihoods with random weights, raised by what such weights take from their logarithms.

    By the definition: kernels of all pairs, sums of them and of their squares.
    """
    u = simplex.clr((1 - shrinkage) * P + shrinkage / P.shape[1])
    v = simplex.clr((1 - shrinkage) * target + shrinkage / P.shape[1])
    distances = ((v[:, None] - u[None]) ** 2).sum(axis=2)
    logs = kde_log_likelihood(
        P, codes, target, bandwidth=bandwidth, shrinkage=shrinkage, weights=weights
    )
    for k in range(P.shape[1]):
        kernels = -0.5 * distances[:, codes == k] / ((1 - shrinkage) * bandwidth) ** 2
        near = np.exp(2 * logsumexp(kernels, axis=1) - logsumexp(2 * kernels, axis=1))
        m = kernels.shape[1]
        logs[:, :, k] += np.log(near) - digamma(near) - np.log(m) + digamma(m)
    return logs - logs.max(axis=2, keepdims=True)


def test_replicates_scatter_around_the_plain_density_not_below_it():
    """Against simulation, for items with one near reference and with many."""
    P, codes = posteriors(60, 3, seed=0)
    target, _ = posteriors(40, 3, seed=1)
    plain = kde_log_likelihood(P, codes, target, **SMOOTH)
    weights = reference_weights(60, np.arange(4000), seed=0)
    logs = kde_log_likelihood(P, codes, target, **SMOOTH, weights=weights)
    found = np.empty((4000, 40, 3), dtype=np.float32)
    densities = ClassDensities(P, codes, "aitchison", np.array([0.4]), 0.1)
    parts = np.broadcast_to(np.eye(3), (4000, 3, 3))
    densities.relative_log_likelihoods(target, weights, found, parts)
    best = plain.argmax(axis=1, keepdims=True)

    def ratios(matrices):
        return matrices - np.take_along_axis(
            matrices, np.broadcast_to(best, (*matrices.shape[:-1], 1)), -1
        )

    # Most of 0.58 (one near reference) goes; 0.1 is how far sums of unequal kernels are from gamma
    # variables, and 0.02 two standard errors of 4000 replicates.
    assert np.abs(ratios(logs).mean(axis=0) - ratios(plain)).max() > 0.3
    assert np.abs(ratios(found).mean(axis=0) - ratios(plain)).max() < 0.12


def test_draws_are_those_under_reweighted_densities():
    """Against the definition: each version's densities and a long run of each."""
    P, codes = in_order(*posteriors(60, 3, seed=0))
    target, _ = posteriors(150, 3, seed=1, mix=[0.6, 0.3, 0.1])
    found = BayesianKDEy(**ALONE, draws=2000, random_state=4).fit(P, codes).quantify(target)
    draws = found.of("population").draws.reshape(100, 20, 3)
    matrices = replicated(P, codes, target, **SMOOTH, numbers=np.arange(100), seed=4)
    expected = np.stack([sample_mixture(m, draws=400, random_state=0).draws for m in matrices])
    means, errors = expected.mean(axis=1), expected.std(axis=1) / np.sqrt(0.4 * 20)
    # 300 comparisons with a mean of 20 draws worth at least 8 each: 5 standard errors.
    assert (np.abs(draws.mean(axis=1) - means) < 5 * errors).all()
    assert np.corrcoef(draws.mean(axis=1)[:, 0], means[:, 0])[0, 1] > 0.8


def test_without_it_the_densities_are_taken_as_known():
    P, codes = posteriors(90, 3, seed=0)
    target, _ = posteriors(80, 3, seed=1)
    found = BayesianKDEy(**ALONE, reference_uncertainty=None, random_state=1).fit(P, codes)
    sample = sample_mixture(kde_log_likelihood(P, codes, target, **SMOOTH), random_state=1)
    np.testing.assert_array_equal(found.quantify(target).draws, sample.batch)
    assert "replicates" not in found.quantify(target).diagnostics


def test_with_huge_references_it_changes_nothing():
    P, codes = posteriors(30_000, 2, seed=0, sharpness=4)
    target, _ = posteriors(300, 2, seed=1, sharpness=4, mix=[0.8, 0.2])
    views = {}
    for kind in ("bootstrap", None):
        quantifier = BayesianKDEy(
            **ALONE, reference_uncertainty=kind, random_state=0, estimand="population", draws=4000
        )
        views[kind] = quantifier.fit(P, codes).quantify(target)
    sizes = views["bootstrap"].diagnostics
    assert (sizes["between_variance"] < 0.05 * sizes["within_variance"]).all()
    spread = views[None].draws.std(axis=0)
    # Means of 4000 draws worth at least 1000: 5 standard errors of a difference.
    difference = np.abs(views["bootstrap"].prevalence - views[None].prevalence)
    assert (difference < 5 * spread * np.sqrt(2 / 1000)).all()
    np.testing.assert_allclose(views["bootstrap"].draws.std(axis=0), spread, rtol=0.1)


def test_with_few_references_intervals_cover_where_known_densities_do_not():
    """Forty references per class, drawn anew each time from known densities."""
    rng = np.random.default_rng(0)
    covered = {"bootstrap": [], None: []}
    for _ in range(200):
        truth = rng.dirichlet([1, 1])
        P, codes = (np.concatenate(parts) for parts in zip(
            normal_posteriors(40, [1, 0], rng), normal_posteriors(40, [0, 1], rng), strict=True
        ))  # fmt: skip
        target, _ = normal_posteriors(500, truth, rng)
        for kind, hits in covered.items():
            quantifier = BayesianKDEy(
                bandwidth=0.3, shrinkage=0.0, reference_uncertainty=kind, random_state=0,
                estimand="population", draws=500, self_calibration=False,
            )  # fmt: skip
            interval = quantifier.fit(P, codes).quantify(target).interval()
            hits.append(hard_coverage(truth, interval))
    # 200 trials know a coverage of 95 % to 1.5 points; 3 points are asked for.
    assert abs(np.mean(covered["bootstrap"]) - 0.95) < 0.03
    assert np.mean(covered[None]) < 0.75


def test_five_references_per_class_are_enough_for_honest_intervals():
    """Six classes with normal features; the classifier is a little off, as they are."""
    rng = np.random.default_rng(0)
    codes, covered = np.repeat(np.arange(6), 5), []
    for _ in range(30):
        centres, bias = 1.2 * rng.normal(size=(6, 4)), rng.normal(0.0, 0.5, 6)

        def score(labels, centres=centres, bias=bias):
            x = centres[labels] + rng.normal(size=(len(labels), 4))
            logits = bias - 0.5 * ((x[:, None] - centres) ** 2).sum(axis=2)
            return np.exp(logits - logsumexp(logits, axis=1, keepdims=True))

        truth = rng.choice(6, 300, p=rng.dirichlet(np.ones(6)))
        quantifier = BayesianKDEy(random_state=0, draws=300, self_calibration=False)
        quantifier.fit(score(codes), codes)
        interval = quantifier.quantify(score(truth)).interval()
        covered.append(soft_coverage(np.bincount(truth, minlength=6) / 300, interval))
    # Classes of one trial go together, so 30 trials know the mean to about 2 points. Without unseen
    # items and with the six best settings only, it is below 50 %.
    assert np.mean(covered) > 0.90


def test_settings_that_tie_share_the_replicates():
    P, codes = in_order(*posteriors(150, 3, seed=0))
    target, _ = posteriors(100, 3, seed=1)
    found = BayesianKDEy(random_state=0).fit(P, codes)
    ties = [row for row in found.selection_ if row["tie"]]
    assert 1 < len(ties) == len(np.unique(found.model_.shared_work(np.arange(100))))
    replicates = found.model_.replicates(target, np.arange(100), seed=0)
    for v, row in enumerate(ties):
        numbers = np.array([v, v + len(ties)])
        expected = replicated(P, codes, target, row["bandwidth"], row["shrinkage"], numbers, 0)
        # Kept in single precision: 6e-8 of values down to -100.
        np.testing.assert_allclose(replicates[numbers], expected, atol=1e-5)
    single = BayesianKDEy(random_state=0, averaging=False).fit(P, codes)
    assert not single.model_.shared_work(np.arange(100)).any()


def test_large_batches_and_many_groups_go_in_blocks_with_the_same_answers(monkeypatch):
    P, codes = posteriors(90, 3, seed=0)
    target, _ = posteriors(130, 3, seed=1)
    groups = np.repeat(["a", "b", "c"], [20, 70, 40])
    found = BayesianKDEy(**ALONE, random_state=0).fit(P, codes)
    whole, by_group = found.quantify(target), found.quantify_by(target, groups)
    # One group's replicates at once, and the whole batch in two passes.
    monkeypatch.setattr(_replicate_budget, "MIN_REPLICATES", 100)
    monkeypatch.setattr(_replicate_budget, "HALF_HELD_BYTES", 2 * 50 * 3 * 130)
    np.testing.assert_array_equal(found.quantify(target).draws, whole.draws)
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 4 * 100 * 3 * 70)
    again = found.quantify_by(target, groups)
    for group in "abc":
        np.testing.assert_array_equal(again[group].draws, by_group[group].draws)
    # Where they would not fit there are fewer replicates.
    monkeypatch.setattr(_replicate_budget, "MIN_REPLICATES", 40)
    assert found.quantify(target).diagnostics["replicates"] == 50


def test_half_precision_of_a_large_batch_moves_draws_by_less_than_their_error(monkeypatch):
    P, codes = posteriors(90, 3, seed=0)
    target, _ = posteriors(130, 3, seed=1)
    found = BayesianKDEy(**ALONE, random_state=0).fit(P, codes)
    single = found.quantify(target)
    monkeypatch.setattr(_replicate_budget, "HELD_BYTES", 1000)
    half = found.quantify(target)
    assert (half.draws != single.draws).any()
    # The draws follow each other: a class of an item changes here and there.
    error = single.diagnostics["mcse"]
    assert (np.abs(half.prevalence - single.prevalence) < error).all()
    np.testing.assert_allclose(half.draws.std(axis=0), single.draws.std(axis=0), rtol=0.02)


def test_of_a_huge_batch_one_block_of_replicates_is_held_at_a_time(monkeypatch):
    P, codes = posteriors(90, 3, seed=0)
    target, _ = posteriors(130, 3, seed=1)
    found = BayesianKDEy(**ALONE, random_state=0).fit(P, codes)
    made, alive = [], []
    make = KernelDensity.replicates

    def watched(*arguments):
        alive.append(sum(block() is not None for block in made))
        block = make(*arguments)
        made.append(weakref.ref(block))
        return block

    monkeypatch.setattr(KernelDensity, "replicates", watched)
    monkeypatch.setattr(_replicate_budget, "MIN_REPLICATES", 100)
    monkeypatch.setattr(_replicate_budget, "HALF_HELD_BYTES", 2 * 3 * 130 * 25)
    found.quantify(target)
    assert alive == [0, 0, 0, 0]


def test_the_same_seed_gives_the_same_draws_and_settings_show_it():
    P, codes = posteriors(90, 3, seed=0)
    first = BayesianKDEy(**ALONE).fit(P, codes).quantify(P)
    again = BayesianKDEy(**ALONE, random_state=first.settings["random_state"]).fit(P, codes)
    np.testing.assert_array_equal(again.quantify(P).draws, first.draws)
    other = BayesianKDEy(**ALONE, random_state=1).fit(P, codes).quantify(P)
    assert (other.draws != first.draws).any()


def test_a_saved_quantifier_knows_as_little(tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    found = BayesianKDEy(random_state=0, draws=50).fit(P, codes)
    truemix.save(found, tmp_path / "q")
    loaded = truemix.load(tmp_path / "q")
    np.testing.assert_array_equal(loaded.quantify(P).draws, found.quantify(P).draws)
    numbers = np.arange(50)
    np.testing.assert_array_equal(
        loaded.model_.shared_work(numbers), found.model_.shared_work(numbers)
    )


def test_priors_temperature_grid_search_and_calibration_work_with_it():
    P, codes = posteriors(150, 3, seed=0)
    strong = BayesianKDEy(**ALONE, prior=[500.0, 1.0, 1.0], random_state=0).fit(P, codes)
    weak = BayesianKDEy(**ALONE, random_state=0).fit(P, codes)
    assert strong.predict(P)[0] > weak.predict(P)[0] + 0.1
    hot = BayesianKDEy(**ALONE, temperature=20.0, draws=200, random_state=0).fit(P, codes)
    views = [each.quantify(P).of("population").interval() for each in (hot, weak)]
    assert (np.diff(views[0]) > 1.5 * np.diff(views[1])).all()
    bags = DirichletBags(n_bags=4, bag_size=50)
    grid = {"bandwidth": [0.2, 0.8], "reference_uncertainty": ["bootstrap", None]}
    quantifier = BayesianKDEy(shrinkage=0.1, draws=100, random_state=0)
    search = GridSearch(quantifier, grid, protocol=bags).fit(P, codes)
    calibrated = calibrate_temperature(quantifier, P, codes, protocol=bags, grid=[30, 1, 2])

    # The same from plain fits on the items not held out, and plain estimates of each bag.
    held_out = split(codes, np.arange(3), 0.4)
    rest = np.setdiff1d(np.arange(150), held_out)
    drawn = list(bags.bags(codes[held_out], np.arange(3)))
    truth = np.array([bag.prevalence for bag in drawn])

    def estimates(**setting):
        fitted = clone(quantifier).set_params(**setting).fit(P[rest], codes[rest])
        return [fitted.quantify(P[held_out[bag.index]]) for bag in drawn]

    errors = [
        absolute_error(truth, [each.prevalence for each in estimates(**setting)]).mean()
        for setting in search.results_[list(grid)].to_dict("records")
    ]
    # The blocks in which the pool is evaluated differ, so the last digits of the densities may.
    np.testing.assert_allclose(search.results_["score"], errors, rtol=1e-6)
    assert len(set(search.results_["score"])) == 4
    winkler = [
        winkler_score(truth, [each.interval() for each in estimates(temperature=t)]).mean()
        for t in (30.0, 1.0, 2.0)
    ]
    np.testing.assert_allclose(calibrated.results["winkler_score"], winkler, rtol=1e-6)
    assert calibrated.temperature == [30.0, 1.0, 2.0][int(np.argmin(winkler))] < 30.0


def test_wrong_values_are_named():
    P, codes = posteriors(60, 3, seed=0)
    with pytest.raises(InputError, match="'reference_uncertainty' parameter"):
        BayesianKDEy(reference_uncertainty="jackknife").fit(P, codes)
    with pytest.raises(InputError, match="'averaging' parameter must be True or False"):
        BayesianKDEy(averaging=1).fit(P, codes)
