#include "blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "vector_math.hpp"

namespace truemix {

void LogSum::add(const double* u, const double* powers) {
    bool equal = true;
    for (Index j = 1; j < BLOCK; ++j) equal &= powers[j] == powers[0];
    if (!equal) {
        Lanes logs = every(0.0);
        for (Index j = 0; j < BLOCK; j += LANES)
            logs += load(powers + j) * log_positive(larger(load(u + j), every(IMPOSSIBLE)));
        value_ += total(logs);
        return;
    }
    if (powers[0] != power_) {
        take_log();
        power_ = powers[0];
    }
    Lanes least = every(std::numeric_limits<double>::infinity());
    for (Index j = 0; j < BLOCK; j += LANES) {
        const Lanes product = load(products_ + j) * larger(load(u + j), every(IMPOSSIBLE));
        store(products_ + j, product);
        least = smaller(product, least);
    }
    if (smallest(least) < 1e-140) take_log();
}

double LogSum::value() {
    take_log();
    return value_;
}

void LogSum::take_log() {
    double logs = 0.0, together = 1.0;
    for (double& product : products_) {
        together *= product;
        product = 1.0;
        if (together < 1e-140) {
            logs += std::log(together);
            together = 1.0;
        }
    }
    value_ += power_ * (logs + std::log(together));
}

Blocks in_blocks(Matrix L, Numbers w) {
    Integers order(extent(L.rows()));
    std::iota(order.begin(), order.end(), 0);
    // NaN counts as larger than every number: an order of the items has to exist.
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        return w[i] < w[j] || (std::isnan(w[j]) && !std::isnan(w[i]));
    });
    Blocks out(L.rows(), L.columns(), 0.0);
    for (Index at = 0; at < L.rows(); ++at) {
        const Index i = order[extent(at)];
        out.weights[extent(at)] = w[i];
        for (Index k = 0; k < L.columns(); ++k) out.likelihood(at, k) = L[i][k];
    }
    return out;
}

double log_likelihood(const Blocks& items, Numbers pi) {
    LogSum logs;
    double u[BLOCK];
    for (Index b = 0; b < items.n_blocks; ++b) {
        mixture_likelihood(items.block(b), pi, u);
        logs.add(u, items.block_weights(b));
    }
    return logs.value();
}

}  // namespace truemix
