"""Diagnostics as sentences: what was checked, and what it means for the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from truemix._replicate_budget import DIAGNOSED_JOINTLY
from truemix._typing import FloatArray
from truemix.estimates.checks import PASSED
from truemix.estimates.text import about_decisions, about_labels, percent, shown_name

if TYPE_CHECKING:
    from truemix.estimates import Estimate

_SAMPLERS = {
    "gibbs": "Gibbs sampling",
    "nuts": "the No-U-Turn sampler",
    "exact": "exact sampling",
    "metropolis": "Metropolis sampling",
}
_MAX_NAMES = 5


def notes_of(estimate: Estimate) -> list[str]:
    """Return a sentence for each diagnostic that is known here.

    Parameters
    ----------
    estimate : Estimate
        Its other diagnostics are only in the table of all of them.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import Estimate
    >>> half = np.array([0.5, 0.5])
    >>> found = {"converged": True, "gap": 2e-9, "iterations": 7}
    >>> notes_of(Estimate(np.array(["a", "b"]), half, half, half, 10, "KDEy", {}, found))
    ['The best mix was found in 7 steps, to within 2e-09 of the optimum (duality gap of the mean
    log-likelihood).']
    """
    parts = (_about_draws, _about_convergence, _about_divergences, _about_optimum, _about_confusion)
    sentences = [sentence for part in parts for sentence in part(estimate)]
    sentences += _about_reference(estimate) + _about_prior(estimate)
    sentences += about_decisions(estimate.diagnostics)
    sentences += about_sample(estimate.diagnostics) + about_labels(estimate.diagnostics)
    sentences += _about_widening(estimate)
    sentences += [each.explanation for each in estimate.checks.values() if each.verdict == PASSED]
    if not sentences and not estimate.warnings():
        return ["No solver or sampler was needed, so there is nothing that could have gone wrong."]
    return sentences


def _about_widening(estimate: Estimate) -> list[str]:
    widening = estimate.diagnostics.get("widening")
    if not isinstance(widening, Mapping) or not widening.get("n_bags"):
        return []
    n_bags = f"{widening['n_bags']:,} mixtures of the reference items"
    factor = float(widening["factor"])
    if factor <= 1.0:
        return [f"On {n_bags} intervals were wide enough, so these were left as they are."]
    return [
        f"Intervals are {factor:.2g} times as wide as the posterior alone says: on {n_bags} they "
        "would have been too narrow otherwise."
    ]


def _about_draws(estimate: Estimate) -> list[str]:
    draws, found = estimate.draws, estimate.diagnostics
    if draws is None:
        return []
    if found.get("sampler") == "bootstrap":
        return [
            f"{len(draws):,} resampled batches; the intervals cover which items happen to be in "
            "the batch, not errors of the model."
        ]
    how = _SAMPLERS.get(str(found.get("sampler")))
    by = f" by {how}" if how else ""
    ess = _number(found.get("ess"))
    if ess is None:
        unknown = "; too few to estimate their effective sample size" if "ess" in found else ""
        return [f"{len(draws):,} draws{by}{unknown}."]
    # Twice the standard error of the mean, in percentage points.
    error = 200.0 * _standard_error(draws, ess, found.get("mcse"))
    return [
        f"{len(draws):,} draws{by}, effective sample size {ess:,.0f}: the chance in them moves no "
        f"share by more than about {_one_digit(error)} percentage points."
    ]


def _standard_error(draws: FloatArray, ess: float, known: Any) -> float:
    """Return the largest Monte Carlo standard error of a share: as known, or from the ESS."""
    errors = [_number(error) for error in known] if isinstance(known, Iterable) else []
    finite = [error for error in errors if error is not None]
    return max(finite) if finite else float(draws.std(axis=0).max()) / math.sqrt(max(ess, 1.0))


def _about_reference(estimate: Estimate) -> list[str]:
    """Return how much of the variance is due to limited references: that between replicates."""
    found = estimate.diagnostics
    replicates = _number(found.get("replicates"))
    try:
        between, within = (float(sum(found[f"{part}_variance"])) for part in ("between", "within"))
    except (KeyError, TypeError, ValueError):
        return []
    total = between + within
    if replicates is None or not 0.0 < total < math.inf:
        return []
    return [
        f"The reference was reweighted {replicates:.0f} times to see what depends on it: "
        f"{percent(between / total, 0)} of the uncertainty (variance) comes from the reference "
        "being limited, the rest from the batch."
    ]


def about_sample(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return how much of a large batch was looked at, if it was not all of it.

    Examples
    --------
    >>> found = {"n_rows": 1000, "n_items": 50_000, "exact": False, "sampling_error": [0.004]}
    >>> about_sample({"summary": found})
    ['The estimate rests on a sample of 1,000 of the 50,000 items, whose chance moves no share by
    more than about 0.4 percentage points (one standard deviation).']
    """
    found = diagnostics.get("summary")
    if not isinstance(found, Mapping) or found.get("exact") is not False:
        return []
    errors = [_number(error) for error in found.get("sampling_error") or []]
    known = [error for error in errors if error is not None]
    chance = (
        f", whose chance moves no share by more than about {_one_digit(100.0 * max(known))} "
        "percentage points (one standard deviation)"
        if known
        else ""
    )
    return [
        f"The estimate rests on a sample of {found['n_rows']:,} of the {found['n_items']:,} items"
        f"{chance}."
    ]


def _about_convergence(estimate: Estimate) -> list[str]:
    """Return a sentence if chains agree; failures are in ``Estimate.warnings``."""
    found = estimate.diagnostics
    rhat, limit = _number(found.get("rhat")), _number(found.get("rhat_limit"))
    if rhat is None or limit is None or rhat > limit:
        return []
    replicates = _number(found.get("replicates"))
    who = (
        "Chains that started far from the mode and chains that started there"
        if replicates is None or replicates >= DIAGNOSED_JOINTLY
        else "The first and the second half of each chain"
    )
    return [f"{who} agree (R-hat {rhat:.3f}, within the {limit:.3f} that chance explains)."]


def _about_divergences(estimate: Estimate) -> list[str]:
    found = estimate.diagnostics
    count = _number(found.get("divergences"))
    if found.get("sampler") != "nuts" or count is None:
        return []
    if count == 0:
        return ["No trajectory of the sampler diverged: no part of the posterior was out of reach."]
    if any("diverged" in sentence for sentence in estimate.warnings()):
        return []
    return [f"{count:,.0f} trajectories of the sampler diverged, too few to matter."]


def _about_optimum(estimate: Estimate) -> list[str]:
    found = estimate.diagnostics
    gap, steps = _number(found.get("gap")), _number(found.get("iterations"))
    if found.get("converged") is not True or gap is None or steps is None:
        return []
    return [
        f"The best mix was found in {steps:.0f} step{'s' * (steps != 1)}, to within {gap:.0e} of "
        "the optimum (duality gap of the mean log-likelihood)."
    ]


def _about_confusion(estimate: Estimate) -> list[str]:
    found = estimate.diagnostics
    sentences = []
    residual, condition = _number(found.get("residual")), _number(found.get("condition"))
    if residual is not None:
        how = "exactly" if residual < 5e-4 else f"up to {percent(residual)}"
        sentences.append(f"The mix explains {how} how often the classifier decides for each class.")
    if condition is not None:
        sentences.append(
            f"Chance in those counts is magnified up to {condition:.1f} times in the shares "
            "(condition number of the confusion matrix; 1 is best)."
        )
    never = found.get("never_predicted")
    if isinstance(never, list) and never:
        names = ", ".join(shown_name(label) for label in never[:_MAX_NAMES])
        more = f" and {len(never) - _MAX_NAMES} more" if len(never) > _MAX_NAMES else ""
        sentences.append(f"The classifier never decided for {names}{more} in the reference.")
    return sentences


def _about_prior(estimate: Estimate) -> list[str]:
    prior = estimate.diagnostics.get("prior")
    if estimate.settings.get("prior") != "mapls" or prior is None:
        return []
    return [f"The adaptive prior weighs as much as {float(sum(prior)):,.1f} items."]


def _number(value: Any) -> float | None:
    """Return a finite number, or None for anything else a diagnostic may hold."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _one_digit(points: float) -> str:
    """Return a small number of percentage points with one digit, rounded up."""
    if points < 1e-4:
        return "0.0001" if points > 0 else "0"
    digits = max(0, -math.floor(math.log10(points)))
    return f"{math.ceil(points * 10**digits - 1e-9) / 10**digits:g}"
