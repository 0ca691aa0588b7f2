"""Protocols of class-conditional models: the required methods, and the optional ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from truemix._typing import AnyArray, FloatArray, IntArray


@runtime_checkable
class LikelihoodModel(Protocol):
    """A class-conditional model: the likelihood of each item under each class.

    Two methods make a model. Everything else of a quantifier (classifiers, groups, inference,
    selection, checks, reports) works with any object that has them.

    Further methods are optional:

    - ``replicates(posteriors, numbers, seed) -> (v, n, K)``: the matrix under other plausible
      references; see :class:`Uncertain`. ``shared_work(numbers)`` may return group numbers:
      replicates of one group are cheaper to compute together.
    - ``state() -> dict of arrays`` and ``restore(state, n_classes)``: the learned arrays, for
      :func:`truemix.save`; see :class:`Savable`.
    - ``get_params``/``set_params``, most easily from :class:`sklearn.base.BaseEstimator`: nested
      parameters such as ``model__bandwidth`` in a grid.
    - ``check()``: raise for an invalid parameter; called before anything is learned.
    - ``resolved() -> dict``: parameters that ``fit`` selected, shown in ``Estimate.settings``.
    """

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Any:
        """Learn from references.

        Parameters
        ----------
        posteriors : ndarray of shape (m, K)
            Posteriors of the references, in class order.
        codes : ndarray of shape (m,)
            Their class numbers, 0 to K - 1; each class has at least one.
        n_classes : int
            K.
        """
        ...

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the log-likelihood of each item under each class, up to a constant per row.

        Parameters
        ----------
        posteriors : ndarray of shape (n, K)
            A row must not depend on the other rows: matrices are shared by many batches.

        Returns
        -------
        ndarray of shape (n, K)
            ``-inf`` is allowed unless a whole row is.
        """
        ...


@runtime_checkable
class Uncertain(Protocol):
    """A model that propagates the uncertainty of its references, by replicates of the matrix."""

    def replicates(self, posteriors: FloatArray, numbers: IntArray, seed: int) -> FloatArray:
        """Return equally plausible replicates of the matrix, ``(v, n, K)``.

        Parameters
        ----------
        posteriors : ndarray of shape (n, K)
        numbers : ndarray of shape (v,)
            Numbers of the replicates. The same number and seed give the same replicate of the
            references for any items, so that batches can be compared replicate by replicate.
        seed : int
        """
        ...


@runtime_checkable
class Savable(Protocol):
    """A model that can be written to a file."""

    def state(self) -> dict[str, AnyArray]:
        """Return what was learned, as arrays of numbers or text."""
        ...

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the fitted model that ``state`` was taken from.

        The arrays are untrusted input: raise :class:`truemix.InputError` for invalid ones.
        """
        ...


@runtime_checkable
class ObservationModel(Protocol):
    """A model whose items are observations with an expectation under each class.

    Counting, least squares and the joint posterior of mix and confusion matrix work with these
    instead of likelihoods.

    Attributes
    ----------
    counts_ : ndarray of shape (K, D)
        Sum of the observations of each class's references.
    """

    counts_: FloatArray

    def observe(self, posteriors: FloatArray) -> FloatArray:
        """Return the observation of each item, ``(n, D)``."""
        ...


def is_uncertain(model: object) -> bool:
    """Return whether a model has replicates; the attribute ``uncertain = False`` disables them.

    Examples
    --------
    >>> from truemix.models import KernelDensity, PosteriorRatio
    >>> is_uncertain(KernelDensity()), is_uncertain(PosteriorRatio())
    (True, False)
    """
    return hasattr(model, "replicates") and bool(getattr(model, "uncertain", True))
