// An order of points in which neighbours lie close together.
#pragma once

#include "arrays.hpp"

namespace truemix {

// Row numbers in an order by repeated halving along the widest coordinate, down to parts of at most
// `leaf` points; all parts but the last are multiples of `leaf`. Ties go by row number, so that the
// order does not depend on the library's selection algorithm.
Integers compact_order(Matrix points, Index leaf);

}  // namespace truemix
