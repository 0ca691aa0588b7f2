"""KDEy against QuaPy's KDEyML: the whole estimate, densities and optimum, on the same input.

Both run in this process, one after the other, on the same posteriors; the result is the ratio.
``python benchmarks/densities.py`` prints three tables (about two minutes, nearly all of it QuaPy):

1. seconds of QuaPy and truemix per (kernel, K, references, targets), and their ratio;
2. where truemix's time goes, beside the best this machine can do: the matrix product by its BLAS
   and the exponentials of the C library, each on both cores;
3. peak memory for 26 classes, 100,000 references and 100,000 targets (``--no-memory`` skips it).
"""

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from common import best_of, posteriors
from truemix import KDEy
from truemix._threads import for_each_block, n_threads
from truemix.densities.class_densities import THREAD_ROWS, ClassDensities
from truemix.inference import maximize_mixture

SIZES = [(3, 1000, 1000), (10, 9000, 500), (26, 8400, 1000), (100, 9000, 2000)]
KERNELS = {
    "gaussian": {"kernel": "gaussian", "bandwidth": 0.1, "shrinkage": 0.0},
    "aitchison": {"kernel": "aitchison", "bandwidth": 1.0, "shrinkage": 0.25},
}


def data(n_classes, n_reference, n_target):
    mix = np.random.default_rng(2).dirichlet(np.ones(n_classes))
    return (
        *posteriors(n_reference, n_classes, 0),
        *posteriors(n_target, n_classes, 1, mix),
    )


def compare():
    # Here and not above: the case for memory is to show truemix alone.
    from peer import Given, quapy

    print(
        "| kernel | K | references | targets | QuaPy s | truemix s | ratio | largest difference |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, settings in KERNELS.items():
        for sizes in SIZES:
            P, y, Q, _ = data(*sizes)
            ours_time, ours = best_of(5, lambda: KDEy(**settings).fit(P, y).predict(Q))  # noqa: B023
            theirs = quapy.KDEyML(Given(), **settings).fit(P, y)

            def estimate(theirs=theirs, P=P, y=y, Q=Q):
                # Without QuaPy's cross-validation of the classifier: only densities are compared.
                return theirs.aggregation_fit(P, y).aggregate(Q)

            theirs_time, mix = best_of(3 if sizes[0] <= 10 else 1, estimate)
            print(
                f"| {name} | {' | '.join(map(str, sizes))} | {theirs_time:.3f} | {ours_time:.4f} "
                f"| {theirs_time / ours_time:.0f}x | {np.abs(mix - ours).max():.1e} |",
                flush=True,
            )


def parts():
    """Time the loops one by one, and what BLAS and the C library need for the same numbers."""
    from truemix import _core as loops

    print("\n| K | references | targets | densities ms | distances | exponentials | solver | "
          "best BLAS product | best libm exp |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for sizes in SIZES:
        P, y, Q, _ = data(*sizes)
        density = ClassDensities(P, y, "aitchison", np.array([1.0]), 0.25)
        whole, matrix = best_of(7, lambda: density.log_likelihood(Q)[0])  # noqa: B023
        solver, _ = best_of(7, lambda: maximize_mixture(matrix))  # noqa: B023
        Z = density._targets(Q).coordinates
        held = density._held_tiles[0]
        tiles, boxes = held.coordinates, held.boxes
        rows = min(len(Z), 512)
        D, E = (np.empty((rows, tiles.shape[0] * tiles.shape[2])) for _ in range(2))
        near = np.zeros(rows)

        def distances(part):
            loops.squared_distances(tiles, boxes, Z[part], D[part], near[part])  # noqa: B023

        def exponentials(part):
            loops.kernel_values(D[part], near[part], 0.5, E[part])  # noqa: B023

        def threaded(work):
            return best_of(7, lambda: for_each_block(work, rows, THREAD_ROWS))[0]  # noqa: B023

        scale = len(Z) / rows
        W = np.ascontiguousarray(P.T)
        product, _ = best_of(7, lambda: Q @ W)  # noqa: B023
        halves = np.array_split(-D.ravel(), n_threads())
        with ThreadPoolExecutor(n_threads()) as pool:
            libm, _ = best_of(3, lambda: list(pool.map(np.exp, halves)))  # noqa: B023
        cells = (whole, threaded(distances) * scale, threaded(exponentials) * scale, solver,
                 product, libm * scale)  # fmt: skip
        print(
            f"| {' | '.join(map(str, sizes))} | "
            + " | ".join(f"{1e3 * c:.2f}" for c in cells)
            + " |"
        )


def memory():
    """Run the large case in a process of its own and report its peak."""
    subprocess.run([sys.executable, __file__, "--large"], check=True)  # noqa: S603


def peak_megabytes():
    # Linux counts the parent's peak in a child's getrusage; this is the child's own.
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024


def large():
    P, y, Q, _ = data(26, 100_000, 100_000)
    before = peak_megabytes()
    seconds, _ = best_of(1, lambda: KDEy(bandwidth=1.0, shrinkage=0.25).fit(P, y).predict(Q))
    peak = peak_megabytes()
    print(
        f"\n26 classes, 100,000 references, 100,000 targets: {seconds:.1f} s, peak memory "
        f"{peak:.0f} MB, of which {before:.0f} MB before fit for data and imports"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--large", action="store_true", help="only the case for memory")
    arguments = parser.parse_args()
    if arguments.large:
        large()
        return
    P, y, Q, _ = data(3, 30, 30)
    KDEy().fit(P, y).predict(Q)  # compile outside the clock
    compare()
    parts()
    if not arguments.no_memory:
        memory()


if __name__ == "__main__":
    main()
