"""From scored items to estimates: infer the mix of each bag, and say what is known about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._progress import progress
from truemix._typing import FloatArray, IntArray
from truemix.estimates import Estimate
from truemix.estimates.checks import LABEL_SHIFT, Check
from truemix.estimates.draw_origin import DrawOrigin
from truemix.inference.bags import Bag
from truemix.inference.protocol import MixtureResult
from truemix.quantifiers.assigned import assigned_classes
from truemix.quantifiers.pool import Pool, pool_of_summaries
from truemix.quantifiers.scored_batch import ScoredBatch
from truemix.quantifiers.shares import Shares, split_result
from truemix.quantifiers.wiring import infer, is_spread

if TYPE_CHECKING:
    from truemix.quantifiers.base import Quantifier

# Level of the answers under other assumptions that estimates keep.
ANSWERS_LEVEL = 0.95


def estimates_of_batches(
    batches: Sequence[ScoredBatch],
    places: Sequence[IntArray | None] | None,
    *,
    check: bool,
    answers: bool = True,
) -> list[Estimate]:
    """Return the estimate of each batch.

    Parameters
    ----------
    batches : sequence of ScoredBatch
        By one quantifier.
    places : sequence of ndarray of int, optional
        For each batch, the row of each item in it, if a check is to report on single items.
    check : bool
        Whether to check label shift.
    answers : bool
        Whether estimates whose check failed have answers under other assumptions.
    """
    quantifier, summaries = batches[0].quantifier, [batch.summary for batch in batches]
    pool = pool_of_summaries(summaries)
    checks = _checks(quantifier, pool, places) if check else None
    counted = None
    if quantifier.given_decisions is None:
        counted = [summary.classify_and_count for summary in summaries]
    estimates = []
    several = len(summaries) > 1
    with progress("", len(summaries), "groups", shown=several, inside=True) as work:
        for each in estimates_of_pool(quantifier, pool, checks, counted):
            estimates.append(each)
            work.advance()
    for summary, estimate in zip(summaries, estimates, strict=True):
        error = estimate.diagnostics.pop("sampling_error", None)
        estimate.diagnostics["summary"] = {
            "n_items": summary.n_items,
            "n_rows": summary.n_rows,
            "exact": summary.exact,
            # Matrix products depend on the addresses of arrays in their last digits.
            "sampling_error": None if error is None else [float(f"{e:.6g}") for e in error],
        }
    found = [
        replace(estimate, batch=batch) for estimate, batch in zip(estimates, batches, strict=True)
    ]
    return _with_answers(found) if check and answers else found


def _with_answers(estimates: list[Estimate]) -> list[Estimate]:
    """Return the estimates, those whose check failed with answers under other assumptions."""
    failed = [n for n, each in enumerate(estimates) if not each.checks[LABEL_SHIFT].passed]
    if not failed:
        return estimates
    # Imported here because the other methods are quantifiers themselves.
    from truemix.trust.sensitivity import sensitivities_of

    doubtful = [estimates[n] for n in failed]
    answers = sensitivities_of([each.batch for each in doubtful], doubtful, ANSWERS_LEVEL)
    for n, found in zip(failed, answers, strict=True):
        estimates[n] = replace(estimates[n], answers=found)
    return estimates


def estimates_of_pool(
    quantifier: Quantifier,
    pool: Pool,
    checks: Sequence[dict[str, Check]] | None = None,
    counted: Sequence[FloatArray] | None = None,
) -> Iterator[Estimate]:
    """Yield the estimate of each bag; ``counted`` are shares of decisions where they are known."""
    settings = quantifier.settings()
    results = infer(quantifier.model_, quantifier.inference_, pool.scored, pool.bags)
    for number, (bag, result) in enumerate(zip(pool.bags, results, strict=True)):
        decided = _decided(quantifier, pool, bag) if counted is None else counted[number]
        known = {} if checks is None else checks[number]
        result.diagnostics.update(_about_decisions(quantifier, pool, bag))
        yield _estimate(quantifier, bag, result, decided, known, settings)


def _checks(
    quantifier: Quantifier, pool: Pool, places: Sequence[IntArray | None] | None
) -> list[dict[str, Check]]:
    """Return the checks of each bag, by their names."""
    from truemix.checks.checking import check_bags_of

    # A fixed seed for deterministic methods, so that their checks are deterministic, too.
    seed = getattr(quantifier.inference_, "seed_", 0)
    found = check_bags_of(quantifier, *pool, places, random_state=seed)
    return [{LABEL_SHIFT: each} for each in found]


def _decided(quantifier: Quantifier, pool: Pool, bag: Bag) -> FloatArray:
    """Return the share of items that are assigned to each class, over all models."""
    decisions = assigned_classes(quantifier, pool.scored[:, bag.rows])
    weights = np.broadcast_to(bag.weights, decisions.shape)
    n_classes = len(quantifier.classes_)
    counts = np.bincount(decisions.ravel(), weights.ravel(), minlength=n_classes)
    return np.asarray(counts / counts.sum())


def _about_decisions(quantifier: Quantifier, pool: Pool, bag: Bag) -> dict[str, Any]:
    """Return what is to be known about decisions that were given, for the diagnostics."""
    given = quantifier.given_decisions
    if given is None:
        return {}
    n_unseen = round(float(bag.weights[given.unseen(pool.scored[0, bag.rows])].sum()))
    sentences = given.sentences(n_unseen)
    return {"decisions": {"model": given.model, "n_unseen": n_unseen, "sentences": sentences}}


def _is_calibrated(quantifier: Quantifier) -> bool:
    """Return whether intervals are to be widened where bags of references need it."""
    return (
        bool(getattr(quantifier, "self_calibration", False))
        and is_spread(quantifier.model_, quantifier.inference_)
        and float(quantifier.inference_.temperature) == 1.0
        and hasattr(quantifier.model_, "of_other_references")
    )


def self_calibrated(
    quantifier: Quantifier, n_items: int, shares: Shares, diagnostics: dict[str, Any]
) -> Shares:
    """Return shares with wider draws, if bags of references say so, and say so in diagnostics."""
    if not _is_calibrated(quantifier) or shares.draws is None or shares.other_draws is None:
        return shares
    from truemix.trust.interval_calibration import widened, widening_of

    widening = widening_of(quantifier, n_items)
    views = {"batch": n_items, "population": None}
    asked_for = quantifier.inference_.estimand
    diagnostics["widening"] = widening.summary(asked_for)
    factor, counts = getattr(widening, asked_for), views.pop(asked_for)
    draws = widened(shares.draws, factor, counts)
    [(other, other_counts)] = views.items()
    other_draws = widened(shares.other_draws, getattr(widening, other), other_counts)
    return shares._replace(prevalence=draws.mean(axis=0), draws=draws, other_draws=other_draws)


def _estimate(
    quantifier: Quantifier,
    bag: Bag,
    result: MixtureResult,
    decided: FloatArray,
    checks: dict[str, Check],
    settings: dict[str, Any],
) -> Estimate:
    shares = split_result(result, quantifier.train_prevalence_)
    shares = self_calibrated(quantifier, bag.n_items, shares, result.diagnostics)
    origin = None
    if result.replicate is not None:
        # Draws are spread over replicates of the references.
        source = f"{quantifier._source}-{quantifier.inference_.seed_}"
        origin = DrawOrigin(result.replicate, source)
    return Estimate(
        classes=quantifier.classes_,
        prevalence=shares.prevalence,
        classify_and_count=decided,
        train_prevalence=quantifier.train_prevalence_,
        n_items=bag.n_items,
        method=type(quantifier).__name__,
        settings=settings,
        diagnostics=result.diagnostics,
        estimand=getattr(quantifier.inference_, "estimand", "batch"),
        draws=shares.draws,
        other_draws=shares.other_draws,
        unknown=shares.unknown,
        origin=origin,
        checks=checks,
    )
