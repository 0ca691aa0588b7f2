#include "proposal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interrupt.hpp"
#include "ratio_slice.hpp"
#include "symmetric.hpp"

namespace truemix {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Factor on the Dirichlet parameters. Smaller parameters have longer tails, and the tails of an
// independence proposal must not be shorter than the posterior's.
constexpr double FEWER = 0.7;
// Relative excess width over the posterior, for the same reason; divided among the K directions.
constexpr double WIDER = 0.3;
// Proposals neither leave nor enter mixes with a smaller share: its logarithm may have been
// truncated, which would make the acceptance ratio wrong.
constexpr double MIN_SHARE = 1e-290;

// The parameters of a Dirichlet whose marginals have tails like the posterior's.
//
// If the classes of all items were known, the parameters would be prior plus counts. As they are
// not, the variance of a log share is that of fewer counts. The lower tail is even longer: where a
// class gets empty, other classes account for its items, and only the prior is left.
Vector skewness(Numbers mode, Matrix precision, Numbers prior, double n) {
    const Index K = mode.size();
    const double total = sum(prior) + n;
    // The precision is singular along the constant vector (shares sum to 1); this term fixes that.
    Grid<> regular(K, K);
    for (Index a = 0; a < K; ++a)
        for (Index b = 0; b < K; ++b) regular[a][b] = precision[a][b] + total * mode[a] * mode[b];
    const Grid<> root = invert_cholesky(regular);
    Vector variance(extent(K), 0.0), out(extent(K));
    for (Index a = 0; a < K; ++a)
        for (Index b = 0; b < K; ++b) variance[extent(b)] += root[a][b] * root[a][b];
    for (Index k = 0; k < K; ++k) {
        const double count = total * mode[k];
        const double inverse = 1.0 / std::max(variance[extent(k)], 1e-12);
        const double fewer = std::min(std::max(inverse, 1e-9), count);
        const double lower = std::min(prior[k], fewer);
        out[extent(k)] = lower + (fewer - lower) * fewer / count;
    }
    return out;
}

// The linear map from the Dirichlet's to (slightly below) the posterior's precision, and its
// inverse.
void make_maps(Matrix precision, Numbers shape, Grid<>& stretch, Grid<>& shrink) {
    const Index K = shape.size();
    Vector root(extent(K)), unit(extent(K)), along(extent(K), 0.0);
    const double whole = std::sqrt(sum(shape));
    for (Index a = 0; a < K; ++a) {
        root[extent(a)] = std::sqrt(shape[a]);
        unit[extent(a)] = root[extent(a)] / whole;
    }
    Grid<> relative(K, K);
    double across = 0.0, trace = 0.0;
    for (Index a = 0; a < K; ++a) {
        for (Index b = 0; b < K; ++b)
            relative[a][b] = precision[a][b] / (root[extent(a)] * root[extent(b)]);
        along[extent(a)] = dot(relative[a], unit);
        across += unit[extent(a)] * along[extent(a)];
        trace += relative[a][a];
    }
    // Shares sum to 1, so the precision along unit is zero. It is set above all others instead, and
    // the eigenvector with the largest eigenvalue is left out.
    for (Index a = 0; a < K; ++a) {
        for (Index b = 0; b < K; ++b) {
            const double ua = unit[extent(a)], ub = unit[extent(b)];
            relative[a][b] -= ua * along[extent(b)] + along[extent(a)] * ub;
            relative[a][b] += (across + 1.0 + trace) * ua * ub;
        }
    }
    const Eigen eigen = diagonalize(relative);
    const auto largest = std::max_element(eigen.values.begin(), eigen.values.end());
    const Index left_out = largest - eigen.values.begin();
    stretch = Grid<>(K, K);
    shrink = Grid<>(K, K);
    Vector scaled(extent(K));
    for (Index i = 0; i < K; ++i) {
        if (i == left_out) continue;
        const Numbers axis = eigen.vectors[i];
        const double precise = std::max(eigen.values[extent(i)], 1e-12);
        const double width = (1.0 + WIDER / static_cast<double>(K)) / std::sqrt(precise);
        for (Index b = 0; b < K; ++b) scaled[extent(b)] = axis[b] * root[extent(b)];
        for (Index a = 0; a < K; ++a) {
            const double factor = axis[a] / root[extent(a)];
            add_scaled(stretch[a].data(), width * factor, scaled.data(), K);
            add_scaled(shrink[a].data(), factor / width, scaled.data(), K);
        }
    }
}

// Writes end + linear (x - start).
void move(Matrix linear, Numbers start, Numbers x, Numbers end, Out difference, Out out) {
    for (Index b = 0; b < x.size(); ++b) difference[b] = x[b] - start[b];
    for (Index a = 0; a < x.size(); ++a) out[a] = end[a] + dot(linear[a], difference);
}

// Subtracts the log-sum-exp.
void normalize(Out logs) {
    double divisor = -INFINITE, total = 0.0;
    for (double x : logs) divisor = std::max(divisor, x);
    for (double x : logs) total += std::exp(x - divisor);
    divisor += std::log(total);
    for (double& x : logs) x -= divisor;
}

}  // namespace

Proposal::Proposal(Numbers mode, Matrix precision, Numbers prior, double n,
                   std::shared_ptr<const Blocks> items)
    : shape_(skewness(mode, precision, prior, n)),
      start_(shape_.size()),
      centre_(shape_.size()),
      items_(std::move(items)),
      prior_(prior.begin(), prior.end()) {
    for (double& each : shape_) each *= FEWER;
    make_maps(precision, shape_, stretch_, shrink_);
    const double total = sum(shape_);
    for (std::size_t k = 0; k < shape_.size(); ++k) {
        start_[k] = std::log(shape_[k] / total);
        centre_[k] = std::log(mode[static_cast<Index>(k)]);
    }
}

double Proposal::propose(Random& random, Out pi, Out logs) const {
    const Index K = n_classes();
    Vector y(extent(K)), scratch(extent(K));
    for (Index k = 0; k < K; ++k) y[extent(k)] = random.log_gamma(shape_[extent(k)]);
    normalize(y);
    const double proposed = dot(shape_, y);
    move(stretch_, start_, y, centre_, scratch, logs);
    normalize(logs);
    for (Index k = 0; k < K; ++k) {
        pi[k] = std::exp(logs[k]);
        if (!(pi[k] >= MIN_SHARE)) return -INFINITE;
    }
    return log_posterior(pi, logs) - proposed;
}

double Proposal::log_posterior(Numbers pi, Numbers logs) const {
    return log_likelihood(*items_, pi) + dot(prior_, logs);
}

double Proposal::log_density(Numbers logs) const {
    Vector y(shape_.size()), scratch(shape_.size());
    move(shrink_, centre_, logs, start_, scratch, y);
    normalize(y);
    return dot(shape_, y);
}

void Proposal::exchange(Index i, Index j, Random& random, Out pi, Vector& rest) const {
    const Shares from{pi[i], pi[j]};
    // What the other classes add to the likelihoods: a difference would lose small numbers.
    pi[i] = pi[j] = 0.0;
    for (Index b = 0; b < items_->n_blocks; ++b)
        mixture_likelihood(items_->block(b), pi, &rest[extent(b * BLOCK)]);
    const auto log_rest = [&](Shares to) {
        LogSum logs;
        double u[BLOCK];
        for (Index b = 0; b < items_->n_blocks; ++b) {
            const double *of_i = items_->block(b) + i * BLOCK, *of_j = items_->block(b) + j * BLOCK;
            const double* others = &rest[extent(b * BLOCK)];
            for (Index at = 0; at < BLOCK; ++at)
                u[at] = others[at] + to.x * of_i[at] + to.y * of_j[at];
            logs.add(u, items_->block_weights(b));
        }
        return logs.value();
    };
    const Shares power{prior_[extent(i)], prior_[extent(j)]};
    const Shares to = draw_ratio(from, power, INFINITE, MIN_SHARE, log_rest, random);
    pi[i] = to.x;
    pi[j] = to.y;
}

std::int64_t Proposal::step(std::int64_t tries, Random& random, Out pi, bool local) const {
    const Index K = n_classes();
    Vector next(extent(K)), next_logs(extent(K)), logs(extent(K));
    Vector rest(local ? items_->weights.size() : 0);
    for (Index k = 0; k < K; ++k) {
        if (pi[k] < MIN_SHARE) return 0;
        logs[extent(k)] = std::log(pi[k]);
    }
    double here = log_posterior(pi, logs) - log_density(logs);
    std::int64_t accepted = 0;
    for (std::int64_t number = 0; number < tries; ++number) {
        poll();
        const double there = propose(random, next, next_logs);
        if (random.log_uniform() < there - here) {
            std::copy(next.begin(), next.end(), pi.begin());
            logs = next_logs;
            here = there;
            ++accepted;
        }
        if (!local) continue;
        for (Index move = 0; move < n_exchanges(); ++move) {
            const auto [i, j] = random_pair(K, random);
            exchange(i, j, random, pi, rest);
        }
        for (Index k = 0; k < K; ++k) logs[extent(k)] = std::log(pi[k]);
        here = log_posterior(pi, logs) - log_density(logs);
    }
    return accepted;
}

std::int64_t independence_chain(const Proposal& proposal, Out pi, Random& random,
                                std::int64_t skipped, std::int64_t thinning, bool local,
                                OutMatrix draws) {
    std::int64_t accepted = skipped > 0 ? proposal.step(skipped, random, pi, local) : 0;
    for (Index number = 0; number < draws.rows(); ++number) {
        accepted += proposal.step(thinning, random, pi, local);
        std::copy(pi.begin(), pi.end(), draws[number].begin());
    }
    return accepted;
}

}  // namespace truemix
