// Linear algebra of small symmetric matrices, without LAPACK.
//
// At these sizes LAPACK's threads cost more than they gain, and its results depend on the number of
// threads, while draws must depend on the seed alone.
#pragma once

#include "arrays.hpp"

namespace truemix {

// The inverse of the lower Cholesky factor.
Grid<> invert_cholesky(Matrix P);

// The largest eigenvalue of a positive semi-definite matrix, by power iteration.
double largest_eigenvalue(Matrix A);

// Eigenvalues and, in rows, eigenvectors of a positive definite matrix. One-sided Jacobi: rotates
// pairs of rows until all are orthogonal; they are then the eigenvectors times their eigenvalues.
// Relatively tiny eigenvalues are less accurate, but the vectors are always orthogonal.
struct Eigen {
    Vector values;
    Grid<> vectors;
};
Eigen diagonalize(Matrix A);

}  // namespace truemix
