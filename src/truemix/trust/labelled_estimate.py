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
    RobustMixture,
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
    from truemix.quantifiers.scored_batch import ScoredBatch

ROBUST, UNDER_LABEL_SHIFT, NONE = ASSUMPTIONS
# Of estimates that have no draws by themselves.
DRAWS = 1000
# Keeps these random numbers apart from those of the sampler, which has the same seed.
_STREAM = 20
# From here on, and up to here, labels speak for and against the assumption.
AGREE, DISAGREE = 0.5, 0.1
_ASSUMED = "that items of a class look as they did in the reference"


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Labelled items of a batch, and how far to rely on label shift beside them.

    Attributes
    ----------
    labels : BatchLabels
        Which items, and of which class.
    rows : ndarray of int of shape (n,)
        The row of each among the distinct rows of the batch.
    assumption : {"robust", "label-shift", "none"}
        How far to rely on label shift: as far as check and labels allow, fully, or not at all. An
        estimate without draws does not say how sure it is, so that it cannot be weighed against
        labels: ``"robust"`` is then ``"none"``.
    """

    labels: BatchLabels
    rows: IntArray
    assumption: str

    @property
    def n_labels(self) -> int:
        """How many items are labelled."""
        return len(self.rows)

    def applied_to(self, estimate: Estimate) -> Estimate:
        """Return the estimate of the batch that also knows these labels.

        Parameters
        ----------
        estimate : Estimate
            Made without labels.

        Returns
        -------
        Estimate
            With draws of both estimands, and ``diagnostics["labels"]``.
        """
        assumption = self.assumption
        if estimate.draws is None or estimate.other_draws is None:
            if assumption == UNDER_LABEL_SHIFT:
                raise InputError(
                    f"{estimate.method} gives no draws, so that it cannot be weighed against "
                    "labels under label shift; use assumption='none', or a Bayesian quantifier "
                    "such as BayesianKDEy."
                )
            assumption = NONE
        measured = self.measured(estimate)
        components, weight = components_after(estimate, measured, assumption)
        batch, source = self._draws(estimate, measured, components)
        draws, other = (batch, source) if estimate.estimand == "batch" else (source, batch)
        found = {
            "n_labels": self.n_labels,
            "n_items": estimate.n_items,
            "assumption": assumption,
            "weight": weight,
            "counts": self._counts(estimate).tolist(),
            "measured": measured.share.tolist(),
            "slopes": measured.slopes.tolist(),
            "sentence": sentence(self.n_labels, estimate.n_items, assumption, weight),
        }
        return replace(
            estimate,
            prevalence=draws.mean(axis=0),
            draws=draws,
            other_draws=other,
            # Draws are new, and come from no replicate of the references.
            origin=None,
            # Labels have decided between the assumptions.
            answers=None,
            diagnostics={**estimate.diagnostics, "labels": found},
        )

    def measured(self, estimate: Estimate) -> Measurement:
        """Return the mix of the batch as the labels measure it, with predictions for the others."""
        return prediction_powered(
            adapted_posteriors(estimate.batch, estimate),
            estimate.batch.bag.weights,
            self.rows,
            self.labels.codes,
            self.labels.inclusion,
        )

    def _counts(self, estimate: Estimate) -> IntArray:
        return np.bincount(self.labels.codes, minlength=len(estimate.classes))

    def _draws(
        self, estimate: Estimate, measured: Measurement, components: list[Component]
    ) -> tuple[FloatArray, FloatArray]:
        """Return draws of the mix of the batch and of its source."""
        seed = int(getattr(estimate.batch.quantifier.inference_, "seed_", 0))
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM,)))
        n_draws = DRAWS if estimate.draws is None else len(estimate.draws)
        counts = self._counts(estimate)
        if self.n_labels == estimate.n_items:
            # Nothing is left to infer about the batch; its source had only these items.
            share = measured.share[None].repeat(n_draws, axis=0)
            return share, rng.dirichlet(counts + 1.0 / len(counts), n_draws)
        shares, source = draw(components, measured.degrees, n_draws, rng)
        return as_counts(shares, counts, estimate.n_items), on_simplex(source)


def labelled_items(
    batch: ScoredBatch, labels: Any, inclusion: Any, assumption: str
) -> LabelledItems:
    """Return the labelled items of a batch.

    Parameters
    ----------
    batch : ScoredBatch
        With its items.
    labels, inclusion, assumption
        As for :meth:`~truemix.quantifiers.base.Quantifier.quantify`.

    Raises
    ------
    InputError
        For labels that are not those of the batch, or items that are not in memory.
    """
    check_choice(assumption, "assumption", ASSUMPTIONS)
    row_of_item = batch.row_of_item
    known = read_batch_labels(labels, inclusion, batch.quantifier.classes_, len(row_of_item))
    return LabelledItems(known, row_of_item[known.items], assumption)


def components_after(
    estimate: Estimate, measured: Measurement, assumption: str
) -> tuple[list[Component], float | None]:
    """Return what is known after a measurement; in a robust mixture also its weight."""
    batch, source = estimate.draws_of("batch"), estimate.draws_of("population")
    if assumption == NONE or batch is None or source is None:
        return [measured_alone(measured, estimate.n_items)], None
    if assumption == UNDER_LABEL_SHIFT:
        before = label_shift_components(batch, source, 1.0, ())
        return updated(before, measured, estimate.n_items), None
    mixture = RobustMixture.of_draws(batch, source, prior_weight(checked(estimate)))
    return mixture.after(measured, estimate.n_items)


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
