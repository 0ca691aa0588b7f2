"""Draws from the joint posterior of the mix and one confusion matrix for each of several judges.

The latent class model with known error rates of few labelled items: given the class of an item, its
judges decide independently. Each has a table of its own, so that there are few cells to learn where
combinations of verdicts would be many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.inference._chains import (
    DISPERSED_STEPPED,
    N_CHAINS,
    dispersed_start,
    is_dispersed,
    near_corner,
    settle,
)
from truemix.inference._checks import as_floats, check_finite
from truemix.inference._failures import failures
from truemix.inference.sampling import MixtureSample, check_seed, check_settings

# Maximum thinning to reach the effective sample size: steps are not compiled.
MAX_THINNING = 64
# No share and no rate is drawn as zero, whose logarithm is no number.
_SMALLEST = 1e-300


def sample_judges(
    labelled: Sequence[npt.ArrayLike],
    verdicts: npt.ArrayLike,
    weights: npt.ArrayLike,
    *,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    sampler: str = "auto",
    random_state: Seed = None,
) -> MixtureSample:
    """Draw the mix from its joint posterior with the confusion matrices of several judges.

    The model: judge j decides for d with probability ``M_j[y, d]`` on an item of class y, whatever
    the other judges say; each row of each matrix has a uniform prior, and the mix a Dirichlet
    prior.

    Parameters
    ----------
    labelled : sequence of array-like of shape (K, D_j)
        For each judge, the number of labelled items of each class (row) by decision (column).
    verdicts : array-like of int of shape (n, J)
        The decision of each judge on unlabelled items.
    weights : array-like of shape (n,)
        How many items each row stands for.
    prior, draws, warmup, random_state
        As for :func:`truemix.inference.sample_mixture`.
    temperature : float
        Only 1.
    sampler : {"auto", "gibbs"}
        Gibbs sampling, with the unlabelled items' true classes as latent variables.

    Returns
    -------
    MixtureSample

    Examples
    --------
    >>> tables = [[[90, 10], [20, 80]], [[80, 20], [10, 90]]]
    >>> verdicts = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> sample = sample_judges(tables, verdicts, [370, 140, 120, 370], random_state=0)
    >>> sample.draws.mean(axis=0).round(1)
    array([0.5, 0.5])
    >>> sample.diagnostics["failed"]
    []
    """
    tables = [as_floats(each, "labelled") for each in labelled]
    codes, counts = np.asarray(verdicts, dtype=np.intp), as_floats(weights, "weights")
    _check_shapes(tables, codes, counts)
    settings = check_settings(len(tables[0]), prior, temperature, draws, warmup, sampler)
    if settings.temperature != 1.0 or settings.sampler == "nuts":
        raise InputError(
            "Judges who are taken as independent need temperature=1 and Gibbs sampling; leave "
            "'temperature' and 'sampler' out, or give more references, so that the combinations "
            "of verdicts can be learned."
        )
    kernel = _Gibbs(tables, codes, np.rint(counts).astype(np.int64), settings.prior,
                    -(-settings.warmup // N_CHAINS), check_seed(random_state))  # fmt: skip
    n_classes = len(tables[0])
    settled = settle(kernel, settings.draws, n_classes, max_thinning=MAX_THINNING)
    mixes, batch = np.split(settled.values, 2, axis=1)
    check_finite("mix", mixes, batch)
    reason = "mix and confusion matrices are conjugate given the classes of the items"
    diagnostics = {"sampler": "gibbs", "reason": reason, **settled.diagnostics}
    diagnostics["failed"] = failures(diagnostics, settings.draws)
    return MixtureSample(np.ascontiguousarray(mixes), np.ascontiguousarray(batch), diagnostics)


class _Gibbs:
    """The joint Gibbs kernel; columns of draws: mix, then realised mix.

    All chains make each step together, as one array: a step of a single one would take as long.
    """

    n_chains = N_CHAINS

    def __init__(
        self,
        tables: list[FloatArray],
        codes: IntArray,
        counts: IntArray,
        prior: FloatArray,
        discard: int,
        seed: np.random.SeedSequence,
    ) -> None:
        self._counts, self._prior, self._discard, self._steps = counts, prior, discard, 0
        sizes = [table.shape[1] for table in tables]
        self._starts, self._sizes = np.cumsum([0, *sizes[:-1]]), np.array(sizes)
        self._known = 1.0 + np.hstack(tables).T
        # One-hot rows of all judges side by side: sums of logarithms and of counts are products.
        self._verdicts = np.zeros((len(codes), sum(sizes)))
        np.put_along_axis(self._verdicts, codes + self._starts, 1.0, axis=1)
        self._rng = np.random.default_rng(seed)
        places = [self._start(number, each) for number, each in enumerate(seed.spawn(N_CHAINS))]
        self._mixes, self._rates = (np.array(each) for each in zip(*places, strict=True))
        self._waiting: dict[int, FloatArray] = {}

    def advance(self, number: int, kept: int, thinning: int) -> FloatArray:
        """Return the next draws of a chain; the first call discards the warm-up of all."""
        if number not in self._waiting:
            discard = 0 if self._steps else 2 * self._discard
            for _ in range(discard):
                self._step()
            draws = np.empty((kept, N_CHAINS, 2 * len(self._prior)))
            for place in range(kept):
                for _ in range(thinning):
                    batch = self._step()
                draws[place] = np.concatenate([self._mixes, batch], axis=1)
            self._steps += N_CHAINS * (discard + kept * thinning)
            self._waiting = {chain: draws[:, chain] for chain in range(N_CHAINS)}
        return self._waiting.pop(number)

    def report(self) -> dict[str, Any]:
        """Return acceptance and steps of all chains so far."""
        return {"divergences": 0, "acceptance": 1.0, "steps": self._steps}

    def _start(self, number: int, seed: np.random.SeedSequence) -> tuple[FloatArray, FloatArray]:
        """Return the initial mix and rates: the uniform mix and the mean rates, or dispersed."""
        n_classes = len(self._prior)
        if not is_dispersed(number, DISPERSED_STEPPED):
            return np.full(n_classes, 1.0 / n_classes), self._closed(self._known)
        mix = near_corner(dispersed_start(seed, n_classes), number // DISPERSED_STEPPED)
        return mix, self._closed(self._rng.standard_exponential(self._known.shape) + 1e-12)

    def _closed(self, rates: FloatArray) -> FloatArray:
        """Return rates ``(…, D, K)`` that add up to one over the decisions of each judge."""
        sums = np.add.reduceat(rates, self._starts, axis=-2)
        return np.asarray(np.maximum(rates / np.repeat(sums, self._sizes, axis=-2), _SMALLEST))

    def _step(self) -> FloatArray:
        """Draw the classes of the items, then mixes and rates; return the realised mixes."""
        rng = self._rng
        joint = self._verdicts @ np.log(self._rates) + np.log(self._mixes)[:, None]
        joint = np.exp(joint - joint.max(axis=2, keepdims=True))
        labels = rng.multinomial(self._counts, joint / joint.sum(axis=2, keepdims=True))
        total = labels.sum(axis=1)
        mixes = np.maximum(rng.standard_gamma(self._prior + total), _SMALLEST)
        self._mixes = mixes / mixes.sum(axis=1, keepdims=True)
        self._rates = self._closed(rng.standard_gamma(self._known + self._verdicts.T @ labels))
        return np.asarray(total / total.sum(axis=1, keepdims=True))


def _check_shapes(tables: list[FloatArray], codes: IntArray, counts: FloatArray) -> None:
    wide = all(table.ndim == 2 and len(table) == len(tables[0]) for table in tables)
    if not wide or codes.ndim != 2 or codes.shape[1] != len(tables):
        raise InputError(
            f"verdicts has shape {codes.shape} and there are {len(tables)} tables; expected one "
            "table (K, D) and one column of verdicts for each judge."
        )
    if counts.shape != codes.shape[:1] or not (counts >= 0).all() or not counts.sum() > 0:
        raise InputError("weights must be how many items each row of verdicts stands for.")
    sizes = [table.shape[1] for table in tables]
    if ((codes < 0) | (codes >= sizes)).any():
        raise InputError("verdicts must be the numbers of columns of their tables, from 0.")
