"""KDEy(averaging=True): the mean of the mixes under all settings that tie."""

import numpy as np
import pytest

from support import posteriors
from truemix import Bootstrap, InputError, KDEy, MixtureQuantifier, load, save
from truemix.inference import Averaging, MaximumLikelihood
from truemix.models import KernelDensity


@pytest.fixture(scope="module")
def data():
    P, codes = posteriors(150, 3, seed=0)
    batch, truth = posteriors(400, 3, seed=1)
    return P, codes, batch, np.bincount(truth, minlength=3) / 400


@pytest.fixture(scope="module")
def fitted(data):
    return KDEy(averaging=True).fit(*data[:2])


def tied(fitted):
    """Return the settings that count, from what ``selection_`` says."""
    chosen, *others = fitted.selection_
    return [chosen, *(each for each in others if each["tie"])]


def test_the_mix_is_the_mean_over_the_tied_settings(fitted, data):
    P, codes, batch, _ = data
    settings = tied(fitted)
    assert len(settings) > 3
    mixes = [
        KDEy(bandwidth=each["bandwidth"], shrinkage=each["shrinkage"]).fit(P, codes).predict(batch)
        for each in settings
    ]
    estimate = fitted.quantify(batch)
    # The solver stops at a duality gap of 1e-8.
    np.testing.assert_allclose(estimate.prevalence, np.mean(mixes, axis=0), atol=1e-6)
    assert np.ptp(mixes, axis=0).max() > 1e-3
    assert estimate.diagnostics["settings"] == len(settings)
    assert estimate.diagnostics["converged"]
    assert estimate.diagnostics["gap"] <= 1e-8


def test_groups_summaries_and_saved_quantifiers_have_the_same_answer(fitted, data, tmp_path):
    batch = data[2]
    expected = fitted.predict(batch)
    near = {"rtol": 0.0, "atol": 1e-9}
    groups = fitted.quantify_by(batch, np.repeat(["a", "b"], 200))
    np.testing.assert_allclose(groups["a"].prevalence, fitted.predict(batch[:200]), **near)
    np.testing.assert_allclose(
        fitted.quantify(fitted.summarize(batch)).prevalence, expected, **near
    )
    save(fitted, tmp_path / "saved")
    np.testing.assert_allclose(load(tmp_path / "saved").predict(batch), expected, **near)


def test_sampled_summaries_state_their_error(fitted, data):
    batch = np.tile(data[2], (5, 1)) ** np.linspace(0.9, 1.1, 2000)[:, None]
    batch /= batch.sum(axis=1, keepdims=True)
    estimate = fitted.quantify(fitted.summarize(batch, capacity=500))
    errors = np.array(estimate.diagnostics["summary"]["sampling_error"])
    assert (errors > 0).all()
    # Five hundred of two thousand rows: the answers are within a few of these errors.
    assert (np.abs(estimate.prevalence - fitted.predict(batch)) < 5 * errors).all()


def test_with_a_given_setting_there_is_nothing_to_average(data):
    P, codes, batch, _ = data
    given = {"bandwidth": 0.5, "shrinkage": 0.25}
    estimate = KDEy(averaging=True, **given).fit(P, codes).quantify(batch)
    np.testing.assert_array_equal(
        estimate.prevalence, KDEy(**given).fit(P, codes).quantify(batch).prevalence
    )
    assert estimate.diagnostics["settings"] == 1


def test_it_is_kernel_densities_and_averaging(fitted, data):
    composed = MixtureQuantifier(
        model=KernelDensity(), inference=Averaging(inference=MaximumLikelihood())
    )
    found = composed.fit(*data[:2]).predict(data[2])
    np.testing.assert_array_equal(found, fitted.predict(data[2]))


@pytest.mark.parametrize(
    ("quantifier", "sentence"),
    [
        (Bootstrap(KDEy(averaging=True)), "must be a quantifier without averaging=True"),
        (KDEy(averaging=True, unknown=True), "averaging=True and unknown=True, but"),
    ],
)
def test_what_cannot_average_says_so(quantifier, sentence, data):
    with pytest.raises(InputError, match=sentence):
        quantifier.fit(*data[:2])


def test_other_values_are_an_error(data):
    with pytest.raises(InputError, match="'averaging' parameter must be True or False"):
        KDEy(averaging="yes").fit(*data[:2])
