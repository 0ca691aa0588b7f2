#include "compact_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "interrupt.hpp"

namespace truemix {

namespace {

using Keyed = std::pair<double, std::int64_t>;

class Halving {
public:
    Halving(Matrix points, Index leaf)
        : points_(points), leaf_(leaf), keyed_(extent(points.rows())) {}

    void order(Span<std::int64_t> rows) {
        if (rows.size() <= leaf_) return;
        poll();
        const Index widest = widest_coordinate(rows);
        const Index n_leaves = (rows.size() + leaf_ - 1) / leaf_;
        const Index half = (n_leaves + 1) / 2 * leaf_;
        // The coordinate beside the row number: a selection that looks each one up is slower.
        for (Index i = 0; i < rows.size(); ++i) {
            keyed_[extent(i)] = {points_[rows[i]][widest], rows[i]};
        }
        std::nth_element(keyed_.begin(), keyed_.begin() + half, keyed_.begin() + rows.size());
        for (Index i = 0; i < rows.size(); ++i) rows[i] = keyed_[extent(i)].second;
        order(rows.part(0, half));
        order(rows.part(half, rows.size() - half));
    }

private:
    Index widest_coordinate(Span<std::int64_t> rows) {
        const Index n = points_.columns();
        low_.assign(extent(n), std::numeric_limits<double>::infinity());
        high_.assign(extent(n), -std::numeric_limits<double>::infinity());
        double *low = low_.data(), *high = high_.data();
        for (std::int64_t row : rows) {
            const double* point = points_[row].data();
            for (Index d = 0; d < n; ++d) {
                low[d] = std::min(low[d], point[d]);
                high[d] = std::max(high[d], point[d]);
            }
        }
        Index widest = 0;
        for (Index d = 1; d < n; ++d)
            if (high[d] - low[d] > high[widest] - low[widest]) widest = d;
        return widest;
    }

    Matrix points_;
    Index leaf_;
    std::vector<Keyed> keyed_;
    Vector low_, high_;
};

}  // namespace

Integers compact_order(Matrix points, Index leaf) {
    Integers rows(extent(points.rows()));
    for (Index i = 0; i < points.rows(); ++i) rows[extent(i)] = i;
    Halving(points, leaf).order(rows);
    return rows;
}

}  // namespace truemix
