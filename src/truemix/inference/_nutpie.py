"""The interface to nutpie: run NUTS on a log density that the compiled core gives as C functions.

nutpie passes the address of the density on to them: no Python runs in the loop.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from truemix import _core
from truemix._typing import FloatArray

# Initial step size in whitened coordinates, where the leapfrog is stable up to 2.
_FIRST_STEP = 0.5
# Without warm-up nutpie has no step size and aborts the process.
MIN_WARMUP = 50
_IMPORTING = threading.Lock()


class Chain(NamedTuple):
    """Draws of one run of NUTS, with its sampler statistics."""

    draws: FloatArray
    divergences: int
    acceptance: float
    steps: int


class _Callback(NamedTuple):
    """A C function, in the form in which nutpie takes it."""

    address: int


def run_chain(
    density: _core.MixDensity | _core.JointDensity,
    *,
    draws: int,
    warmup: int,
    seed: int,
    accept: float,
    spread: float,
) -> Chain:
    """Draw from a density; each draw is expanded to the shares that it stands for.

    ``accept`` is the target acceptance: the closer to 1, the shorter the steps. ``spread`` is the
    standard deviation of the initial point around the origin of the coordinates.
    """
    nutpie, compile_pymc = _import_nutpie()
    import pyarrow

    tune = max(warmup, MIN_WARMUP)
    n_expanded = density.n_expanded
    model = compile_pymc.CompiledPyMCModel(
        dims={},
        compiled_logp_func=_Callback(density.log_density_address),
        compiled_expand_func=_Callback(density.expand_address),
        # Never at the origin: nutpie refuses to start where the gradient is exactly zero.
        initial_point_func=lambda s: np.random.default_rng(s).normal(
            0.0, spread, size=density.dimension
        ),
        # Keeps the density alive while nutpie's thread reads it.
        shared_data={"density": density},
        user_data=np.array([density.address], dtype=np.uintp),
        n_expanded=n_expanded,
        shape_info=(["x"], [slice(0, n_expanded)], [(n_expanded,)]),
        logp_func=None,
        expand_func=None,
        _n_dim=density.dimension,
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
