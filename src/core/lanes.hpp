// Eight numbers at a time: arithmetic that becomes vector instructions of any width.
//
// Sums are taken lane by lane and the lanes are added in a fixed order, so that a result depends
// neither on the width of the instructions nor on where arrays lie in memory. Compilers that may
// regroup sums themselves (-ffast-math) promise neither.
#pragma once

#include <cstdint>
#include <cstring>

#include "arrays.hpp"

namespace truemix {

constexpr Index LANES = 8;

// What the processor computes with: as many numbers as fit into a register, or a single one for
// compilers without vector types.
#if (defined(__GNUC__) || defined(__clang__)) && !defined(TRUEMIX_PLAIN_LANES)
#if defined(__AVX512F__)
constexpr Index WIDTH = 8;
#elif defined(__AVX__)
constexpr Index WIDTH = 4;
#else
constexpr Index WIDTH = 2;
#endif
typedef double Register __attribute__((vector_size(8 * WIDTH)));
typedef std::int64_t IntRegister __attribute__((vector_size(8 * WIDTH)));
// Numbers in memory, at any address. Read by this type, not by memcpy, which some compilers do in
// smaller pieces than a register.
typedef double InMemory __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
inline IntRegister bits_of(Register x) { return reinterpret_cast<IntRegister>(x); }
inline Register from_bits(IntRegister i) { return reinterpret_cast<Register>(i); }
#else
constexpr Index WIDTH = 1;
using Register = double;
using IntRegister = std::int64_t;
using InMemory = double;
inline IntRegister bits_of(Register x) {
    IntRegister out;
    std::memcpy(&out, &x, sizeof out);
    return out;
}
inline Register from_bits(IntRegister i) {
    Register out;
    std::memcpy(&out, &i, sizeof out);
    return out;
}
#endif

template <class R>
struct Eight {
    R part[LANES / WIDTH];
};
using Lanes = Eight<Register>;
using LanesInt = Eight<IntRegister>;

template <class R, class F>
inline Eight<R> by_register(F f) {
    Eight<R> out;
    for (Index i = 0; i < LANES / WIDTH; ++i) out.part[i] = f(i);
    return out;
}

#define TRUEMIX_OPERATOR(R, T, sign)                                              \
    inline Eight<R> operator sign(const Eight<R>& x, const Eight<R>& y) {         \
        return by_register<R>([&](Index i) { return x.part[i] sign y.part[i]; }); \
    }                                                                             \
    inline Eight<R> operator sign(const Eight<R>& x, T y) {                       \
        return by_register<R>([&](Index i) { return x.part[i] sign y; });         \
    }                                                                             \
    inline Eight<R> operator sign(T x, const Eight<R>& y) {                       \
        return by_register<R>([&](Index i) { return x sign y.part[i]; });         \
    }
TRUEMIX_OPERATOR(Register, double, +)
TRUEMIX_OPERATOR(Register, double, -)
TRUEMIX_OPERATOR(Register, double, *)
TRUEMIX_OPERATOR(Register, double, /)
TRUEMIX_OPERATOR(IntRegister, std::int64_t, +)
TRUEMIX_OPERATOR(IntRegister, std::int64_t, &)
TRUEMIX_OPERATOR(IntRegister, std::int64_t, |)
TRUEMIX_OPERATOR(IntRegister, std::int64_t, <<)
TRUEMIX_OPERATOR(IntRegister, std::int64_t, >>)
#undef TRUEMIX_OPERATOR

inline Lanes& operator+=(Lanes& x, const Lanes& y) { return x = x + y; }

inline Lanes every(double x) {
    return by_register<Register>([&](Index) { return Register{} + x; });
}
inline Lanes larger(const Lanes& x, const Lanes& y) {
    return by_register<Register>(
        [&](Index i) { return x.part[i] > y.part[i] ? x.part[i] : y.part[i]; });
}
inline Lanes smaller(const Lanes& x, const Lanes& y) {
    return by_register<Register>(
        [&](Index i) { return x.part[i] < y.part[i] ? x.part[i] : y.part[i]; });
}
// The weights where x <= y, elsewhere 0.
inline Lanes where_at_most(const Lanes& x, const Lanes& y, const Lanes& weights) {
    return by_register<Register>(
        [&](Index i) { return x.part[i] <= y.part[i] ? weights.part[i] : Register{}; });
}
inline LanesInt bits_of(const Lanes& x) {
    return by_register<IntRegister>([&](Index i) { return bits_of(x.part[i]); });
}
inline Lanes from_bits(const LanesInt& bits) {
    return by_register<Register>([&](Index i) { return from_bits(bits.part[i]); });
}
inline Lanes load(const double* x) {
    return by_register<Register>(
        [&](Index i) -> Register { return *reinterpret_cast<const InMemory*>(x + i * WIDTH); });
}
inline void store(double* x, const Lanes& values) {
    for (Index i = 0; i < LANES / WIDTH; ++i)
        *reinterpret_cast<InMemory*>(x + i * WIDTH) = values.part[i];
}

// The lanes are added in the same order for every width: first those four apart, then two, then
// one.
inline double total(const Lanes& x) {
    double at[LANES];
    store(at, x);
    return ((at[0] + at[4]) + (at[2] + at[6])) + ((at[1] + at[5]) + (at[3] + at[7]));
}
inline double smallest(const Lanes& x) {
    double at[LANES];
    store(at, x);
    double least = at[0];
    for (double each : at) least = each < least ? each : least;
    return least;
}

// --- sums over rows of any length ----------------------------------------------------------------

inline double dot(const double* x, const double* y, Index n) {
    const Index whole = n - n % LANES;
    double rest = 0.0;
    for (Index k = whole; k < n; ++k) rest += x[k] * y[k];
    if (whole == 0) return rest;
    Lanes sums = every(0.0);
    for (Index k = 0; k < whole; k += LANES) sums += load(x + k) * load(y + k);
    return total(sums) + rest;
}
inline double dot(Numbers x, Numbers y) { return dot(x.data(), y.data(), x.size()); }

inline double sum(Numbers x) {
    const Index whole = x.size() - x.size() % LANES;
    double rest = 0.0;
    for (Index k = whole; k < x.size(); ++k) rest += x[k];
    Lanes sums = every(0.0);
    for (Index k = 0; k < whole; k += LANES) sums += load(x.data() + k);
    return total(sums) + rest;
}

// y += factor * x
inline void add_scaled(double* __restrict y, double factor, const double* __restrict x, Index n) {
    for (Index k = 0; k < n; ++k) y[k] += factor * x[k];
}

}  // namespace truemix
