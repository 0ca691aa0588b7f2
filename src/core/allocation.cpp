#include "allocation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "interrupt.hpp"

namespace truemix {

namespace {

// Above these odds at the reference mix, skipping to an item costs as much as drawing its class.
constexpr double DOUBT = 0.05;
// A row of weight above this times K is split by binomial draws, not allocated item by item.
constexpr Index HEAVY = 8;
// With more items than this, rows are grouped, but for as many of the heaviest as MAX_SPLIT: the
// others are each less than 1 / MAX_SPLIT of the variance.
constexpr double MAX_ITEMS = 500'000;
constexpr Index MAX_SPLIT = 256;

// How an item is allocated: not at all, by skipping to it, or in a block.
enum class Kind { certain, sure, doubtful };

// NaN odds count as certain.
Kind kind_of(double odds) {
    if (!(odds > 0.0)) return Kind::certain;
    return odds > DOUBT ? Kind::doubtful : Kind::sure;
}

// Grouped rows are allocated in blocks, however sure they are.
Kind kind_in(const WeightRule& rule, double weight, double odds) {
    const Kind kind = kind_of(odds);
    return kind == Kind::sure && rule.is_grouped(weight) ? Kind::doubtful : kind;
}

// How many items of a row are allocated one by one; the others go to the heavy rows.
Index copies_of(double weight, const WeightRule& rule) {
    if (rule.is_heavy(weight)) return weight > std::floor(weight);
    return rule.is_grouped(weight) ? 1 : whole_number(std::ceil(weight));
}

struct Item {
    Index lead;
    double odds;
};

// The lead class maximises x_k L_k.
Item classify(Numbers row, Numbers x) {
    Index lead = 0;
    double largest = -1.0, rest = 0.0;
    for (Index k = 0; k < x.size(); ++k) {
        if (x[k] * row[k] > largest) {
            lead = k;
            largest = x[k] * row[k];
        }
    }
    for (Index k = 0; k < x.size(); ++k)
        if (k != lead) rest += x[k] * row[k];
    return {lead, rest / largest};
}

double leaves(double odds) { return odds < 1e15 ? odds / (1.0 + odds) : 1.0; }

// Adds what the items of a block count in expectation.
void add_expected(const double* L, const double* expected, Numbers pi, const double* mixture,
                  Out counts) {
    double ratio[BLOCK];
    for (Index j = 0; j < BLOCK; j += LANES)
        store(ratio + j, load(expected + j) / larger(load(mixture + j), every(1e-300)));
    for (Index k = 0; k < pi.size(); ++k) counts[k] += pi[k] * dot(L + k * BLOCK, ratio, BLOCK);
}

// Allocates a block of items by uniforms; adds their weights to counts. expected may be null.
void allocate_block(const double* L, const double* w, const double* expected, Numbers pi,
                    const double* uniforms, Out counts) {
    constexpr Index groups = BLOCK / LANES;
    const Index K = pi.size();
    double mixture[BLOCK];
    mixture_likelihood(L, pi, mixture);
    if (expected != nullptr) add_expected(L, expected, pi, mixture, counts);
    Lanes threshold[groups], partial[groups], weights[groups], all = every(0.0);
    for (Index g = 0; g < groups; ++g) {
        partial[g] = every(0.0);
        weights[g] = load(w + g * LANES);
        // A factor just below 1: rounding must not select a class beyond the last possible one.
        threshold[g] = load(uniforms + g * LANES) * ((1.0 - 1e-13) * load(mixture + g * LANES));
        all += weights[g];
    }
    double left = total(all);
    for (Index k = 0; k < K - 1; ++k) {
        Lanes beyond = every(0.0);
        for (Index g = 0; g < groups; ++g) {
            partial[g] += pi[k] * load(L + k * BLOCK + g * LANES);
            beyond += where_at_most(partial[g], threshold[g], weights[g]);
        }
        counts[k] += left - total(beyond);
        left = total(beyond);
    }
    counts[K - 1] += left;
}

// Picks a class with probability proportional to its share, by v below the shares' sum.
Index pick(Numbers shares, double v) {
    Index last = 0;
    for (Index j = 0; j < shares.size(); ++j) {
        if (!(shares[j] > 0.0)) continue;
        last = j;
        v -= shares[j];
        if (v < 0.0) break;
    }
    return last;
}

// Reallocates the sure items that leave their lead class.
void allocate_sure(const Layout& layout, Numbers pi, Random& random, Out shares, Out counts) {
    const Numbers reference(layout.reference), odds(layout.odds), mass(layout.mass);
    double ratio = 0.0;
    for (Index k = 0; k < pi.size(); ++k) ratio = std::max(ratio, pi[k] / reference[k]);
    for (Index k = 0; k < pi.size(); ++k) {
        const double factor = ratio * reference[k] / pi[k];
        Index at = layout.start[extent(k)];
        const Index end = layout.start[extent(k + 1)];
        for (; at < end; ++at) {
            // This bound holds for all later items too: skip geometrically, then thin.
            const double bound = leaves(odds[at] * factor);
            if (bound < 1.0) {
                const double ahead = random.log_uniform() / std::log1p(-bound);
                // Negated, so that NaN ends the search, too.
                if (!(ahead >= 0.0 && ahead < static_cast<double>(end - at))) break;
                at += static_cast<Index>(ahead);
            }
            double v = random.uniform() * bound;
            if (!(v < leaves(odds[at] * factor))) continue;
            const Numbers row = layout.rows[at];
            double rest = 0.0;
            for (Index j = 0; j < pi.size(); ++j) shares[j] = j == k ? 0.0 : pi[j] * row[j];
            rest = sum(shares);
            // The item leaves if v < rest / total; v then also selects the new class.
            v *= rest + pi[k] * row[k];
            if (v < rest) {
                counts[k] -= mass[at];
                counts[pick(shares, v)] += mass[at];
            }
        }
    }
}

// Draws a multinomial allocation of equal items, by conditional binomials.
void split(Numbers row, Numbers pi, double copies, Random& random, Out probability, Out counts) {
    std::int64_t left = whole_number(copies);
    double following = 0.0;
    for (Index k = pi.size() - 1; k >= 0; --k) {
        following += pi[k] * row[k];
        // 1 for the last possible class: it takes all remaining items.
        probability[k] = following > 0.0 ? pi[k] * row[k] / following : 0.0;
    }
    for (Index k = 0; k < pi.size(); ++k) {
        const std::int64_t taken = random.binomial(left, probability[k]);
        counts[k] += static_cast<double>(taken);
        left -= taken;
    }
}

// Rounds counts that are partly expectations to whole items; the most frequent class takes the
// rest.
void round_down(Out counts) {
    const double before = sum(counts);
    double* largest = std::max_element(counts.begin(), counts.end());
    for (double& count : counts) count = std::floor(count);
    *largest += std::round(before - sum(counts));
}

}  // namespace

WeightRule::WeightRule(Numbers w, Index K)
    : heavy_from(static_cast<double>(HEAVY * K)), grouped(sum(w) > MAX_ITEMS) {
    if (!grouped) return;
    Vector weights(w.begin(), w.end());
    heavy_from = 0.0;
    if (w.size() > MAX_SPLIT) {
        // Above the weight that so many others exceed; equal ones are treated alike.
        const auto place = weights.begin() + MAX_SPLIT;
        std::nth_element(weights.begin(), place, weights.end(), std::greater<>());
        heavy_from = std::nextafter(*place, std::numeric_limits<double>::infinity());
    }
    heavy_from = std::max(heavy_from, 2.0);
}

Layout::Layout(Numbers x)
    : reference(x.begin(), x.end()),
      doubtful(0, x.size(), 0.0),
      start(extent(x.size() + 1), 0),
      lead(extent(x.size()), 0.0) {}

Layout::Layout(Matrix L, Numbers w, Numbers x) : Layout(x) {
    const Index n = L.rows(), K = x.size();
    const WeightRule rule(w, K);
    std::vector<Item> items;
    items.reserve(extent(n));
    Integers order;
    Index n_doubtful = 0, n_heavy = 0;
    for (Index i = 0; i < n; ++i) {
        items.push_back(classify(L[i], x));
        const auto [first, against] = items.back();
        const Kind kind = kind_in(rule, w[i], against);
        if (kind == Kind::certain) {
            lead[extent(first)] += w[i];
            continue;
        }
        order.push_back(i);
        n_heavy += rule.is_heavy(w[i]);
        if (kind == Kind::doubtful)
            n_doubtful += copies_of(w[i], rule);
        else
            start[extent(first + 1)] += copies_of(w[i], rule);
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        return items[extent(i)].odds > items[extent(j)].odds;
    });
    const Index n_sure = start.back();
    doubtful = Blocks(n_doubtful, K, 0.0);
    if (rule.grouped) expected.assign(doubtful.weights.size(), 0.0);
    rows = Grid<>(n_sure, K);
    mass.resize(extent(n_sure));
    odds.resize(extent(n_sure));
    heavy = Grid<>(n_heavy, K);
    copies.resize(extent(n_heavy));
    Integers place(start);
    n_doubtful = n_heavy = 0;
    for (const std::int64_t i : order) {
        const auto [first, against] = items[extent(i)];
        const Numbers row = L[i];
        const double whole = std::floor(w[i]);
        if (rule.is_heavy(w[i])) {
            copies[extent(n_heavy)] = whole;
            std::copy(row.begin(), row.end(), heavy[n_heavy++].begin());
        }
        const Index n_copies = copies_of(w[i], rule);
        for (Index copy = 0; copy < n_copies; ++copy) {
            // The last copy carries the fractional part of the weight.
            const bool fraction = w[i] > whole && copy == n_copies - 1;
            double counts_for = fraction ? w[i] - whole : 1.0;
            if (rule.is_grouped(w[i])) {
                counts_for = std::sqrt(w[i]);
                expected[extent(n_doubtful)] = w[i] - counts_for;
            }
            if (kind_in(rule, w[i], against) == Kind::doubtful) {
                doubtful.weights[extent(n_doubtful)] = counts_for;
                for (Index k = 0; k < K; ++k) doubtful.likelihood(n_doubtful, k) = row[k];
                ++n_doubtful;
            } else {
                const Index at = place[extent(first)]++;
                mass[extent(at)] = counts_for;
                odds[extent(at)] = against;
                std::copy(row.begin(), row.end(), rows[at].begin());
                lead[extent(first)] += counts_for;
            }
        }
    }
}

void allocate(const Layout& layout, Numbers pi, Random& random, Out counts) {
    Vector scratch(extent(pi.size()));
    std::copy(layout.lead.begin(), layout.lead.end(), counts.begin());
    allocate_sure(layout, pi, random, scratch, counts);
    double uniforms[BLOCK];
    for (Index b = 0; b < layout.doubtful.n_blocks; ++b) {
        for (double& u : uniforms) u = random.uniform();
        const double* expected =
            layout.expected.empty() ? nullptr : layout.expected.data() + b * BLOCK;
        allocate_block(layout.doubtful.block(b), layout.doubtful.block_weights(b), expected, pi,
                       uniforms, counts);
    }
    if (!layout.expected.empty()) round_down(counts);
    for (Index h = 0; h < layout.heavy.rows; ++h)
        split(layout.heavy[h], pi, layout.copies[extent(h)], random, scratch, counts);
}

void allocate_draws(const Layout& layout, Matrix draws, Random& random, OutMatrix batch) {
    for (Index d = 0; d < draws.rows(); ++d) {
        poll();
        const Out counts = batch[d];
        allocate(layout, draws[d], random, counts);
        // With fractional weights, rounding errors may leave a count below zero.
        for (double& count : counts) count = std::max(count, 0.0);
        const double total = sum(counts);
        for (double& count : counts) count /= total;
    }
}

}  // namespace truemix
