"""Penalised softmax regression, with one scale for all classes or one each: Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray

MAX_ITERATIONS = 200
MAX_HALVINGS = 60
BLOCK_ENTRIES = 2**20  # temporaries of eight megabytes; few, large matrix products


@dataclass(frozen=True)
class Tolerance:
    """Convergence criterion: upper bounds of the gradient's elements and of the Newton decrement.

    The decrement is twice the predicted remaining decrease of the objective.
    """

    gradient: float
    decrement: float


EXACT = Tolerance(gradient=1e-8, decrement=1e-15)  # about the rounding of the NLL


@dataclass(frozen=True)
class SoftmaxRegression:
    """Penalised mean NLL of ``softmax(scale * log_p + bias)`` as a function of ``theta``.

    ``theta`` holds the scale, one number if ``one_scale`` else one per class, then the biases
    if ``with_bias``. ``weight`` sums to 1; ``ridge`` is the penalty of a scale and of a bias.
    """

    log_p: FloatArray
    code: IntArray
    weight: FloatArray
    one_scale: bool
    with_bias: bool
    ridge: FloatArray

    def identity(self) -> FloatArray:
        """Return the parameters that leave posteriors as they are."""
        n_classes = self.log_p.shape[1]
        scale = np.ones(1 if self.one_scale else n_classes)
        return np.concatenate([scale, np.zeros(n_classes if self.with_bias else 0)])

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scale and the bias of each class."""
        n_classes = self.log_p.shape[1]
        n_scales = 1 if self.one_scale else n_classes
        scale = np.array(np.broadcast_to(theta[:n_scales], n_classes))
        return scale, theta[n_scales:].copy() if self.with_bias else np.zeros(n_classes)

    def objective(self, theta: FloatArray) -> float:
        """Return the penalised mean NLL."""
        total = sum(
            float(self.weight[rows] @ self._losses(theta, rows)[0]) for rows in self._blocks()
        )
        return total + self.penalty(theta)

    def derivatives(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, its gradient and its Hessian."""
        n_classes = self.log_p.shape[1]
        value = self.penalty(theta)
        observed = np.zeros((2, n_classes))
        moments = np.zeros((3, n_classes))  # of p, l p and l² p
        gram = np.zeros((theta.size, theta.size))
        for rows in self._blocks():
            log_p, code, weight = self.log_p[rows], self.code[rows], self.weight[rows]
            loss, p = self._losses(theta, rows)
            value += float(weight @ loss)
            lp = log_p * p
            moments += weight @ p, weight @ lp, weight @ (log_p * lp)
            true_log_p = weight * log_p[np.arange(code.size), code]
            observed[0] += np.bincount(code, true_log_p, n_classes)
            observed[1] += np.bincount(code, weight, n_classes)
            columns = [self._fold(lp), p] if self.with_bias else [self._fold(lp)]
            design = np.hstack(columns) * np.sqrt(weight)[:, None]
            gram += design.T @ design

        # The gradient of an exponential family: what the model expects less what was observed.
        gradient = self._fold(moments[1] - observed[0])
        hessian = np.atleast_2d(moments[2].sum()) if self.one_scale else np.diag(moments[2])
        if self.with_bias:
            gradient = np.concatenate([gradient, moments[0] - observed[1]])
            cross = moments[1][None, :] if self.one_scale else np.diag(moments[1])
            hessian = np.block([[hessian, cross], [cross.T, np.diag(moments[0])]])
        ridge = self._ridge(theta)
        gradient += ridge * (theta - self.identity())
        return value, gradient, hessian - gram + np.diag(ridge)

    def penalty(self, theta: FloatArray) -> float:
        """Return what the prior adds to the mean NLL."""
        return 0.5 * float(self._ridge(theta) @ (theta - self.identity()) ** 2)

    def _ridge(self, theta: FloatArray) -> FloatArray:
        n_classes = self.log_p.shape[1]
        n_biases = n_classes if self.with_bias else 0
        return np.repeat(self.ridge, [theta.size - n_biases, n_biases])

    def _fold(self, per_class: FloatArray) -> FloatArray:
        """Sum over the classes if they share one scale."""
        return per_class.sum(axis=-1, keepdims=True) if self.one_scale else per_class

    def _blocks(self) -> list[slice]:
        n, n_classes = self.log_p.shape
        return list(row_blocks(n, max(1, BLOCK_ENTRIES // n_classes)))

    def _losses(self, theta: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return each row's NLL and its calibrated posteriors."""
        scale, bias = self.split(theta)
        scores = self.log_p[rows] * scale + bias
        true_score = scores[np.arange(len(scores)), self.code[rows]]
        p, log_normalizer = softmax(scores)
        return log_normalizer - true_score, p


def softmax(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Overwrite ``scores`` with their softmax; also return the logs of the normalisers."""
    top = scores.max(axis=1)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    total = scores.sum(axis=1)
    scores /= total[:, None]
    return scores, top + np.log(total)


def _newton(
    problem: SoftmaxRegression, theta: FloatArray, free: slice, tolerance: Tolerance
) -> tuple[FloatArray, bool]:
    """Minimise over the ``free`` part of ``theta`` by Newton's method with backtracking.

    Also return whether it converged.
    """
    for _ in range(MAX_ITERATIONS):
        value, gradient, hessian = problem.derivatives(theta)
        step = np.zeros_like(theta)
        step[free] = -np.linalg.solve(hessian[free, free], gradient[free])
        decrement = -float(gradient @ step)
        flat = np.all(np.abs(gradient[free]) <= tolerance.gradient)
        if flat and decrement <= tolerance.decrement:
            return theta, True
        length = 1.0
        # Close to the minimum the decrease is below rounding errors, hence the slack.
        slack = 1e-14 * (1.0 + abs(value))
        for _ in range(MAX_HALVINGS):
            bound = value - 1e-4 * length * decrement + slack
            if problem.objective(theta + length * step) <= bound:
                break
            length /= 2
        theta = theta + length * step
    return theta, False


def minimize_biases(problem: SoftmaxRegression) -> FloatArray:
    """Return the best biases beside a scale of one."""
    theta, _ = _newton(problem, problem.identity(), slice(1, None), EXACT)
    return problem.split(theta)[1]


def minimize(
    problem: SoftmaxRegression, start: FloatArray | None = None, tolerance: Tolerance = EXACT
) -> tuple[FloatArray, bool]:
    """Return the minimiser of the objective, and whether Newton's method converged."""
    # For overconfident posteriors the Hessian at the identity is nearly zero; zero scales are safe.
    identity = problem.identity()
    if start is None:
        start = min(identity, np.zeros_like(identity), key=problem.objective)
    theta, converged = _newton(problem, start, slice(None), tolerance)
    if problem.one_scale and theta[0] < 0:
        # The objective is convex: if its minimum violates the bound, the constrained minimum lies
        # on the bound.
        theta[0] = 0.0
        theta, converged = _newton(problem, theta, slice(1, None), tolerance)
    return theta, converged
