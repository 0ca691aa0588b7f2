// What Python sees of the core: arrays in and out, shapes checked, the interpreter lock released.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>

#include "allocation.hpp"
#include "compact_order.hpp"
#include "confusion.hpp"
#include "densities.hpp"
#include "diagnostics.hpp"
#include "equal_rows.hpp"
#include "gibbs.hpp"
#include "instructions.hpp"
#include "interrupt.hpp"
#include "kernel_sums.hpp"
#include "mixture_solver.hpp"
#include "pair_moves.hpp"
#include "posterior.hpp"
#include "proposal.hpp"
#include "replicates.hpp"
#include "symmetric.hpp"
#include "vector_math.hpp"
#include "weighted_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace truemix;

namespace {

template <class T, int N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using In1 = Array<const double, 1>;
using In2 = Array<const double, 2>;
using In3 = Array<const double, 3>;
using InOut1 = Array<double, 1>;
using InOut2 = Array<double, 2>;
using InOut3 = Array<double, 3>;
using Whole1 = Array<const std::int64_t, 1>;
using State = Array<std::uint64_t, 1>;

Index size(std::size_t n) { return static_cast<Index>(n); }

template <class T>
Span<T> span(const Array<T, 1>& x) {
    return {x.data(), size(x.shape(0))};
}
template <class T>
Table<T> table(const Array<T, 2>& x) {
    return {x.data(), size(x.shape(0)), size(x.shape(1))};
}

// Callers check what users pass; this only keeps a mistake of ours from reading foreign memory.
void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

std::uint64_t* state_of(const State& state) {
    require(state.shape(0) == 4, "a state has 4 numbers");
    return state.data();
}

template <class T>
nb::capsule owner_of(std::vector<T>* values) {
    return nb::capsule(values, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
}
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> made(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    return {kept->data(), {kept->size()}, owner_of(kept)};
}
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> made(Grid<T> grid) {
    auto* kept = new std::vector<T>(std::move(grid.values));
    return {kept->data(), {extent(grid.rows), extent(grid.columns)}, owner_of(kept)};
}

template <class F>
auto without_lock(F work) {
    nb::gil_scoped_release released;
    return work();
}

Tiles tiles_of(const In3& tiles, const In3& boxes, const In2& targets) {
    require(tiles.shape(2) == extent(TILE), "tiles must hold TILE items");
    require(tiles.shape(1) == targets.shape(1), "tiles and targets need the same coordinates");
    require(targets.shape(0) % extent(STRIP) == 0, "targets must come in full strips");
    require(
        boxes.shape(0) == tiles.shape(0) && boxes.shape(1) == 2 && boxes.shape(2) == tiles.shape(1),
        "each tile needs a box");
    return {tiles.data(), boxes.data(), size(tiles.shape(0)), size(tiles.shape(1))};
}

Steps steps_of(std::int64_t skipped, std::int64_t kept, std::int64_t thinning) {
    require(skipped >= 0 && kept >= 0 && thinning >= 1, "a chain has a positive length");
    return {skipped, thinning};
}

Layout make_layout(In2 L, In1 w, In1 x) {
    require(L.shape(0) == w.shape(0) && L.shape(1) == x.shape(0), "L, w and x must fit");
    return without_lock([&] { return Layout(table(L), span(w), span(x)); });
}

template <class T>
void bind_weighted_sums(nb::module_& m) {
    m.def(
        "add_weighted_sums",
        [](In3 tiles, In3 boxes, Whole1 tile_class, Array<const T, 2> weights, In1 least,
           In1 counts, In1 totals, In2 targets, double scale, InOut2 nearest, InOut3 sums,
           InOut3 equal) {
            const Tiles t = tiles_of(tiles, boxes, targets);
            const std::size_t items = tiles.shape(0) * tiles.shape(2);
            const std::size_t n = targets.shape(0), K = totals.shape(0);
            require(weights.shape(0) == items && weights.shape(1) % extent(COLUMNS) == 0 &&
                        least.shape(0) == items && counts.shape(0) == items,
                    "each item needs weights, in full registers");
            require(nearest.shape(0) == n && nearest.shape(1) == K && sums.shape(0) == n &&
                        sums.shape(1) == K && sums.shape(2) == weights.shape(1) &&
                        equal.shape(0) == n && equal.shape(1) == K && equal.shape(2) == 2,
                    "sums must be (targets, classes, columns)");
            require(tile_class.shape(0) == tiles.shape(0), "each tile needs a class");
            for (std::int64_t k : span(tile_class)) require(k >= 0 && k < size(K), "no such class");
            without_lock([&] {
                add_weighted_sums<T>(
                    t, span(tile_class), {table(weights), span(least), span(counts), span(totals)},
                    table(targets), scale, {table(nearest), sums.data(), equal.data()});
            });
        },
        "tiles"_a, "boxes"_a, "tile_class"_a, "weights"_a.noconvert(), "least"_a, "counts"_a,
        "totals"_a, "targets"_a, "scale"_a, "nearest"_a.noconvert(), "sums"_a.noconvert(),
        "equal"_a.noconvert(), "Add the tiles' kernels under many weightings, in place.");
}

void bind_mix_classes(nb::module_& m) {
    m.def(
        "mix_classes",
        [](In3 parts, In2 factors, In2 offsets, In3 sums, Whole1 rows, Whole1 bounds,
           Array<float, 3> out) {
            const std::size_t n = offsets.shape(0), K = factors.shape(0),
                              columns = factors.shape(1);
            require(parts.shape(0) == K && parts.shape(1) == K && parts.shape(2) == columns &&
                        offsets.shape(1) == K && sums.shape(0) == n && sums.shape(1) == K &&
                        sums.shape(2) == columns && columns % extent(LANES) == 0 &&
                        out.shape(0) <= columns && out.shape(2) == K && bounds.shape(0) == n + 1,
                    "parts, factors, offsets, sums and out must fit");
            const Span<const std::int64_t> to = span(rows), ends = span(bounds);
            for (std::int64_t row : to)
                require(row >= 0 && row < size(out.shape(1)), "no such row");
            for (std::size_t i = 0; i <= n; ++i)
                require(
                    ends[size(i)] >= (i == 0 ? 0 : ends[size(i) - 1]) && ends[size(i)] <= to.size(),
                    "bounds must ascend within the rows");
            without_lock([&] {
                mix_classes({parts.data(), table(factors), table(offsets), sums.data(), to, ends},
                            out.data(), size(out.shape(0)), size(out.shape(1)));
            });
        },
        "parts"_a, "factors"_a, "offsets"_a, "sums"_a, "rows"_a, "bounds"_a, "out"_a.noconvert(),
        "Fill rows of ``out`` with relative log-likelihoods of classes that are mixtures.");
}

void bind_kernel_sums(nb::module_& m) {
    m.attr("COLUMNS") = COLUMNS;
    // Sums below this, relative to the total weight, may lack terms that matter.
    m.attr("VANISHED_SINGLE") = VANISHING<float> / LEFT_OUT<float>;
    m.attr("VANISHED_DOUBLE") = VANISHING<double> / LEFT_OUT<double>;
    bind_weighted_sums<float>(m);
    bind_weighted_sums<double>(m);
    bind_mix_classes(m);
    m.def(
        "compact_order",
        [](In2 points, std::int64_t leaf) {
            require(leaf > 0, "a part has at least one point");
            return made(without_lock([&] { return compact_order(table(points), leaf); }));
        },
        "points"_a, "leaf"_a, "Return row numbers in an order in which neighbours are close.");
    m.attr("TILE") = TILE;
    m.attr("STRIP") = STRIP;
    m.def(
        "add_kernel_sums",
        [](In3 tiles, In3 boxes, In2 tile_weights, Whole1 tile_class, In2 targets, In1 scales,
           InOut2 nearest, nb::ndarray<double, nb::ndim<3>, nb::device::cpu> sums) {
            const Tiles t = tiles_of(tiles, boxes, targets);
            const Index K = size(nearest.shape(1));
            require(
                sums.shape(0) == scales.shape(0) && sums.shape(1) == targets.shape(0) &&
                    sums.shape(2) == nearest.shape(1) && sums.stride(2) == 1 &&
                    sums.stride(1) == K && nearest.shape(0) == targets.shape(0),
                "sums must be (bandwidths, targets, classes), contiguous but for the first axis");
            require(tile_class.shape(0) == tiles.shape(0) &&
                        tile_weights.shape(0) == tiles.shape(0) &&
                        tile_weights.shape(1) == extent(TILE),
                    "each tile needs weights and a class");
            for (std::int64_t k : span(tile_class)) require(k >= 0 && k < K, "no such class");
            without_lock([&] {
                add_kernel_sums(t, table(tile_weights), span(tile_class), table(targets),
                                span(scales), table(nearest),
                                {sums.data(), static_cast<Index>(sums.stride(0)), K});
            });
        },
        "tiles"_a, "boxes"_a, "tile_weights"_a, "tile_class"_a, "targets"_a, "scales"_a,
        "nearest"_a.noconvert(), "sums"_a.noconvert(),
        "Add the tiles' kernels to each target's class sums, in place.");
    m.def(
        "squared_distances",
        [](In3 tiles, In3 boxes, In2 targets, InOut2 out, InOut1 nearest) {
            const Tiles t = tiles_of(tiles, boxes, targets);
            require(out.shape(0) == targets.shape(0) && nearest.shape(0) == targets.shape(0) &&
                        size(out.shape(1)) == t.n_tiles * TILE,
                    "out must be (targets, items)");
            without_lock([&] { squared_distances(t, table(targets), table(out), span(nearest)); });
        },
        "tiles"_a, "boxes"_a, "targets"_a, "out"_a.noconvert(), "nearest"_a.noconvert(),
        "Fill ``out`` with squared distances, and lower ``nearest`` where needed.");
    m.def(
        "kernel_values",
        [](In2 distances, In1 nearest, double scale, InOut2 out) {
            require(out.shape(0) == distances.shape(0) && out.shape(1) == distances.shape(1) &&
                        nearest.shape(0) == distances.shape(0) &&
                        distances.shape(1) % extent(LANES) == 0,
                    "out must have the shape of distances, in full tiles");
            without_lock(
                [&] { kernel_values(table(distances), span(nearest), scale, table(out)); });
        },
        "distances"_a, "nearest"_a, "scale"_a, "out"_a.noconvert(),
        "Fill ``out`` with ``exp(-scale * (distances - nearest))``.");
    const auto over = [](Lanes (*function)(const Lanes&)) {
        return [function](In1 x) {
            Vector out(x.shape(0) + extent(LANES), 1.0);
            std::copy(x.data(), x.data() + x.shape(0), out.begin());
            for (std::size_t i = 0; i < x.shape(0); i += extent(LANES))
                store(&out[i], function(load(&out[i])));
            out.resize(x.shape(0));
            return made(std::move(out));
        };
    };
    m.def("exp_negative", over(exp_negative), "x"_a, "Return ``exp(x)`` for ``x <= 0``.");
    m.def("log_positive", over(log_positive), "x"_a, "Return ``log(x)`` for normal numbers.");
}

void bind_solver(nb::module_& m) {
    m.def(
        "solve_mixture",
        [](In2 L, In1 w, In1 start, double tol, int max_iter) {
            require(L.shape(0) == w.shape(0) && L.shape(1) == start.shape(0),
                    "L, w and start must fit");
            Solution found = without_lock(
                [&] { return solve_mixture(table(L), span(w), span(start), tol, max_iter); });
            return std::make_tuple(made(std::move(found.x)), found.gap, found.iterations,
                                   found.converged);
        },
        "L"_a, "w"_a, "start"_a, "tol"_a, "max_iter"_a,
        "Maximise ``sum_i w_i log((L x)_i)``; return x, duality gap, iterations and convergence.");
    m.def(
        "invert_cholesky",
        [](In2 P) {
            require(P.shape(0) == P.shape(1), "P must be square");
            return made(invert_cholesky(table(P)));
        },
        "P"_a, "Return the inverse of the lower Cholesky factor.");
    m.def(
        "largest_eigenvalue",
        [](In2 A) {
            require(A.shape(0) == A.shape(1), "A must be square");
            return largest_eigenvalue(table(A));
        },
        "A"_a, "Return the largest eigenvalue of a positive semi-definite matrix.");
    m.def(
        "diagonalize",
        [](In2 A) {
            require(A.shape(0) == A.shape(1), "A must be square");
            Eigen found = diagonalize(table(A));
            return std::make_tuple(made(std::move(found.values)), made(std::move(found.vectors)));
        },
        "A"_a, "Return eigenvalues and, in rows, eigenvectors of a positive definite matrix.");
    m.def(
        "diagnose",
        [](In2 columns, Array<const std::int64_t, 2> orders, In1 scores, std::int64_t n_chains) {
            const Index n = size(columns.shape(1));
            require(orders.shape(0) == columns.shape(0) && orders.shape(1) == columns.shape(1),
                    "orders must have the shape of columns");
            for (std::size_t i = 0; i < orders.size(); ++i)
                require(orders.data()[i] >= 0 && orders.data()[i] < n, "orders must be positions");
            require(n_chains >= 1 && n >= 2 * n_chains && size(scores.shape(0)) == 2 * n - 1,
                    "scores must be those of the ranks");
            Diagnostics found = without_lock(
                [&] { return diagnose(table(columns), table(orders), span(scores), n_chains); });
            return std::make_tuple(made(std::move(found.ess)), made(std::move(found.rhat)),
                                   made(std::move(found.within_ess)));
        },
        "columns"_a, "orders"_a, "scores"_a, "n_chains"_a,
        "Return ESS, R-hat and the ESS within chains.");
}

// Variates in numbers large enough to test their distributions.
void bind_random(nb::module_& m) {
    m.attr("SMALLEST") = SMALLEST;
    m.attr("TAIL") = TAIL;
    const auto many = [&m](const char* name, auto draw) {
        m.def(
            name,
            [draw](State state, std::int64_t n, double a, double b) {
                Random random(state_of(state));
                Vector out;
                for (std::int64_t i = 0; i < n; ++i) out.push_back(draw(random, a, b));
                return made(std::move(out));
            },
            "state"_a.noconvert(), "n"_a, "a"_a = 0.0, "b"_a = 0.0, "Return variates.");
    };
    many("uniforms", [](Random& r, double, double) { return r.uniform(); });
    many("normals", [](Random& r, double, double) { return r.normal(); });
    many("gammas", [](Random& r, double shape, double) { return r.gamma(shape); });
    many("binomials", [](Random& r, double n, double p) {
        return static_cast<double>(r.binomial(whole_number(n), p));
    });
    m.def(
        "random_bits",
        [](State state, std::int64_t n) {
            Random random(state_of(state));
            std::vector<std::uint64_t> out;
            for (std::int64_t i = 0; i < n; ++i) out.push_back(random.bits());
            return out;
        },
        "state"_a.noconvert(), "n"_a, "Return the next outputs of the generator.");
    m.def(
        "dirichlets",
        [](State state, In1 shape, std::int64_t n) {
            Random random(state_of(state));
            Grid<> out(n, size(shape.shape(0)));
            for (Index i = 0; i < n; ++i) random.dirichlet(span(shape), out[i]);
            return made(std::move(out));
        },
        "state"_a.noconvert(), "shape"_a, "n"_a, "Return Dirichlet variates in rows.");
}

void bind_posterior(nb::module_& m) {
    m.def(
        "mode_of",
        [](In2 L, In1 w, std::int64_t n, In1 start) {
            require(L.shape(0) == w.shape(0) && L.shape(1) == start.shape(0) &&
                        n + size(L.shape(1)) == size(L.shape(0)),
                    "L must be n items and a row per class");
            return made(without_lock([&] { return mode_of(table(L), span(w), n, span(start)); }));
        },
        "L"_a, "w"_a, "n"_a, "start"_a,
        "Return the mode, given n items followed by one row per class for the prior.");
    m.def(
        "moment_of",
        [](In2 L, In1 w, In1 x) {
            require(L.shape(0) == w.shape(0) && L.shape(1) == x.shape(0), "L, w and x must fit");
            return made(without_lock([&] { return moment_of(table(L), span(w), span(x)); }));
        },
        "L"_a, "w"_a, "x"_a, "Return ``sum_i w_i r_i r_i'`` over the responsibilities at ``x``.");
    m.def(
        "precision_of",
        [](In2 moment, In1 mode, In1 prior, double n, double temperature) {
            require(moment.shape(0) == mode.shape(0) && moment.shape(1) == mode.shape(0) &&
                        prior.shape(0) == mode.shape(0),
                    "moment, mode and prior must fit");
            return made(precision_of(table(moment), span(mode), span(prior), n, temperature));
        },
        "moment"_a, "mode"_a, "prior"_a, "n"_a, "temperature"_a,
        "Return minus the Hessian in ``log pi`` at the mode.");
    m.def(
        "first_equal",
        [](In2 rows, std::optional<Whole1> codes) {
            require(!codes || codes->shape(0) == rows.shape(0), "each row needs a code");
            Integers first = without_lock([&] {
                return first_equal(table(rows), codes ? span(*codes) : Span<const std::int64_t>());
            });
            return made(std::move(first));
        },
        "rows"_a, "codes"_a.none() = nb::none(),
        "Return for each row the number of the first row that equals it (and has its code).");
    m.def(
        "row_hashes",
        [](In2 rows) { return made(without_lock([&] { return row_hashes(table(rows)); })); },
        "rows"_a, "Return a hash of each row, the same on every machine; its 64 bits, signed.");
}

void bind_sampling(nb::module_& m) {
    nb::class_<Layout>(m, "Layout",
                       "Items in the memory layout in which they are allocated to classes.")
        .def(
            "__init__",
            [](Layout* self, In2 L, In1 w, In1 x) { new (self) Layout(make_layout(L, w, x)); },
            "L"_a, "w"_a, "x"_a)
        .def_prop_ro(
            "n_doubtful", [](const Layout& it) { return it.doubtful.weights.size(); },
            "Places in blocks.")
        .def_prop_ro(
            "n_sure", [](const Layout& it) { return it.odds.size(); }, "Skipped items.")
        .def_prop_ro(
            "sum_of_odds", [](const Layout& it) { return sum(it.odds); },
            "Expected number of sure items that leave their lead class.")
        .def_prop_ro(
            "n_heavy", [](const Layout& it) { return it.copies.size(); }, "Rows of large weight.");
    nb::class_<Proposal>(m, "Proposal", "A proposal distribution, and the posterior that accepts.")
        .def(
            "__init__",
            [](Proposal* self, In1 mode, In2 precision, In1 prior, double n, In2 rows, In1 powers) {
                require(precision.shape(0) == mode.shape(0) &&
                            precision.shape(1) == mode.shape(0) &&
                            prior.shape(0) == mode.shape(0) && rows.shape(1) == mode.shape(0) &&
                            rows.shape(0) == powers.shape(0),
                        "mode, precision, prior and rows must fit");
                without_lock([&] {
                    auto items = std::make_shared<Blocks>(in_blocks(table(rows), span(powers)));
                    // Padding has likelihood 1, so it may take the weight of the other rows.
                    const Index n_rows = size(rows.shape(0));
                    const double last = n_rows > 0 ? items->weights[extent(n_rows - 1)] : 0.0;
                    std::fill(items->weights.begin() + n_rows, items->weights.end(), last);
                    new (self)
                        Proposal(span(mode), table(precision), span(prior), n, std::move(items));
                });
            },
            "mode"_a, "precision"_a, "prior"_a, "n"_a, "rows"_a, "powers"_a)
        .def_prop_ro("n_classes", &Proposal::n_classes)
        .def_prop_ro("n_exchanges", &Proposal::n_exchanges)
        .def_prop_ro(
            "shape",
            [](const Proposal& it) { return made(Vector(it.shape().begin(), it.shape().end())); },
            nb::rv_policy::move, "Parameters of the Dirichlet.")
        .def_prop_ro("n_places", &Proposal::n_places, "Places in blocks.")
        .def(
            "log_posterior",
            [](const Proposal& self, In1 pi) {
                require(size(pi.shape(0)) == self.n_classes(), "pi must be a mix");
                Vector logs;
                for (double share : span(pi)) logs.push_back(std::log(share));
                return self.log_posterior(span(pi), logs);
            },
            "pi"_a, "Return the log density of the posterior, up to a constant.")
        .def(
            "log_density",
            [](const Proposal& self, In1 pi) {
                require(size(pi.shape(0)) == self.n_classes(), "pi must be a mix");
                Vector logs;
                for (double share : span(pi)) logs.push_back(std::log(share));
                return self.log_density(logs);
            },
            "pi"_a, "Return the log density of the proposal, up to a constant.")
        .def(
            "propose",
            [](const Proposal& self, State state, std::int64_t n) {
                Random random(state_of(state));
                Grid<> mixes(n, self.n_classes());
                Vector logs(extent(self.n_classes())), weights;
                without_lock([&] {
                    for (Index i = 0; i < n; ++i)
                        weights.push_back(self.propose(random, mixes[i], logs));
                });
                return std::make_tuple(made(std::move(mixes)), made(std::move(weights)));
            },
            "state"_a.noconvert(), "n"_a, "Return proposals and their log importance weights.");
    m.def(
        "sweep",
        [](const Layout& layout, In1 prior, InOut1 pi, State state, std::int64_t skipped,
           std::int64_t kept, std::int64_t thinning, const Proposal* proposal, std::int64_t tries) {
            const Index K = layout.n_classes();
            require(size(prior.shape(0)) == K && size(pi.shape(0)) == K &&
                        (proposal == nullptr || proposal->n_classes() == K),
                    "layout, prior, pi and proposal must fit");
            const Steps steps = steps_of(skipped, kept, thinning);
            Random random(state_of(state));
            Grid<> draws(kept, K), batch(kept, K);
            const std::int64_t accepted = without_lock([&] {
                return sweep(layout, span(prior), span(pi), random, steps, proposal, tries, draws,
                             batch);
            });
            return std::make_tuple(made(std::move(draws)), made(std::move(batch)), accepted);
        },
        "layout"_a, "prior"_a, "pi"_a.noconvert(), "state"_a.noconvert(), "skipped"_a, "kept"_a,
        "thinning"_a, "proposal"_a.none() = nb::none(), "tries"_a = 1,
        "Run Gibbs sweeps from ``pi``, which is updated; return mixes, realised mixes, "
        "acceptances.");
    m.def(
        "independence_chain",
        [](const Proposal& proposal, InOut1 pi, State state, std::int64_t skipped,
           std::int64_t kept, std::int64_t thinning, bool local) {
            require(size(pi.shape(0)) == proposal.n_classes(), "pi must be a mix");
            const Steps steps = steps_of(skipped, kept, thinning);
            Random random(state_of(state));
            Grid<> draws(kept, proposal.n_classes());
            const std::int64_t accepted = without_lock([&] {
                return independence_chain(proposal, span(pi), random, steps.skipped, steps.thinning,
                                          local, draws);
            });
            return std::make_tuple(made(std::move(draws)), accepted);
        },
        "proposal"_a, "pi"_a.noconvert(), "state"_a.noconvert(), "skipped"_a, "kept"_a,
        "thinning"_a, "local"_a = false,
        "Run independence Metropolis from ``pi``, which is updated; return mixes and acceptances.");
    m.def(
        "allocate_draws",
        [](const Layout& layout, In2 draws, State state) {
            require(size(draws.shape(1)) == layout.n_classes(), "draws must be mixes");
            Random random(state_of(state));
            Grid<> batch(size(draws.shape(0)), layout.n_classes());
            without_lock([&] { allocate_draws(layout, table(draws), random, batch); });
            return made(std::move(batch));
        },
        "layout"_a, "draws"_a, "state"_a.noconvert(),
        "Draw one allocation for each mix; return the share of each class.");
}

// Numbers of type T are in the arrays as Stored.
template <class T, class Stored = T>
std::int64_t sample_replicates(const Array<const Stored, 3>& matrices, Whole1 rows, In2 copies,
                               In1 prior, double temperature, In1 near, In2 starts,
                               const Array<std::uint64_t, 2>& states, Whole1 begin, Whole1 end,
                               Whole1 discard, std::int64_t thinning, std::int64_t tries,
                               bool local, InOut2 draws, InOut2 batch) {
    const std::size_t V = matrices.shape(0), K = prior.shape(0);
    require(matrices.shape(2) == K && near.shape(0) == K && starts.shape(1) == K &&
                draws.shape(1) == K && batch.shape(1) == K && batch.shape(0) == draws.shape(0),
            "all must have the same classes");
    require(starts.shape(0) == V && states.shape(0) == V && states.shape(1) == 4 &&
                begin.shape(0) == V && end.shape(0) == V && discard.shape(0) == V,
            "each replicate needs a start, a stream and its draws");
    require(copies.shape(1) == rows.shape(0) && thinning >= 1, "each row needs its copies");
    require(copies.shape(0) == V || copies.shape(0) == 1, "copies are those of each replicate");
    for (std::int64_t row : span(rows))
        require(row >= 0 && row < size(matrices.shape(1)), "no such row");
    for (std::size_t v = 0; v < V; ++v)
        require(begin.data()[v] >= 0 && begin.data()[v] <= end.data()[v] &&
                    end.data()[v] <= size(draws.shape(0)) && discard.data()[v] >= 0,
                "draws must be within the output");
    return without_lock([&] {
        ReplicateSampler sampler(
            {span(rows), span(prior), temperature, span(near), tries, local, thinning});
        std::int64_t accepted = 0;
        for (Index v = 0; v < size(V); ++v) {
            const Index first = begin.data()[v], n = end.data()[v] - first;
            const auto part = [&](InOut2& all) {
                return OutMatrix(all.data() + first * size(K), n, size(K));
            };
            if (v < size(copies.shape(0))) sampler.count(table(copies)[v]);
            const Table<const T> logs(
                reinterpret_cast<const T*>(matrices.data() + v * size(matrices.shape(1) * K)),
                size(matrices.shape(1)), size(K));
            accepted += sampler.sample(logs, {states.data() + 4 * v, table(starts)[v],
                                              discard.data()[v], part(draws), part(batch)});
        }
        return accepted;
    });
}

void bind_replicates(nb::module_& m) {
    const char* doc =
        "Fill ``draws`` and ``batch`` for each replicate; return the number of accepted proposals.";
    const auto bind = [&](auto function) {
        m.def("sample_replicates", function, "matrices"_a.noconvert(), "rows"_a, "copies"_a,
              "prior"_a, "temperature"_a, "near"_a, "starts"_a, "states"_a.noconvert(), "begin"_a,
              "end"_a, "discard"_a, "thinning"_a, "tries"_a, "local"_a, "draws"_a.noconvert(),
              "batch"_a.noconvert(), doc);
    };
    bind(sample_replicates<double>);
    bind(sample_replicates<float>);
    bind(sample_replicates<Half, std::uint16_t>);
}

struct Joint {
    In1 prior;
    In2 row_shapes;
    In1 powers;

    JointPosterior posterior() const {
        require(row_shapes.shape(0) == prior.shape(0) && row_shapes.shape(1) == powers.shape(0),
                "prior, row_shapes and powers must fit");
        return {span(prior), table(row_shapes), span(powers)};
    }
};

void check_state(const Joint& joint, const InOut1& pi, const InOut2& M) {
    require(pi.shape(0) == joint.prior.shape(0) && M.shape(0) == joint.prior.shape(0) &&
                M.shape(1) == joint.powers.shape(0),
            "pi and M must fit the posterior");
}

void bind_confusion(nb::module_& m) {
    m.def(
        "joint_sweeps",
        [](In1 prior, In2 row_shapes, In1 powers, Whole1 counts, InOut1 pi, InOut2 M, State state,
           std::int64_t skipped, std::int64_t kept, std::int64_t thinning) {
            const Joint joint{prior, row_shapes, powers};
            const JointPosterior posterior = joint.posterior();
            check_state(joint, pi, M);
            require(counts.shape(0) == powers.shape(0), "each prediction needs a count");
            const Steps steps = steps_of(skipped, kept, thinning);
            Random random(state_of(state));
            Grid<> draws(kept, size(prior.shape(0))), batch(kept, size(prior.shape(0)));
            const std::int64_t accepted = without_lock([&] {
                return joint_sweeps(posterior, span(counts), span(pi), table(M), random, steps,
                                    draws, batch);
            });
            return std::make_tuple(made(std::move(draws)), made(std::move(batch)), accepted);
        },
        "prior"_a, "row_shapes"_a, "powers"_a, "counts"_a, "pi"_a.noconvert(), "M"_a.noconvert(),
        "state"_a.noconvert(), "skipped"_a, "kept"_a, "thinning"_a,
        "Run sweeps over mix and matrix, which are updated; return mixes, realised mixes, "
        "acceptances.");
    // One kind of move at a time, so that each can be tested for the posterior it leaves invariant.
    m.def(
        "move_pair",
        [](std::string kind, std::int64_t i, std::int64_t j, In1 prior, In2 row_shapes, In1 powers,
           InOut1 pi, InOut2 M, State state) {
            const Joint joint{prior, row_shapes, powers};
            const JointPosterior posterior = joint.posterior();
            check_state(joint, pi, M);
            const auto K = size(prior.shape(0));
            require(kind == "round" || (i >= 0 && j >= 0 && i < K && j < K && i != j),
                    "two classes are needed");
            Random random(state_of(state));
            PairMoves moves(posterior, span(pi), table(M));
            if (kind == "exchange") return moves.exchange(i, j, random);
            if (kind == "transfer") return moves.transfer(i, j, random);
            require(kind == "round", "no such move");
            moves.round(random);
        },
        "kind"_a, "i"_a, "j"_a, "prior"_a, "row_shapes"_a, "powers"_a, "pi"_a.noconvert(),
        "M"_a.noconvert(), "state"_a.noconvert(), "Make one move, in place.");
    m.def(
        "split_counts",
        [](In1 pi, In2 M, Whole1 counts, State state) {
            require(pi.shape(0) == M.shape(0) && counts.shape(0) == M.shape(1),
                    "pi, M, counts must fit");
            Random random(state_of(state));
            Grid<std::int64_t> split(size(M.shape(0)), size(M.shape(1)));
            split_counts(span(pi), table(M), span(counts), random, split);
            return made(std::move(split));
        },
        "pi"_a, "M"_a, "counts"_a, "state"_a.noconvert(),
        "Draw how many items of each predicted class are of each true class.");
    m.def(
        "realised",
        [](In2 draws, std::int64_t n_classes, Whole1 counts, State state) {
            require(size(draws.shape(1)) == n_classes * (1 + size(counts.shape(0))),
                    "a draw is a mix and a matrix");
            Random random(state_of(state));
            Grid<> batch(size(draws.shape(0)), n_classes);
            without_lock([&] { realised(table(draws), span(counts), random, batch); });
            return made(std::move(batch));
        },
        "draws"_a, "n_classes"_a, "counts"_a, "state"_a.noconvert(),
        "Allocate the predicted items to true classes once per draw; return class shares.");
}

// --- densities that another library calls, as C functions ----------------------------------------

template <class Density>
std::int64_t call_density(std::uint64_t dimension, const double* z, double* gradient, double* value,
                          void* density) {
    const auto n = static_cast<Index>(dimension);
    *value = (**static_cast<const Density* const*>(density))({z, n}, {gradient, n});
    // A positive code ends the trajectory as a divergence.
    return std::isfinite(*value) ? 0 : 1;
}

template <class Density>
std::int64_t call_expand(std::uint64_t dimension, std::uint64_t n_expanded, const double* z,
                         double* out, void* density) {
    (*static_cast<const Density* const*>(density))
        ->expand({z, static_cast<Index>(dimension)}, {out, static_cast<Index>(n_expanded)});
    return 0;
}

template <class Density>
void bind_density(nb::class_<Density>& bound) {
    bound.def_prop_ro("dimension", &Density::dimension)
        .def_prop_ro("n_expanded", &Density::n_expanded)
        .def_prop_ro(
            "address", [](const Density& it) { return reinterpret_cast<std::uintptr_t>(&it); },
            "Where the object lies; the C functions get a pointer to this number.")
        .def_prop_ro_static(
            "log_density_address",
            [](nb::handle) { return reinterpret_cast<std::uintptr_t>(&call_density<Density>); })
        .def_prop_ro_static(
            "expand_address",
            [](nb::handle) { return reinterpret_cast<std::uintptr_t>(&call_expand<Density>); })
        .def(
            "__call__",
            [](const Density& self, In1 z) {
                require(size(z.shape(0)) == self.dimension(), "z must have the dimension");
                Vector gradient(z.shape(0));
                const double value = self(span(z), gradient);
                return std::make_tuple(value, made(std::move(gradient)));
            },
            "z"_a, "Return the log density and its gradient.")
        .def(
            "expand",
            [](const Density& self, In1 z) {
                require(size(z.shape(0)) == self.dimension(), "z must have the dimension");
                Vector out(extent(self.n_expanded()));
                self.expand(span(z), out);
                return made(std::move(out));
            },
            "z"_a, "Return the shares at ``z``.");
}

Vector copy(const In1& x) { return Vector(x.data(), x.data() + x.shape(0)); }
Grid<> copy(const In2& x) {
    Grid<> out(size(x.shape(0)), size(x.shape(1)));
    std::copy(x.data(), x.data() + out.values.size(), out.values.begin());
    return out;
}

void bind_densities(nb::module_& m) {
    nb::class_<MixDensity> mix(m, "MixDensity", "The posterior of a mix in whitened coordinates.");
    mix.def(
        "__init__",
        [](MixDensity* self, In2 L, In1 w, In1 prior, In1 centre, In2 R_inverse) {
            const std::size_t K = prior.shape(0);
            require(L.shape(0) == w.shape(0) && L.shape(1) == K && centre.shape(0) == K && K > 1 &&
                        R_inverse.shape(0) == K - 1 && R_inverse.shape(1) == K - 1,
                    "L, w, prior, centre and R_inverse must fit");
            new (self) MixDensity{in_blocks(table(L), span(w)), copy(prior), copy(centre),
                                  copy(R_inverse)};
        },
        "L"_a, "w"_a, "prior"_a, "centre"_a, "R_inverse"_a);
    bind_density(mix);
    nb::class_<JointDensity> joint(m, "JointDensity",
                                   "The posterior of a mix and a confusion matrix.");
    joint.def(
        "__init__",
        [](JointDensity* self, In1 prior, In2 row_shapes, In1 powers, In1 centre, In1 scale) {
            const std::size_t K = prior.shape(0), C = powers.shape(0), n = K + K * C;
            require(K > 0 && C > 0 && row_shapes.shape(0) == K && row_shapes.shape(1) == C &&
                        centre.shape(0) == n && scale.shape(0) == n,
                    "prior, row_shapes, powers, centre and scale must fit");
            new (self) JointDensity{copy(prior), copy(row_shapes), copy(powers), copy(centre),
                                    copy(scale)};
        },
        "prior"_a, "row_shapes"_a, "powers"_a, "centre"_a, "scale"_a);
    bind_density(joint);
}

void bind_interrupt(nb::module_& m) {
    nb::class_<Cancellation>(m, "Cancellation",
                             "Work of several threads that can be ended together.")
        .def(nb::init<>())
        .def("cancel", &Cancellation::cancel, "End what the threads do, with a KeyboardInterrupt.")
        .def("__enter__", [](std::shared_ptr<Cancellation> self) { Cancellation::enter(self); })
        .def("__exit__", [](Cancellation&, nb::args) { Cancellation::leave(); });
}

}  // namespace

NB_MODULE(TRUEMIX_MODULE, m) {
    m.attr("instructions") = TRUEMIX_INSTRUCTIONS;
    m.def("supported_instructions", &supported_instructions,
          "Return the instruction sets of this processor that the core is built for, best first.");
    bind_kernel_sums(m);
    bind_solver(m);
    bind_random(m);
    bind_posterior(m);
    bind_sampling(m);
    bind_replicates(m);
    bind_confusion(m);
    bind_densities(m);
    bind_interrupt(m);
}
