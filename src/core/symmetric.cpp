#include "symmetric.hpp"

#include <algorithm>
#include <cmath>

#include "lanes.hpp"

namespace truemix {

namespace {

// Cosines below this count as orthogonal; maximum rounds of Jacobi's method, which needs about 8.
constexpr double ORTHOGONAL = 1e-12;
constexpr int ROUNDS = 30, POWERS = 100;

// Rotates two rows so that they become orthogonal; returns their cosine before.
double rotate(Out x, Out y) {
    const double xx = dot(x, x), yy = dot(y, y), xy = dot(x, y);
    const double cosine = std::abs(xy) / std::sqrt(xx * yy);
    if (cosine < ORTHOGONAL) return cosine;
    const double slope = (yy - xx) / (2.0 * xy);
    double tangent = 1.0 / (std::abs(slope) + std::sqrt(1.0 + slope * slope));
    if (slope < 0.0) tangent = -tangent;
    const double c = 1.0 / std::sqrt(1.0 + tangent * tangent), s = c * tangent;
    double* __restrict first = x.data();
    double* __restrict second = y.data();
    for (Index j = 0; j < x.size(); ++j) {
        const double a = first[j], b = second[j];
        first[j] = c * a - s * b;
        second[j] = s * a + c * b;
    }
    return cosine;
}

}  // namespace

Grid<> invert_cholesky(Matrix P) {
    const Index m = P.rows();
    Grid<> R(m, m), inverse(m, m);
    for (Index a = 0; a < m; ++a) {
        for (Index b = 0; b <= a; ++b) {
            const double rest = P[a][b] - dot(R[a].data(), R[b].data(), b);
            // A pivot lost to rounding only makes the whitening less exact.
            R[a][b] = a == b ? std::sqrt(std::max(rest, 1e-12 * P[a][a])) : rest / R[b][b];
        }
    }
    // Row by row: row a of the inverse is minus the sum of R[a][c] times the rows above.
    for (Index a = 0; a < m; ++a) {
        for (Index c = 0; c < a; ++c)
            add_scaled(inverse[a].data(), -R[a][c], inverse[c].data(), c + 1);
        for (Index b = 0; b < a; ++b) inverse[a][b] /= R[a][a];
        inverse[a][a] = 1.0 / R[a][a];
    }
    return inverse;
}

double largest_eigenvalue(Matrix A) {
    const Index m = A.rows();
    Vector x(extent(m)), y(extent(m));
    double value = 0.0;
    // An arbitrary vector, unlikely to be orthogonal to the eigenvector.
    for (Index a = 0; a < m; ++a) x[extent(a)] = std::sin(1.0 + static_cast<double>(a * a));
    for (int power = 0; power < POWERS; ++power) {
        for (Index a = 0; a < m; ++a) y[extent(a)] = dot(A[a], x);
        value = dot(x, y) / dot(x, x);
        const double norm = std::sqrt(dot(y, y));
        if (!(norm > 0.0)) break;
        for (Index a = 0; a < m; ++a) x[extent(a)] = y[extent(a)] / norm;
    }
    return value;
}

Eigen diagonalize(Matrix A) {
    const Index m = A.rows();
    Eigen out{Vector(extent(m)), Grid<>(m, m)};
    std::copy(A.data(), A.data() + m * m, out.vectors.values.begin());
    for (int round = 0; round < ROUNDS; ++round) {
        double worst = 0.0;
        for (Index a = 0; a < m; ++a)
            for (Index b = a + 1; b < m; ++b)
                worst = std::max(worst, rotate(out.vectors[a], out.vectors[b]));
        if (worst < ORTHOGONAL) break;
    }
    for (Index a = 0; a < m; ++a) {
        const Out row = out.vectors[a];
        const double value = std::sqrt(dot(row, row));
        out.values[extent(a)] = value;
        for (double& entry : row) entry /= value;
    }
    return out;
}

}  // namespace truemix
