"""Equal references are one row with a weight, and huge references are thinned."""

import numpy as np
import pytest
from scipy import stats

from support import posteriors
from truemix import BayesianKDEy, Bootstrap, InputError, KDEy, load, save
from truemix.densities.class_densities import ClassDensities
from truemix.models import KernelDensity, kernel_density
from truemix.models.bayesian_bootstrap import reference_weights, unseen_parts

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.1}


def rounded(n, seed, n_classes=3):
    P, codes = posteriors(n, n_classes, seed=seed)
    P = P.round(1) + 0.01
    return P / P.sum(axis=1, keepdims=True), codes


def test_distinct_references_are_kept_with_their_numbers():
    P, codes = rounded(500, 0)
    model = KernelDensity(**SMOOTH).fit(P, codes, 3)
    state = model.state()
    rows = np.column_stack([state["reference"], state["codes"]])
    expected, counts = np.unique(np.column_stack([P, codes]), axis=0, return_counts=True)
    order = np.lexsort(rows.T[::-1])
    np.testing.assert_array_equal(rows[order], expected)
    np.testing.assert_array_equal(state["counts"][order], counts)
    # Expanded again, they are all items.
    kept = np.column_stack(model.references_)
    every = np.column_stack([P, codes])
    np.testing.assert_array_equal(kept[np.lexsort(kept.T[::-1])], every[np.lexsort(every.T[::-1])])


def test_the_matrix_is_that_of_all_items():
    (P, codes), (target, _) = rounded(500, 0), posteriors(200, 3, seed=1)
    found = KernelDensity(**SMOOTH).fit(P, codes, 3).log_likelihood(target)
    every = ClassDensities(P, codes, "aitchison", np.array([0.4]), 0.1)
    np.testing.assert_allclose(found, every.log_likelihood(target)[0], rtol=1e-12, atol=1e-12)


def test_weights_of_equal_references_are_sums_of_exponentials():
    counts = np.array([1, 3, 40])
    weights = reference_weights(3, np.arange(4000), seed=0, counts=counts)
    for count, found in zip(counts, weights.T, strict=True):
        assert stats.kstest(found, stats.gamma(count).cdf).pvalue > 1e-3
        # Mean and variance of a sum of exponentials, to five standard errors.
        assert abs(found.mean() - count) < 5 * np.sqrt(count / 4000)
        assert abs(found.var() / count - 1) < 5 * np.sqrt((2 + 6 / count) / 4000)
    assert abs(np.corrcoef(weights[:, 1], weights[:, 2])[0, 1]) < 0.08


def test_weights_of_distinct_references_are_those_without_counts():
    expected = reference_weights(50, np.arange(5), seed=3)
    ones = np.ones(50, dtype=np.intp)
    np.testing.assert_array_equal(reference_weights(50, np.arange(5), 3, ones), expected)
    # A gamma variable of shape 1 is drawn as an exponential one.
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(7, 0)))
    np.testing.assert_array_equal(rng.standard_gamma(np.ones(50)), expected[0])


def test_replicates_are_those_of_all_items_with_shares_of_the_weights():
    """Any split of a merged weight over its items gives the same matrix."""
    (P, codes), (target, _) = rounded(400, 0), posteriors(100, 3, seed=1)
    model = KernelDensity(**SMOOTH).fit(P, codes, 3)
    numbers, counts = np.arange(12), model.state()["counts"]
    found = model.replicates(target, numbers, 5)
    weights = reference_weights(len(counts), numbers, 5, counts)
    items, item_codes = model.references_
    shares = np.random.default_rng(0).exponential(size=len(items))
    shares /= np.add.reduceat(shares, np.cumsum(counts) - counts).repeat(counts)
    every = ClassDensities(items, item_codes, "aitchison", np.array([0.4]), 0.1)
    expected = np.empty_like(found)
    parts = unseen_parts(np.bincount(codes), numbers, 5)
    every.relative_log_likelihoods(target, weights.repeat(counts, axis=1) * shares, expected, parts)
    # Single precision, with terms left out below 1e-6 of a sum.
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize(
    "quantifier",
    [
        KDEy(**SMOOTH),
        KDEy(**SMOOTH, unknown=True),
        BayesianKDEy(**SMOOTH, draws=50, random_state=0),
        Bootstrap(KDEy(**SMOOTH), references=True, draws=20, random_state=0),
    ],
)
def test_what_is_saved_answers_the_same(quantifier, tmp_path):
    (P, codes), (target, _) = rounded(300, 0), rounded(200, 1)
    found = quantifier.fit(P, codes)
    save(found, tmp_path / "q")
    expected, loaded = found.quantify(target), load(tmp_path / "q").quantify(target)
    np.testing.assert_array_equal(loaded.prevalence, expected.prevalence)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"counts": None}, "counts is missing"),
        ({"counts": lambda counts: counts * 1.0}, "counts has type float64"),
        ({"counts": lambda counts: counts[:-1]}, "counts has type"),
        ({"counts": lambda counts: counts * 0}, "counts hold a zero"),
        ({"counts": lambda counts: -counts}, "counts holds numbers outside"),
        ({"counts": lambda counts: counts + 2**40}, "counts holds numbers outside"),
        ({"counts": lambda counts: counts + 2**27}, "too many items"),
        ({"class_counts": lambda counts: counts - 1}, "class_counts are below"),
    ],
)
def test_wrong_numbers_of_items_are_refused(change, sentence):
    P, codes = rounded(300, 0)
    model = KernelDensity(**SMOOTH).fit(P, codes, 3)
    state = model.state()
    for name, edit in change.items():
        if edit is None:
            del state[name]
        else:
            state[name] = edit(state[name])
    with pytest.raises(InputError, match=sentence):
        KernelDensity(**SMOOTH).restore(state, 3)


def test_huge_references_are_thinned_class_by_class(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_density, "MAX_KERNELS", 200)
    P, _ = posteriors(2000, 3, seed=0)
    codes = np.repeat([0, 1, 2], [1500, 480, 20])
    # Half of the largest class are one and the same row.
    P[:750] = P[0]
    quantifier = KDEy(**SMOOTH).fit(P, codes)
    reference, kept = quantifier.model_.references_
    assert np.bincount(kept).tolist() == [150, 66, 20]
    assert np.bincount(codes).tolist() == quantifier.model_.class_counts_.tolist()
    # Half of 150 items, to five standard errors.
    assert abs((reference[kept == 0] == P[0]).all(axis=1).sum() - 75) < 5 * np.sqrt(150 / 4)
    again = KDEy(**SMOOTH).fit(P, codes).model_.references_
    np.testing.assert_array_equal(again[0], reference)
    # The shares of training are those of all items, also in a file.
    save(quantifier, tmp_path / "q")
    loaded = load(tmp_path / "q")
    np.testing.assert_array_equal(loaded.predict(P[:50]), quantifier.predict(P[:50]))


def test_thinned_references_give_nearly_the_same_densities(monkeypatch):
    P, codes = posteriors(20_000, 3, seed=0)
    target, _ = posteriors(200, 3, seed=1)
    expected = KernelDensity(**SMOOTH).fit(P, codes, 3).log_likelihood(target)
    monkeypatch.setattr(kernel_density, "MAX_KERNELS", 10_000)
    found = KernelDensity(**SMOOTH).fit(P, codes, 3).log_likelihood(target)
    # The class an item is most like; a sum of c kernels is known to 1 / sqrt(c), here c > 20.
    best = expected.argmax(axis=1)[:, None]
    difference = np.take_along_axis(found - expected, best, 1)
    assert np.median(np.abs(difference)) < 0.1
