"""The compiled core; see ``src/core``."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64] | npt.NDArray[np.intp]
_State = npt.NDArray[np.uint64]

VARIABLE: str
TILE: int
STRIP: int
COLUMNS: int
VANISHED_SINGLE: float
VANISHED_DOUBLE: float
SMALLEST: float
TAIL: float
instructions: str

def supported_instructions() -> list[str]: ...

# Densities.
def add_kernel_sums(
    tiles: _Floats,
    boxes: _Floats,
    tile_weights: _Floats,
    tile_class: _Integers,
    targets: _Floats,
    scales: _Floats,
    nearest: _Floats,
    sums: _Floats,
) -> None: ...
def add_weighted_sums(
    tiles: _Floats,
    boxes: _Floats,
    tile_class: _Integers,
    weights: npt.NDArray[np.floating],
    least: _Floats,
    counts: _Floats,
    totals: _Floats,
    targets: _Floats,
    scale: float,
    nearest: _Floats,
    sums: _Floats,
    equal: _Floats,
) -> None: ...
def mix_classes(
    parts: _Floats,
    factors: _Floats,
    offsets: _Floats,
    sums: _Floats,
    rows: _Integers,
    bounds: _Integers,
    out: npt.NDArray[np.floating],
) -> None: ...
def compact_order(points: _Floats, leaf: int) -> _Integers: ...
def squared_distances(
    tiles: _Floats, boxes: _Floats, targets: _Floats, out: _Floats, nearest: _Floats
) -> None: ...
def kernel_values(distances: _Floats, nearest: _Floats, scale: float, out: _Floats) -> None: ...
def exp_negative(x: _Floats) -> _Floats: ...
def log_positive(x: _Floats) -> _Floats: ...

# The maximum-likelihood mix, and linear algebra.
def solve_mixture(
    L: _Floats, w: _Floats, start: _Floats, tol: float, max_iter: int
) -> tuple[_Floats, float, int, bool]: ...
def invert_cholesky(P: _Floats) -> _Floats: ...
def largest_eigenvalue(A: _Floats) -> float: ...
def diagonalize(A: _Floats) -> tuple[_Floats, _Floats]: ...

# Diagnostics.
def diagnose(
    columns: _Floats, orders: _Integers, scores: _Floats, n_chains: int
) -> tuple[_Floats, _Floats, _Floats]: ...

# Random variates, for tests of their distributions.
def random_bits(state: _State, n: int) -> list[int]: ...
def uniforms(state: _State, n: int, a: float = 0.0, b: float = 0.0) -> _Floats: ...
def normals(state: _State, n: int, a: float = 0.0, b: float = 0.0) -> _Floats: ...
def gammas(state: _State, n: int, a: float = 0.0, b: float = 0.0) -> _Floats: ...
def binomials(state: _State, n: int, a: float = 0.0, b: float = 0.0) -> _Floats: ...
def dirichlets(state: _State, shape: _Floats, n: int) -> _Floats: ...

# The posterior of a mix.
def mode_of(L: _Floats, w: _Floats, n: int, start: _Floats) -> _Floats: ...
def moment_of(L: _Floats, w: _Floats, x: _Floats) -> _Floats: ...
def precision_of(
    moment: _Floats, mode: _Floats, prior: _Floats, n: float, temperature: float
) -> _Floats: ...
def first_equal(rows: _Floats, codes: _Integers | None = None) -> npt.NDArray[np.int64]: ...
def row_hashes(rows: _Floats) -> npt.NDArray[np.int64]: ...

# Samplers.
class Layout:
    def __init__(self, L: _Floats, w: _Floats, x: _Floats) -> None: ...
    @property
    def n_doubtful(self) -> int: ...
    @property
    def n_sure(self) -> int: ...
    @property
    def sum_of_odds(self) -> float: ...
    @property
    def n_heavy(self) -> int: ...

class Proposal:
    def __init__(
        self,
        mode: _Floats,
        precision: _Floats,
        prior: _Floats,
        n: float,
        rows: _Floats,
        powers: _Floats,
    ) -> None: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def n_exchanges(self) -> int: ...
    @property
    def shape(self) -> _Floats: ...
    @property
    def n_places(self) -> int: ...
    def log_posterior(self, pi: _Floats) -> float: ...
    def log_density(self, pi: _Floats) -> float: ...
    def propose(self, state: _State, n: int) -> tuple[_Floats, _Floats]: ...

def sweep(
    layout: Layout,
    prior: _Floats,
    pi: _Floats,
    state: _State,
    skipped: int,
    kept: int,
    thinning: int,
    proposal: Proposal | None = None,
    tries: int = 1,
) -> tuple[_Floats, _Floats, int]: ...
def independence_chain(
    proposal: Proposal,
    pi: _Floats,
    state: _State,
    skipped: int,
    kept: int,
    thinning: int,
    local: bool = False,
) -> tuple[_Floats, int]: ...
def allocate_draws(layout: Layout, draws: _Floats, state: _State) -> _Floats: ...
def sample_replicates(
    matrices: npt.NDArray[Any],
    rows: _Integers,
    copies: _Floats,
    prior: _Floats,
    temperature: float,
    near: _Floats,
    starts: _Floats,
    states: _State,
    begin: _Integers,
    end: _Integers,
    discard: _Integers,
    thinning: int,
    tries: int,
    local: bool,
    draws: _Floats,
    batch: _Floats,
) -> int: ...

# Mix and confusion matrix.
def joint_sweeps(
    prior: _Floats,
    row_shapes: _Floats,
    powers: _Floats,
    counts: _Integers,
    pi: _Floats,
    M: _Floats,
    state: _State,
    skipped: int,
    kept: int,
    thinning: int,
) -> tuple[_Floats, _Floats, int]: ...
def move_pair(
    kind: str,
    i: int,
    j: int,
    prior: _Floats,
    row_shapes: _Floats,
    powers: _Floats,
    pi: _Floats,
    M: _Floats,
    state: _State,
) -> None: ...
def split_counts(
    pi: _Floats, M: _Floats, counts: _Integers, state: _State
) -> npt.NDArray[np.int64]: ...
def realised(draws: _Floats, n_classes: int, counts: _Integers, state: _State) -> _Floats: ...

# Densities that NUTS calls as C functions.
class _Density:
    log_density_address: ClassVar[int]
    expand_address: ClassVar[int]
    @property
    def dimension(self) -> int: ...
    @property
    def n_expanded(self) -> int: ...
    @property
    def address(self) -> int: ...
    def __call__(self, z: _Floats) -> tuple[float, _Floats]: ...
    def expand(self, z: _Floats) -> _Floats: ...

class MixDensity(_Density):
    def __init__(
        self, L: _Floats, w: _Floats, prior: _Floats, centre: _Floats, R_inverse: _Floats
    ) -> None: ...

class JointDensity(_Density):
    def __init__(
        self,
        prior: _Floats,
        row_shapes: _Floats,
        powers: _Floats,
        centre: _Floats,
        scale: _Floats,
    ) -> None: ...

# Threads.
class Cancellation:
    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...
