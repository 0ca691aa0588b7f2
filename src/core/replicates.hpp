// Sampling of one bag under many replicates of the matrix of log-likelihoods.
//
// Each replicate needs little more than a mode, proposals around it and a handful of sweeps, so
// steps that pay off only in a long run (merging rows, skipping sure items, a pilot) are left out.
#pragma once

#include "arrays.hpp"
#include "gibbs.hpp"

namespace truemix {

// The items of a bag, and what holds for all replicates.
struct Bag {
    // Rows of the matrices, and how many items each of them stands for, a positive whole number.
    Span<const std::int64_t> rows;
    Numbers copies;
    Numbers prior;
    double temperature;
    // A mix near the modes, from which the solver starts.
    Numbers near;
    // Independence proposals before each sweep. At a temperature other than 1 there are proposals
    // only, no sweeps.
    std::int64_t tries;
    // Whether a step of a random walk follows each proposal then.
    bool local;
    std::int64_t thinning;
};

// One replicate: its stream, initial mix (its mode if the first share is 0), sweeps to discard, and
// where its draws go.
struct Replicate {
    std::uint64_t* state;
    Numbers start;
    std::int64_t discard;
    OutMatrix draws, batch;
};

class ReplicateSampler {
public:
    explicit ReplicateSampler(const Bag& bag);

    // Fills draws and batch; returns the number of accepted proposals. logs (n, K) are
    // log-likelihoods; each row of the bag has a finite entry.
    template <class T>
    std::int64_t sample(Table<const T> logs, const Replicate& replicate);

private:
    template <class T>
    void take_likelihoods(Table<const T> logs);

    Bag bag_;
    double n_items_;
    // The items' likelihoods, then one row per class for the prior, and their weights.
    Grid<> L_;
    Vector w_;
    std::shared_ptr<Blocks> items_;
    Layout layout_;
    Integers several_;
};

}  // namespace truemix
