"""The run of one bag under many versions of the matrix, which may come a few at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.inference._allocation import arrange
from truemix.inference._chains import far_start, starts_far
from truemix.inference._plan import Settings, make_plan
from truemix.inference._posterior import make_posterior
from truemix.inference._random import seed_state
from truemix.inference._samplers import check_gibbs, draw_replicate
from truemix.inference._version_sweeps import sweep_versions

# Items that a plan looks at, about.
MOST_PLANNED = 100_000


class VersionRun:
    """Draws of one bag under all versions, planned by the first of them.

    Parameters
    ----------
    first : array of shape (n, K)
        The first version, log-likelihoods of the pool.
    rows : array of integers
        The items of the bag.
    seed : SeedSequence
        Where the randomness comes from.
    ends : array of shape (V + 1,)
        Draws ``ends[v]`` to ``ends[v + 1]`` are those of version v.
    settings : Settings
        What to draw in each version.
    """

    def __init__(
        self,
        first: FloatArray,
        rows: IntArray,
        seed: np.random.SeedSequence,
        ends: IntArray,
        settings: Settings,
    ) -> None:
        self.rows, self.ends, self.settings = rows, ends, settings
        self.seeds = seed.spawn(len(ends))
        self.draws = np.empty((ends[-1], first.shape[1]))
        self.batch = np.empty_like(self.draws)
        self.parts: dict[int, dict[str, Any]] = {}
        self.dispersed = np.array([starts_far(number) for number in range(len(ends) - 1)])
        if settings.sampler == "gibbs":
            check_gibbs(settings.temperature, np.ones(1), whole=True)
        # Of a huge bag some items, each for several, tell what to plan for.
        step = max(1, len(rows) // MOST_PLANNED)
        L = self._likelihoods(first, rows[::step])
        weights = np.full(len(L), float(step))
        posterior = make_posterior(L, weights, settings.prior, settings.temperature)
        layout = arrange(posterior.L, posterior.w, posterior.mode)
        plan = make_plan(posterior, layout, settings, True, self.seeds[-1])
        # Each version has proposals of its own; those of the first would hold all its items.
        self.tries = 0 if plan.proposal is None else 1
        self.plan = plan._replace(proposal=None)
        self.near = posterior.mode

    def extend(self, versions: FloatArray, numbers: IntArray) -> None:
        """Draw under these versions, which have these numbers."""
        if self.plan.sampler in {"gibbs", "metropolis"}:
            self._by_sweeps(versions, numbers)
        else:
            self._by_nuts(versions, numbers)

    def statistics(self) -> dict[str, Any]:
        """Return what the samplers say, summed up over the versions."""
        # In the order of the versions, not in which threads were done: sums round.
        parts = [self.parts[number] for number in sorted(self.parts)]
        steps = sum(part["steps"] for part in parts)
        accepted = sum(part["acceptance"] * part["steps"] for part in parts)
        return {
            "sampler": self.plan.sampler,
            "reason": self.plan.reason,
            "divergences": sum(part["divergences"] for part in parts),
            "acceptance": float(accepted / steps),
            "thinning": max(part["thinning"] for part in parts),
            "steps": steps,
        }

    def _likelihoods(self, version: FloatArray, rows: IntArray) -> FloatArray:
        logs = version[rows].astype(np.float64, copy=False)
        likelihoods: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
        return likelihoods

    def _by_sweeps(self, versions: FloatArray, numbers: IntArray) -> None:
        states = np.stack([seed_state(self.seeds[v]) for v in numbers.tolist()])
        far = self.dispersed[numbers]
        starts = np.zeros((len(numbers), len(self.near)))
        for row in np.flatnonzero(far).tolist():
            starts[row] = far_start(self.seeds[int(numbers[row])], len(self.near))
        discard = np.where(far, max(self.plan.discard, self.plan.forget), self.plan.discard)
        accepted = sweep_versions(
            versions, self.rows, self.settings.prior, self.near, starts, states,
            self.ends[numbers], self.ends[numbers + 1], discard, self.plan.thinning,
            self.tries, self.settings.temperature, self.draws, self.batch,
        )  # fmt: skip
        kept = int((self.ends[numbers + 1] - self.ends[numbers]).sum())
        steps = int(discard.sum()) + self.plan.thinning * kept
        self.parts[int(numbers[0])] = {
            "divergences": 0,
            "acceptance": accepted / steps if self.tries else 1.0,
            "thinning": self.plan.thinning,
            "steps": steps,
        }

    def _by_nuts(self, versions: FloatArray, numbers: IntArray) -> None:
        for v, version in zip(numbers.tolist(), versions, strict=True):
            own = slice(self.ends[v], self.ends[v + 1])
            settings = self.settings._replace(draws=own.stop - own.start)
            L = self._likelihoods(version, self.rows)
            far = bool(self.dispersed[v])
            results = draw_replicate(L, settings, self.seeds[v], dispersed=far)
            self.draws[own], self.batch[own], self.parts[v] = results
