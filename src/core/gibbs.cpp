#include "gibbs.hpp"

#include <algorithm>

#include "interrupt.hpp"

namespace truemix {

std::int64_t sweep(const Layout& layout, Numbers prior, Out pi, Random& random, Steps steps,
                   const Proposal* proposal, std::int64_t tries, OutMatrix draws, OutMatrix batch) {
    const Index K = pi.size();
    Vector counts(extent(K)), shape(extent(K));
    std::int64_t accepted = 0;
    for (std::int64_t number = 1 - steps.skipped; number <= draws.rows() * steps.thinning;
         ++number) {
        poll();
        if (proposal != nullptr) accepted += proposal->step(tries, random, pi);
        allocate(layout, pi, random, counts);
        for (std::size_t k = 0; k < counts.size(); ++k)
            shape[k] = prior[static_cast<Index>(k)] + counts[k];
        random.dirichlet(shape, pi);
        if (number > 0 && number % steps.thinning == 0) {
            const Index d = number / steps.thinning - 1;
            const double total = sum(counts);
            std::copy(pi.begin(), pi.end(), draws[d].begin());
            for (Index k = 0; k < K; ++k) batch[d][k] = counts[extent(k)] / total;
        }
    }
    return accepted;
}

}  // namespace truemix
