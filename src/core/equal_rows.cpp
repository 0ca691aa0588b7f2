#include "equal_rows.hpp"

#include <cstring>

namespace truemix {

namespace {

std::uint64_t hash(Numbers row, std::uint64_t key) {
    for (double value : row) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        key = (key ^ bits) * 0x9E3779B97F4A7C15;
        key ^= key >> 29;
    }
    return key;
}

// The finaliser of SplitMix64: each bit of the input changes half of the others.
std::uint64_t mixed(std::uint64_t key) {
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB;
    return key ^ (key >> 31);
}

}  // namespace

Integers row_hashes(Matrix rows) {
    Integers out(extent(rows.rows()));
    for (Index i = 0; i < rows.rows(); ++i) {
        std::uint64_t key = 0;
        for (double value : rows[i]) {
            std::uint64_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            key = mixed(key + 0x9E3779B97F4A7C15 + bits);
        }
        std::memcpy(&out[extent(i)], &key, sizeof key);
    }
    return out;
}

Integers first_equal(Matrix rows, Span<const std::int64_t> codes) {
    const std::size_t row_bytes = extent(rows.columns()) * sizeof(double);
    // Open addressing in a table at most half full; -1 is a free place.
    std::size_t places = 16;
    while (places < 2 * extent(rows.rows())) places *= 2;
    Integers table(places, -1), first(extent(rows.rows()));
    const auto code = [&](Index i) { return codes.size() > 0 ? codes[i] : 0; };
    for (Index i = 0; i < rows.rows(); ++i) {
        std::size_t place = hash(rows[i], static_cast<std::uint64_t>(code(i))) & (places - 1);
        for (;; place = (place + 1) & (places - 1)) {
            const Index other = table[place];
            if (other < 0) {
                first[extent(i)] = table[place] = i;
                break;
            }
            const bool same = code(other) == code(i) &&
                              std::memcmp(rows[other].data(), rows[i].data(), row_bytes) == 0;
            if (same) {
                first[extent(i)] = other;
                break;
            }
        }
    }
    return first;
}

}  // namespace truemix
