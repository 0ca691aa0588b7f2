"""The maximiser is compared with closed forms, an independent solver and its own certificate."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from truemix.exceptions import InputError
from truemix.inference import maximize_mixture

INF = np.inf


def gaussian(n, K, separation, seed=0):
    """Log-likelihoods of Gaussian classes in five dimensions, for items from a random mix."""
    rng = np.random.default_rng(seed)
    centres = separation * rng.normal(size=(K, 5))
    items = centres[rng.choice(K, n, p=rng.dirichlet(np.full(K, 0.5)))] + rng.normal(size=(n, 5))
    return items @ centres.T - 0.5 * (centres**2).sum(axis=1)


def likelihood(log_likelihood):
    return np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))


def gradient(log_likelihood, prevalence, weights=None):
    L = likelihood(log_likelihood)
    w = np.full(len(L), 1 / len(L)) if weights is None else weights / weights.sum()
    return (w / (L @ prevalence)) @ L


def check(fit, log_likelihood, weights=None):
    """Check every promise of a fit against the definition, not against the solver."""
    g = gradient(log_likelihood, fit.prevalence, weights)
    assert fit.converged
    assert fit.prevalence.min() >= 0
    # K additions of numbers up to 1, each rounded to 2^-53.
    assert abs(fit.prevalence.sum() - 1) <= 1e-15 * len(g)
    # 1e-8 is the tolerance asked for; 1e-11 is far above the rounding of both sums over rows.
    assert fit.gap <= 1e-8
    assert abs(max(g.max() - 1, 0) - fit.gap) < 1e-11
    # Complementary slackness: what is not exactly zero has reduced gradient zero.
    assert np.abs(g[fit.prevalence > 0] - 1).max() <= 1e-8 + 1e-11


def conic(log_likelihood, weights):
    """Solve the problem as an exponential cone program, an algorithm that shares nothing."""
    p = cvxpy.Variable(log_likelihood.shape[1], nonneg=True)
    value = weights / weights.sum() @ cvxpy.log(likelihood(log_likelihood) @ p)
    problem = cvxpy.Problem(cvxpy.Maximize(value), [cvxpy.sum(p) == 1])
    problem.solve(solver=cvxpy.CLARABEL)
    return problem.value, p.value


@pytest.mark.parametrize("separation", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(("n", "K"), [(40, 2), (60, 5), (30, 12)])
def test_an_independent_conic_solver_finds_the_same_maximum(n, K, separation):
    ll = gaussian(n, K, separation, seed=n + K)
    weights = np.random.default_rng(n).exponential(size=n)
    fit = maximize_mixture(ll, weights=weights)
    check(fit, ll, weights)
    value, p = conic(ll, weights)
    ours = fit.log_likelihood - weights @ ll.max(axis=1) / weights.sum()
    # Clarabel stops at a gap of 1e-8 in its own scaling. Its point may be off by the root of that
    # over the curvature, hence the looser comparison of the solutions.
    assert abs(ours - value) < 1e-7
    np.testing.assert_allclose(fit.prevalence, p, atol=2e-3)


def test_perfectly_separated_classes_give_weighted_counts():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=200)
    weights = rng.exponential(size=200)
    ll = np.where(np.arange(5) == y[:, None], 0.0, -INF)
    fit = maximize_mixture(ll, weights=weights)
    counts = np.bincount(y, weights, minlength=5) / weights.sum()
    # Only the rounding of sums over 200 rows.
    np.testing.assert_allclose(fit.prevalence, counts, rtol=1e-12)
    assert fit.prevalence[4] == 0.0


@pytest.mark.parametrize("separation", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_two_classes_match_the_root_of_the_derivative(separation, seed):
    ll = gaussian(300, 2, separation, seed)
    difference = np.subtract(*likelihood(ll).T)
    second = likelihood(ll)[:, 1]

    def derivative(p):
        # An impossible item makes the slope infinite, which is the right sign.
        with np.errstate(divide="ignore"):
            return np.mean(difference / (second + p * difference))

    if derivative(0.0) <= 0:
        expected = 0.0
    elif derivative(1.0) >= 0:
        expected = 1.0
    else:
        expected = brentq(derivative, 0, 1, xtol=1e-14)
    fit = maximize_mixture(ll, tol=1e-12)
    # A gap of 1e-12 over a curvature of at least 1e-3 leaves an error of some 1e-9.
    np.testing.assert_allclose(fit.prevalence[0], expected, atol=1e-8)
    assert (expected in (0.0, 1.0)) == (0.0 in fit.prevalence)


@pytest.mark.parametrize("K", [1, 2, 7, 200])
def test_one_item_belongs_to_its_most_likely_class(K):
    ll = np.random.default_rng(K).normal(size=(1, K))
    fit = maximize_mixture(ll)
    check(fit, ll)
    np.testing.assert_array_equal(fit.prevalence, np.arange(K) == ll.argmax())


def test_one_class_has_it_all():
    fit = maximize_mixture([[0.3], [-2.0]])
    assert fit.prevalence.tolist() == [1.0]
    assert fit.converged
    np.testing.assert_allclose(fit.log_likelihood, -0.85, rtol=1e-15)


matrices = st.tuples(st.integers(1, 12), st.integers(1, 6)).flatmap(
    lambda shape: arrays(
        np.float64,
        shape,
        elements=st.one_of(st.floats(-3, 3), st.floats(-3000, 3000), st.just(-INF), st.just(0.0)),
    )
)


@given(matrices, st.randoms(use_true_random=False), st.sampled_from([1, 8, 40]))
@settings(max_examples=150, deadline=None)
def test_no_other_mix_is_better_by_more_than_the_gap(ll, random, decades):
    ll[np.isinf(ll).all(axis=1)] = 0.0
    n, K = ll.shape
    rng = np.random.default_rng(random.getrandbits(32))
    weights = 10 ** rng.uniform(-decades, 0, size=n)
    fit = maximize_mixture(ll, weights=weights)
    check(fit, ll, weights)
    L, w = likelihood(ll), weights / weights.sum()
    others = np.vstack([rng.dirichlet(np.ones(K), size=50), rng.dirichlet(np.full(K, 0.1), 50)])
    near = 0.99 * fit.prevalence + 0.01 * others
    with np.errstate(divide="ignore"):
        values = np.log(np.vstack([others, near]) @ L.T) @ w
    # 1e-12: the rounding of a sum of at most 12 logarithms, each below 745.
    assert values.max() <= np.log(L @ fit.prevalence) @ w + fit.gap + 1e-12


def test_weights_equal_repetitions():
    ll = gaussian(50, 4, 1.0)
    times = np.random.default_rng(1).integers(0, 4, size=50)
    weighted = maximize_mixture(ll, weights=times, tol=1e-12)
    repeated = maximize_mixture(np.repeat(ll, times, axis=0), tol=1e-12)
    # Both have a gap of 1e-12; the curvature of this problem is about 1e-1.
    np.testing.assert_allclose(weighted.prevalence, repeated.prevalence, atol=1e-8)
    np.testing.assert_allclose(weighted.log_likelihood, repeated.log_likelihood, rtol=1e-12)


def test_an_item_of_weight_zero_counts_for_nothing_even_if_impossible():
    ll = np.array([[0.0, -1.0], [-1.0, 0.0], [-INF, -INF]])
    fit = maximize_mixture(ll, weights=[1, 1, 0])
    np.testing.assert_allclose(fit.prevalence, 0.5, atol=1e-8)


def test_only_ratios_of_weights_matter_up_to_the_largest_floats():
    ll = gaussian(20, 3, 1.0)
    plain = maximize_mixture(ll, weights=np.arange(1.0, 21))
    huge = maximize_mixture(ll, weights=np.arange(1.0, 21) * 2.0**1018)
    np.testing.assert_array_equal(plain.prevalence, huge.prevalence)


def test_a_constant_per_row_shifts_only_the_log_likelihood():
    ll = gaussian(80, 5, 1.0)
    # Whole multiples of 1024 up to 1e6: the sum is rounded to 1e-10, and so is the solution.
    shift = 1024.0 * np.random.default_rng(2).integers(-1000, 1000, size=80)
    plain, shifted = maximize_mixture(ll), maximize_mixture(ll + shift[:, None])
    np.testing.assert_allclose(shifted.prevalence, plain.prevalence, atol=1e-7)
    np.testing.assert_allclose(
        shifted.log_likelihood - shift.mean(), plain.log_likelihood, atol=1e-8
    )


def test_the_order_of_rows_and_columns_does_not_matter():
    ll = gaussian(90, 6, 1.0)
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(90), rng.permutation(6)
    plain = maximize_mixture(ll, tol=1e-12)
    moved = maximize_mixture(ll[rows][:, columns], tol=1e-12)
    np.testing.assert_allclose(moved.prevalence, plain.prevalence[columns], atol=1e-8)
    np.testing.assert_array_equal(moved.prevalence == 0, plain.prevalence[columns] == 0)


@pytest.mark.parametrize("separation", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(("n", "K"), [(7, 3), (100, 10), (1000, 26), (300, 100)])
def test_classes_at_their_bound_are_exactly_zero(n, K, separation):
    ll = gaussian(n, K, separation, seed=1)
    fit = maximize_mixture(ll)
    check(fit, ll)
    assert fit.iterations < 30


def test_zeros_are_exact_where_em_alone_converges_fast():
    # EM divides the share of the second class by e^20 each sweep: never zero, soon invisible.
    ll = np.tile([0.0, -20.0], (10, 1))
    assert maximize_mixture(ll).prevalence.tolist() == [1.0, 0.0]


def test_identical_classes_share_equally_from_an_equal_start():
    ll = gaussian(200, 3, 1.0)
    alone = maximize_mixture(ll, tol=1e-12)
    doubled = np.hstack([ll, ll])
    fit = maximize_mixture(doubled, tol=1e-12)
    check(fit, doubled)
    np.testing.assert_allclose(fit.prevalence[:3] + fit.prevalence[3:], alone.prevalence, atol=1e-8)
    # The ridge of 1e-11 holds the shares in place against rounding of 1e-16, to 1e-5 per step.
    np.testing.assert_allclose(fit.prevalence[:3], fit.prevalence[3:], atol=1e-4)


@pytest.mark.parametrize("size", [1e-14, 1e-10, 1e-7, 1e-4])
def test_nearly_identical_classes_converge(size):
    rng = np.random.default_rng(4)
    ll = rng.normal(size=(300, 1)) + size * rng.normal(size=(300, 8))
    check(maximize_mixture(ll), ll)


def test_all_classes_identical_is_an_optimum_anywhere():
    fit = maximize_mixture(np.zeros((5, 3)))
    np.testing.assert_allclose(fit.prevalence, 1 / 3, rtol=1e-12)
    assert fit.gap <= 1e-15


def test_an_impossible_class_is_exactly_zero():
    ll = gaussian(60, 4, 1.0)
    ll[:, 2] = -INF
    fit = maximize_mixture(ll)
    check(fit, ll)
    assert fit.prevalence[2] == 0.0


def test_a_class_that_alone_explains_an_item_is_never_zero():
    ll = np.vstack([np.tile([0.0, -INF, -2.0], (999, 1)), [[-INF, 0.0, -INF]]])
    fit = maximize_mixture(ll)
    check(fit, ll)
    np.testing.assert_allclose(fit.prevalence, [0.999, 0.001, 0.0], rtol=1e-8)


@pytest.mark.parametrize("decades", [5, 20, 100, 250])
def test_weights_of_any_range_converge(decades):
    rng = np.random.default_rng(decades)
    ll = np.where(rng.random((40, 12)) < 0.6, -INF, 10 * rng.normal(size=(40, 12)))
    ll[np.arange(40), rng.integers(12, size=40)] = 0.0
    weights = 10 ** rng.uniform(-decades, 0, size=40)
    check(maximize_mixture(ll, weights=weights), ll, weights)


def test_a_class_supported_by_a_tiny_weight_gets_that_share():
    fit = maximize_mixture([[0.0, -INF], [-INF, 0.0]], weights=[1.0, 1e-200])
    np.testing.assert_allclose(fit.prevalence[1], 1e-200, rtol=1e-8)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e6, 1e300])
def test_log_likelihoods_of_any_range_converge(size):
    ll = size * np.random.default_rng(5).normal(size=(100, 20))
    check(maximize_mixture(ll), ll)


def test_entries_too_small_for_a_float_do_not_matter():
    ll = gaussian(40, 3, 1.0)
    ll[::2, 1] = ll[::2, 0] - 800.0
    finite = maximize_mixture(ll)
    ll[::2, 1] = -INF
    np.testing.assert_array_equal(finite.prevalence, maximize_mixture(ll).prevalence)


def test_duplicated_rows_of_few_kinds_converge():
    kinds = np.random.default_rng(6).normal(size=(3, 15))
    ll = kinds[np.random.default_rng(7).integers(3, size=500)]
    check(maximize_mixture(ll), ll)


@pytest.mark.parametrize("start", [[1, 0, 0, 0], [0, 0, 5, 5], [1e-9, 1, 1, 1]])
@pytest.mark.parametrize("separation", [0.5, 30.0])
def test_every_start_leads_to_the_maximum(start, separation):
    ll = gaussian(100, 4, separation)
    fit = maximize_mixture(ll, start=start)
    check(fit, ll)
    # Two gaps of 1e-8 apart at most.
    assert abs(fit.log_likelihood - maximize_mixture(ll).log_likelihood) <= 2e-8


def test_a_start_at_the_maximum_takes_one_step():
    ll = gaussian(500, 10, 1.0)
    fit = maximize_mixture(ll)
    assert maximize_mixture(ll, start=fit.prevalence).iterations == 1


def test_a_million_items_converge():
    ll = gaussian(1_000_000, 3, 0.5)
    fit = maximize_mixture(ll)
    check(fit, ll)
    assert fit.iterations < 30


@pytest.mark.parametrize("separation", [0.1, 1.0])
def test_two_hundred_classes_converge(separation):
    ll = gaussian(2000, 200, separation)
    fit = maximize_mixture(ll)
    check(fit, ll)
    assert fit.iterations < 30


def test_running_out_of_iterations_is_reported_with_an_honest_gap():
    ll = gaussian(200, 5, 1.0)
    fit = maximize_mixture(ll, max_iter=1)
    assert not fit.converged
    assert fit.iterations == 1
    np.testing.assert_allclose(fit.gap, gradient(ll, fit.prevalence).max() - 1, rtol=1e-9)
    assert fit.gap > 1e-8


def test_the_same_input_gives_the_same_output_in_any_thread():
    ll = gaussian(300, 12, 1.0)
    expected = maximize_mixture(ll)
    with ThreadPoolExecutor(4) as pool:
        for fit in pool.map(lambda _: maximize_mixture(ll), range(16)):
            np.testing.assert_array_equal(fit.prevalence, expected.prevalence)
            assert fit.gap == expected.gap


def test_memory_layout_and_type_do_not_matter_and_the_input_is_not_changed():
    ll = gaussian(50, 4, 1.0).astype(np.float32)
    before = ll.copy()
    expected = maximize_mixture(ll.astype(float)).prevalence
    for same in (ll, np.asfortranarray(ll, dtype=float), ll.tolist(), np.repeat(ll, 2, 1)[:, ::2]):
        np.testing.assert_array_equal(maximize_mixture(same).prevalence, expected)
    np.testing.assert_array_equal(ll, before)


def test_importing_the_module_does_not_import_the_compiler():
    code = (
        "import sys, truemix.inference.maximum_likelihood;"
        "sys.exit(any(m in sys.modules for m in ('scipy', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


GOOD = np.zeros((3, 2))


def changed(row, column, value):
    ll = GOOD.copy()
    ll[row, column] = value
    return ll


@pytest.mark.parametrize(
    ("ll", "options", "sentence"),
    [
        (np.zeros(3), {}, r"log_likelihood has shape \(3,\); it must have two dimensions"),
        (np.zeros((0, 3)), {}, r"log_likelihood has no rows \(shape \(0, 3\)\)"),
        (np.zeros((3, 0)), {}, r"log_likelihood has no columns \(shape \(3, 0\)\)"),
        ([["a", "b"]], {}, "log_likelihood does not hold numbers only"),
        (changed(2, 1, np.nan), {}, r"log_likelihood is \+?nan in row 2, column 1; every entry"),
        (changed(1, 0, INF), {}, r"log_likelihood is \+inf in row 1, column 0; every entry"),
        (changed(1, [0, 1], -INF), {}, "log_likelihood is -inf for every class in row 1;"),
        (GOOD, {"weights": [1, 1]}, r"weights has shape \(2,\); .* \(3,\)"),
        (GOOD, {"weights": [1, -0.5, 1]}, "weights is -0.5 at position 1;"),
        (GOOD, {"weights": [1, 1, np.nan]}, "weights is nan at position 2;"),
        (GOOD, {"weights": [INF, 1, 1]}, "weights is inf at position 0;"),
        (GOOD, {"weights": [0, 0, 0]}, "weights is 0 everywhere;"),
        (GOOD, {"start": [1, 1, 1]}, r"start has shape \(3,\); .* \(2,\)"),
        (GOOD, {"start": [-1, 2]}, "start is -1.0 at position 0;"),
        (GOOD, {"start": [0, 0]}, "start is 0 everywhere;"),
        (GOOD, {"tol": 0.0}, "The 'tol' parameter must be a positive number between 1e-15 and 1"),
        (GOOD, {"tol": np.nan}, "The 'tol' parameter .* Got nan"),
        (GOOD, {"max_iter": 0}, "The 'max_iter' parameter must be a whole number between 1 and"),
        (GOOD, {"max_iter": 2.5}, "The 'max_iter' parameter must be a whole .* Got 2.5"),
    ],
)
def test_wrong_input_is_named_in_one_sentence(ll, options, sentence):
    with pytest.raises(InputError, match=f"^{sentence}") as error:
        maximize_mixture(ll, **options)
    assert str(error.value).endswith(".")
