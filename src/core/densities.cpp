#include "densities.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace truemix {

namespace {

// Writes the composition with coordinates z (one fewer than its parts).
void softmax(Numbers z, Numbers centre, Numbers scale, Out out) {
    const Index n = out.size();
    double largest = centre[n - 1], total = 0.0;
    for (Index k = 0; k < n; ++k) {
        out[k] = centre[k] + (k < n - 1 ? scale[k] * z[k] : 0.0);
        largest = std::max(largest, out[k]);
    }
    for (double& part : out) total += part = std::exp(part - largest);
    for (double& part : out) part = std::max(part / total, 1e-300);
}

}  // namespace

double MixDensity::expand(Numbers z, Out pi) const {
    const Index K = pi.size();
    std::copy(centre.begin(), centre.end(), pi.begin());
    for (Index a = 0; a < K - 1; ++a) add_scaled(pi.data(), z[a], R_inverse[a].data(), a + 1);
    double largest = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (double log : pi) largest = std::max(largest, log);
    for (double log : pi) total += std::exp(log - largest);
    const double divisor = largest + std::log(total);
    for (double& log : pi) log = std::exp(log - divisor);
    return divisor;
}

double MixDensity::operator()(Numbers z, Out gradient) const {
    const Index K = n_expanded();
    Vector pi(extent(K)), slope(extent(K), 0.0);
    double u[BLOCK], ratio[BLOCK];
    const double divisor = expand(z, pi);
    LogSum logs;
    for (Index b = 0; b < items.n_blocks; ++b) {
        const double *L = items.block(b), *w = items.block_weights(b);
        mixture_likelihood(L, pi, u);
        logs.add(u, w);
        for (Index j = 0; j < BLOCK; j += LANES)
            store(ratio + j, load(w + j) / larger(load(u + j), every(LogSum::IMPOSSIBLE)));
        for (Index k = 0; k < K; ++k) slope[extent(k)] += dot(L + k * BLOCK, ratio, BLOCK);
    }
    double value = logs.value();
    const double weight = sum(items.weights) + sum(prior);
    for (std::size_t k = 0; k < slope.size(); ++k) {
        slope[k] = prior[k] + pi[k] * (slope[k] - weight);
        // log pi computed directly: pi itself underflows within the tail of the prior.
        value += prior[k] * (centre[k] - divisor);
    }
    for (Index a = 0; a < K - 1; ++a) {
        const double* row = R_inverse[a].data();
        gradient[a] = dot(row, slope.data(), a + 1);
        value += z[a] * dot(row, prior.data(), a + 1);
    }
    return value;
}

void JointDensity::expand(Numbers z, Out out) const {
    const Index K = row_shapes.rows, C = row_shapes.columns;
    const Numbers c(centre), s(scale);
    softmax(z.part(0, K - 1), c.part(0, K), s.part(0, K), out.part(0, K));
    for (Index y = 0; y < K; ++y) {
        const Index at = K + y * C;
        softmax(z.part((K - 1) + y * (C - 1), C - 1), c.part(at, C), s.part(at, C),
                out.part(at, C));
    }
}

double JointDensity::operator()(Numbers z, Out gradient) const {
    const Index K = row_shapes.rows, C = row_shapes.columns;
    Vector values(extent(n_expanded())), ratio(extent(C));
    expand(z, values);
    const Numbers pi(values.data(), K), a(prior), n(powers), s(scale);
    const Matrix M(values.data() + K, K, C);
    double value = 0.0;
    for (Index c = 0; c < C; ++c) {
        double probability = 0.0;
        for (Index y = 0; y < K; ++y) probability += pi[y] * M[y][c];
        value += n[c] * std::log(probability);
        ratio[extent(c)] = n[c] / probability;
    }
    const double total = sum(a) + sum(n);
    for (Index y = 0; y < K; ++y) {
        const Numbers shapes = row_shapes[y];
        const double expected = dot(ratio, M[y]), shape = sum(shapes);
        for (Index c = 0; c < C; ++c) value += shapes[c] * std::log(M[y][c]);
        value += a[y] * std::log(pi[y]);
        if (y < K - 1) gradient[y] = s[y] * (a[y] + pi[y] * (expected - total));
        for (Index c = 0; c < C - 1; ++c) {
            const double slope =
                shapes[c] + M[y][c] * (pi[y] * ratio[extent(c)] - shape - pi[y] * expected);
            gradient[(K - 1) + y * (C - 1) + c] = s[K + y * C + c] * slope;
        }
    }
    return value;
}

}  // namespace truemix
