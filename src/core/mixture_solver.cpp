// Sequential quadratic programming on the scale-free form of the problem (Kim, Carbonetto, Stephens
// and Anitescu, 2020): minimise phi(x) = -sum_i w_i log((L x)_i) + sum_k x_k over x >= 0. Its
// minimum lies on the simplex by itself, so the only constraints left are signs. With u = L x,
// g = L'(w/u) and H = L' diag(w/u^2) L we have H x = g, and the Newton model around x is minimised
// by the y >= 0 that minimises y'Hy/2 - (2g - 1)'y.
//
// No BLAS here: its thread pool serialises callers that already run in parallel, and the loops
// below are as fast on matrices this narrow: eight rows at a time, or eight classes if there are
// many.

#include "mixture_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "active_set.hpp"
#include "blocks.hpp"
#include "interrupt.hpp"
#include "vector_math.hpp"

namespace truemix {

namespace {

// Initial EM sweeps, unless the gap is already below NEAR, where Newton steps are better.
constexpr int SWEEPS = 3;
constexpr double NEAR = 0.05;
// Armijo condition: the fraction of the predicted decrease that a step must achieve.
constexpr double ARMIJO = 1e-4;
// Decreases of the objective below this are lost in rounding errors.
constexpr double NOISE = 1e-15;
// Rows that enter the Hessian together: each of its entries is loaded and stored once for all of
// them.
constexpr Index ROWS = 8;
// With so few classes loops run over rows, in blocks; with more they run over classes.
constexpr Index NARROW = 16;

// Along a ray phi is smallest on the simplex, so this never undoes a step. Shares below 1e-300 do
// not matter (see lower_limit), but are subject to loss of precision.
void normalise(Out x) {
    double total = 0.0;
    for (double& share : x) {
        if (share < 1e-300) share = 0.0;
        total += share;
    }
    for (double& share : x) share /= total;
}

// At the optimum g_k <= 1 for all k, and each row has a class with L = 1, so u_i >= w_i. Staying
// above a fraction of that bounds w/u, g and H for any data.
double lower_limit(double weight, Index K) { return 1e-3 * weight / static_cast<double>(K); }

// Mixes x with the uniform point if a row is (nearly) impossible under it.
void make_possible(Matrix L, Numbers w, Out x) {
    const Index K = L.columns();
    for (Index i = 0; i < L.rows(); ++i) {
        if (dot(L[i], x) >= lower_limit(w[i], K)) continue;
        for (double& share : x) share = 0.9 * share + 0.1 / static_cast<double>(K);
        return;
    }
}

// Calls visit(first, size, classes) for each block of rows, copied class by class.
template <class Visit>
void for_each_block(Matrix L, Visit visit) {
    double classes[NARROW * BLOCK];
    for (Index first = 0; first < L.rows(); first += BLOCK) {
        copy_block(L, first, classes);
        visit(first, std::min(BLOCK, L.rows() - first), static_cast<const double*>(classes));
    }
}

// Writes L x.
void product(Matrix L, Numbers x, Out out) {
    if (L.columns() > NARROW) {
        for (Index i = 0; i < L.rows(); ++i) out[i] = dot(L[i], x);
        return;
    }
    for_each_block(L, [&](Index first, Index size, const double* classes) {
        double mixture[BLOCK];
        mixture_likelihood(classes, x, mixture);
        std::copy_n(mixture, size, out.data() + first);
    });
}

// Computes u = L x and g = L'(w/u) in one pass over L.
void gradient(Matrix L, Numbers w, Numbers x, Out u, Out g) {
    std::fill(g.begin(), g.end(), 0.0);
    if (L.columns() <= NARROW) {
        for_each_block(L, [&](Index first, Index size, const double* classes) {
            double mixture[BLOCK], ratio[BLOCK] = {};
            mixture_likelihood(classes, x, mixture);
            std::copy_n(mixture, size, u.data() + first);
            const double* weight = w.data() + first;
            for (Index j = 0; j < size; ++j) ratio[j] = weight[j] / mixture[j];
            for (Index k = 0; k < x.size(); ++k) g[k] += dot(classes + k * BLOCK, ratio, BLOCK);
        });
        return;
    }
    for (Index i = 0; i < L.rows(); ++i) {
        u[i] = dot(L[i], x);
        add_scaled(g.data(), w[i] / u[i], L[i].data(), L.columns());
    }
}

// The duality gap: an upper bound of how far the objective is from its maximum.
double duality_gap(Numbers g) {
    double largest = 1.0;
    for (double slope : g)
        // Negated, so that NaN is not taken for an optimum.
        if (!(slope <= largest)) largest = slope;
    return largest - 1.0;
}

// The complementary slackness error: the largest 1 - g_k with x_k > 0.
double slackness(Numbers x, Numbers g) {
    double worst = 0.0;
    for (Index k = 0; k < x.size(); ++k)
        if (x[k] > 0.0) worst = std::max(worst, 1.0 - g[k]);
    return worst;
}

// The classes the quadratic step may change. A class at zero whose gradient is well below 1 would
// stay there; leaving it out makes the Hessian, the most expensive part, cheaper. The gap is always
// taken over all classes.
void working_set(Numbers x, Numbers g, Integers& idx) {
    idx.clear();
    for (Index k = 0; k < x.size(); ++k)
        if (x[k] > 0.0 || g[k] > 0.9) idx.push_back(k);
}

// Adds the products of entry a and entries 0 to a of each row.
void add_products(const Grid<>& rows, Index a, double* __restrict out) {
    double factors[ROWS];
    for (Index r = 0; r < ROWS; ++r) factors[r] = rows[r][a];
    const double* first = rows[0].data();
    Index b = 0;
    for (; b + LANES <= a + 1; b += LANES) {
        Lanes sums = load(out + b);
        for (Index r = 0; r < ROWS; ++r) sums += factors[r] * load(first + r * rows.columns + b);
        store(out + b, sums);
    }
    for (; b <= a; ++b)
        for (Index r = 0; r < ROWS; ++r) out[b] += factors[r] * first[r * rows.columns + b];
}

// The lower triangle of L' diag(w/u^2) L for the classes idx of a narrow L.
void narrow_hessian(Matrix L, Numbers w, Numbers u, Span<const std::int64_t> idx, OutMatrix H) {
    const Index m = idx.size();
    Lanes sums[NARROW * (NARROW + 1) / 2] = {};
    for_each_block(L, [&](Index first, Index size, const double* classes) {
        double scale[BLOCK] = {}, scaled[NARROW * BLOCK];
        const double *weight = w.data() + first, *divisor = u.data() + first;
        for (Index j = 0; j < size; ++j) scale[j] = std::sqrt(weight[j]) / divisor[j];
        for (Index a = 0; a < m; ++a)
            for (Index j = 0; j < BLOCK; ++j)
                scaled[a * BLOCK + j] = scale[j] * classes[idx[a] * BLOCK + j];
        Lanes* sum = sums;
        for (Index a = 0; a < m; ++a) {
            for (Index b = 0; b <= a; ++b, ++sum) {
                Lanes products = *sum;
                for (Index j = 0; j < BLOCK; j += LANES)
                    products += load(scaled + a * BLOCK + j) * load(scaled + b * BLOCK + j);
                *sum = products;
            }
        }
    });
    const Lanes* sum = sums;
    for (Index a = 0; a < m; ++a)
        for (Index b = 0; b <= a; ++b) H[a][b] = total(*sum++);
}

// The same of an L with many classes.
void wide_hessian(Matrix L, Numbers w, Numbers u, Span<const std::int64_t> idx, OutMatrix H) {
    const Index n = L.rows(), m = idx.size();
    Grid<> rows(ROWS, m);
    for (Index a = 0; a < m; ++a) std::fill_n(H[a].data(), a + 1, 0.0);
    for (Index first = 0; first < n; first += ROWS) {
        for (Index r = 0; r < ROWS; ++r) {
            const Index i = std::min(first + r, n - 1);
            const double scale = first + r < n ? std::sqrt(w[i]) / u[i] : 0.0;
            for (Index a = 0; a < m; ++a) rows[r][a] = scale * L[i][idx[a]];
        }
        for (Index a = 0; a < m; ++a) add_products(rows, a, H[a].data());
    }
}

// Writes L' diag(w/u^2) L for the classes idx into the corner of H.
void hessian(Matrix L, Numbers w, Numbers u, Span<const std::int64_t> idx, OutMatrix H) {
    (L.columns() <= NARROW ? narrow_hessian : wide_hessian)(L, w, u, idx, H);
    for (Index a = 0; a < idx.size(); ++a)
        for (Index b = 0; b < a; ++b) H[b][a] = H[a][b];
}

// sum_i w_i log((u_i + t v_i) / u_i): the logarithm of one plus the relative change avoids the
// cancellation in a difference of two objectives.
double gain(Numbers w, Numbers u, Numbers v, double t) {
    const Index n = u.size(), whole = n - n % LANES;
    Lanes sums = every(0.0);
    for (Index i = 0; i < whole; i += LANES)
        sums += load(w.data() + i) * log_one_plus(t * load(v.data() + i) / load(u.data() + i));
    double rest = 0.0;
    for (Index i = whole; i < n; ++i) rest += w[i] * std::log1p(t * v[i] / u[i]);
    return total(sums) + rest;
}

// The step length along step (1: full step, 0: no descent), with v = L step.
double line_search(Numbers w, Numbers u, Numbers v, Numbers g, Numbers step) {
    const Index n = u.size(), K = g.size();
    double slope = 0.0, sum = 0.0;
    for (Index k = 0; k < K; ++k) {
        slope += (1.0 - g[k]) * step[k];
        sum += step[k];
    }
    if (!(slope < NOISE)) return 0.0;
    double limit = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
        const double floor = std::min(lower_limit(w[i], K), u[i]);
        if (u[i] + v[i] < floor) limit = std::min(limit, (u[i] - floor) / -v[i]);
    }
    double t = std::min(1.0, 0.99 * limit);
    // The change is below the precision of the objective: only the gap can show progress.
    if (slope > -NOISE) return t;
    for (; t > 1e-10; t *= 0.5) {
        if (t * sum - gain(w, u, v, t) <= ARMIJO * t * slope) return t;
    }
    return 0.0;
}

}  // namespace

Solution solve_mixture(Matrix L, Numbers w, Numbers start, double tol, int max_iter) {
    const Index n = L.rows(), K = L.columns();
    Solution out;
    out.x.assign(start.begin(), start.end());
    const Out x(out.x);
    Vector u(extent(n)), v(extent(n)), g(extent(K)), y(extent(K)), step(extent(K));
    Grid<> H(K, K);
    Integers idx;
    QuadraticStep quadratic(K);
    make_possible(L, w, x);
    gradient(L, w, x, u, g);
    out.gap = duality_gap(g);
    int sweeps = out.gap > NEAR ? SWEEPS : 0;
    while (out.iterations < max_iter) {
        poll();
        ++out.iterations;
        double length = 0.0;
        if (sweeps == 0) {
            working_set(x, g, idx);
            hessian(L, w, u, idx, H);
            quadratic.solve(H, g, idx, x, y);
            for (Index k = 0; k < K; ++k) step[extent(k)] = y[extent(k)] - x[k];
            product(L, step, v);
            length = line_search(w, u, v, g, step);
        }
        const bool exact = length == 1.0;
        if (length > 0.0) {
            for (Index k = 0; k < K; ++k)
                x[k] = exact ? y[extent(k)] : x[k] + length * step[extent(k)];
            // After a damped step, one EM sweep: it always improves, and it changes tiny shares by
            // orders of magnitude where Newton only doubles them.
            sweeps = exact ? 0 : 1;
        } else {
            for (Index k = 0; k < K; ++k) x[k] *= g[extent(k)];
            sweeps = std::max(sweeps - 1, 0);
        }
        normalise(x);
        gradient(L, w, x, u, g);
        out.gap = duality_gap(g);
        // Only a full quadratic step sets shares exactly to zero, so the last step has to be one,
        // even if EM alone has closed the gap.
        if (exact && out.gap <= tol && slackness(x, g) <= tol) {
            out.converged = true;
            break;
        }
    }
    return out;
}

}  // namespace truemix
