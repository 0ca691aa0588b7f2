// Allocate items to classes given the mix: class k with probability proportional to pi_k L_ik.
//
// This is the augmentation step of Gibbs sampling. At a reference mix x (the mode) each item has a
// *lead* class, its most probable one, and *odds* against it.
//
// - Doubtful items (large odds) are allocated in blocks, without branches: the class is the number
//   of partial sums of pi_k L_ik that a uniform multiple of their total exceeds.
// - Sure items (small odds; most items where classes separate well) are mostly skipped. At the mix
//   pi their odds are at most odds * ratio * x_lead / pi_lead with ratio = max_k pi_k / x_k. In
//   order of falling odds, the distance to the next item that may leave its lead class is
//   geometric; a rejection step (thinning) then makes the draw exact.
// - Rows of large weight are split over the classes by binomial draws.
// - Where rows stand for a great many items in all, only the heaviest are. A row of weight c among
//   the others counts c - sqrt(c) in expectation and sqrt(c) for a class that is drawn once: the
//   same mean and covariance as c draws, and with hundreds of such rows the same distribution.
#pragma once

#include "arrays.hpp"
#include "blocks.hpp"
#include "random.hpp"

namespace truemix {

struct Layout {
    // The mix at which leads and odds are taken, all positive.
    Vector reference;
    // Doubtful items.
    Blocks doubtful;
    // What the items in their places count in expectation, beside their weights; empty if nothing.
    Vector expected;
    // Sure items of lead class k are rows start[k] to start[k + 1], by falling odds; mass are their
    // weights, and lead is the weight of each class if all sure items keep their lead class.
    Grid<> rows;
    Vector mass;
    Vector odds;
    Integers start;
    Vector lead;
    // Rows that stand for that many copies of an item each.
    Grid<> heavy;
    Vector copies;

    // A layout without items.
    explicit Layout(Numbers x);

    // A weight of 3 stands for three items with the same likelihood, each allocated separately; a
    // weight of 2.5 for two items of weight 1 and one of weight 0.5.
    Layout(Matrix L, Numbers w, Numbers x);

    Index n_classes() const { return static_cast<Index>(reference.size()); }
};

// Which rows are split by binomial draws, and whether all others of weight above 1 are grouped:
// they count mostly in expectation.
struct WeightRule {
    double heavy_from;
    bool grouped;

    WeightRule(Numbers w, Index K);
    bool is_heavy(double weight) const { return weight >= heavy_from; }
    bool is_grouped(double weight) const { return grouped && weight > 1.0 && !is_heavy(weight); }
};

// Draws one allocation given pi and writes the weight of each class into counts.
void allocate(const Layout& layout, Numbers pi, Random& random, Out counts);

// Draws one allocation for each row of draws; writes the share of each class.
void allocate_draws(const Layout& layout, Matrix draws, Random& random, OutMatrix batch);

}  // namespace truemix
