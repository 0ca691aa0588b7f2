// Independence Metropolis: proposals from a Dirichlet matched to the posterior's mode and width.
//
// A proposal is a Dirichlet draw transformed by the linear map, in log-ratio coordinates, that
// gives it the mode of the posterior and the precision there. Unlike a normal it is skewed, with a
// long tail towards zero in each class, as the posterior is, and so most proposals are accepted.
//
// The Metropolis-Hastings ratio compares posterior and proposal density with respect to log-ratio
// coordinates, where the Jacobian of the map is a constant.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "blocks.hpp"
#include "random.hpp"

namespace truemix {

class Proposal {
public:
    // items are the likelihoods by rising weight, and n is their weight in all.
    Proposal(Numbers mode, Matrix precision, Numbers prior, double n,
             std::shared_ptr<const Blocks> items);

    Index n_classes() const { return static_cast<Index>(shape_.size()); }
    Numbers shape() const { return shape_; }
    Index n_places() const { return static_cast<Index>(items_->weights.size()); }

    // Exchanges after each proposal: few enough that proposals, where they are accepted, still pay.
    Index n_exchanges() const { return (n_classes() + 2) / 4; }

    // Writes a proposal and its logarithms; returns its log importance weight, up to a constant.
    double propose(Random& random, Out pi, Out logs) const;

    // The log density of the posterior at pi, whose logarithms are logs, and of the proposal.
    double log_posterior(Numbers pi, Numbers logs) const;
    double log_density(Numbers logs) const;

    // Makes Metropolis-Hastings steps on pi; returns the number accepted. With local moves,
    // exchanges between random pairs of classes follow each proposal: where few proposals are
    // accepted, nothing else would move a chain out of a region that they rarely reach.
    std::int64_t step(std::int64_t tries, Random& random, Out pi, bool local = false) const;

private:
    // Redraws the ratio of two shares, by slice sampling. rest has room for a number per place.
    void exchange(Index i, Index j, Random& random, Out pi, Vector& rest) const;

    // Parameters of the Dirichlet. stretch maps logarithms of its draws, relative to start, to
    // logarithms of mixes, relative to centre; shrink is the inverse map.
    Vector shape_, start_, centre_;
    Grid<> stretch_, shrink_;
    std::shared_ptr<const Blocks> items_;
    Vector prior_;
};

// Makes skipped + kept * thinning steps from pi, which is updated; discards the first and writes
// every thinning-th to draws (kept, K). Returns the number of accepted proposals.
std::int64_t independence_chain(const Proposal& proposal, Out pi, Random& random,
                                std::int64_t skipped, std::int64_t thinning, bool local,
                                OutMatrix draws);

}  // namespace truemix
