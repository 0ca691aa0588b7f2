"""A model that a user wrote, two methods long, works wherever those of truemix do."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

import truemix
from support import posteriors
from truemix import Bootstrap, InputError, KDEy, MixtureQuantifier, evaluate
from truemix.checks import label_shift
from truemix.inference import (
    Counting,
    LeastSquares,
    MaximumLikelihood,
    Posterior,
    Resampling,
    maximize_mixture,
)
from truemix.models import (
    Confusion,
    KernelDensity,
    LikelihoodModel,
    PosteriorRatio,
    WithUnknown,
)
from truemix.protocols import DirichletBags
from truemix.selection import GridSearch, calibrate_temperature

BAGS = DirichletBags(n_bags=8, bag_size=100, random_state=0)


class TwoMethods:
    """A Dirichlet density per class, by its moments."""

    def fit(self, posteriors, codes, n_classes):
        self.shapes = np.array([moments(posteriors[codes == k]) for k in range(n_classes)])

    def log_likelihood(self, posteriors):
        tidy = np.clip(posteriors, 1e-6, None)
        tidy = tidy / tidy.sum(axis=1, keepdims=True)
        return np.stack([stats.dirichlet(each).logpdf(tidy.T) for each in self.shapes], axis=1)


class WithParameter(BaseEstimator):
    """The same with a parameter, and with what saving takes."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, posteriors, codes, n_classes):
        self.inner_ = TwoMethods()
        self.inner_.fit(posteriors, codes, n_classes)
        return self

    def log_likelihood(self, posteriors):
        return self.power * self.inner_.log_likelihood(posteriors)

    def state(self):
        return {"shapes": self.inner_.shapes}

    def restore(self, state, n_classes):
        self.inner_ = TwoMethods()
        self.inner_.shapes = state["shapes"]


def moments(P):
    mean, variance = P.mean(axis=0), P.var(axis=0)
    return mean * (np.sum(mean * (1 - mean)) / np.sum(variance) - 1)


@pytest.fixture(scope="module")
def data():
    return posteriors(400, 3, seed=0), posteriors(300, 3, seed=1, mix=[0.6, 0.3, 0.1])


def test_its_answer_is_that_of_the_matrix(data):
    (P, y), (target, _) = data
    assert isinstance(TwoMethods(), LikelihoodModel)
    quantifier = MixtureQuantifier(model=TwoMethods(), inference=MaximumLikelihood()).fit(P, y)
    model = TwoMethods()
    model.fit(P, y, 3)
    expected = maximize_mixture(model.log_likelihood(target))
    np.testing.assert_allclose(quantifier.predict(target), expected.prevalence, atol=1e-9)
    assert quantifier.quantify(target).diagnostics["gap"] <= 1e-8
    # The model that was passed stays as it was.
    assert not hasattr(quantifier.model, "shapes")


def test_it_can_be_sampled_grouped_checked_and_reported(data, tmp_path):
    (P, y), (target, truth) = data
    quantifier = MixtureQuantifier(model=TwoMethods(), inference=Posterior(random_state=0))
    quantifier.fit(P, y)
    estimate = quantifier.quantify(target, check=True)
    lower, upper = estimate.interval().T
    shares = np.bincount(truth) / len(truth)
    # A Dirichlet density is only nearly that of these items.
    assert ((lower - 0.02 <= shares) & (shares <= upper + 0.02)).all()
    assert estimate.checks["label_shift"].passed
    assert label_shift(quantifier, target, random_state=0).passed
    assert len(quantifier.quantify_by(target, np.arange(300) % 3)) == 3
    assert "MixtureQuantifier" in repr(estimate)
    estimate.save(tmp_path / "estimate.npz")
    assert estimate.settings["random_state"] == 0


@pytest.mark.parametrize(
    "model", [TwoMethods(), WithParameter(), KernelDensity(bandwidth=0.3, shrinkage=0.1)]
)
def test_any_model_may_have_an_unknown_class_and_be_bootstrapped(model, data):
    (P, y), (target, _) = data
    known = MixtureQuantifier(model=model, inference=MaximumLikelihood())
    unknown = MixtureQuantifier(model=WithUnknown(model=model), inference=MaximumLikelihood())
    estimate = unknown.fit(P, y).quantify(target)
    assert estimate.prevalence.sum() == pytest.approx(1)
    assert 0 <= estimate.unknown.share < 0.2
    for references in (False, True):
        found = Bootstrap(known, draws=40, references=references, random_state=0).fit(P, y)
        draws = found.quantify(target).draws
        np.testing.assert_allclose(draws.mean(axis=0), known.fit(P, y).predict(target), atol=0.05)


def test_its_parameters_are_searched_and_its_temperature_is_calibrated(data):
    (P, y), _ = data
    quantifier = MixtureQuantifier(
        model=WithParameter(), inference=Posterior(draws=100, random_state=0)
    )
    search = GridSearch(
        MixtureQuantifier(model=WithParameter(), inference=MaximumLikelihood()),
        {"model__power": [0.2, 1.0, 5.0]},
        protocol=BAGS,
    ).fit(P, y)
    assert search.results_["score"].idxmin() == search.results_["model__power"].tolist().index(
        search.best_params_["model__power"]
    )
    assert search.best_quantifier_.model.power == search.best_params_["model__power"]
    found = calibrate_temperature(quantifier, P, y, protocol=BAGS, grid=[1.0, 4.0], verbose=False)
    assert found.quantifier.inference.temperature == found.temperature
    assert list(found.results["temperature"]) == [1.0, 4.0]
    assert found.results["width"].is_monotonic_increasing


def test_nested_parameters_are_read_set_and_cloned():
    quantifier = MixtureQuantifier(
        model=KernelDensity(bandwidth=0.3), inference=Posterior(draws=10), classifier=None
    )
    copy = clone(quantifier).set_params(model__bandwidth=0.5, inference__draws=20, cv=3)
    assert (copy.model.bandwidth, copy.inference.draws, copy.cv) == (0.5, 20, 3)
    assert (quantifier.model.bandwidth, quantifier.inference.draws) == (0.3, 10)
    assert {"model__kernel", "inference__prior"} <= set(quantifier.get_params())


def test_it_is_saved_and_loaded_with_its_class_at_hand(data, tmp_path):
    (P, y), (target, _) = data
    path = tmp_path / "q.npz"
    quantifier = MixtureQuantifier(
        model=WithParameter(power=0.7), inference=Posterior(draws=60, random_state=3)
    ).fit(P, y)
    truemix.save(quantifier, path)
    with pytest.raises(InputError, match=r"model or inference 'WithParameter' that is not one of"):
        truemix.load(path)
    loaded = truemix.load(path, parts=[WithParameter])
    np.testing.assert_array_equal(loaded.quantify(target).draws, quantifier.quantify(target).draws)
    two = MixtureQuantifier(model=TwoMethods(), inference=MaximumLikelihood()).fit(P, y)
    with pytest.raises(InputError, match="are not known, so it cannot be saved; let it inherit"):
        truemix.save(two, path)


def test_parts_of_truemix_are_loaded_by_themselves(data, tmp_path):
    (P, y), (target, _) = data
    for model, inference in (
        (KernelDensity(), Posterior(draws=60)),
        (WithUnknown(model=KernelDensity(bandwidth=0.3)), MaximumLikelihood()),
        (PosteriorRatio(uncertain=True), Posterior(draws=60, prior={0: 1, 1: 2, 2: 3})),
        (Confusion(soft=True), LeastSquares()),
        (Confusion(), Resampling(inference=Counting(), draws=50)),
    ):
        quantifier = MixtureQuantifier(model=model, inference=inference).fit(P, y)
        truemix.save(quantifier, tmp_path / "q.npz")
        loaded = truemix.load(tmp_path / "q.npz")
        np.testing.assert_array_equal(loaded.predict(target), quantifier.predict(target))


def test_presets_are_their_parts(data):
    (P, y), (target, _) = data
    preset = KDEy(bandwidth=0.3, shrinkage=0.1)
    composed = MixtureQuantifier(
        model=KernelDensity(bandwidth=0.3, shrinkage=0.1), inference=MaximumLikelihood()
    )
    expected = preset.fit(P, y).predict(target)
    np.testing.assert_array_equal(composed.fit(P, y).predict(target), expected)
    model, inference = preset.parts()
    assert (repr(model), repr(inference)) == (repr(composed.model), repr(composed.inference))


def test_with_a_classifier_it_sees_out_of_fold_posteriors():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 3)) + 2 * np.eye(3)[y]
    for crossfit, layers in ((True, 5), (False, 1)):
        quantifier = MixtureQuantifier(
            model=TwoMethods(), inference=Posterior(draws=100, random_state=0),
            classifier=LogisticRegression(), crossfit=crossfit,
        ).fit(X, y)  # fmt: skip
        assert quantifier.posteriors(X[:7]).shape == (layers, 7, 3)
        assert quantifier.predict(X) == pytest.approx(np.full(3, 1 / 3), abs=0.06)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            {"model": 3, "inference": MaximumLikelihood()},
            "'model' parameter must be an object with",
        ),
        ({"model": TwoMethods(), "inference": "em"}, "'inference' parameter must be an inference"),
        (
            {"model": TwoMethods(), "inference": LeastSquares()},
            "LeastSquares needs observations, such as decisions, but the model TwoMethods makes",
        ),
        ({"model": KernelDensity(bandwidth=-1), "inference": Posterior()}, "'bandwidth' parameter"),
        ({"model": TwoMethods(), "inference": Posterior(draws=0)}, "'draws' parameter must be"),
    ],
)
def test_parts_that_do_not_fit_are_named(parts, sentence, data):
    (P, y), _ = data
    with pytest.raises(InputError, match=sentence):
        MixtureQuantifier(**parts).fit(P, y).predict(P)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda L: L[:, :2], r"Odd.log_likelihood returned an array of shape \(400, 2\); expected"),
        (lambda L: L[0], r"returned an array of shape \(3,\); expected \(400, 3\): one row per"),
        (lambda L: L * np.nan, "log_likelihood is .*nan in row 0, column 0; every entry must be"),
        (lambda L: L - np.inf, "log_likelihood is -inf for every class in row 0; each item must"),
    ],
)
def test_a_matrix_that_is_none_is_told(change, sentence, data):
    (P, y), _ = data

    class Odd(TwoMethods):
        def log_likelihood(self, posteriors):
            return change(super().log_likelihood(posteriors))

    for inference in (MaximumLikelihood(), Posterior(random_state=0)):
        fitted = MixtureQuantifier(model=Odd(), inference=inference).fit(P, y)
        with pytest.raises(InputError, match=sentence):
            fitted.predict(P)


def test_it_is_evaluated_beside_others(data):
    (P, y), (target, truth) = data
    fitted = {
        "own": MixtureQuantifier(model=TwoMethods(), inference=MaximumLikelihood()).fit(P, y),
        "KDEy": KDEy(bandwidth=0.3, shrinkage=0.1).fit(P, y),
    }
    frame = evaluate(fitted, target, truth, protocol=BAGS, metrics=["absolute_error"])
    assert frame.groupby("quantifier").size().to_dict() == {"own": 8, "KDEy": 8}
    bags = list(BAGS.bags(truth))
    for row in frame.itertuples():
        found = fitted[row.quantifier].predict(target[bags[row.bag].index])
        # Another start of the solver, which stops at a gap of 1e-8.
        np.testing.assert_allclose(row.estimated, found, atol=1e-5)
        error = np.abs(found - bags[row.bag].prevalence).mean()
        assert row.absolute_error == pytest.approx(error, abs=1e-5)
