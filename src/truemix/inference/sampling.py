"""Draws from the posterior of the mix: of the population, and of the batch itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truemix._optional import require
from truemix._typing import FloatArray, IntArray, Seed
from truemix.inference._checks import check_matrix, check_rows, scale_rows
from truemix.inference._plan import Settings
from truemix.inference._samplers import sample_one
from truemix.validation import (
    check_choice,
    check_counts,
    check_integer,
    check_number,
    check_prior,
    check_seed_number,
)

SAMPLERS = ("auto", "gibbs", "nuts")


@dataclass(frozen=True, eq=False)
class MixtureSample:
    """Draws from the posterior of a mix.

    Attributes
    ----------
    draws : array of shape (draws, K)
        The mix of the population that the items come from. All entries are positive.
    batch : array of shape (draws, K)
        For each draw, the realised mix of the items themselves: every item is allocated to a class
        with probability proportional to ``pi_k L_ik``, and the classes are counted. Can be exactly
        0 or 1.
    diagnostics : dict
        ``sampler`` and ``reason`` (of the choice); ``ess``, the smallest bulk effective sample
        size of a class; ``rhat``, the R-hat between chains, and ``rhat_limit``, its critical value;
        ``constant``, the number of shares that are constant over all draws although the items do
        not determine them; ``divergences`` of NUTS; mean ``acceptance`` of NUTS, or of the
        independence proposals (1 without any); ``thinning``, the number of sweeps (Gibbs),
        proposals (Metropolis) or draws (NUTS) per kept draw; ``steps``, the total number of sweeps,
        proposals or gradients; ``failed``, a list of sentences, empty if all diagnostics passed.
    replicate : array of shape (draws,) or None
        The number of the replicate of the matrix that each draw comes from, if there are several.
    """

    draws: FloatArray
    batch: FloatArray
    diagnostics: dict[str, Any]
    replicate: IntArray | None = None


def sample_mixture(
    log_likelihood: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    prior: npt.ArrayLike = 1.0,
    temperature: float = 1.0,
    draws: int = 1000,
    warmup: int = 500,
    sampler: str = "auto",
    random_state: Seed = None,
) -> MixtureSample:
    """Draw from the posterior of the mix of classes.

    The density on the simplex is ``Dirichlet(prior)`` times
    ``prod_i (sum_k pi_k exp(log_likelihood[i, k])) ** (weights[i] / temperature)``.

    Parameters
    ----------
    log_likelihood : array-like of shape (n, K)
        The log-likelihood of each item under each class, up to a constant per row. ``-inf`` means
        impossible; each row needs a possible class.
    weights : array-like of shape (n,), optional
        Number of items that each row stands for; 1 by default. Their scale matters, too.
    prior : float or array-like of shape (K,)
        Parameters of the Dirichlet prior, one for all classes or one each; positive.
    temperature : float
        Above 1 the items count less and the posterior gets wider. The classes of the items given
        the mix, which make ``batch``, are drawn at temperature 1 in any case.
    draws : int
        How many draws to return.
    warmup : int
        How many draws to discard as warm-up: sweeps of Gibbs (up to ten times as many if it mixes
        slowly), or adaptation steps of NUTS (at least 50).
    sampler : {"auto", "gibbs", "nuts"}
        Gibbs sampling by data augmentation, with independence Metropolis proposals where it alone
        mixes slowly (for weights that, divided by the temperature, are whole numbers), or the
        No-U-Turn sampler (needs ``truemix[nuts]``). ``"auto"`` is Gibbs sampling where it is
        possible, else ``"metropolis"``, independence proposals alone.
    random_state : int, Generator or None
        The seed. The same seed and input give the same draws.

    Returns
    -------
    MixtureSample
        Draws of both estimands, with diagnostics.

    Raises
    ------
    InputError
        If the input is not as described; the message names the entry or the parameter.

    Notes
    -----
    Gibbs and Metropolis sampling run eight chains, every second one from near a corner of the
    simplex; NUTS runs four, one of them from far away from the mode. The others start at the mode.
    Sweeps or chains are added until the effective sample size is 400 per 1000 draws, within a
    budget of about half a minute. At least 400 draws are made and diagnosed, even if fewer are
    returned.

    Examples
    --------
    Thirty items are possible under the first class only and ten under the second: the posterior is
    Dirichlet(31, 11), while the mix of these forty items is certain.

    >>> import numpy as np
    >>> from truemix.inference import sample_mixture
    >>> likelihood = np.repeat([[1.0, 0.0], [0.0, 1.0]], [30, 10], axis=0)
    >>> with np.errstate(divide="ignore"):
    ...     sample = sample_mixture(np.log(likelihood), random_state=0)
    >>> sample.draws.mean(axis=0).round(2)
    array([0.74, 0.26])
    >>> sample.batch.mean(axis=0)
    array([0.75, 0.25])
    >>> sample.diagnostics["sampler"], sample.diagnostics["failed"]
    ('gibbs', [])
    """
    values = check_matrix(log_likelihood)
    n, K = values.shape
    w = np.ones(n) if weights is None else check_counts(weights, n)
    settings = check_settings(K, prior, temperature, draws, warmup, sampler)
    seed = check_seed(random_state)
    peaks = check_rows(values, w)
    if not w.all():
        values, peaks, w = values[w > 0], peaks[w > 0], w[w > 0]
    return MixtureSample(*sample_one(scale_rows(values, peaks), w, settings, seed))


def check_settings(
    K: int, prior: npt.ArrayLike, temperature: object, draws: int, warmup: int, sampler: str
) -> Settings:
    """Return the validated parameters of a sample."""
    return Settings(
        check_prior(prior, K),
        check_number(temperature, "temperature"),
        check_integer(draws, "draws"),
        check_integer(warmup, "warmup"),
        check_sampler(sampler),
    )


def check_sampler(sampler: object) -> str:
    """Return a valid sampler whose library is installed."""
    chosen = check_choice(sampler, "sampler", SAMPLERS)
    if chosen == "nuts":
        require("nutpie", "sampler='nuts'")
    return chosen


def check_seed(random_state: Seed) -> np.random.SeedSequence:
    """Return the seed sequence of a ``random_state``; a generator is advanced."""
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    if random_state is None:
        return np.random.SeedSequence()
    return np.random.SeedSequence(check_seed_number(random_state))
