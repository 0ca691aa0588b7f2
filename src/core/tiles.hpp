// References in tiles: their layout, the distances of targets to them, and what can be skipped.
//
// Distances are sums of squared differences, not |w|^2 + |z|^2 - 2 w.z: the latter cancels badly
// where coordinates are large against the bandwidth, which is where the tails are.
//
// A tile holds items of one class; an incomplete last tile is padded with a repeated item of weight
// zero, which changes neither the nearest distance nor the sum. Targets are taken STRIP at a time,
// so that a reference is loaded once for all of them.
#pragma once

#include <algorithm>
#include <limits>

#include "arrays.hpp"
#include "lanes.hpp"

namespace truemix {

// Items in a tile, and targets that are taken together.
constexpr Index TILE = 32, STRIP = 4;
constexpr Index GROUPS = TILE / LANES;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Coordinate d of item j of tile t is at data[(t * n_coordinates + d) * TILE + j]; the smallest and
// the largest value of coordinate d in tile t are at boxes[(2 * t) * n_coordinates + d] and
// boxes[(2 * t + 1) * n_coordinates + d].
struct Tiles {
    const double* data;
    const double* boxes;
    Index n_tiles, n_coordinates;

    const double* operator[](Index t) const { return data + t * n_coordinates * TILE; }
    const double* low(Index t) const { return boxes + 2 * t * n_coordinates; }
    const double* high(Index t) const { return low(t) + n_coordinates; }
};

using Distances = Lanes[GROUPS];

struct StripDistances {
    Distances at[STRIP];
};

// Groups of items whose distances are summed at once: enough independent sums to keep the
// multiply-add units busy, few enough to stay in registers.
#ifdef __AVX512F__
constexpr Index AT_ONCE = 2;
#else
constexpr Index AT_ONCE = 1;
#endif

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

// The same numbers for a single target.
inline void tile_distances(const double* tile, Numbers z, Distances& out) {
    for (Index g = 0; g < GROUPS; ++g) out[g] = every(0.0);
    for (Index d = 0; d < z.size(); ++d) {
        for (Index g = 0; g < GROUPS; ++g) {
            const Lanes difference = load(tile + d * TILE + g * LANES) - z[d];
            out[g] += difference * difference;
        }
    }
}

inline double nearest_of(const Distances& distances) {
    Lanes least = distances[0];
    for (Index g = 1; g < GROUPS; ++g) least = smaller(distances[g], least);
    return smallest(least);
}

// The largest of the weights of the items at this distance: a repeated item has weight zero.
inline double weight_at(const Distances& distances, double distance, const double* weights) {
    double largest = 0.0;
    for (Index g = 0; g < GROUPS; ++g) {
        double at[LANES];
        store(at, distances[g]);
        for (Index j = 0; j < LANES; ++j)
            if (at[j] == distance) largest = std::max(largest, weights[g * LANES + j]);
    }
    return largest;
}

// Lower bounds of the squared distances of some targets to tiles: the distances to their boxes.
class BoxDistances {
public:
    explicit BoxDistances(Matrix targets)
        : rows_(targets.rows()),
          padded_((targets.rows() + LANES - 1) / LANES * LANES),
          turned_(extent(padded_ * targets.columns())),
          least_(extent(padded_)),
          nearest_(extent(padded_)) {
        for (Index d = 0; d < targets.columns(); ++d)
            for (Index i = 0; i < padded_; ++i)
                turned_[extent(d * padded_ + i)] = targets[std::min(i, rows_ - 1)][d];
    }

    // Bounds of tiles first to last - 1, one row of targets for each.
    void fill(Tiles tiles, Index first, Index last) {
        first_ = first;
        bounds_.resize(extent((last - first) * padded_));
        std::fill(least_.begin(), least_.end(), INFINITE);
        std::fill(nearest_.begin(), nearest_.end(), first);
        for (Index t = first; t < last; ++t) {
            const double *low = tiles.low(t), *high = tiles.high(t);
            double* out = bounds_.data() + (t - first) * padded_;
            for (Index i = 0; i < padded_; i += LANES) {
                Lanes sums = every(0.0);
                for (Index d = 0; d < tiles.n_coordinates; ++d) {
                    const Lanes z = load(turned_.data() + d * padded_ + i);
                    const Lanes outside = larger(larger(low[d] - z, z - high[d]), every(0.0));
                    sums += outside * outside;
                }
                store(out + i, sums);
            }
            for (Index i = 0; i < padded_; ++i) {
                const bool nearer = out[i] < least_[extent(i)];
                least_[extent(i)] = nearer ? out[i] : least_[extent(i)];
                nearest_[extent(i)] = nearer ? t : nearest_[extent(i)];
            }
        }
    }

    const double* of(Index t) const { return bounds_.data() + (t - first_) * padded_; }

    // The tile whose box is nearest to target i.
    Index nearest_tile(Index i) const { return nearest_[extent(i)]; }

private:
    Index rows_, padded_, first_ = 0;
    Vector turned_, bounds_, least_;
    std::vector<Index> nearest_;
};

// Tiles whose bounds are held at once, so that those of all targets stay in the second-level cache.
constexpr Index SECTION = 1024;

// Calls f(first, last, class) for all tiles that follow each other and are of one class.
template <class F>
void for_each_class(Span<const std::int64_t> tile_class, F f) {
    for (Index first = 0, last = 0; first < tile_class.size(); first = last) {
        while (last < tile_class.size() && tile_class[last] == tile_class[first]) ++last;
        f(first, last, static_cast<Index>(tile_class[first]));
    }
}

}  // namespace truemix
