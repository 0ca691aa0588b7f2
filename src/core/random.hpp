// Random variates from a separate stream for every sample.
//
// The generator is xoshiro256++ (Blackman and Vigna, 2019), in a state that the caller owns: draws
// depend on the seed alone, not on threads or on anything global.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "arrays.hpp"

namespace truemix {

// Lower bound of returned shares, so that their logarithms are finite.
constexpr double SMALLEST = 1e-300;
// Largest count: above it, doubles do not represent every whole number.
constexpr double MAX_COUNT = 9007199254740992.0;
// Right edge of the base layer of the 256-layer ziggurat, and the area of each layer.
constexpr double TAIL = 3.6541528853610088, LAYER_AREA = 0.00492867323399;

// The edges of the layers and the density there.
struct Ziggurat {
    double edge[257], height[257];

    Ziggurat() {
        edge[0] = LAYER_AREA / std::exp(-0.5 * TAIL * TAIL);
        edge[1] = TAIL;
        for (int i = 1; i < 255; ++i) {
            const double density = std::exp(-0.5 * edge[i] * edge[i]);
            edge[i + 1] = std::sqrt(-2.0 * std::log(LAYER_AREA / edge[i] + density));
        }
        edge[256] = 0.0;
        for (int i = 0; i < 257; ++i) height[i] = std::exp(-0.5 * edge[i] * edge[i]);
    }
};
inline const Ziggurat ziggurat;

// Rounds to a count: 0 for NaN and negative numbers, at most MAX_COUNT. Casting other numbers to
// integers is undefined behaviour.
inline std::int64_t whole_number(double x) {
    if (!(x > 0.0)) return 0;
    return static_cast<std::int64_t>(std::rint(x < MAX_COUNT ? x : MAX_COUNT));
}

class Random {
public:
    explicit Random(std::uint64_t* state) : owner_(state) {
        for (int i = 0; i < 4; ++i) s_[i] = state[i];
    }
    // The caller's state continues where this stream ends.
    ~Random() {
        for (int i = 0; i < 4; ++i) owner_[i] = s_[i];
    }
    Random(const Random&) = delete;
    Random& operator=(const Random&) = delete;

    std::uint64_t bits() {
        const std::uint64_t sum = s_[0] + s_[3];
        const std::uint64_t result = ((sum << 23) | (sum >> 41)) + s_[0];
        const std::uint64_t shifted = s_[1] << 17;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= shifted;
        s_[3] = (s_[3] << 45) | (s_[3] >> 19);
        return result;
    }

    // In [0, 1).
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    // In (0, 1).
    double open_uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

    // The logarithm of a uniform variate in (0, 1].
    double log_uniform() { return std::log(1.0 - uniform()); }

    // Marsaglia and Tsang's ziggurat.
    double normal() {
        for (;;) {
            const std::uint64_t random = bits();
            const int layer = static_cast<int>(random & 255);
            const double sign = random & 256 ? 1.0 : -1.0;
            // The upper 53 bits: they share none with the layer and the sign.
            const double x = static_cast<double>(random >> 11) * 0x1p-53 * ziggurat.edge[layer];
            if (x < ziggurat.edge[layer + 1]) return sign * x;
            if (layer == 0) {
                for (;;) {
                    const double beyond = -log_uniform() / TAIL;
                    if (-2.0 * log_uniform() > beyond * beyond) return sign * (TAIL + beyond);
                }
            }
            const double low = ziggurat.height[layer], high = ziggurat.height[layer + 1];
            if (low + uniform() * (high - low) < std::exp(-0.5 * x * x)) return sign * x;
        }
    }

    // Of scale 1, for a shape of at least 1 (Marsaglia and Tsang, 2000). NaN for any other shape,
    // for which the rejection loop would not end.
    double gamma(double shape) {
        if (!(shape >= 1.0 && shape < std::numeric_limits<double>::infinity()))
            return std::numeric_limits<double>::quiet_NaN();
        const double d = shape - 1.0 / 3.0;
        const double c = 1.0 / std::sqrt(9.0 * d);
        for (;;) {
            const double x = normal();
            double v = 1.0 + c * x;
            if (v <= 0.0) continue;
            v = v * v * v;
            const double u = 1.0 - uniform();
            const double x2 = x * x;
            if (u < 1.0 - 0.0331 * x2 * x2 || std::log(u) < 0.5 * x2 + d * (1.0 - v + std::log(v)))
                return d * v;
        }
    }

    // The logarithm of a gamma variate of any positive shape: as G(a) = G(a + 1) U^(1/a), which
    // may underflow.
    double log_gamma(double shape) {
        if (shape >= 1.0) return std::log(gamma(shape));
        return std::log(gamma(shape + 1.0)) + log_uniform() / shape;
    }

    // Of any positive shape; may underflow to zero.
    double any_gamma(double shape) {
        return shape >= 1.0 ? gamma(shape) : std::exp(log_gamma(shape));
    }

    // At least one shape must be 1 or more: it keeps the sum of the gammas away from zero, however
    // small the others get.
    void dirichlet(Numbers shape, Out out) {
        double total = 0.0;
        for (Index k = 0; k < shape.size(); ++k) {
            out[k] = any_gamma(shape[k]);
            total += out[k];
        }
        for (Index k = 0; k < shape.size(); ++k) {
            const double share = out[k] / total;
            // Negated, so that NaN stays NaN: whoever calls checks for it.
            out[k] = share < SMALLEST ? SMALLEST : share;
        }
    }

    // Successes in n trials of probability p, in O(log n), by recursive halving: the median of n
    // uniforms is a beta variate. If it is below p, so is the lower half of the trials (all
    // successes), otherwise the upper half are failures; what remains is a binomial with half as
    // many trials.
    std::int64_t binomial(std::int64_t n, double p) {
        constexpr std::int64_t few_trials = 16;
        std::int64_t count = 0;
        while (n > few_trials) {
            if (!(p > 0.0)) return count;
            if (p >= 1.0) return count + n;
            const std::int64_t a = n / 2 + 1;
            const double left = gamma(static_cast<double>(a));
            const double middle = left / (left + gamma(static_cast<double>(n + 1 - a)));
            if (middle <= p) {
                count += a;
                n -= a;
                p = (p - middle) / (1.0 - middle);
            } else {
                n = a - 1;
                p /= middle;
            }
        }
        for (; n > 0; --n) count += uniform() < p;
        return count;
    }

private:
    std::uint64_t s_[4];
    std::uint64_t* owner_;
};

}  // namespace truemix
