// An exponential and a logarithm for eight numbers at a time.
//
// The C library's are called once per number. Written out as multiply-adds and bit shifts, the same
// values (within a few units in the last place) come about five times faster. Only for the
// arguments that are needed: see each.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace truemix {

constexpr double LOG2_E = 1.4426950408889634;
// ln 2 in two parts (Cody-Waite): multiples of the first are exact up to |k| = 2**10.
constexpr double LN2_HIGH = 6.93147180369123816490e-01;
constexpr double LN2_LOW = 1.90821492927058770002e-10;
// Adding 1.5 * 2**52 rounds to a whole number and leaves it in the low bits of the mantissa.
constexpr double ROUND = 6755399441055744.0;

// exp(x) for x <= 0. Below -708, where it is subnormal, the result stays at exp(-708), 3e-308.
inline Lanes exp_negative(const Lanes& exponent) {
    const Lanes x = larger(exponent, every(-708.0));
    const Lanes shifted = x * LOG2_E + ROUND;
    const Lanes k = shifted - ROUND;
    const Lanes r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // Taylor to degree 12 on |r| <= ln(2)/2: the next term is below 2e-16 of the sum. Grouped in
    // pairs (Estrin) so that the multiply-adds do not wait for each other.
    const Lanes r2 = r * r;
    const Lanes r4 = r2 * r2;
    const Lanes a = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    const Lanes b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    const Lanes c =
        (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
    const Lanes p = a + r4 * (b + r4 * (c + r4 * (1.0 / 479001600.0)));
    constexpr std::int64_t bias = std::int64_t{1023} << 52;
    return p * from_bits((bits_of(shifted) << std::int64_t{52}) + bias);
}

// The same to 1e-8 of the value, which is enough for single precision.
inline Lanes rough_exp_negative(const Lanes& exponent) {
    const Lanes x = larger(exponent, every(-708.0));
    const Lanes shifted = x * LOG2_E + ROUND;
    const Lanes r = x - (shifted - ROUND) * (LN2_HIGH + LN2_LOW);
    // Taylor to degree 7: the next term is below 6e-9 of the sum.
    const Lanes r2 = r * r;
    const Lanes a = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    const Lanes b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    constexpr std::int64_t bias = std::int64_t{1023} << 52;
    return (a + (r2 * r2) * b) * from_bits((bits_of(shifted) << std::int64_t{52}) + bias);
}

inline double exp_negative(double x) {
    double at[LANES];
    store(at, exp_negative(every(x)));
    return at[0];
}

constexpr double SMALLEST_NORMAL = 2.3e-308;

// log(x) for normal numbers, at least SMALLEST_NORMAL and finite.
inline Lanes log_positive(const Lanes& x) {
    constexpr std::int64_t one = 0x3FF0000000000000, root_half = 0x3FE6A09E667F3BCD;
    constexpr std::int64_t mantissa = 0x000FFFFFFFFFFFFF, two_52 = 0x4330000000000000;
    // x = 2**k z with z between the square roots of 1/2 and 2.
    const LanesInt shifted = bits_of(x) + (one - root_half);
    const LanesInt exponent = (shifted >> std::int64_t{52}) & std::int64_t{0xFFF};
    const Lanes z = from_bits((shifted & mantissa) + root_half);
    // A whole number below 2**52 in the mantissa is that number, once 2**52 is subtracted.
    const Lanes k = from_bits(exponent | two_52) - (4503599627370496.0 + 1023.0);
    // log z = 2 artanh s, with |s| <= 0.172: the first term left out is below 2e-17 of the sum.
    const Lanes f = z - 1.0;
    const Lanes s = f / (2.0 + f);
    const Lanes s2 = s * s;
    const Lanes s4 = s2 * s2;
    const Lanes s8 = s4 * s4;
    const Lanes a = (1.0 / 3.0 + s2 * (1.0 / 5.0)) + s4 * (1.0 / 7.0 + s2 * (1.0 / 9.0));
    const Lanes b = (1.0 / 11.0 + s2 * (1.0 / 13.0)) + s4 * (1.0 / 15.0 + s2 * (1.0 / 17.0));
    const Lanes series = a + s8 * (b + s8 * (1.0 / 19.0 + s2 * (1.0 / 21.0)));
    // f - s f = 2 s: subtracting keeps what rounding took from s.
    return k * LN2_HIGH + ((f - s * (f - 2.0 * s2 * series)) + k * LN2_LOW);
}

// log(1 + x) where 1 + x is a normal number: the logarithm of the rounded sum, and what rounding
// took.
inline Lanes log_one_plus(const Lanes& x) {
    const Lanes y = 1.0 + x;
    return log_positive(y) + (x - (y - 1.0)) / y;
}

}  // namespace truemix
