#include "replicates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interrupt.hpp"
#include "posterior.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

// Below it a class is impossible: e to this power is not a normal number.
constexpr double IMPOSSIBLE = -708.0;

// Replaces logarithms of at most 0 by their exponentials.
void exponentiate(OutMatrix logs) {
    double* x = logs.data();
    const Index size = logs.rows() * logs.columns(), whole = size - size % LANES;
    for (Index at = 0; at < whole; at += LANES) {
        const Lanes exponent = load(x + at);
        // Zero where the logarithm is at most IMPOSSIBLE.
        const Lanes values = exp_negative(exponent);
        store(x + at, values - where_at_most(exponent, every(IMPOSSIBLE), values));
    }
    for (Index at = whole; at < size; ++at) x[at] = x[at] <= IMPOSSIBLE ? 0.0 : std::exp(x[at]);
}

}  // namespace

ReplicateSampler::ReplicateSampler(const Bag& bag)
    : bag_(bag),
      L_(bag.rows.size() + bag.prior.size(), bag.prior.size()),
      w_(extent(L_.rows)),
      // Padding has likelihood 1, so its exponent may be that of most items.
      items_(std::make_shared<Blocks>(bag.rows.size(), bag.prior.size(), 1.0 / bag.temperature)),
      layout_(bag.near) {
    // The prior acts like items whose class is known.
    for (Index k = 0; k < bag.prior.size(); ++k) L_[bag.rows.size() + k][k] = 1.0;
}

void ReplicateSampler::count(Numbers copies) {
    const Index n = bag_.rows.size(), K = bag_.prior.size();
    copies_ = copies;
    n_items_ = sum(copies);
    const double total = n_items_ / bag_.temperature + sum(bag_.prior);
    bool all_single = true;
    for (Index i = 0; i < n; ++i) {
        w_[extent(i)] = copies[i] / (total * bag_.temperature);
        items_->weights[extent(i)] = copies[i] / bag_.temperature;
        all_single = all_single && copies[i] == 1.0;
    }
    for (Index k = 0; k < K; ++k) w_[extent(n + k)] = bag_.prior[k] / total;
    placed_.clear();
    several_.clear();
    layout_.copies.clear();
    layout_.expected.clear();
    const WeightRule rule(copies, K);
    if (!all_single) {
        for (Index i = 0; i < n; ++i) {
            if (!rule.is_heavy(copies[i])) continue;
            several_.push_back(i);
            layout_.copies.push_back(copies[i]);
        }
    }
    if (all_single || rule.grouped)
        place_rows(rule);
    else
        place_items(rule);
    layout_.heavy = Grid<>(static_cast<Index>(several_.size()), K);
}

// Every row has a place, those that are split with weight 0.
void ReplicateSampler::place_rows(const WeightRule& rule) {
    layout_.doubtful = *items_;
    Vector& weights = layout_.doubtful.weights;
    std::fill(weights.begin(), weights.end(), 0.0);
    if (rule.grouped) layout_.expected.assign(weights.size(), 0.0);
    for (Index i = 0; i < bag_.rows.size(); ++i) {
        const double c = copies_[i];
        if (rule.is_heavy(c)) continue;
        weights[extent(i)] = rule.is_grouped(c) ? std::sqrt(c) : c;
        if (rule.is_grouped(c)) layout_.expected[extent(i)] = c - std::sqrt(c);
    }
}

// Every item has a place, but those of rows that are split.
void ReplicateSampler::place_items(const WeightRule& rule) {
    for (Index i = 0; i < bag_.rows.size(); ++i)
        if (!rule.is_heavy(copies_[i]))
            placed_.insert(placed_.end(), extent(whole_number(copies_[i])), i);
    const auto n_places = static_cast<Index>(placed_.size());
    layout_.doubtful = Blocks(n_places, bag_.prior.size(), 0.0);
    std::fill_n(layout_.doubtful.weights.begin(), n_places, 1.0);
}

// Writes the likelihoods of the items, each scaled to maximum 1, in rows and in blocks.
template <class T>
void ReplicateSampler::take_likelihoods(Table<const T> logs) {
    const Index n = bag_.rows.size(), K = bag_.prior.size();
    for (Index i = 0; i < n; ++i) {
        const Span<const T> from = logs[bag_.rows[i]];
        const Out row = L_[i];
        double peak = -std::numeric_limits<double>::infinity();
        for (Index k = 0; k < K; ++k) peak = std::max(peak, row[k] = static_cast<double>(from[k]));
        for (Index k = 0; k < K; ++k) row[k] -= peak;
    }
    exponentiate(L_.table().top(n));
    for (Index b = 0; b < items_->n_blocks; ++b)
        copy_block(L_.table().top(n), b * BLOCK, items_->block(b));
    for (std::size_t at = 0; at < placed_.size(); ++at)
        for (Index k = 0; k < K; ++k)
            layout_.doubtful.likelihood(static_cast<Index>(at), k) = L_[placed_[at]][k];
    for (std::size_t h = 0; h < several_.size(); ++h) {
        const Out row = L_[several_[h]];
        std::copy(row.begin(), row.end(), layout_.heavy[static_cast<Index>(h)].begin());
    }
}

template <class T>
std::int64_t ReplicateSampler::sample(Table<const T> logs, const Replicate& replicate) {
    const Index n = bag_.rows.size();
    poll();
    take_likelihoods(logs);
    const Vector mode = mode_of(L_, w_, n, bag_.near);
    layout_.reference = mode;
    std::unique_ptr<Proposal> proposal;
    if (bag_.tries > 0) {
        const Grid<> moment = moment_of(L_.table().top(n), copies_, mode);
        const Grid<> precision = precision_of(moment, mode, bag_.prior, n_items_, bag_.temperature);
        const double weight = n_items_ / bag_.temperature;
        proposal = std::make_unique<Proposal>(mode, precision, bag_.prior, weight, items_);
    }
    Vector pi(mode);
    if (replicate.start[0] > 0.0) pi.assign(replicate.start.begin(), replicate.start.end());
    Random random(replicate.state);
    const Steps steps{replicate.discard, bag_.thinning};
    if (bag_.temperature == 1.0 || !proposal)
        return sweep(layout_, bag_.prior, pi, random, steps, proposal.get(), bag_.tries,
                     replicate.draws, replicate.batch);
    const std::int64_t accepted = independence_chain(*proposal, pi, random, steps.skipped,
                                                     steps.thinning, bag_.local, replicate.draws);
    allocate_draws(layout_, replicate.draws, random, replicate.batch);
    return accepted;
}

template std::int64_t ReplicateSampler::sample(Table<const Half>, const Replicate&);
template std::int64_t ReplicateSampler::sample(Table<const float>, const Replicate&);
template std::int64_t ReplicateSampler::sample(Table<const double>, const Replicate&);

}  // namespace truemix
