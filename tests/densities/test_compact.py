"""References that are too far away to matter are skipped, without a change in any density."""

import numpy as np
import pytest
from scipy.special import logsumexp

from truemix import _core, limit_threads, simplex
from truemix.densities import class_densities
from truemix.densities.class_densities import ClassDensities, mean_log_loss

KERNELS = ("aitchison", "ilr", "gaussian")


def softmax_posteriors(n, n_classes, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    logits = rng.normal(scale=spread, size=(n, n_classes)) + 3.0 * np.eye(n_classes)[codes]
    P = np.exp(logits)
    return P / P.sum(axis=1, keepdims=True), codes


def log_kernels(P, target, kernel, bandwidth, shrinkage):
    """Exponents of the kernels of all pairs, by the definition in extended precision."""

    def coordinates(p):
        q = (1 - np.longdouble(shrinkage)) * p + np.longdouble(shrinkage) / p.shape[1]
        if kernel == "gaussian":
            return q
        logs = np.log(q)
        z = logs - logs.mean(axis=1, keepdims=True)
        return z if kernel == "aitchison" else z @ simplex.ilr_basis(p.shape[1])

    z, w = coordinates(target.astype(np.longdouble)), coordinates(P.astype(np.longdouble))
    h = (1 - np.longdouble(shrinkage)) * bandwidth
    exponents = np.zeros((len(z), len(w)), dtype=np.longdouble)
    for d in range(z.shape[1]):
        exponents -= (z[:, d, None] - w[:, d]) ** 2 / (2 * h**2)
    return exponents, z.shape[1] / np.longdouble(2) * np.log(2 * np.longdouble(np.pi) * h**2)


def visited(monkeypatch, run):
    """Return the share of pairs of tiles and targets whose boxes the loop cannot skip."""
    seen = []
    add = class_densities._add_tiles

    def watched(tiles, weights, Z, scales, *others):
        low, high = tiles.boxes[:, 0, None], tiles.boxes[:, 1, None]
        bound = (np.maximum(np.maximum(low - Z, Z - high), 0.0) ** 2).sum(axis=2)
        near = np.stack([bound[tiles.of_class == k].min(axis=0) for k in tiles.of_class])
        seen.append(((bound - near) * scales.min() < 40).mean())
        return add(tiles, weights, Z, scales, *others)

    monkeypatch.setattr(class_densities, "_add_tiles", watched)
    return run(), np.mean(seen)


@pytest.mark.parametrize("leaf", [1, 4, 32])
def test_a_compact_order_halves_along_the_widest_coordinate(leaf):
    points = np.random.default_rng(0).normal(size=(1000, 3)) * [1.0, 5.0, 2.0]
    order = _core.compact_order(points, leaf)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))

    def check(rows):
        if len(rows) <= leaf:
            return
        widest = np.ptp(points[rows], axis=0).argmax()
        half = int(np.ceil(np.ceil(len(rows) / leaf) / 2)) * leaf
        values = points[rows, widest]
        assert values[:half].max() <= values[half:].min()
        check(rows[:half])
        check(rows[half:])

    check(order)


def test_equal_points_are_ordered_by_number():
    np.testing.assert_array_equal(_core.compact_order(np.zeros((100, 2)), 100), np.arange(100))
    assert sorted(_core.compact_order(np.zeros((100, 2)), 8)) == list(range(100))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("bandwidth", "n_classes"), [(0.03, 3), (0.3, 3), (0.2, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_densities_are_exact_where_most_references_are_skipped(
    monkeypatch, kernel, bandwidth, n_classes, weighted
):
    P, codes = softmax_posteriors(6000, n_classes, seed=0, spread=2.0)
    target, _ = softmax_posteriors(150, n_classes, seed=1, spread=2.0)
    few = bandwidth == 0.03
    bandwidth *= 0.1 if kernel == "gaussian" else 1.0
    # From 1e-12 to 1: a skipped reference may weigh more than the nearest one.
    weights = 10.0 ** np.random.default_rng(2).uniform(-12, 0, 6000) if weighted else np.ones(6000)
    densities = ClassDensities(P, codes, kernel, np.array([bandwidth]), 0.01)
    found, share = visited(monkeypatch, lambda: densities.log_likelihood(target, weights)[0])
    assert share < 0.2 or not few
    exponents, height = log_kernels(P, target, kernel, bandwidth, 0.01)
    for k in range(n_classes):
        w = weights[codes == k].astype(np.longdouble)
        logs = exponents[:, codes == k] + np.log(w / w.sum())
        expected = logsumexp(logs, axis=1) - height
        # As in test_kde: 1e-9, or what the spacing of float64 allows far from all references.
        tolerance = np.maximum(1e-9, 1e-14 * np.abs(expected).astype(float))
        assert (np.abs(found[:, k] - expected) <= tolerance).all()


@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("weights", ["exponential", "resampled"])
def test_replicates_in_single_precision_are_those_of_the_definition(bandwidth, weights):
    P, codes = softmax_posteriors(3000, 3, seed=0)
    target, _ = softmax_posteriors(120, 3, seed=1)
    rng = np.random.default_rng(2)
    weightings = rng.exponential(size=(19, 3000))
    if weights == "resampled":
        # The nearest reference often weighs nothing, so that sums relative to it underflow.
        weightings = rng.poisson(0.3, size=(19, 3000)).astype(float)
    parts = rng.dirichlet(np.ones(3), size=(19, 3))
    found = np.empty((19, 120, 3), dtype=np.float32)
    densities = ClassDensities(P, codes, "aitchison", np.array([bandwidth]), 0.01)
    densities.relative_log_likelihoods(target, weightings, found, parts)

    exponents, _ = log_kernels(P, target, "aitchison", bandwidth, 0.01)
    logs = np.empty((19, 120, 3), dtype=np.longdouble)
    for k in range(3):
        mine = exponents[:, codes == k]
        near = np.exp(2 * logsumexp(mine, axis=1) - logsumexp(2 * mine, axis=1)).astype(float)
        loss = mean_log_loss(near, np.array(1000.0))
        for b in range(19):
            w = weightings[b, codes == k]
            used = w > 0
            logs[b, :, k] = logsumexp(mine[:, used] + np.log(w[used] / w.sum()), axis=1) + loss
    expected = logsumexp(logs[:, :, None, :] + np.log(parts)[:, None], axis=3)
    expected -= expected.max(axis=2, keepdims=True)
    # Sums of single precision, with terms left out below 1e-6 of them; results of up to 20.
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=1e-5)


def test_an_item_does_not_depend_on_the_others_of_its_batch():
    P, codes = softmax_posteriors(4000, 4, seed=0)
    target, _ = softmax_posteriors(300, 4, seed=1)
    densities = ClassDensities(P, codes, "aitchison", np.array([0.2]), 0.01)
    weightings = np.random.default_rng(0).exponential(size=(20, 4000))
    parts = np.random.default_rng(1).dirichlet(np.ones(4), size=(20, 4))

    def run(rows):
        replicates = np.empty((20, len(rows), 4), dtype=np.float32)
        densities.relative_log_likelihoods(target[rows], weightings, replicates, parts)
        plain, weighted = (
            densities.log_likelihood(target[rows])[0],
            densities.log_likelihoods(target[rows], weightings)[0],
        )
        return plain, weighted.swapaxes(0, 1), replicates.swapaxes(0, 1)

    every = run(np.arange(300))
    some = np.random.default_rng(2).permutation(300)[:77]
    for alone, among in zip(run(some), every, strict=True):
        np.testing.assert_array_equal(alone, among[some])
    with limit_threads(1):
        for alone, among in zip(run(np.arange(300)), every, strict=True):
            np.testing.assert_array_equal(alone, among)


def test_many_references_and_weightings_go_in_pieces(monkeypatch):
    P, codes = softmax_posteriors(3000, 3, seed=0)
    target, _ = softmax_posteriors(200, 3, seed=1)
    weightings = np.random.default_rng(0).exponential(size=(30, 3000))
    parts = np.random.default_rng(1).dirichlet(np.ones(3), size=(30, 3))

    def run():
        found = np.empty((30, 200, 3), dtype=np.float32)
        densities = ClassDensities(P, codes, "aitchison", np.array([0.3]), 0.01)
        densities.relative_log_likelihoods(target, weightings, found, parts)
        return found

    expected = run()
    monkeypatch.setattr(class_densities, "TABLE_BYTES", 4 * 32 * 500)
    monkeypatch.setattr(class_densities, "STATE_BYTES", 1)
    pieces = run()
    monkeypatch.setattr(class_densities, "PIECES_BYTES", 1)
    np.testing.assert_array_equal(run(), pieces)
    monkeypatch.setattr(class_densities, "TILES_BYTES", 8 * 3 * 700)
    blocks = run()
    # Single precision; the pieces look as far as their own nearest reference asks for.
    np.testing.assert_allclose(pieces, expected, rtol=0, atol=5e-6)
    np.testing.assert_allclose(blocks, expected, rtol=0, atol=5e-6)
