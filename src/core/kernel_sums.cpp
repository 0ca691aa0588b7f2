#include "kernel_sums.hpp"

#include <algorithm>
#include <cmath>

#include "interrupt.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

// What may be left out of a sum, relative to it.
constexpr double LEFT_OUT = 1e-14;

// How far a target has to look in one class. A reference at squared distance d with weight w is
// known, so that the sum is at least w exp(-scale d). Together, references beyond
// d + reach / scale amount to less than LEFT_OUT of that.
struct Horizon {
    double distance = INFINITE, reach = 0.0, limit = INFINITE;

    void see(double d, double weight, double total, double least_scale) {
        distance = d;
        reach = weight > 0.0 ? std::log(total / (LEFT_OUT * weight)) : INFINITE;
        limit = d + reach / least_scale;
    }
};

class SectionSums {
public:
    SectionSums(Tiles tiles, Matrix weights, Matrix targets, Numbers scales, OutMatrix nearest,
                Sums sums)
        : tiles_(tiles),
          weights_(weights),
          targets_(targets),
          scales_(scales),
          nearest_(nearest),
          sums_(sums),
          boxes_(targets),
          horizons_(extent(targets.rows())) {
        least_scale_ = *std::min_element(scales.begin(), scales.end());
    }

    // Before the first section of a class, whose references weigh this much in all.
    void begin(double total) {
        total_ = total;
        std::fill(horizons_.begin(), horizons_.end(), Horizon());
    }

    void add(Index first, Index last, Index k) {
        boxes_.fill(tiles_, first, last);
        for (Index i = 0; i < targets_.rows(); ++i) look_nearby(i, k);
        for (Index t = first; t < last; ++t) {
            poll();
            const double* bounds = boxes_.of(t);
            for (Index i = 0; i < targets_.rows(); i += STRIP) {
                bool wanted[STRIP], any = false;
                for (Index s = 0; s < STRIP; ++s)
                    any |= wanted[s] = bounds[i + s] < horizons_[extent(i + s)].limit;
                if (!any) continue;
                const StripDistances distances = strip_distances(tiles_[t], targets_, i);
                for (Index s = 0; s < STRIP; ++s)
                    if (wanted[s]) add_tile(t, i + s, k, distances.at[s]);
            }
        }
    }

private:
    // The nearest tile first: the better the horizon, the more can be skipped.
    void look_nearby(Index i, Index k) {
        const Index t = boxes_.nearest_tile(i);
        if (!(boxes_.of(t)[i] < horizons_[extent(i)].distance)) return;
        Distances distances;
        tile_distances(tiles_[t], targets_[i], distances);
        const double distance = nearest_of(distances);
        if (distance < horizons_[extent(i)].distance) see(t, i, k, distances, distance);
    }

    // A reference that is nearer than all others so far.
    void see(Index t, Index i, Index k, const Distances& distances, double distance) {
        const double weight = weight_at(distances, distance, weights_[t].data());
        horizons_[extent(i)].see(distance, weight, total_, least_scale_);
        const double before = nearest_[i][k];
        if (distance >= before) return;
        nearest_[i][k] = distance;
        for (Index b = 0; b < scales_.size(); ++b) {
            double& sum = sums_(b, i, k);
            if (sum > 0.0) sum *= exp_negative((distance - before) * scales_[b]);
        }
    }

    void add_tile(Index t, Index i, Index k, const Distances& distances) {
        const double tile_nearest = nearest_of(distances);
        Horizon& horizon = horizons_[extent(i)];
        if (tile_nearest < horizon.distance) see(t, i, k, distances, tile_nearest);
        const double* weights = weights_[t].data();
        const double origin = nearest_[i][k];
        for (Index b = 0; b < scales_.size(); ++b) {
            const double scale = scales_[b];
            if (!((tile_nearest - horizon.distance) * scale < horizon.reach)) continue;
            Lanes added = every(0.0);
            for (Index g = 0; g < GROUPS; ++g)
                added += load(weights + g * LANES) * exp_negative((origin - distances[g]) * scale);
            sums_(b, i, k) += total(added);
        }
    }

    Tiles tiles_;
    Matrix weights_, targets_;
    Numbers scales_;
    OutMatrix nearest_;
    Sums sums_;
    BoxDistances boxes_;
    std::vector<Horizon> horizons_;
    double least_scale_, total_ = 0.0;
};

}  // namespace

void add_kernel_sums(Tiles tiles, Matrix tile_weights, Span<const std::int64_t> tile_class,
                     Matrix targets, Numbers scales, OutMatrix nearest, Sums sums) {
    if (targets.rows() == 0 || scales.size() == 0) return;
    SectionSums section(tiles, tile_weights, targets, scales, nearest, sums);
    for_each_class(tile_class, [&](Index start, Index end, Index k) {
        section.begin(sum({tile_weights[start].data(), (end - start) * TILE}));
        for (Index first = start; first < end; first += SECTION)
            section.add(first, std::min(first + SECTION, end), k);
    });
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
