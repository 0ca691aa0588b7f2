// Moves of mass between two classes of a mix, with the items' classes marginalised out.
//
// Gibbs sweeps that allocate items to classes change a mix only a little where classes overlap.
// Each move here redraws the ratio of two shares, with their sum held fixed.
//
// - An *exchange* keeps the confusion matrix. It explores the direction in which the predicted
// items
//   inform the mix.
// - A *transfer* moves mass from one class to another together with its row of the matrix, so that
//   the probabilities of the predictions do not change. It explores the direction that only
//   labelled items and prior inform.
//
// Both are slice sampling in the log of the ratio (ratio_slice.hpp), exact for any prior and
// temperature.
#pragma once

#include "arrays.hpp"
#include "random.hpp"

namespace truemix {

// Parameters of the joint posterior of a mix and a confusion matrix.
struct JointPosterior {
    // Dirichlet parameters of the mix, and of the rows of the matrix from the labelled items alone.
    Numbers prior;
    Matrix row_shapes;
    // Exponents of the predicted classes' probabilities.
    Numbers powers;
};

class PairMoves {
public:
    PairMoves(const JointPosterior& posterior, Out pi, OutMatrix M);

    // A round of random pair moves.
    void round(Random& random);

    // Takes the probabilities of the predictions from pi and M, which something else has changed.
    void refresh();
    void exchange(Index i, Index j, Random& random);
    void transfer(Index i, Index j, Random& random);

private:
    JointPosterior posterior_;
    Out pi_;
    OutMatrix M_;
    // Padded to full lanes; the padding has exponent 0. The current probabilities of the
    // predictions and their exponents; the same for one row of the matrix; their rate of change
    // along the move.
    Vector predicted_, powers_, joint_, labelled_, slope_;
};

}  // namespace truemix
