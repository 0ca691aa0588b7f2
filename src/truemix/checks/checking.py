"""The check of label shift: whether any mix of the reference classes explains a target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray, Seed
from truemix.checks._multiple import discoveries, holm, monte_carlo
from truemix.checks._null import null_bags
from truemix.checks._references import References, check_can_be_checked, references_of
from truemix.checks._statistics import Deviations, Items, Judge, fitted_mix
from truemix.checks.shift_check import FDR, ShiftCheck
from truemix.densities.background import background_log_likelihood
from truemix.estimates.intervals import check_level
from truemix.inference import maximize_mixture
from truemix.quantifiers.base import Quantifier
from truemix.quantifiers.sampling import resolved_seed
from truemix.tables import groups_of

# Bags in the null distribution, and how many of them should lie beyond the level.
N_BAGS = 999
BEYOND = 4
MOST_BAGS = 4_999
# Items of the target that are compared; beyond this a random part of them.
MOST_COMPARED = 2_000
# Quantile of the normal distribution for the power of 80 % that ``detectable`` is about.
POWER = 0.84


def label_shift(
    quantifier: Any, X: Any, *, level: float = 0.05, random_state: Seed = None
) -> ShiftCheck:
    """Check what every quantifier assumes: that items of a class look as in the reference.

    The target is compared with the mix of references that fits it best, in two ways (how unusual
    its items are under that mix, and how they are spread over the simplex), and so are bags drawn
    from the references with that mix. The p-value is the share of bags that fit as badly.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted. With a classifier it must score references and targets alike: ``crossfit=True`` (the
        default of KDEy and BayesianKDEy) or a ``FrozenEstimator``.
    X : array-like or data frame
        The target, as for ``quantifier.quantify``.
    level : float
        How often the check may fail although the assumption holds.
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
    scored = check_can_be_checked(quantifier)._score(X)
    everything = [np.arange(scored.shape[1])]
    return check_scored(quantifier, scored, everything, level=level, random_state=random_state)[0]


def label_shift_by(
    quantifier: Any, X: Any, groups: Any, *, level: float = 0.05, random_state: Seed = None
) -> dict[Any, ShiftCheck]:
    """Check each group of items (week, region, …), corrected for there being many.

    Parameters
    ----------
    quantifier, X, random_state
        As for :func:`label_shift`.
    groups : array-like of shape (n,)
        The group of each item.
    level : float
        How often any group may fail although the assumption holds in all of them.

    Returns
    -------
    dict
        One check per group, in sorted order. ``passed`` follows from ``adjusted_p_value`` (Holm).

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
    scored = check_can_be_checked(quantifier)._score(X)
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
    level, seed = check_level(level), resolved_seed(random_state)
    judge = Judge(references_of(check_can_be_checked(quantifier), _stream(seed, 0)))
    n_null = _number_of_bags(level / len(bags))
    checks = [_check(judge, scored[:, rows], level, n_null, seed) for rows in bags]
    if len(checks) == 1:
        return checks
    values = holm(np.array([check.p_value for check in checks]))
    return [check.adjusted(value) for check, value in zip(checks, values.tolist(), strict=True)]


def _check(judge: Judge, scored: FloatArray, level: float, n_bags: int, seed: int) -> ShiftCheck:
    rng, references = _stream(seed, 1), judge.references
    posteriors, matrix = references.judge_targets(scored, rng)
    n_items = len(matrix)
    compared = np.sort(rng.permutation(n_items)[:MOST_COMPARED])
    part = Items.of(matrix[compared])
    mix = fitted_mix(matrix[compared])
    observed = judge.target(part, posteriors[compared], mix)
    bags = list(null_bags(references.drawn_counts, mix, len(compared), n_bags, rng))
    null = judge.bags(bags)
    scores, null_scores = _standardised(observed, null)
    class_scores, null_class_scores = _in_deviations(observed.classes, null.classes)
    strongest = np.abs(null_class_scores).max(axis=1, keepdims=True)
    # The mix of the items that are compared is that of all, if they are all.
    mix = mix if len(compared) == n_items else fitted_mix(matrix)
    items = Items.of(matrix)
    tails = judge.tail_probabilities(items, mix)
    unusual = discoveries(tails, FDR)
    return ShiftCheck(
        p_value=float(monte_carlo(scores.max(keepdims=True), null_scores.max(axis=1)[:, None])[0]),
        statistic=float(scores.max()),
        null=null_scores.max(axis=1),
        level=level,
        parts={"tail": float(observed.whole[0, 0]), "energy": float(observed.whole[0, 1])},
        scores={"tail": float(scores[0]), "energy": float(scores[1])},
        labels=references.classes,
        prevalence=mix,
        class_scores=class_scores[0],
        class_p_values=monte_carlo(np.abs(class_scores[0]), np.abs(null_class_scores)),
        class_adjusted=monte_carlo(np.abs(class_scores[0]), strongest),
        item_p_values=tails,
        item_classes=(mix * items.likelihood).argmax(axis=1),
        without_unusual=_without(matrix, unusual, mix),
        with_unknown=_with_unknown(references, matrix),
        detectable=_detectable(judge, null, null_scores, mix, level),
        n_compared=len(compared),
        n_references=len(references.codes),
        lonely=references.classes[np.bincount(references.codes) == 1],
        random_state=seed,
    )


def _standardised(observed: Deviations, null: Deviations) -> tuple[FloatArray, FloatArray]:
    """Return the statistics in units of their spread among the bags: ``(2,)`` and ``(B, 2)``.

    A target can have too many unusual items and too few: both count. An energy distance is small
    for any good fit; its cube root is nearly normal, as for a chi-square variable.
    """
    values = np.concatenate([observed.whole, null.whole])
    values[:, 1] = np.cbrt(np.maximum(values[:, 1], 0.0))
    first, rest = _in_deviations(values[:1], values[1:])
    scores = np.concatenate([first, rest])
    scores[:, 0] = np.abs(scores[:, 0])
    return scores[0], scores[1:]


def _in_deviations(observed: FloatArray, null: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Subtract the mean of the bags and divide by their standard deviation, per column."""
    mean, spread = null.mean(axis=0), null.std(axis=0)
    # A column that is the same for all bags, such as that of a class without items, says nothing.
    spread = np.where(spread > 1e-12 * (1.0 + np.abs(mean)), spread, np.inf)
    return (observed - mean) / spread, (null - mean) / spread


def _without(matrix: FloatArray, unusual: Any, mix: FloatArray) -> FloatArray:
    """Return the mix of the items that are not unusual."""
    kept = np.setdiff1d(np.arange(len(matrix)), unusual)
    return maximize_mixture(matrix[kept]).prevalence if 0 < kept.size < len(matrix) else mix


def _with_unknown(references: References, matrix: FloatArray) -> FloatArray:
    """Return the mix with one more class, of items unlike those of any other."""
    unknown = background_log_likelihood(matrix, references.log_likelihood, references.drawn_codes)
    return maximize_mixture(np.column_stack([matrix, unknown])).prevalence


def _detectable(
    judge: Judge, null: Deviations, null_scores: FloatArray, mix: FloatArray, level: float
) -> float:
    """Return the share of wholly unusual items that would be noticed with 80 % probability."""
    critical = np.quantile(null_scores.max(axis=1), 1.0 - level)
    # The tail score of an item beyond all references, less the usual one, which is 1 on average.
    gain = -math.log(judge.own(mix)) - 1.0
    if gain <= 0:
        return 1.0
    return float(min(1.0, (critical + POWER) * null.whole[:, 0].std() / gain))


def _number_of_bags(level: float) -> int:
    return min(MOST_BAGS, max(N_BAGS, math.ceil(BEYOND / level) - 1))


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
