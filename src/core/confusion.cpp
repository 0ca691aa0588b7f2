#include "confusion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "interrupt.hpp"
#include "lanes.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

using Counts = Span<const std::int64_t>;

// Up to this many items per class, drawing the class of each is faster than drawing counts.
constexpr std::int64_t FEW_ITEMS = 12;

// Draws from a Dirichlet of any shapes; Random::dirichlet needs one of at least 1.
void draw_mix(Random& random, Out shape, Out out) {
    if (*std::max_element(shape.begin(), shape.end()) >= 1.0) return random.dirichlet(shape, out);
    // Dir(a) is the mixture over j of Dir(a + e_j) with weights a_j / sum(a).
    double u = random.uniform() * sum(shape);
    Index j = 0;
    for (; j < shape.size() - 1 && u >= shape[j]; ++j) u -= shape[j];
    shape[j] += 1.0;
    random.dirichlet(shape, out);
    shape[j] -= 1.0;
}

// Draws rows of the matrix, whose shapes are mostly small whole numbers. The gamma variate of such
// a shape is minus the logarithm of a product of as many uniforms, and the logarithms of a whole
// row are fast. Products of up to MAX_FACTORS are normal numbers.
class RowDraws {
public:
    explicit RowDraws(Index columns)
        : products_(extent((columns + LANES - 1) / LANES * LANES), 1.0) {}

    void draw(Random& random, Numbers shape, Out out) {
        others_.clear();
        for (Index c = 0; c < shape.size(); ++c) products_[extent(c)] = random.open_uniform();
        for (Index c = 0; c < shape.size(); ++c) {
            if (shape[c] == 1.0) continue;
            const bool whole = shape[c] == std::floor(shape[c]);
            if (whole && shape[c] >= 1.0 && shape[c] <= MAX_FACTORS) {
                for (double factors = shape[c]; factors > 1.0; factors -= 1.0)
                    products_[extent(c)] *= random.open_uniform();
            } else {
                others_.push_back(c);
            }
        }
        for (std::size_t c = 0; c < products_.size(); c += extent(LANES))
            store(&products_[c], 0.0 - log_positive(load(&products_[c])));
        for (Index c : others_) products_[extent(c)] = random.any_gamma(shape[c]);
        const double total = sum(Numbers(products_.data(), shape.size()));
        for (Index c = 0; c < shape.size(); ++c) {
            const double share = products_[extent(c)] / total;
            out[c] = share < SMALLEST ? SMALLEST : share;
        }
    }

private:
    static constexpr double MAX_FACTORS = 12.0;
    Vector products_;
    std::vector<Index> others_;
};

// The first class whose cumulative weight is above the value, at most the last. Without branches,
// which would be taken at random.
Index first_above(const Vector& cumulative, double value) {
    const double* first = cumulative.data();
    for (Index n = static_cast<Index>(cumulative.size()); n > 1;) {
        const Index half = n / 2;
        first += half * (first[half - 1] <= value);
        n -= half;
    }
    return first - cumulative.data();
}

// Draws a multinomial split of count items, given the cumulative weights of the classes.
template <class Place>
void split_many(Numbers cumulative, std::int64_t count, Random& random, Place place) {
    const Index last_class = cumulative.size() - 1;
    double below = 0.0;
    const double total = cumulative[last_class];
    for (Index y = 0; y <= last_class && count > 0; ++y) {
        // The last possible class takes all remaining items.
        const bool last = y == last_class || cumulative[y] >= total;
        const double share = (cumulative[y] - below) / (total - below);
        place(y) = last ? count : random.binomial(count, share);
        count -= place(y);
        below = cumulative[y];
    }
}

// The log of the factors of the density that rounding the counts leaves out.
double log_rest(Numbers pi, Matrix M, Numbers powers, Counts whole) {
    double value = 0.0;
    for (Index c = 0; c < M.columns(); ++c) {
        const double rest = powers[c] - static_cast<double>(whole[c]);
        if (rest == 0.0) continue;
        double probability = 0.0;
        for (Index y = 0; y < M.rows(); ++y) probability += pi[y] * M[y][c];
        value += rest * std::log(probability);
    }
    return value;
}

void write_shares(Table<const std::int64_t> split, std::int64_t n_items, Out out) {
    for (Index y = 0; y < split.rows(); ++y) {
        const auto row = split[y];
        const std::int64_t count = std::accumulate(row.begin(), row.end(), std::int64_t{0});
        out[y] = static_cast<double>(count) / static_cast<double>(n_items);
    }
}

}  // namespace

void split_counts(Numbers pi, Matrix M, Counts counts, Random& random, Table<std::int64_t> out) {
    const Index K = M.rows(), C = M.columns();
    // Sums over the classes up to each, all columns at once.
    Grid<> cumulative(K, C);
    for (Index y = 0; y < K; ++y) {
        const Out above = cumulative[y];
        if (y > 0) std::copy_n(cumulative[y - 1].begin(), C, above.begin());
        add_scaled(above.data(), pi[y], M[y].data(), C);
        std::fill_n(out[y].begin(), C, 0);
    }
    Vector column(extent(K));
    for (Index c = 0; c < C; ++c) {
        if (counts[c] == 0) continue;
        for (Index y = 0; y < K; ++y) column[extent(y)] = cumulative[y][c];
        if (counts[c] <= FEW_ITEMS * K) {
            for (std::int64_t item = 0; item < counts[c]; ++item) {
                const double value = random.uniform() * column.back();
                ++out[first_above(column, value)][c];
            }
        } else {
            split_many(column, counts[c], random,
                       [&](Index y) -> std::int64_t& { return out[y][c]; });
        }
    }
}

std::int64_t joint_sweeps(const JointPosterior& posterior, Counts counts, Out pi, OutMatrix M,
                          Random& random, Steps steps, OutMatrix draws, OutMatrix batch) {
    const Index K = M.rows(), C = M.columns();
    Integers whole;
    for (double power : posterior.powers) whole.push_back(whole_number(power));
    Grid<std::int64_t> split(K, C);
    Vector shape(extent(K)), row_shape(extent(C)), next_pi(extent(K));
    Grid<> next_M(K, C);
    PairMoves moves(posterior, pi, M);
    RowDraws rows(C);
    const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const std::int64_t n_items = std::max<std::int64_t>(all, 1);
    std::int64_t accepted = 0;
    for (std::int64_t step = 1 - steps.skipped; step <= draws.rows() * steps.thinning; ++step) {
        poll();
        split_counts(pi, M, whole, random, split);
        for (Index y = 0; y < K; ++y) {
            shape[extent(y)] = posterior.prior[y];
            for (Index c = 0; c < C; ++c) {
                const auto count = static_cast<double>(split[y][c]);
                shape[extent(y)] += count;
                row_shape[extent(c)] = posterior.row_shapes[y][c] + count;
            }
            rows.draw(random, row_shape, next_M[y]);
        }
        draw_mix(random, shape, next_pi);
        const double change = log_rest(next_pi, next_M, posterior.powers, whole) -
                              log_rest(pi, M, posterior.powers, whole);
        if (change >= 0.0 || random.uniform() < std::exp(change)) {
            ++accepted;
            std::copy(next_pi.begin(), next_pi.end(), pi.begin());
            std::copy(next_M.values.begin(), next_M.values.end(), M.data());
        }
        moves.round(random);
        if (step > 0 && step % steps.thinning == 0) {
            const Index d = step / steps.thinning - 1;
            std::copy(pi.begin(), pi.end(), draws[d].begin());
            split_counts(pi, M, counts, random, split);
            write_shares(split, n_items, batch[d]);
        }
    }
    return accepted;
}

void realised(Matrix draws, Counts counts, Random& random, OutMatrix batch) {
    const Index K = batch.columns(), C = counts.size();
    const std::int64_t n_items = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    Grid<std::int64_t> split(K, C);
    for (Index d = 0; d < draws.rows(); ++d) {
        poll();
        const Numbers draw = draws[d];
        split_counts(draw.part(0, K), Matrix(draw.data() + K, K, C), counts, random, split);
        write_shares(split, n_items, batch[d]);
    }
}

}  // namespace truemix
