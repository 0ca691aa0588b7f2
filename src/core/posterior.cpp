#include "posterior.hpp"

#include <algorithm>
#include <cmath>

#include "lanes.hpp"
#include "mixture_solver.hpp"

namespace truemix {

namespace {

// Samplers use the mode as initial state and for scaling: it need not be precise.
constexpr double GAP = 1e-6;
constexpr int STEPS = 200;

// The expected weight of each class given the mix x.
Vector expected_counts(Matrix L, Numbers w, Numbers x) {
    Vector out(extent(L.columns()), 0.0);
    for (Index i = 0; i < L.rows(); ++i) {
        const double scale = w[i] / std::max(dot(L[i], x), 1e-290);
        add_scaled(out.data(), scale, L[i].data(), L.columns());
    }
    for (Index k = 0; k < L.columns(); ++k) out[extent(k)] *= x[k];
    return out;
}

}  // namespace

Vector mode_of(Matrix L, Numbers w, Index n, Numbers start) {
    const Solution solution = solve_mixture(L, w, start, GAP, STEPS);
    // One EM step: it leaves the mode unchanged, and makes shares at zero positive.
    Vector mode = expected_counts(L.top(n), w.part(0, n), solution.x);
    for (Index k = 0; k < L.columns(); ++k) mode[extent(k)] += w[n + k];
    const double total = sum(mode);
    for (double& share : mode) share = std::max(share / total, 1e-280);
    return mode;
}

Grid<> moment_of(Matrix L, Numbers w, Numbers x) {
    const Index K = L.columns();
    Grid<> out(K, K);
    Vector r(extent(K));
    for (Index i = 0; i < L.rows(); ++i) {
        const double* row = L[i].data();
        for (Index k = 0; k < K; ++k) r[extent(k)] = x[k] * row[k];
        const double scale = std::sqrt(w[i]) / sum(r);
        for (double& share : r) share *= scale;
        for (Index k = 0; k < K; ++k)
            if (r[extent(k)] > 1e-18) add_scaled(out[k].data(), r[extent(k)], r.data(), k + 1);
    }
    for (Index k = 0; k < K; ++k)
        for (Index j = 0; j < k; ++j) out[j][k] = out[k][j];
    return out;
}

Grid<> precision_of(Matrix moment, Numbers mode, Numbers prior, double n, double temperature) {
    const Index K = mode.size();
    const double total = sum(prior) + n / temperature;
    Grid<> out(K, K);
    for (Index a = 0; a < K; ++a) {
        for (Index b = 0; b < K; ++b)
            out[a][b] = moment[a][b] / temperature - total * mode[a] * mode[b];
        out[a][a] += prior[a];
    }
    return out;
}

}  // namespace truemix
