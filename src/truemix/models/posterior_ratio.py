"""Likelihood ratios by Bayes' rule: calibrated posteriors divided by class shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from truemix._replicate_budget import MAX_REPLICATES
from truemix._saved_arrays import read_shares
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.calibration import CALIBRATORS, Calibrator
from truemix.exceptions import InputError
from truemix.models.bayesian_bootstrap import reference_weights
from truemix.models.training_prevalence import (
    REFERENCES,
    check_training_prevalence,
    training_prevalence,
)
from truemix.validation import check_choice

AUTOMATIC = "auto"
# The temperature corrects overconfidence, the biases correct the class shares that posteriors
# imply. No worse than no calibration in every setting of benchmarks/training_mix.py, from 50
# references on.
CHOSEN = "bcts"
# The maps of all replicates are fitted in fit, before a run has a seed: a fixed one.
WEIGHTS_SEED = 0
# Key that makes the random order of the maps independent of the sampler's stream, given one seed.
_STREAM = 10


class PosteriorRatio(BaseEstimator):
    """The likelihood by Bayes' rule: calibrated posterior divided by the share of the class.

    ``log L[i, k] = log f(p_i)[k] - log share_k`` with a calibration map f, fitted on the
    references, and the class shares that its posteriors are for, mostly those of the references.

    Parameters
    ----------
    calibration : {"auto", None, "ts", "bcts", "vs", "nbvs"}
        The map; ``"auto"`` is ``"bcts"``, None takes posteriors to be calibrated.
    training_prevalence : {"references", "posteriors", "implied", "auto"} or sequence of float
        Without a map: the mix that posteriors are calibrated for; see :class:`truemix.EMQ`.
    uncertain : bool
        Whether to fit replicates of the map and of the shares, with randomly reweighted references
        (a Bayesian bootstrap over all of them).

    Attributes
    ----------
    calibrator_ : calibrator or None
        The fitted map.
    shares_ : ndarray of shape (K,)
        Class shares of the references.
    training_prevalence_ : ndarray of shape (K,)
        What posteriors are divided by; the same, unless asked otherwise.

    Notes
    -----
    For replicates the references are reweighted all together, not within each class: a bias of the
    map and the share of its class rise together, and their difference, which is the
    log-likelihood, stays.

    Examples
    --------
    >>> posteriors = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.2, 0.8]])
    >>> model = PosteriorRatio(calibration=None).fit(posteriors, np.array([0, 0, 1, 1]), 2)
    >>> np.exp(model.log_likelihood(posteriors[-1:]))
    array([[0.4, 1.6]])
    """

    calibrator_: Any
    shares_: FloatArray
    training_prevalence_: FloatArray
    _maps: list[Calibrator]
    _map_shares: FloatArray

    def __init__(
        self,
        *,
        calibration: Any = AUTOMATIC,
        training_prevalence: Any = REFERENCES,
        uncertain: Any = False,
    ) -> None:
        self.calibration = calibration
        self.training_prevalence = training_prevalence
        self.uncertain = uncertain

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        if self.calibration is not None:
            check_choice(self.calibration, "calibration", (AUTOMATIC, *CALIBRATORS))
        given = check_training_prevalence(self.training_prevalence)
        if self.calibration is not None and not _is_references(given):
            raise InputError(
                "The 'training_prevalence' parameter is for posteriors as they are, but they are "
                "calibrated; choose calibration=None, or leave it out ('bcts', the default, and "
                "'vs' learn from the references which mix posteriors are for)."
            )

    @property
    def _map_name(self) -> str | None:
        name: str | None = CHOSEN if self.calibration == AUTOMATIC else self.calibration
        return name

    def resolved(self) -> dict[str, Any]:
        """Return which map was fitted, and which shares posteriors are divided by."""
        found: dict[str, Any] = {"calibration": self._map_name}
        if not _is_references(self.training_prevalence):
            found["training_prevalence"] = self.training_prevalence_.tolist()
        return found

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Self:
        """Fit the map, and with ``uncertain`` those of all replicates."""
        self.shares_ = np.bincount(codes, minlength=n_classes) / len(codes)
        self.training_prevalence_ = training_prevalence(
            self.training_prevalence, posteriors, codes, n_classes
        )
        self.calibrator_, self._maps = None, []
        if self._map_name is not None:
            self.calibrator_ = CALIBRATORS[self._map_name]().fit(posteriors, codes)
        if self.uncertain:
            totals = np.empty((MAX_REPLICATES, n_classes))
            weights = _weightings(codes, totals)
            self._maps = self.calibrator_.refits(posteriors, codes, weights)
            self._map_shares = totals / totals.sum(axis=1, keepdims=True)
        return self

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the log of calibrated posteriors over shares, ``(n, K)``."""
        if self.calibrator_ is not None:
            posteriors = self.calibrator_.transform(posteriors)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(posteriors) - np.log(self.training_prevalence_))

    def replicates(self, posteriors: FloatArray, numbers: IntArray, seed: int) -> FloatArray:
        """Return the matrix under replicates of the map; row maxima are 0, in single precision."""
        order = self.map_order(seed)
        matrices = np.empty((len(numbers), *posteriors.shape), dtype=np.float32)
        for matrix, number in zip(matrices, order[numbers % len(order)], strict=True):
            scores = self._maps[number].scores(posteriors) - np.log(self._map_shares[number])
            np.subtract(scores, scores.max(axis=1, keepdims=True), out=matrix, casting="same_kind")
        return matrices

    def map_order(self, seed: int) -> IntArray:
        """Return which of the maps fitted in ``fit`` each replicate uses, a random permutation."""
        source = np.random.SeedSequence(seed, spawn_key=(_STREAM,))
        return np.random.default_rng(source).permutation(len(self._maps))

    def refits(
        self, posteriors: FloatArray, codes: IntArray, weightings: Iterable[FloatArray]
    ) -> list[PosteriorRatio]:
        """Return the models refitted with other weights of the same references."""
        maps: list[Any]
        if self.calibrator_ is None:
            maps = [None for _ in weightings]
        else:
            maps = self.calibrator_.refits(posteriors, codes, weightings)
        return [self._with_map(calibrator) for calibrator in maps]

    def _with_map(self, calibrator: Any) -> PosteriorRatio:
        other = PosteriorRatio(
            calibration=self.calibration, training_prevalence=self.training_prevalence
        )
        other.calibrator_, other._maps = calibrator, []
        other.shares_, other.training_prevalence_ = self.shares_, self.training_prevalence_
        return other

    def state(self) -> dict[str, AnyArray]:
        """Return the shares, the map, and those of all replicates."""
        state: dict[str, AnyArray] = {"shares": self.shares_}
        if not _is_references(self.training_prevalence):
            state["training_prevalence"] = self.training_prevalence_
        if self.calibrator_ is not None:
            learned = self.calibrator_.state()
            state |= {f"calibrator_{name}": np.asarray(each) for name, each in learned.items()}
        if self._maps:
            states = [calibrator.state() for calibrator in self._maps]
            state |= {
                f"map_{name}": np.array([each[name] for each in states]) for name in states[0]
            }
            state["map_shares"] = self._map_shares
        return state

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the model that was saved."""
        self.shares_ = read_shares(state, "shares", (n_classes,), positive=True)
        name = "shares" if _is_references(self.training_prevalence) else "training_prevalence"
        self.training_prevalence_ = read_shares(state, name, (n_classes,), positive=True)
        self.calibrator_, self._maps = None, []
        if self._map_name is None:
            return
        kind = CALIBRATORS[self._map_name]
        self.calibrator_ = _read_map(kind, _without_prefix(state, "calibrator_"), n_classes)
        if self.uncertain:
            stacked = _without_prefix(state, "map_")
            self._map_shares = read_shares(
                {"map_shares": stacked.pop("shares", None)},
                "map_shares", (MAX_REPLICATES, n_classes), positive=True,
            )  # fmt: skip
            if any(values.shape[:1] != (MAX_REPLICATES,) for values in stacked.values()):
                raise InputError("the maps are not there for each replicate")
            self._maps = [
                _read_map(kind, {name: values[v] for name, values in stacked.items()}, n_classes)
                for v in range(MAX_REPLICATES)
            ]


def _is_references(given: Any) -> bool:
    return isinstance(given, str) and given == REFERENCES


def _weightings(codes: IntArray, totals: FloatArray) -> Iterator[FloatArray]:
    """Yield the weights of each replicate, which need not fit into memory all at once.

    The sums of each class are written to ``totals``.
    """
    for number, total in enumerate(totals):
        (weights,) = reference_weights(len(codes), np.array([number]), WEIGHTS_SEED)
        total[:] = np.bincount(codes, weights, len(total))
        yield weights


def _without_prefix(state: Mapping[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {
        name.removeprefix(prefix): values
        for name, values in state.items()
        if name.startswith(prefix)
    }


def _read_map(kind: type[Calibrator], state: Mapping[str, Any], n_classes: int) -> Calibrator:
    calibrator = kind.from_state(state)
    if not np.array_equal(calibrator.classes_, np.arange(n_classes)):
        raise InputError("the calibration map is one of other classes")
    return calibrator
