"""The samplers are compared with closed forms, integrals, NumPyro, each other, and calibration.

Monte Carlo errors are computed from the effective sample size; tolerances are five of them, which
the right answer exceeds once in two million comparisons. Seeds are fixed.
"""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from truemix.exceptions import InputError
from truemix.inference import sample_mixture, sample_mixtures
from truemix.inference._diagnostics import effective_sizes

INF = np.inf
BOTH = pytest.mark.parametrize("sampler", ["gibbs", "nuts"])


def gaussian(n, K, separation, seed=0, prevalence=None):
    """Log-likelihoods of Gaussian classes in five dimensions, for items from a mix."""
    rng = np.random.default_rng(seed)
    centres = separation * rng.normal(size=(K, 5))
    mix = rng.dirichlet(np.ones(K)) if prevalence is None else prevalence
    items = centres[rng.choice(K, n, p=mix)] + rng.normal(size=(n, 5))
    return items @ centres.T - 0.5 * (centres**2).sum(axis=1)


def separated(counts):
    """Log-likelihoods of items that one class each explains."""
    return np.where(np.repeat(np.eye(len(counts)), counts, axis=0) > 0, 0.0, -INF)


def check_moments(draws, mean, sd):
    """Check the mean and the standard deviation of each column within five standard errors."""
    ess, *_ = effective_sizes(draws)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * sd / np.sqrt(ess)).all()
    # The standard error of a variance, with the draws' own fourth moment.
    square = (draws - mean) ** 2
    ess, *_ = effective_sizes(square)
    assert (np.abs(square.mean(axis=0) - sd**2) < 5 * square.std(axis=0) / np.sqrt(ess)).all()


def check_quantiles(draws, quantile):
    """Check the distribution function at the quantiles of 5, 25, 50, 75 and 95 %."""
    for p in (0.05, 0.25, 0.5, 0.75, 0.95):
        below = (draws <= quantile(p)).astype(float)
        ess, *_ = effective_sizes(below)
        assert (np.abs(below.mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / ess)).all()


# --- exactness --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("prior", [1.0, [0.5, 2.0, 1.0, 0.2]])
def test_separated_classes_give_a_dirichlet(sampler, prior):
    counts = [30, 10, 1, 0]
    sample = sample_mixture(
        separated(counts), prior=prior, draws=5000, sampler=sampler, random_state=1
    )
    a = np.asarray(prior) + counts
    marginal = stats.beta(a, a.sum() - a)
    check_moments(sample.draws, marginal.mean(), marginal.std())
    check_quantiles(sample.draws, marginal.ppf)
    assert (sample.batch == np.array(counts) / 41).all()
    assert sample.diagnostics["failed"] == []


# Gibbs sampling is for weights that are whole numbers when divided by the temperature.
@pytest.mark.parametrize(
    ("sampler", "temperature"),
    [
        ("gibbs", 1.0),
        ("gibbs", 0.5),
        ("nuts", 0.5),
        ("nuts", 1.0),
        ("nuts", 10.0),
        ("auto", 0.7),
        ("auto", 10.0),
    ],
)
@pytest.mark.parametrize("prior", [0.3, 1.0, 3.0])
def test_two_overlapping_classes_agree_with_the_integral(sampler, temperature, prior):
    values = gaussian(40, 2, 0.5, prevalence=[0.85, 0.15])
    sample = sample_mixture(
        values, prior=prior, temperature=temperature, draws=4000, sampler=sampler, random_state=2
    )
    # On a grid of logits the trapezoidal rule is exact to many digits: the integrand is smooth
    # and vanishes at both ends, exp(-0.3 * 60).
    z = np.linspace(-60, 60, 100_001)
    log_p, log_rest = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    p = np.exp(log_p)
    L = np.exp(values)
    log_density = prior * (log_p + log_rest)
    for row in values:
        log_density += np.logaddexp(log_p + row[0], log_rest + row[1]) / temperature
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = density @ p
    sd = np.sqrt(density @ (p - mean) ** 2)
    cdf = np.cumsum(density)
    first = sample.draws[:, :1]
    check_moments(first, mean, sd)
    check_quantiles(first, lambda q: np.interp(q, cdf, p))
    # Given pi the expected share of the batch is the mean responsibility.
    share = (density * (p * L[:, :1] / (p * L[:, :1] + (1 - p) * L[:, 1:])).mean(axis=0)).sum()
    ess, *_ = effective_sizes(sample.batch[:, :1])
    assert abs(sample.batch[:, 0].mean() - share) < 5 * sample.batch[:, 0].std() / np.sqrt(ess[0])


def test_an_item_to_a_whole_power_counts_as_so_many_copies():
    values = gaussian(200, 4, 0.8, prevalence=[0.7, 0.2, 0.1, 0.0])
    plain = sample_mixture(values, draws=500, random_state=3)
    doubled = sample_mixture(
        values, weights=np.full(200, 2.0), temperature=2.0, draws=500, random_state=3
    )
    np.testing.assert_array_equal(doubled.draws, plain.draws)
    # The 400 items themselves are not tempered: their mix is less certain than that of 200 copies.
    mean, sd = doubled.batch.mean(axis=0), doubled.batch.std(axis=0)
    assert (np.abs(mean - plain.batch.mean(axis=0)) < 0.02).all()
    assert (sd < plain.batch.std(axis=0)).all()


def test_a_cold_posterior_of_many_classes_needs_few_sweeps():
    # Most classes are absent: with independence proposals alone a draw takes 256 steps.
    prevalence = np.r_[0.5, 0.3, 0.2, np.zeros(17)]
    values = gaussian(1000, 20, 1.6, prevalence=prevalence)
    sample = sample_mixture(values, prior=0.3, temperature=0.25, draws=500, random_state=4)
    assert sample.diagnostics["sampler"] == "gibbs"
    assert sample.diagnostics["failed"] == []
    assert sample.diagnostics["thinning"] < 20


def agree(a, b):
    """Check that two samples have the same means and variances, within five standard errors."""
    for f in (lambda x: x, lambda x: (x - a.mean(axis=0)) ** 2):
        # The effective size of the squares is their own: chains that overshoot estimate means
        # better than independent draws would, but not variances.
        error = [f(x).std(axis=0) / np.sqrt(effective_sizes(f(x))[0]) for x in (a, b)]
        assert (np.abs(f(a).mean(axis=0) - f(b).mean(axis=0)) < 5 * np.hypot(*error)).all()


@pytest.mark.filterwarnings("ignore")
def test_five_classes_agree_with_each_other_and_with_numpyro():
    import jax
    import numpyro
    from numpyro.distributions import Dirichlet
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    values = gaussian(150, 5, 0.8, seed=3)
    prior = np.array([0.5, 1.0, 1.0, 2.0, 1.0])

    def model():
        pi = numpyro.sample("pi", Dirichlet(prior))
        terms = jax.numpy.log(pi) + values
        numpyro.factor("items", jax.scipy.special.logsumexp(terms, axis=1).sum())

    peer = MCMC(NUTS(model), num_warmup=300, num_samples=2000, progress_bar=False)
    peer.run(jax.random.PRNGKey(0))
    expected = np.asarray(peer.get_samples()["pi"])
    assert expected.dtype == np.float64
    gibbs, nuts = (
        sample_mixture(values, prior=prior, draws=4000, sampler=sampler, random_state=4)
        for sampler in ("gibbs", "nuts")
    )
    agree(gibbs.draws, nuts.draws)
    agree(gibbs.batch, nuts.batch)
    agree(gibbs.draws, expected)
    agree(nuts.draws, expected)


@BOTH
def test_whole_weights_are_repeated_rows(sampler):
    values, weights = gaussian(6, 3, 0.7), np.array([1, 0, 500, 3, 40, 2])
    weighted = sample_mixture(values, weights=weights, draws=4000, sampler=sampler, random_state=5)
    repeated = sample_mixture(
        np.repeat(values, weights, axis=0), draws=4000, sampler="gibbs", random_state=6
    )
    agree(weighted.draws, repeated.draws)
    agree(weighted.batch, repeated.batch)


def test_fractional_weights_and_temperature_are_the_same_power():
    values = gaussian(60, 3, 0.7)
    halved = sample_mixture(values, weights=np.full(60, 0.5), draws=4000, random_state=7)
    tempered = sample_mixture(values, temperature=2.0, draws=4000, random_state=8)
    assert halved.diagnostics["sampler"] == tempered.diagnostics["sampler"] == "metropolis"
    agree(halved.draws, tempered.draws)
    agree(halved.batch, tempered.batch)
    nuts = sample_mixture(values, temperature=2.0, draws=4000, sampler="nuts", random_state=9)
    agree(nuts.draws, tempered.draws)


# --- calibration ------------------------------------------------------------------------------


def bags_from_the_model(n_bags, K, prior, n=40, separation=0.7):
    """Draw a mix from the prior for each bag, then items; return also the realised mixes."""
    rng = np.random.default_rng(9)
    centres = separation * rng.normal(size=(K, 3))
    mixes = rng.dirichlet(np.full(K, prior), size=n_bags)
    labels = np.stack([rng.choice(K, n, p=mix) for mix in mixes])
    items = centres[labels] + rng.normal(size=(n_bags, n, 3))
    values = (items @ centres.T - 0.5 * (centres**2).sum(axis=1)).reshape(-1, K)
    realised = (labels[..., None] == np.arange(K)).mean(axis=1)
    return values, np.arange(n_bags * n).reshape(n_bags, n), mixes, realised


@pytest.fixture(scope="module", params=["gibbs", "nuts"])
def calibration(request):
    """Return true mixes and draws of 300 bags that come from the model."""
    values, bags, mixes, realised = bags_from_the_model(300, 3, prior=0.5)
    samples = sample_mixtures(
        values, bags, prior=0.5, draws=400, warmup=100, sampler=request.param,
        random_state=list(range(300)),
    )  # fmt: skip
    draws = np.stack([sample.draws for sample in samples])
    batch = np.stack([sample.batch for sample in samples])
    return mixes, realised, draws, batch


def test_ranks_of_the_truth_are_uniform(calibration):
    mixes, realised, draws, batch = calibration
    rng = np.random.default_rng(10)
    for truth, sample in ((mixes, draws), (realised, batch)):
        # Every fourth draw: the effective size is at least 0.4 per draw, so these are close to
        # independent. 99 of them make 100 ranks; those of the realised mix are tied at random.
        apart = sample[:, 3::4][:, :99]
        below = (apart < truth[:, None] - 1e-9).sum(axis=1)
        ties = (np.abs(apart - truth[:, None]) <= 1e-9).sum(axis=1)
        ranks = below + rng.integers(0, ties + 1)
        for column in ranks.T:
            observed = np.bincount(column // 10, minlength=10)
            assert stats.chisquare(observed).pvalue > 1e-4


def test_intervals_cover_as_often_as_they_say(calibration):
    mixes, realised, draws, batch = calibration
    # Bags without a class are among them.
    assert (realised == 0).any(axis=1).sum() > 30
    for truth, sample, discrete in ((mixes, draws, False), (realised, batch, True)):
        low, high = np.quantile(sample, [0.025, 0.975], axis=1)
        covered = ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean(axis=1)
        error = covered.std() / np.sqrt(len(covered))
        # Intervals of a discrete quantity cover more often than they must.
        assert covered.mean() > 0.95 - 4 * error
        assert discrete or covered.mean() < 0.95 + 4 * error
    absent = realised == 0
    assert (np.quantile(batch, 0.025, axis=1)[absent] == 0).mean() > 0.95


# --- corners ----------------------------------------------------------------------------------


def check_sane(sample, n_draws, K):
    for values in (sample.draws, sample.batch):
        assert values.shape == (n_draws, K)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=1e-12)
    assert (sample.draws > 0).all()


@BOTH
@pytest.mark.parametrize("prior", [0.01, 1.0])
def test_a_target_of_one_class(sampler, prior):
    values = gaussian(200, 4, 2.0, prevalence=[0, 1, 0, 0])
    sample = sample_mixture(values, prior=prior, draws=300, sampler=sampler, random_state=0)
    check_sane(sample, 300, 4)
    assert sample.batch[:, 1].mean() > 0.95


@BOTH
def test_a_hundred_classes(sampler):
    values = gaussian(300, 100, 3.0, prevalence=np.repeat([0.05, 0.0], [20, 80]))
    sample = sample_mixture(values, draws=200, warmup=100, sampler=sampler, random_state=0)
    check_sane(sample, 200, 100)
    assert sample.batch[:, 20:].sum(axis=1).mean() < 0.3


@BOTH
def test_impossible_classes_keep_their_prior(sampler):
    values = gaussian(50, 3, 1.0)
    values[:, 2] = -INF
    values[0] = [-INF, 0.0, -INF]
    sample = sample_mixture(values, draws=2000, sampler=sampler, random_state=0)
    check_sane(sample, 2000, 3)
    assert (sample.batch[:, 2] == 0).all()
    marginal = stats.beta(1, 52)
    check_moments(sample.draws[:, 2:], marginal.mean(), marginal.std())


@BOTH
def test_a_single_item(sampler):
    sample = sample_mixture([[0.0, -INF, -INF]], draws=2000, sampler=sampler, random_state=0)
    check_sane(sample, 2000, 3)
    a = np.array([2.0, 1.0, 1.0])
    check_moments(sample.draws, stats.beta(a, 4 - a).mean(), stats.beta(a, 4 - a).std())


@BOTH
def test_a_single_class(sampler):
    sample = sample_mixture(np.zeros((5, 1)), draws=7, sampler=sampler)
    assert (sample.draws == 1).all()
    assert (sample.batch == 1).all()
    assert sample.diagnostics["sampler"] == "exact"


@BOTH
@pytest.mark.parametrize(("draws", "warmup"), [(1, 0), (1, 10), (15, 0), (50, 1)])
def test_few_draws_and_no_warmup(sampler, draws, warmup):
    sample = sample_mixture(
        gaussian(30, 3, 1.0), draws=draws, warmup=warmup, sampler=sampler, random_state=0
    )
    check_sane(sample, draws, 3)
    # Diagnosed with more draws than were asked for.
    assert sample.diagnostics["rhat"] < sample.diagnostics["rhat_limit"]
    assert (sample.diagnostics["failed"] == []) == (draws >= 40)


def test_many_items():
    values = gaussian(100_000, 5, 3.0)
    sample = sample_mixture(values, draws=100, warmup=20, random_state=0)
    check_sane(sample, 100, 5)
    assert sample.draws.std(axis=0).max() < 0.003


def test_extreme_likelihoods():
    values = np.array([[0.0, -1e4], [-1e4, 0.0], [-1e300, 1e300], [-INF, -1e300]])
    for sampler in ("gibbs", "nuts"):
        sample = sample_mixture(values, prior=0.01, draws=100, sampler=sampler, random_state=0)
        check_sane(sample, 100, 2)
        assert (sample.batch[:, 0] == 0.25).all()


def test_identical_classes_share_as_their_prior_says():
    values = np.repeat(gaussian(100, 2, 2.0), [1, 2], axis=1)
    sample = sample_mixture(values, draws=4000, sampler="nuts", random_state=0)
    part = sample.draws[:, 1] / sample.draws[:, 1:].sum(axis=1)
    # Given their sum, two classes that no item tells apart are uniform: beta(1, 1).
    check_moments(part[:, None], 0.5, np.sqrt(1 / 12))


# --- behaviour --------------------------------------------------------------------------------


def test_auto_follows_temperature_weights_and_the_rate_of_em():
    clear, blurred = gaussian(300, 4, 4.0), gaussian(1000, 4, 0.15)
    few = {"draws": 50, "warmup": 50, "random_state": 0}
    choices = {
        "clear": sample_mixture(clear, **few),
        "blurred": sample_mixture(blurred, draws=400, random_state=0),
        "tempered": sample_mixture(clear, temperature=2.0, **few),
        "weighted": sample_mixture(clear, weights=np.full(300, 0.5), **few),
    }
    chosen = {name: sample.diagnostics["sampler"] for name, sample in choices.items()}
    gibbs = [name for name in chosen if chosen[name] == "gibbs"]
    others = [name for name in chosen if chosen[name] == "metropolis"]
    assert (gibbs, others) == (["clear", "blurred"], ["tempered", "weighted"])
    reasons = {name: sample.diagnostics["reason"] for name, sample in choices.items()}
    assert "EM converges at rate 0.0" in reasons["clear"]
    assert "EM converges at rate 0.98" in reasons["blurred"]
    assert "sweeps per draw, but 1 with independent proposals" in reasons["blurred"]
    for name in ("tempered", "weighted"):
        assert "weights that, divided by the temperature, are whole numbers" in reasons[name]


@BOTH
@pytest.mark.parametrize(("K", "separation"), [(3, 0.5), (10, 1.5)])
def test_the_effective_sample_size_is_delivered(sampler, K, separation):
    values = gaussian(300, K, separation)
    sample = sample_mixture(values, sampler=sampler, random_state=0)
    assert sample.diagnostics["failed"] == []
    assert sample.diagnostics["ess"] >= 400
    # As if the draws came from one chain: chains that agree can be put one after the other.
    assert effective_sizes(sample.draws)[0].min() > 400


@BOTH
def test_the_seed_decides(sampler):
    values = gaussian(50, 3, 1.0)

    def draw(seed):
        return sample_mixture(values, draws=50, warmup=50, sampler=sampler, random_state=seed)

    first, second, other = draw(1), draw(1), draw(2)
    assert (first.draws == second.draws).all()
    assert (first.batch == second.batch).all()
    assert (first.draws != other.draws).any()
    assert (draw(None).draws != draw(None).draws).any()
    generator = np.random.default_rng(3)
    once, again = draw(generator), draw(np.random.default_rng(3))
    assert (once.draws == again.draws).all()
    assert (draw(generator).draws != again.draws).any()


def test_sampling_is_silent(capfd):
    sample_mixture(gaussian(50, 3, 1.0), draws=50, sampler="nuts", random_state=0)
    assert capfd.readouterr() == ("", "")


def test_importing_needs_no_nutpie():
    code = (
        "import sys, truemix.inference; "
        "raise SystemExit(any(name in sys.modules for name in ('nutpie', 'arviz', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"log_likelihood": [0.0, 1.0]}, "log_likelihood has shape (2,); it must have two dim"),
        ({"log_likelihood": [[0.0, np.nan]]}, "log_likelihood is +nan in row 0, column 1; every"),
        ({"log_likelihood": [[-INF, -INF]]}, "log_likelihood is -inf for every class in row 0;"),
        ({"weights": [1.0]}, "weights has shape (1,); expected one weight for each of the 2 rows"),
        ({"weights": [1.0, -1.0]}, "weights[1] is -1.0; weights must be finite and not negative"),
        ({"prior": 0.0}, "The 'prior' parameter must be a positive number between 1e-6 and 1e12"),
        ({"prior": [1.0, 1.0, 1.0]}, "for each of the 2 classes. Got [1.0, 1.0, 1.0]"),
        ({"prior": "mapls"}, "The 'prior' parameter must be a positive number"),
        (
            {"temperature": 0},
            "The 'temperature' parameter must be a positive number between 0.001 and 1e9. Got 0 i",
        ),
        (
            {"temperature": INF},
            "The 'temperature' parameter must be a positive number between 0.001 and 1e9. Got inf",
        ),
        ({"draws": 0}, "The 'draws' parameter must be a whole number between 1 and 1,000,000"),
        ({"warmup": -1}, "The 'warmup' parameter must be a whole number between 0 and 1,000,000"),
        ({"sampler": "hmc"}, "The 'sampler' parameter must be one of 'auto', 'gibbs', 'nuts'."),
        (
            {"random_state": -1},
            "The 'random_state' parameter must be a whole number between 0 and 2**128.",
        ),
        ({"random_state": "x"}, "The 'random_state' parameter must be None, an integer or a Gen"),
        (
            {"sampler": "gibbs", "temperature": 2.0},
            "The 'temperature' parameter is 2, but sampler='gibbs' draws at temperature 1, 1/2, "
            "1/3, ... only; use sampler='auto'",
        ),
        (
            {"sampler": "gibbs", "weights": [1.0, 0.5]},
            "A weight is 0.5 but sampler='gibbs' needs weights that are whole numbers",
        ),
    ],
)
def test_wrong_input_is_named(change, sentence):
    parameters = {"log_likelihood": np.zeros((2, 2))} | change
    with pytest.raises(InputError) as error:
        sample_mixture(**parameters)
    assert sentence in str(error.value)
