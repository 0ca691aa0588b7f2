// Gibbs sweeps over the joint posterior of a mix and a confusion matrix.
//
// Data augmentation: split the count of each predicted class over the true classes given (pi, M),
// then draw pi and each row of M given the split; both are conjugate. A temperature makes the
// counts fractional, and fractions cannot be split. The sweep then splits rounded counts and
// becomes a Metropolis-Hastings proposal, accepted by the ratio of the factors that rounding leaves
// out (the augmented step is reversible, so no other factor is needed).
//
// This alone mixes slowly where the classifier is weak, so moves of pairs of classes follow each
// step.
#pragma once

#include "arrays.hpp"
#include "gibbs.hpp"
#include "pair_moves.hpp"
#include "random.hpp"

namespace truemix {

// Draws how many items of each predicted class are of each true class, into out (K, C).
void split_counts(Numbers pi, Matrix M, Span<const std::int64_t> counts, Random& random,
                  Table<std::int64_t> out);

// Fills draws of the mix and of the realised mix, each (kept, K), and returns the number of
// accepted steps. counts (C) is how many items were predicted as each class; pi and M are the state
// of the chain, updated.
std::int64_t joint_sweeps(const JointPosterior& posterior, Span<const std::int64_t> counts, Out pi,
                          OutMatrix M, Random& random, Steps steps, OutMatrix draws,
                          OutMatrix batch);

// Writes one allocation of the predicted items to true classes per draw, as class shares. A draw is
// a mix, then a matrix by rows.
void realised(Matrix draws, Span<const std::int64_t> counts, Random& random, OutMatrix batch);

}  // namespace truemix
