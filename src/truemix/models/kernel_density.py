"""Class-conditional kernel densities of posteriors, in the geometry of the simplex."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from truemix._progress import progress
from truemix._saved_arrays import read_floats, read_integers, read_number, read_shares
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.densities import KERNELS
from truemix.densities.class_densities import ClassDensities
from truemix.densities.distinct import distinct_rows
from truemix.exceptions import InputError
from truemix.models.bandwidth_selection import BANDWIDTHS, SHRINKAGES, choose_smoothing
from truemix.models.bayesian_bootstrap import reference_weights, unseen_parts
from truemix.models.out_of_fold import at_most
from truemix.validation import check_choice, check_number, parameter_error

AUTOMATIC = "auto"
# Distinct references that are kept: the cost and memory of every later step grow with them, and
# beyond this many, densities hardly change. Of more, a random subset with a fixed seed.
MAX_KERNELS = 100_000
_SEED = 0
# A saved model says how many items its references stand for. Some callers need all of them, so that
# a small file must not claim any number: at most as many as fit into this many bytes.
_MAX_ITEM_BYTES = 8 << 30


class KernelDensity(BaseEstimator):
    """A kernel density estimate of the posteriors of each class's references.

    ``L[i, k] = mean over references j of class k of N(z_i; z_j, h² I)`` with coordinates z of
    posteriors that are moved towards the barycentre by the shrinkage first.

    Parameters
    ----------
    kernel : {"aitchison", "ilr", "gaussian"}
        Coordinates in which the kernel is Gaussian: centred or isometric log-ratios, or none.
    bandwidth : "auto" or float
        Standard deviation h of the kernel.
    shrinkage : "auto" or float
        How far posteriors are moved towards the barycentre, at least 0 and below 1. ``"auto"``
        (for either) takes the value from the paper's grid with the smallest error on bags of
        references, with out-of-fold densities.
    averaging : bool
        Keep the settings that tie in the automatic selection: replicates are spread over them,
        and :class:`truemix.inference.Averaging` takes the mean of their answers.

    Attributes
    ----------
    bandwidth_, shrinkage_ : float
        The values in use.
    class_counts_ : ndarray of shape (K,)
        Number of items of each class that the model was fitted on.
    selection_ : list of dict
        After automatic selection: the selected setting and the runners-up, each with its bandwidth,
        shrinkage, mean absolute error on the bags, and whether it ties with the best one.

    Notes
    -----
    Equal references of a class are kept once, with their number. If there are more than 100,000
    distinct references, a random subset of about 100,000 items is used instead of all, in the
    proportions of the classes, but at least an even share of each class that has as many.
    Replicates then show the uncertainty that this subset leaves.

    Examples
    --------
    >>> posteriors = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]])
    >>> model = KernelDensity(bandwidth=0.5, shrinkage=0.1)
    >>> model = model.fit(posteriors, np.array([0, 0, 1, 1]), 2)
    >>> model.log_likelihood(np.array([[0.85, 0.15]])).argmax()
    np.int64(0)
    """

    bandwidth_: float
    shrinkage_: float
    selection_: list[dict[str, Any]]
    class_counts_: IntArray
    _densities: ClassDensities
    # The densities of all settings that tie, the chosen one first.
    _tied: list[ClassDensities]
    # How many items each reference stands for.
    _counts: IntArray

    def __init__(
        self,
        *,
        kernel: str = "aitchison",
        bandwidth: Any = AUTOMATIC,
        shrinkage: Any = AUTOMATIC,
        averaging: Any = True,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage
        self.averaging = averaging

    def check(self) -> None:
        """Raise for a parameter that is wrong."""
        check_choice(self.kernel, "kernel", KERNELS)
        for name in ("bandwidth", "shrinkage"):
            value = getattr(self, name)
            # Comparing an array with text would be elementwise.
            if not (isinstance(value, str) and value == AUTOMATIC):
                check_number(value, name)
        if not isinstance(self.averaging, bool | np.bool_):
            raise parameter_error("averaging", "True or False", self.averaging)

    @property
    def references_(self) -> tuple[FloatArray, IntArray]:
        """Posteriors and class numbers of the items that are kept, equal ones in a row."""
        distinct = self._densities.reference, self._densities.codes
        if (self._counts == 1).all():
            return distinct
        return distinct[0].repeat(self._counts, axis=0), distinct[1].repeat(self._counts)

    def resolved(self) -> dict[str, Any]:
        """Return the bandwidth and shrinkage in use, and the settings that were compared."""
        chosen = {"selection": self.selection_} if self.selection_ else {}
        return {"bandwidth": self.bandwidth_, "shrinkage": self.shrinkage_, **chosen}

    def chosen(self) -> KernelDensity:
        """Return an unfitted model with the bandwidth and shrinkage in use."""
        return KernelDensity(
            kernel=self.kernel, bandwidth=self.bandwidth_, shrinkage=self.shrinkage_
        )

    def of_other_references(self, posteriors: FloatArray, codes: IntArray) -> KernelDensity:
        """Return the fitted model of other references, with the settings that were selected here.

        Settings that tie stay tied, so that replicates are spread as they are here.
        """
        model = KernelDensity(**self.get_params())
        model.class_counts_ = np.bincount(codes, minlength=len(self.class_counts_))
        model.bandwidth_, model.shrinkage_ = self.bandwidth_, self.shrinkage_
        model.selection_ = self.selection_
        posteriors, codes, place = _kept(posteriors, codes)
        counts = np.ones(len(codes), dtype=np.intp) if place is None else np.bincount(place)
        model._build(posteriors, codes, counts)
        return model

    def fit(self, posteriors: FloatArray, codes: IntArray, n_classes: int) -> Self:
        """Select what is ``"auto"``, and store the distinct references."""
        self.class_counts_ = np.bincount(codes, minlength=n_classes)
        posteriors, codes, place = _kept(posteriors, codes)
        bandwidths, shrinkages = self._grid()
        self.selection_ = []
        self.bandwidth_, self.shrinkage_ = float(bandwidths[0]), shrinkages[0]
        if len(bandwidths) * len(shrinkages) > 1:
            # Items in their own order, on which the random choices depend.
            items = (posteriors, codes) if place is None else (posteriors[place], codes[place])
            choice = choose_smoothing(*items, self.kernel, bandwidths, shrinkages)
            self.bandwidth_, self.shrinkage_ = choice.bandwidth, choice.shrinkage
            self.selection_ = choice.best
        counts = np.ones(len(codes), dtype=np.intp) if place is None else np.bincount(place)
        self._build(posteriors, codes, counts)
        return self

    def _grid(self) -> tuple[FloatArray, tuple[float, ...]]:
        bandwidths, shrinkages = BANDWIDTHS[self.kernel], SHRINKAGES[self.kernel]
        if self.bandwidth != AUTOMATIC:
            bandwidths = np.array([float(self.bandwidth)])
        if self.shrinkage != AUTOMATIC:
            shrinkages = (float(self.shrinkage),)
        return bandwidths, shrinkages

    def _build(self, posteriors: FloatArray, codes: IntArray, counts: IntArray) -> None:
        bandwidths, weights = np.array([self.bandwidth_]), counts.astype(np.float64)
        self._counts = counts
        self._densities = ClassDensities(
            posteriors, codes, self.kernel, bandwidths, self.shrinkage_, weights
        )
        ties = [row for row in self.selection_[1:] if row["tie"]] if self.averaging else []
        self._tied = [
            self._densities,
            *(
                replace(
                    self._densities,
                    bandwidths=np.array([row["bandwidth"]]),
                    shrinkage=row["shrinkage"],
                )
                for row in ties
            ),
        ]

    def log_likelihood(self, posteriors: FloatArray) -> FloatArray:
        """Return the log density of each item under each class, ``(n, K)``."""
        matrix: FloatArray = self._densities.log_likelihood(posteriors)[0]
        return matrix

    @property
    def n_tied(self) -> int:
        """How many settings tie with the one in use."""
        return len(self._tied) - 1

    def tied_log_likelihood(self, number: int, posteriors: FloatArray) -> FloatArray:
        """Return the same under one of the settings that tie."""
        matrix: FloatArray = self._tied[number + 1].log_likelihood(posteriors)[0]
        return matrix

    def shared_work(self, numbers: IntArray) -> IntArray:
        """Return the setting of each replicate: those of one setting share kernel values."""
        shared: IntArray = numbers % len(self._tied)
        return shared

    def replicates(self, posteriors: FloatArray, numbers: IntArray, seed: int) -> FloatArray:
        """Return replicates of the matrix, ``(v, n, K)``; they cycle through the tied settings.

        A Bayesian bootstrap within each class, with a share of items unlike its references. Rows
        are relative to their maximum, in single precision.
        """
        matrices = np.empty((len(numbers), *posteriors.shape), dtype=np.float32)
        setting = self.shared_work(numbers)
        with progress("densities", len(numbers), "replicates", inside=True) as work:
            for tie in np.unique(setting):
                rows = np.flatnonzero(setting == tie)
                alone = len(rows) == len(numbers)
                shape = (len(rows), *posteriors.shape)
                out = matrices if alone else np.empty(shape, matrices.dtype)
                weights = reference_weights(len(self._counts), numbers[rows], seed, self._counts)
                parts = unseen_parts(self._kept_counts(), numbers[rows], seed)
                self._tied[tie].relative_log_likelihoods(posteriors, weights, out, parts)
                if not alone:
                    matrices[rows] = out
                work.advance(len(rows))
        return matrices

    def _kept_counts(self) -> IntArray:
        """Return how many items of each class are kept."""
        counts = np.bincount(self._densities.codes, self._counts)
        return np.asarray(counts, dtype=np.intp)

    def merged(self, weights: FloatArray) -> FloatArray:
        """Return weights of the distinct references, from those of the items in `references_`."""
        starts = np.cumsum(self._counts) - self._counts
        return np.asarray(np.add.reduceat(weights, starts))

    def reweighted(self, posteriors: FloatArray, weightings: FloatArray) -> FloatArray:
        """Return the matrix for each weighting of the distinct references, ``(v, n, K)``."""
        matrices: FloatArray = self._densities.log_likelihoods(posteriors, weightings)[0]
        return matrices

    @staticmethod
    def matrices_of_many(
        models: Sequence[Any], posteriors: FloatArray
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        """Yield the matrices of models fitted on the same references, which share distances.

        Each step yields the numbers of the models with one kernel and shrinkage, sorted by
        bandwidth, and their matrices.
        """
        groups: dict[tuple[str, float], list[int]] = {}
        for number, model in enumerate(models):
            groups.setdefault((model.kernel, model.shrinkage_), []).append(number)
        for (kernel, shrinkage), numbers in groups.items():
            numbers.sort(key=lambda number: models[number].bandwidth_)
            in_use = [models[number].bandwidth_ for number in numbers]
            bandwidths, places = np.unique(in_use, return_inverse=True)
            densities = replace(
                models[numbers[0]]._densities,
                kernel=kernel, bandwidths=bandwidths, shrinkage=shrinkage,
            )  # fmt: skip
            matrices = densities.log_likelihood(posteriors)
            yield numbers, [matrices[place] for place in places]

    def state(self) -> dict[str, AnyArray]:
        """Return the distinct references with their numbers, and the selected setting."""
        return {
            "bandwidth": np.array(self.bandwidth_),
            "shrinkage": np.array(self.shrinkage_),
            "selection": np.array([list(row.values()) for row in self.selection_]),
            "reference": self._densities.reference,
            "codes": self._densities.codes,
            "counts": self._counts,
            "class_counts": self.class_counts_,
        }

    def restore(self, state: Mapping[str, AnyArray], n_classes: int) -> None:
        """Become the model that was saved."""
        self.bandwidth_ = check_number(read_number(state, "bandwidth"), "bandwidth")
        self.shrinkage_ = check_number(read_number(state, "shrinkage"), "shrinkage")
        self.selection_ = self._read_selection(state)
        reference = read_shares(state, "reference", (None, n_classes))
        codes = read_integers(state, "codes", reference.shape[:1], below=n_classes)
        if len(np.unique(codes)) != n_classes:
            raise InputError("codes lack a class")
        most = _MAX_ITEM_BYTES // (8 * n_classes)
        counts = read_integers(state, "counts", codes.shape, below=most)
        if not counts.all() or counts.sum() >= most:
            raise InputError("counts hold a zero or too many items")
        self.class_counts_ = read_integers(state, "class_counts", (n_classes,), below=2**53)
        self._build(reference, codes, counts)
        if (self.class_counts_ < self._kept_counts()).any():
            raise InputError("class_counts are below the numbers of items that are kept")

    def _read_selection(self, state: Mapping[str, AnyArray]) -> list[dict[str, Any]]:
        """Return the settings that were compared; the first is the one in use."""
        in_use = (self.bandwidth_, self.shrinkage_)
        for given, used in zip((self.bandwidth, self.shrinkage), in_use, strict=True):
            if given not in (AUTOMATIC, used):
                raise InputError("the smoothing is not the one that the parameters ask for")
        bandwidths, shrinkages = self._grid()
        n_compared = len(bandwidths) * len(shrinkages)
        compared = n_compared > 1
        rows = read_floats(state, "selection", (None, 4) if compared else (0,))
        if compared and not 0 < len(rows) <= n_compared:
            raise InputError(f"selection has {len(rows)} rows")
        names = ("bandwidth", "shrinkage", "absolute_error", "tie")
        found: list[dict[str, Any]] = []
        for bandwidth, shrinkage, error, tie in rows.tolist():
            check_number(bandwidth, "bandwidth")
            check_number(shrinkage, "shrinkage")
            if not 0.0 <= error <= 1.0 or tie not in (0.0, 1.0):
                raise InputError("selection holds an error or a tie that is none")
            found.append(dict(zip(names, (bandwidth, shrinkage, error, bool(tie)), strict=True)))
        if found and (found[0]["bandwidth"], found[0]["shrinkage"]) != in_use:
            raise InputError("selection does not begin with the setting in use")
        return found


def _kept(posteriors: FloatArray, codes: IntArray) -> tuple[FloatArray, IntArray, IntArray | None]:
    """Return distinct references, their classes, and for each item that is kept its reference.

    The last is None if all items are distinct and kept.
    """
    rows, place = distinct_rows(posteriors, codes)
    if len(rows) > MAX_KERNELS:
        # Items are drawn, not distinct rows: a row that many items share stays as likely.
        items = np.sort(at_most(MAX_KERNELS, codes, np.random.default_rng(_SEED)))
        used, place = np.unique(place[items], return_inverse=True)
        rows = rows[used]
    if len(rows) == len(codes):
        return posteriors, codes, None
    return posteriors[rows], codes[rows], place
