// The maximum-likelihood mix of one matrix of likelihoods.
#pragma once

#include "arrays.hpp"

namespace truemix {

struct Solution {
    Vector x;
    double gap = 0.0;
    int iterations = 0;
    // Whether the gap is at most the tolerance, with every class outside the support of the optimum
    // exactly zero.
    bool converged = false;
};

// Maximises sum_i w_i log((L x)_i) over the simplex. Rows of L are scaled to maximum 1, w is
// positive and sums to 1, start is a point of the simplex (zeros are allowed), tol the duality gap
// to reach, and max_iter counts EM sweeps too.
Solution solve_mixture(Matrix L, Numbers w, Numbers start, double tol, int max_iter);

}  // namespace truemix
