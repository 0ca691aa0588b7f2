// The quadratic subproblem of the mixture solver: an active-set method over non-negative shares.
#pragma once

#include "arrays.hpp"

namespace truemix {

class QuadraticStep {
public:
    explicit QuadraticStep(Index K);

    // Minimises y'Hy/2 - (2g - 1)'y over y >= 0 from y = x, for the classes idx; the others become
    // zero. H holds idx's rows and columns in its corner, and is overwritten. Every pass lowers the
    // quadratic model, so the result is a descent direction even if the passes run out.
    void solve(OutMatrix H, Numbers g, Span<const std::int64_t> idx, Numbers x, Out y);

private:
    void solve_entering(Matrix H, Index worst);
    void solve_passive(Matrix H);
    bool move(Matrix H);
    double model(Matrix H, Numbers to) const;

    Index m_ = 0;
    // Scale of each class; where z starts, the current point z, and the candidates for the next.
    Vector scale_, start_, z_, solution_, trial_, b_, residual_, change_, rhs_;
    Integers passive_, index_;
    Grid<> factor_;
};

}  // namespace truemix
