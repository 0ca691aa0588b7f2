// Squared distances to tiles of references, and sums of kernels over them.
#pragma once

#include "tiles.hpp"

namespace truemix {

// Sums (bandwidths, targets, classes); the bandwidths need not follow each other without gaps.
struct Sums {
    double* data;
    Index bandwidth_stride, n_classes;

    double& operator()(Index b, Index i, Index k) const {
        return data[b * bandwidth_stride + i * n_classes + k];
    }
};

// Adds the tiles' kernels to each target's class sums, in place.
//
// sums(b, i, k) is the weighted sum of exp(-scales[b] * (distance - nearest[i][k])) over the
// references of class k seen so far, and nearest[i][k] their smallest squared distance (infinity
// before the first), so that sums neither overflow nor vanish. The number of targets is a multiple
// of STRIP. What is added for a target does not depend on the others.
void add_kernel_sums(Tiles tiles, Matrix tile_weights, Span<const std::int64_t> tile_class,
                     Matrix targets, Numbers scales, OutMatrix nearest, Sums sums);

// The two parts of the work one by one, to be timed (benchmarks/densities.py).
//
// Fills out (targets, n_tiles * TILE) and lowers nearest (targets) where needed.
void squared_distances(Tiles tiles, Matrix targets, OutMatrix out, Out nearest);

// Fills out with exp(-scale * (distances - nearest)); the number of columns is a multiple of TILE.
void kernel_values(Matrix distances, Numbers nearest, double scale, OutMatrix out);

}  // namespace truemix
