"""Thresholds of the diagnostics, and a sentence for each one that a sample fails."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from truemix._replicate_budget import DIAGNOSED_JOINTLY

# The effective sample size per draw that samplers aim for.
PROMISED = 0.4
# An interval of level 95 % needs at least one effective draw beyond each end, 1 / 0.025.
MIN_DRAWS = 40
# Tolerated share of divergent trajectories: each is a rejected step, harmless if rare.
DIVERGENT = 1e-3
# Probability that R-hat exceeds its limit although the chains have converged.
FALSE_ALARM = 1e-4
# An R-hat below this is harmless, even if it differs significantly from 1.
HARMLESS = 1.01
# Larger values of R-hat are shown as "beyond" this one.
MAX_RHAT = 100


def rhat_limit(ess: float, n_chains: int, n_classes: int) -> float:
    """Return the critical value of R-hat: the largest that is due to chance.

    For m converged chains with ess / m independent draws each, (R-hat^2 - 1) ess / m follows an
    F distribution. The false-alarm rate is corrected for K classes with two R-hats each.

    Examples
    --------
    >>> round(rhat_limit(400.0, 2, 3), 3)
    1.046
    """
    from scipy.special import fdtri

    degrees = n_chains - 1.0, max(ess - n_chains, 4.0)
    noise = float(fdtri(*degrees, 1.0 - FALSE_ALARM / (2 * n_classes)))
    return max(HARMLESS, math.sqrt(1.0 + noise * n_chains / max(ess, 1.0)))


def falls_short(chain: Mapping[str, float | None], n_draws: int) -> bool:
    """Return whether the ESS is below what samplers aim for, or below what an interval needs.

    Examples
    --------
    >>> falls_short({"ess": 300.0}, 1000), falls_short({"ess": 50.0}, 100)
    (True, False)
    """
    ess = chain["ess"]
    return ess is not None and ess < max(PROMISED * n_draws, MIN_DRAWS)


def failures(diagnostics: Mapping[str, Any], n_draws: int) -> list[str]:
    """Return a sentence for each diagnostic that failed.

    Parameters
    ----------
    diagnostics : dict
        Holds ``ess``, ``rhat`` and ``rhat_limit`` (None for too few draws), ``divergences``,
        ``thinning`` and, where draws come from replicates of the matrix, ``replicates``.
    n_draws : int
        Number of draws.
    """
    ess, rhat = diagnostics["ess"], diagnostics["rhat"]
    replicated = diagnostics.get("replicates", 1) > 1
    failed = []
    if n_draws < MIN_DRAWS:
        failed.append(
            f"A 95 % interval needs at least {MIN_DRAWS} draws, to have one beyond each end; there "
            f"{'is' if n_draws == 1 else 'are'} {n_draws}. Increase draws."
        )
    elif diagnostics.get("constant", 0) > 0:
        failed.append(
            "A share is the same in all draws although the items do not make it certain: chains "
            f"stayed where they first came to rest, and the effective sample size is {ess:.0f}. "
            "Use a larger prior."
        )
    elif ess is not None and ess < MIN_DRAWS:
        failed.append(
            f"The effective sample size is {ess:.0f} for {n_draws} draws, below the {MIN_DRAWS} "
            "that a 95 % interval needs to have one beyond each end; increase draws."
        )
    elif not replicated and falls_short(diagnostics, n_draws):
        failed.append(
            f"The effective sample size is {ess:.0f} for {n_draws} draws, below "
            f"{PROMISED * n_draws:.0f}; intervals are noisier than the number of draws suggests."
        )
    if rhat is not None and rhat > diagnostics["rhat_limit"]:
        what = (
            "chains that started far from the mode have not reached the same mixes as the others"
            if diagnostics.get("replicates", DIAGNOSED_JOINTLY) >= DIAGNOSED_JOINTLY
            else "the first and the second half of a chain disagree"
        )
        failed.append(
            f"R-hat is {_shown(rhat)}, above {diagnostics['rhat_limit']:.3f}: {what}, so the draws "
            "are not those of the posterior. Try another sampler (sampler='nuts' or 'gibbs'), or a "
            "prior of at least 1."
        )
    if diagnostics["divergences"] > DIVERGENT * n_draws * diagnostics["thinning"]:
        failed.append(
            f"{diagnostics['divergences']} trajectories of NUTS diverged; parts of the posterior "
            "may be missed. A larger prior or sampler='gibbs' avoids this."
        )
    return failed


def _shown(rhat: float) -> str:
    return f"{rhat:.3f}" if rhat < MAX_RHAT else f"beyond {MAX_RHAT}"
