"""Draws of the mix when the classifier's confusion matrix is itself uncertain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truemix._typing import FloatArray, IntArray, Seed
from truemix.exceptions import InputError
from truemix.inference.sampling import MixtureSample, check_seed, check_settings

# Promised effective draws per draw, and how far the sweeps may be thinned to get there.
PROMISED = 0.4
MOST_THINNING = 256


def sample_confusion(
    labelled: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    random_state: Seed = None,
) -> MixtureSample:
    """Draw the mix and the confusion matrix jointly from their posterior, given counts only.

    The model: labelled items of class y are predicted as c with probabilities ``M[y, c]`` (a
    uniform prior on each row), unlabelled ones with probabilities ``pi @ M``, and the mix ``pi``
    has a Dirichlet prior. A temperature raises both likelihoods to the power ``1 / temperature``.

    Parameters
    ----------
    labelled : array-like of shape (K, C)
        Number of labelled items of each class (row) predicted as each class (column).
    predicted : array-like of shape (C,)
        Number of unlabelled items predicted as each class.
    prior, temperature, draws, warmup, random_state
        As for :func:`truemix.inference.sample_mixture`.

    Returns
    -------
    MixtureSample
        ``acceptance`` in the diagnostics is 1 at temperature 1, where every step is exact.

    Notes
    -----
    Gibbs sampling with the unlabelled items' true classes as latent variables. At other
    temperatures the same step is a proposal of a Metropolis-Hastings sampler: it leaves out less
    than half an item per predicted class, so nearly all proposals are accepted.

    Examples
    --------
    >>> sample = sample_confusion([[90, 10], [20, 80]], [55, 45], random_state=0)
    >>> sample.draws.mean(axis=0).round(1)
    array([0.5, 0.5])
    >>> sample.diagnostics["failed"]
    []
    """
    from truemix.inference._diagnostics import FEWEST_DRAWS, effective_sizes
    from truemix.inference._joint_gibbs import joint_sweeps
    from truemix.inference._random import seed_state

    F, counts = _check_counts(labelled, predicted)
    n_classes = len(F)
    settings = check_settings(n_classes, prior, temperature, draws, warmup, "gibbs")
    state = seed_state(check_seed(random_state))
    row_shapes = 1.0 + F / settings.temperature
    powers = counts / settings.temperature
    pi = np.full(n_classes, 1.0 / n_classes)
    M = row_shapes / row_shapes.sum(axis=1, keepdims=True)

    def sweeps(skipped: int, thinning: int) -> tuple[FloatArray, FloatArray, int]:
        result: tuple[FloatArray, FloatArray, int] = joint_sweeps(
            settings.prior, row_shapes, powers, counts, pi, M, state, skipped, settings.draws,
            thinning,
        )  # fmt: skip
        return result

    def worth(kept: FloatArray) -> tuple[float | None, float | None]:
        if len(kept) < FEWEST_DRAWS:
            return None, None
        ess, rhat = effective_sizes(kept)
        return float(ess.min()), float(rhat.max())

    thinning, steps = 1, settings.warmup + settings.draws
    mixes, batch, accepted = sweeps(settings.warmup, 1)
    ess, rhat = worth(mixes)
    while ess is not None and ess < PROMISED * settings.draws and thinning < MOST_THINNING:
        # As many sweeps again, and every second draw of both: nothing is thrown away.
        more, more_batch, more_accepted = sweeps(0, thinning)
        mixes = np.concatenate([mixes, more])[1::2]
        batch = np.concatenate([batch, more_batch])[1::2]
        steps += settings.draws * thinning
        accepted += more_accepted
        thinning *= 2
        ess, rhat = worth(mixes)
    diagnostics: dict[str, Any] = {
        "sampler": "gibbs",
        "reason": "mix and confusion matrix are conjugate given the classes of the items",
        "ess": ess,
        "rhat": rhat,
        "divergences": 0,
        "acceptance": accepted / steps if steps else 1.0,
        "thinning": thinning,
        "steps": steps,
        "failed": [],
    }
    if ess is not None and ess < PROMISED * settings.draws:
        diagnostics["failed"].append(
            f"The effective sample size is {ess:.0f} for {settings.draws} draws; intervals are "
            "noisier than the number of draws suggests."
        )
    return MixtureSample(mixes, batch, diagnostics)


def _check_counts(labelled: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[FloatArray, IntArray]:
    F = np.asarray(labelled, dtype=np.float64)
    N = np.asarray(predicted, dtype=np.float64)
    if F.ndim != 2 or N.ndim != 1 or F.shape[1] != len(N) or F.shape[0] < 1:
        raise InputError(
            f"labelled has shape {F.shape} and predicted {N.shape}; expected (K, C) counts of "
            "labelled items and (C,) counts of predictions."
        )
    for name, values in (("labelled", F), ("predicted", N)):
        if not (np.isfinite(values) & (values >= 0) & (values == np.floor(values))).all():
            raise InputError(f"{name} must hold counts: whole numbers of at least 0.")
    if N.sum() == 0:
        raise InputError("predicted counts no items; at least one is needed.")
    return F, N.astype(np.int64)
