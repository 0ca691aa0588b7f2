"""The joint posterior of the mix and the confusion matrices of several judges."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from truemix import InputError
from truemix.inference import sample_confusion, sample_judges

TABLES = [np.array([[6.0, 2.0], [1.0, 4.0]]), np.array([[5.0, 2.0, 1.0], [0.0, 3.0, 2.0]])]
VERDICTS = np.array([[0, 0], [0, 1], [1, 1], [1, 2]])
WEIGHTS = np.array([3, 1, 2, 2])


def log_beta(a):
    return gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))


def enumerated(tables, verdicts, weights, prior):
    """Return the exact posterior mean of the mix, over all numbers of items of the first class."""
    total, mean = 0.0, np.zeros(2)
    for first in product(*(range(n + 1) for n in weights)):
        labels = np.array([first, weights - np.array(first)])
        log_weight = (gammaln(weights + 1.0) - gammaln(labels + 1.0).sum(axis=0)).sum()
        log_weight += log_beta(prior + labels.sum(axis=1))
        for j, table in enumerate(tables):
            seen = np.zeros_like(table)
            for row, code in enumerate(verdicts[:, j]):
                seen[:, code] += labels[:, row]
            log_weight += (log_beta(1.0 + table + seen) - log_beta(1.0 + table)).sum()
        total += np.exp(log_weight)
        shares = (prior + labels.sum(axis=1)) / (prior.sum() + weights.sum())
        mean += np.exp(log_weight) * shares
    return mean / total


@pytest.mark.parametrize("prior", [np.array([1.0, 1.0]), np.array([0.5, 3.0])])
def test_the_mean_is_that_of_the_enumerated_posterior(prior):
    sample = sample_judges(TABLES, VERDICTS, WEIGHTS, prior=prior, draws=4000, random_state=1)
    exact = enumerated(TABLES, VERDICTS, WEIGHTS, prior)
    error = sample.draws.std(axis=0) / np.sqrt(sample.diagnostics["ess"])
    # Four standard errors.
    assert (np.abs(sample.draws.mean(axis=0) - exact) < 4 * error).all()
    assert sample.diagnostics["failed"] == []
    assert (sample.batch * WEIGHTS.sum() == np.rint(sample.batch * WEIGHTS.sum())).all()


def test_one_judge_is_the_joint_posterior_of_a_single_confusion_matrix():
    table, counts = np.array([[60, 20, 5], [10, 40, 10]]), np.array([50, 60, 20])
    one = sample_judges([table], np.arange(3)[:, None], counts, draws=2000, random_state=0)
    same = sample_confusion(table, counts, draws=2000, random_state=0)
    error = same.draws[:, 0].std() * np.sqrt(
        1 / one.diagnostics["ess"] + 1 / same.diagnostics["ess"]
    )
    assert abs(one.draws[:, 0].mean() - same.draws[:, 0].mean()) < 4 * error
    np.testing.assert_allclose(
        np.quantile(one.draws[:, 0], [0.05, 0.95]), np.quantile(same.draws[:, 0], [0.05, 0.95]),
        # Quantiles near the ends vary by about twice as much as the mean.
        atol=10 * error,
    )  # fmt: skip


def test_the_same_seed_gives_the_same_draws():
    first, second = (
        sample_judges(TABLES, VERDICTS, WEIGHTS, draws=100, random_state=3) for _ in range(2)
    )
    assert (first.draws == second.draws).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"temperature": 2.0}, "temperature=1"),
        ({"verdicts": VERDICTS[:, :1]}, "one table"),
        ({"verdicts": VERDICTS + 1}, "numbers of columns"),
        ({"weights": [1.0]}, "how many items"),
    ],
)
def test_wrong_input_is_one_sentence(change, said):
    given = {"labelled": TABLES, "verdicts": VERDICTS, "weights": WEIGHTS, **change}
    with pytest.raises(InputError, match=said):
        sample_judges(**given)
