"""What changed between two estimates.

Draws of two batches are independent given the densities of the classes. Where both estimates come
from the same fitted quantifier and it has replicates of these densities, draws are paired by
replicate: an error of a replicate affects both batches, and cancels. All other estimates are
treated as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.estimates.export import by_class
from truemix.estimates.intervals import check_level, interval_of
from truemix.estimates.text import comparison_table
from truemix.exceptions import InputError
from truemix.validation import shown_list

if TYPE_CHECKING:
    import pandas as pd

    from truemix.estimates.estimate import Estimate

# For each common replicate, the rows of the draws of both estimates.
Pairs: TypeAlias = list[tuple[IntArray, IntArray]]
# Random pairs per draw: enough that the pairing adds no visible noise to the interval.
_ROUNDS = 8


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """The change from one estimate to another, class by class, in the population view.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Class labels.
    before, now : ndarray of shape (K,)
        The two estimates.
    difference : ndarray of shape (K,)
        ``now - before``.
    interval : ndarray of shape (K, 2) or None
        Equal-tailed interval of the difference; None unless both estimates have draws.
    prob_increase : ndarray of shape (K,) or None
        Probability that the share is larger now; None unless both estimates have draws.
    paired : bool
        Whether draws were paired by replicate; otherwise they were treated as independent.
    level : float
        Level of the interval.
    method : str
        Name of the quantifier (of both, if they differ).
    n_items, n_items_before : int
        Numbers of items.
    """

    classes: AnyArray
    before: FloatArray
    now: FloatArray
    difference: FloatArray
    interval: FloatArray | None
    prob_increase: FloatArray | None
    paired: bool
    level: float
    method: str
    n_items: int
    n_items_before: int

    def frame(self) -> pd.DataFrame:
        """Return a table with one row per class.

        Columns: ``before``, ``now``, ``difference`` and, with draws, ``lower``, ``upper`` and
        ``prob_increase``.
        """
        columns = {"before": self.before, "now": self.now, "difference": self.difference}
        if self.interval is not None and self.prob_increase is not None:
            columns["lower"], columns["upper"] = self.interval.T
            columns["prob_increase"] = self.prob_increase
        return by_class(self.classes, columns, "Comparison.frame()")

    def __repr__(self) -> str:
        return comparison_table(self).text()

    def _repr_html_(self) -> str:
        return comparison_table(self).html()


def compare(now: Estimate, before: Estimate, level: float) -> Comparison:
    """Return the change from ``before`` to ``now``; see :meth:`truemix.Estimate.compare`."""
    level = check_level(level)
    order = _same_classes(now.classes, before.classes)
    now, before = now.of("population"), before.of("population")
    interval = probability = None
    pairs = _pairs(now, before)
    if now.draws is not None and before.draws is not None:
        old = before.draws[:, order]
        interval = interval_of(_differences(now.draws, old, pairs), level, bounds=(-1.0, 1.0))
        probability = _prob_increase(now.draws, old, pairs)
    methods = dict.fromkeys([now.method, before.method])
    return Comparison(
        classes=now.classes,
        before=before.prevalence[order],
        now=now.prevalence,
        difference=now.prevalence - before.prevalence[order],
        interval=interval,
        prob_increase=probability,
        paired=pairs is not None,
        level=level,
        method=" after ".join(methods),
        n_items=now.n_items,
        n_items_before=before.n_items,
    )


def prob_increase_since(now: Estimate, before: Estimate) -> FloatArray | None:
    """Return the probability that each share rose, or None without draws of the population."""
    new, old = now.draws_of("population"), before.draws_of("population")
    if new is None or old is None:
        return None
    order = _same_classes(now.classes, before.classes)
    return _prob_increase(new, old[:, order], _pairs(now, before))


def _pairs(now: Estimate, before: Estimate) -> Pairs | None:
    """Return the paired rows of draws; None if the estimates are treated as independent."""
    ours, theirs = now.origin, before.origin
    if ours is None or theirs is None or ours.source != theirs.source:
        return None
    # Without a common replicate there is nothing to pair.
    return ours.pairs(theirs) or None


def _prob_increase(now: FloatArray, before: FloatArray, pairs: Pairs | None) -> FloatArray:
    if pairs is None:
        return probability_larger(now, before)
    parts = [probability_larger(now[new], before[old]) for new, old in pairs]
    return np.asarray(np.mean(parts, axis=0))


def probability_larger(now: FloatArray, before: FloatArray) -> FloatArray:
    """Return for each class how often a draw exceeds one of ``before``, over all pairs of draws.

    Examples
    --------
    >>> probability_larger(np.array([[0.2], [0.4]]), np.array([[0.1], [0.2], [0.3]]))
    array([0.66666667])
    """
    smaller = [
        np.searchsorted(np.sort(old), new, "left").mean()
        for new, old in zip(now.T, before.T, strict=True)
    ]
    return np.array(smaller) / len(before)


def _differences(now: FloatArray, before: FloatArray, pairs: Pairs | None) -> FloatArray:
    """Return differences of random pairs of draws, within each replicate if there are any.

    Pairing row by row would be wrong: two runs with one seed share their random numbers, so their
    rows are correlated although, given the replicate, the posteriors are independent. The random
    pairs are the same each time.
    """
    if pairs is None:
        pairs = [(np.arange(len(now)), np.arange(len(before)))]
    rng = np.random.default_rng(0)
    parts = []
    for new, old in pairs:
        n_pairs = _ROUNDS * max(len(new), len(old))
        parts.append(
            now[new[_shuffled(len(new), n_pairs, rng)]]
            - before[old[_shuffled(len(old), n_pairs, rng)]]
        )
    return np.concatenate(parts)


def _shuffled(n: int, length: int, rng: np.random.Generator) -> IntArray:
    """Return row numbers in random order; how often each occurs differs by at most one."""
    rounds = [rng.permutation(n) for _ in range(-(-length // n))]
    return np.concatenate(rounds)[:length]


def _same_classes(now: AnyArray, before: AnyArray) -> list[int]:
    """Return the positions of the classes of ``now`` in ``before``."""
    labels, old = now.tolist(), before.tolist()
    missing = [label for label in labels if label not in old]
    extra = [label for label in old if label not in labels]
    if missing or extra:
        which, where = (missing, "second") if missing else (extra, "first")
        raise InputError(
            f"Class {which[0]!r} is not in the {where} estimate: the classes are "
            f"{shown_list(labels)} and {shown_list(old)}. Only estimates of the same classes can "
            "be compared."
        )
    return [old.index(label) for label in labels]
