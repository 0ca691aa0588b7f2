"""Items that belong to none of the classes."""

import numpy as np
import pytest

import truemix
from support import in_order, posteriors
from truemix import BayesianKDEy, Bootstrap, Estimate, InputError, KDEy, _replicate_budget
from truemix.densities import kde_log_likelihood
from truemix.densities.background import background_log_likelihood
from truemix.inference import maximize_mixture, sample_mixture
from truemix.metrics import absolute_error
from truemix.models.out_of_fold import folds_of

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.1}
MIX = [0.6, 0.3, 0.1]
NAMES = np.array(["ham", "news", "spam"])


def strangers(n, seed):
    """Items that no class has: undecided in the same way, with a leaning to the second class."""
    logits = np.random.default_rng(seed).normal([3.0, 4.0, -4.0], 0.05, (n, 3))
    P = np.exp(logits)
    return P / P.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def reference():
    P, codes = in_order(*posteriors(900, 3, seed=0, sharpness=6))
    return P, NAMES[codes]


def target(share, seed=1, n=500):
    """Return a batch with a share of strangers, and the mix of its other items."""
    n_strange = round(share * n)
    P, codes = posteriors(n - n_strange, 3, seed=seed, mix=MIX, sharpness=6)
    return np.concatenate([P, strangers(n_strange, seed)]), np.bincount(codes) / len(codes)


def matrix_with_unknown(reference, batch):
    """By the definition: one more column, from ranks among references of other folds."""
    P, labels = reference
    codes = np.unique(labels, return_inverse=True)[1]
    fold = folds_of(codes, np.random.default_rng(0))
    held_out = np.empty((len(P), 3))
    for f in range(5):
        others = fold != f
        held_out[~others] = kde_log_likelihood(P[others], codes[others], P[~others], **SMOOTH)
    known = kde_log_likelihood(P, codes, batch, **SMOOTH)
    return np.column_stack([known, background_log_likelihood(known, held_out, codes)])


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_unknown_is_one_more_class_of_the_mixture(share, reference):
    batch, _ = target(share)
    matrix = matrix_with_unknown(reference, batch)
    point = KDEy(**SMOOTH, unknown=True).fit(*reference).quantify(batch)
    expected = maximize_mixture(matrix).prevalence
    assert point.unknown.share == pytest.approx(expected[3], abs=1e-9)
    np.testing.assert_allclose(point.prevalence, expected[:3] / expected[:3].sum(), atol=1e-9)
    # Prior 2 for each class and, always, 1 for the unknown.
    options = {"prior": 2.0, "reference_uncertainty": None, "random_state": 0}
    drawn = BayesianKDEy(**SMOOTH, **options, unknown=True).fit(*reference).quantify(batch)
    sample = sample_mixture(matrix, prior=[2.0, 2.0, 2.0, 1.0], random_state=0)
    np.testing.assert_allclose(drawn.unknown.draws, sample.batch[:, 3])
    np.testing.assert_allclose(drawn.of("population").unknown.draws, sample.draws[:, 3])
    known = sample.batch[:, :3] / sample.batch[:, :3].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(drawn.draws, known)
    assert drawn.unknown.share == pytest.approx(sample.batch[:, 3].mean())


@pytest.mark.parametrize("kind", [KDEy, BayesianKDEy])
def test_the_unknown_share_is_found_and_the_classes_are_those_of_the_others(kind, reference):
    options = {"random_state": 0} if kind is BayesianKDEy else {}
    batches, truths = zip(*[target(0.2, seed) for seed in range(1, 6)], strict=True)
    errors = {}
    for unknown in (False, True):
        quantifier = kind(**SMOOTH, unknown=unknown, **options).fit(*reference)
        found = [quantifier.quantify(batch) for batch in batches]
        mixes = np.array([each.prevalence for each in found])
        np.testing.assert_allclose(mixes.sum(axis=1), 1.0)
        errors[unknown] = absolute_error(np.array(truths), mixes).mean()
    # Over 40 such batches the errors are 0.092 and 0.025, their standard deviations 0.003 and
    # 0.004: with five batches the limits are 4 standard errors away or more.
    assert errors[False] > 0.085
    assert errors[True] < 0.032
    shares = np.array([each.unknown.share for each in found])
    # The unknown takes typical items of the overlap, too: 0.231 over the 40 batches, with a
    # standard deviation of 0.014. The limits are 3 standard errors of the mean of five away.
    assert 0.212 < shares.mean() < 0.25


def test_without_strangers_it_is_small_and_by_default_it_is_absent(reference):
    default = KDEy(**SMOOTH).fit(*reference)
    with_unknown = KDEy(**SMOOTH, unknown=True).fit(*reference)
    shares = []
    for seed in range(1, 6):
        batch, _ = target(0.0, seed)
        plain, found = default.quantify(batch), with_unknown.quantify(batch)
        assert plain.unknown is None
        shares.append(found.unknown.share)
        # What the unknown takes is missing somewhere else.
        np.testing.assert_allclose(found.prevalence, plain.prevalence, atol=shares[-1] + 1e-4)
    # Of 14 such batches the share is 0 for 11, and 0.007 at most.
    assert max(shares) < 0.01
    assert sorted(shares)[2] < 1e-6


def test_both_estimands_have_draws_and_an_interval(reference, tmp_path):
    quantifier = BayesianKDEy(**SMOOTH, unknown=True, random_state=0).fit(*reference)
    found = quantifier.quantify(target(0.2)[0])
    draws = found.unknown.draws
    assert draws.shape == (1000,)
    # The 50th smallest and largest of 1000.
    np.testing.assert_array_equal(found.unknown.interval(0.9), np.sort(draws)[[49, 950]])
    source = found.of("population")
    assert source.unknown.share == pytest.approx(source.unknown.draws.mean())
    assert source.unknown.interval()[0] < 0.2 < source.unknown.interval()[1]
    # Given the classes of these 500 items the source's share is a beta variable, with a prior of
    # one item for each of three classes and the unknown: the variances add up.
    mean = (500 * draws + 1) / 504
    expected = mean.var() + (mean * (1 - mean) / 505).mean()
    # Both variances are known to some 6 % from 1000 draws, which are nearly independent.
    assert source.unknown.draws.var() == pytest.approx(expected, rel=0.2)
    np.testing.assert_allclose(found.draws.sum(axis=1), 1.0)
    assert f"{100 * found.unknown.share:.1f}" in repr(found)
    assert "of the items seem to belong to none of these classes" in repr(found)
    found.save(tmp_path / "e")
    again = Estimate.load(tmp_path / "e")
    np.testing.assert_array_equal(again.unknown.draws, found.unknown.draws)
    np.testing.assert_array_equal(again.unknown.other_draws, found.unknown.other_draws)


@pytest.mark.parametrize("kind", [KDEy, BayesianKDEy])
def test_groups_files_and_huge_batches_know_it_too(kind, reference, tmp_path, monkeypatch):
    options = {"random_state": 0, "draws": 200} if kind is BayesianKDEy else {}
    quantifier = kind(**SMOOTH, unknown=True, **options).fit(*reference)
    P, _ = target(0.2, n=200)
    whole = quantifier.quantify(P)
    groups = quantifier.quantify_by(P, np.repeat(["a", "b"], 100))
    for group, rows in (("a", P[:100]), ("b", P[100:])):
        alone = quantifier.quantify(rows)
        assert groups[group].unknown.share == pytest.approx(alone.unknown.share, abs=1e-9)
    # The strangers are 40 of the last 100, and those that lean to them count as well.
    assert groups["a"].unknown.share < 0.02
    assert 0.4 < groups["b"].unknown.share < 0.6
    truemix.save(quantifier, tmp_path / "q.npz")
    loaded = truemix.load(tmp_path / "q.npz").quantify(P)
    assert loaded.unknown.share == whole.unknown.share
    # A third of the replicates at once.
    monkeypatch.setattr(_replicate_budget, "MIN_REPLICATES", 100)
    monkeypatch.setattr(_replicate_budget, "HALF_HELD_BYTES", 2 * 4 * 200 * 34)
    in_parts = quantifier.quantify(P)
    np.testing.assert_allclose(in_parts.prevalence, whole.prevalence, rtol=1e-12)
    assert in_parts.unknown.share == pytest.approx(whole.unknown.share, rel=1e-12)


def test_a_batch_of_strangers_only_has_no_mix_to_speak_of(reference):
    found = KDEy(**SMOOTH, unknown=True).fit(*reference).quantify(strangers(50, 3))
    assert found.unknown.share == pytest.approx(1.0, abs=1e-9)
    # Nothing is known but the mix of the references.
    np.testing.assert_allclose(found.prevalence, found.train_prevalence, atol=1e-9)


def test_wrong_values_are_named(reference):
    with pytest.raises(InputError, match="'unknown' parameter must be True or False"):
        KDEy(unknown="yes").fit(*reference)
    with pytest.raises(InputError, match=r"BayesianKDEy\(unknown=True\)"):
        Bootstrap(KDEy(unknown=True)).fit(*reference)
    with pytest.raises(InputError, match="point estimate"):
        KDEy(**SMOOTH, unknown=True).fit(*reference).quantify(target(0.2)[0]).unknown.interval()
