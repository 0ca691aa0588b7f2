"""Bootstrap: any point quantifier, repeated on resampled items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from truemix._threads import row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.quantifiers.base import Inference, Quantifier
from truemix.quantifiers.sampling import ESTIMANDS, BayesianMixin, resolved_seed
from truemix.quantifiers.scoring import Scorer, Scoring
from truemix.validation import check_choice, check_integer, parameter_error

ROWS_BYTES = 32 << 20


class Bootstrap(Quantifier):
    """Repeat a point quantifier on batches resampled with replacement.

    The spread of the answers says how much another batch of the same source would differ (the
    population view). It knows nothing of the quantifier's own bias: around CC or PCC the
    intervals are narrow and in the wrong place. For the mix of these very items (the batch view)
    nothing is resampled, and all draws are the point estimate.

    Parameters
    ----------
    quantifier : Quantifier
        A point quantifier, such as ``CC()`` or ``KDEy()``; it is cloned and fitted.
    draws : int
        Number of resampled batches.
    random_state : int, Generator or None
        The same seed gives the same draws.
    estimand : {"population", "batch"}
        Which view the estimate shows first; ``Estimate.of`` gives the other.

    Attributes
    ----------
    quantifier_ : Quantifier
        The fitted quantifier.

    Examples
    --------
    >>> import numpy as np
    >>> from truemix import CC, Bootstrap
    >>> quantifier = Bootstrap(CC(), random_state=0)
    >>> quantifier = quantifier.fit([[0.9, 0.1], [0.2, 0.8]], ["ham", "spam"])
    >>> batch = np.repeat([[0.7, 0.3], [0.1, 0.9]], [75, 25], axis=0)
    >>> quantifier.quantify(batch).interval().round(2)
    array([[0.67, 0.84],
           [0.16, 0.33]])
    """

    quantifier_: Quantifier

    def __init__(
        self,
        quantifier: Any,
        *,
        draws: Any = 1000,
        random_state: Any = None,
        estimand: str = "population",
    ) -> None:
        self.quantifier = quantifier
        self.draws = draws
        self.random_state = random_state
        self.estimand = estimand

    @property
    def classifier(self) -> Any:
        """The classifier of the quantifier."""
        return getattr(self.quantifier, "classifier", None)

    def _check_parameters(self) -> None:
        if not isinstance(self.quantifier, Quantifier):
            raise parameter_error("quantifier", "a truemix quantifier", self.quantifier)
        if isinstance(self.quantifier, BayesianMixin | Bootstrap):
            raise parameter_error(
                "quantifier",
                "a point quantifier (CC, PCC, ACC, EMQ or KDEy)",
                self.quantifier,
                "Bayesian quantifiers have draws of their own.",
            )
        check_integer(self.draws, "draws", minimum=1)
        check_choice(self.estimand, "estimand", ESTIMANDS)
        resolved_seed(self.random_state)
        self.quantifier._check_parameters()

    def _adopt(self, fitted: Quantifier) -> None:
        self.quantifier_ = fitted
        self.classes_ = fitted.classes_
        self.train_prevalence_ = fitted.train_prevalence_
        self._scorer = fitted._scorer

    def _remember_columns(self, X: Any) -> None:
        super()._remember_columns(X)
        self.quantifier_._remember_columns(X)

    def _scoring(self) -> Scoring:
        scoring: Scoring = self.quantifier._scoring()
        return scoring

    def _fit_scored(
        self, posteriors: FloatArray, codes: IntArray, classes: AnyArray, scorer: Scorer
    ) -> None:
        fitted = clone(self.quantifier)
        fitted._fit_scored(posteriors, codes, classes, scorer)
        self._adopt(fitted)

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        return self.quantifier_._evidence(posteriors)

    def _seed(self) -> int:
        return resolved_seed(self.random_state)

    def _versions(self, scored: FloatArray, seed: int | None) -> FloatArray:
        return self.quantifier_._versions(scored, None)

    @classmethod
    def _versions_of_many(
        cls, quantifiers: Sequence[Any], scored: FloatArray, seeds: Sequence[int | None]
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        kinds: dict[type[Quantifier], list[int]] = {}
        for number, quantifier in enumerate(quantifiers):
            kinds.setdefault(type(quantifier.quantifier_), []).append(number)
        for kind, numbers in kinds.items():
            inner = [quantifiers[number].quantifier_ for number in numbers]
            none = [None] * len(inner)
            for places, versions in kind._versions_of_many(inner, scored, none):
                yield [numbers[place] for place in places], versions

    def _infer(self, evidence: FloatArray) -> Inference:
        return self._infer_bags(evidence[None], [np.arange(len(evidence))])[0]

    def _infer_bags(
        self, versions: FloatArray, bags: list[IntArray], seed: int | None = None
    ) -> list[Inference]:
        seed = self._seed() if seed is None else seed
        return [self._resample(versions[:, rows], seed) for rows in bags]

    def _resample(self, versions: FloatArray, seed: int) -> Inference:
        """Return the answers on resampled items of one bag."""
        rng, n_items = np.random.default_rng(seed), versions.shape[1]
        population = np.empty((int(self.draws), len(self.classes_)))
        # A block of resampled batches at a time: all of them need draws x items numbers.
        for block in row_blocks(len(population), max(1, ROWS_BYTES // (8 * n_items))):
            rows = rng.integers(0, n_items, (block.stop - block.start, n_items))
            population[block] = self.quantifier_._mixes(versions, list(rows))
        point = self.quantifier_._infer_bags(versions, [np.arange(n_items)])[0]
        views = {
            "population": population,
            "batch": np.tile(point.prevalence, (int(self.draws), 1)),
        }
        draws = views.pop(self.estimand)
        return Inference(
            draws.mean(axis=0),
            {**point.diagnostics, "sampler": "bootstrap"},
            draws=draws,
            other_draws=views.popitem()[1],
            settings={"random_state": seed},
        )

    def _resolved(self) -> dict[str, Any]:
        return {"quantifier": self.quantifier_._settings()}

    def _state(self) -> dict[str, AnyArray]:
        return self.quantifier_._state()

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        self._check_parameters()
        fitted = clone(self.quantifier)
        fitted._restore(state)
        self._adopt(fitted)
        self.n_features_in_ = fitted.n_features_in_
