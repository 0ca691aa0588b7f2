// Sampling of one bag under many replicates of the matrix of log-likelihoods.
//
// Each replicate needs little more than a mode, proposals around it and a handful of sweeps, so
// steps that pay off only in a long run (merging rows, skipping sure items, a pilot) are left out.
#pragma once

#include <cstring>

#include "arrays.hpp"
#include "gibbs.hpp"

namespace truemix {

// The items of a bag, and what holds for all replicates.
struct Bag {
    // Rows of the matrices.
    Span<const std::int64_t> rows;
    Numbers prior;
    double temperature;
    // A mix near the modes, from which the solver starts.
    Numbers near;
    // Independence proposals before each sweep. At a temperature other than 1 there are proposals
    // only, no sweeps.
    std::int64_t tries;
    // Whether exchanges between pairs of classes follow each proposal then.
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

// A number in half precision, as NumPy's float16.
struct Half {
    std::uint16_t bits;

    operator double() const {
        std::uint32_t word = std::uint32_t{bits} << 17 >> 4;
        const bool is_finite = word < 0x0F800000;
        // The exponent of a float has another bias; infinity and NaN have all its bits set.
        if (!is_finite) word |= 0x7F800000;
        float magnitude;
        std::memcpy(&magnitude, &word, sizeof magnitude);
        if (is_finite) magnitude *= 0x1p112f;
        return bits & 0x8000 ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
    }
};

class ReplicateSampler {
public:
    explicit ReplicateSampler(const Bag& bag);

    // Sets how many items each row stands for: whole numbers from 0, not all of them 0.
    void count(Numbers copies);

    // Fills draws and batch; returns the number of accepted proposals. logs (n, K) are
    // log-likelihoods; each row of the bag has a finite entry.
    template <class T>
    std::int64_t sample(Table<const T> logs, const Replicate& replicate);

private:
    void place_rows(const WeightRule& rule);
    void place_items(const WeightRule& rule);
    template <class T>
    void take_likelihoods(Table<const T> logs);

    Bag bag_;
    double n_items_ = 0.0;
    Numbers copies_;
    // The rows' likelihoods, then one row per class for the prior, and their weights.
    Grid<> L_;
    Vector w_;
    std::shared_ptr<Blocks> items_;
    Layout layout_;
    // The row in each place of the layout's blocks; empty if these are the rows themselves.
    Integers placed_;
    // The rows that are split by binomial draws.
    Integers several_;
};

}  // namespace truemix
