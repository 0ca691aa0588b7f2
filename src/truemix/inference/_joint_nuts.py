"""The No-U-Turn sampler on the joint posterior of a mix and a confusion matrix.

Coordinates: log-ratios to the last class, of the mix and of each row of the matrix, centred and
scaled by their approximate mean and standard deviation given labelled items and prior alone.
"""

from __future__ import annotations

import numpy as np

from truemix import _core
from truemix._typing import FloatArray
from truemix.inference._nutpie import Chain, run_chain


def run_joint_nuts(
    prior: FloatArray,
    row_shapes: FloatArray,
    powers: FloatArray,
    draws: int,
    warmup: int,
    seed: int,
    spread: float,
) -> Chain:
    """Draw mixes and matrices: ``(draws, K + K * C)``, the mix first, then the matrix by rows."""
    K = len(row_shapes)
    # For the mix, as if half of the batch were labelled: a rough scale suffices.
    shapes = [prior + 0.5 * powers.sum() / K, *row_shapes]
    centre = np.concatenate([np.log(shape / shape[-1]) for shape in shapes])
    scale = np.concatenate([np.sqrt(1.0 / shape + 1.0 / shape[-1]) for shape in shapes])
    density = _core.JointDensity(prior, row_shapes, powers, centre, scale)
    return run_chain(density, draws=draws, warmup=warmup, seed=seed, accept=0.8, spread=spread)
