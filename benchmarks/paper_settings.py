"""Whether a published error of KDEy(Ait-λ) is that of another setting than the chosen one.

``python benchmarks/paper_settings.py wine-quality --data FOLDER`` takes all 1,080 settings of the
paper's grid (18 classifiers x 60 of the kernel) and prints, beside the published error, the
validation and the test error of the setting that is chosen; then, among the settings whose test
error is at most the published one, how many there are and the smallest validation error of any.
If that is hardly larger than the chosen one's, chance made the difference. Errors are means over
the first ``--bags`` bags of the paper's protocol.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from truemix.densities import kde_log_likelihood
from truemix.inference import maximize_mixtures
from truemix.metrics import absolute_error
from truemix_experiments.datasets import load_dataset
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.published import published_values
from truemix_experiments.running.scores import ScoreFiles
from truemix_experiments.running.stages import stages_of

METHOD = "KDEy(Ait-lambda)"


def errors(stage, folder, settings, n_bags):
    """Return the error of each setting on the bags of a stage, by its parameters."""
    files = ScoreFiles(stage, folder, settings)
    drawn = stage.draw(settings, 1.0)
    rows, truth = drawn.rows[:n_bags], drawn.truth[:n_bags]
    found = {}
    for classifier in files.candidates():
        scores = files.read(classifier)
        for shrinkage in settings.shrinkage:
            matrices = kde_log_likelihood(
                scores.references,
                stage.references.y,
                scores.pool[0],
                kernel="aitchison",
                bandwidth=np.array(settings.aitchison_bandwidth),
                shrinkage=shrinkage,
            )
            for bandwidth, matrix in zip(settings.aitchison_bandwidth, matrices, strict=True):
                mixes = np.array([fit.prevalence for fit in maximize_mixtures(matrix, rows)])
                key = (*classifier.values(), shrinkage, bandwidth)
                found[key] = float(absolute_error(truth, mixes).mean())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bags", type=int, default=100)
    options = parser.parse_args()
    settings = BenchSettings()
    print(
        "| data | published | chosen: validation | test | settings at most the published "
        "| their smallest validation | its test | its λ and bandwidth |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in options.names:
        with tempfile.TemporaryDirectory() as folder:
            stages = stages_of(load_dataset(name, folder=options.data), settings)
            validation, test = (
                errors(stage, Path(folder), settings, options.bags) for stage in stages
            )
        published = float(published_values("ae", [name]).loc[name, METHOD])
        chosen = min(validation, key=validation.get)
        reached = [key for key, error in test.items() if error <= published]
        cells = [
            f"{published:.4f}",
            f"{validation[chosen]:.4f}",
            f"{test[chosen]:.4f}",
            f"{len(reached)} of {len(test)}",
        ]
        if reached:
            best = min(reached, key=validation.get)
            cells += [
                f"{validation[best]:.4f}",
                f"{test[best]:.4f}",
                f"{best[-2]:g}, {best[-1]:.2g}",
            ]
        else:
            best = min(test, key=test.get)
            cells += ["—", f"(smallest: {test[best]:.4f})", "—"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
