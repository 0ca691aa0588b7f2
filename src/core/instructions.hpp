// Which instruction sets the processor has.
#pragma once

#include <string>
#include <vector>

#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace truemix {

// Those the core is built for, best first.
inline std::vector<std::string> supported_instructions() {
    std::vector<std::string> out;
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#elif defined(_MSC_VER) && defined(_M_X64)
    int first[4], extended[4];
    __cpuid(first, 1);
    __cpuidex(extended, 7, 0);
    const bool saved = (first[2] >> 27) & 1;  // the system saves the wide registers
    const auto state = saved ? _xgetbv(0) : 0;
    const bool avx2 = (state & 0x6) == 0x6 && ((first[2] >> 12) & 1) && ((extended[1] >> 5) & 1);
    constexpr int f_dq_bw_vl = (1 << 16) | (1 << 17) | (1 << 30) | static_cast<int>(1u << 31);
    const bool avx512 = (state & 0xE6) == 0xE6 && (extended[1] & f_dq_bw_vl) == f_dq_bw_vl;
#else
    constexpr bool avx2 = false, avx512 = false;
#endif
    if (avx2 && avx512) out.emplace_back("avx512");
    if (avx2) out.emplace_back("avx2");
    out.emplace_back("baseline");
    return out;
}

}  // namespace truemix
