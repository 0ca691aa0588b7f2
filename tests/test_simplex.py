import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truemix import simplex
from truemix.exceptions import InputError

# Parts from 1e-6 to 1: interior compositions whose logarithms lose nothing worth a word.
interior = hnp.arrays(
    float, st.integers(2, 40), elements=st.floats(1e-6, 1.0, allow_subnormal=False)
).map(lambda x: x / x.sum())
with_zeros = hnp.arrays(
    float, st.integers(2, 40), elements=st.sampled_from([0.0, 0.2, 1.0])
).filter(np.any)


@given(interior)
def test_clr_and_ilr_round_trip(p):
    # exp(log(p)) loses about |log p| * eps, here below 14 * 2.2e-16 relative.
    np.testing.assert_allclose(simplex.clr_inverse(simplex.clr(p)), p, rtol=1e-13)
    np.testing.assert_allclose(simplex.ilr_inverse(simplex.ilr(p)), p, rtol=1e-13)


@given(hnp.arrays(float, st.integers(1, 30), elements=st.floats(-50, 50)))
def test_coordinates_round_trip(z):
    # The smallest part is e^-100 at worst, and its logarithm 100 carries 1e-14 of rounding.
    np.testing.assert_allclose(simplex.ilr(simplex.ilr_inverse(z)), z, atol=1e-10)


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_ilr_distances_are_clr_distances(n_parts, seed):
    p, q = simplex.sample_uniform(2, n_parts, random_state=seed)
    expected = np.linalg.norm(simplex.clr(p) - simplex.clr(q))
    np.testing.assert_allclose(
        np.linalg.norm(simplex.ilr(p) - simplex.ilr(q)), expected, rtol=1e-12
    )


@pytest.mark.parametrize("n_parts", [2, 3, 10, 100])
def test_ilr_basis_is_orthonormal_and_zero_sum(n_parts):
    basis = simplex.ilr_basis(n_parts)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n_parts - 1), atol=1e-14)
    np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-14)


@given(interior, st.floats(1e-3, 1e3))
def test_clr_ignores_a_common_factor(p, factor):
    np.testing.assert_allclose(simplex.clr(factor * p), simplex.clr(p), atol=1e-12)


@pytest.mark.parametrize("n_parts", [3, 10, 30])
def test_clr_of_shrunk_points_is_linear_up_to_second_order(n_parts):
    """Proposition 1: the remainder shrinks like (1 - lam)^2, measured as a slope.

    (With two classes the quadratic terms cancel by symmetry and the slope is 3.)
    """
    p = simplex.sample_uniform(50, n_parts, random_state=1)
    kept = np.array([1e-2, 1e-3, 1e-4])
    linear = n_parts * (p - 1 / n_parts)
    remainder = [
        np.abs(simplex.clr_shrunk(p, 1 - eps) - (1 - (1 - eps)) * linear).max() for eps in kept
    ]
    slopes = np.diff(np.log(remainder)) / np.diff(np.log(kept))
    # The next term of the expansion moves the slope by O(K * 1e-2) at the coarse end.
    np.testing.assert_allclose(slopes, 2.0, atol=0.12)
    # And the leading coefficient is the one of the paper's proof.
    eps = 1e-4
    delta = p - 1 / n_parts
    second = n_parts * eps**2 / 2 * ((delta**2).sum(axis=1, keepdims=True) - n_parts * delta**2)
    measured = simplex.clr_shrunk(p, 1 - eps) - (1 - (1 - eps)) * linear
    # The cubic term relative to the quadratic one is of order K * eps.
    np.testing.assert_allclose(measured, second, atol=n_parts * eps * np.abs(second).max() * 2)


@pytest.mark.parametrize("lam", [0.001, 0.25, 0.5, 0.9, 0.999, 1 - 1e-9])
def test_clr_of_shrunk_points_is_exact_to_the_last_digits(lam):
    p = np.vstack([simplex.sample_uniform(20, 7, random_state=3), np.eye(7)])
    with mpmath.workdps(40):
        exact = []
        for row in p:
            shrunk = [(1 - mpmath.mpf(lam)) * mpmath.mpf(x) + mpmath.mpf(lam) / 7 for x in row]
            logs = [mpmath.log(x) for x in shrunk]
            exact.append([float(x - mpmath.fsum(logs) / 7) for x in logs])
    exact = np.array(exact)
    # A few units in the last place of the largest coordinate of each row, at any lam.
    error = np.abs(simplex.clr_shrunk(p, lam) - exact).max(axis=1)
    assert (error <= 8 * np.finfo(float).eps * np.abs(exact).max(axis=1)).all()


@given(with_zeros, st.floats(0.001, 0.999))
def test_clr_shrunk_is_clr_after_shrink(p, lam):
    p = simplex.closure(p)
    # Through shrink(), p loses eps absolute, which is eps * K relative at the barycentre.
    np.testing.assert_allclose(
        simplex.clr_shrunk(p, lam), simplex.clr(simplex.shrink(p, lam)), atol=1e-12
    )


@given(with_zeros)
def test_exact_zeros_are_legal_everywhere(p):
    p = simplex.closure(p)
    assert np.isfinite(simplex.clr(p)).all()
    assert np.isfinite(simplex.ilr(p)).all()
    # exp(-708) next to 1: the zero comes back as at most twice the floor.
    np.testing.assert_allclose(simplex.clr_inverse(simplex.clr(p)), p, atol=1e-12)
    assert (simplex.clr(p)[p == 0] < simplex.clr(p)[p > 0].min()).all()


def test_the_floor_changes_no_positive_part():
    p = np.array([1.0, 1e-300, 1e-200])
    expected = np.log(p) - np.log(p).mean()
    np.testing.assert_allclose(simplex.clr(p), expected, rtol=1e-15)


def test_closure_survives_extreme_parts():
    np.testing.assert_allclose(simplex.closure([1e308, 1e308]), [0.5, 0.5])
    np.testing.assert_allclose(simplex.closure([5e-324, 5e-324]), [0.5, 0.5])


def test_stacks_are_handled_along_the_last_axis():
    p = simplex.sample_uniform(6, 4, random_state=0)
    stacked = p.reshape(2, 3, 4)
    for function in (simplex.closure, simplex.clr, simplex.ilr):
        np.testing.assert_array_equal(function(stacked).reshape(6, -1), function(p))
    assert simplex.ilr_inverse(simplex.ilr(stacked)).shape == stacked.shape


def test_ternary_coordinates_scale_all_distances_alike():
    p, q = simplex.sample_uniform(100, 3, random_state=0).reshape(2, 50, 3)
    apart = simplex.ternary_coordinates(p) - simplex.ternary_coordinates(q)
    # Corners are sqrt(2) apart in the simplex.
    expected = np.linalg.norm(p - q, axis=1) / np.sqrt(2)
    np.testing.assert_allclose(np.linalg.norm(apart, axis=1), expected, rtol=1e-12)


@given(hnp.arrays(float, (2, 4, 2), elements=st.floats(-2, 2)))
def test_points_of_the_plane_round_trip_also_outside_the_triangle(z):
    mixes = simplex.ternary_inverse(z)
    np.testing.assert_allclose(mixes.sum(axis=-1), 1.0, atol=1e-14)
    np.testing.assert_allclose(simplex.ternary_coordinates(mixes), z, atol=1e-14)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_ternary_line_has_one_share_and_starts_on_the_edge_to_its_corner(k):
    start, end = simplex.ternary_line(k, 0.25)
    assert start[k] == end[k] == 0.25
    assert start[(k + 1) % 3] == end[(k + 2) % 3] == 0.0
    assert start.sum() == end.sum() == 1.0


def test_uniform_samples_have_the_moments_of_the_uniform_distribution():
    n, k = 40_000, 4
    draws = simplex.sample_uniform(n, k, random_state=5)
    np.testing.assert_allclose(draws.sum(axis=1), 1)
    variance = (k - 1) / (k**2 * (k + 1))
    # Five standard errors of a mean of n draws.
    np.testing.assert_allclose(draws.mean(axis=0), 1 / k, atol=5 * np.sqrt(variance / n))
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.05)
    np.testing.assert_array_equal(draws, simplex.sample_uniform(n, k, random_state=5))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: simplex.closure([1.0, -1.0]), r"X\[1\] is -1.0; the parts .* not negative"),
        (lambda: simplex.clr([[0.5, np.nan]]), r"P\[0, 1\] is nan"),
        (lambda: simplex.clr([0.0, 0.0]), r"P\[0\] is zero in every part"),
        (lambda: simplex.clr(0.5), "expected one composition"),
        (lambda: simplex.shrink([0.5, 0.5], 1.0), "'lam' parameter must be .* 1 - 1e-9. Got 1.0"),
        (lambda: simplex.shrink([0.5, 0.5], -0.1), "Got -0.1 instead"),
        (lambda: simplex.clr_inverse([np.inf, 0.0]), r"Z\[0\] is inf"),
        (lambda: simplex.ternary_coordinates([0.5, 0.5]), "P has shape .* expected 3 coordinates"),
        (lambda: simplex.ternary_inverse(1.0), "Z has shape .* expected 2 coordinates"),
        (lambda: simplex.ternary_line(3, 0.5), "'k' parameter must be 0, 1 or 2. Got 3 instead"),
        (lambda: simplex.ternary_line(0, 1.5), "'share' parameter must be a number between 0 and"),
        (lambda: simplex.ilr_basis(1), "'n_parts' parameter must be a whole number between 2 and"),
        (lambda: simplex.sample_uniform(-1, 2), "'n_samples' parameter"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
