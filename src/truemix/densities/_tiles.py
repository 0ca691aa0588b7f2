"""Coordinates of the kernels, and references laid out in tiles for the compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from truemix import _core, simplex
from truemix._core import TILE
from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray

KERNELS = ("aitchison", "ilr", "gaussian")
# Rows are mapped to coordinates in chunks of this size, to bound the temporary arrays.
CHUNK_BYTES = 1 << 22
# Memory for tiles; more references than that are processed in several blocks.
TILES_BYTES = 32 << 20
CACHE_LINE = 64


def coordinate_map(kernel: str, shrinkage: float) -> Callable[[FloatArray], FloatArray]:
    """Return the function from posteriors to the coordinates in which the kernel is Gaussian."""
    if kernel == "gaussian":
        return lambda P: simplex.shrink(P, shrinkage)
    if kernel == "aitchison":
        return lambda P: simplex.clr_shrunk(P, shrinkage)
    return lambda P: simplex.clr_shrunk(P, shrinkage) @ simplex.ilr_basis(P.shape[1])


def dimension(kernel: str, n_classes: int) -> int:
    """Return the number of coordinates."""
    return n_classes - 1 if kernel == "ilr" else n_classes


def coordinates(P: FloatArray, to_coordinates: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Map rows of posteriors, a bounded number at a time."""
    rows = max(1, CHUNK_BYTES // (8 * P.shape[1]))
    return np.concatenate([to_coordinates(P[block]) for block in row_blocks(len(P), rows)])


def aligned_zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> FloatArray:
    """Return zeros that begin at a cache line: rows that straddle two take longer to load."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    zeros: FloatArray = buffer[start : start + n_bytes].view(dtype).reshape(shape)
    return zeros


@dataclass(frozen=True)
class Tiles:
    """References of one block, TILE items of one class to a tile."""

    coordinates: FloatArray  # (n_tiles, n_coordinates, TILE)
    boxes: FloatArray  # (n_tiles, 2, n_coordinates): smallest and largest value of each coordinate
    item: IntArray  # (n_tiles, TILE): the reference row in each place
    occupied: FloatArray  # (n_tiles, TILE): 1.0, or 0.0 where an item is only repeated to fill up
    of_class: IntArray  # (n_tiles,)

    def split(self, most_items: int) -> Iterator[Tiles]:
        """Yield parts with at most ``most_items`` items (but at least one tile)."""
        for part in row_blocks(len(self.of_class), max(1, most_items // TILE)):
            yield Tiles(
                self.coordinates[part], self.boxes[part], self.item[part], self.occupied[part],
                self.of_class[part],
            )  # fmt: skip


def compact_rows(
    reference: FloatArray,
    codes: IntArray,
    rows: IntArray,
    to_coordinates: Callable[[FloatArray], FloatArray],
) -> IntArray:
    """Order rows by class, and so that those of one tile are close together."""
    rows = rows[np.argsort(codes[rows], kind="stable")]
    Z = coordinates(reference[rows], to_coordinates)
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    parts = [
        rows[start:end][_core.compact_order(Z[start:end], TILE)]
        for start, end in pairwise([*starts, len(rows)])
    ]
    return np.concatenate(parts)


def lay_out(
    reference: FloatArray,
    codes: IntArray,
    order: IntArray,
    to_coordinates: Callable[[FloatArray], FloatArray],
    n_coordinates: int,
) -> Tiles:
    """Return references in tiles; ``order`` holds their row numbers, class by class."""
    present, first, counts = np.unique(codes[order], return_index=True, return_counts=True)
    n_tiles = -(-counts // TILE)
    of_class = np.repeat(np.arange(len(present)), n_tiles)
    # Place j of a class holds its j-th item, or its last one again past the end.
    tile_in_class = np.arange(len(of_class)) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    place = tile_in_class[:, None] * TILE + np.arange(TILE)
    count = counts[of_class][:, None]
    item = order[first[of_class][:, None] + np.minimum(place, count - 1)]
    laid_out = aligned_zeros((len(item), n_coordinates, TILE))
    tiles_per_chunk = max(1, CHUNK_BYTES // (8 * reference.shape[1] * TILE))
    for chunk in row_blocks(len(item), tiles_per_chunk):
        rows = to_coordinates(reference[item[chunk].ravel()])
        laid_out[chunk] = rows.reshape(-1, TILE, n_coordinates).transpose(0, 2, 1)
    return Tiles(
        coordinates=laid_out,
        boxes=np.stack([laid_out.min(axis=2), laid_out.max(axis=2)], axis=1),
        item=item,
        occupied=(place < count).astype(np.float64),
        of_class=present[of_class],
    )
