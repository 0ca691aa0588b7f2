"""Backtests: how a quantifier would have done on the user's own labelled items.

The items are split into folds. A quantifier that has learned from all but one estimates mixtures of
the one that was held out, whose truth is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from truemix._seeds import resolved_seed
from truemix._typing import AnyArray, IntArray
from truemix.estimates.intervals import check_level
from truemix.exceptions import InputError
from truemix.quantifiers import NotFittedError, Quantifier
from truemix.quantifiers.content_order import feature_order, reference_order
from truemix.quantifiers.scoring import GivenPosteriors, Scorer, read_labels
from truemix.tables import features_of
from truemix.trust.backtest import Backtest
from truemix.trust.backtest_runs import Plan, planned, run
from truemix.trust.mixtures import Mixtures
from truemix.validation import check_integer, is_number, parameter_error

# Sizes of bags, each about three times the one before; those that half a fold allows, so that many
# mixes can be drawn from it.
LADDER = (30, 100, 300, 1000, 3000)
# Parts of the references that the largest bags are estimated from, too.
PARTS = (0.25, 0.5, 1.0)
# References per class that a part of them has at least, on average.
MIN_PER_CLASS = 4
# Seeds that scikit-learn takes are below this.
_SEEDS = 2**32
# What a fitted quantifier has chosen, and need not choose again.
_CHOSEN = ("bandwidth", "shrinkage")
# Draws of quick backtests: intervals of 95 % are hardly wider than with many more.
MAX_DRAWS = 400


def backtest(
    quantifier: Any,
    X: Any,
    y: Any,
    *,
    bag_size: Any = None,
    n_bags: int = 100,
    n_references: Any = None,
    n_folds: int = 5,
    classes: Any = None,
    level: float = 0.95,
    random_state: Any = None,
    verbose: bool = True,
) -> Backtest:
    """Estimate mixtures of labelled items, and compare with the truth.

    The items are split into folds, stratified by class. For each fold, the quantifier is fitted on
    the others, and estimates bags that are drawn from it: of mixes from all over the simplex, and
    without repeats. So the backtest shows how well the method works on these data if label shift
    holds; whether it holds in a target is what ``quantify(X, check=True)`` tests.

    Parameters
    ----------
    quantifier : Quantifier
        What to test, fitted or not; it is cloned. An already trained classifier is passed as
        ``sklearn.frozen.FrozenEstimator`` and is not trained again.
    X, y, classes
        Labelled items, as for ``fit``.
    bag_size : int or sequence of int, optional
        Items in a bag. Default: 30, 100, 300, … as far as half a fold allows. The summary is about
        the largest. Where a fold has too few items of a class for the size and the mix, the bag is
        smaller.
    n_bags : int
        Bags of each size, spread over the folds.
    n_references : int or sequence of int, optional
        References to learn from, of those that are not held out. Sizes are compared with the
        largest number; smaller ones are tested with the largest bags. Default: a quarter, a half
        and all.
    n_folds : int
        Folds; fewer if a class has fewer items.
    level : float
        Level of the intervals.
    random_state : int, Generator or None
        Seed of folds and bags, and of the quantifier if it has none of its own.
    verbose : bool
        Show a progress bar, if stderr is a terminal.

    Returns
    -------
    Backtest
        With ``frame()``, ``summary()`` and ``plot()``.

    Notes
    -----
    The mix of a bag is drawn from a uniform Dirichlet distribution, and its class counts from a
    multinomial with that mix. What an estimate is compared with depends on its estimand: the
    realised shares (batch), or the mix that they were drawn with (population).

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import EMQ, backtest
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 1000), rng.beta(4, 2, 1000)])
    >>> P, y = np.column_stack([1 - p, p]), np.repeat(["ham", "spam"], 1000)
    >>> tested = backtest(EMQ(), P, y, bag_size=[50, 200], random_state=0)
    >>> tested.summary()["sentence"]
    "On 100 mixtures of your own reference items the mean error was ... points, counting's ...."
    """
    if not isinstance(quantifier, Quantifier):
        raise parameter_error("quantifier", "a truemix quantifier", quantifier)
    check_level(level)
    check_integer(n_bags, "n_bags")
    check_integer(n_folds, "n_folds", kind="cv")
    seed = resolved_seed(random_state)
    # Parameters are checked before anything takes long.
    scoring = quantifier.scoring()
    codes, order = read_labels(X, y, classes)
    # Read before the split, so that messages refer to the user's row numbers, and no fold lacks a
    # decision that others have.
    scorer: Scorer | None = None
    if quantifier.classifier is None:
        table, scorer = scoring.read_references(X, codes, order)
    elif _is_frozen(quantifier.classifier):
        table, scorer = scoring.score_references(X, codes, order)[0], GivenPosteriors(order)
    else:
        table = features_of(X)
    _check_counts(codes, order, trains=scorer is None)
    # In an order of their contents, so that nothing depends on that of the rows. Features are as
    # they were measured; posteriors are computed, and round differently on another processor.
    rows = feature_order(table, codes) if scorer is None else reference_order(table, codes)
    table, codes = _safe_indexing(table, rows), codes[rows]
    candidate = _with_seed(quantifier, seed)

    def fit(rows: IntArray) -> Quantifier:
        fitted: Quantifier = clone(candidate)
        if scorer is not None:
            return fitted.fit_scored(table[rows], codes[rows], order, scorer)
        return fitted.fit(_safe_indexing(table, rows), order[codes[rows]], classes=order)

    def items(rows: IntArray) -> Any:
        return _safe_indexing(table, rows) if scorer is None else table[rows][None]

    plan = planned(codes, order, n_folds=n_folds, n_bags=n_bags, seed=seed)
    plan = plan._replace(sizes=_sizes(bag_size, plan), shares=_shares(n_references, plan))
    return run(plan, fit, items, level, verbose=verbose)


def backtest_of(
    quantifier: Quantifier,
    *,
    bag_size: int = 1000,
    n_bags: int = 100,
    max_references: int = 2000,
    n_folds: int = 5,
    level: float = 0.95,
    random_state: Any = 0,
) -> Backtest | None:
    """Backtest a fitted quantifier on its own references, quickly.

    Its classifier is not trained again: references have posteriors that are out of fold already.
    Nor are bandwidth and shrinkage chosen again, or averaged over those that tie; and there are no
    more than 400 draws. :func:`backtest` repeats all of that in each fold, and takes much longer.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted.
    bag_size : int
        Items in a bag, such as those of the target. If a fold is too small for that, the references
        are split in halves, and bags are as large as these allow.
    n_bags : int
        Number of bags.
    max_references : int
        References that are used; of more, a random part.
    n_folds, level, random_state
        As for :func:`backtest`.

    Returns
    -------
    Backtest or None
        None if the quantifier does not hold its references (it was loaded from a file without
        them), or has a class with a single one.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import KDEy
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 500), rng.beta(4, 2, 500)])
    >>> quantifier = KDEy().fit(np.column_stack([1 - p, p]), np.repeat(["ham", "spam"], 500))
    >>> tested = backtest_of(quantifier, bag_size=50, n_bags=20)
    >>> len(tested.true), tested.summary()["mean_error"] < tested.summary()["counting_error"]
    (20, True)
    """
    if not hasattr(quantifier, "classes_"):
        raise NotFittedError(
            f"This {type(quantifier).__name__} is not fitted yet; call fit with labelled reference "
            "items before it is backtested."
        )
    references = quantifier.references_
    if references is None or np.bincount(references[1]).min() < 2:
        return None
    check_level(level)
    size = check_integer(bag_size, "bag_size")
    seed = resolved_seed(random_state)
    order = quantifier.classes_
    # In proportion: some methods rely on the shares of the references.
    share = max_references / len(references[1])
    kept = Mixtures(seed, len(order)).part(references[1], share)
    posteriors, codes = references[0][kept], references[1][kept]
    candidate = _with_seed(_as_chosen(quantifier), seed)

    def fit(rows: IntArray) -> Quantifier:
        fitted: Quantifier = clone(candidate)
        scorer = quantifier.given_scorer
        return fitted.fit_scored(posteriors[rows], codes[rows], order, scorer)

    # Half of the references and large bags come nearer to a large target than most of them and
    # small bags.
    folds = n_folds if 2 * size * n_folds <= len(codes) else 2
    plan = planned(codes, order, n_folds=folds, n_bags=n_bags, seed=seed)._replace(sizes=(size,))
    return run(plan, fit, lambda rows: posteriors[rows][None], level, verbose=False)


# --- what was asked for -----------------------------------------------------------------------


def _sizes(bag_size: Any, plan: Plan) -> tuple[int, ...]:
    if bag_size is None:
        half = int(np.bincount(plan.fold).min()) // 2
        return tuple(size for size in LADDER if size <= half) or (max(1, half),)
    return _numbers(bag_size, "bag_size")


def _shares(n_references: Any, plan: Plan) -> tuple[float, ...]:
    """Return which shares of the items that are not held out to learn from."""
    n_training = len(plan.codes) - int(np.bincount(plan.fold).max())
    if n_references is None:
        # Less than a few of each class would be next to nothing.
        least = MIN_PER_CLASS * len(plan.classes) / n_training
        return tuple(part for part in PARTS if part == 1.0 or part >= least)
    wanted = _numbers(n_references, "n_references")
    if wanted[-1] > n_training:
        raise InputError(
            f"The 'n_references' parameter asks for {wanted[-1]:,}, but with {plan.n_folds} folds "
            f"only {n_training:,} items are left to learn from; expected at most as many. Lower it "
            "or, if classes have enough items, increase n_folds."
        )
    return tuple(number / n_training for number in wanted)


def _numbers(values: Any, name: str) -> tuple[int, ...]:
    """Return whole numbers that were given as one or as several, in ascending order."""
    if is_number(values):
        values = [values]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise parameter_error(name, "a whole number, or a sequence of them", values)
    found = sorted({check_integer(value, name, kind="bag_size") for value in values})
    if not found:
        raise InputError(f"{name} is empty; expected at least one whole number.")
    return tuple(found)


def _check_counts(codes: IntArray, classes: AnyArray, *, trains: bool) -> None:
    """Raise if a class has too few items to learn from some and hold another one out."""
    counts = np.bincount(codes, minlength=len(classes))
    needed = 3 if trains else 2
    if counts.min() >= needed:
        return
    label, count = classes[int(counts.argmin())].item(), int(counts.min())
    why = "two to train a classifier in folds" if trains else "one to learn from"
    raise InputError(
        f"Class {label!r} has only {count} item{'s' * (count != 1)} in y; a backtest needs at "
        f"least {needed}, {why} and one to hold out. Add items or leave the class out."
    )


# --- quantifiers ------------------------------------------------------------------------------


def _is_frozen(classifier: Any) -> bool:
    return isinstance(classifier, FrozenEstimator)


def _with_seed(quantifier: Quantifier, seed: int) -> Quantifier:
    """Return a clone whose random parts have a seed: their own, or this one."""
    seeded: Quantifier = clone(quantifier)
    parameters = seeded.get_params(deep=True)
    frozen = [f"{name}__" for name, value in parameters.items() if _is_frozen(value)]
    changes = {
        name: seed % _SEEDS
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "random_state"
        and value is None
        and not name.startswith(tuple(frozen))
    }
    seeded.set_params(**changes)
    return seeded


def _as_chosen(quantifier: Quantifier) -> Quantifier:
    """Return a clone with what the fitted quantifier has chosen, and a limited number of draws."""
    model = quantifier.model_
    while not hasattr(model, "bandwidth_") and hasattr(model, "model_"):
        model = model.model_
    copy: Quantifier = clone(quantifier)
    changes: dict[str, Any] = {}
    for path, value in copy.get_params(deep=True).items():
        name = path.rpartition("__")[2]
        if "classifier" in path.split("__"):
            continue
        if name in _CHOSEN and hasattr(model, f"{name}_"):
            changes[path] = getattr(model, f"{name}_")
        elif name == "draws":
            changes[path] = min(value, MAX_DRAWS)
    copy.set_params(**changes)
    return copy
