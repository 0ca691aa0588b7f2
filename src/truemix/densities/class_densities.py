"""Kernel density estimates of all classes at once, in bounded memory, on all cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from truemix import _core
from truemix._threads import for_each_block, row_blocks, with_progress
from truemix._typing import BoolArray, FloatArray, IntArray
from truemix.densities._tiles import (
    TILES_BYTES,
    Tiles,
    aligned_zeros,
    compact_rows,
    coordinate_map,
    coordinates,
    dimension,
    lay_out,
)
from truemix.densities.distinct import distinct_rows
from truemix.exceptions import InputError

# Memory for the sums of the targets in one block, and the targets per thread and task.
STATE_BYTES = 32 << 20
THREAD_ROWS = 64
# Memory for the weights of references in many weightings; more are processed in several pieces,
# which are made once if all of them fit into PIECES_BYTES, with their coordinates.
TABLE_BYTES = 64 << 20
PIECES_BYTES = 160 << 20
# From this many references on, targets are sorted so that neighbours skip the same tiles.
MANY_REFERENCES = 1_000
# Sums below this, relative to the total weight of the class, have lost precision to underflow.
VANISHED = {np.float32: _core.VANISHED_SINGLE, np.float64: _core.VANISHED_DOUBLE}


class Targets(NamedTuple):
    """Distinct targets in a compact order, in full strips."""

    coordinates: FloatArray
    place: IntArray  # for each target, the row of its coordinates


class Piece(NamedTuple):
    """References in tiles, with their weights in many weightings."""

    tiles: Tiles
    table: FloatArray  # (items, columns), in the order of the tiles; columns in full registers
    least: FloatArray  # (items,): the smallest weight of each
    counts: FloatArray  # (items,): how many references each stands for


class WeightedSums(NamedTuple):
    """Sums of some targets, relative to the kernel of the nearest reference of each class."""

    nearest: FloatArray  # (n, K): its squared distance
    sums: FloatArray  # (n, K, columns): under all weightings
    equal: FloatArray  # (n, K, 2): without weights, of kernels and of their squares

    def of(self, rows: slice) -> WeightedSums:
        """Return those of some targets."""
        return WeightedSums(self.nearest[rows], self.sums[rows], self.equal[rows])


@dataclass(frozen=True)
class ClassDensities:
    """Kernel density estimates of K classes, for validated input.

    References may stand for several equal ones (``counts``); equal targets are evaluated once.
    References are in tiles of neighbours, so that a target skips those that are too far away to
    matter; what is skipped is below 1e-14 of a density.
    """

    reference: FloatArray
    codes: IntArray
    kernel: str
    bandwidths: FloatArray
    shrinkage: float
    counts: FloatArray | None = None

    def log_likelihood(self, target: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return (n_bandwidths, n, K), for one weighting of the references (default: counts)."""
        weights = self._counts if weights is None else weights
        totals = self._class_totals(weights)
        n_classes, scales = self.reference.shape[1], self._scales
        result = np.empty((len(scales), len(target), n_classes))
        blocks = row_blocks(len(target), _rows_at_once(8 * n_classes * (2 + len(scales))))
        for rows in with_progress(blocks, len(target)):
            Z, place = self._targets(target[rows])
            nearest = np.full((len(Z), n_classes), np.inf)
            sums = np.zeros((len(scales), len(Z), n_classes))
            for tiles in self._tiles_of(weights):
                tile_weights = weights[tiles.item] * tiles.occupied
                add = partial(_add_tiles, tiles, tile_weights, Z, scales, nearest, sums)
                for_each_block(add, len(Z), THREAD_ROWS)
            logs = np.log(sums) - scales[:, None, None] * nearest
            result[:, rows] = logs[:, place]
        return result + self._constants(totals)

    def log_likelihoods(self, target: FloatArray, weightings: FloatArray) -> FloatArray:
        """Return (n_bandwidths, B, n, K): each kernel value is computed once for all weightings."""
        n_classes, n_weightings = self.reference.shape[1], len(weightings)
        totals = np.array([self._class_totals(weights) for weights in weightings])
        result = np.empty((len(self.bandwidths), n_weightings, len(target), n_classes))
        targets = self._targets(target)
        first, order = _first_of_each(targets)
        for logs, scale, constants, one in zip(
            result, self._scales.tolist(), self._constants(totals), self._single(), strict=True
        ):
            for chunk, found in self._weighted(targets, weightings, totals, scale, np.float64):

                def finish(
                    block: slice, chunk: slice = chunk, found: WeightedSums = found,
                    logs: FloatArray = logs, scale: float = scale,
                    constants: FloatArray = constants, one: ClassDensities = one,
                ) -> None:  # fmt: skip
                    rows = slice(chunk.start + block.start, chunk.start + block.stop)
                    sums = found.sums[block, :, :n_weightings]
                    lost = _lost(sums, totals, np.float64)
                    # A sum of zero is computed again below.
                    with np.errstate(divide="ignore"):
                        values = np.log(sums) - scale * found.nearest[block, :, None]
                    values = values.transpose(2, 0, 1) + constants
                    for b in np.flatnonzero(lost.any(axis=0)):
                        again = target[first[rows][lost[:, b]]]
                        values[b, lost[:, b]] = one.log_likelihood(again, weightings[b])[0]
                    here = order.rows(rows)
                    logs[:, here] = values[:, targets.place[here] - rows.start]

                for_each_block(finish, len(found.nearest), THREAD_ROWS)
        return result

    def relative_log_likelihoods(
        self, target: FloatArray, weightings: FloatArray, out: FloatArray, parts: FloatArray
    ) -> None:
        """Fill ``out`` (B, n, K), for one bandwidth, with maximum 0 in each row.

        This is what samplers need, in single precision: factors per row cancel, and no other array
        of the size of ``out`` is allocated. Weights are assumed to be exponential variates, which
        lower the log density on average; this bias is corrected (:func:`mean_log_loss`), so that
        replicates scatter around the density of equal weights rather than below it.

        Class k is a mixture: a share ``parts[b, k, j]`` of it is distributed like class j.
        """
        scale = float(self._scales[0])
        totals = np.array([self._class_totals(weights) for weights in weightings])
        class_counts = self._class_totals(self._counts)
        targets = self._targets(target)
        first, order = _first_of_each(targets)
        factors = _in_columns(1.0 / totals.T)
        part_columns = _in_columns(parts.transpose(1, 2, 0))
        for chunk, found in self._weighted(targets, weightings, totals, scale, np.float32):
            loss = mean_log_loss(found.equal[..., 0] ** 2 / found.equal[..., 1], class_counts)
            offsets = loss - scale * found.nearest

            def finish(
                block: slice, chunk: slice = chunk, found: WeightedSums = found,
                loss: FloatArray = loss, offsets: FloatArray = offsets,
            ) -> None:  # fmt: skip
                rows = slice(chunk.start + block.start, chunk.start + block.stop)
                sums, bounds = found.sums[block], order.bounds[rows.start : rows.stop + 1]
                _core.mix_classes(
                    part_columns, factors, offsets[block], sums, order.rows(rows),
                    bounds - bounds[0], out,
                )  # fmt: skip
                lost = _lost(sums[..., : len(weightings)], totals, np.float32)
                for b in np.flatnonzero(lost.any(axis=0)):
                    again = np.flatnonzero(lost[:, b])
                    logs = self.log_likelihood(target[first[rows][again]], weightings[b])[0]
                    logs = _mixed(logs + loss[block][again], parts[b])
                    for row, values in zip(rows.start + again, logs, strict=True):
                        out[b, order.rows(slice(row, row + 1))] = values

            for_each_block(finish, len(found.nearest), THREAD_ROWS)

    def _weighted(
        self,
        targets: Targets,
        weightings: FloatArray,
        totals: FloatArray,
        scale: float,
        precision: Any,
    ) -> Iterator[tuple[slice, WeightedSums]]:
        """Yield blocks of targets and their sums under all weightings, made on all cores."""
        n_classes, n_columns = self.reference.shape[1], _n_columns(len(weightings))
        rows_at_once = _rows_at_once(8 * n_classes * (n_columns + 3))
        item_bytes = 8 * n_classes + np.dtype(precision).itemsize * n_columns
        held = item_bytes * len(self.codes) <= PIECES_BYTES
        pieces = list(self._pieces(weightings, precision)) if held else None
        largest = totals.max(axis=0)
        n_rows = len(targets.coordinates)
        for rows in with_progress(row_blocks(n_rows, rows_at_once), n_rows):
            Z = targets.coordinates[rows]
            found = WeightedSums(
                np.full((len(Z), n_classes), np.inf),
                np.zeros((len(Z), n_classes, n_columns)),
                np.zeros((len(Z), n_classes, 2)),
            )
            for piece in self._pieces(weightings, precision) if pieces is None else pieces:
                add = partial(_add_weighted, piece, largest, Z, scale, found)
                for_each_block(add, len(Z), THREAD_ROWS)
            yield rows, found

    def _pieces(self, weightings: FloatArray, precision: Any) -> Iterator[Piece]:
        """Yield references in tiles with their weights, in bounded memory."""
        n_columns = _n_columns(len(weightings))
        most = TABLE_BYTES // (np.dtype(precision).itemsize * n_columns)
        for tiles in self._tiles_of(self._counts):
            for part in tiles.split(most):
                items, occupied = part.item.ravel(), part.occupied.ravel()
                table = aligned_zeros((len(items), n_columns), precision)
                least = np.empty(len(items))
                for rows in row_blocks(len(items), THREAD_ROWS * _core.TILE):
                    weights = weightings[:, items[rows]] * occupied[rows]
                    table[rows, : len(weightings)] = weights.T
                    least[rows] = weights.min(axis=0)
                yield Piece(part, table, least, self._counts[items] * occupied)

    def _targets(self, target: FloatArray) -> Targets:
        """Return distinct targets; sorted if that lets many references be skipped."""
        rows, place = distinct_rows(target)
        Z = coordinates(target[rows], coordinate_map(self.kernel, self.shrinkage))
        if len(self.codes) >= MANY_REFERENCES:
            order = np.asarray(_core.compact_order(Z, _core.STRIP))
            Z = Z[order]
            to = np.empty_like(order)
            to[order] = np.arange(len(order))
            place = to[place]
        return Targets(np.concatenate([Z, np.repeat(Z[-1:], -len(Z) % _core.STRIP, axis=0)]), place)

    @cached_property
    def _counts(self) -> FloatArray:
        """How many references each one stands for."""
        if self.counts is None:
            return np.ones(len(self.codes))
        return np.asarray(self.counts, dtype=np.float64)

    def _tiles_of(self, weights: FloatArray) -> Iterable[Tiles]:
        """Return the references of positive weight in tiles."""
        if self._compact is None:
            return self._tile_blocks(np.flatnonzero(weights))
        if self._held_tiles is not None and weights.all():
            return self._held_tiles
        return [self._laid_out(self._compact[weights[self._compact] > 0.0])]

    def _tile_blocks(self, kept: IntArray) -> Iterator[Tiles]:
        order = kept[np.argsort(self.codes[kept], kind="stable")]
        rows_at_once = max(_core.TILE, TILES_BYTES // (8 * self.reference.shape[1]))
        for block in row_blocks(len(order), rows_at_once):
            yield self._laid_out(self._compact_rows(order[block]))

    def _compact_rows(self, rows: IntArray) -> IntArray:
        to_coordinates = coordinate_map(self.kernel, self.shrinkage)
        return compact_rows(self.reference, self.codes, rows, to_coordinates)

    def _laid_out(self, order: IntArray) -> Tiles:
        to_coordinates = coordinate_map(self.kernel, self.shrinkage)
        n_coordinates = dimension(self.kernel, self.reference.shape[1])
        return lay_out(self.reference, self.codes, order, to_coordinates, n_coordinates)

    @cached_property
    def _compact(self) -> IntArray | None:
        """All references in a compact order, if their tiles fit into ``TILES_BYTES``."""
        fit = 8 * len(self.codes) * self.reference.shape[1] <= TILES_BYTES
        return self._compact_rows(np.arange(len(self.codes))) if fit else None

    @cached_property
    def _held_tiles(self) -> list[Tiles] | None:
        """All references in tiles, cached if they fit into ``TILES_BYTES``."""
        return None if self._compact is None else [self._laid_out(self._compact)]

    @property
    def _scales(self) -> FloatArray:
        return np.asarray(0.5 / ((1.0 - self.shrinkage) * self.bandwidths) ** 2)

    def _single(self) -> Iterator[ClassDensities]:
        """Yield the densities of each bandwidth."""
        for bandwidth in self.bandwidths:
            yield replace(self, bandwidths=np.array([bandwidth]))

    def _class_totals(self, weights: FloatArray) -> FloatArray:
        totals = np.bincount(self.codes, weights, minlength=self.reference.shape[1])
        if not totals.all():
            raise InputError(
                f"The reference items of class number {int(np.argmin(totals))} all have weight "
                "zero; each class needs an item of positive weight."
            )
        return np.asarray(totals, dtype=np.float64)

    def _constants(self, totals: FloatArray) -> FloatArray:
        """Return the log normalising constants of the sums, per bandwidth and class."""
        n_coordinates = dimension(self.kernel, self.reference.shape[1])
        height = 0.5 * n_coordinates * np.log(self._scales / np.pi)
        per_class = -np.log(totals)[..., None, :]
        return np.asarray(height.reshape(-1, *[1] * per_class.ndim) + per_class)


def mean_log_loss(neighbours: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the mean decrease of a log density under random weights of the references.

    A sum of c kernels with exponential weights is close to a gamma variable with shape c, whose
    mean logarithm is ``digamma(c)``, not ``log(c)``; it is divided by the sum of all m weights of
    the class, a gamma variable with shape m. Uncorrected, a class with few references near an item
    would be biased towards being less likely.

    Parameters
    ----------
    neighbours : ndarray of shape (n, K)
        Effective number of kernels at each item, the squared sum over the sum of squares.
    counts : ndarray of shape (K,)
        Number of references of each class.

    Examples
    --------
    >>> mean_log_loss(np.array([[1.0, 100.0]]), np.array([100.0, 100.0])).round(2)
    array([[0.57, 0.  ]])
    """
    from scipy.special import digamma

    return np.asarray(np.log(neighbours) - digamma(neighbours) - np.log(counts) + digamma(counts))


class Equal(NamedTuple):
    """Which targets share a row of coordinates."""

    order: IntArray  # targets by their row of coordinates
    bounds: IntArray  # where those of each row begin, and the end

    def rows(self, block: slice) -> IntArray:
        """Return the targets of some rows of coordinates."""
        return self.order[self.bounds[block.start] : self.bounds[block.stop]]


def _first_of_each(targets: Targets) -> tuple[IntArray, Equal]:
    """Return one target of each row of coordinates (any for rows that only fill up), and all."""
    order = np.argsort(targets.place, kind="stable")
    bounds = np.searchsorted(targets.place[order], np.arange(len(targets.coordinates) + 1))
    return order[np.minimum(bounds[:-1], len(order) - 1)], Equal(order, bounds)


def _rows_at_once(row_bytes: int) -> int:
    """Return how many targets are processed together, in full tasks."""
    return THREAD_ROWS * max(1, STATE_BYTES // (THREAD_ROWS * row_bytes))


def _n_columns(n_weightings: int) -> int:
    return -(-n_weightings // _core.COLUMNS) * _core.COLUMNS


def _in_columns(values: FloatArray) -> FloatArray:
    """Return values with the last axis in full registers."""
    padded = np.zeros((*values.shape[:-1], _n_columns(values.shape[-1])))
    padded[..., : values.shape[-1]] = values
    return padded


def _lost(sums: FloatArray, totals: FloatArray, precision: Any) -> BoolArray:
    """Return which targets (n, B) have sums that are too small to be accurate.

    Sums are relative to the nearest reference. If a weighting gives it weight zero, they may
    underflow.
    """
    return np.asarray((sums <= VANISHED[precision] * totals.max(axis=0)[:, None]).any(axis=1))


def _mixed(logs: FloatArray, parts: FloatArray) -> FloatArray:
    """Return relative log-likelihoods (n, K) of classes that are mixtures of others."""
    from scipy.special import logsumexp

    mixed = logsumexp(logs[:, None, :], b=parts, axis=2)
    return np.asarray(mixed - mixed.max(axis=1, keepdims=True))


def _add_tiles(
    tiles: Tiles,
    tile_weights: FloatArray,
    Z: FloatArray,
    scales: FloatArray,
    nearest: FloatArray,
    sums: FloatArray,
    rows: slice,
) -> None:
    _core.add_kernel_sums(
        tiles.coordinates, tiles.boxes, tile_weights, tiles.of_class, Z[rows], scales,
        nearest[rows], sums[:, rows],
    )  # fmt: skip


def _add_weighted(
    piece: Piece,
    largest: FloatArray,
    Z: FloatArray,
    scale: float,
    found: WeightedSums,
    rows: slice,
) -> None:
    tiles = piece.tiles
    _core.add_weighted_sums(
        tiles.coordinates, tiles.boxes, tiles.of_class, piece.table, piece.least, piece.counts,
        largest, Z[rows], scale, *found.of(rows),
    )  # fmt: skip
