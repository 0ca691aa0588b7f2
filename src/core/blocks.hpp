// Likelihoods in blocks of items, so that loops run over items eight at a time however few the
// classes.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>

#include "arrays.hpp"
#include "lanes.hpp"

namespace truemix {

// Items per block: enough for the widest vector instructions, few enough for the L1 cache.
constexpr Index BLOCK = 64;

// Likelihoods (blocks, K, BLOCK) and weights (blocks, BLOCK) of items. Padding of the last block
// has likelihood 1 under every class. Copies share the likelihoods, but have weights of their own.
struct Blocks {
    Index n_classes = 0;
    Index n_blocks = 0;
    std::shared_ptr<Vector> likelihoods;
    Vector weights;

    Blocks() = default;
    Blocks(Index n_items, Index K, double padding_weight)
        : n_classes(K),
          n_blocks((n_items + BLOCK - 1) / BLOCK),
          likelihoods(std::make_shared<Vector>(extent(n_blocks * K * BLOCK), 1.0)),
          weights(extent(n_blocks * BLOCK), padding_weight) {}

    double& likelihood(Index item, Index k) {
        return (*likelihoods)[extent((item / BLOCK * n_classes + k) * BLOCK + item % BLOCK)];
    }
    const double* block(Index b) const { return likelihoods->data() + b * n_classes * BLOCK; }
    double* block(Index b) { return likelihoods->data() + b * n_classes * BLOCK; }
    const double* block_weights(Index b) const { return weights.data() + b * BLOCK; }
};

// Writes the rows of L from first on class by class, (K, BLOCK), with 1 beyond the last row.
inline void copy_block(Matrix L, Index first, double* out) {
    const Index K = L.columns(), size = std::min(BLOCK, L.rows() - first);
    for (Index j = 0; j < size; ++j) {
        const double* row = L[first + j].data();
        for (Index k = 0; k < K; ++k) out[k * BLOCK + j] = row[k];
    }
    for (Index k = 0; k < K; ++k) std::fill(out + k * BLOCK + size, out + (k + 1) * BLOCK, 1.0);
}

// The items sorted by weight.
Blocks in_blocks(Matrix L, Numbers w);

// Writes sum_k pi_k L_kj, the likelihood of each item j of a block.
inline void mixture_likelihood(const double* L, Numbers pi, double* out) {
    // A quarter of a block at a time: its sums stay in registers.
    constexpr Index at_once = 4;
    const Index K = pi.size();
    for (Index j = 0; j < BLOCK; j += at_once * LANES) {
        Lanes sums[at_once] = {};
        for (Index k = 0; k < K; ++k)
            for (Index g = 0; g < at_once; ++g)
                sums[g] += pi[k] * load(L + k * BLOCK + j + g * LANES);
        for (Index g = 0; g < at_once; ++g) store(out + j + g * LANES, sums[g]);
    }
}

// Adds up logarithms of items' likelihoods, block by block. Items of equal weight are multiplied
// first, place by place: one logarithm for many.
class LogSum {
public:
    // Likelihoods are floored at this value: such a mix is as good as impossible, and a product of
    // two such factors does not underflow.
    static constexpr double IMPOSSIBLE = 1e-150;

    LogSum() { std::fill(std::begin(products_), std::end(products_), 1.0); }
    // Adds sum_j powers_j log u_j.
    void add(const double* u, const double* powers);
    double value();

private:
    void take_log();

    double products_[BLOCK];
    double power_ = 0.0, value_ = 0.0;
};

// The log-likelihood of the mix pi; fastest for items by rising weight.
double log_likelihood(const Blocks& items, Numbers pi);

}  // namespace truemix
