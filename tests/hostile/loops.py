"""Hostile numbers handed to the compiled loops themselves, past all checks of input.

The loops run interpreted, on arrays that refuse indices beyond either end: what compiled code would
write into foreign memory is an IndexError here, and a loop that never ends is found by the clock.
NaN and infinity may come out (whoever calls the loops checks that), as long as they end.
"""

import os
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from hostile.attempts import ANSWERED, Attempt

HOSTILE = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, -1e308, 5e-324, 1e-310, 1e-300, 1e-17,
    0.5, 3.7, 1e15, 2.0**53, 2.0**63, 1e300, 1e308,
)  # fmt: skip
K, N = 3, 9


class Checked(np.ndarray):
    """An array whose indices must lie between 0 and its length, and be whole numbers."""

    def __getitem__(self, key):
        _check(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        _check(key)
        super().__setitem__(key, value)


def _check(key) -> None:
    for each in key if isinstance(key, tuple) else (key,):
        # The last element of a whole array, x[-1], is all that the loops ask for from the end.
        if isinstance(each, int | np.integer) and not each >= -1:
            raise IndexError(f"index {each}")


class _CheckedNumpy(types.ModuleType):
    """NumPy, but new arrays are checked ones."""

    def __getattr__(self, name):
        found = getattr(np, name)
        if name in {"empty", "zeros", "ones", "full", "argsort", "empty_like"}:
            return lambda *args, **options: found(*args, **options).view(Checked)
        return found


def _interpret() -> None:
    """Import the modules of compiled loops without compiling anything."""
    if "numba" in sys.modules and os.environ.get("NUMBA_DISABLE_JIT") != "1":
        raise RuntimeError("numba is there already; loops must be the first thing in a process")
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    import numba

    # Callbacks of C have no interpreted form; the functions inside them are called directly.
    numba.cfunc = lambda *args, **options: lambda function: function
    from truemix import _vector_math

    _vector_math._bits = lambda x: int(np.float64(x).view(np.int64))
    _vector_math._from_bits = lambda i: np.uint64(i & 0xFFFFFFFFFFFFFFFF).view(np.float64)
    checked = _CheckedNumpy("numpy")
    from truemix.densities import _kernel_sums
    from truemix.inference import (
        _active_set,
        _allocation,
        _blocks,
        _diagnostics,
        _gibbs,
        _joint_gibbs,
        _joint_nuts,
        _nuts,
        _pair_moves,
        _posterior,
        _proposal,
        _random,
        _replicate_sweeps,
        _sqp,
        _symmetric,
    )

    for module in (
        _kernel_sums, _allocation, _diagnostics, _gibbs, _joint_gibbs, _joint_nuts, _active_set,
        _nuts, _pair_moves, _posterior, _proposal, _random, _blocks, _sqp, _symmetric,
        _replicate_sweeps,
    ):  # fmt: skip
        module.np = checked


# --- arguments that are right, and the loops that take them -------------------------------------


def _state():
    return np.array([1, 2, 3, 4], dtype=np.uint64).view(Checked)


def _rows(rng, n=N):
    L = rng.random((n, K)) ** 4 + 1e-9
    L[0] = [1.0, 0.0, 0.0]
    L[1] = [1.0, 1e-6, 1e-7]
    return L / L.max(axis=1, keepdims=True)


def _mix(rng):
    return rng.dirichlet(np.ones(K))


def _allocating(L, w, x, pi):
    from truemix.inference._allocation import allocate_draws, arrange

    return allocate_draws(arrange(L, w, x), np.stack([pi, x]).view(Checked), _state())


def _sweeping(L, w, x, prior, pi):
    from truemix.inference._allocation import arrange
    from truemix.inference._gibbs import sweep

    from truemix.inference._proposal import no_proposal

    return sweep(arrange(L, w, x), prior, pi, _state(), 1, 2, 2, no_proposal(K), 0)


def _solving(L, w, x):
    from truemix.inference._sqp import solve_mixture

    return solve_mixture(L, w, x, 1e-8, 50)


def _proposing(L, w, mode, prior, pi):
    from truemix.inference._blocks import in_blocks

    from truemix.inference._posterior import moment_of, precision_of
    from truemix.inference._proposal import _pilot, independence_chain, proposal_at

    n = float(np.sum(w))
    blocks, powers = (each.view(Checked) for each in in_blocks(L, w))
    precision = precision_of(moment_of(L, w, mode), mode, prior, n, 1.0)
    proposal = proposal_at(mode, precision, prior, n, blocks, powers)
    _pilot(proposal, _state(), 3)
    return independence_chain(proposal, pi, _state(), 2, 2, 2)


def _versions(logs, prior, near, temperature):
    from truemix.inference._replicate_sweeps import sweep_replicates

    ones, rows = np.ones(1, dtype=np.int64), np.arange(N)
    draws = np.empty((2, K)).view(Checked)
    return sweep_replicates(
        logs[None], rows.view(Checked), np.ones(N).view(Checked), prior, near,
        np.zeros((1, K)).view(Checked), _state()[None], (0 * ones).view(Checked),
        (2 * ones).view(Checked), ones.view(Checked), 1, 1, temperature[0], draws, draws.copy(),
    )  # fmt: skip


def _joint(prior, row_shapes, powers, pi):
    from truemix.inference._joint_gibbs import joint_sweeps

    M = (row_shapes / row_shapes.sum(axis=1, keepdims=True)).view(Checked)
    counts = np.array([4, 80, 0]).view(Checked)
    return joint_sweeps(prior, row_shapes, powers, counts, pi, M, _state(), 1, 2, 1)


def _joint_densities(z, prior, row_shapes, powers, scale):
    from truemix.inference._joint_nuts import joint_density, realised

    expanded = np.concatenate([prior, row_shapes.ravel()])[None].view(Checked)
    realised(expanded, K, np.array([4, 80, 0]).view(Checked), _state())
    centre, gradient = np.zeros(K + K * K).view(Checked), np.empty(len(z)).view(Checked)
    flat = row_shapes.ravel()
    return joint_density(z, prior, flat, powers, centre, scale, gradient)


def _densities(z, L, w, prior, centre):
    from truemix.inference._blocks import in_blocks
    from truemix.inference._symmetric import invert_cholesky

    from truemix.inference._nuts import density

    blocks, weights = (each.view(Checked) for each in in_blocks(L, w))
    root = invert_cholesky(np.outer(prior[:-1], prior[:-1]).view(Checked))
    return density(z, blocks, weights, prior, centre, root, np.empty(K - 1).view(Checked))


def _numbers(shape):
    from truemix.inference._random import binomial, dirichlet, gamma, whole_number

    for each in shape:
        gamma(_state(), float(each))
        binomial(_state(), whole_number(each), float(each))
        binomial(_state(), 1000, float(each))
    dirichlet(_state(), shape, np.empty(K).view(Checked))


def _diagnosing(draws):
    from truemix.inference._diagnostics import effective_sizes

    return effective_sizes(draws)


def _matrices(A):
    from truemix.inference._symmetric import diagonalize, invert_cholesky, largest_eigenvalue

    diagonalize(A), invert_cholesky(A), largest_eigenvalue(A)


def _kernels(references, targets, weights, scale):
    from truemix.densities._kernel_sums import STRIP, add_kernel_sums, squared_distances

    from truemix.densities._tiles import TILE

    tiles = np.repeat(references.T[:, :1], TILE, axis=1)[None].view(Checked)
    four = np.resize(targets, (STRIP, K)).view(Checked)
    nearest, sums = np.full((STRIP, 1), np.inf), np.zeros((1, STRIP, 1))
    add_kernel_sums(
        tiles, np.resize(weights, (1, TILE)).view(Checked), np.zeros(1, dtype=np.int64), four,
        scale, nearest.view(Checked), sums.view(Checked),
    )  # fmt: skip
    out = np.empty((STRIP, TILE)).view(Checked)
    return squared_distances(tiles, four, out, nearest[:, 0].copy())


def _cases(rng) -> dict[Callable, dict[str, np.ndarray]]:
    prior, weights = np.full(K, 0.5), np.array([1.0, 2.0, 0.5, 40.0, 2.5, 1.0, 99.5, 3.0, 1.0])
    shapes = rng.random((K, K)) * 9 + 1
    few = rng.normal(size=(K - 1) + K * (K - 1))
    return {
        _allocating: {"L": _rows(rng), "w": weights, "x": _mix(rng), "pi": _mix(rng)},
        _sweeping: {"L": _rows(rng), "w": weights, "x": _mix(rng), "prior": prior, "pi": _mix(rng)},
        _solving: {"L": _rows(rng), "w": weights / weights.sum(), "x": _mix(rng)},
        _proposing: {
            "L": _rows(rng),
            "w": weights,
            "mode": _mix(rng),
            "prior": prior,
            "pi": _mix(rng),
        },
        _versions: {
            "logs": np.log(_rows(rng) + 1e-9),
            "prior": prior,
            "near": _mix(rng),
            "temperature": np.ones(1),
        },
        _joint: {
            "prior": prior,
            "row_shapes": shapes,
            "powers": np.array([4.0, 80.3, 0.0]),
            "pi": _mix(rng),
        },
        _joint_densities: {
            "z": few,
            "prior": prior,
            "row_shapes": shapes,
            "powers": np.array([4.0, 80.3, 0.0]),
            "scale": np.ones(K + K * K),
        },
        _densities: {
            "z": few[: K - 1],
            "L": _rows(rng),
            "w": weights,
            "prior": prior,
            "centre": np.zeros(K),
        },
        _numbers: {"shape": rng.random(K) * 4},
        _diagnosing: {"draws": rng.dirichlet(np.ones(K), 40)},
        _matrices: {"A": np.cov(rng.normal(size=(K, 20)))},
        _kernels: {
            "references": rng.normal(size=(4, K)),
            "targets": rng.normal(size=(4, K)),
            "weights": np.ones(4),
            "scale": np.ones(1),
        },
    }


# --- attempts -----------------------------------------------------------------------------------


def attempts(seed: int) -> Iterator[Attempt]:
    """List each loop with each of its arguments made hostile: in one place, or everywhere."""
    _interpret()
    for loop, right in _cases(np.random.default_rng(seed)).items():
        for name in right:
            for value in HOSTILE:
                for place in ("first", "random", "all"):
                    make = partial(_make, loop, name, value, place, seed)
                    yield Attempt("loops", f"{loop.__name__[1:]}: {name} {place} {value}", make)


def _make(loop: Callable, name: str, value: float, place: str, seed: int) -> str:
    rng = np.random.default_rng(seed)
    arguments = {key: np.array(each).view(Checked) for key, each in _cases(rng)[loop].items()}
    flat = arguments[name].reshape(-1)
    if place == "all":
        flat[:] = value
    else:
        flat[0 if place == "first" else int(rng.integers(flat.size))] = value
    with np.errstate(all="ignore"):
        loop(**arguments)
    return ANSWERED
