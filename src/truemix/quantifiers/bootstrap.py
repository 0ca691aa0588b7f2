"""Bootstrap: any point quantifier, repeated on resampled items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from truemix._saved_arrays import read_text
from truemix._threads import row_blocks
from truemix._typing import AnyArray, FloatArray, IntArray
from truemix.quantifiers.base import Inference, Quantifier, gathered
from truemix.quantifiers.content_order import reference_order
from truemix.quantifiers.reference_uncertainty import (
    bags_at_once,
    number_of_versions,
    versions_at_once,
)
from truemix.quantifiers.resampled_references import Resamples, resample, restore
from truemix.quantifiers.sampling import (
    ESTIMANDS,
    SEED,
    BayesianMixin,
    resolved_seed,
    seed_of_runs,
)
from truemix.quantifiers.scoring import Scorer, Scoring
from truemix.validation import check_choice, check_integer, parameter_error

ROWS_BYTES = 32 << 20


class Bootstrap(Quantifier):
    """Repeat a point quantifier on batches resampled with replacement.

    The spread of the answers says how much another batch of the same source would differ (the
    population view). It knows nothing of the quantifier's own bias: around CC or PCC the
    intervals are narrow and in the wrong place. For the mix of these very items (the batch view)
    no items are resampled: all draws are the point estimate, unless references are resampled.

    Parameters
    ----------
    quantifier : Quantifier
        A point quantifier, such as ``CC()`` or ``KDEy()``; it is cloned and fitted.
    draws : int
        Number of resampled batches.
    references : bool
        Resample the references too (within each class), so that the spread includes what few
        references leave open. There are 100 resamples of them, made in ``fit``, and each serves
        its part of the draws. Bandwidth and shrinkage of KDEy stay as they were chosen, and a
        classifier is not trained again. It changes nothing for methods that learn nothing from
        the references' posteriors: CC, PCC and EMQ without calibration.
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
    _fitted_seed: int
    # What other references would have taught, if they are resampled.
    _resamples: Resamples | None

    def __init__(
        self,
        quantifier: Any,
        *,
        draws: Any = 1000,
        references: Any = False,
        random_state: Any = None,
        estimand: str = "population",
    ) -> None:
        self.quantifier = quantifier
        self.draws = draws
        self.references = references
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
        if getattr(self.quantifier, "unknown", False):
            raise parameter_error(
                "quantifier",
                "a quantifier without unknown=True",
                self.quantifier,
                "BayesianKDEy(unknown=True) has draws of the unknown share.",
            )
        check_integer(self.draws, "draws")
        if not isinstance(self.references, bool | np.bool_):
            raise parameter_error("references", "True or False", self.references)
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
        order = reference_order(posteriors, codes)
        posteriors, codes = posteriors[order], codes[order]
        fitted = clone(self.quantifier)
        fitted._fit_scored(posteriors, codes, classes, scorer)
        self._adopt(fitted)
        self._resamples = resample(fitted, posteriors, codes) if self.references else None
        self._source = self._fingerprint(posteriors, codes)
        self._fitted_seed = resolved_seed(self.random_state)

    def _evidence(self, posteriors: FloatArray) -> FloatArray:
        return self.quantifier_._evidence(posteriors)

    def _seed(self) -> int:
        return seed_of_runs(self.random_state, self._fitted_seed)

    def _versions(self, scored: FloatArray, seed: int | None) -> FloatArray:
        """Return the quantifier's versions; with resamples, theirs too, below each other.

        The latter has shape ``(1 + resamples, models, n, K)``.
        """
        plain = self.quantifier_._versions(scored, None)
        if self._resamples is None:
            return plain
        numbers = np.arange(self._n_resamples(scored))
        return np.concatenate([plain[None], self._resamples.versions(scored, numbers)])

    def _n_resamples(self, scored: FloatArray) -> int:
        """Return how many resamples of the references are used for these items."""
        n_models, n_items, n_classes = scored.shape
        return min(int(self.draws), number_of_versions(2 * n_models * n_items, n_classes))

    @classmethod
    def _versions_of_many(
        cls, quantifiers: Sequence[Any], scored: FloatArray, seeds: Sequence[int | None]
    ) -> Iterator[tuple[list[int], list[FloatArray]]]:
        kinds: dict[type[Quantifier], list[int]] = {}
        for number, quantifier in enumerate(quantifiers):
            if quantifier._resamples is not None:
                yield [number], [quantifier._versions(scored, seeds[number])]
            else:
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
        if versions.ndim == 3:
            return self._answers(versions, [versions[None]], 1, bags, seed)
        return self._answers(versions[0], [versions[1:]], len(versions) - 1, bags, seed)

    def _infer_scored(
        self, scored: FloatArray, bags: list[IntArray], seed: int | None
    ) -> list[Inference]:
        if self._resamples is None:
            return super()._infer_scored(scored, bags, seed)
        inferences: list[Inference] = []
        for block in bags_at_once(bags, 2 * len(scored) * scored.shape[2]):
            part, own = gathered(scored, block)
            n_resamples = self._n_resamples(part)
            # Twice as large as the versions that are counted there: in double precision.
            at_once = versions_at_once(2 * len(part) * part.shape[1], part.shape[2])
            stacks = (
                self._resamples.versions(part, np.arange(rows.start, rows.stop))
                for rows in row_blocks(n_resamples, at_once)
            )
            plain = self.quantifier_._versions(part, None)
            inferences += self._answers(plain, stacks, n_resamples, own, seed)
        return inferences

    def _answers(
        self,
        plain: FloatArray,
        stacks: Iterable[FloatArray],
        n_resamples: int,
        bags: list[IntArray],
        seed: int | None,
    ) -> list[Inference]:
        """Return the mix of each bag, from its evidence under each resample of the references.

        ``plain`` is the evidence under the references as they are; the resamples come in stacks
        ``(r, models, n, K)``.
        """
        seed = self._seed() if seed is None else seed
        runs = [_Run(rows, int(self.draws), plain.shape[2], seed) for rows in bags]
        ends = _ends(int(self.draws), n_resamples)
        number = 0
        for stack in stacks:
            for versions in stack:
                for run in runs:
                    run.draw(self._learner(number), versions, ends[number], ends[number + 1])
                number += 1
        return [self._inference(run, plain, n_resamples, seed) for run in runs]

    def _learner(self, number: int) -> Quantifier:
        """Return the quantifier as it is after one resample of the references."""
        return self.quantifier_ if self._resamples is None else self._resamples.quantifier(number)

    def _inference(self, run: _Run, plain: FloatArray, n_resamples: int, seed: int) -> Inference:
        views = {"population": run.population, "batch": run.batch}
        draws = views.pop(self.estimand)
        diagnostics = self.quantifier_._infer_bags(plain, [run.rows])[0].diagnostics
        resamples = {} if self._resamples is None else {"resamples": n_resamples}
        return Inference(
            draws.mean(axis=0),
            {**diagnostics, "sampler": "bootstrap", **resamples},
            draws=draws,
            other_draws=views.popitem()[1],
            replicate=None if self._resamples is None else _replicates(len(draws), n_resamples),
            settings={"random_state": seed},
        )

    def _resolved(self) -> dict[str, Any]:
        inner = self.quantifier_
        return {"quantifier": {"method": type(inner).__name__, **inner._settings()}}

    def _state(self) -> dict[str, AnyArray]:
        resampled = {} if self._resamples is None else self._resamples.state()
        own = {"source": np.array(self._source), "seed": np.array(str(self._seed()))}
        return {**self.quantifier_._state(), **resampled, **own}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        self._check_parameters()
        fitted = clone(self.quantifier)
        fitted._restore(state)
        self._adopt(fitted)
        self._resamples = restore(fitted, state) if self.references else None
        self._source = fitted._source
        self._fitted_seed = resolved_seed(int(read_text(state, "seed", SEED)))
        self.n_features_in_ = fitted.n_features_in_


def _ends(n_draws: int, n_resamples: int) -> IntArray:
    """Return where the draws of each resample of the references begin, and the last ends."""
    return np.linspace(0, n_draws, n_resamples + 1).astype(np.intp)


def _replicates(n_draws: int, n_resamples: int) -> IntArray:
    """Return the resample that each draw comes from."""
    return np.repeat(np.arange(n_resamples), np.diff(_ends(n_draws, n_resamples)))


class _Run:
    """The draws of one bag, in both views."""

    def __init__(self, rows: IntArray, n_draws: int, n_classes: int, seed: int) -> None:
        self.rows = rows
        self.rng = np.random.default_rng(seed)
        self.population = np.empty((n_draws, n_classes))
        self.batch = np.empty_like(self.population)

    def draw(self, quantifier: Quantifier, versions: FloatArray, start: int, stop: int) -> None:
        """Fill some draws with the answers on resampled items, and on the items as they are."""
        own, n_items = versions[:, self.rows], len(self.rows)
        everything = np.arange(n_items)
        # A block of resampled batches at a time: all of them need draws x items numbers.
        for block in row_blocks(stop - start, max(1, ROWS_BYTES // (8 * n_items))):
            bags = self.rng.integers(0, n_items, (block.stop - block.start, n_items))
            answers = quantifier._mixes(own, [everything, *bags])
            self.batch[start:stop] = answers[0]
            self.population[start + block.start : start + block.stop] = answers[1:]
