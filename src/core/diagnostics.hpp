// Convergence diagnostics: bulk effective sample size (ESS) and R-hat of several chains.
//
// As defined by Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): draws are rank-normalised,
// and autocorrelations are summed by Geyer's initial monotone sequence. Autocovariances are
// computed lag by lag, not by Fourier transform: a chain that mixes well needs only a handful of
// lags.
#pragma once

#include "arrays.hpp"

namespace truemix {

struct Diagnostics {
    Vector ess, rhat;
    // Ignores differences between the chains' means.
    Vector within_ess;
};

// For each row of columns, the draws of one share, chain after chain; orders are the positions of
// its draws by rising value, and scores the normal scores of the ranks 1, 1.5, 2, ..., n.
Diagnostics diagnose(Matrix columns, Table<const std::int64_t> orders, Numbers scores,
                     Index n_chains);

}  // namespace truemix
