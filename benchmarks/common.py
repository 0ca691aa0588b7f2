"""Data, the clock and the output that the benchmarks share."""

import time

import numpy as np


def posteriors(n, n_classes, seed, mix=None):
    """Draw softmax posteriors and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes if mix is None else rng.choice(n_classes, n, p=mix)
    logits = rng.normal(size=(n, n_classes)) + 3.0 * np.eye(n_classes)[labels]
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True), labels


def best_of(repeats, function):
    """Return the shortest time of several runs and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def publish(text, path):
    """Print a result, and write it to a file if there is a path."""
    print(text)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
