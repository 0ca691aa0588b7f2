// Gibbs sampling by data augmentation: classes given the mix, the mix given the classes.
//
// It mixes as fast as EM converges, since both move by the same expected allocation. Where that is
// slow, each sweep begins with independence Metropolis proposals for the mix; an accepted one makes
// the sweep independent of the past. Both moves leave the posterior invariant, so the sweep does,
// too.
#pragma once

#include "allocation.hpp"
#include "arrays.hpp"
#include "proposal.hpp"

namespace truemix {

// How many steps a chain discards, and how many it makes per draw.
struct Steps {
    std::int64_t skipped, thinning;
};

// Fills draws (mixes) and batch (class shares of the allocations they were drawn from), each
// (kept, K); weights must be whole numbers. pi is the initial mix, updated so that a second call
// continues the chain. Each sweep begins with tries proposals. Returns how many were accepted.
std::int64_t sweep(const Layout& layout, Numbers prior, Out pi, Random& random, Steps steps,
                   const Proposal* proposal, std::int64_t tries, OutMatrix draws, OutMatrix batch);

}  // namespace truemix
