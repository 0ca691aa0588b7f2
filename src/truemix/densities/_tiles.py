"""Coordinates of the kernels, and references laid out in tiles for the compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from truemix import simplex
from truemix._core import TILE
from truemix._threads import row_blocks
from truemix._typing import FloatArray, IntArray

KERNELS = ("aitchison", "ilr", "gaussian")
# Rows are mapped to coordinates in chunks of this size, to bound the temporary arrays.
CHUNK_BYTES = 1 << 22
# Memory for tiles; more references than that are processed in several blocks.
TILES_BYTES = 64 << 20


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


@dataclass(frozen=True)
class Tiles:
    """References of one block, TILE items of one class to a tile."""

    coordinates: FloatArray  # (n_tiles, n_coordinates, TILE)
    item: IntArray  # (n_tiles, TILE): the reference row in each place
    occupied: FloatArray  # (n_tiles, TILE): 1.0, or 0.0 where an item is only repeated to fill up
    of_class: IntArray  # (n_tiles,)

    def split(self, most_items: int) -> Iterator[Tiles]:
        """Yield parts of one class with at most ``most_items`` items (but at least one tile)."""
        starts = np.flatnonzero(np.diff(self.of_class, prepend=-1))
        for start, end in pairwise([*starts, len(self.of_class)]):
            for part in row_blocks(end - start, max(1, most_items // TILE)):
                rows = slice(start + part.start, start + part.stop)
                yield Tiles(
                    self.coordinates[rows], self.item[rows], self.occupied[rows],
                    self.of_class[rows],
                )  # fmt: skip


def tile_blocks(
    reference: FloatArray,
    codes: IntArray,
    kept: IntArray,
    to_coordinates: Callable[[FloatArray], FloatArray],
    n_coordinates: int,
) -> Iterator[Tiles]:
    """Yield the references ``kept`` (row numbers) in tiles, ordered by class."""
    order = kept[np.argsort(codes[kept], kind="stable")]
    for block in row_blocks(len(order), max(TILE, TILES_BYTES // (8 * reference.shape[1]))):
        yield _tiles(reference, codes, order[block], to_coordinates, n_coordinates)


def _tiles(
    reference: FloatArray,
    codes: IntArray,
    order: IntArray,
    to_coordinates: Callable[[FloatArray], FloatArray],
    n_coordinates: int,
) -> Tiles:
    present, first, counts = np.unique(codes[order], return_index=True, return_counts=True)
    n_tiles = -(-counts // TILE)
    of_class = np.repeat(np.arange(len(present)), n_tiles)
    # Place j of a class holds its j-th item, or its last one again past the end.
    tile_in_class = np.arange(len(of_class)) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    place = tile_in_class[:, None] * TILE + np.arange(TILE)
    count = counts[of_class][:, None]
    item = order[first[of_class][:, None] + np.minimum(place, count - 1)]
    laid_out = np.empty((len(item), n_coordinates, TILE))
    tiles_per_chunk = max(1, CHUNK_BYTES // (8 * reference.shape[1] * TILE))
    for chunk in row_blocks(len(item), tiles_per_chunk):
        rows = to_coordinates(reference[item[chunk].ravel()])
        laid_out[chunk] = rows.reshape(-1, TILE, n_coordinates).transpose(0, 2, 1)
    return Tiles(
        coordinates=laid_out,
        item=item,
        occupied=(place < count).astype(np.float64),
        of_class=present[of_class],
    )
