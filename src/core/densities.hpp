// Log densities with gradients, in the coordinates of the No-U-Turn sampler.
#pragma once

#include "arrays.hpp"
#include "blocks.hpp"

namespace truemix {

// The posterior of a mix. Coordinates z: log-ratios to the last class, minus those of the mode, are
// R^-T z, where R R' is the precision at the mode. ILR coordinates are a linear map of these, so
// the density is the same; but in z the posterior is close to a standard normal before any
// adaptation.
struct MixDensity {
    Blocks items;
    Vector prior, centre;  // centre: the logarithms of the mode
    Grid<> R_inverse;

    Index dimension() const { return static_cast<Index>(prior.size()) - 1; }
    Index n_expanded() const { return static_cast<Index>(prior.size()); }
    // Returns the log density at z and writes its gradient.
    double operator()(Numbers z, Out gradient) const;
    // Writes the mix at z; returns the log of its normalising constant.
    double expand(Numbers z, Out pi) const;
};

// The joint posterior of a mix and a confusion matrix. Coordinates: log-ratios to the last class,
// of the mix and of each row of the matrix, centred and scaled by their approximate mean and
// standard deviation given labelled items and prior alone.
struct JointDensity {
    Vector prior;
    Grid<> row_shapes;
    Vector powers, centre, scale;

    Index dimension() const {
        return (row_shapes.rows - 1) + row_shapes.rows * (row_shapes.columns - 1);
    }
    Index n_expanded() const { return row_shapes.rows * (1 + row_shapes.columns); }
    double operator()(Numbers z, Out gradient) const;
    // Writes the mix and then each row of the matrix at z.
    void expand(Numbers z, Out out) const;
};

}  // namespace truemix
