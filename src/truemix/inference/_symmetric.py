"""Linear algebra of small symmetric matrices, without LAPACK.

At these sizes LAPACK's threads cost more than they gain, and its results depend on the number of
threads, while draws must depend on the seed alone.
"""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled_vectors
from truemix._typing import FloatArray

# Cosines below this count as orthogonal; maximum rounds of Jacobi's method, which needs about 8.
_ORTHOGONAL, _ROUNDS = 1e-12, 30
_POWERS = 100


@compiled_vectors
def invert_cholesky(P: FloatArray) -> FloatArray:
    """Return the inverse of the lower Cholesky factor of ``P``."""
    m = len(P)
    R, inverse = np.zeros((m, m)), np.zeros((m, m))
    for a in range(m):
        for b in range(a + 1):
            total = P[a, b]
            for c in range(b):
                total -= R[a, c] * R[b, c]
            # A pivot lost to rounding only makes the whitening less exact.
            R[a, b] = np.sqrt(max(total, 1e-12 * P[a, a])) if a == b else total / R[b, b]
    for b in range(m):
        inverse[b, b] = 1.0 / R[b, b]
        for a in range(b + 1, m):
            total = 0.0
            for c in range(b, a):
                total -= R[a, c] * inverse[c, b]
            inverse[a, b] = total / R[a, a]
    return inverse


@compiled_vectors
def largest_eigenvalue(A: FloatArray) -> float:
    """Return the largest eigenvalue of a positive semi-definite matrix, by power iteration."""
    m = len(A)
    x, y, value = np.empty(m), np.empty(m), 0.0
    for a in range(m):
        # An arbitrary vector, unlikely to be orthogonal to the eigenvector.
        x[a] = np.sin(1.0 + a * a)
    for _ in range(_POWERS):
        square, product, norm = 0.0, 0.0, 0.0
        for a in range(m):
            total = 0.0
            for b in range(m):
                total += A[a, b] * x[b]
            y[a] = total
            square += x[a] * x[a]
            product += x[a] * total
            norm += total * total
        value = product / square
        if norm <= 0.0:
            break
        norm = np.sqrt(norm)
        for a in range(m):
            x[a] = y[a] / norm
    return value


@compiled_vectors
def diagonalize(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and, in rows, eigenvectors of a positive definite matrix.

    One-sided Jacobi: rotates pairs of rows until all are orthogonal; they are then the eigenvectors
    times their eigenvalues. Relatively tiny eigenvalues are less accurate, but the vectors are
    always orthogonal.
    """
    m = len(A)
    rows, values = A.copy(), np.empty(m)
    for _ in range(_ROUNDS):
        worst = 0.0
        for a in range(m):
            for b in range(a + 1, m):
                worst = max(worst, _rotate(rows[a], rows[b]))
        if worst < _ORTHOGONAL:
            break
    for a in range(m):
        square = 0.0
        for b in range(m):
            square += rows[a, b] * rows[a, b]
        values[a] = np.sqrt(square)
        for b in range(m):
            rows[a, b] /= values[a]
    return values, rows


@compiled_vectors
def _rotate(x: FloatArray, y: FloatArray) -> float:
    """Rotate two rows so that they become orthogonal; return their cosine before."""
    xx, yy, xy = 0.0, 0.0, 0.0
    for j in range(len(x)):
        xx += x[j] * x[j]
        yy += y[j] * y[j]
        xy += x[j] * y[j]
    cosine: float = abs(xy) / np.sqrt(xx * yy)
    if cosine < _ORTHOGONAL:
        return cosine
    slope = (yy - xx) / (2.0 * xy)
    tangent = 1.0 / (abs(slope) + np.sqrt(1.0 + slope * slope))
    if slope < 0.0:
        tangent = -tangent
    c = 1.0 / np.sqrt(1.0 + tangent * tangent)
    s = c * tangent
    for j in range(len(x)):
        first, second = x[j], y[j]
        x[j] = c * first - s * second
        y[j] = s * first + c * second
    return cosine
