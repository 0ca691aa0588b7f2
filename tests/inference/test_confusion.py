"""The joint posterior of mix and confusion matrix, against numerical integration."""

import numpy as np
import pytest

from truemix._core import JointDensity, split_counts
from truemix.exceptions import InputError
from truemix.inference import confusion
from truemix.inference._random import seed_state
from truemix.inference.confusion import sample_confusion


def integrated(labelled, predicted, prior, temperature, n_grid=160):
    """Mean and variance of the first share for two classes, on a grid of all three unknowns."""
    F, N = np.asarray(labelled) / temperature, np.asarray(predicted) / temperature
    x = (np.arange(n_grid) + 0.5) / n_grid
    pi, a, b = np.meshgrid(x, x, x, indexing="ij", sparse=True)
    log_density = (
        (prior[0] - 1) * np.log(pi)
        + (prior[1] - 1) * np.log1p(-pi)
        + F[0, 0] * np.log(a)
        + F[0, 1] * np.log1p(-a)
        + F[1, 0] * np.log(b)
        + F[1, 1] * np.log1p(-b)
        + N[0] * np.log(pi * a + (1 - pi) * b)
        + N[1] * np.log(pi * (1 - a) + (1 - pi) * (1 - b))
    )
    density = np.exp(log_density - log_density.max()).sum(axis=(1, 2))
    density /= density.sum()
    mean = density @ x
    return mean, density @ (x - mean) ** 2


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.6, 3.0)])
@pytest.mark.parametrize("sampler", ["gibbs", "nuts"])
def test_the_posterior_is_that_of_numerical_integration(sampler, temperature, prior):
    labelled, predicted = [[17, 4], [6, 12]], [23, 38]
    mean, variance = integrated(labelled, predicted, prior, temperature)
    sample = sample_confusion(
        labelled,
        predicted,
        prior=prior,
        temperature=temperature,
        draws=20_000 if sampler == "gibbs" else 8_000,
        sampler=sampler,
        random_state=1,
    )
    shares = sample.draws[:, 0]
    # Five standard errors at the effective sample size; for the variance its own, with the
    # fourth moment of a bell curve doubled; the grid of 160 adds less than 1e-3 of either.
    n = sample.diagnostics["ess"]
    assert shares.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / n) + 1e-3)
    assert shares.var() == pytest.approx(variance, rel=5 * np.sqrt(4 / n) + 1e-2)
    assert sample.diagnostics["failed"] == []
    assert sample.diagnostics["sampler"] == sampler
    if sampler == "gibbs":
        assert sample.diagnostics["acceptance"] > (0.999 if temperature in {0.5, 1.0} else 0.6)


def test_thinning_ends_where_the_matrices_become_too_many_and_says_so(monkeypatch):
    # Decisions that say next to nothing of the classes, so that chains mix slowly.
    run = {"labelled": [[9, 8, 7], [8, 9, 7], [7, 8, 9]], "predicted": [900, 800, 700]}
    free = sample_confusion(**run, prior=0.3, random_state=0).diagnostics
    # 1,000 draws of nine probabilities.
    monkeypatch.setattr(confusion, "MAX_PROBABILITIES", 2.5 * 9_000)
    bounded = sample_confusion(**run, prior=0.3, random_state=0).diagnostics
    assert free["thinning"] > bounded["thinning"] == 2
    assert free["failed"] == []
    assert "effective sample size" in bounded["failed"][0]


def test_the_gradient_of_the_joint_density_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    K, C = 3, 4
    arrays = (
        rng.uniform(0.5, 2, K),
        rng.uniform(0.5, 9, (K, C)),
        rng.uniform(1, 20, C),
        rng.normal(size=K + K * C),
        rng.uniform(0.5, 2, K + K * C),
    )
    density, z = JointDensity(*arrays), rng.normal(size=11)
    _, gradient = density(z)
    for i in range(11):
        step = 1e-5 * np.eye(11)[i]
        slope = density(z + step)[0] - density(z - step)[0]
        # Central differences are right to the square of the step.
        assert gradient[i] == pytest.approx(slope / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("count", [0, 20, 1000])
def test_items_are_split_as_by_a_multinomial(count):
    """Few items are split one by one, many by binomials; a class that is impossible gets none."""
    pi, M = np.array([0.2, 0.0, 0.5, 0.3]), np.array([[0.1], [0.9], [0.4], [0.2]])
    expected = pi * M[:, 0] / (pi @ M[:, 0])
    state, counts = seed_state(np.random.SeedSequence(8)), np.array([count])
    drawn = np.array([split_counts(pi, M, counts, state)[:, 0] for _ in range(4000)])
    assert (drawn.sum(axis=1) == count).all()
    # Five standard errors, of the mean and (for a bell curve) of the covariance.
    covariance = count * (np.diag(expected) - np.outer(expected, expected))
    error = np.sqrt(np.diag(covariance) / 4000)
    assert (np.abs(drawn.mean(axis=0) - count * expected) <= 5 * error).all()
    assert np.abs(np.cov(drawn.T) - covariance).max() <= 5 * covariance.max() * np.sqrt(2 / 4000)


def test_both_samplers_agree_on_the_realised_mix():
    labelled, predicted = [[30, 5, 2], [4, 20, 6], [1, 3, 25]], [40, 25, 35]
    samples = [
        sample_confusion(labelled, predicted, sampler=s, draws=4000, random_state=2)
        for s in ("gibbs", "nuts")
    ]
    means = [sample.batch.mean(axis=0) for sample in samples]
    error = np.sqrt(sum(s.batch.var(axis=0) / s.diagnostics["ess"] for s in samples))
    assert (np.abs(means[0] - means[1]) < 5 * error).all()


def test_many_labels_make_the_matrix_known():
    """With perfect decisions the mix is Dirichlet(prior + counts), the batch known exactly."""
    labelled = 1_000_000 * np.eye(3)
    predicted = np.array([50, 30, 0])
    sample = sample_confusion(labelled, predicted, draws=4000, random_state=0)
    expected = (1 + predicted) / (3 + 80)
    error = np.sqrt(expected * (1 - expected) / 84 / sample.diagnostics["ess"])
    np.testing.assert_allclose(sample.draws.mean(axis=0), expected, atol=5 * error.max())
    assert np.abs(sample.batch - predicted / 80).max() <= 1 / 80 + 1e-12
    np.testing.assert_allclose(sample.batch.mean(axis=0), predicted / 80, atol=1e-3)


@pytest.mark.parametrize("estimand", ["population", "batch"])
def test_intervals_cover_at_their_level(estimand):
    """Data from the model itself: each rank interval covers its truth 90 % of the time."""
    rng = np.random.default_rng(3)
    covered = []
    for trial in range(300):
        mix, M = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
        labelled = np.array([rng.multinomial(40, row) for row in M])
        truth = rng.multinomial(60, mix)
        predicted = sum(rng.multinomial(n, row) for n, row in zip(truth, M, strict=True))
        sample = sample_confusion(labelled, predicted, draws=300, warmup=200, random_state=trial)
        draws, target = (
            (sample.draws, mix) if estimand == "population" else (sample.batch, truth / 60)
        )
        # Ties between batch draws and the truth are broken at random, so ranks stay uniform.
        jitter = rng.uniform(-1e-6, 1e-6, draws.shape)
        rank = (draws + jitter < target).mean(axis=0)
        covered.append((rank > 0.05) & (rank < 0.95))
    # Three classes per trial count as one and a half independent ones; four standard errors.
    error = np.sqrt(0.9 * 0.1 / (1.5 * 300))
    assert np.mean(covered) == pytest.approx(0.9, abs=4 * error)


def test_the_same_seed_gives_the_same_draws_and_extremes_work():
    counts = ([[3, 0], [0, 3]], [0, 1])
    first = sample_confusion(*counts, random_state=5, prior=0.01, draws=50, warmup=10)
    second = sample_confusion(*counts, random_state=5, prior=0.01, draws=50, warmup=10)
    np.testing.assert_array_equal(first.draws, second.draws)
    assert np.isfinite(first.draws).all()
    np.testing.assert_allclose(first.draws.sum(axis=1), 1)
    big = sample_confusion(5 * np.eye(40), np.full(40, 100), draws=20, warmup=5, random_state=0)
    np.testing.assert_allclose(big.batch.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("labelled", "predicted", "sentence"),
    [
        ([1, 2], [1, 2], r"labelled has shape \(2,\) and predicted \(2,\)"),
        ([[1, 2], [3, 4]], [1, 2, 3], "expected"),
        ([[1, 2], [3, -4]], [1, 2], "labelled must hold counts"),
        ([[1, 2], [3, 4]], [1.5, 2], "predicted must hold counts"),
        ([[1, 2], [3, 4]], [0, 0], "predicted counts no items"),
    ],
)
def test_bad_counts_get_one_clear_sentence(labelled, predicted, sentence):
    with pytest.raises(InputError, match=sentence):
        sample_confusion(labelled, predicted)
