"""The Bayesian quantifiers and the bootstrap, beyond what the samplers' own tests show."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from support import posteriors
from truemix import (
    ACC,
    CC,
    EMQ,
    PCC,
    BayesianACC,
    BayesianEMQ,
    BayesianKDEy,
    Bootstrap,
    InputError,
    KDEy,
)
from truemix.densities import kde_log_likelihood
from truemix.inference import sample_mixture
from truemix.inference.mapls import adaptive_prior, most_probable_mix

SMOOTH = {"bandwidth": 0.3, "shrinkage": 0.1}
QUANTIFIERS = [
    BayesianACC(),
    BayesianACC(sampler="nuts", temperature=2.0),
    BayesianEMQ(),
    BayesianEMQ(calibration="bcts", prior="mapls"),
    BayesianKDEy(**SMOOTH),
    BayesianKDEy(kernel="gaussian", bandwidth=0.1),
    BayesianKDEy(temperature=5.0, **SMOOTH),
    Bootstrap(CC()),
    Bootstrap(KDEy(**SMOOTH), draws=50),
]
every_quantifier = pytest.mark.parametrize("quantifier", QUANTIFIERS, ids=repr)
NAMES = np.array(["cat", "dog", "eel"])


@pytest.fixture(scope="module")
def reference():
    P, codes = posteriors(300, 3, seed=0)
    return P, NAMES[codes]


@pytest.fixture(scope="module")
def target():
    return posteriors(240, 3, seed=1, mix=[0.7, 0.2, 0.1])[0]


@every_quantifier
def test_the_estimate_is_the_mean_of_its_draws_in_both_views(quantifier, reference, target):
    fitted = clone(quantifier).set_params(random_state=0).fit(*reference)
    estimate = fitted.quantify(target)
    assert estimate.draws.shape == (fitted.draws, 3)
    assert estimate.estimand == fitted.estimand
    for view in ("population", "batch"):
        shown = estimate.of(view)
        np.testing.assert_allclose(shown.draws.sum(axis=1), 1)
        np.testing.assert_allclose(shown.prevalence, shown.draws.mean(axis=0))
    np.testing.assert_array_equal(fitted.predict(target), estimate.prevalence)
    assert estimate.settings["random_state"] == 0


@every_quantifier
def test_the_same_seed_gives_the_same_draws(quantifier, reference, target):
    fitted = clone(quantifier).set_params(random_state=3).fit(*reference)
    first, second = fitted.quantify(target), fitted.quantify(target)
    np.testing.assert_array_equal(first.draws, second.draws)
    np.testing.assert_array_equal(first.other_draws, second.other_draws)
    other = fitted.set_params(random_state=4).fit(*reference).quantify(target)
    if quantifier.get_params().get("estimand") != "batch" or not isinstance(quantifier, Bootstrap):
        assert not np.array_equal(first.draws, other.draws)


def test_without_a_seed_the_settings_show_the_one_that_was_taken(reference, target):
    fitted = BayesianKDEy(**SMOOTH).fit(*reference)
    first = fitted.quantify(target)
    again = BayesianKDEy(**SMOOTH, random_state=first.settings["random_state"]).fit(*reference)
    np.testing.assert_array_equal(again.quantify(target).draws, first.draws)
    # One fitted quantifier has one seed, so that its batches can be compared; another has another.
    assert fitted.quantify(target).settings == first.settings
    other = BayesianKDEy(**SMOOTH).fit(*reference).quantify(target)
    assert other.settings["random_state"] != first.settings["random_state"]


@every_quantifier
def test_quantify_by_is_quantify_group_by_group(quantifier, reference, target):
    fitted = clone(quantifier).set_params(random_state=1).fit(*reference)
    weeks = np.arange(len(target)) % 3
    for week, estimate in fitted.quantify_by(target, weeks).items():
        alone = fitted.quantify(target[weeks == week])
        np.testing.assert_array_equal(estimate.draws, alone.draws)
        np.testing.assert_array_equal(estimate.other_draws, alone.other_draws)


@pytest.mark.parametrize(
    ("bayesian", "point"),
    [
        (BayesianKDEy(**SMOOTH, reference_uncertainty=None), KDEy(**SMOOTH)),
        (BayesianEMQ(), EMQ()),
        (BayesianEMQ(calibration="ts"), EMQ(calibration="ts")),
        (BayesianACC(), ACC()),
    ],
    ids=repr,
)
def test_large_batches_agree_with_the_point_method(bayesian, point):
    P, codes = posteriors(30_000, 3, seed=0)
    batch, _ = posteriors(20_000, 3, seed=1, mix=[0.5, 0.3, 0.2])
    expected = point.fit(P, codes).predict(batch)
    for estimand in ("population", "batch"):
        bayesian.set_params(random_state=0, estimand=estimand)
        estimate = bayesian.fit(P, codes).quantify(batch)
        # The mean of a nearly normal posterior is at its mode. That of draws worth 450 independent
        # ones or more is known to 0.05 standard deviations: 4 of these.
        width = estimate.of("population").draws.std(axis=0)
        assert (np.abs(estimate.prevalence - expected) < 0.2 * width).all()


def test_a_seed_may_be_a_generator(reference, target):
    draws = [
        BayesianKDEy(random_state=np.random.default_rng(7), **SMOOTH)
        .fit(*reference)
        .quantify(target)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(draws[0].draws, draws[1].draws)


def test_priors_come_in_three_forms(reference, target):
    forms = [[2.0, 1.0, 0.5], {"dog": 1.0, "cat": 2.0, "eel": 0.5}, np.array([2.0, 1.0, 0.5])]
    draws = [
        BayesianKDEy(prior=prior, random_state=0, **SMOOTH).fit(*reference).quantify(target).draws
        for prior in forms
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


def test_a_strong_prior_is_felt(reference, target):
    strong = BayesianKDEy(prior={"cat": 1, "dog": 1, "eel": 1e5}, random_state=0, **SMOOTH)
    estimate = strong.fit(*reference).quantify(target)
    # As if so many items had been seen beside these 240. Draws of a share vary by 1e-4 around that,
    # and the mean of a thousand of them is known to 3e-6.
    expected = (np.array([1, 1, 1e5]) + 240 * estimate.of("batch").prevalence) / 100_242
    np.testing.assert_allclose(estimate.of("population").prevalence, expected, atol=2e-5)


def test_a_higher_temperature_widens_the_population_view(reference, target):
    matrix = kde_log_likelihood(*reference, target, **SMOOTH)
    widths = []
    for t in (1.0, 10.0):
        quantifier = BayesianKDEy(
            temperature=t, random_state=0, reference_uncertainty=None, **SMOOTH
        ).fit(*reference)
        draws = quantifier.quantify(target).of("population").draws
        expected = sample_mixture(matrix, temperature=t, random_state=0).draws
        np.testing.assert_allclose(draws, expected, atol=1e-9)
        widths.append(draws.std(axis=0))
    # A tenth of the information is sqrt(10) = 3.2 times the width, where the prior hardly counts
    # and posteriors are nearly normal; 1000 draws know a width to 4 % or so.
    np.testing.assert_allclose(widths[1] / widths[0], np.sqrt(10), rtol=0.2)


# --- MAPLS --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # QuaPy's own imports warn.
def test_the_adaptive_prior_and_the_most_probable_mix_are_those_of_mapls():
    from quapy.method import _bayesian as theirs

    train = np.array([0.5, 0.3, 0.2])
    batch, _ = posteriors(400, 3, seed=4, mix=[0.15, 0.25, 0.6])
    matrix = np.log(batch / train)
    prior = adaptive_prior(matrix, train)
    uniform = np.full(3, 1 / 3)
    lam = theirs.get_lambda(batch, train, uniform, dvg=theirs.kl_div, max_iter=5000)
    # Both take the maximum-likelihood mix as input; QuaPy's EM has 5000 steps to get there.
    np.testing.assert_allclose(prior, 1 + 400 * (1 - lam) / (lam * 3), rtol=1e-3)
    expected = theirs.mapls_em(batch, train, lam, uniform, 3, max_iter=5000)
    np.testing.assert_allclose(most_probable_mix(matrix, prior), expected, atol=1e-4)


def test_the_adaptive_prior_exists_where_training_is_balanced():
    """There MAPLS divides by zero; the limit is a weight of nine tenths for the data."""
    batch, _ = posteriors(300, 3, seed=4, mix=[0.15, 0.25, 0.6])
    uniform = np.full(3, 1 / 3)
    np.testing.assert_allclose(adaptive_prior(np.log(batch), uniform), 1 + 300 * 0.1 / 0.9 / 3)
    assert np.isfinite(adaptive_prior(np.zeros((10, 3)), uniform)).all()


def test_mapls_is_reported_in_the_diagnostics(reference, target):
    fitted = BayesianEMQ(prior="mapls", random_state=0).fit(*reference)
    diagnostics = fitted.quantify(target).diagnostics
    assert (diagnostics["prior"] > 1).all()
    assert diagnostics["map"].sum() == pytest.approx(1)
    # A prior below one has no mode inside the simplex.
    below = BayesianEMQ(prior=0.5, random_state=0).fit(*reference).quantify(target)
    assert below.diagnostics["map"] is None


# --- bootstrap ----------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [CC(), PCC()], ids=repr)
def test_the_bootstrap_of_a_mean_has_the_variance_of_a_mean(inner, reference, target):
    estimate = Bootstrap(inner, draws=4000, random_state=0).fit(*reference).quantify(target)
    matrix = inner.fit(*reference).model_.observe(target)
    expected = matrix.var(axis=0) / len(target)
    # The relative error of a variance from 4000 draws is sqrt(2 / 4000); five of them.
    np.testing.assert_allclose(estimate.draws.var(axis=0), expected, rtol=0.12)
    np.testing.assert_allclose(
        estimate.draws.mean(axis=0), matrix.mean(axis=0), atol=5 * np.sqrt(expected.max() / 4000)
    )


# CC resamples the counts of its decisions at once; the test before this one is about these.
@pytest.mark.parametrize("inner", [PCC(), ACC(), EMQ(), KDEy(**SMOOTH)], ids=repr)
def test_the_bootstrap_repeats_the_quantifier_on_resampled_items(inner, reference, target):
    fitted = Bootstrap(inner, draws=7, random_state=0).fit(*reference)
    # Items are resampled in the order of their contents.
    items, rng = fitted.summarize(target).scored()[0], np.random.default_rng(0)
    point = clone(inner).fit(*reference)
    expected = [point.predict(items[rng.integers(0, len(items), len(items))]) for _ in range(7)]
    np.testing.assert_allclose(fitted.quantify(target).draws, expected, atol=1e-9)
    batch = fitted.quantify(target).of("batch")
    np.testing.assert_allclose(batch.draws, np.tile(point.predict(target), (7, 1)))


def test_the_bootstrap_needs_little_memory_however_often_items_repeat():
    # 4,000 distinct rows, each ten times: 40,000 items to resample in each of 400 batches.
    P = np.random.default_rng(0).dirichlet(np.ones(3), 4_000)
    fitted = Bootstrap(PCC(), draws=400, random_state=0).fit(P, np.arange(4_000) % 3)
    batch = fitted.summarize(np.repeat(P, 10, axis=0))
    tracemalloc.start()
    fitted.quantify(batch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A block of random numbers, of places and of counts: a few times its 32 MiB.
    assert peak < 160 << 20


def test_the_bootstrap_reaches_the_parameters_inside(reference):
    outer = Bootstrap(KDEy(classifier=LogisticRegression()))
    outer.set_params(quantifier__bandwidth=0.2, quantifier__classifier__C=3.0)
    assert outer.quantifier.bandwidth == 0.2
    assert outer.classifier.C == 3.0


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantifier", "sentence"),
    [
        (BayesianKDEy(prior=0), "'prior' parameter must be a positive number"),
        (BayesianKDEy(prior=[1, 2]), "'prior' parameter must be"),
        (BayesianKDEy(prior="flat"), "'prior' parameter must be"),
        (BayesianKDEy(prior="mapls"), "'prior' parameter must be"),
        (BayesianKDEy(prior={"cat": 1}), "'prior' parameter does not name 'dog'"),
        (BayesianKDEy(prior={"cat": 1, "dog": 1, "eel": 1, "fox": 1}), "names 'fox'"),
        (BayesianKDEy(estimand="both"), "'estimand' parameter must be one of 'batch'"),
        (BayesianKDEy(random_state=-1), "'random_state' parameter"),
        (BayesianKDEy(random_state="x"), "'random_state' parameter must be None, an integer"),
        (BayesianKDEy(temperature=0), "'temperature' parameter must be a positive number"),
        (BayesianKDEy(draws=0), "'draws' parameter must be a whole number between 1 and 1,000,000"),
        (BayesianKDEy(warmup=-1), "'warmup' parameter"),
        (BayesianKDEy(sampler="hmc"), "'sampler' parameter must be one of"),
        (BayesianKDEy(sampler="gibbs", temperature=2.0), "sampler='gibbs' draws at temperature 1"),
        (BayesianKDEy(reference_uncertainty="jackknife"), "'reference_uncertainty' parameter"),
        (BayesianACC(sampler="hmc"), "'sampler' parameter must be one of 'auto', 'gibbs'"),
        (BayesianEMQ(calibration="x"), "'calibration' parameter"),
        (Bootstrap(BayesianKDEy()), "'quantifier' parameter must be a point quantifier"),
        (Bootstrap(LogisticRegression()), "'quantifier' parameter must be a truemix quantifier"),
        (Bootstrap(CC(), draws=1.5), "'draws' parameter"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(quantifier, sentence, reference):
    with pytest.raises(InputError, match=sentence):
        quantifier.fit(*reference)
