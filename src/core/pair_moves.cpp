#include "pair_moves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ratio_slice.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

// Exchanges and transfers per class and round.
constexpr Index EXCHANGES = 6, TRANSFERS = 1;
constexpr double UNBOUNDED = std::numeric_limits<double>::infinity();

// The change of x, from the smaller shares, where cancellation is least.
double gain(Shares from, Shares to) {
    return std::max(from.x, to.x) < std::max(from.y, to.y) ? to.x - from.x : from.y - to.y;
}

// A line through the probabilities of the predictions, and the exponents of these.
struct Line {
    const Vector& start;
    const Vector& slope;
    const Vector& powers;
    const Shares from;

    // The weighted sum of logarithms where these are the shares.
    double operator()(Shares to) const {
        const double step = gain(from, to);
        Lanes sums = every(0.0);
        for (std::size_t c = 0; c < start.size(); c += extent(LANES)) {
            const Lanes here = load(&start[c]) + step * load(&slope[c]);
            sums += load(&powers[c]) * log_positive(larger(here, every(SMALLEST)));
        }
        return total(sums);
    }
};

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
    const Line line{predicted_, slope_, powers_, before};
    const Shares after = draw_ratio(before, power, UNBOUNDED, 0.0, line, random);
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
    double limit = UNBOUNDED, power = posterior_.prior[j] + 1.0;
    for (Index c = 0; c < C; ++c) {
        joint_[extent(c)] = pi_[j] * row[c];
        slope_[extent(c)] = -M_[i][c];
        labelled_[extent(c)] = shapes[c] - 1.0;
        power -= shapes[c];
        limit = std::min(limit, joint_[extent(c)] / M_[i][c]);
    }
    const Shares before{pi_[i], pi_[j]};
    const Line line{joint_, slope_, labelled_, before};
    const Shares after =
        draw_ratio(before, {posterior_.prior[i], power}, pi_[i] + limit, 0.0, line, random);
    const double step = gain(before, after);
    for (Index c = 0; c < C; ++c)
        joint_[extent(c)] = std::max(joint_[extent(c)] + step * slope_[extent(c)], SMALLEST);
    const double total = sum(Numbers(joint_.data(), C));
    for (Index c = 0; c < C; ++c) row[c] = std::max(joint_[extent(c)] / total, SMALLEST);
    pi_[i] = after.x;
    pi_[j] = after.y;
}

}  // namespace truemix
