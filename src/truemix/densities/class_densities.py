"""Kernel density estimates of all classes at once, in bounded memory, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from truemix import _core
from truemix._threads import for_each_block, one_blas_thread, row_blocks
from truemix._typing import FloatArray, IntArray
from truemix.densities._tiles import (
    TILES_BYTES,
    Tiles,
    coordinate_map,
    coordinates,
    dimension,
    tile_blocks,
)
from truemix.exceptions import InputError

# Memory for the sums of the targets in one block, and the targets per thread and task.
STATE_BYTES = 32 << 20
THREAD_ROWS = 64
# Memory per thread for kernel values shared by many weightings, and targets per task.
KERNEL_BYTES = 4 << 20
KERNEL_ROWS = 128
# Sums of kernels below this have lost precision to underflow.
VANISHED = 1e-280

# References of one class, their weights in all weightings, and how many items each stands for.
Piece = tuple[Tiles, FloatArray, FloatArray]


@dataclass(frozen=True)
class ClassDensities:
    """Kernel density estimates of K classes, for validated input.

    Equal references of a class are one with the sum of their weights, and equal targets are
    evaluated once. That is exact, and with rounded probabilities many times less work.
    """

    reference: FloatArray
    codes: IntArray
    kernel: str
    bandwidths: FloatArray
    shrinkage: float

    def log_likelihood(self, target: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return (n_bandwidths, n, K), for one weighting of the references (default: equal)."""
        weights = np.ones(len(self.codes)) if weights is None else weights
        return self._log_likelihood(target, self._merged(weights[None])[0])

    def _log_likelihood(self, target: FloatArray, weights: FloatArray) -> FloatArray:
        totals = self._class_totals(weights)
        n_classes, scales = self.reference.shape[1], self._scales
        result = np.empty((len(scales), len(target), n_classes))
        rows_at_once = STATE_BYTES // (8 * n_classes * (2 + len(scales)))
        for rows in row_blocks(len(target), max(THREAD_ROWS, rows_at_once)):
            distinct, place = np.unique(_core.first_equal(target[rows]), return_inverse=True)
            Z = self._coordinates(target[rows][distinct])
            nearest = np.full((len(Z), n_classes), np.inf)
            sums = np.zeros((len(scales), len(Z), n_classes))
            for tiles in self._tiles_of(weights):
                tile_weights = weights[tiles.item] * tiles.occupied
                add = partial(_add_tiles, tiles, tile_weights, Z, scales, nearest, sums)
                for_each_block(add, len(Z), THREAD_ROWS)
            n = len(distinct)
            logs = np.log(sums[:, :n]) - scales[:, None, None] * nearest[:n]
            result[:, rows] = logs[:, place]
        return result + self._constants(totals)

    def log_likelihoods(self, target: FloatArray, weightings: FloatArray) -> FloatArray:
        """Return (n_bandwidths, B, n, K): each kernel value is computed once for all weightings."""
        n_classes = self.reference.shape[1]
        result = np.empty((len(self.bandwidths), len(weightings), len(target), n_classes))
        self._fill_reweighted(target, weightings, lambda logs, _: logs, result)
        return result

    def relative_log_likelihoods(
        self,
        target: FloatArray,
        weightings: FloatArray,
        out: FloatArray,
        parts: FloatArray | None = None,
    ) -> None:
        """Fill ``out`` (B, n, K), of any precision, for one bandwidth, with maximum 0 in each row.

        This is what samplers need: factors per row cancel, and no other array of the size of
        ``out`` is allocated. Weights are assumed to be exponential variates, which lower the log
        density on average; this bias is corrected (:func:`mean_log_loss`), so that replicates
        scatter around the density of equal weights rather than below it.

        With ``parts`` (B, K, K) class k is a mixture: a share ``parts[b, k, j]`` of it is
        distributed like class j.
        """
        counts = np.bincount(self.codes, minlength=self.reference.shape[1])

        def relative(logs: FloatArray, neighbours: FloatArray) -> FloatArray:
            corrected: FloatArray = logs[0] + mean_log_loss(neighbours[0], counts)
            corrected -= corrected.max(axis=2, keepdims=True)
            if parts is not None:
                # Shares may underflow to zero: then a class stays impossible.
                with np.errstate(divide="ignore"):
                    corrected = np.log(np.exp(corrected) @ parts.transpose(0, 2, 1))
                corrected -= corrected.max(axis=2, keepdims=True)
            return corrected

        self._fill_reweighted(target, weightings, relative, out)

    def _fill_reweighted(
        self,
        target: FloatArray,
        weightings: FloatArray,
        finish: Callable[[FloatArray, FloatArray], FloatArray],
        out: FloatArray,
    ) -> None:
        """Fill ``out`` (..., n, K) with what ``finish`` makes of blocks of targets, on all cores.

        Its arguments are the log-likelihoods of these targets (n_bandwidths, B, rows, K), and the
        effective number of kernels of each class at each of them (n_bandwidths, rows, K).
        """
        weightings = self._merged(weightings)
        totals = np.array([self._class_totals(weights) for weights in weightings])
        constants = self._constants(totals)
        pieces = None if self._held_tiles is None else list(self._pieces(weightings))
        distinct, place = np.unique(_core.first_equal(target), return_inverse=True)
        # The rows of the targets in the order of distinct ones, and where each of these begins.
        order = np.argsort(place, kind="stable")
        bounds = np.searchsorted(place[order], np.arange(len(distinct) + 1))

        def work(block: slice) -> None:
            blocks = self._pieces(weightings) if pieces is None else pieces
            logs, neighbours = self._reweighted(target[distinct[block]], blocks, weightings)
            finished = finish(logs + constants, neighbours)
            if len(distinct) == len(target):
                # Without copies of single rows, which take several times longer.
                out[..., block, :] = finished
                return
            equal = order[bounds[block.start] : bounds[block.stop]]
            for rows in row_blocks(len(equal), KERNEL_ROWS):
                out[..., equal[rows], :] = finished[..., place[equal[rows]] - block.start, :]

        with one_blas_thread():
            for_each_block(work, len(distinct), KERNEL_ROWS)

    def _pieces(self, weightings: FloatArray) -> Iterator[Piece]:
        """Yield references of one class at a time, with their weights in all weightings."""
        for tiles in self._tiles_of(self._counts):
            for piece in tiles.split(KERNEL_BYTES // (8 * KERNEL_ROWS)):
                items, occupied = piece.item.ravel(), piece.occupied.ravel()
                yield piece, weightings[:, items] * occupied, self._counts[items] * occupied

    def _reweighted(
        self, target: FloatArray, pieces: Iterable[Piece], weightings: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return log sums (n_bandwidths, B, n, K) of a few targets, and effective kernel counts."""
        n, n_classes, scales = len(target), self.reference.shape[1], self._scales
        Z = self._coordinates(target)
        nearest = np.full((n_classes, len(Z)), np.inf)
        sums = np.zeros((n_classes, len(scales), len(weightings), len(Z)))
        equal = np.zeros((n_classes, len(scales), 2, len(Z)))
        for piece, table, counts in pieces:
            k = int(piece.of_class[0])
            _add_products(piece, table, counts, Z, scales, nearest[k], sums[k], equal[k])
        sums, equal = sums[..., :n], equal[..., :n]
        neighbours = np.moveaxis(equal[:, :, 0] ** 2 / equal[:, :, 1], 0, -1)
        logs = np.log(np.maximum(sums, VANISHED))
        logs -= scales[:, None, None] * nearest[:, None, None, :n]
        result: FloatArray = np.moveaxis(logs, 0, -1)
        # Sums are relative to the nearest item. If a weighting gives it weight zero, they may
        # underflow: recompute these relative to the nearest item of positive weight.
        for b in np.flatnonzero((sums <= VANISHED).any(axis=(0, 1, 3))):
            lost = np.flatnonzero((sums[:, :, b] <= VANISHED).any(axis=(0, 1)))
            again = self._log_likelihood(target[lost], weightings[b])
            constants = self._constants(self._class_totals(weightings[b]))
            result[:, b, lost] = again - constants
        return result, neighbours

    def _coordinates(self, target: FloatArray) -> FloatArray:
        """Return the coordinates of targets, padded with the last one to a full strip."""
        Z = coordinates(target, coordinate_map(self.kernel, self.shrinkage))
        return np.concatenate([Z, np.repeat(Z[-1:], -len(Z) % _core.STRIP, axis=0)])

    @cached_property
    def _first_equal(self) -> IntArray:
        """The first of the references that equal each one and are of its class."""
        return _core.first_equal(self.reference, self.codes)

    @cached_property
    def _counts(self) -> FloatArray:
        """How many references each one stands for: zero unless it is the first of equal ones."""
        return np.bincount(self._first_equal, minlength=len(self.codes)).astype(np.float64)

    def _merged(self, weightings: FloatArray) -> FloatArray:
        """Return weights (B, m) that are moved to the first of equal references."""
        if self._counts.all():
            return weightings
        moved = [np.bincount(self._first_equal, row, len(self.codes)) for row in weightings]
        return np.array(moved)

    def _tiles_of(self, weights: FloatArray) -> Iterable[Tiles]:
        """Return the references of positive weight in tiles."""
        kept = np.flatnonzero(weights)
        if len(kept) < np.count_nonzero(self._counts):
            return self._make_tiles(kept)
        return self._make_tiles(kept) if self._held_tiles is None else self._held_tiles

    def _make_tiles(self, kept: IntArray) -> Iterator[Tiles]:
        to_coordinates = coordinate_map(self.kernel, self.shrinkage)
        n_coordinates = dimension(self.kernel, self.reference.shape[1])
        return tile_blocks(self.reference, self.codes, kept, to_coordinates, n_coordinates)

    @cached_property
    def _held_tiles(self) -> list[Tiles] | None:
        """All distinct references in tiles, cached if they fit into ``TILES_BYTES``."""
        kept = np.flatnonzero(self._counts)
        fit = 8 * len(kept) * self.reference.shape[1] <= TILES_BYTES
        return list(self._make_tiles(kept)) if fit else None

    @property
    def _scales(self) -> FloatArray:
        return np.asarray(0.5 / ((1.0 - self.shrinkage) * self.bandwidths) ** 2)

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


def mean_log_loss(neighbours: FloatArray, counts: IntArray) -> FloatArray:
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
    >>> mean_log_loss(np.array([[1.0, 100.0]]), np.array([100, 100])).round(2)
    array([[0.57, 0.  ]])
    """
    from scipy.special import digamma

    return np.asarray(np.log(neighbours) - digamma(neighbours) - np.log(counts) + digamma(counts))


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
        tiles.coordinates, tile_weights, tiles.of_class, Z[rows], scales, nearest[rows],
        sums[:, rows],
    )  # fmt: skip


def _add_products(
    piece: Tiles,
    table: FloatArray,
    counts: FloatArray,
    Z: FloatArray,
    scales: FloatArray,
    nearest: FloatArray,
    sums: FloatArray,
    equal: FloatArray,
) -> None:
    """Add one class's kernels times every weighting to ``sums`` (n_bandwidths, B, n), in place.

    The unweighted kernels and their squares are added to ``equal`` (n_bandwidths, 2, n).
    """
    distances = np.empty((len(Z), piece.item.size))
    values = np.empty_like(distances)
    before = nearest.copy()
    _core.squared_distances(piece.coordinates, Z, distances, nearest)
    seen = np.isfinite(before)
    for b, scale in enumerate(scales.tolist()):
        _core.kernel_values(distances, nearest, scale, values)
        # Earlier sums are relative to the nearest item at that time: rescale them.
        smaller = np.exp(scale * (nearest[seen] - before[seen]))
        sums[b, :, seen] *= smaller[:, None]
        sums[b] += table @ values.T
        equal[b, 0, seen] *= smaller
        equal[b, 1, seen] *= smaller**2
        equal[b, 0] += values @ counts
        np.square(values, out=values)
        equal[b, 1] += values @ counts
