"""Compiled inner loops: squared distances to tiles of references, and sums of kernels over them.

Distances are sums of squared differences, not ``|w|^2 + |z|^2 - 2 w.z``: the latter cancels badly
where coordinates are large against the bandwidth, which is where the tails are.

References come in tiles of TILE items, ``(n_tiles, n_coordinates, TILE)``, so that the innermost
loop runs over contiguous memory. A tile holds items of one class; an incomplete last tile is padded
with a repeated item of weight zero, which changes neither the nearest distance nor the sum.
Targets are taken :data:`STRIP` at a time, so that a reference is loaded once for all of them.
"""

from __future__ import annotations

import numpy as np

from truemix._compiled import compiled_vectors, written_out
from truemix._typing import FloatArray, IntArray
from truemix._vector_math import exp_negative
from truemix.densities._tiles import TILE

STRIP = 4
# Terms below exp(-60) of the nearest one are skipped: a million of them amount to 1e-20.
NEGLIGIBLE = 60.0
# Tiles that are visited together should stay in the second-level cache.
GROUP_BYTES = 1 << 17


@written_out
def _strip_distances(tile: FloatArray, targets: FloatArray, first: int, out: FloatArray) -> None:
    """Fill ``out`` (STRIP, TILE) with squared distances of targets ``first…`` to one tile."""
    for s in range(STRIP):
        for j in range(TILE):
            out[s, j] = 0.0
    for d in range(tile.shape[0]):
        z0 = targets[first, d]
        z1 = targets[first + 1, d]
        z2 = targets[first + 2, d]
        z3 = targets[first + 3, d]
        for j in range(TILE):
            w = tile[d, j]
            d0 = w - z0
            d1 = w - z1
            d2 = w - z2
            d3 = w - z3
            out[0, j] += d0 * d0
            out[1, j] += d1 * d1
            out[2, j] += d2 * d2
            out[3, j] += d3 * d3


@compiled_vectors
def add_kernel_sums(
    tiles: FloatArray,
    tile_weights: FloatArray,
    tile_class: IntArray,
    targets: FloatArray,
    scales: FloatArray,
    nearest: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the tiles' kernels to each target's class sums, in place.

    ``sums[b, i, k]`` is the weighted sum of ``exp(-scales[b] * (distance - nearest[i, k]))`` over
    the references of class k seen so far, and ``nearest[i, k]`` their smallest squared distance
    (infinity before the first), so that sums neither overflow nor vanish. The number of targets
    is a multiple of STRIP.
    """
    n_tiles, n_coordinates, _ = tiles.shape
    group = max(1, GROUP_BYTES // (8 * TILE * n_coordinates))
    distance = np.empty((STRIP, TILE))
    for group_start in range(0, n_tiles, group):
        for first in range(0, targets.shape[0], STRIP):
            for t in range(group_start, min(group_start + group, n_tiles)):
                _strip_distances(tiles[t], targets, first, distance)
                k = tile_class[t]
                for s in range(STRIP):
                    tile_nearest = distance[s, 0]
                    for j in range(TILE):
                        tile_nearest = min(tile_nearest, distance[s, j])
                    before = nearest[first + s, k]
                    origin = min(before, tile_nearest)
                    nearest[first + s, k] = origin
                    for b in range(scales.size):
                        scale = scales[b]
                        total = sums[b, first + s, k]
                        if origin < before and total > 0.0:
                            total *= exp_negative((origin - before) * scale)
                        if (tile_nearest - origin) * scale < NEGLIGIBLE:
                            added = 0.0
                            for j in range(TILE):
                                added += tile_weights[t, j] * exp_negative(
                                    (origin - distance[s, j]) * scale
                                )
                            total += added
                        sums[b, first + s, k] = total


@compiled_vectors
def squared_distances(
    tiles: FloatArray, targets: FloatArray, out: FloatArray, nearest: FloatArray
) -> None:
    """Fill ``out`` (n_targets, n_tiles * TILE) and lower ``nearest`` (n_targets,) where needed."""
    distance = np.empty((STRIP, TILE))
    for first in range(0, targets.shape[0], STRIP):
        for t in range(tiles.shape[0]):
            _strip_distances(tiles[t], targets, first, distance)
            for s in range(STRIP):
                lowest = nearest[first + s]
                for j in range(TILE):
                    out[first + s, t * TILE + j] = distance[s, j]
                    lowest = min(lowest, distance[s, j])
                nearest[first + s] = lowest


@compiled_vectors
def kernel_values(
    distances: FloatArray, nearest: FloatArray, scale: float, out: FloatArray
) -> None:
    """Fill ``out`` with ``exp(-scale * (distances - nearest))``."""
    for i in range(distances.shape[0]):
        origin = nearest[i]
        for j in range(distances.shape[1]):
            out[i, j] = exp_negative((origin - distances[i, j]) * scale)
