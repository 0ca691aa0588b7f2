// Sums of kernels under many weightings of the references at once.
#pragma once

#include "tiles.hpp"

namespace truemix {

// Columns of a table of weights come in multiples of this.
constexpr Index COLUMNS = 16;

// What is known of the references besides their places, in the order of the tiles.
template <class T>
struct Weightings {
    Table<const T> table;  // (items, columns): their weights; zero where an item is only repeated
    Numbers least;         // (items): the smallest weight of each
    Numbers counts;        // (items): how many references each one stands for
    Numbers totals;        // (classes): the largest sum of a class's weights
};

// Of each target and class: the squared distance of the nearest reference; relative to its kernel
// the sums under all weightings; and the sums of the kernels and of their squares without weights.
struct WeightedSums {
    OutMatrix nearest;  // (targets, classes), infinity before the first reference
    double* sums;       // (targets, classes, columns)
    double* equal;      // (targets, classes, 2)
};

// Adds the tiles' kernels, in place. Kernels and products are of precision T; a term is left out if
// it is below VANISHING<T>, or if all such terms together are below LEFT_OUT<T> of every sum. What
// is added for a target does not depend on the others. Their number is a multiple of STRIP.
template <class T>
void add_weighted_sums(Tiles tiles, Span<const std::int64_t> tile_class, Weightings<T> weightings,
                       Matrix targets, double scale, WeightedSums out);

template <class T>
constexpr double LEFT_OUT = 1e-14;
template <>
constexpr double LEFT_OUT<float> = 1e-6;
template <class T>
constexpr double VANISHING = 1e-290;
template <>
constexpr double VANISHING<float> = 1e-30;

// Log-likelihoods of classes that are mixtures, relative to the largest of each row.
//
// Class k in weighting b has the likelihood of the sum over j of parts[k][j][b] * factors[j][b] *
// sums[i][j][b] * exp(offsets[i][j]). Target i is the row rows[bounds[i]] to rows[bounds[i + 1] -
// 1] of each of the matrices in out, (weightings, rows, classes).
struct Mixtures {
    const double* parts;  // (classes, classes, columns)
    Matrix factors;       // (classes, columns)
    Matrix offsets;       // (targets, classes)
    const double* sums;   // (targets, classes, columns)
    Span<const std::int64_t> rows, bounds;
};
void mix_classes(Mixtures mixtures, float* out, Index n_weightings, Index n_rows);

}  // namespace truemix
