"""An estimate, brought up to date by labels of some items of its batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.estimates.checks import LABEL_SHIFT
from truemix.estimates.text import percent
from truemix.exceptions import InputError
from truemix.trust.labels import ASSUMPTIONS, BatchLabels, read_batch_labels
from truemix.trust.prediction_powered import Measurement, prediction_powered
from truemix.trust.responsibilities import adapted_posteriors
from truemix.trust.robust import (
    Component,
    as_counts,
    draw,
    label_shift_components,
    measured_alone,
    on_simplex,
    prior_weight,
    updated,
)
from truemix.validation import check_choice

if TYPE_CHECKING:
    from truemix.estimates import Estimate

ROBUST, UNDER_LABEL_SHIFT, NONE = ASSUMPTIONS
# Of estimates that have no draws by themselves.
DRAWS = 1000
# Keeps these random numbers apart from those of the sampler, which has the same seed.
_STREAM = 20
# From here on, and up to here, labels speak for and against the assumption.
AGREE, DISAGREE = 0.5, 0.1
_ASSUMED = "that items of a class look as they did in the reference"


def with_labels(estimate: Estimate, labels: Any, inclusion: Any, assumption: str) -> Estimate:
    """Return an estimate that also knows labels of some items of its batch.

    Parameters
    ----------
    estimate : Estimate
        As :meth:`~truemix.quantifiers.base.Quantifier.quantify` makes it without labels, of items
        in memory.
    labels, inclusion
        As for ``quantify``.
    assumption : {"robust", "label-shift", "none"}
        How far to rely on label shift: as far as check and labels allow, fully, or not at all. An
        estimate without draws does not say how sure it is, so that it cannot be weighed against
        labels: ``"robust"`` is then ``"none"``.

    Returns
    -------
    Estimate
        With draws of both estimands, and ``diagnostics["labels"]``.

    Raises
    ------
    InputError
        For labels that are not those of the batch.
    """
    check_choice(assumption, "assumption", ASSUMPTIONS)
    row_of_item = estimate.batch.row_of_items()
    known = read_batch_labels(labels, inclusion, estimate.classes, len(row_of_item))
    if estimate.draws is None or estimate.other_draws is None:
        if assumption == UNDER_LABEL_SHIFT:
            raise InputError(
                f"{estimate.method} gives no draws, so that labels cannot be weighed against it "
                "under label shift; use assumption='none', or a Bayesian quantifier such as "
                "BayesianKDEy."
            )
        assumption = NONE
    found = _update(estimate, known, row_of_item, assumption)
    draws, other_draws = found.draws
    if estimate.estimand == "population":
        draws, other_draws = other_draws, draws
    return replace(
        estimate,
        prevalence=draws.mean(axis=0),
        draws=draws,
        other_draws=other_draws,
        # Draws are new, and come from no replicate of the references.
        origin=None,
        diagnostics={**estimate.diagnostics, "labels": found.diagnostics},
    )


@dataclass(frozen=True, eq=False)
class _Update:
    """Draws of the mix of the batch and of its source, and what is to be said about them."""

    draws: tuple[FloatArray, FloatArray]
    diagnostics: dict[str, Any]


def _update(
    estimate: Estimate, known: BatchLabels, row_of_item: IntArray, assumption: str
) -> _Update:
    batch, n_items = estimate.batch, estimate.n_items
    measured = prediction_powered(
        adapted_posteriors(batch, estimate.prevalence),
        batch.bag.weights,
        row_of_item[known.items],
        known.codes,
        known.inclusion,
    )
    counts = np.bincount(known.codes, minlength=len(estimate.classes))
    components = components_after(estimate, measured, assumption)
    rng = np.random.default_rng(np.random.SeedSequence(_seed(estimate), spawn_key=(_STREAM,)))
    n_draws = DRAWS if estimate.draws is None else len(estimate.draws)
    if len(known.items) == n_items:
        # Nothing is left to infer about the batch; of its source these are as many draws.
        share = measured.share[None].repeat(n_draws, axis=0)
        draws = share, rng.dirichlet(counts + 1.0 / len(counts), n_draws)
    else:
        shares, source = draw(components, measured.degrees, n_draws, rng)
        draws = as_counts(shares, counts, n_items), on_simplex(source)
    weight = components[0].weight if assumption == ROBUST else None
    return _Update(
        draws,
        {
            "n_labels": len(known.items),
            "n_items": n_items,
            "assumption": assumption,
            "weight": weight,
            "counts": {str(k): int(n) for k, n in zip(estimate.classes, counts, strict=True)},
            "measured": measured.share.tolist(),
            "slopes": measured.slopes.tolist(),
            "sentence": sentence(len(known.items), n_items, assumption, weight),
        },
    )


def components_after(estimate: Estimate, measured: Measurement, assumption: str) -> list[Component]:
    """Return what is known after a measurement; in a robust mixture, label shift comes first."""
    if assumption == NONE:
        return [measured_alone(measured, estimate.n_items)]
    batch, source = estimate.draws_of("batch"), estimate.draws_of("population")
    if batch is None or source is None:
        return [measured_alone(measured, estimate.n_items)]
    if assumption == UNDER_LABEL_SHIFT:
        before = label_shift_components(batch, source, 1.0, ())
    else:
        before = label_shift_components(batch, source, prior_weight(checked(estimate)))
    return updated(before, measured, estimate.n_items)


def checked(estimate: Estimate) -> float | None:
    """Return the p-value of the check of label shift, None if there was none."""
    if LABEL_SHIFT not in estimate.checks:
        return None
    return float(estimate.checks[LABEL_SHIFT].summary()["p_value"])


def sentence(n_labels: int, n_items: int, assumption: str, weight: float | None) -> str:
    """Return in plain words what labels say of the assumption.

    Examples
    --------
    >>> sentence(50, 1000, "robust", 0.93)
    'Your 50 labels agree with the assumption that items of a class look as they did in the
    reference: 93 %.'
    >>> sentence(1, 1000, "none", None)
    'Your label is used without assuming that items of a class look as they did in the reference.'
    """
    labels = "label is" if n_labels == 1 else f"{n_labels:,} labels are"
    if n_labels == n_items:
        return "All items are labelled: the mix is their count."
    if assumption == NONE:
        return f"Your {labels} used without assuming {_ASSUMED}."
    if weight is None:
        return f"Your {labels} used under the assumption {_ASSUMED}."
    verb, s = ("", "s") if n_labels == 1 else ("s", "")
    shown = percent(weight, 0)
    who = f"Your {n_labels:,} label{verb}"
    if weight >= AGREE:
        return f"{who} agree{s} with the assumption {_ASSUMED}: {shown}."
    if weight > DISAGREE:
        return f"{who} cannot tell whether to assume {_ASSUMED}: {shown}."
    return f"{who} disagree{s} with the assumption {_ASSUMED}: {shown}. The estimate rests on them."


def _seed(estimate: Estimate) -> int:
    return int(getattr(estimate.batch.quantifier.inference_, "seed_", 0))
