"""KDEy: class-conditional kernel densities and maximum likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._saved_arrays import read_floats, read_integers, read_number, read_shares
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.densities import KERNELS
from truemix.estimates.unknown import split_mix
from truemix.exceptions import InputError
from truemix.quantifiers.automatic import BANDWIDTHS, SHRINKAGES, choose_smoothing
from truemix.quantifiers.likelihood import LikelihoodQuantifier
from truemix.quantifiers.unknown_class import UnknownClass
from truemix.validation import (
    check_choice,
    check_number,
    parameter_error,
)

if TYPE_CHECKING:
    from truemix.densities.class_densities import ClassDensities


class KDEy(LikelihoodQuantifier):
    """Quantification by kernel density estimation in the simplex (maximum likelihood).

    The posteriors of each class's reference items become a density (a Gaussian kernel in
    log-ratio or plain coordinates), and the mix is the one under which the batch is most likely.
    ``kernel="gaussian"`` is KDEy(Gau), ``kernel="aitchison"`` with ``shrinkage=0`` KDEy(Ait) and
    with shrinkage KDEy(Ait-λ) of Moreo, González and del Coz.

    Parameters
    ----------
    classifier : scikit-learn classifier or None
        None: ``X`` already holds posteriors. A classifier with ``predict_proba`` is trained in
        ``fit``: reference posteriors are out-of-fold, then it is refitted on everything. A
        ``FrozenEstimator`` is used as it is, with held-out references.
    cv : int or scikit-learn splitter
        Folds for the out-of-fold posteriors.
    crossfit : bool
        Score targets with the models of the folds, as the references were, instead of the one
        refitted on everything.
    kernel : {"aitchison", "ilr", "gaussian"}
        Coordinates in which the kernel is Gaussian.
    bandwidth : "auto" or float
        Its standard deviation.
    shrinkage : "auto" or float
        How far posteriors are moved towards the barycentre first, at least 0 and below 1.
        ``"auto"`` (for either) takes the value from the paper's grid with the smallest error on
        bags of reference items, each item judged by the other folds; see ``selection_``.
    unknown : bool
        Whether items may belong to none of the classes. If so, the estimate has their share as
        ``unknown``, and the shares of the classes are those among the other items.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels in the order of all results.
    train_prevalence_ : ndarray of shape (K,)
        Shares in the reference.
    bandwidth_, shrinkage_ : float
        The values in use.
    selection_ : list of dict
        If something was chosen automatically: the choice and the runners-up, each with its
        bandwidth, shrinkage, mean absolute error on the bags, and whether it ties with the best
        one (the difference is within the noise).

    Examples
    --------
    Posteriors of labelled items, then of a batch whose mix is not known:

    >>> import numpy as np
    >>> from truemix import KDEy
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> labels = np.repeat(["ham", "spam"], 1000)
    >>> quantifier = KDEy().fit(np.column_stack([1 - p, p]), labels)
    >>> batch = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> quantifier.quantify(np.column_stack([1 - batch, batch]))
    KDEy: the mix of 1,000 items
    class  estimate  counted  reference
    ham      89.4 %   75.6 %     50.0 %
    spam     10.6 %   24.4 %     50.0 %
    Label shift: not checked; quantify(X, check=True) does.
    """

    bandwidth_: float
    shrinkage_: float
    selection_: list[dict[str, Any]]
    _densities: ClassDensities
    _unknown: UnknownClass | None

    def __init__(
        self,
        *,
        classifier: Any = None,
        cv: Any = 5,
        crossfit: Any = True,
        kernel: str = "aitchison",
        bandwidth: Any = "auto",
        shrinkage: Any = "auto",
        unknown: Any = False,
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.crossfit = crossfit
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage
        self.unknown = unknown

    def _check_parameters(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        for name in ("bandwidth", "shrinkage"):
            value = getattr(self, name)
            # An array is equal to text in each of its places.
            if not (isinstance(value, str) and value == "auto"):
                check_number(value, name)
        if not isinstance(self.unknown, bool | np.bool_):
            raise parameter_error("unknown", "True or False", self.unknown)

    def _learn(self, posteriors: FloatArray, codes: IntArray) -> None:
        bandwidths, shrinkages = BANDWIDTHS[self.kernel], SHRINKAGES[self.kernel]
        if self.bandwidth != "auto":
            bandwidths = np.array([float(self.bandwidth)])
        if self.shrinkage != "auto":
            shrinkages = (float(self.shrinkage),)
        self.selection_ = []
        self.bandwidth_, self.shrinkage_ = float(bandwidths[0]), shrinkages[0]
        if len(bandwidths) * len(shrinkages) > 1:
            choice = choose_smoothing(posteriors, codes, self.kernel, bandwidths, shrinkages)
            self.bandwidth_, self.shrinkage_ = choice.bandwidth, choice.shrinkage
            self.selection_ = choice.best
        self._build(posteriors, codes)

    def _build(self, posteriors: FloatArray, codes: IntArray) -> None:
        # The compiled loops bring numba along: not before they are needed.
        from truemix.densities.class_densities import ClassDensities

        self._densities = ClassDensities(
            posteriors, codes, self.kernel, np.array([self.bandwidth_]), self.shrinkage_
        )
        self._unknown = UnknownClass.beside(self._densities) if self.unknown else None

    def _with_setting(self, bandwidth: float, shrinkage: float) -> ClassDensities:
        """Return the densities of the same references with another setting."""
        return replace(self._densities, bandwidths=np.array([bandwidth]), shrinkage=shrinkage)

    def _state(self) -> dict[str, AnyArray]:
        return {
            **super()._state(),
            "bandwidth": np.array(self.bandwidth_),
            "shrinkage": np.array(self.shrinkage_),
            "selection": np.array([list(row.values()) for row in self.selection_]),
            "reference": self._densities.reference,
            "codes": self._densities.codes,
        }

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        super()._restore(state)
        n_classes = len(self.classes_)
        self.bandwidth_ = read_number(state, "bandwidth")
        self.shrinkage_ = read_number(state, "shrinkage")
        self.selection_ = self._read_selection(state)
        reference = read_shares(state, "reference", (None, n_classes))
        codes = read_integers(state, "codes", reference.shape[:1], below=n_classes)
        shares = np.bincount(codes, minlength=n_classes) / max(len(codes), 1)
        if not np.array_equal(shares, self.train_prevalence_):
            raise InputError("codes do not have the shares of train_prevalence")
        self._build(reference, codes)

    def _read_selection(self, state: Mapping[str, AnyArray]) -> list[dict[str, Any]]:
        """Return the settings that were compared, of which the first is in use."""
        check_number(self.bandwidth_, "bandwidth")
        check_number(self.shrinkage_, "shrinkage")
        for name, given, used in (
            ("bandwidth", self.bandwidth, self.bandwidth_),
            ("shrinkage", self.shrinkage, self.shrinkage_),
        ):
            if given not in ("auto", used):
                raise InputError(f"{name} is not the one that the parameter asks for")
        n_bandwidths = len(BANDWIDTHS[self.kernel]) if self.bandwidth == "auto" else 1
        n_shrinkages = len(SHRINKAGES[self.kernel]) if self.shrinkage == "auto" else 1
        compared = n_bandwidths * n_shrinkages > 1
        rows = read_floats(state, "selection", (None, 4) if compared else (0,))
        if compared and not 0 < len(rows) <= n_bandwidths * n_shrinkages:
            raise InputError(f"selection has {len(rows)} rows")
        names = ("bandwidth", "shrinkage", "absolute_error", "tie")
        found: list[dict[str, Any]] = []
        for bandwidth, shrinkage, error, tie in rows.tolist():
            check_number(bandwidth, "bandwidth")
            check_number(shrinkage, "shrinkage")
            if not 0.0 <= error <= 1.0 or tie not in (0.0, 1.0):
                raise InputError("selection holds an error or a tie that is none")
            found.append(dict(zip(names, (bandwidth, shrinkage, error, bool(tie)), strict=True)))
        if found and (found[0]["bandwidth"], found[0]["shrinkage"]) != (
            self.bandwidth_,
            self.shrinkage_,
        ):
            raise InputError("selection does not begin with the setting in use")
        return found

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        matrix: FloatArray = self._densities.log_likelihood(posteriors)[0]
        if self._unknown is None:
            return matrix
        return np.column_stack([matrix, self._unknown.column(matrix)])

    def _split(self, mixes: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        if self._unknown is None:
            return mixes, None
        return split_mix(mixes, self.train_prevalence_)

    @classmethod
    def _versions_of_many(
        cls, quantifiers: Sequence[Any], scored: FloatArray, seeds: Sequence[int | None]
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        if any(quantifier.unknown for quantifier in quantifiers):
            yield from super()._versions_of_many(quantifiers, scored, seeds)
            return
        # Distances are the same for all bandwidths of one kernel and shrinkage.
        from truemix.densities.class_densities import ClassDensities

        alike: dict[tuple[str, float], list[int]] = {}
        for number, quantifier in enumerate(quantifiers):
            key = (quantifier.kernel, quantifier.shrinkage_)
            alike.setdefault(key, []).append(number)
        posteriors = scored.reshape(-1, scored.shape[2])
        for (kernel, shrinkage), numbers in alike.items():
            numbers.sort(key=lambda number: quantifiers[number].bandwidth_)
            own = [quantifiers[number].bandwidth_ for number in numbers]
            bandwidths, places = np.unique(own, return_inverse=True)
            known = quantifiers[numbers[0]]._densities
            densities = ClassDensities(known.reference, known.codes, kernel, bandwidths, shrinkage)
            matrices = densities.log_likelihood(posteriors)
            yield numbers, [matrices[place].reshape(scored.shape) for place in places]

    def _resolved(self) -> dict[str, Any]:
        chosen = {"selection": self.selection_} if self.selection_ else {}
        return {"bandwidth": self.bandwidth_, "shrinkage": self.shrinkage_, **chosen}
