"""Hostile numbers handed to the compiled core itself, past all checks of input.

Whatever a loop makes of them, it has to end, and to leave foreign memory alone. NaN and infinity
may come out: whoever calls the loops checks that. ``make sanitize`` makes these attempts with a
build that checks every index and address.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from hostile.attempts import ANSWERED, Attempt
from truemix import _core

HOSTILE = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, -1e308, 5e-324, 1e-310, 1e-300, 1e-17,
    0.5, 3.7, 1e15, 2.0**53, 2.0**63, 1e300, 1e308,
)  # fmt: skip
K, N = 3, 9


# --- arguments that are right, and the loops that take them -------------------------------------


def _state():
    return np.array([1, 2, 3, 4], dtype=np.uint64)


def _rows(rng, n=N):
    L = rng.random((n, K)) ** 4 + 1e-9
    L[0] = [1.0, 0.0, 0.0]
    L[1] = [1.0, 1e-6, 1e-7]
    return L / L.max(axis=1, keepdims=True)


def _mix(rng):
    return rng.dirichlet(np.ones(K))


def _allocating(L, w, x, pi):
    return _core.allocate_draws(_core.Layout(L, w, x), np.stack([pi, x]), _state())


def _sweeping(L, w, x, prior, pi):
    return _core.sweep(_core.Layout(L, w, x), prior, pi, _state(), 1, 2, 2)


def _solving(L, w, x):
    return _core.solve_mixture(L, w, x, 1e-8, 50)


def _comparing(L):
    return _core.first_equal(L)


def _proposing(L, w, mode, prior, pi):
    n = float(np.sum(w))
    precision = _core.precision_of(_core.moment_of(L, w, mode), mode, prior, n, 1.0)
    proposal = _core.Proposal(mode, precision, prior, n, L, w)
    proposal.propose(_state(), 3)
    _core.sweep(_core.Layout(L, w, mode), prior, pi.copy(), _state(), 1, 2, 2, proposal, 2)
    return _core.independence_chain(proposal, pi, _state(), 2, 2, 2, True)


def _replicates(logs, prior, near, temperature):
    ones, rows, draws = np.ones(1, dtype=np.int64), np.arange(N), np.empty((2, K))
    return _core.sample_replicates(
        logs[None], rows, np.ones((1, N)), prior, temperature[0], near, np.zeros((1, K)),
        _state()[None], 0 * ones, 2 * ones, ones, 1, 1, True, draws, draws.copy(),
    )  # fmt: skip


def _joint(prior, row_shapes, powers, pi):
    M = row_shapes / row_shapes.sum(axis=1, keepdims=True)
    counts = np.array([4, 80, 0])
    return _core.joint_sweeps(prior, row_shapes, powers, counts, pi, M, _state(), 1, 2, 1)


def _joint_densities(z, prior, row_shapes, powers, scale):
    draws = np.concatenate([prior, row_shapes.ravel()])[None]
    _core.realised(draws, K, np.array([4, 80, 0]), _state())
    return _core.JointDensity(prior, row_shapes, powers, np.zeros(K + K * K), scale)(z)


def _densities(z, L, w, prior, centre):
    root = _core.invert_cholesky(np.outer(prior[:-1], prior[:-1]))
    return _core.MixDensity(L, w, prior, centre, root)(z)


def _numbers(shape):
    for each in shape.tolist():
        _core.gammas(_state(), 1, each)
        _core.binomials(_state(), 1, each, each)
        _core.binomials(_state(), 1, 1000.0, each)
    return _core.dirichlets(_state(), shape, 2)


def _diagnosing(draws):
    columns = np.ascontiguousarray(draws.T)
    scores = np.linspace(-2, 2, 2 * len(draws) - 1)
    return _core.diagnose(columns, np.argsort(columns, axis=1), scores, 2)


def _matrices(A):
    return _core.diagonalize(A), _core.invert_cholesky(A), _core.largest_eigenvalue(A)


def _kernels(references, targets, weights, scale):
    tiles = np.repeat(references.T[:, :1], _core.TILE, axis=1)[None]
    four = np.resize(targets, (_core.STRIP, K))
    nearest, sums = np.full((_core.STRIP, 1), np.inf), np.zeros((1, _core.STRIP, 1))
    tile_weights, first = np.resize(weights, (1, _core.TILE)), np.zeros(1, dtype=np.int64)
    boxes = np.stack([tiles.min(axis=2), tiles.max(axis=2)], axis=1)
    _core.add_kernel_sums(tiles, boxes, tile_weights, first, four, scale, nearest, sums)
    out = np.empty((_core.STRIP, _core.TILE))
    _core.squared_distances(tiles, boxes, four, out, nearest[:, 0].copy())
    return _core.kernel_values(out, nearest[:, 0].copy(), scale[0], np.empty_like(out))


def _cases(rng) -> dict[Callable, dict[str, np.ndarray]]:
    prior, weights = np.full(K, 0.5), np.array([1.0, 2.0, 0.5, 40.0, 2.5, 1.0, 99.5, 3.0, 1.0])
    shapes = rng.random((K, K)) * 9 + 1
    few = rng.normal(size=(K - 1) + K * (K - 1))
    return {
        _allocating: {"L": _rows(rng), "w": weights, "x": _mix(rng), "pi": _mix(rng)},
        _sweeping: {"L": _rows(rng), "w": weights, "x": _mix(rng), "prior": prior, "pi": _mix(rng)},
        _solving: {"L": _rows(rng), "w": weights / weights.sum(), "x": _mix(rng)},
        _comparing: {"L": np.repeat(_rows(rng), 2, axis=0)},
        _proposing: {
            "L": _rows(rng),
            "w": weights,
            "mode": _mix(rng),
            "prior": prior,
            "pi": _mix(rng),
        },
        _replicates: {
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
    for loop, right in _cases(np.random.default_rng(seed)).items():
        for name in right:
            for value in HOSTILE:
                for place in ("first", "random", "all"):
                    make = partial(_make, loop, name, value, place, seed)
                    yield Attempt("loops", f"{loop.__name__[1:]}: {name} {place} {value}", make)


def _make(loop: Callable, name: str, value: float, place: str, seed: int) -> str:
    rng = np.random.default_rng(seed)
    arguments = {key: np.array(each) for key, each in _cases(rng)[loop].items()}
    flat = arguments[name].reshape(-1)
    if place == "all":
        flat[:] = value
    else:
        flat[0 if place == "first" else int(rng.integers(flat.size))] = value
    with np.errstate(all="ignore"):
        loop(**arguments)
    return ANSWERED
