"""Out-of-fold likelihoods of references and targets: each under densities it was not used for.

Under label shift items of a class have the same distribution in reference and target, so the two
differ only if they are treated differently. Here they are treated alike. The likelihood of a
reference is computed with the densities of the other folds; each target is assigned to a fold too
and uses the same densities. Where a classifier was cross-fitted, each reference was scored by the
one model that had not seen it; each target uses the scores of one model, all models in equal parts.

Posteriors with few distinct values, such as decisions (one-hot rows), need more care. A value that
is frequent in one fold is rarer in the others, so a reference has a smaller density under its own
class than a target does. Then half of the references make the densities, and only the other half
is compared with targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.exceptions import InputError
from truemix.models import KernelDensity
from truemix.models.bandwidth_selection import BANDWIDTHS, choose_smoothing
from truemix.models.out_of_fold import (
    N_FOLDS,
    at_most,
    folds_of,
    out_of_fold_log_likelihood,
)
from truemix.quantifiers.base import NotFittedError, Quantifier
from truemix.validation import parameter_error

# References that make the densities, and those that bags are drawn from (fewer for many targets):
# of more, a random part is used. More would detect deviations too small to matter, at a cost that
# grows with the product.
MAX_REFERENCES = 20_000
MAX_DRAWN = 2_000
MAX_DRAWN_FOR_MANY = 1_000
MANY_TARGETS = 10
# Smoothing for quantifiers without kernel densities; only the bandwidth is chosen, because the
# check depends little on it, and the whole grid takes many times as long.
KERNEL = "aitchison"
SHRINKAGE = 0.5
# Posteriors that agree in this many digits are equal. They are discrete if nearly all references
# share their value with others.
DIGITS = 6
FEW_COPIES = 5
RARE = 0.01


# From the references (with classes and folds) and items (with folds) to their log-likelihood.
_Labelled = tuple[FloatArray, IntArray, IntArray]
OutOfFold = Callable[[_Labelled, tuple[FloatArray, IntArray]], FloatArray]


@dataclass(frozen=True, eq=False)
class References:
    """The references of a quantifier, and the likelihood of items under them."""

    classes: AnyArray
    posteriors: FloatArray  # (m, K)
    codes: IntArray
    fold: IntArray
    drawn: IntArray  # rows that bags are drawn from, ordered by class
    values: FloatArray  # the distinct posteriors
    out_of_fold: bool  # whether they are known to be scored by models that had not seen them
    likelihood: OutOfFold

    @cached_property
    def drawn_codes(self) -> IntArray:
        """The class of each item that bags are drawn from."""
        return self.codes[self.drawn]

    @cached_property
    def drawn_counts(self) -> IntArray:
        """How many items of each class bags are drawn from."""
        return np.bincount(self.drawn_codes, minlength=len(self.classes))

    @cached_property
    def drawn_posteriors(self) -> FloatArray:
        """The posteriors of the items that bags are drawn from."""
        return self.posteriors[self.drawn]

    @cached_property
    def log_likelihood(self) -> FloatArray:
        """The out-of-fold log-likelihood of the items that bags are drawn from."""
        return self.log_likelihood_of(self.drawn_posteriors, self.fold[self.drawn])

    def log_likelihood_of(self, posteriors: FloatArray, fold: IntArray) -> FloatArray:
        """Return the log-likelihood of items ``(n, K)``, each under references of other folds."""
        return self.likelihood((self.posteriors, self.codes, self.fold), (posteriors, fold))

    def can_reveal(self, posteriors: FloatArray) -> bool:
        """Return whether a mix could fail to explain items with these posteriors.

        With no more distinct values than classes, such as decisions (one-hot rows), a mix has as
        many free parameters as there are shares to explain, and explains nearly any.
        """
        n_classes = len(self.classes)
        if len(self.values) > n_classes:
            return True
        both = np.concatenate([self.values, posteriors.round(DIGITS)])
        return len(np.unique(both, axis=0)) > n_classes

    @cached_property
    def target_folds(self) -> IntArray:
        """The folds that targets are assigned to in equal parts: those of the drawn items."""
        return np.unique(self.fold[self.drawn])


def references_of(
    quantifier: Quantifier, rng: np.random.Generator, n_targets: int = 1
) -> References:
    """Return the references of a fitted quantifier in a form that targets can be compared with."""
    posteriors, codes = scored_references(quantifier)
    likelihood = _likelihood(quantifier, posteriors, codes)
    kept = at_most(MAX_REFERENCES, codes, rng)
    posteriors, codes = posteriors[kept], codes[kept]
    values, discrete = _values(posteriors)
    fold = folds_of(codes, rng, 2 if discrete else N_FOLDS)
    compared = np.arange(len(codes))
    if discrete:
        # The only item of a class is needed on both sides.
        compared = np.flatnonzero((fold == 0) | (np.bincount(codes)[codes] == 1))
        fold[compared] = 0
    most = MAX_DRAWN if n_targets <= MANY_TARGETS else MAX_DRAWN_FOR_MANY
    drawn = compared[at_most(most, codes[compared], rng)]
    return References(
        classes=quantifier.classes_,
        posteriors=posteriors,
        codes=codes,
        fold=fold,
        drawn=drawn[np.argsort(codes[drawn], kind="stable")],
        values=values,
        # A classifier that may be checked and is trained here is cross-fitted.
        out_of_fold=not (
            quantifier.classifier is None or isinstance(quantifier.classifier, FrozenEstimator)
        ),
        likelihood=likelihood,
    )


def _values(posteriors: FloatArray) -> tuple[FloatArray, bool]:
    """Return the distinct posteriors, and whether nearly all items share theirs with others."""
    values, value, counts = np.unique(
        posteriors.round(DIGITS), axis=0, return_inverse=True, return_counts=True
    )
    return values, bool((counts[value.ravel()] < FEW_COPIES).mean() <= RARE)


def check_can_be_checked(quantifier: object) -> Quantifier:
    """Refuse what is not a fitted quantifier whose references and targets are scored alike."""
    if not isinstance(quantifier, Quantifier):
        raise parameter_error("quantifier", "a truemix quantifier", quantifier)
    name = type(quantifier).__name__
    if not hasattr(quantifier, "classes_"):
        raise NotFittedError(
            f"This {name} is not fitted yet; call fit with labelled reference items before "
            "checking a target."
        )
    if quantifier.classifier is None:
        return quantifier
    if getattr(quantifier.model_, "hard", False):
        raise InputError(
            f"This {name} keeps only the classifier's decisions, which nearly any mix explains; "
            "the check needs posteriors. Use KDEy, EMQ or PCC, or fit on posteriors."
        )
    if not quantifier.crossfit and not isinstance(quantifier.classifier, FrozenEstimator):
        raise InputError(
            f"This {name} scores targets with a classifier refitted on all references, and "
            "references with models that had not seen them, so the two differ even where nothing "
            "has changed; the check needs both scored alike. Fit with crossfit=True, or pass a "
            "trained classifier as FrozenEstimator with held-out references."
        )
    return quantifier


def scored_references(quantifier: Quantifier) -> tuple[FloatArray, IntArray]:
    """Return the posteriors and class numbers of the references, as far as they are kept."""
    kept = quantifier.references_
    if kept is None:
        raise InputError(
            f"This {type(quantifier).__name__} was loaded from a file, which holds no reference "
            "items; the check compares targets with them. Fit it again, or save a KDEy, whose "
            "file does hold them."
        )
    return kept


def _likelihood(quantifier: Quantifier, posteriors: FloatArray, codes: IntArray) -> OutOfFold:
    """Return the likelihood by densities of posteriors, or by shares of decisions."""
    model: Any = quantifier.model_
    while not isinstance(model, KernelDensity) and hasattr(model, "model_"):
        model = model.model_
    if quantifier.given_decisions is not None:
        return partial(_of_decisions, model=model, n_classes=len(quantifier.classes_))
    if isinstance(model, KernelDensity):
        return partial(_of_densities, smoothing=(model.kernel, model.bandwidth_, model.shrinkage_))
    choice = choose_smoothing(posteriors, codes, KERNEL, BANDWIDTHS[KERNEL], (SHRINKAGE,))
    return partial(_of_densities, smoothing=(KERNEL, choice.bandwidth, SHRINKAGE))


def _of_densities(
    references: tuple[FloatArray, IntArray, IntArray],
    items: tuple[FloatArray, IntArray],
    smoothing: tuple[str, float, float],
) -> FloatArray:
    kernel, bandwidth, shrinkage = smoothing
    matrix: FloatArray = out_of_fold_log_likelihood(
        references, items, kernel, np.array([bandwidth]), shrinkage
    )[0]
    return matrix


def _of_decisions(
    references: tuple[FloatArray, IntArray, IntArray],
    items: tuple[FloatArray, IntArray],
    model: Any,
    n_classes: int,
) -> FloatArray:
    rows, codes, fold = references
    matrix = np.empty((len(items[0]), n_classes))
    for f in np.unique(items[1]):
        here, others = items[1] == f, fold != f
        learned = clone(model, safe=False).fit(rows[others], codes[others], n_classes)
        matrix[here] = learned.log_likelihood(items[0][here])
    return matrix
