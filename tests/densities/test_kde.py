import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from truemix import _threads, simplex
from truemix.densities import _tiles, class_densities, kde_log_likelihood
from truemix.exceptions import InputError

KERNELS = ("aitchison", "ilr", "gaussian")


def some_posteriors(n, n_classes, seed, concentration=1.0):
    """Posteriors that favour their own class; small concentrations reach far into the corners."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    alpha = concentration * (1.0 + 2.0 * np.eye(n_classes)[labels])
    gammas = rng.gamma(alpha) + 1e-290
    return gammas / gammas.sum(axis=1, keepdims=True), labels


def brute_force(reference, labels, target, kernel, bandwidth, shrinkage, weights=None):
    """The definition, in extended precision: transform, distances, logsumexp."""
    weights = np.ones(len(labels)) if weights is None else weights
    n_classes = reference.shape[1]
    lam = np.longdouble(shrinkage)

    def coordinates(p):
        p = np.asarray(p, dtype=np.longdouble)
        q = (1 - lam) * p + lam / n_classes
        if kernel == "gaussian":
            return q
        q = np.maximum(q, np.longdouble(simplex.FLOOR))
        z = np.log(q) - np.log(q).mean(axis=1, keepdims=True)
        return z if kernel == "aitchison" else z @ simplex.ilr_basis(n_classes)

    h = (1 - lam) * np.longdouble(bandwidth)
    z, w = coordinates(target), coordinates(reference)
    result = np.empty((len(z), n_classes), dtype=np.longdouble)
    for k in range(n_classes):
        members = (labels == k) & (weights > 0)
        squared = ((z[:, None] - w[None, members]) ** 2).sum(axis=2)
        share = np.longdouble(weights[members]) / np.longdouble(weights[members]).sum()
        result[:, k] = logsumexp(-squared / (2 * h**2) + np.log(share), axis=1)
    return result - w.shape[1] / np.longdouble(2) * np.log(2 * np.longdouble(np.pi) * h**2)


def assert_exact(found, expected):
    """Within 1e-9, or where a log density is beyond -1e6 within 1e-15 of it times a few.

    Float64 cannot do better there: its own spacing at 1e7 is 2e-9.
    """
    assert found.dtype == np.float64
    tolerance = np.maximum(1e-9, 1e-14 * np.abs(expected).astype(float))
    error = np.abs(found - expected).astype(float)
    assert (error <= tolerance).all(), (error / tolerance).max()


@given(
    kernel=st.sampled_from(KERNELS),
    n_classes=st.sampled_from([2, 3, 5, 17, 40, 100]),
    bandwidth=st.floats(0.01, 10),
    shrinkage=st.one_of(st.just(0.0), st.just(0.999), st.floats(0, 0.999)),
    concentration=st.sampled_from([0.05, 0.3, 1.0, 20.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=150, deadline=None)
def test_log_densities_are_exact_far_into_the_tails(
    kernel, n_classes, bandwidth, shrinkage, concentration, seed
):
    reference, labels = some_posteriors(3 * n_classes, n_classes, seed, concentration)
    target, _ = some_posteriors(7, n_classes, seed + 1, concentration)
    found = kde_log_likelihood(
        reference, labels, target, kernel=kernel, bandwidth=bandwidth, shrinkage=shrinkage
    )
    P, Q = (p / p.sum(axis=1, keepdims=True) for p in (reference, target))
    assert_exact(found, brute_force(P, labels, Q, kernel, bandwidth, shrinkage))


def test_log_densities_agree_with_arbitrary_precision():
    reference, labels = some_posteriors(12, 3, seed=5, concentration=0.1)
    target, _ = some_posteriors(4, 3, seed=6, concentration=0.1)
    lam, h = 0.001, 0.05
    expected = np.empty((4, 3))
    with mpmath.workdps(50):

        def coordinates(p):
            q = [(1 - mpmath.mpf(lam)) * mpmath.mpf(float(x)) + mpmath.mpf(lam) / 3 for x in p]
            logs = [mpmath.log(x) for x in q]
            return [x - mpmath.fsum(logs) / 3 for x in logs]

        width = (1 - mpmath.mpf(lam)) * mpmath.mpf(h)
        for i, p in enumerate(target):
            for k in range(3):
                terms = [
                    mpmath.exp(
                        -mpmath.fsum(
                            (a - b) ** 2
                            for a, b in zip(coordinates(p), coordinates(q), strict=True)
                        )
                        / (2 * width**2)
                    )
                    for q in reference[labels == k]
                ]
                density = mpmath.fsum(terms) / len(terms) / (2 * mpmath.pi * width**2) ** 1.5
                expected[i, k] = float(mpmath.log(density))
    found = kde_log_likelihood(reference, labels, target, bandwidth=h, shrinkage=lam)
    assert_exact(found, expected)


@pytest.mark.parametrize("shrinkage", [0.0, 0.001, 0.999])
@pytest.mark.parametrize("kernel", KERNELS)
def test_exact_zeros_are_legal(kernel, shrinkage):
    reference = np.array(
        [[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1], [0.2, 0, 0.8]]
    )
    labels = np.array([0, 0, 1, 1, 2, 2])
    target = np.vstack([np.eye(3), [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]]])
    found = kde_log_likelihood(
        reference, labels, target, kernel=kernel, bandwidth=0.3, shrinkage=shrinkage
    )
    assert np.isfinite(found).all()
    assert_exact(found, brute_force(reference, labels, target, kernel, 0.3, shrinkage))
    # An item that equals a reference of one class only is most likely under that class.
    np.testing.assert_array_equal(found[:3].argmax(axis=1), [0, 1, 2])


@pytest.mark.parametrize("kernel", KERNELS)
def test_bandwidths_in_sequence_are_bandwidths_one_by_one(kernel):
    reference, labels = some_posteriors(200, 4, seed=1)
    target, _ = some_posteriors(90, 4, seed=2)
    bandwidths = np.logspace(-2, 1, 7)
    together = kde_log_likelihood(
        reference, labels, target, kernel=kernel, bandwidth=bandwidths, shrinkage=0.25
    )
    assert together.shape == (7, 90, 4)
    for h, matrix in zip(bandwidths, together, strict=True):
        alone = kde_log_likelihood(
            reference, labels, target, kernel=kernel, bandwidth=h, shrinkage=0.25
        )
        np.testing.assert_array_equal(matrix, alone)


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_act_as_repetitions(kernel):
    reference, labels = some_posteriors(60, 3, seed=3)
    target, _ = some_posteriors(20, 3, seed=4)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    counts[:3] = 1
    repeated = kde_log_likelihood(
        reference.repeat(counts, axis=0),
        labels.repeat(counts),
        target,
        kernel=kernel,
        bandwidth=0.2,
    )
    weighted = kde_log_likelihood(
        reference, labels, target, kernel=kernel, bandwidth=0.2, weights=7.0 * counts
    )
    assert_exact(weighted, repeated)


def test_many_weightings_are_weightings_one_by_one(monkeypatch):
    reference, labels = some_posteriors(500, 3, seed=3, concentration=0.2)
    target, _ = some_posteriors(41, 3, seed=4, concentration=0.2)
    rng = np.random.default_rng(1)
    # The last weighting keeps a single far-away item per class: its sums vanish next to the
    # kernels of the nearer items and must be found again from its own nearest ones.
    weightings = np.vstack([rng.exponential(size=(5, 500)), np.arange(500) < 3])
    expected = [
        kde_log_likelihood(reference, labels, target, bandwidth=[0.02, 1.0], weights=w)
        for w in weightings
    ]
    # Small blocks, so that each class is met in several parts.
    monkeypatch.setattr(class_densities, "TABLE_BYTES", 8 * 64 * 16)
    found = kde_log_likelihood(reference, labels, target, bandwidth=[0.02, 1.0], weights=weightings)
    assert found.shape == (2, 6, 41, 3)
    assert_exact(found, np.stack(expected, axis=1))
    single = kde_log_likelihood(reference, labels, target, bandwidth=1.0, weights=weightings)
    # Another number of bandwidths may send an item down the other route: same to rounding.
    assert_exact(single, found[1])


def test_results_do_not_depend_on_blocks_or_threads(monkeypatch):
    reference, labels = some_posteriors(700, 5, seed=8)
    target, _ = some_posteriors(333, 5, seed=9)

    def run():
        return kde_log_likelihood(reference, labels, target, bandwidth=0.2, shrinkage=0.1)

    expected = run()
    monkeypatch.setattr(_threads, "n_threads", lambda: 1)
    np.testing.assert_array_equal(run(), expected)
    monkeypatch.setattr(class_densities, "STATE_BYTES", 1)
    np.testing.assert_array_equal(run(), expected)
    # References in several blocks are summed in another order: rounding only.
    monkeypatch.setattr(_tiles, "TILES_BYTES", 8 * 5 * 100)
    monkeypatch.setattr(class_densities, "TILES_BYTES", 8 * 5 * 100)
    np.testing.assert_allclose(run(), expected, rtol=1e-13)


def test_shrinkage_scales_the_bandwidth_so_that_euclidean_smoothing_stays_the_same():
    """Proposition 2: only the height changes, by (1 - lam) to the number of coordinates."""
    reference, labels = some_posteriors(90, 3, seed=10)
    target, _ = some_posteriors(30, 3, seed=11)
    plain = kde_log_likelihood(reference, labels, target, kernel="gaussian", bandwidth=0.1)
    for lam in (0.25, 0.9, 0.999):
        shrunk = kde_log_likelihood(
            reference, labels, target, kernel="gaussian", bandwidth=0.1, shrinkage=lam
        )
        # shrink() rounds at 1e-16, which 1 - lam = 1e-3 and h = 0.1 enlarge to 1e-12.
        np.testing.assert_allclose(shrunk, plain - 3 * np.log(1 - lam), atol=1e-9)


def test_aitchison_kernel_becomes_euclidean_under_strong_shrinkage():
    """The paper's estimator-level remark: bandwidth h acts like h / K on the simplex."""
    reference, labels = some_posteriors(90, 3, seed=10)
    target, _ = some_posteriors(30, 3, seed=11)
    ratios = []
    for lam in (0.99, 0.999, 0.9999):
        aitchison = kde_log_likelihood(reference, labels, target, bandwidth=0.6, shrinkage=lam)
        euclidean = kde_log_likelihood(reference, labels, target, kernel="gaussian", bandwidth=0.2)
        difference = aitchison - euclidean
        ratios.append(np.abs(difference - difference.mean()).max())
    # First order in 1 - lam: ten times closer to one for each digit.
    np.testing.assert_allclose(np.divide(ratios[:-1], ratios[1:]), 10, rtol=0.2)


def test_aitchison_and_ilr_differ_only_by_the_height_of_one_coordinate():
    reference, labels = some_posteriors(90, 4, seed=12)
    target, _ = some_posteriors(30, 4, seed=13)
    clr = kde_log_likelihood(reference, labels, target, kernel="aitchison", bandwidth=0.3)
    ilr = kde_log_likelihood(reference, labels, target, kernel="ilr", bandwidth=0.3)
    np.testing.assert_allclose(clr, ilr - 0.5 * np.log(2 * np.pi * 0.09), atol=1e-9)


def test_columns_follow_the_sorted_labels():
    reference, labels = some_posteriors(30, 3, seed=1)
    target, _ = some_posteriors(5, 3, seed=2)
    expected = kde_log_likelihood(reference, labels, target, bandwidth=0.3)
    for names in (["a", "b", "c"], [-5, 3, 90]):
        found = kde_log_likelihood(reference, np.array(names)[labels], target, bandwidth=0.3)
        np.testing.assert_array_equal(found, expected)


GOOD = {"reference": [[0.9, 0.1], [0.2, 0.8]], "labels": [0, 1], "target": [[0.5, 0.5]]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kernel": "box"}, "'kernel' parameter must be one of 'aitchison', 'ilr', 'gaussian'"),
        ({"bandwidth": 0.0}, "'bandwidth' parameter must be a positive number .* Got 0.0"),
        ({"bandwidth": "auto"}, "'bandwidth' parameter must be a positive number"),
        ({"bandwidth": []}, "'bandwidth' parameter is empty"),
        ({"bandwidth": [0.1, np.nan]}, r"'bandwidth\[1\]' parameter .* Got nan"),
        ({"shrinkage": 1.0}, "'shrinkage' parameter"),
        ({"labels": [0, 0]}, "labels holds 1 distinct classes, but reference has 2 columns"),
        ({"labels": [0]}, "reference has 2 rows, but labels has 1 labels"),
        ({"target": [[0.2, 0.3, 0.5]]}, "target has 3 columns, but there are 2 classes"),
        ({"weights": [1.0]}, "weights has shape .* each of the 2 rows"),
        ({"weights": [0.0, 0.0]}, "All weights are zero"),
        ({"weights": [1.0, 0.0]}, "class number 1 all have weight zero"),
        ({"weights": [[1.0, 1.0], [1.0, -1.0]]}, r"weights\[1\]\[1\] is -1.0"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, sentence):
    arguments = {**GOOD, "bandwidth": 0.1, **change}
    with pytest.raises(InputError, match=sentence):
        kde_log_likelihood(**arguments)


@pytest.mark.parametrize("weightings", [None, 3])
def test_extra_memory_is_bounded_whatever_the_sizes(weightings):
    """Input of 240 MB and a result of 2 MB: what NumPy allocates besides stays under 300 MB."""
    n_reference, n_classes = 1_000_000, 30
    reference = simplex.sample_uniform(n_reference, n_classes, random_state=0)
    labels = np.arange(n_reference) % n_classes
    target = reference[:64]
    weights = None
    if weightings is not None:
        weights = np.random.default_rng(0).exponential(size=(weightings, n_reference))
    tracemalloc.start()
    kde_log_likelihood(reference, labels, target, bandwidth=[0.1, 1.0], weights=weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300e6
