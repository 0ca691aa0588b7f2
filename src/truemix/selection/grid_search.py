"""Search a grid of settings for the one with the smallest error on held-out bags."""

from __future__ import annotations

import numbers
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from truemix._optional import require
from truemix._progress import progress, progress_bar
from truemix._typing import AnyArray, FloatArray
from truemix.estimates import Estimate, EstimateSet
from truemix.quantifiers import NotFittedError, Quantifier
from truemix.selection._search import Result, search
from truemix.selection._settings import Setting, check_quantifier, configured, expand
from truemix.selection._validation import hold_out
from truemix.selection.scores import check_metric
from truemix.validation import RANGES, parameter_error

if TYPE_CHECKING:
    import pandas as pd


class SearchInterrupted(UserWarning):
    """A search was stopped by the user; its results so far were used."""


class GridSearch(BaseEstimator):
    """Choose parameters of a quantifier and its classifier by the error on held-out bags.

    By default the protocol of Moreo, González and del Coz: 40 % of the items are held out, 100
    bags of 1000 items with mixes from all over the simplex are drawn from them, the setting with
    the smallest mean absolute error wins, and is fitted again on everything. Classifiers are
    trained, distances computed and bags drawn once for all settings that share them.

    Parameters
    ----------
    quantifier : Quantifier
        What to tune; it is cloned. Bayesian quantifiers are scored by their posterior mean.
    grid : dict or list of dict
        Values to try for each parameter, in all combinations: those of the quantifier
        (``bandwidth``), of its classifier (``classifier__C``), or ``classifier`` itself.
    protocol : protocol, optional
        How bags are drawn, from :mod:`truemix.protocols`. Default:
        ``DirichletBags(alpha=1, n_bags=100, bag_size=1000, random_state=0)``.
    metric : str or callable
        ``"absolute_error"``, ``"relative_absolute_error"``, ``"squared_error"``,
        ``"kl_divergence"``, ``"weight_ratio_error"`` (see :mod:`truemix.metrics`), or a function
        of the true and the estimated mix of a bag. The smallest mean wins.
    validation : float or (X, y)
        Share of each class that is held out, or items to draw bags from instead. Their labels may
        be None if the protocol does not need them, because its bags and their mixes are known.
    refit : bool
        Fit the best setting again on everything. Otherwise it stays fitted without the items held
        out.
    n_jobs : int, optional
        Processes that train classifiers, as everywhere in scikit-learn. Results do not depend on
        it. Everything else uses all cores in any case.
    verbose : bool
        Show a progress bar, if stderr is a terminal.

    Attributes
    ----------
    best_params_ : dict
        The setting with the smallest mean error.
    best_score_ : float
        That error.
    best_quantifier_ : Quantifier
        Fitted; :meth:`predict`, :meth:`quantify` and :meth:`quantify_by` ask it.
    records_ : list of dict
        One per setting, in the order of the grid: its parameters, ``score`` (mean over bags),
        ``standard_error``, ``rank`` and ``seconds`` (work shared with other settings counts in
        equal parts).
    results_ : pandas.DataFrame
        The same as a table.
    classes_, train_prevalence_ : ndarray of shape (K,)
        As for every quantifier.
    n_features_in_, feature_names_in_
        Number of columns, and their names if there were any; those of ``best_quantifier_``.

    Notes
    -----
    An interrupted search (Ctrl-C) keeps what is finished: the best setting so far is chosen and
    refitted, and :class:`SearchInterrupted` says how far it came.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import KDEy
    >>> from truemix.selection import GridSearch
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 500), rng.beta(4, 2, 500)])
    >>> labels = np.repeat(["ham", "spam"], 500)
    >>> grid = {"bandwidth": [0.1, 0.3, 1.0, 3.0], "shrinkage": [0.0, 0.5]}
    >>> search = GridSearch(KDEy(), grid).fit(np.column_stack([1 - p, p]), labels)
    >>> len(search.records_)
    8
    >>> search.best_params_["bandwidth"] < 3
    True
    >>> batch = np.concatenate([rng.beta(2, 4, 900), rng.beta(4, 2, 100)])
    >>> search.predict(np.column_stack([1 - batch, batch])).round(1)
    array([0.9, 0.1])
    """

    best_params_: Setting
    best_score_: float
    best_quantifier_: Quantifier
    records_: list[dict[str, Any]]
    classes_: AnyArray
    train_prevalence_: FloatArray

    def __init__(
        self,
        quantifier: Any,
        grid: Any,
        *,
        protocol: Any = None,
        metric: Any = "absolute_error",
        validation: Any = 0.4,
        refit: bool = True,
        n_jobs: int | None = None,
        verbose: bool = True,
    ) -> None:
        self.quantifier = quantifier
        self.grid = grid
        self.protocol = protocol
        self.metric = metric
        self.validation = validation
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, classes: Any = None) -> Self:
        """Try all settings and fit the best one.

        Parameters
        ----------
        X, y, classes
            As for every quantifier: features, or posteriors if it has no classifier, and labels.

        Returns
        -------
        self
        """
        check_quantifier(self.quantifier)
        check_metric(self.metric)
        _check_n_jobs(self.n_jobs)
        settings = expand(self.grid)
        quantifiers = [configured(self.quantifier, setting) for setting in settings]
        validation = hold_out(
            X,
            y,
            classes,
            share=self.validation,
            protocol=self.protocol,
            given=all(each.classifier is None for each in quantifiers),
        )
        finished: list[Result] = []
        interrupted = False
        try:
            with progress_bar("settings", len(settings), shown=self.verbose) as advance:
                for result in search(
                    settings, quantifiers, validation, metric=self.metric, n_jobs=self.n_jobs
                ):
                    finished.append(result)
                    advance(f"best {min(each.score for each in finished):.4g}")
        except KeyboardInterrupt:
            if not finished:
                raise
            interrupted = True
        best = min(finished, key=lambda result: (result.score, result.number))
        finished.sort(key=lambda result: result.number)
        self._numbers = [result.number for result in finished]
        self.records_ = _records(settings, quantifiers, finished)
        self.best_params_, self.best_score_ = settings[best.number], best.score
        self.best_quantifier_ = quantifiers[best.number]
        if self.refit:
            self.best_quantifier_ = configured(self.quantifier, self.best_params_)
            with progress("refit", shown=self.verbose):
                self.best_quantifier_.fit(X, y, classes=classes)
        else:
            self.best_quantifier_.remember_columns(X)
        self.classes_ = self.best_quantifier_.classes_
        self.train_prevalence_ = self.best_quantifier_.train_prevalence_
        if interrupted:
            warnings.warn(
                f"The search was interrupted after {len(finished)} of {len(settings)} settings; "
                "the best of these was taken.",
                SearchInterrupted,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> FloatArray:
        """Estimate the mix of a batch with the best quantifier."""
        return self._best().predict(X)

    def quantify(
        self,
        X: Any,
        *,
        check: bool = False,
        labels: Any = None,
        inclusion: Any = None,
        assumption: str = "robust",
    ) -> Estimate:
        """Estimate the mix of a batch with the best quantifier, with all that is known about it."""
        return self._best().quantify(
            X, check=check, labels=labels, inclusion=inclusion, assumption=assumption
        )

    def quantify_by(self, X: Any, groups: Any, *, check: bool = False) -> EstimateSet:
        """Estimate the mix of each group of items with the best quantifier."""
        return self._best().quantify_by(X, groups, check=check)

    @property
    def results_(self) -> pd.DataFrame:
        """The records as a table, indexed by the number of the setting in the grid."""
        self._best()
        require("pandas", "GridSearch.results_")
        import pandas as pd

        frame = pd.DataFrame(index=self._numbers)
        for name in self.records_[0]:
            values = [record[name] for record in self.records_]
            # dtype object: pandas would convert None to NaN.
            numeric = all(isinstance(value, float | int) for value in values)
            frame[name] = pd.Series(values, frame.index, dtype=None if numeric else object)
        return frame

    @property
    def n_features_in_(self) -> int:
        """Number of columns that a batch must have."""
        return self._best().n_features_in_

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of these columns, where ``fit`` saw any."""
        return self._best().feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if isinstance(self.quantifier, Quantifier):
            tags.input_tags = get_tags(self.quantifier).input_tags
        return tags

    def _best(self) -> Quantifier:
        if not hasattr(self, "best_quantifier_"):
            raise NotFittedError(
                "This GridSearch is not fitted yet; call fit with labelled items before asking for "
                "an estimate."
            )
        return self.best_quantifier_


def _records(
    settings: list[Setting], quantifiers: list[Quantifier], finished: list[Result]
) -> list[dict[str, Any]]:
    """Return what is known of each finished setting."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    scores = [result.score for result in finished]
    ranks = 1 + np.searchsorted(np.sort(scores), scores)
    records = []
    for result, rank in zip(finished, ranks.tolist(), strict=True):
        # A parameter that only other grids of the list name keeps its value in the quantifier.
        known = {**quantifiers[result.number].get_params(), **settings[result.number]}
        records.append(
            {
                **{name: known.get(name) for name in names},
                "score": result.score,
                "standard_error": result.standard_error,
                "rank": rank,
                "seconds": result.seconds,
            }
        )
    return records


def _check_n_jobs(n_jobs: object) -> None:
    whole = isinstance(n_jobs, numbers.Integral) and n_jobs in RANGES["n_jobs"]
    if n_jobs is not None and not (whole and n_jobs != 0):
        expected = f"None or a whole number other than 0, {RANGES['n_jobs']}"
        raise parameter_error("n_jobs", expected, n_jobs, RANGES["n_jobs"].remedy)
