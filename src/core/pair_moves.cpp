#include "pair_moves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "vector_math.hpp"

namespace truemix {

namespace {

// Width of the slice interval. Wider intervals cost rejections, narrower ones cost moves.
constexpr double WIDTH = 4.0;
// Exchanges and transfers per class and round.
constexpr Index EXCHANGES = 6, TRANSFERS = 1;

struct Shares {
    double x, y;
};

// Two different numbers below K.
std::pair<Index, Index> random_pair(Index K, Random& random) {
    const auto i = static_cast<Index>(random.uniform() * static_cast<double>(K));
    const auto j = static_cast<Index>(random.uniform() * static_cast<double>(K - 1));
    return {i, j + (j >= i)};
}

// The change of x, from the smaller shares, where cancellation is least.
double gain(Shares from, Shares to) {
    return std::max(from.x, to.x) < std::max(from.y, to.y) ? to.x - from.x : from.y - to.y;
}

// A line through the probabilities of the predictions, and the exponents of these.
struct Line {
    const Vector& start;
    const Vector& slope;
    const Vector& powers;

    // The weighted sum of logarithms at some distance along the line.
    double log_density(double step) const {
        Lanes sums = every(0.0);
        for (std::size_t c = 0; c < start.size(); c += extent(LANES)) {
            const Lanes here = load(&start[c]) + step * load(&slope[c]);
            sums += load(&powers[c]) * log_positive(larger(here, every(SMALLEST)));
        }
        return total(sums);
    }
};

// New shares of the same sum, the first below upper, by one slice-sampling step. The density of the
// log ratio is the product of x**power.x * y**power.y and the line's.
Shares draw_ratio(Shares from, Shares power, const Line& line, double upper, Random& random) {
    const double sum = from.x + from.y, here = std::log(from.x) - std::log(from.y);
    double level = random.log_uniform() + power.x * std::log(from.x) + power.y * std::log(from.y);
    level += line.log_density(0.0);
    double low = here - WIDTH * random.uniform();
    double high = low + WIDTH;
    // The current value is in the slice, so the loop ends; in a tiny interval rounding may hide it.
    while (high - low > 1e-12) {
        const double there = low + random.uniform() * (high - low);
        const double ratio = std::exp(-std::abs(there));
        const double larger = sum / (1.0 + ratio);
        const double smaller = std::max(larger * ratio, SMALLEST);
        const Shares to = there > 0.0 ? Shares{larger, smaller} : Shares{smaller, larger};
        if (to.x < upper) {
            const double value = power.x * std::log(to.x) + power.y * std::log(to.y);
            if (value + line.log_density(gain(from, to)) >= level) return to;
        }
        (there < here ? low : high) = there;
    }
    return from;
}

Vector padded(Index n, double value) {
    return Vector(extent((n + LANES - 1) / LANES * LANES), value);
}

}  // namespace

PairMoves::PairMoves(const JointPosterior& posterior, Out pi, OutMatrix M)
    : posterior_(posterior),
      pi_(pi),
      M_(M),
      predicted_(padded(M.columns(), 1.0)),
      powers_(padded(M.columns(), 0.0)),
      joint_(predicted_),
      labelled_(powers_),
      slope_(powers_) {
    std::copy(posterior.powers.begin(), posterior.powers.end(), powers_.begin());
    refresh();
}

void PairMoves::refresh() {
    const Index C = M_.columns();
    std::fill_n(predicted_.begin(), C, 0.0);
    for (Index y = 0; y < pi_.size(); ++y)
        for (Index c = 0; c < C; ++c) predicted_[extent(c)] += pi_[y] * M_[y][c];
}

void PairMoves::round(Random& random) {
    const Index K = pi_.size();
    if (K == 1) return;
    refresh();
    for (Index move = 0; move < EXCHANGES * (K - 1); ++move) {
        const auto [i, j] = random_pair(K, random);
        exchange(i, j, random);
    }
    for (Index move = 0; move < TRANSFERS * (K - 1); ++move) {
        const auto [i, j] = random_pair(K, random);
        transfer(i, j, random);
    }
}

// Draws the ratio of shares i and j given the matrix.
void PairMoves::exchange(Index i, Index j, Random& random) {
    const Index C = M_.columns();
    const double *from = M_[j].data(), *to = M_[i].data();
    for (Index c = 0; c < C; ++c) slope_[extent(c)] = to[c] - from[c];
    const Shares before{pi_[i], pi_[j]}, power{posterior_.prior[i], posterior_.prior[j]};
    const Line line{predicted_, slope_, powers_};
    const Shares after =
        draw_ratio(before, power, line, std::numeric_limits<double>::infinity(), random);
    add_scaled(predicted_.data(), gain(before, after), slope_.data(), C);
    pi_[i] = after.x;
    pi_[j] = after.y;
}

// Draws the ratio of shares i and j given the probabilities of the predictions.
//
// Mass that leaves class i joins class j with the predictions of class i. Given row i, this is a
// translation of share i and of j's joint probabilities with the predictions, so the slice is taken
// of the density in these coordinates.
void PairMoves::transfer(Index i, Index j, Random& random) {
    const Index C = M_.columns();
    const Numbers shapes = posterior_.row_shapes[j];
    const Out row = M_[j];
    double limit = std::numeric_limits<double>::infinity(), power = posterior_.prior[j] + 1.0;
    for (Index c = 0; c < C; ++c) {
        joint_[extent(c)] = pi_[j] * row[c];
        slope_[extent(c)] = -M_[i][c];
        labelled_[extent(c)] = shapes[c] - 1.0;
        power -= shapes[c];
        limit = std::min(limit, joint_[extent(c)] / M_[i][c]);
    }
    const Shares before{pi_[i], pi_[j]};
    const Line line{joint_, slope_, labelled_};
    const Shares after =
        draw_ratio(before, {posterior_.prior[i], power}, line, pi_[i] + limit, random);
    const double step = gain(before, after);
    for (Index c = 0; c < C; ++c)
        joint_[extent(c)] = std::max(joint_[extent(c)] + step * slope_[extent(c)], SMALLEST);
    const double total = sum(Numbers(joint_.data(), C));
    for (Index c = 0; c < C; ++c) row[c] = std::max(joint_[extent(c)] / total, SMALLEST);
    pi_[i] = after.x;
    pi_[j] = after.y;
}

}  // namespace truemix
