// Equal rows: probabilities with few decimals repeat, and so do items of bags drawn with
// replacement.
#pragma once

#include "arrays.hpp"

namespace truemix {

// For each row, the number of the first row with the same bits (and the same code, if there are
// codes).
Integers first_equal(Matrix rows, Span<const std::int64_t> codes);

// A hash of each row's bits that is the same on every machine, and as good as random: rows can be
// sampled by it.
Integers row_hashes(Matrix rows);

}  // namespace truemix
