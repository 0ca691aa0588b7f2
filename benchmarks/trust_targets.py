"""Targets for ``trust.py``: what is expensive about them, made once and kept as arrays.

A target is a bag of one data set with one kind of violation. What is kept of it is enough to apply
rules for labels and ranges to it within milliseconds.
"""

import numpy as np

from accuracy_baselines import atc, doc, leap
from truemix import BayesianKDEy
from truemix.trust.responsibilities import adapted_posteriors
from violations import LABEL_SHIFT, VIOLATIONS, read, violated

SIZE = 500
KINDS = (LABEL_SHIFT, *VIOLATIONS)
NEW_KIND = "new kind of items"


def targets(folder, name, n_bags, cache):
    """Return the kept arrays of the targets of a data set: ``{(kind, number): arrays}``.

    Those that ``cache`` lacks are made, up to ``n_bags`` of each kind.
    """
    for new_kind in (False, True):
        kinds = [kind for kind in KINDS if (kind == NEW_KIND) == new_kind]
        missing = [
            (kind, number)
            for number in range(n_bags)
            for kind in kinds
            if not path_of(cache, name, kind, number).exists()
        ]
        if missing:
            data = read(folder, name, new_kind=new_kind)
            quantifier = BayesianKDEy(random_state=0).fit(data.posteriors, data.labels)
            for kind, number in missing:
                kept = target(data, quantifier, kind, number)
                np.savez(path_of(cache, name, kind, number), **kept)
    found = {}
    for kind in KINDS:
        number = 0
        while (path := path_of(cache, name, kind, number)).exists():
            with np.load(path) as file:
                found[kind, number] = dict(file)
            number += 1
    return found


def path_of(cache, name, kind, number):
    """Return where a target is kept."""
    return cache / f"{name}-{kind.replace(' ', '-')}-{number}.npz"


def target(data, quantifier, kind, number):
    """Return everything about one target that the tables need."""
    rng = np.random.default_rng([number, KINDS.index(kind)])
    X, y = violated(data, kind, SIZE, rng)
    P = data.trained.score(X, crossfit=True)
    estimate = quantifier.quantify(P, check=True)
    batch, check = estimate.batch, estimate.checks["label_shift"]
    kept = {
        "labels": y,
        "batch": estimate.draws_of("batch"),
        "source": estimate.draws_of("population"),
        "predicted": adapted_posteriors(batch, estimate)[batch.row_of_item],
        "p_value": check.summary()["p_value"],
        "failed": not check.passed,
    }
    if not check.passed:
        answers = estimate.answers.answers
        kept["lower"] = np.array([each.lower for each in answers])
        kept["upper"] = np.array([each.upper for each in answers])
    if kind == LABEL_SHIFT:
        # What performance() is about: decisions of the models that score the items.
        true = float((P.argmax(axis=2) == y).mean())
        found = estimate.performance().summary()["accuracy"]
        R, labels, Q = data.posteriors, data.labels, P.mean(axis=0)
        kept["accuracy"] = np.array([true, found["value"], found["lower"], found["upper"]])
        kept["baselines"] = np.array(
            [
                atc(R, labels, Q),
                doc(R, labels, Q),
                leap(R, labels, Q, estimate.prevalence),
            ]
        )
    return kept
