"""The estimated mix of one batch: intervals, probabilities, comparisons, plots and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from truemix._optional import require
from truemix._progress import progress
from truemix._typing import AnyArray, FloatArray
from truemix.estimates.answers import Sensitivity
from truemix.estimates.checks import Check
from truemix.estimates.comparison import Comparison, compare
from truemix.estimates.draw_origin import DrawOrigin
from truemix.estimates.events import DrawsByClass, probability_of
from truemix.estimates.export import arviz_data, estimate_frame, write_report
from truemix.estimates.files import load_estimate, save_estimate
from truemix.estimates.given_draws import fields_of_draws
from truemix.estimates.intervals import interval_of, too_few_draws
from truemix.estimates.regions import Region, region_of
from truemix.estimates.text import estimate_table
from truemix.estimates.unknown import Unknown
from truemix.exceptions import InputError
from truemix.validation import check_choice

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ESTIMANDS = ("batch", "population")


@dataclass(frozen=True, repr=False, eq=False)
class Estimate:
    """The estimated mix of classes in one batch.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Class labels; everything per class is in this order.
    prevalence : ndarray of shape (K,)
        Estimated share of each class, summing to one; with draws, their mean.
    classify_and_count : ndarray of shape (K,) or None
        The uncorrected estimate: the share of items that the classifier assigns to each class.
        None where it is not known (:meth:`from_draws`), and so for ``train_prevalence``.
    train_prevalence : ndarray of shape (K,) or None
        Shares in the reference.
    n_items : int
        Number of items in the batch; 0 where it is not known.
    method : str
        Name of the quantifier.
    settings : dict
        Every resolved parameter, and the version.
    diagnostics : dict
        Of the solver (``"converged"`` and ``"gap"`` for maximum likelihood), or of the sampler
        (``"ess"``, ``"rhat"``, ``"divergences"``, and ``"failed"``, a list of sentences).
    estimand : {"batch", "population"}
        The mix of these very items, or of the source that they come from.
    draws : ndarray of shape (draws, K), optional
        Draws from the posterior of the mix; None for a point estimate.
    other_draws : ndarray of shape (draws, K), optional
        Draws of the other estimand from the same run, row by row; see :meth:`of`.
    unknown : Unknown, optional
        With ``unknown=True``: the share of items of none of the classes, with draws and an
        interval. The shares of the classes are then among all other items.
    origin : DrawOrigin, optional
        The replicate of the references that each draw comes from; :meth:`compare` pairs by it.
    checks : dict
        Checks that were asked for: ``"label_shift"``, with ``quantify(X, check=True)``. Each has
        ``passed``, ``explanation`` and ``summary()``.
    answers : Sensitivity, optional
        Where the check of label shift failed: what other assumptions say about the batch, with
        95 % intervals in the population view (the wider one). See :meth:`sensitivity`.
    batch : object, optional
        The rows that the estimate is about and the quantifier that scored them, which is what
        further questions need. It is not part of a saved or pickled estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import Estimate
    >>> point = Estimate(
    ...     classes=np.array(["ham", "spam"]),
    ...     prevalence=np.array([0.7, 0.3]),
    ...     classify_and_count=np.array([0.8, 0.2]),
    ...     train_prevalence=np.array([0.5, 0.5]),
    ...     n_items=100,
    ...     method="KDEy",
    ... )
    >>> point
    KDEy: the mix of 100 items
    class  estimate  counted  reference
    ham      70.0 %   80.0 %     50.0 %
    spam     30.0 %   20.0 %     50.0 %
    Label shift: not checked; quantify(X, check=True) does.

    With draws there are intervals, and probabilities of any event:

    >>> from dataclasses import replace
    >>> draws = np.random.default_rng(0).dirichlet([71, 31], size=1000)
    >>> full = replace(point, draws=draws, method="BayesianKDEy", estimand="population")
    >>> full
    BayesianKDEy: the mix of 100 items
    class  estimate       interval  counted  reference
    ham      70.0 %  60.9 – 78.4 %   80.0 %     50.0 %
    spam     30.0 %  21.6 – 39.1 %   20.0 %     50.0 %
    95 % equal-tailed intervals; the mix of the source they come from (population)
    Label shift: not checked; quantify(X, check=True) does.
    >>> full.probability(lambda p: p["spam"] > 0.25)
    0.895
    """

    classes: AnyArray
    prevalence: FloatArray
    classify_and_count: FloatArray | None
    train_prevalence: FloatArray | None
    n_items: int
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)
    estimand: str = "batch"
    draws: FloatArray | None = None
    other_draws: FloatArray | None = None
    unknown: Unknown | None = None
    origin: DrawOrigin | None = None
    checks: dict[str, Check] = field(default_factory=dict)
    answers: Sensitivity | None = None
    batch: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "batch": None}

    def __post_init__(self) -> None:
        check_choice(self.estimand, "estimand", ESTIMANDS)
        K = len(self.classes)
        for name in ("prevalence", "classify_and_count", "train_prevalence"):
            unknown = getattr(self, name) is None and name != "prevalence"
            if not unknown and np.shape(getattr(self, name)) != (K,):
                raise InputError(
                    f"{name} has shape {np.shape(getattr(self, name))}; expected one share for "
                    f"each of the {K} classes."
                )
        n_draws = 0 if self.draws is None else len(self.draws)
        if self.origin is not None and self.origin.number.shape != (n_draws,):
            raise InputError(
                f"origin has shape {self.origin.number.shape}; expected one number for "
                f"each of the {n_draws} draws."
            )
        if self.answers is not None and self.answers.classes.tolist() != self.classes.tolist():
            raise InputError(
                "answers are about other classes than the estimate; expected the same classes in "
                "the same order."
            )
        for name in ("draws", "other_draws"):
            shape = np.shape(getattr(self, name))
            if getattr(self, name) is not None and (
                len(shape) != 2 or shape[1] != K or not all(shape)
            ):
                raise InputError(
                    f"{name} has shape {shape}; expected one row per draw and one column for each "
                    f"of the {K} classes."
                )

    @classmethod
    def from_draws(
        cls,
        classes: Any,
        draws: Any,
        *,
        n_items: int | None = None,
        estimand: str = "population",
        train_prevalence: Any = None,
        classify_and_count: Any = None,
        method: str = "own sampler",
    ) -> Self:
        """Return an estimate from draws of the mix that another sampler made.

        Parameters
        ----------
        classes : sequence
            Class labels, in the order of the columns of ``draws``.
        draws : array-like of shape (draws, K) or (chains, draws, K), or data frame
            Draws from the posterior of the mix: finite, at least 0, each row summing to 1. A data
            frame's columns are matched by class name.
        n_items : int, optional
            Number of items in the batch.
        estimand : {"population", "batch"}
            What the draws are of: the mix of the source, or of these very items.
        train_prevalence : array-like of shape (K,) or dict, optional
            Shares in the reference, which :meth:`weights` and :meth:`adapt` need.
        classify_and_count : array-like of shape (K,) or dict, optional
            Shares of the classifier's decisions.
        method : str
            A name for the method.

        Returns
        -------
        Estimate
            What needs something that is not known, or the items themselves, says so.

        Examples
        --------
        >>> import numpy as np
        >>> from truemix import Estimate
        >>> draws = np.random.default_rng(0).dirichlet([71, 31], size=1000)
        >>> Estimate.from_draws(["ham", "spam"], draws)
        own sampler: the mix
        class  estimate       interval
        ham      69.7 %  60.9 – 78.4 %
        spam     30.3 %  21.6 – 39.1 %
        95 % equal-tailed intervals; the mix of the source they come from (population)
        """
        fields = fields_of_draws(
            classes,
            draws,
            n_items=n_items,
            train_prevalence=train_prevalence,
            classify_and_count=classify_and_count,
            method=method,
        )
        return cls(estimand=estimand, **fields)

    # --- the mix and how sure we are ----------------------------------------------------------

    def of(self, estimand: str) -> Self:
        """Return the estimate of the other estimand from the same run.

        Parameters
        ----------
        estimand : {"batch", "population"}
            The mix of these very items, or of the source that they come from.

        Returns
        -------
        Estimate
            With the draws of that estimand, and their mean as the prevalence. A point estimate is
            the same for both.
        """
        check_choice(estimand, "estimand", ESTIMANDS)
        if estimand == self.estimand:
            return self
        if self.draws is None:
            return replace(self, estimand=estimand)
        if self.other_draws is None:
            raise InputError(
                f"This estimate holds no draws of the {estimand} mix, only of the {self.estimand} "
                f"mix; ask the quantifier for estimand={estimand!r}."
            )
        return replace(
            self,
            estimand=estimand,
            prevalence=self.other_draws.mean(axis=0),
            draws=self.other_draws,
            other_draws=self.draws,
            unknown=None if self.unknown is None else self.unknown.of_the_other_estimand(),
        )

    def draws_of(self, estimand: str) -> FloatArray | None:
        """Return the draws of one estimand, or None if there are none."""
        check_choice(estimand, "estimand", ESTIMANDS)
        return self.draws if estimand == self.estimand else self.other_draws

    def interval(
        self, level: float = 0.95, kind: str = "equal-tailed", simultaneous: bool = False
    ) -> FloatArray:
        """Return an interval for the share of each class.

        Parameters
        ----------
        level : float
            Nominal coverage (of all intervals at once, if ``simultaneous``).
        kind : {"equal-tailed", "hdi"}
            Leave the same probability out on both sides, or be as short as possible.
        simultaneous : bool
            Correct for the number of classes (Bonferroni), so that all intervals hold at once.

        Returns
        -------
        ndarray of shape (K, 2)
            Lower and upper bounds, which belong to the interval. They are draws, not interpolated:
            in the batch view they are counts of items, and can be exactly 0 or 1. Only if there
            are too few draws for the level, bounds are extrapolated beyond them; see
            :func:`truemix.estimates.intervals.interval_of`.
        """
        draws = self._need_draws("interval")
        return interval_of(draws, level, kind, simultaneous=simultaneous)

    def region(self, kind: str = "ellipse-clr", level: float = 0.95) -> Region:
        """Return a region that holds the whole mix with the given probability.

        Parameters
        ----------
        kind : {"ellipse-clr", "ellipse-ilr", "ellipse"}
            An ellipse in centred or isometric log-ratio coordinates (the same region, which stays
            inside the simplex), or in the shares themselves.
        level : float
            Probability that the mix is inside.

        Returns
        -------
        Region
            With ``contains(p)`` for one mix or many.

        Notes
        -----
        Logarithms need positive shares. Where draws can be exactly 0 (always in the batch view),
        shares below half an item are read as half an item, ``0.5 / n_items``, in the draws and in
        ``contains`` alike.
        """
        draws = self._need_draws("region")
        counts = self.estimand == "batch" or not draws.all()
        if counts and not self.n_items:
            raise InputError(
                "region needs the number of items, because some draws are exactly 0; pass n_items "
                "to Estimate.from_draws."
            )
        half_an_item = 0.5 / self.n_items if counts else None
        return region_of(draws, kind, level, smallest_share=half_an_item)

    def probability(self, event: Callable[[DrawsByClass], Any]) -> float:
        """Return the probability of an event.

        Parameters
        ----------
        event : callable
            Gets the draws, indexed by class label, and returns a condition on them:
            ``lambda p: p["spam"] > 0.1`` or ``lambda p: p["a"] + p["b"] > p["c"]``.

        Returns
        -------
        float
        """
        return probability_of(event, self.classes, self._need_draws("probability"))

    def compare(self, other: Estimate, level: float = 0.95) -> Comparison:
        """Return what changed since another estimate: ``new.compare(old)``.

        Parameters
        ----------
        other : Estimate
            The earlier one, of the same classes.
        level : float
            Level of the intervals.

        Returns
        -------
        Comparison
            This estimate minus the other, per class, in the population view: items of two batches
            are different items, so what can rise or fall is the mix of the source. With draws in
            both, also an interval and the probability that the share rose. Draws of estimates from
            the same fitted quantifier are paired by replicate of its references, because an error
            of a replicate affects both batches; all other estimates are treated as independent
            (``paired`` says which, ``docs/uncertainty.md`` when).
        """
        if not isinstance(other, Estimate):
            raise InputError(
                f"An estimate can only be compared with another; got an object of type "
                f"{type(other).__name__!r}."
            )
        return compare(self, other, level)

    def warnings(self, level: float = 0.95) -> list[str]:
        """Return a sentence or two for each diagnostic and each check that failed.

        Parameters
        ----------
        level : float
            Level of the intervals to be used: the higher, the more draws they need.
        """
        failed = list(self.diagnostics.get("failed", []))
        # The diagnostics of samplers cover levels up to 95 % already.
        if self.draws is not None and (level > 0.95 or self.method == "Bootstrap"):
            failed += too_few_draws(len(self.draws), self.diagnostics.get("ess"), level)
        if self.diagnostics.get("converged") is False:
            failed.append(
                f"The solver stopped after {self.diagnostics['iterations']} iterations before it "
                f"converged (gap {self.diagnostics['gap']:.1e})."
            )
        failed.extend(self.diagnostics.get("notes", []))
        failed.extend(check.explanation for check in self.checks.values() if not check.passed)
        return failed

    # --- what follows for single items --------------------------------------------------------

    def weights(self, level: float = 0.95) -> pd.DataFrame:
        """Return importance weights: estimated share over reference share.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        DataFrame
            One row per class: ``weight`` and, with draws, ``lower`` and ``upper``.
        """
        from truemix.estimates.importance_weights import weights_frame

        return weights_frame(self, level)

    def adapt(self, posteriors: Any) -> FloatArray:
        """Return a classifier's posteriors, corrected for the new mix.

        Parameters
        ----------
        posteriors : array-like or data frame of shape (n, K)
            As the classifier gives them under the mix of the reference; a data frame's columns are
            matched by class name.

        Returns
        -------
        ndarray of shape (n, K)
            Posteriors times :meth:`weights`, renormalised, in the order of ``classes``. A row that
            has probability only for classes with an estimated share of 0 cannot be corrected; it is
            returned unchanged, with a note.
        """
        # Imported here because reading data frames needs a library of its own.
        from truemix.estimates.importance_weights import adapt_posteriors

        return adapt_posteriors(self, posteriors)

    # --- to look at, to keep, to hand on ------------------------------------------------------

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a table with one row per class.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        DataFrame
            Columns: ``prevalence``, with draws ``lower`` and ``upper`` (equal-tailed),
            ``classify_and_count`` and ``reference`` (the shares in the reference).
        """
        return estimate_frame(self, level)

    # --- can it be trusted here? --------------------------------------------------------------

    def sensitivity(self, level: float = 0.95) -> pd.DataFrame:
        """Return what other assumptions than label shift say about this batch.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        DataFrame
            One row per assumption, method and class: ``assumption``, ``method``, ``class``,
            ``share``, ``lower``, ``upper``.

        Notes
        -----
        The answers are: label shift by this method, KDEy, EMQ and ACC; label shift of all items but
        those that no mix explains, which may be of any class; covariate shift, by recalibrated
        posteriors (PCC); a mix that is still that of the reference; and a share of items that are
        of none of the classes, which may count for any of them. Intervals are in the population
        view, so that they hold for the batch, too. After a failed check they are part of the
        estimate (``answers``); otherwise they are computed, which takes a few seconds.
        """
        return self._sensitivity(level, "sensitivity").frame()

    def range(self, level: float = 0.95) -> FloatArray:
        """Return the range of all answers of :meth:`sensitivity`, class by class.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        ndarray of shape (K, 2)
        """
        return self._sensitivity(level, "range").range()

    def performance(self, level: float = 0.95) -> Any:
        """Return how good the classifier is on this batch, without labels of it.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        Performance
            ``accuracy``, ``precision``, ``recall`` and ``confusion``, each with an interval.
        """
        batch = self._need_batch("performance")
        with progress("estimate performance"):
            return batch.performance(self, level)

    def choose_items(self, n: int, *, random_state: Any = None) -> pd.DataFrame:
        """Return items whose labels would help most: a probability sample.

        Parameters
        ----------
        n : int
            How many items to label.
        random_state : int, Generator or None
            The same seed gives the same items.

        Returns
        -------
        DataFrame
            One row per item: ``row`` in the batch, and ``inclusion``, the probability with which
            it was chosen. Both are needed by ``quantify(X, labels=…, inclusion=…)``.
        """
        batch = self._need_batch("choose_items")
        with progress("choose items"):
            frame: pd.DataFrame = batch.choose_items(self, n, random_state).frame()
        return frame

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str = "forest",
        sort: str = "class",
        level: float = 0.95,
        reference: bool = True,
        counted: bool = True,
    ) -> Figure | SubFigure:
        """Draw the estimate.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        kind : {"forest", "ternary"}
            One line per class, or the triangle of all mixes of three classes with the draws and
            their region.
        sort : {"class", "share"}
            Classes in their own order, or the largest share first.
        level : float
            Level of the intervals or of the region.
        reference, counted : bool
            Whether to mark the mix of the reference, and the classify-and-count estimate, where
            they are known.

        Returns
        -------
        Figure
            Shows itself in notebooks; ``savefig`` writes it. It is not known to pyplot, so there
            is nothing to close, and no global style is changed. If the check of label shift failed,
            a bar shows the range over other assumptions (:meth:`range`).
        """
        require("matplotlib", "Estimate.plot()")
        from truemix.estimates.plots.forest import draw

        marks = {"reference": reference, "counted": counted}
        return draw(self, ax, kind=kind, sort=sort, level=level, **marks)

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ.

        Returns
        -------
        InferenceData or DataTree
            As the installed ArviZ has it. The posterior holds ``prevalence`` (the population view)
            and ``batch``, as far as there are draws of them, with dimensions chain, draw and class.

        Notes
        -----
        Where draws are spread over replicates of the references, each of four chains holds the
        draws of a quarter of them, so that ``arviz.summary`` shows how well the mean over all
        replicates is known. Otherwise chains are those of the sampler. They are of equal length: of
        longer ones the last draws are left out.
        """
        self._need_draws("to_arviz")
        return arviz_data(self)

    def report(self, path: str | os.PathLike[str], *, level: float = 0.95) -> None:
        """Write the page that ``truemix estimate --report`` writes: one HTML file, no script.

        Parameters
        ----------
        path : path
            The file to write; it appears whole or not at all.
        level : float
            Level of the intervals.
        """
        write_report(self, path, level)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimate to a file of numbers and text, without pickle.

        Parameters
        ----------
        path : path
            The file to write, any name; it appears whole or not at all.
        """
        save_estimate(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimate that :meth:`save` has written.

        Parameters
        ----------
        path : path
            The file; reading it cannot run code.

        Returns
        -------
        Estimate
        """
        return load_estimate(cls, path)

    def __repr__(self) -> str:
        return estimate_table(self).text()

    def _repr_html_(self) -> str:
        return estimate_table(self).html()

    def _sensitivity(self, level: float, what: str) -> Sensitivity:
        """Return the answers that are kept, or compute them for another level."""
        if self.answers is not None:
            if self.answers.level == level:
                return self.answers
            if self.batch is None:
                raise InputError(
                    f"{what} at level {level:g} needs the batch itself, which saved estimates do "
                    f"not hold; this one holds answers at level {self.answers.level:g}."
                )
        batch = self._need_batch(what)
        with progress("try other assumptions"):
            found: Sensitivity = batch.sensitivity(self, level)
        return found

    def _need_batch(self, what: str) -> Any:
        if self.batch is None:
            raise InputError(
                f"{what} needs the batch itself, which saved estimates and those from draws do not "
                "hold; ask the estimate that quantify returns, before it is saved."
            )
        return self.batch

    def _need_draws(self, what: str) -> FloatArray:
        if self.draws is None:
            raise InputError(
                f"{what} needs draws, but this estimate of {self.method} is a point estimate; use "
                "a Bayesian quantifier, such as BayesianKDEy, or Bootstrap."
            )
        return self.draws
