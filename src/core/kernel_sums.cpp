// Distances are sums of squared differences, not |w|^2 + |z|^2 - 2 w.z: the latter cancels badly
// where coordinates are large against the bandwidth, which is where the tails are.
//
// A tile holds items of one class; an incomplete last tile is padded with a repeated item of weight
// zero, which changes neither the nearest distance nor the sum. Targets are taken STRIP at a time,
// so that a reference is loaded once for all of them.

#include "kernel_sums.hpp"

#include <algorithm>

#include "interrupt.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

constexpr Index GROUPS = TILE / LANES;
// Terms below exp(-60) of the nearest one are skipped: a million of them amount to 1e-20.
constexpr double NEGLIGIBLE = 60.0;
// Tiles that are visited together should stay in the second-level cache.
constexpr Index GROUP_BYTES = 1 << 17;
// Groups of items whose distances are summed at once: enough independent sums to keep the
// multiply-add units busy, few enough to stay in registers.
#ifdef __AVX512F__
constexpr Index AT_ONCE = 2;
#else
constexpr Index AT_ONCE = 1;
#endif

struct StripDistances {
    Lanes at[STRIP][GROUPS];
};

inline StripDistances strip_distances(const double* tile, Matrix targets, Index first) {
    const Index n = targets.columns();
    const double* z = targets.data() + first * n;
    StripDistances out;
    for (Index group = 0; group < GROUPS; group += AT_ONCE) {
        Lanes sums[STRIP][AT_ONCE] = {};
        for (Index d = 0; d < n; ++d) {
            for (Index g = 0; g < AT_ONCE; ++g) {
                const Lanes w = load(tile + d * TILE + (group + g) * LANES);
                for (Index s = 0; s < STRIP; ++s) {
                    const Lanes difference = w - z[s * n + d];
                    sums[s][g] += difference * difference;
                }
            }
        }
        for (Index s = 0; s < STRIP; ++s)
            for (Index g = 0; g < AT_ONCE; ++g) out.at[s][group + g] = sums[s][g];
    }
    return out;
}

inline double nearest_of(const Lanes (&distances)[GROUPS]) {
    Lanes least = distances[0];
    for (Index g = 1; g < GROUPS; ++g) least = smaller(distances[g], least);
    return smallest(least);
}

}  // namespace

void add_kernel_sums(Tiles tiles, Matrix tile_weights, Span<const std::int64_t> tile_class,
                     Matrix targets, Numbers scales, OutMatrix nearest, Sums sums) {
    const Index group = std::max<Index>(1, GROUP_BYTES / (8 * TILE * tiles.n_coordinates));
    for (Index start = 0; start < tiles.n_tiles; start += group) {
        const Index end = std::min(start + group, tiles.n_tiles);
        for (Index first = 0; first < targets.rows(); first += STRIP) {
            poll();
            for (Index t = start; t < end; ++t) {
                const StripDistances distances = strip_distances(tiles[t], targets, first);
                const double* weights = tile_weights[t].data();
                const Index k = tile_class[t];
                for (Index s = 0; s < STRIP; ++s) {
                    const double tile_nearest = nearest_of(distances.at[s]);
                    const double before = nearest[first + s][k];
                    const double origin = std::min(before, tile_nearest);
                    nearest[first + s][k] = origin;
                    for (Index b = 0; b < scales.size(); ++b) {
                        const double scale = scales[b];
                        double& sum = sums(b, first + s, k);
                        if (origin < before && sum > 0.0)
                            sum *= exp_negative((origin - before) * scale);
                        if ((tile_nearest - origin) * scale < NEGLIGIBLE) {
                            Lanes added = every(0.0);
                            for (Index g = 0; g < GROUPS; ++g)
                                added += load(weights + g * LANES) *
                                         exp_negative((origin - distances.at[s][g]) * scale);
                            sum += total(added);
                        }
                    }
                }
            }
        }
    }
}

void squared_distances(Tiles tiles, Matrix targets, OutMatrix out, Out nearest) {
    for (Index first = 0; first < targets.rows(); first += STRIP) {
        poll();
        for (Index t = 0; t < tiles.n_tiles; ++t) {
            const StripDistances distances = strip_distances(tiles[t], targets, first);
            for (Index s = 0; s < STRIP; ++s) {
                double* row = out[first + s].data() + t * TILE;
                for (Index g = 0; g < GROUPS; ++g) store(row + g * LANES, distances.at[s][g]);
                nearest[first + s] = std::min(nearest[first + s], nearest_of(distances.at[s]));
            }
        }
    }
}

void kernel_values(Matrix distances, Numbers nearest, double scale, OutMatrix out) {
    for (Index i = 0; i < distances.rows(); ++i) {
        if (i % 32 == 0) poll();
        const double* from = distances[i].data();
        double* to = out[i].data();
        for (Index j = 0; j < distances.columns(); j += LANES)
            store(to + j, exp_negative((nearest[i] - load(from + j)) * scale));
    }
}

}  // namespace truemix
