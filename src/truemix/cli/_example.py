"""The example of ``truemix demo``: support tickets whose mix changes from week to week.

Each topic is a cloud of points; the classifier knows the clouds only from a few labelled points
(linear discriminant analysis), so it is a real one, and often wrong. Tickets of a topic look the
same in all weeks: label shift holds exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from truemix._typing import FloatArray, IntArray
from truemix.report.csv_text import as_csv

TOPICS = ("billing", "defect", "delivery", "praise")
REFERENCE_MIX = (0.35, 0.25, 0.15, 0.25)
N_REFERENCES = 1000
N_TRAINING = 300
# Delivery trouble comes and goes; the other topics share the rest as in the reference.
DELIVERY = (0.10, 0.10, 0.12, 0.17, 0.25, 0.34, 0.40, 0.41, 0.33, 0.22, 0.15, 0.12)
TICKETS = (180, 220, 160, 240, 300, 360, 400, 380, 290, 40, 150, 210)
CENTRES = np.array([[0.0, 0.0, 0.0], [1.8, 0.4, 0.5], [0.6, 1.9, -0.2], [-1.1, 1.1, 1.8]])
# Decimals of the posteriors, which sum to one exactly.
DECIMALS = 5
SEED = 4


def example_files() -> dict[str, bytes]:
    """Return the names and contents of the files."""
    rng = np.random.default_rng(SEED)
    training = rng.choice(len(TOPICS), N_TRAINING, p=REFERENCE_MIX)
    posteriors = _discriminant(_points(training, rng), training)
    labels = rng.choice(len(TOPICS), N_REFERENCES, p=REFERENCE_MIX)
    rows = _decimals(posteriors(_points(labels, rng)))
    reference = [{"topic": TOPICS[k], **row} for k, row in zip(labels, rows, strict=True)]
    target: list[dict[str, Any]] = []
    truth: list[dict[str, Any]] = []
    for number, (share, size) in enumerate(zip(DELIVERY, TICKETS, strict=True)):
        week = f"2025-W{number + 10}"
        labels = rng.choice(len(TOPICS), size, p=_mix(share))
        for row in _decimals(posteriors(_points(labels, rng))):
            target.append({"week": week, "ticket": f"T{len(target) + 1:05d}", **row})
        shares = np.bincount(labels, minlength=len(TOPICS)) / size
        named = {topic: f"{each:.4f}" for topic, each in zip(TOPICS, shares, strict=True)}
        truth.append({"week": week, "tickets": size, **named})
    tables = {"reference": reference, "target": target, "truth": truth}
    return {f"{name}.csv": as_csv(table).encode() for name, table in tables.items()}


def _discriminant(points: FloatArray, labels: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Return the posteriors of linear discriminant analysis: Gaussians of one shape."""
    centres = np.array([points[labels == k].mean(axis=0) for k in range(len(TOPICS))])
    around = points - centres[labels]
    precision = np.linalg.inv(around.T @ around / len(points))
    log_share = np.log(np.bincount(labels) / len(labels))

    def posteriors(points: FloatArray) -> FloatArray:
        away = points[:, None, :] - centres
        logs = log_share - 0.5 * np.einsum("nki,ij,nkj->nk", away, precision, away)
        scores = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    return posteriors


def _points(labels: IntArray, rng: np.random.Generator) -> FloatArray:
    return CENTRES[labels] + rng.normal(size=(len(labels), CENTRES.shape[1]))


def _mix(delivery: float) -> FloatArray:
    mix = np.array(REFERENCE_MIX)
    place = TOPICS.index("delivery")
    mix *= (1 - delivery) / (1 - mix[place])
    mix[place] = delivery
    return mix


def _decimals(posteriors: FloatArray) -> list[dict[str, str]]:
    """Return posteriors by topic, with a few decimals; the largest takes what rounding leaves."""
    unit = 10**DECIMALS
    counts = np.round(posteriors * unit).astype(int)
    rows = np.arange(len(counts))
    counts[rows, counts.argmax(axis=1)] += unit - counts.sum(axis=1)
    texts = [[f"{count / unit:.{DECIMALS}f}" for count in row] for row in counts.tolist()]
    return [dict(zip(TOPICS, row, strict=True)) for row in texts]
