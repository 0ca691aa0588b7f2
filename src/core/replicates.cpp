#include "replicates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interrupt.hpp"
#include "posterior.hpp"

namespace truemix {

ReplicateSampler::ReplicateSampler(const Bag& bag)
    : bag_(bag),
      n_items_(sum(bag.copies)),
      L_(bag.rows.size() + bag.prior.size(), bag.prior.size()),
      w_(extent(L_.rows)),
      // Padding has likelihood 1, so its exponent may be that of most items.
      items_(std::make_shared<Blocks>(bag.rows.size(), bag.prior.size(), 1.0 / bag.temperature)),
      layout_(bag.near) {
    const Index n = bag.rows.size(), K = bag.prior.size();
    const double total = n_items_ / bag.temperature + sum(bag.prior);
    // Rows that stand for several items are split by binomial draws: their weight in a block is 0.
    layout_.doubtful = *items_;
    std::fill(layout_.doubtful.weights.begin(), layout_.doubtful.weights.end(), 0.0);
    for (Index i = 0; i < n; ++i) {
        w_[extent(i)] = bag.copies[i] / (total * bag.temperature);
        items_->weights[extent(i)] = bag.copies[i] / bag.temperature;
        layout_.doubtful.weights[extent(i)] = bag.copies[i] == 1.0 ? 1.0 : 0.0;
        if (bag.copies[i] > 1.0) {
            several_.push_back(i);
            layout_.copies.push_back(bag.copies[i]);
        }
    }
    layout_.heavy = Grid<>(static_cast<Index>(several_.size()), K);
    // The prior acts like items whose class is known.
    for (Index k = 0; k < K; ++k) {
        L_[n + k][k] = 1.0;
        w_[extent(n + k)] = bag.prior[k] / total;
    }
}

// Writes the likelihoods of the items, each scaled to maximum 1, in rows and in blocks.
template <class T>
void ReplicateSampler::take_likelihoods(Table<const T> logs) {
    const Index K = bag_.prior.size();
    for (Index i = 0; i < bag_.rows.size(); ++i) {
        const Span<const T> row = logs[bag_.rows[i]];
        const double peak = static_cast<double>(*std::max_element(row.begin(), row.end()));
        for (Index k = 0; k < K; ++k) {
            L_[i][k] = std::exp(static_cast<double>(row[k]) - peak);
            items_->likelihood(i, k) = L_[i][k];
        }
    }
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
        const Grid<> moment = moment_of(L_.table().top(n), bag_.copies, mode);
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

template std::int64_t ReplicateSampler::sample(Table<const float>, const Replicate&);
template std::int64_t ReplicateSampler::sample(Table<const double>, const Replicate&);

}  // namespace truemix
