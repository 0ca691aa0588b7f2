// The posterior of a mix: its mode and the curvature there, which every sampler starts from.
//
// The density is prod_k pi_k^a_k prod_i (L_i @ pi)^(w_i / T) with respect to log-ratio coordinates
// of pi, whose Jacobian turns the a - 1 of the Dirichlet into a. The prior acts like one more item
// of weight a_k that is possible under class k only, which makes the mode an ordinary
// maximum-likelihood problem, with a solution inside the simplex for every positive prior.
#pragma once

#include "arrays.hpp"

namespace truemix {

// The mode, given n items followed by one row per class for the prior; weights sum to 1.
Vector mode_of(Matrix L, Numbers w, Index n, Numbers start);

// sum_i w_i r_i r_i' over the responsibilities r_i at the mix x.
Grid<> moment_of(Matrix L, Numbers w, Numbers x);

// Minus the Hessian in log pi at the mode, for items of total weight n.
Grid<> precision_of(Matrix moment, Numbers mode, Numbers prior, double n, double temperature);

}  // namespace truemix
