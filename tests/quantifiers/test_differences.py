"""Differences between batches of one fitted quantifier: their intervals hold what they promise."""

import numpy as np
import pytest

import truemix
from support import posteriors
from truemix import BayesianEMQ, BayesianKDEy, Bootstrap, Estimate, KDEy

SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.0, "self_calibration": False}


def normal_posteriors(n, mix, rng):
    """Two classes; the log-odds are normal around -0.7 and 0.7, so label shift holds exactly."""
    codes = rng.choice(2, n, p=mix)
    p = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.4 * codes - 0.7)))
    return np.column_stack([1 - p, p])


def test_intervals_of_differences_cover_and_are_narrower_than_those_of_independent_estimates():
    """Forty references per class, drawn anew each time, and two batches of the same source."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 40)
    covered, widths = [], []
    for _ in range(120):
        reference = [normal_posteriors(40, mix, rng) for mix in ([1, 0], [0, 1])]
        fitted = BayesianKDEy(**SMOOTH, draws=500, random_state=0)
        fitted.fit(np.concatenate(reference), codes)
        before = rng.dirichlet([5, 5])
        now = np.clip(before + np.array([0.1, -0.1]), 0, 1)
        batches = [normal_posteriors(1000, mix / mix.sum(), rng) for mix in (before, now)]
        old, new = (fitted.quantify(batch) for batch in batches)
        found = new.compare(old)
        truth = now[0] / now.sum() - before[0]
        covered.append(found.interval[0, 0] <= truth <= found.interval[0, 1])
        independent = new.compare(Estimate(**{**vars(old), "origin": None}))
        widths.append([np.ptp(each.interval[0]) for each in (found, independent)])
    # 120 trials know a coverage of 95 % to 2 points; 4 are asked for.
    assert abs(np.mean(covered) - 0.95) < 0.04
    paired, independent = np.mean(widths, axis=0)
    assert paired < 0.75 * independent


@pytest.mark.parametrize(
    "quantifier",
    [
        BayesianKDEy(bandwidth=0.4, shrinkage=0.1, draws=100),
        BayesianEMQ(calibration="bcts", reference_uncertainty="bootstrap", draws=100),
        Bootstrap(KDEy(bandwidth=0.4, shrinkage=0.1), references=True, draws=100),
    ],
    ids=lambda quantifier: type(quantifier).__name__,
)
def test_estimates_know_whether_they_come_from_the_same_references(quantifier, tmp_path):
    P, codes = posteriors(90, 3, seed=0)
    target, _ = posteriors(200, 3, seed=1)
    fitted = quantifier.fit(P, codes)
    first, second = fitted.quantify(target[:120]), fitted.quantify(target[120:])
    assert first.compare(second).paired
    groups = fitted.quantify_by(target, np.repeat(["a", "b"], 100))
    assert groups["a"].compare(groups["b"]).paired
    # A saved quantifier and a saved estimate still know.
    truemix.save(fitted, tmp_path / "q")
    first.save(tmp_path / "e")
    loaded = truemix.load(tmp_path / "q").quantify(target[120:])
    assert Estimate.load(tmp_path / "e").compare(loaded).paired
    # Other references, or other settings, are others.
    other = quantifier.__class__(**quantifier.get_params(deep=False)).fit(P[:-3], codes[:-3])
    assert not first.compare(other.quantify(target)).paired


def test_a_method_without_uncertain_references_has_no_replicates():
    P, codes = posteriors(90, 3, seed=0)
    fitted = BayesianKDEy(bandwidth=0.4, shrinkage=0.1, reference_uncertainty=None).fit(P, codes)
    assert fitted.quantify(P).origin is None
    assert not fitted.quantify(P).compare(fitted.quantify(P)).paired
