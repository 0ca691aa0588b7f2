#include "active_set.hpp"

#include <algorithm>
#include <cmath>

#include "lanes.hpp"

namespace truemix {

namespace {

// Ridge, relative to a unit diagonal: above the rounding error of H, below any curvature that could
// change the duality gap.
constexpr double RIDGE = 1e-11;

}  // namespace

QuadraticStep::QuadraticStep(Index K) : factor_(K, K) {
    for (Vector* each :
         {&scale_, &start_, &z_, &solution_, &trial_, &b_, &residual_, &change_, &rhs_})
        each->resize(extent(K));
    passive_.resize(extent(K));
    index_.resize(extent(K));
}

void QuadraticStep::solve(OutMatrix H, Numbers g, Span<const std::int64_t> idx, Numbers x, Out y) {
    m_ = idx.size();
    const Out scale(scale_), start(start_), z(z_), b(b_), r(residual_), change(change_);
    const Span<std::int64_t> passive(passive_);
    // With a unit diagonal the condition number no longer depends on the size of the classes. By
    // Cauchy-Schwarz H_kk >= g_k^2, and g_k = 1 for each class in the support of the optimum: a
    // smaller diagonal belongs to a class that is about to leave the support, and scaling it up
    // would only magnify rounding errors.
    for (Index a = 0; a < m_; ++a) scale[a] = std::max(std::sqrt(H[a][a]), 1.0);
    for (Index a = 0; a < m_; ++a)
        for (Index c = 0; c < m_; ++c) H[a][c] /= scale[a] * scale[c];
    // The ridge makes H invertible when classes are identical. It is centred on x, so it changes
    // neither the optimum nor the shares of identical classes. The model is written in y - x: since
    // H x = g, its linear term is g - 1, without the rounding error of a product.
    for (Index a = 0; a < m_; ++a) {
        H[a][a] += RIDGE;
        start[a] = z[a] = x[idx[a]] * scale[a];
        b[a] = (g[idx[a]] - 1.0) / scale[a];
    }
    bool solved = false;
    for (Index pass = 0; pass < 3 * m_ + 20; ++pass) {
        Index worst = -1;
        double largest = 0.0;
        for (Index a = 0; a < m_; ++a) change[a] = z[a] - start[a];
        for (Index a = 0; a < m_; ++a) {
            r[a] = b[a] - dot(H[a].data(), change.data(), m_);
            passive[a] = z[a] > 0.0;
            if (z[a] == 0.0 && r[a] * scale[a] > 1e-12) {
                double size = std::abs(b[a]);
                for (Index c = 0; c < m_; ++c) size += std::abs(H[a][c] * change[c]);
                // Violations are ignored below 1e-12 in units of the gradient, or below the
                // rounding error of the sum.
                if (r[a] > 1e-14 * size) {
                    passive[a] = true;
                    if (r[a] * scale[a] > largest) {
                        worst = a;
                        largest = r[a] * scale[a];
                    }
                }
            }
        }
        if (solved && worst < 0) break;
        solve_entering(H, worst);
        solved = move(H);
    }
    std::fill(y.begin(), y.end(), 0.0);
    for (Index a = 0; a < m_; ++a) y[idx[a]] = z[a] / scale[a];
}

// Minimises the model over the passive classes; drops those that would turn negative at once.
void QuadraticStep::solve_entering(Matrix H, Index worst) {
    const Out z(z_), s(solution_);
    const Span<std::int64_t> passive(passive_);
    for (;;) {
        solve_passive(H);
        bool dropped = false, entering = false;
        for (Index a = 0; a < m_; ++a) {
            if (!passive[a] || z[a] != 0.0) continue;
            if (s[a] <= 0.0) {
                passive[a] = false;
                s[a] = 0.0;
                dropped = true;
            } else {
                entering = true;
            }
        }
        if (!dropped) return;
        // Entering classes may block each other; the one of steepest descent, alone, cannot.
        if (!entering && worst >= 0) {
            passive[worst] = true;
            worst = -1;
        }
    }
}

// Moves z to the solution, or as far as z >= 0 allows; returns whether the solution was reached.
bool QuadraticStep::move(Matrix H) {
    const Out z(z_), s(solution_), trial(trial_);
    Index first = -1;
    double shortest = 1.0;
    for (Index a = 0; a < m_; ++a) {
        if (s[a] < 0.0 && z[a] / (z[a] - s[a]) <= shortest) {
            first = a;
            shortest = z[a] / (z[a] - s[a]);
        }
    }
    // Two candidates: stop where the first class reaches zero, or clip all negative classes at
    // once. Clipping changes many classes in one pass, but is not always lower.
    for (Index a = 0; a < m_; ++a) {
        trial[a] = std::max(z[a] + shortest * (s[a] - z[a]), 0.0);
        s[a] = std::max(s[a], 0.0);
    }
    if (first >= 0) trial[first] = 0.0;
    const bool all_at_once = first < 0 || model(H, s) <= model(H, trial);
    std::copy_n((all_at_once ? s : trial).data(), m_, z.data());
    return first < 0;
}

// The change of the model from z; minus the residual is its gradient at z.
double QuadraticStep::model(Matrix H, Numbers to) const {
    const Numbers z(z_), r(residual_);
    Vector step(extent(m_));
    for (Index a = 0; a < m_; ++a) step[extent(a)] = to[a] - z[a];
    double value = 0.0;
    for (Index a = 0; a < m_; ++a) {
        const double moved = step[extent(a)];
        if (moved != 0.0) value += moved * (0.5 * dot(H[a].data(), step.data(), m_) - r[a]);
    }
    return value;
}

// Solves H (s - z) = r over the passive classes, s = 0 elsewhere, by Cholesky.
void QuadraticStep::solve_passive(Matrix H) {
    const Out z(z_), s(solution_), r(residual_), rhs(rhs_);
    const Span<std::int64_t> index(index_);
    const OutMatrix R = factor_;
    Index m = 0;
    for (Index a = 0; a < m_; ++a) {
        s[a] = 0.0;
        if (passive_[extent(a)]) index[m++] = a;
    }
    for (Index a = 0; a < m; ++a) {
        for (Index c = 0; c <= a; ++c) {
            const double rest = H[index[a]][index[c]] - dot(R[a].data(), R[c].data(), c);
            R[a][c] = c < a ? rest / R[c][c] : std::sqrt(std::max(rest, 0.1 * RIDGE));
        }
        rhs[a] = (r[index[a]] - dot(R[a].data(), rhs.data(), a)) / R[a][a];
    }
    for (Index a = m - 1; a >= 0; --a) {
        rhs[a] /= R[a][a];
        s[index[a]] = z[index[a]] + rhs[a];
        add_scaled(rhs.data(), -rhs[a], R[a].data(), a);
    }
}

}  // namespace truemix
