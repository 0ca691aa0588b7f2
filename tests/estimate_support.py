"""Estimates to test with."""

from dataclasses import replace

import numpy as np

from truemix import Estimate
from truemix.estimates.answers import Answer, Sensitivity
from truemix.estimates.checks import RecordedCheck


def estimate(n_classes=3, **changes):
    share = np.arange(1.0, n_classes + 1)
    share /= share.sum()
    fields = {
        "classes": np.array([f"class {k}" for k in range(n_classes)]),
        "prevalence": share,
        "classify_and_count": np.full(n_classes, 1 / n_classes),
        "train_prevalence": share[::-1].copy(),
        "n_items": 1234,
        "method": "KDEy",
    }
    return Estimate(**{**fields, **changes})


def sampled(alpha, seed=0, n_draws=1000, n_items=200, **changes):
    """Return an estimate with both views: Dirichlet draws, and half of the items known for sure."""
    rng = np.random.default_rng(seed)
    alpha = np.asarray(alpha, dtype=float)
    known = rng.multinomial(n_items // 2, alpha / alpha.sum())
    population = rng.dirichlet(alpha, size=n_draws)
    counts = known + np.array([rng.multinomial(n_items - n_items // 2, p) for p in population])
    batch = counts / n_items
    view = changes.get("estimand", "batch")
    draws, other = (batch, population) if view == "batch" else (population, batch)
    return estimate(
        len(alpha),
        **{
            "prevalence": draws.mean(axis=0),
            "draws": draws,
            "other_draws": other,
            "n_items": n_items,
            "method": "BayesianKDEy",
            **changes,
        },
    )


def doubtful(found, sentence="Something else is assumed."):
    """Return an estimate as after a failed check: with answers under two assumptions."""
    share, other = found.prevalence, found.train_prevalence
    answers = (
        Answer("label shift", found.method, sentence, share, 0.9 * share, share),
        Answer("unchanged mix", "reference", sentence, other, other, other + 0.1 * (1 - other)),
    )
    names = found.classes.tolist()
    rows = [
        {"class": n, "estimate": 0.1, "without_unusual": 0.1, "with_unknown": 0.1} for n in names
    ]
    check = {
        "checked": True, "passed": False, "verdict": "failed", "explanation": "It does not fit.",
        "estimates": rows, "unknown_share": 0.2,
    }  # fmt: skip
    return replace(
        found,
        checks={"label_shift": RecordedCheck(check)},
        answers=Sensitivity(found.classes, 0.95, answers),
    )
