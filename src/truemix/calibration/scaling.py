"""Calibration maps of posteriors: temperature, bias-corrected and vector scaling.

All four methods are one softmax regression on the logs of the posteriors,

    calibrated = softmax(scale * log(p) + bias),

and differ only in what is free: one scale for all classes (``ts``, ``bcts``) or one per class
(``vs``, ``nbvs``), with (``bcts``, ``vs``) or without (``ts``, ``nbvs``) a bias per class. Log
posteriors serve as logits because ``softmax(log(p)) = p``; ``scale = 1, bias = 0`` is the
identity.

The mean negative log-likelihood (NLL) of the labels is convex in ``(scale, bias)``. It is
minimised by Newton's method with the exact Hessian, together with a weak prior: parameters are
normal around the identity with standard deviation 10 (the scales of posteriors that hardly differ
between items: 10 over the standard deviation of their logs). Against n items the prior weighs
1/n; it moves well determined parameters by far less than their standard error, and

* makes the solution unique: the biases, determined up to a constant, have mean zero, and a constant
  column does not leave its scale undetermined;
* makes the solution finite: if a class is separable, which is common with few items per class, the
  NLL alone would drive its weight to infinity;
* costs nothing at the identity, so that the training NLL can only go down.

Zeros. For a forest or a nearest-neighbour classifier a posterior of 0 means "less than one vote".
If the reference posteriors contain zeros, everything below half of their smallest positive value
is raised to that half (``floor_``). On held-out items of forests and neighbours this floor was the
best or nearly so; with constants such as 1e-12, a few zeros at the true class dominate the fit.
Without zeros in the reference the resolution is unknown, and the floor is only numerical: the
smallest normal number, 2.2e-308.

References
----------
Alexandari, Kundaje and Shrikumar (2020), "Maximum likelihood with bias-corrected calibration is
hard-to-beat at label shift adaptation", ICML. Guo, Pleiss, Sun and Weinberger (2017), "On
calibration of modern neural networks", ICML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from truemix._saved_arrays import read_classes, read_flag, read_floats, read_number
from truemix._threads import for_each_block, n_threads, one_blas_thread
from truemix._typing import AnyArray, FloatArray
from truemix.calibration._items import Items, floored_log
from truemix.calibration._softmax_regression import (
    EXACT,
    SoftmaxRegression,
    Tolerance,
    minimize,
    softmax,
)
from truemix.exceptions import InputError
from truemix.simplex import FLOOR
from truemix.validation import check_posteriors

PRIOR_SD = 10.0
# Bound of parameters in saved files: the prior keeps them far below, and nothing overflows.
MAX_PARAMETER = 1e9
# Newton decrement at which refits stop, in units of the total log-likelihood: parameters are then
# within about 3 % of their standard error.
REFIT_DECREMENT = 1e-3
# Memory for the weightings of refits that are held at once.
WEIGHTS_BYTES = 64 << 20


class Calibrator:
    """Base class of the four methods; use one of the subclasses.

    The fitted map is the four attributes ``classes_``, ``scale_``, ``bias_`` and ``floor_``.
    """

    _one_scale: ClassVar[bool]
    _with_bias: ClassVar[bool]
    classes_: AnyArray
    scale_: FloatArray
    bias_: FloatArray
    floor_: float
    nll_before_: float
    nll_after_: float
    converged_: bool
    _learned: ClassVar = "classes_", "scale_", "bias_", "floor_"
    _found: ClassVar = "nll_before_", "nll_after_", "converged_"

    def fit(
        self,
        P: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the map from held-out posteriors and their labels.

        Parameters
        ----------
        P : array of shape (n, K)
            Posteriors, one row per item and one column per class. They must not come from the
            items the classifier was trained on.
        y : array of shape (n,)
            Labels: strings, integers or booleans.
        classes : array of shape (K,), optional
            The class of each column. By default the sorted labels found in `y`.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the items; only their ratios matter.

        Returns
        -------
        Calibrator
            The calibrator itself.
        """
        items = Items.checked(P, y, classes)
        return self._fit(items, items.weights(sample_weight))

    def refits(self, P: ArrayLike, y: ArrayLike, weightings: Iterable[ArrayLike]) -> list[Self]:
        """Return maps refitted with other weights of the same items.

        Each is the map of `fit` with one row of `weightings` as `sample_weight`, but the solver
        starts from this map and stops early: parameters are accurate to a few percent of their
        standard error.

        Parameters
        ----------
        P, y
            The items this map was fitted on.
        weightings : array of shape (B, n), or its rows one by one
            Non-negative weights of the items.

        Returns
        -------
        list of Calibrator
            One for each row of `weightings`.

        Examples
        --------
        The uncertainty of a temperature estimated from ten items:

        >>> import numpy as np
        >>> P = [[0.99, 0.01]] * 5 + [[0.01, 0.99]] * 5
        >>> y = ["a"] * 4 + ["b"] * 5 + ["a"]
        >>> calibrator = TemperatureScaling().fit(P, y)
        >>> weightings = np.random.default_rng(0).exponential(size=(100, 10))
        >>> temperatures = [each.temperature_ for each in calibrator.refits(P, y, weightings)]
        >>> np.quantile(temperatures, [0.25, 0.75]).round(1)
        array([2.3, 5.1])
        """
        self._check_fitted()
        items = Items.checked(P, y, self.classes_)
        tolerance = Tolerance(np.inf, REFIT_DECREMENT / items.code.size)
        refitted: list[Self] = []
        rows = enumerate(weightings)
        at_once = max(n_threads(), WEIGHTS_BYTES // (8 * items.code.size))
        with one_blas_thread():
            while block := list(islice(rows, at_once)):
                weights = [items.weights(row, f"weightings[{b}]") for b, row in block]
                refitted += self._refitted(items, weights, tolerance)
        return refitted

    def _refitted(
        self, items: Items, weights: list[FloatArray], tolerance: Tolerance
    ) -> list[Self]:
        """Return a map for each of the weights, made on all cores."""
        refitted = [type(self)() for _ in weights]

        def work(rows: slice) -> None:
            for calibrator, weight in zip(refitted[rows], weights[rows], strict=True):
                calibrator._fit(items, weight, self._parameters(), tolerance)

        for_each_block(work, len(weights), 1)
        return refitted

    def transform(self, P: ArrayLike) -> FloatArray:
        """Return the calibrated posteriors, of the same shape as `P`; rows sum to 1."""
        return softmax(self.scores(P))[0]

    def scores(self, P: ArrayLike) -> FloatArray:
        """Return ``scale * log(p) + bias``: logs of the calibrated posteriors, up to a constant."""
        self._check_fitted()
        posteriors = check_posteriors(P, "P", n_classes=len(self.classes_))
        scores = floored_log(posteriors, self.floor_)
        scores *= self.scale_
        scores += self.bias_
        return scores

    def fit_transform(
        self,
        P: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """Fit on `P` and `y`, then return `P` calibrated; for the parameters see `fit`."""
        return self.fit(P, y, classes=classes, sample_weight=sample_weight).transform(P)

    def state(self) -> dict[str, Any]:
        """Return everything learned, as plain arrays and numbers; see `from_state`."""
        self._check_fitted()
        return {name: getattr(self, name) for name in (*self._learned, *self._found)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a calibrator that has learned `state`, which is checked."""
        classes = read_classes(state, "classes_")
        limits = {"minimum": -MAX_PARAMETER, "maximum": MAX_PARAMETER}
        scale = read_floats(state, "scale_", classes.shape, **limits)
        bias = read_floats(state, "bias_", classes.shape, **limits)
        if cls._one_scale and (scale[0] < 0 or (scale != scale[0]).any()):
            raise InputError(
                "scale_ differs between classes or is negative; expected a temperature"
            )
        if not cls._with_bias and bias.any():
            raise InputError(f"bias_ is not zero, but {cls.__name__} has no bias")
        calibrator = cls()
        calibrator.floor_ = read_number(state, "floor_", minimum=FLOOR, maximum=1.0)
        calibrator.nll_before_ = read_number(state, "nll_before_")
        calibrator.nll_after_ = read_number(state, "nll_after_")
        calibrator.converged_ = read_flag(state, "converged_")
        calibrator.classes_, calibrator.scale_, calibrator.bias_ = classes, scale, bias
        return calibrator

    def _fit(
        self,
        items: Items,
        weight: FloatArray,
        start: FloatArray | None = None,
        tolerance: Tolerance = EXACT,
    ) -> Self:
        # P as given, except that zeros at true classes are floored: their NLL would be infinite.
        before = 0.0 - float(weight @ np.log(np.maximum(items.true, FLOOR)))
        log_p, code, floor = items.log_p, items.code, items.floor
        ridge = prior_precision(log_p, weight)
        problem = SoftmaxRegression(log_p, code, weight, self._one_scale, self._with_bias, ridge)
        theta, converged = minimize(problem, start, tolerance)
        after = problem.objective(theta) - problem.penalty(theta)
        scale, bias = problem.split(theta)
        if after >= before:
            # The map is no improvement, or raising zeros to the floor made it worse.
            after, floor = before, FLOOR
            scale, bias = np.ones_like(scale), np.zeros_like(bias)

        self.classes_ = items.classes
        self.scale_, self.bias_, self.floor_ = scale, bias - bias.mean(), floor
        self.nll_before_, self.nll_after_ = before, after
        self.converged_ = converged
        return self

    def _parameters(self) -> FloatArray:
        """Return the free parameters of the map, as ``theta`` of the regression."""
        scale = self.scale_[:1] if self._one_scale else self.scale_
        return np.concatenate([scale, self.bias_ if self._with_bias else []])

    def _check_fitted(self) -> None:
        if not hasattr(self, "scale_"):
            raise InputError(f"{type(self).__name__} is not fitted: call fit(P, y) first.")


class _OneTemperature(Calibrator):
    _one_scale = True

    @property
    def temperature_(self) -> float:
        """The temperature; infinite if the posteriors carry no information about the labels."""
        return 1.0 / float(self.scale_[0]) if self.scale_[0] > 0 else float("inf")


class _OneWeightPerClass(Calibrator):
    _one_scale = False

    @property
    def weights_(self) -> FloatArray:
        """The weight of each class's log posterior."""
        return self.scale_


class TemperatureScaling(_OneTemperature):
    """Temperature scaling: ``softmax(log(p) / T)``.

    The inverse temperature ``1 / T`` is constrained to be non-negative. A negative one would
    reverse the ranking of the classes, which is not a calibration. Zero is allowed because
    otherwise a minimum need not exist: for posteriors that carry no information, ``T = inf``.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The class of each column.
    temperature_ : float
        ``T``; above 1 the posteriors were too sure, below 1 not sure enough.
    scale_, bias_ : arrays of shape (K,)
        ``1 / T``, repeated, and zeros.
    floor_ : float
        Posteriors below are raised to this value before the logs are taken.
    nll_before_, nll_after_ : float
        Mean NLL of the training labels under the posteriors as given (where a zero at the true
        class counts as 2.2e-308) and under the calibrated ones; never larger after than before.
    converged_ : bool
        Whether no element of the gradient is larger than 1e-8.

    Examples
    --------
    Ten items that the classifier is 99 % sure of, two of them wrong:

    >>> calibrator = TemperatureScaling().fit([[0.99, 0.01]] * 5 + [[0.01, 0.99]] * 5,
    ...                                       ["a"] * 4 + ["b"] * 5 + ["a"])
    >>> calibrator.transform([[0.99, 0.01]]).round(3)
    array([[0.8, 0.2]])
    >>> round(calibrator.temperature_, 2)
    3.31
    """

    _with_bias = False


class BiasCorrectedTemperatureScaling(_OneTemperature):
    """Bias-corrected temperature scaling: ``softmax(log(p) / T + b)``.

    After the fit the mean of the calibrated posteriors is the mix of the training labels, which
    is what EMQ needs. ``1 / T`` is kept at zero or above, as in `TemperatureScaling`; where it is
    zero, every item gets the mix of the training labels. The biases have mean zero.

    Attributes
    ----------
    temperature_ : float
        ``T``.
    bias_ : array of shape (K,)
        ``b``.
    classes_, scale_, floor_, nll_before_, nll_after_, converged_
        As in `TemperatureScaling`.

    Examples
    --------
    >>> P = [[0.8, 0.2]] * 4 + [[0.3, 0.7]] * 4
    >>> y = ["a", "a", "a", "b"] + ["b"] * 3 + ["a"]
    >>> calibrator = BiasCorrectedTemperatureScaling().fit(P, y)
    >>> calibrator.transform([[0.8, 0.2], [0.3, 0.7]]).round(3)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    _with_bias = True


class VectorScaling(_OneWeightPerClass):
    """Vector scaling: ``softmax(w * log(p) + b)`` with a weight and a bias per class.

    The weights are free, negative ones included; the biases have mean zero. The logs are not
    centred, so that for two classes this is beta calibration. (The package ``abstention``, when
    given posteriors, subtracts each row's mean log first: another model wherever weights differ.)

    Attributes
    ----------
    weights_ : array of shape (K,)
        ``w``.
    bias_ : array of shape (K,)
        ``b``.
    classes_, scale_, floor_, nll_before_, nll_after_, converged_
        As in `TemperatureScaling`; `scale_` is `weights_`.

    Examples
    --------
    >>> P = [[0.8, 0.2]] * 4 + [[0.3, 0.7]] * 4 + [[0.5, 0.5]] * 4
    >>> y = ["a", "a", "a", "b"] + ["b"] * 3 + ["a"] + ["a", "b"] * 2
    >>> VectorScaling().fit_transform(P, y)[[0, 4, 8]].round(2)
    array([[0.75, 0.25],
           [0.26, 0.74],
           [0.49, 0.51]])
    """

    _with_bias = True


class NoBiasVectorScaling(_OneWeightPerClass):
    """Vector scaling without a bias: ``softmax(w * log(p))``; see `VectorScaling`.

    Attributes
    ----------
    weights_ : array of shape (K,)
        ``w``.
    classes_, scale_, bias_, floor_, nll_before_, nll_after_, converged_
        As in `TemperatureScaling`; `scale_` is `weights_`.

    Examples
    --------
    >>> P = [[0.8, 0.2]] * 4 + [[0.3, 0.7]] * 4
    >>> y = ["a", "a", "a", "b"] + ["b"] * 3 + ["a"]
    >>> NoBiasVectorScaling().fit_transform(P, y)[[0, 4]].round(3)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    _with_bias = False


CALIBRATORS: dict[str, type[Calibrator]] = {
    "ts": TemperatureScaling,
    "bcts": BiasCorrectedTemperatureScaling,
    "vs": VectorScaling,
    "nbvs": NoBiasVectorScaling,
}


def prior_precision(log_p: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the prior precision of a scale and of a bias, relative to the mean NLL."""
    variance = np.einsum("i,ij,ij->j", weight, log_p, log_p) - (weight @ log_p) ** 2
    spread = np.clip(variance.mean(), 1e-4, 1.0)
    # Kish's effective sample size, so that only the ratios of the weights matter.
    n_items = 1.0 / float(weight @ weight)
    return np.array([spread, 1.0]) / (n_items * PRIOR_SD**2)
