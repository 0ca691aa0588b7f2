#include "diagnostics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanes.hpp"

namespace truemix {

namespace {

using Order = Span<const std::int64_t>;

// Writes the normal score of each value's rank into z; ties get their mean rank.
void rank_scores(Numbers x, Order order, Numbers scores, Out z) {
    const Index n = x.size();
    for (Index first = 0, last; first < n; first = last + 1) {
        last = first;
        while (last + 1 < n && x[order[last + 1]] == x[order[first]]) ++last;
        for (Index at = first; at <= last; ++at) z[order[at]] = scores[first + last];
    }
}

struct Spread {
    Vector means;  // of each chain
    double within = 0.0, total = 0.0;
};

Spread spread_of(Numbers z, Index m) {
    const Index h = z.size() / m;
    const auto length = static_cast<double>(h), chains = static_cast<double>(m);
    Spread out{Vector(extent(m), 0.0)};
    double middle = 0.0, between = 0.0;
    for (Index c = 0; c < m; ++c) {
        out.means[extent(c)] = sum(z.part(c * h, h)) / length;
        middle += out.means[extent(c)] / chains;
    }
    for (Index c = 0; c < m; ++c) {
        const double mean = out.means[extent(c)];
        for (const double each : z.part(c * h, h))
            out.within += (each - mean) * (each - mean) / (chains * (length - 1.0));
        between += (mean - middle) * (mean - middle) / (chains - 1.0);
    }
    out.total = out.within * (length - 1.0) / length + between;
    return out;
}

double rhat_of(Numbers z, Index m) {
    const Spread spread = spread_of(z, m);
    if (spread.within <= 0.0)
        return spread.total <= 0.0 ? 1.0 : std::numeric_limits<double>::infinity();
    return std::sqrt(spread.total / spread.within);
}

// The autocovariance at a lag, averaged over the chains.
double lagged(Numbers z, Numbers means, Index lag) {
    const Index m = means.size(), h = z.size() / m;
    double covariance = 0.0;
    for (Index c = 0; c < m; ++c) {
        const double* chain = z.data() + c * h;
        const double mean = means[c];
        Lanes sums = every(0.0);
        Index t = 0;
        for (; t + LANES <= h - lag; t += LANES)
            sums += (load(chain + t) - mean) * (load(chain + t + lag) - mean);
        for (; t < h - lag; ++t) covariance += (chain[t] - mean) * (chain[t + lag] - mean);
        covariance += total(sums);
    }
    return covariance / static_cast<double>(m * h);
}

// Leaves out the variance between chains if only the inside counts.
double bulk_ess(Numbers z, Index m, bool inside) {
    const Index n = z.size(), h = n / m;
    const Spread spread = spread_of(z, m);
    const double total = inside ? spread.within : spread.total;
    if (total <= 0.0) return static_cast<double>(n);
    const auto correlation = [&](Index lag) {
        return 1.0 - (spread.within - lagged(z, spread.means, lag)) / total;
    };
    double even = 1.0, odd = correlation(1);
    // Geyer's initial monotone sequence: for a reversible chain, sums of neighbouring lags are
    // positive and decreasing. Stop where they turn negative; increases are noise.
    double time = -1.0, previous = even + odd;
    for (Index lag = 1; even + odd > 0.0 && lag < h - 3; lag += 2) {
        previous = std::min(previous, even + odd);
        time += 2.0 * previous;
        even = correlation(lag + 1);
        odd = correlation(lag + 2);
    }
    time += std::max(even, 0.0);
    return static_cast<double>(n) / std::max(time, 1.0 / std::log10(static_cast<double>(n)));
}

}  // namespace

Diagnostics diagnose(Matrix columns, Table<const std::int64_t> orders, Numbers scores, Index m) {
    const Index K = columns.rows(), n = columns.columns();
    Diagnostics out{Vector(extent(K)), Vector(extent(K)), Vector(extent(K))};
    Vector z(extent(n)), folded(extent(n)), distance(extent(n));
    Integers distance_order(extent(n));
    for (Index k = 0; k < K; ++k) {
        const Numbers x = columns[k];
        const Order sorted = orders[k];
        rank_scores(x, sorted, scores, z);
        out.ess[extent(k)] = bulk_ess(z, m, false);
        out.within_ess[extent(k)] = bulk_ess(z, m, true);
        // Sort by distance from the median: merge the lower half, read backwards, with the upper.
        Index low = n / 2 - 1, high = n / 2;
        const double middle = 0.5 * (x[sorted[low]] + x[sorted[high]]);
        for (std::int64_t& next : distance_order) {
            const bool lower =
                high == n || (low >= 0 && middle - x[sorted[low]] <= x[sorted[high]] - middle);
            next = lower ? sorted[low--] : sorted[high++];
        }
        for (Index t = 0; t < n; ++t) distance[extent(t)] = std::abs(x[t] - middle);
        rank_scores(distance, distance_order, scores, folded);
        out.rhat[extent(k)] = std::max(rhat_of(z, m), rhat_of(folded, m));
    }
    return out;
}

}  // namespace truemix
