"""The work of a backtest: fit without each fold, estimate mixtures of it, keep what is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from truemix._progress import progress
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.estimates import Estimate
from truemix.models.out_of_fold import folds_of
from truemix.quantifiers import Quantifier
from truemix.trust.backtest import Backtest
from truemix.trust.mixtures import Mixture, Mixtures


class Plan(NamedTuple):
    """What to do: folds, sizes of bags, and shares of the references, the latter two ascending."""

    classes: AnyArray
    codes: IntArray
    fold: IntArray
    n_folds: int
    n_bags: int
    seed: int
    sizes: tuple[int, ...] = ()
    shares: tuple[float, ...] = (1.0,)

    @property
    def mixtures(self) -> Mixtures:
        """What draws bags and parts of the references."""
        return Mixtures(self.seed, len(self.classes))


def planned(codes: IntArray, classes: AnyArray, *, n_folds: int, n_bags: int, seed: int) -> Plan:
    """Return a plan with stratified folds; as many as asked for, if each class has as many items.

    Examples
    --------
    >>> codes = np.repeat([0, 1], [90, 3])
    >>> plan = planned(codes, np.array(["ham", "spam"]), n_folds=5, n_bags=100, seed=0)
    >>> plan.n_folds, np.bincount(plan.fold), np.bincount(plan.fold[codes == 1])
    (3, array([31, 31, 31]), array([1, 1, 1]))
    """
    n_folds = int(min(n_folds, np.bincount(codes).min()))
    fold = folds_of(codes, Mixtures(seed, len(classes)).for_folds(), n_folds)
    return Plan(classes, codes, fold, n_folds, n_bags, seed)


class _Tested(NamedTuple):
    """One bag, the number of it, and what was estimated."""

    reference_step: int
    bag_size: int
    number: int
    fold: int
    n_references: int
    mixture: Mixture
    estimated: FloatArray
    counted: FloatArray
    interval: FloatArray | None
    joint_interval: FloatArray | None
    failed: bool
    method: str
    estimand: str


def run(
    plan: Plan,
    fit: Callable[[IntArray], Quantifier],
    items: Callable[[IntArray], Any],
    level: float,
    *,
    verbose: bool,
) -> Backtest:
    """Return the backtest of what is planned.

    Parameters
    ----------
    plan : Plan
    fit : callable
        Takes rows, and returns a quantifier that has learned from them.
    items : callable
        Takes rows, and returns what ``quantify_bags`` of that quantifier takes.
    level : float
        Level of the intervals.
    verbose : bool
        Show a progress bar.
    """
    n_steps = len(plan.shares)
    total = plan.n_bags * (len(plan.sizes) + n_steps - 1)
    tested: list[_Tested] = []
    with progress("backtest", total, "bags", shown=verbose) as work:
        for fold in range(min(plan.n_folds, plan.n_bags)):
            held_out, others = np.flatnonzero(plan.fold == fold), np.flatnonzero(plan.fold != fold)
            pool = items(held_out)
            for step, share in enumerate(plan.shares):
                kept = others[plan.mixtures.part(plan.codes[others], share, fold)]
                # Fewer references are tried on the largest bags only.
                sizes = plan.sizes if step == n_steps - 1 else plan.sizes[-1:]
                drawn = _bags(plan, fold, plan.codes[held_out], sizes)
                fitted = fit(kept)
                estimates = fitted.quantify_bags(pool, [bag.rows for _, _, bag in drawn])
                for (size, number, bag), estimate in zip(drawn, estimates, strict=True):
                    asked = (step, size, number, fold, len(kept), bag)
                    tested.append(_Tested(*asked, *_kept(estimate, level)))
                    work.advance(1, f"fold {fold + 1} of {plan.n_folds}")
    # Most references first, then by size.
    tested.sort(key=lambda each: (-each.reference_step, each.bag_size, each.number))
    return _result(plan, tested, level)


def _bags(
    plan: Plan, fold: int, codes: IntArray, sizes: Sequence[int]
) -> list[tuple[int, int, Mixture]]:
    """Return the bags of one fold, which has items of these classes: size, number and bag."""
    members = [np.flatnonzero(codes == k) for k in range(len(plan.classes))]
    mixtures, numbers = plan.mixtures, range(fold, plan.n_bags, plan.n_folds)
    return [
        (size, number, mixtures.draw(members, number, size)) for size in sizes for number in numbers
    ]


def _kept(estimate: Estimate, level: float) -> Iterator[Any]:
    """Yield what is kept of an estimate: its draws, of many bags, would fill the memory."""
    draws = estimate.draws is not None
    yield estimate.prevalence
    yield estimate.classify_and_count
    yield estimate.interval(level) if draws else None
    yield estimate.interval(level, simultaneous=True) if draws else None
    yield bool(estimate.diagnostics.get("failed")) or estimate.diagnostics.get("converged") is False
    yield estimate.method
    yield estimate.estimand


def _result(plan: Plan, tested: list[_Tested], level: float) -> Backtest:
    first = tested[0]

    def column(name: str) -> Any:
        return np.array([getattr(each, name) for each in tested])

    def bounds(name: str) -> FloatArray | None:
        return None if getattr(first, name) is None else column(name)

    # An estimand has the name of its truth.
    truth = np.array([getattr(each.mixture, first.estimand) for each in tested])
    return Backtest(
        classes=plan.classes,
        method=first.method,
        estimand=first.estimand,
        level=level,
        n_labelled=len(plan.codes),
        n_folds=plan.n_folds,
        random_state=plan.seed,
        fold=column("fold"),
        bag_size=column("bag_size"),
        n_items=np.array([len(each.mixture.rows) for each in tested]),
        n_references=column("n_references"),
        reference_step=column("reference_step"),
        true=truth,
        estimated=column("estimated"),
        counted=column("counted"),
        interval=bounds("interval"),
        joint_interval=bounds("joint_interval"),
        failed=column("failed"),
    )
