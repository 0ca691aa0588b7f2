// The product of kernel values and weights is most of the work. It is written out here, rather than
// left to a BLAS, because most kernel values may be negligible: a tile of references is multiplied
// while its weights are in the first-level cache, and only by the items that matter to one of the
// targets of a strip. Targets and references are in a compact order, so that neighbours share them.

#include "weighted_sums.hpp"

#include <algorithm>
#include <cmath>

#include "interrupt.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

// Sums of precision T are short, so that rounding does not add up: after this many tiles they go
// to those of double precision.
constexpr Index SHORT = 8;

// As many numbers as fit into a register, and registers of a row that are multiplied at once: with
// STRIP targets, enough independent sums to keep the multiply-add units busy.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(TRUEMIX_PLAIN_LANES)
constexpr Index REGISTER_BYTES = 8 * WIDTH;
template <class T>
struct Vectors {
    typedef T Register __attribute__((vector_size(REGISTER_BYTES)));
    typedef T InMemory __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(T)), may_alias));
};
#else
constexpr Index REGISTER_BYTES = 4;
template <class T>
struct Vectors {
    using Register = T;
    using InMemory = T;
};
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr Index MOST_REGISTERS = 4;
#else
constexpr Index MOST_REGISTERS = 2;
#endif
template <class T>
constexpr Index REGISTER = std::max<Index>(1, REGISTER_BYTES / Index{sizeof(T)});

// Items of a tile that matter, and the kernel values of all its items for each target of a strip.
template <class T>
struct Active {
    T values[STRIP][TILE];
    Index item[TILE];
    Index n = 0;
};

// sums[s][c] += values[s][j] * rows[j][c] for active items j and R registers of columns c.
template <class T, Index R>
void multiply(const Active<T>& active, const T* rows, Index columns, T* sums) {
    using Register = typename Vectors<T>::Register;
    using InMemory = typename Vectors<T>::InMemory;
    constexpr Index W = REGISTER<T>;
    Register held[STRIP][R];
    for (Index s = 0; s < STRIP; ++s)
        for (Index r = 0; r < R; ++r)
            held[s][r] = *reinterpret_cast<const InMemory*>(sums + s * columns + r * W);
    for (Index a = 0; a < active.n; ++a) {
        const Index j = active.item[a];
        const T* row = rows + j * columns;
        Register weights[R];
        for (Index r = 0; r < R; ++r) weights[r] = *reinterpret_cast<const InMemory*>(row + r * W);
        for (Index s = 0; s < STRIP; ++s)
            for (Index r = 0; r < R; ++r) held[s][r] += active.values[s][j] * weights[r];
    }
    for (Index s = 0; s < STRIP; ++s)
        for (Index r = 0; r < R; ++r)
            *reinterpret_cast<InMemory*>(sums + s * columns + r * W) = held[s][r];
}

// All columns, as evenly as possible in steps of at most MOST_REGISTERS registers.
template <class T>
void multiply(const Active<T>& active, const T* rows, Index columns, T* sums) {
    const Index registers = columns / REGISTER<T>;
    const Index steps = (registers + MOST_REGISTERS - 1) / MOST_REGISTERS;
    for (Index step = 0, done = 0; step < steps; ++step) {
        const Index n = (registers - done + steps - step - 1) / (steps - step);
        const Index at = done * REGISTER<T>;
        if (n == 1) multiply<T, 1>(active, rows + at, columns, sums + at);
        if (n == 2) multiply<T, 2>(active, rows + at, columns, sums + at);
        if constexpr (MOST_REGISTERS > 2) {
            if (n == 3) multiply<T, 3>(active, rows + at, columns, sums + at);
            if (n == 4) multiply<T, 4>(active, rows + at, columns, sums + at);
        }
        done += n;
    }
}

template <class T>
inline Lanes kernel(const Lanes& exponent) {
    if constexpr (std::is_same_v<T, float>) return rough_exp_negative(exponent);
    return exp_negative(exponent);
}

// What is known of one target in the class at hand. Values are relative to the nearest reference.
struct Sight {
    double distance = INFINITE;  // of the nearest reference of this call
    double limit = INFINITE;     // nothing beyond matters
    double cut = 0.0;            // values below do not matter
    // Lower bounds of all sums: by one reference, and by those that have been added.
    double single = 0.0, added = 0.0;
    double used = 0.0;  // the bound that cut and limit were made from
    // What has been added since the sums were lengthened: kernels, their squares, and lower bounds.
    bool touched = false;
    Lanes once = every(0.0), squared = every(0.0), least = every(0.0);
};

template <class T>
class ClassSums {
public:
    ClassSums(Tiles tiles, Weightings<T> weightings, Matrix targets, double scale, WeightedSums out)
        : tiles_(tiles),
          weightings_(weightings),
          targets_(targets),
          scale_(scale),
          out_(out),
          boxes_(targets),
          sights_(extent(targets.rows())),
          short_(extent(targets.rows() * weightings.table.columns())) {}

    void add(Index start, Index end, Index k) {
        k_ = k;
        std::fill(sights_.begin(), sights_.end(), Sight());
        for (Index first = start; first < end; first += SECTION) {
            const Index last = std::min(first + SECTION, end);
            boxes_.fill(tiles_, first, last);
            for (Index i = 0; i < targets_.rows(); ++i) look_nearby(i);
            for (Index t = first; t < last; ++t) {
                add_tile(t);
                if ((t - first) % SHORT == SHORT - 1 || t == last - 1) lengthen();
            }
        }
    }

private:
    Index columns() const { return weightings_.table.columns(); }
    Index place(Index i) const { return i * out_.nearest.columns() + k_; }

    void look_nearby(Index i) {
        const Index t = boxes_.nearest_tile(i);
        if (!(boxes_.of(t)[i] < sights_[extent(i)].distance)) return;
        Distances distances;
        tile_distances(tiles_[t], targets_[i], distances);
        const double distance = nearest_of(distances);
        if (distance < sights_[extent(i)].distance) see(t, i, distances, distance);
    }

    // A reference that is nearer than all others of this call.
    void see(Index t, Index i, const Distances& distances, double distance) {
        Sight& sight = sights_[extent(i)];
        const double before = out_.nearest[i][k_];
        const double origin = std::min(distance, before);
        const double least = weight_at(distances, distance, weightings_.least.data() + t * TILE);
        if (origin < before) {
            out_.nearest[i][k_] = origin;
            if (before < INFINITE) rescale(i, exp_negative((origin - before) * scale_));
        }
        sight.distance = distance;
        sight.single = least * exp_negative((origin - distance) * scale_);
        look_as_far_as_needed(i);
    }

    void rescale(Index i, double factor) {
        double* sums = out_.sums + place(i) * columns();
        T* sums_short = short_.data() + i * columns();
        for (Index c = 0; c < columns(); ++c) {
            sums[c] *= factor;
            sums_short[c] *= static_cast<T>(factor);
        }
        out_.equal[2 * place(i)] *= factor;
        out_.equal[2 * place(i) + 1] *= factor * factor;
        Sight& sight = sights_[extent(i)];
        sight.added *= factor;
        sight.once = sight.once * factor;
        sight.squared = sight.squared * (factor * factor);
        sight.least = sight.least * factor;
    }

    void look_as_far_as_needed(Index i) {
        Sight& sight = sights_[extent(i)];
        sight.used = std::max(sight.single, sight.added);
        sight.cut = std::max(VANISHING<T>, LEFT_OUT<T> * sight.used / weightings_.totals[k_]);
        sight.limit = out_.nearest[i][k_] - std::log(sight.cut) / scale_;
    }

    void add_tile(Index t) {
        poll();
        const double* bounds = boxes_.of(t);
        for (Index i = 0; i < targets_.rows(); i += STRIP) {
            bool wanted[STRIP], any = false;
            for (Index s = 0; s < STRIP; ++s)
                any |= wanted[s] = bounds[i + s] < sights_[extent(i + s)].limit;
            if (!any) continue;
            const StripDistances distances = strip_distances(tiles_[t], targets_, i);
            Active<T> active;
            Lanes matters[GROUPS] = {};
            for (Index s = 0; s < STRIP; ++s) {
                if (wanted[s])
                    wanted[s] = add_equal(t, i + s, distances.at[s], active.values[s], matters);
                if (!wanted[s]) std::fill_n(active.values[s], TILE, T(0));
            }
            double positive[TILE];
            for (Index g = 0; g < GROUPS; ++g) store(positive + g * LANES, matters[g]);
            for (Index j = 0; j < TILE; ++j) {
                active.item[active.n] = j;
                active.n += positive[j] > 0.0;
            }
            if (active.n > 0)
                multiply(active, weightings_.table[t * TILE].data(), columns(),
                         short_.data() + i * columns());
        }
    }

    // Fills the kernel values of one target and adds them without weights; whether any matters.
    bool add_equal(Index t, Index i, const Distances& distances, T* values, Lanes* matters) {
        Sight& sight = sights_[extent(i)];
        const double tile_nearest = nearest_of(distances);
        if (tile_nearest >= sight.limit) return false;
        if (tile_nearest < sight.distance) see(t, i, distances, tile_nearest);
        const double origin = out_.nearest[i][k_];
        const double *least = weightings_.least.data() + t * TILE,
                     *counts = weightings_.counts.data() + t * TILE;
        sight.touched = true;
        for (Index g = 0; g < GROUPS; ++g) {
            const Lanes all = kernel<T>((origin - distances[g]) * scale_);
            const Lanes value = where_at_most(every(sight.cut), all, all);
            matters[g] = larger(matters[g], value);
            const Lanes counted = load(counts + g * LANES) * value;
            sight.once += counted;
            sight.squared += counted * value;
            sight.least += load(least + g * LANES) * value;
            double at[LANES];
            store(at, value);
            for (Index j = 0; j < LANES; ++j) values[g * LANES + j] = static_cast<T>(at[j]);
        }
        return true;
    }

    // Not after every tile: sums over lanes and logarithms take a while.
    void lengthen() {
        for (Index i = 0; i < targets_.rows(); ++i) {
            Sight& sight = sights_[extent(i)];
            if (!sight.touched) continue;
            double* sums = out_.sums + place(i) * columns();
            T* sums_short = short_.data() + i * columns();
            for (Index c = 0; c < columns(); ++c) {
                sums[c] += sums_short[c];
                sums_short[c] = T(0);
            }
            out_.equal[2 * place(i)] += total(sight.once);
            out_.equal[2 * place(i) + 1] += total(sight.squared);
            sight.added += total(sight.least);
            sight.once = sight.squared = sight.least = every(0.0);
            sight.touched = false;
            if (sight.added > 2.0 * sight.used) look_as_far_as_needed(i);
        }
    }

    Tiles tiles_;
    Weightings<T> weightings_;
    Matrix targets_;
    double scale_;
    WeightedSums out_;
    BoxDistances boxes_;
    std::vector<Sight> sights_;
    std::vector<T> short_;
    Index k_ = 0;
};

}  // namespace

template <class T>
void add_weighted_sums(Tiles tiles, Span<const std::int64_t> tile_class, Weightings<T> weightings,
                       Matrix targets, double scale, WeightedSums out) {
    if (targets.rows() == 0) return;
    ClassSums<T> sums(tiles, weightings, targets, scale, out);
    for_each_class(tile_class, [&](Index first, Index last, Index k) { sums.add(first, last, k); });
}

template void add_weighted_sums(Tiles, Span<const std::int64_t>, Weightings<float>, Matrix, double,
                                WeightedSums);
template void add_weighted_sums(Tiles, Span<const std::int64_t>, Weightings<double>, Matrix, double,
                                WeightedSums);

void mix_classes(Mixtures mixtures, float* out, Index n_weightings, Index n_rows) {
    const Index K = mixtures.factors.rows(), columns = mixtures.factors.columns();
    Vector likelihoods(extent(K * LANES)), logs(extent(K * LANES)), offsets(extent(K));
    for (Index i = 0; i < mixtures.offsets.rows(); ++i) {
        poll();
        const Numbers row = mixtures.offsets[i];
        const double largest = *std::max_element(row.begin(), row.end());
        for (Index k = 0; k < K; ++k) offsets[extent(k)] = std::exp(row[k] - largest);
        const double* sums = mixtures.sums + i * K * columns;
        for (Index b = 0; b < n_weightings; b += LANES) {
            for (Index j = 0; j < K; ++j)
                store(likelihoods.data() + j * LANES, load(sums + j * columns + b) *
                                                          load(mixtures.factors[j].data() + b) *
                                                          offsets[extent(j)]);
            Lanes most = every(-INFINITE);
            for (Index k = 0; k < K; ++k) {
                Lanes mixed = every(0.0);
                for (Index j = 0; j < K; ++j)
                    mixed += load(mixtures.parts + (k * K + j) * columns + b) *
                             load(likelihoods.data() + j * LANES);
                double* at = logs.data() + k * LANES;
                if (smallest(mixed) >= SMALLEST_NORMAL) {
                    store(at, log_positive(mixed));
                } else {
                    store(at, mixed);
                    for (Index lane = 0; lane < LANES; ++lane) at[lane] = std::log(at[lane]);
                }
                most = larger(most, load(at));
            }
            for (Index k = 0; k < K; ++k)
                store(logs.data() + k * LANES, load(logs.data() + k * LANES) - most);
            const Index n = std::min(LANES, n_weightings - b);
            for (Index place = mixtures.bounds[i]; place < mixtures.bounds[i + 1]; ++place) {
                for (Index lane = 0; lane < n; ++lane) {
                    float* to = out + ((b + lane) * n_rows + mixtures.rows[place]) * K;
                    for (Index k = 0; k < K; ++k)
                        to[k] = static_cast<float>(logs[extent(k * LANES + lane)]);
                }
            }
        }
    }
}

}  // namespace truemix
