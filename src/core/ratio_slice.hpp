// Slice sampling (Neal, 2003) of the ratio of two shares whose sum is held fixed.
//
// An interval of fixed width is placed at random around the current log ratio and shrunk until it
// yields a point of the slice. In the log ratio there are no boundaries, and shares of any
// magnitude are resolved.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "arrays.hpp"
#include "random.hpp"

namespace truemix {

struct Shares {
    double x, y;
};

// Two different numbers below K.
inline std::pair<Index, Index> random_pair(Index K, Random& random) {
    const auto i = static_cast<Index>(random.uniform() * static_cast<double>(K));
    const auto j = static_cast<Index>(random.uniform() * static_cast<double>(K - 1));
    return {i, j + (j >= i)};
}

// New shares of the same sum, the first below upper and none below lowest. The density of the log
// ratio is x**power.x * y**power.y * exp(log_rest(shares)).
template <class LogRest>
Shares draw_ratio(Shares from, Shares power, double upper, double lowest, const LogRest& log_rest,
                  Random& random) {
    // Wider intervals cost rejections, narrower ones cost moves.
    constexpr double width = 4.0;
    const double sum = from.x + from.y, here = std::log(from.x) - std::log(from.y);
    double level = random.log_uniform() + power.x * std::log(from.x) + power.y * std::log(from.y);
    level += log_rest(from);
    double low = here - width * random.uniform();
    double high = low + width;
    // The current value is in the slice, so the loop ends; in a tiny interval rounding may hide it.
    while (high - low > 1e-12) {
        const double there = low + random.uniform() * (high - low);
        const double ratio = std::exp(-std::abs(there));
        const double larger = sum / (1.0 + ratio);
        const double smaller = std::max(larger * ratio, SMALLEST);
        const Shares to = there > 0.0 ? Shares{larger, smaller} : Shares{smaller, larger};
        if (to.x < upper && smaller >= lowest) {
            const double value = power.x * std::log(to.x) + power.y * std::log(to.y);
            if (value + log_rest(to) >= level) return to;
        }
        (there < here ? low : high) = there;
    }
    return from;
}

}  // namespace truemix
