"""The check of label shift: whether any mix of the reference classes explains a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truemix._progress import progress
from truemix._seeds import resolved_seed
from truemix._threads import map_on_cores, one_blas_thread
from truemix._typing import FloatArray, IntArray, Seed
from truemix.batches import is_batched
from truemix.checks._monte_carlo import Comparison, compare, max_bags
from truemix.checks._multiple import critical_value, discoveries, monte_carlo, step_down
from truemix.checks._power import detectable
from truemix.checks._references import check_can_be_checked, references_of
from truemix.checks._statistics import Items, ShiftStatistics, fitted_mix
from truemix.checks._targets import Target, stream, targets_of
from truemix.checks._training_rows import training_rows
from truemix.checks.shift_check import FDR, ShiftCheck
from truemix.inference import maximize_mixture
from truemix.inference.bags import Bag
from truemix.quantifiers.base import Quantifier
from truemix.quantifiers.pool import pool_of_bags, pool_of_summaries
from truemix.summaries import Summary
from truemix.tables import groups_of
from truemix.validation import check_number


def label_shift(
    quantifier: Any, X: Any, *, level: float = 0.05, random_state: Seed = None
) -> ShiftCheck:
    """Test the label shift assumption: items of a class look as they did in the reference.

    The target is compared with the mix of references that fits it best, by two statistics (how
    unusual its items are under that mix, and how they are spread over the simplex). Bags drawn from
    the references with that mix give the null distribution: the p-value is the share of bags that
    fit at least as badly.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted. With a classifier it must score references and targets alike: ``crossfit=True`` (the
        default of KDEy and BayesianKDEy) or a ``FrozenEstimator``.
    X : array-like or data frame
        The target, as for ``quantifier.quantify``.
    level : float
        Significance level: how often the check may fail although the assumption holds.
    random_state : int, Generator or None
        The same seed gives the same p-value.

    Returns
    -------
    ShiftCheck

    Notes
    -----
    Of more than 2,000 items a random part is compared: the check is about deviations that matter,
    and with enough items every small one is significant. Tail probabilities of single items and
    the estimates use all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import KDEy
    >>> from truemix.checks import label_shift
    >>> rng = np.random.default_rng(0)
    >>> def scores(n_ham, n_spam):
    ...     p = np.concatenate([rng.beta(2, 4, n_ham), rng.beta(4, 2, n_spam)])
    ...     return np.column_stack([1 - p, p])
    >>> quantifier = KDEy(bandwidth=0.3, shrinkage=0.1)
    >>> quantifier = quantifier.fit(scores(1000, 1000), ["ham"] * 1000 + ["spam"] * 1000)
    >>> label_shift(quantifier, scores(360, 40), random_state=0).passed
    True
    >>> p = rng.beta(40, 40, 400)  # all of them undecided
    >>> label_shift(quantifier, np.column_stack([1 - p, p]), random_state=0).passed
    False
    """
    known = check_can_be_checked(quantifier)
    with progress("check label shift"):
        return _label_shift(known, X, level, random_state)


def _label_shift(known: Quantifier, X: Any, level: float, random_state: Seed) -> ShiftCheck:
    if isinstance(X, Summary) or is_batched(X):
        summary = X if isinstance(X, Summary) else known.summarize(X)
        pool = pool_of_summaries([summary])
        found = check_bags_of(known, *pool, level=level, random_state=random_state)
    else:
        scored = known.posteriors(X)
        everything = [np.arange(scored.shape[1])]
        found = check_scored(known, scored, everything, level=level, random_state=random_state)
    return found[0]


def label_shift_by(
    quantifier: Any, X: Any, groups: Any, *, level: float = 0.05, random_state: Seed = None
) -> dict[Any, ShiftCheck]:
    """Check each group of items (week, region, …), with p-values adjusted for their number.

    Parameters
    ----------
    quantifier, X, random_state
        As for :func:`label_shift`.
    groups : array-like of shape (n,)
        The group of each item.
    level : float
        Family-wise significance level: how often any group may fail although the assumption holds
        in all of them.

    Returns
    -------
    dict
        One check per group, in sorted order. ``passed`` follows from ``adjusted_p_value``
        (step-down Bonferroni).

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import KDEy
    >>> from truemix.checks import label_shift_by
    >>> rng = np.random.default_rng(0)
    >>> p = np.concatenate([rng.beta(2, 4, 300), rng.beta(4, 2, 300)])
    >>> P = np.column_stack([1 - p, p])
    >>> quantifier = KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, ["ham"] * 300 + ["spam"] * 300)
    >>> months = ["May"] * 100 + ["June"] * 100
    >>> checks = label_shift_by(quantifier, P[200:400], months, random_state=0)
    >>> {month: check.passed for month, check in checks.items()}
    {'May': True, 'June': True}
    """
    scored = check_can_be_checked(quantifier).posteriors(X)
    keys, members = groups_of(groups, scored.shape[1])
    checks = check_scored(quantifier, scored, members, level=level, random_state=random_state)
    return dict(zip(keys, checks, strict=True))


def check_scored(
    quantifier: Quantifier,
    scored: FloatArray,
    bags: list[IntArray],
    *,
    level: float = 0.05,
    random_state: Seed = None,
) -> list[ShiftCheck]:
    """Check each bag of items that have been scored, adjusted for how many bags there are."""
    pool, row = pool_of_bags(scored, bags)
    # The place of each item's row among those of its bag.
    places = [
        np.searchsorted(bag.rows, row[items]) for bag, items in zip(pool.bags, bags, strict=True)
    ]
    return check_bags_of(quantifier, *pool, places, level=level, random_state=random_state)


def check_bags_of(
    quantifier: Quantifier,
    scored: FloatArray,
    bags: list[Bag],
    places: Sequence[IntArray | None] | None = None,
    *,
    level: float = 0.05,
    random_state: Seed = None,
) -> list[ShiftCheck]:
    """Check each bag of rows with counts.

    Parameters
    ----------
    quantifier, level, random_state
        As for :func:`label_shift`.
    scored : ndarray of shape (M, n, K)
        Posteriors of the rows.
    bags : list of Bag
    places : sequence of ndarray of int, optional
        For each bag, the place of each item among its rows, if single items are of interest.
    """
    level = check_number(level, "level", kind="significance")
    seed = resolved_seed(random_state)
    references = references_of(check_can_be_checked(quantifier), stream(seed, 0), len(bags))
    targets = targets_of(references, scored, bags, seed)
    cells = [
        None if each is None else target.cells_of(each)
        for target, each in zip(targets, places or [None] * len(bags), strict=True)
    ]
    with one_blas_thread():
        return _checks(ShiftStatistics(references), targets, cells, level, seed)


def _checks(
    statistics: ShiftStatistics,
    targets: list[Target],
    cells: list[IntArray | None],
    level: float,
    seed: int,
) -> list[ShiftCheck]:
    most = max_bags(level, len(targets))
    found = map_on_cores(lambda target: compare(statistics, target, most), targets, "checks")
    nulls = [each.null_statistics for each in found]
    adjusted = step_down(np.array([each.statistic for each in found]), nulls)
    critical = critical_value(nulls, level)

    def described(number: int) -> ShiftCheck:
        target, each, p_value = targets[number], found[number], float(adjusted[number])
        return _shift_check(
            statistics,
            target,
            each,
            cells[number],
            level=level,
            cause=_cause(statistics, target, each, failed=p_value <= level),
            detectable=detectable(statistics, target, each, critical),
            adjusted_p_value=p_value if len(targets) > 1 else None,
            random_state=seed,
        )

    return map_on_cores(described, range(len(targets)))


def _shift_check(
    statistics: ShiftStatistics,
    target: Target,
    found: Comparison,
    cells: IntArray | None,
    **known: Any,
) -> ShiftCheck:
    """Return the check of one target, with single items if their cells are known."""
    references, matrix, counts = statistics.references, target.log_likelihood, target.counts
    # The mix of the items that are compared is that of all, if they are all.
    everything = len(target.compared) == target.n_items
    mix = found.mix if everything else fitted_mix(matrix, counts)
    items = Items.of(matrix)
    tails = statistics.tail_probabilities(items, mix)
    alike = (mix * items.likelihood).argmax(axis=1)
    shown = slice(None) if cells is None else cells
    class_scores, null_class_scores = found.by_class()
    strongest = np.abs(null_class_scores).max(axis=1, keepdims=True)
    return ShiftCheck(
        p_value=found.p_value,
        statistic=found.statistic,
        null=found.null_statistics,
        parts={
            "tail": float(found.observed.whole[0, 0]),
            "energy": float(found.observed.whole[0, 1]),
        },
        scores={"tail": abs(float(found.scores[0])), "energy": float(found.scores[1])},
        labels=references.classes,
        prevalence=mix,
        class_scores=class_scores,
        class_p_values=monte_carlo(np.abs(class_scores), np.abs(null_class_scores)),
        class_adjusted=monte_carlo(np.abs(class_scores), strongest),
        item_p_values=tails[shown],
        item_classes=alike[shown],
        item_counts=counts if cells is None else None,
        without_unusual=_without(matrix, counts, discoveries(tails, FDR, counts), mix),
        with_unknown=maximize_mixture(
            np.column_stack([matrix, target.unknown]), weights=counts
        ).prevalence,
        decisions_only=not references.can_reveal(target.posteriors),
        n_compared=len(target.compared),
        n_references=len(references.codes),
        lonely=references.classes[np.bincount(references.codes) == 1],
        **known,
    )


def _cause(
    statistics: ShiftStatistics, target: Target, found: Comparison, *, failed: bool
) -> str | None:
    """Return a likely cause, for a target that does not pass."""
    if failed or not statistics.references.can_reveal(target.posteriors):
        return training_rows(statistics.references, target.posteriors, target.counts, found.mix)
    return None


def _without(
    matrix: FloatArray, counts: FloatArray, unusual: IntArray, mix: FloatArray
) -> FloatArray:
    """Return the mix of the items that are not unusual."""
    kept = np.setdiff1d(np.arange(len(matrix)), unusual)
    if not 0 < kept.size < len(matrix):
        return mix
    return maximize_mixture(matrix[kept], weights=counts[kept]).prevalence
