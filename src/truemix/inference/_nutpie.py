"""The interface to nutpie: run NUTS on a log density given as compiled C callbacks.

The callbacks read sizes and arrays from the user-data pointer that nutpie passes on: one compiled
function serves every size, and no Python runs in the loop.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from truemix._typing import FloatArray, IntArray

# Initial step size in whitened coordinates, where the leapfrog is stable up to 2.
_FIRST_STEP = 0.5
# Without warm-up nutpie has no step size and aborts the process.
MIN_WARMUP = 50
DOUBLES = types.CPointer(types.double)
_INTEGERS = types.CPointer(types.int64)
_IMPORTING = threading.Lock()


class Chain(NamedTuple):
    """Draws of one run of NUTS, with its sampler statistics."""

    draws: FloatArray
    divergences: int
    acceptance: float
    steps: int


def run_compiled(
    log_density: Any,
    expand: Any,
    arrays: list[FloatArray],
    sizes: tuple[int, ...],
    *,
    dimension: int,
    n_expanded: int,
    draws: int,
    warmup: int,
    seed: int,
    accept: float,
    spread: float,
) -> Chain:
    """Draw from a density with ``dimension`` coordinates; ``expand`` maps each draw to its output.

    The callbacks find ``sizes`` and then the addresses of ``arrays`` in their user data.
    ``accept`` is the target acceptance: the closer to 1, the shorter the steps. ``spread`` is the
    standard deviation of the initial point around the origin of the coordinates.
    """
    nutpie, compile_pymc = _import_nutpie()
    import pyarrow

    tune = max(warmup, MIN_WARMUP)
    user_data: IntArray = np.array(
        [*sizes, *(array.ctypes.data for array in arrays)], dtype=np.int64
    )
    model = compile_pymc.CompiledPyMCModel(
        dims={},
        compiled_logp_func=log_density,
        compiled_expand_func=expand,
        # Never at the origin: nutpie refuses to start where the gradient is exactly zero.
        initial_point_func=lambda s: np.random.default_rng(s).normal(0.0, spread, size=dimension),
        # Keeps the arrays alive while nutpie's thread reads them.
        shared_data={str(number): array for number, array in enumerate(arrays)},
        user_data=user_data,
        n_expanded=n_expanded,
        shape_info=(["x"], [slice(0, n_expanded)], [(n_expanded,)]),
        logp_func=None,
        expand_func=None,
        _n_dim=dimension,
        _shapes={"x": (n_expanded,)},
        _coords={},
    )
    trace = nutpie.sample(
        model,
        draws=draws,
        tune=tune,
        chains=1,
        cores=1,
        seed=seed,
        progress_bar=False,
        return_raw_trace=True,
        initial_step=_FIRST_STEP,
        target_accept=accept,
    )
    (values,), (statistics,) = trace.get_arrow_trace()
    expanded = pyarrow.array(values.column("x")).flatten().to_numpy().reshape(-1, n_expanded)
    if len(expanded) < draws + tune:
        # On an interrupt nutpie returns the draws made so far.
        raise KeyboardInterrupt

    def statistic(name: str) -> npt.NDArray[Any]:
        column = pyarrow.array(statistics.column(name)).to_numpy(zero_copy_only=False)
        return np.asarray(column[-draws:])

    return Chain(
        np.array(expanded[-draws:]),
        int(statistic("diverging").sum()),
        float(statistic("mean_tree_accept").mean()),
        int(statistic("n_steps").sum()),
    )


def _import_nutpie() -> tuple[Any, Any]:
    """Return nutpie and its module of models, without the warnings of ArviZ, which it imports."""
    # Warning filters are global to the process: only one thread may change them, and only once.
    if "nutpie.compile_pymc" not in sys.modules:
        with _IMPORTING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import nutpie.compile_pymc
    # Also waits for another thread that is importing it.
    import nutpie.compile_pymc

    return nutpie, nutpie.compile_pymc


@intrinsic
def as_doubles(typing_context: Any, address: Any) -> Any:
    """Read an address as that of float64 numbers."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(DOUBLES))

    return DOUBLES(types.int64), code


@intrinsic
def as_integers(typing_context: Any, pointer: Any) -> Any:
    """Read an untyped pointer as one to int64 numbers."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(_INTEGERS))

    return _INTEGERS(types.voidptr), code
