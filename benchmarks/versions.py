"""Time two versions of truemix on the same work, alternating between their processes.

    python benchmarks/versions.py OLD NEW [--rounds 5] [--only solver]

OLD and NEW are Python interpreters, each with a version of truemix installed; only public names
that both have are used. The same machine code runs at different speeds in different processes
(where its memory happens to lie), so each round starts a new process of either version, one after
the other, and the medians over the rounds are compared.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time


def cases():
    """Yield the name of each case and the work to time; data are the same in every process."""
    import numpy as np

    from truemix import KDEy
    from truemix.densities import kde_log_likelihood
    from truemix.inference import (
        maximize_mixture,
        sample_confusion,
        sample_mixture,
        sample_replicates,
    )

    def posteriors(n, K, strength, seed):
        rng = np.random.default_rng(seed)
        y = np.sort(np.append(np.arange(K), rng.integers(K, size=n - K)))
        return np.array([rng.dirichlet(1 + strength * np.eye(K)[k]) for k in y]), y

    def likelihoods(n, K, separation):
        rng = np.random.default_rng(1)
        centres = separation * rng.normal(size=(K, 5))
        items = centres[rng.choice(K, n, p=rng.dirichlet(np.ones(K)))] + rng.normal(size=(n, 5))
        return items @ centres.T - 0.5 * (centres**2).sum(axis=1)

    for K, m, n in ((3, 1000, 1000), (10, 5000, 1000), (26, 5000, 1000), (100, 10_000, 1000)):
        P, y = posteriors(m, K, 4, 0)
        Q, _ = posteriors(n, K, 4, 1)
        yield (
            f"densities K={K}, {m} references, {n} targets",
            lambda P=P, y=y, Q=Q: kde_log_likelihood(P, y, Q, bandwidth=0.5, shrinkage=0.2),
        )
    P, y = posteriors(1000, 4, 4, 0)
    Q, _ = posteriors(1000, 4, 4, 1)
    weightings = np.random.default_rng(2).exponential(size=(100, 1000))
    yield (
        "densities K=4, 100 weightings",
        lambda: kde_log_likelihood(P, y, Q, bandwidth=0.5, shrinkage=0.2, weights=weightings),
    )
    for n, K, separation in ((1000, 3, 1.0), (1000, 26, 2.0), (1000, 100, 3.0), (100_000, 4, 1.0)):
        values = likelihoods(n, K, separation)
        yield f"solver n={n}, K={K}", lambda values=values: maximize_mixture(values)
    for n, K, separation in ((500, 10, 3.0), (1000, 3, 0.5), (1000, 26, 1.0), (1000, 100, 1.0)):
        values = likelihoods(n, K, separation)
        name = f"posterior n={n}, K={K}, separation {separation:g}"
        yield name, lambda values=values: sample_mixture(values, random_state=0)
    values = likelihoods(1000, 5, 1.0)
    yield (
        "posterior n=1000, K=5, temperature 3",
        lambda: sample_mixture(values, temperature=3.0, random_state=0),
    )
    noise = 0.1 * np.random.default_rng(3).normal(size=(100, 1000, 5))
    yield (
        "posterior n=1000, K=5, 100 replicates",
        lambda: sample_replicates(values + noise, [np.arange(1000)], random_state=0),
    )
    for K, per_class in ((3, 100), (26, 30)):
        rows = (np.eye(K) + 0.5) / (1 + 0.5 * K)
        counts = np.array(
            [np.random.default_rng(k).multinomial(per_class, rows[k]) for k in range(K)]
        )
        predicted = counts.sum(axis=0)
        yield (
            f"confusion K={K}",
            lambda c=counts, p=predicted: sample_confusion(c, p, random_state=0),
        )
    P, y = posteriors(1000, 4, 4, 0)
    yield (
        "KDEy().fit, 1000 references, K=4",
        lambda: KDEy(classifier=None).fit(P, y),
    )


def measure(only: str) -> dict[str, float]:
    """Return the best time of each case in this process, in milliseconds."""
    times = {}
    for name, work in cases():
        if only not in name:
            continue
        work()
        best, began = float("inf"), time.perf_counter()
        while time.perf_counter() - began < 0.4:
            start = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - start)
        times[name] = 1e3 * best
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="Python interpreter with the old version")
    parser.add_argument("new", nargs="?", default=sys.executable, help="with the new version")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.only)))
        return
    found = {asked.old: [], asked.new: []}
    for _ in range(asked.rounds):
        for python, runs in found.items():
            done = subprocess.run(  # noqa: S603
                [python, __file__, python, "--measure", "--only", asked.only],
                check=True,
                capture_output=True,
                text=True,
            )
            runs.append(json.loads(done.stdout))
    print("| case | old ms | new ms | old / new |\n|---|---:|---:|---:|")
    for name in found[asked.new][0]:
        old, new = (
            statistics.median(run[name] for run in found[python])
            for python in (asked.old, asked.new)
        )
        print(f"| {name} | {old:.3g} | {new:.3g} | {old / new:.2f} |")


if __name__ == "__main__":
    main()
