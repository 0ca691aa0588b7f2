"""The compiled decompositions agree with LAPACK's."""

import numpy as np
import pytest

from truemix._core import diagonalize, invert_cholesky, largest_eigenvalue


def positive(size, spread, seed=0):
    """Return a positive definite matrix with eigenvalues over ``spread`` orders of magnitude."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return (axes * 10.0 ** -np.linspace(0, spread, size)) @ axes.T


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 26, 70])
SPREADS = pytest.mark.parametrize("spread", [0, 3, 6])


@SIZES
@SPREADS
def test_eigenvectors_are_orthogonal_and_give_the_matrix(size, spread):
    A = positive(size, spread)
    values, rows = diagonalize(A)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A), atol=1e-13)
    np.testing.assert_allclose(rows @ rows.T, np.eye(size), atol=1e-11)
    np.testing.assert_allclose((rows.T * values) @ rows, A, atol=1e-12)


@SIZES
@SPREADS
def test_the_cholesky_factor_is_inverted(size, spread):
    A = positive(size, spread)
    inverse = invert_cholesky(A)
    assert (np.triu(inverse, 1) == 0).all()
    np.testing.assert_allclose(inverse @ A @ inverse.T, np.eye(size), atol=1e-8)


@SIZES
@SPREADS
def test_the_largest_eigenvalue(size, spread):
    A = positive(size, spread)
    np.testing.assert_allclose(largest_eigenvalue(A), np.linalg.eigvalsh(A)[-1], rtol=1e-3)
    assert largest_eigenvalue(np.zeros((size, size))) == 0.0
