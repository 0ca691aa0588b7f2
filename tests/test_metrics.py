"""Metrics against hand-computed values, the paper's definitions, QuaPy and exact volumes."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from truemix import metrics
from truemix.exceptions import InputError

POINT_METRICS = {
    "absolute_error": metrics.absolute_error,
    "squared_error": metrics.squared_error,
    "relative_absolute_error": metrics.relative_absolute_error,
    "kl_divergence": metrics.kl_divergence,
    "weight_ratio_error": lambda p, q: metrics.weight_ratio_error(p, q, [0.2, 0.3, 0.5]),
}
INTERVAL_METRICS = {
    "winkler_score": metrics.winkler_score,
    "hard_coverage": metrics.hard_coverage,
    "soft_coverage": metrics.soft_coverage,
}


def mixes(*shape, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1])


def boxes(n, K, *, scale=1.0, seed=0):
    """Intervals about as wide as those of a posterior from 1000 items, times ``scale``."""
    p = np.random.default_rng(seed).dirichlet(np.full(K, 0.7), n)
    half = scale * np.sqrt(p * (1 - p) / 1000) + 1e-3
    return np.stack([np.maximum(p - half, 0), np.minimum(p + half, 1)], axis=-1)


# --- point estimates --------------------------------------------------------------------------


def test_point_metrics_match_values_computed_by_hand():
    p, q = [0.5, 0.3, 0.2], [0.4, 0.5, 0.1]
    # Differences .1, .2, .1; tolerance: rounding of a handful of operations.
    assert metrics.absolute_error(p, q) == pytest.approx(0.4 / 3, rel=1e-14)
    assert metrics.squared_error(p, q) == pytest.approx(0.06 / 3, rel=1e-14)
    assert metrics.relative_absolute_error(p, q, eps=0) == pytest.approx(
        (0.2 + 2 / 3 + 0.5) / 3, rel=1e-14
    )
    by_hand = 0.5 * math.log(5 / 4) + 0.3 * math.log(3 / 5) + 0.2 * math.log(2)
    assert metrics.kl_divergence(p, q, eps=0) == pytest.approx(by_hand, rel=1e-14)
    # Weights differ by .1/.1, .2/.4, .1/.5.
    weights = metrics.weight_ratio_error(p, q, [0.1, 0.4, 0.5])
    assert weights == pytest.approx((1 + 0.25 + 0.04) / 3, rel=1e-14)


def test_weight_ratio_error_is_the_papers_definition():
    p, q, train = mixes(20, 5), mixes(20, 5, seed=1), mixes(5, seed=2)
    w, w_hat = p / train, q / train
    definition = np.linalg.norm(w - w_hat, axis=1) ** 2 / 5
    # The same sum in another order: rounding relative to the weights.
    np.testing.assert_allclose(metrics.weight_ratio_error(p, q, train), definition, rtol=1e-12)


def test_weight_ratio_error_takes_a_training_mix_per_bag():
    p, q, train = mixes(4, 3), mixes(4, 3, seed=1), mixes(4, 3, seed=2)
    one_by_one = [metrics.weight_ratio_error(a, b, c) for a, b, c in zip(p, q, train, strict=True)]
    np.testing.assert_array_equal(metrics.weight_ratio_error(p, q, train), one_by_one)


@pytest.mark.filterwarnings("ignore")  # QuaPy's own imports warn.
@pytest.mark.parametrize("K", [2, 5, 28])
def test_point_metrics_agree_with_quapy(K):
    from quapy import error as theirs

    p, q, train = mixes(50, K), mixes(50, K, seed=1), mixes(K, seed=2)
    p[:5], q[3:8] = np.eye(K)[0], np.eye(K)[1]
    # Same formulas, other order of operations; KLD adds K terms of both signs.
    same = {"rtol": 1e-10, "atol": 1e-14}
    np.testing.assert_allclose(metrics.absolute_error(p, q), theirs.ae(p, q), **same)
    np.testing.assert_allclose(metrics.squared_error(p, q), theirs.se(p, q), **same)
    np.testing.assert_allclose(
        metrics.weight_ratio_error(p, q, train), theirs.sre(p, q, train), **same
    )
    for eps in (1 / 2000, 0.005):
        rae, kld = theirs.rae(p, q, eps), theirs.kld(p, q, eps)
        np.testing.assert_allclose(metrics.relative_absolute_error(p, q, eps=eps), rae, **same)
        np.testing.assert_allclose(metrics.kl_divergence(p, q, eps=eps), kld, **same)


def test_the_default_smoothing_is_half_an_item_in_a_bag_of_1000():
    p, q = [1.0, 0.0], [0.9, 0.1]
    for metric in (metrics.relative_absolute_error, metrics.kl_divergence):
        assert metric(p, q) == metric(p, q, eps=1 / 2000)


def test_smoothing_can_differ_between_bags():
    p, q, eps = mixes(3, 4), mixes(3, 4, seed=1), np.array([0.1, 0.01, 0.0])
    for metric in (metrics.relative_absolute_error, metrics.kl_divergence):
        one_by_one = [metric(a, b, eps=e) for a, b, e in zip(p, q, eps, strict=True)]
        np.testing.assert_array_equal(metric(p, q, eps=eps), one_by_one)


def test_absent_classes_never_make_an_error_nan():
    p = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    q = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    rae = metrics.relative_absolute_error(p, q, eps=0)
    np.testing.assert_array_equal(rae, [0.0, np.inf, 2 / 3])
    kld = metrics.kl_divergence(p, q, eps=0)
    np.testing.assert_allclose(kld, [0.0, math.log(2), np.inf], rtol=1e-15)


@pytest.mark.parametrize("metric", POINT_METRICS.values(), ids=POINT_METRICS)
def test_a_perfect_estimate_has_no_error(metric):
    p = np.vstack([mixes(30, 3), np.eye(3)])
    np.testing.assert_array_equal(metric(p, p), 0.0)


@pytest.mark.parametrize("metric", POINT_METRICS.values(), ids=POINT_METRICS)
def test_point_metrics_work_on_any_stack_and_broadcast(metric):
    p, q = mixes(2, 4, 3), mixes(2, 4, 3, seed=1)
    stacked = metric(p, q)
    assert stacked.shape == (2, 4)
    assert stacked[1, 2] == metric(p[1, 2], q[1, 2])
    assert isinstance(metric(p[1, 2], q[1, 2]), float)
    np.testing.assert_array_equal(metric(p[0, 0], q), metric(np.broadcast_to(p[0, 0], q.shape), q))


# --- intervals --------------------------------------------------------------------------------


def test_winkler_score_is_the_papers_equation():
    p, box = mixes(40, 4), boxes(40, 4, seed=1)
    alpha = 0.1
    by_loop = [
        sum(
            (u - lo) + 2 / alpha * (max(0, lo - x) + max(0, x - u))
            for x, (lo, u) in zip(mix, bounds, strict=True)
        )
        / 4
        for mix, bounds in zip(p, box, strict=True)
    ]
    # 1 - 0.9 is not 0.1 to the last digit.
    np.testing.assert_allclose(metrics.winkler_score(p, box, level=0.9), by_loop, rtol=1e-13)


def test_winkler_score_matches_a_value_computed_by_hand():
    # Widths .2 and .2; the first share is .05 too low, the second .05 too high: + 40 * .05 each.
    score = metrics.winkler_score([0.05, 0.95], [[0.1, 0.3], [0.7, 0.9]], level=0.95)
    assert score == pytest.approx((2.2 + 2.2) / 2, rel=1e-12)


def test_the_winkler_score_is_least_at_the_quantiles_of_its_level():
    draws = np.random.default_rng(0).dirichlet([4, 3, 3], 20_000)
    tails = np.quantile(draws, [0.05, 0.95], axis=0).T
    best = metrics.winkler_score(draws, tails, level=0.9).mean()
    for factor in (0.8, 1.2):
        centre = tails.mean(axis=1, keepdims=True)
        other = centre + factor * (tails - centre)
        assert metrics.winkler_score(draws, other, level=0.9).mean() > best


def test_coverages_match_values_computed_by_hand():
    box = np.array([[0.1, 0.3], [0.1, 0.3], [0.4, 0.6]])
    p = [[0.2, 0.3, 0.5], [0.2, 0.4, 0.4], [0.05, 0.05, 0.9]]
    np.testing.assert_array_equal(metrics.hard_coverage(p, box), [1, 0, 0])
    np.testing.assert_allclose(metrics.soft_coverage(p, box), [1, 2 / 3, 0], rtol=1e-15)


def test_bounds_belong_to_the_interval_even_after_rounding():
    p = np.array([0.1 + 0.2, 0.7])  # 0.30000000000000004
    degenerate = np.array([[0.3, 0.3], [0.7, 0.7]])
    assert metrics.hard_coverage(p, degenerate) == 1
    assert metrics.hard_coverage([0.301, 0.699], degenerate) == 0


def test_hard_coverage_is_full_soft_coverage():
    p, box = mixes(300, 3), boxes(300, 3, scale=8)
    soft = metrics.soft_coverage(p, box)
    np.testing.assert_array_equal(metrics.hard_coverage(p, box), soft == 1)


def test_the_coverage_gap_is_the_gap_of_the_mean():
    covered = np.array([[1, 1, 1, 0], [1, 1, 1, 1]])
    gap = metrics.coverage_gap(covered, level=0.9)
    np.testing.assert_allclose(gap, [0.15, 0.1], rtol=1e-13)
    assert metrics.coverage_gap(0.75, level=0.9) == pytest.approx(0.15, rel=1e-13)


@pytest.mark.parametrize("metric", INTERVAL_METRICS.values(), ids=INTERVAL_METRICS)
def test_interval_metrics_work_on_any_stack_and_broadcast(metric):
    p, box = mixes(2, 4, 3), boxes(8, 3, scale=8).reshape(2, 4, 3, 2)
    stacked = metric(p, box)
    assert stacked.shape == (2, 4)
    assert stacked[1, 2] == metric(p[1, 2], box[1, 2])
    np.testing.assert_array_equal(metric(p, box[0, 0])[1], metric(p[1], box[0, 0]))


# --- amplitude --------------------------------------------------------------------------------


def exact_log_amplitude(lower, upper, unit):
    """Log-volume of a box with bounds ``lower / unit`` and ``upper / unit``, in whole numbers.

    Inclusion and exclusion: ``prod_k (1 - x^width_k)`` holds the signed number of subsets by the
    sum of their widths.
    """
    K, rest = len(lower), unit - sum(lower)
    signed = np.zeros(rest + 1, dtype=object)
    signed[0] = 1
    for width in np.subtract(upper, lower).tolist():
        if width <= rest:
            signed[width:] = signed[width:] - signed[: rest + 1 - width].copy()
    volume = sum(int(c) * (rest - s) ** (K - 1) for s, c in enumerate(signed) if c)
    with mpmath.workdps(50):
        return float(mpmath.log(volume) - (K - 1) * mpmath.log(unit))


def exact_log_amplitude_of_groups(widths, sizes):
    """Log-volume of ``0 <= p <= width`` for groups of classes with equal widths, in fractions."""
    K, volume = sum(sizes), Fraction(0)
    for chosen in product(*(range(size + 1) for size in sizes)):
        total = sum(n * Fraction(w) for n, w in zip(chosen, widths, strict=True))
        if total < 1:
            ways = math.prod(math.comb(s, n) for s, n in zip(sizes, chosen, strict=True))
            volume += (-1) ** sum(chosen) * ways * (1 - total) ** (K - 1)
    with mpmath.workdps(50):
        return float(mpmath.log(mpmath.mpf(volume.numerator) / volume.denominator))


@pytest.mark.parametrize("scale", [0.5, 2, 8])
@pytest.mark.parametrize("K", [3, 4, 5, 8, 12, 26, 50, 100])
def test_amplitude_equals_inclusion_and_exclusion_in_whole_numbers(K, scale):
    unit = 2000
    for box in boxes(3, K, scale=scale, seed=K):
        lower = np.floor(box[:, 0] * unit).astype(int)
        upper = np.ceil(box[:, 1] * unit).astype(int)
        found = metrics.log_amplitude(np.stack([lower, upper], axis=-1) / unit)
        exact = exact_log_amplitude(lower.tolist(), upper.tolist(), unit)
        # The decimal bounds are rounded to 1e-16 and the slack 1 - sum(lower) is of order 1e-2,
        # to the power K - 1: 1e-14 K. Accuracy is 10 to 1000 times better than asked for here.
        assert found == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("K", [50, 100, 150])
def test_amplitude_is_exact_where_inclusion_and_exclusion_needs_many_digits(K):
    # Terms up to 1 cancel down to e^-50 and below: hopeless in float64.
    widths, sizes = [0.7 / K, 2.0 / K], [K // 2, K // 2]
    box = np.stack([np.zeros(K), np.repeat(widths, sizes)], axis=-1)
    exact = exact_log_amplitude_of_groups(widths, sizes)
    assert exact < -10
    assert metrics.log_amplitude(box) == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("tiny", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("wide", [[1.0, 1.0], [0.5, 0.6], [0.4, 0.4, 0.4], [0.6, 0.41]])
def test_amplitude_is_right_for_widths_of_very_different_size(wide, tiny):
    widths, sizes = [*wide, tiny], [1] * len(wide) + [40]
    box = np.stack([np.zeros(sum(sizes)), np.repeat(widths, sizes)], axis=-1)
    exact = exact_log_amplitude_of_groups(widths, sizes)
    # Here the series is cut and smoothed: about 1 / (number of terms) at the kink of the density.
    assert metrics.log_amplitude(box) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("K", [2, 3, 4, 6])
def test_amplitude_is_the_share_of_uniform_mixes_inside(K):
    box = boxes(1, K, scale=10, seed=K)[0]
    draws = np.random.default_rng(0).dirichlet(np.ones(K), 400_000)
    share = metrics.hard_coverage(draws, box).mean()
    found = metrics.amplitude(box)
    # Four standard errors of a share.
    assert abs(share - found) < 4 * math.sqrt(found * (1 - found) / len(draws))


def test_amplitude_of_two_classes_is_the_length_of_the_overlap():
    rng = np.random.default_rng(0)
    box = np.sort(rng.uniform(-0.2, 1.2, (200, 2, 2)), axis=-1)
    (a, b), (c, d) = np.moveaxis(np.clip(box, 0, 1), 0, -1)
    overlap = np.maximum(np.minimum(b, 1 - c) - np.maximum(a, 1 - d), 0)
    # Differences of numbers near 1.
    np.testing.assert_allclose(metrics.amplitude(box), overlap, atol=1e-15)


def test_amplitude_has_its_closed_form_for_lower_bounds_only():
    for K in (2, 7, 100):
        lower = mixes(K) * 0.3
        box = np.stack([lower, np.ones(K)], axis=-1)
        assert metrics.log_amplitude(box) == pytest.approx((K - 1) * math.log(0.7), rel=1e-12)


@pytest.mark.parametrize("K", [1, 2, 3, 10, 100, 300])
def test_the_full_box_holds_the_whole_simplex(K):
    assert metrics.amplitude(np.tile([0.0, 1.0], (K, 1))) == 1
    assert metrics.amplitude(np.tile([-5.0, 7.0], (K, 1))) == 1


def test_boxes_without_volume_have_amplitude_zero():
    flat = [[0.2, 0.4], [0.3, 0.3], [0.3, 0.5]]
    too_low = [[0.0, 0.3], [0.0, 0.3], [0.0, 0.3]]
    too_high = [[0.4, 0.6], [0.4, 0.6], [0.4, 0.6]]
    corner = [[0.0, 0.5], [0.0, 0.25], [0.0, 0.25]]
    outside = [[-0.5, -0.1], [0.0, 1.0], [0.0, 1.0]]
    found = metrics.log_amplitude([flat, too_low, too_high, corner, outside])
    np.testing.assert_array_equal(found, -np.inf)
    np.testing.assert_array_equal(metrics.amplitude([flat, corner]), 0.0)


@pytest.mark.parametrize("K", [4, 30, 120])
def test_the_parts_of_a_split_box_add_up(K):
    for box in boxes(20, K, scale=3, seed=K):
        k = int(np.argmax(box[:, 1] - box[:, 0]))
        left, right = box.copy(), box.copy()
        left[k, 1] = right[k, 0] = box[k].mean()
        parts = np.logaddexp(metrics.log_amplitude(left), metrics.log_amplitude(right))
        # Rounding of the slack (about 1e-2) to the power K - 1.
        assert parts == pytest.approx(metrics.log_amplitude(box), abs=1e-11)


def test_amplitude_does_not_depend_on_the_order_of_classes_and_works_on_stacks():
    box = boxes(6, 26, scale=2).reshape(2, 3, 26, 2)
    found = metrics.log_amplitude(box)
    assert found.shape == (2, 3)
    assert found[1, 1] == metrics.log_amplitude(box[1, 1])
    # Sums in another order.
    np.testing.assert_allclose(metrics.log_amplitude(box[:, :, ::-1]), found, rtol=1e-12)


def test_log_amplitude_goes_where_amplitude_underflows():
    box = np.tile([0.0, 1e-6], (200, 1))
    box[:2, 1] = 1
    assert metrics.amplitude(box) == 0
    assert -3000 < metrics.log_amplitude(box) < -1500


def test_any_box_gives_a_number_between_zero_and_one():
    rng = np.random.default_rng(0)
    for _ in range(100):
        K = int(rng.integers(2, 40))
        p = rng.dirichlet(np.full(K, 10.0 ** rng.uniform(-3, 1)))
        spread = 10.0 ** rng.uniform(rng.choice([-300, -20, -4]), 0, (K, 2))
        assert -np.inf <= metrics.log_amplitude(p[:, None] + spread * [-1, 1]) <= 0


# --- what may come in -------------------------------------------------------------------------

HALVES = [0.5, 0.5]
UNIT_BOX = [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: metrics.absolute_error(HALVES, [0.2, 0.3, 0.5]), "true has 2 classes, but est"),
        (lambda: metrics.absolute_error([HALVES] * 3, [HALVES] * 2), r"stack of \(3,\) bags"),
        (lambda: metrics.absolute_error(HALVES, [[0.5, 0.5], [0.5, np.nan]]), r"\[1, 1\] is nan"),
        (lambda: metrics.squared_error([3, 7], HALVES), r"true sums to 10; .* Divide counts"),
        (lambda: metrics.squared_error([HALVES, [0, 0]], HALVES), r"true\[1\] sums to 0"),
        (lambda: metrics.kl_divergence(HALVES, [1.5, -0.5]), r"estimated\[1\] is -0.5"),
        (lambda: metrics.kl_divergence(0.5, 0.5), r"true has shape \(\)"),
        (lambda: metrics.absolute_error(["a", "b"], HALVES), "true cannot be read as numbers"),
        (lambda: metrics.kl_divergence(HALVES, HALVES, eps=-1), "a number between 0 and 1. Got -1"),
        (lambda: metrics.kl_divergence([HALVES] * 3, HALVES, eps=[0, 1]), "one for each bag"),
        (lambda: metrics.weight_ratio_error(HALVES, HALVES, [1, 0]), r"train\[1\] is 0"),
        (lambda: metrics.weight_ratio_error(HALVES, HALVES, [1]), "estimated has 2 .* train has 1"),
        (lambda: metrics.winkler_score(HALVES, UNIT_BOX, level=95), "The 'level' parameter must"),
        (lambda: metrics.winkler_score(HALVES, [[0, 1]] * 3), "true has 2 classes, but interval"),
        (lambda: metrics.hard_coverage([HALVES] * 3, [UNIT_BOX] * 2), "as many bags in both"),
        (lambda: metrics.hard_coverage(HALVES, HALVES), r"interval has shape \(2,\)"),
        (lambda: metrics.soft_coverage(HALVES, [[0.0, 1.0], [0.6, 0.4]]), r"interval\[1\] are 0.6"),
        (lambda: metrics.amplitude([[0.0, 0.5, 1.0]]), r"interval has shape \(1, 3\)"),
        (lambda: metrics.amplitude([[0.0, np.inf], [0, 1]]), r"interval\[0, 1\] is inf"),
        (lambda: metrics.coverage_gap([95.0]), r"covered\[0\] is 95.0.* not percentages"),
        (lambda: metrics.coverage_gap([]), "at least one"),
    ],
)
def test_wrong_input_is_named(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
