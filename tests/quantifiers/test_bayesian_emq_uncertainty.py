"""A calibration is known only as well as the references tell."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import truemix
from support import in_order, posteriors
from truemix import EMQ, BayesianEMQ, InputError, _replicate_budget
from truemix._seeds import layer_seed
from truemix.calibration import CALIBRATORS
from truemix.inference import sample_mixture
from truemix.metrics import absolute_error, hard_coverage, winkler_score
from truemix.models import posterior_ratio
from truemix.models.bayesian_bootstrap import reference_weights
from truemix.models.posterior_ratio import WEIGHTS_SEED
from truemix.protocols import DirichletBags
from truemix.quantifiers.wiring import replicates_of
from truemix.selection import GridSearch, calibrate_temperature
from truemix.selection._validation import split

UNCERTAIN = {"calibration": "bcts", "reference_uncertainty": "bootstrap", "random_state": 0}


def overconfident(codes, rng, share=0.5):
    """Two normal classes, and twice the log-odds that are right where class 1 has this share."""
    x = rng.normal(size=len(codes)) + 1.4 * codes - 0.7
    p = 1 / (1 + np.exp(-2 * (1.4 * x + np.log(share / (1 - share)))))
    return np.column_stack([1 - p, p])


def data():
    return in_order(*posteriors(90, 3, seed=0)), posteriors(120, 3, seed=1)[0]


@pytest.mark.parametrize("calibration", CALIBRATORS)
def test_a_replicate_is_the_matrix_with_reweighted_references(calibration):
    (P, codes), target = data()
    found = BayesianEMQ(**{**UNCERTAIN, "calibration": calibration}).fit(P, codes)
    replicates = found.model_.replicates(target, np.arange(100), seed=0)
    assert replicates.shape == (100, 120, 3)
    weights = reference_weights(90, np.arange(100), WEIGHTS_SEED)[found.model_.map_order(0)]
    expected = []
    for w in weights:
        calibrator = CALIBRATORS[calibration]().fit(P, codes, sample_weight=w)
        shares = np.bincount(codes, w) / w.sum()
        expected.append(np.log(calibrator.transform(target)) - np.log(shares))
    # Log-likelihoods are defined up to a constant per row.
    ratios, expected = (e - e[:, :, :1] for e in (replicates, np.array(expected)))
    # Refits stop within 3 % of a standard error, of which the replicates have about one.
    assert np.abs(ratios - expected).max() < 0.1 * expected.std(axis=0).max()
    assert np.sqrt(np.mean((ratios - expected) ** 2)) < 0.01 * expected.std(axis=0).max()


def spread_of_log_odds(calibration, *, stratified, n=200, share=0.3):
    """Compare how log-odds spread over references drawn anew, and in replicates of some of them.

    Return the ratio for replicates over all references, and for weights within each class.
    """
    rng = np.random.default_rng(0)
    probe = overconfident(np.arange(20) % 2, rng, share)
    drawn, over_all, within = [], [], []
    for draw in range(150):
        codes = rng.choice(2, n, p=[1 - share, share])
        if stratified:
            codes = (np.arange(n) < share * n).astype(int)
        P = overconfident(codes, rng, share)
        quantifier = EMQ(calibration=calibration).fit(P, codes)
        drawn.append(log_odds(quantifier.model_.log_likelihood(probe)))
        if draw < 4:
            replicates = BayesianEMQ(**{**UNCERTAIN, "calibration": calibration}).fit(P, codes)
            over_all.append(
                log_odds(replicates.model_.replicates(probe, np.arange(100), seed=0)).std(axis=0)
            )
            weights = reference_weights(n, np.arange(100), 0)
            weights /= (weights @ np.eye(2)[codes])[:, codes] / np.bincount(codes)[codes]
            maps = quantifier.calibrator_.refits(P, codes, weights)
            within.append(log_odds(np.array([each.scores(probe) for each in maps])).std(axis=0))
    truth = np.std(drawn, axis=0)
    return np.mean(np.mean(over_all, axis=0) / truth), np.mean(np.mean(within, axis=0) / truth)


def log_odds(matrix):
    return matrix[..., 1] - matrix[..., 0]


# The spread over 150 draws is known to 6 %, that of 4 sets of replicates to about as much: 25 % is
# three standard errors of the ratio.
@pytest.mark.parametrize("stratified", [False, True])
def test_with_biases_replicates_spread_like_references_drawn_anew(stratified):
    """Also with weights within each class: what a share gains the bias gains too."""
    over_all, within = spread_of_log_odds("bcts", stratified=stratified)
    assert over_all == pytest.approx(1, abs=0.25)
    assert within == pytest.approx(over_all, rel=0.1)


def test_without_biases_only_weights_over_all_classes_spread_like_random_references():
    over_all, within = spread_of_log_odds("ts", stratified=False)
    assert over_all == pytest.approx(1, abs=0.25)
    assert within < 0.75 * over_all


def test_with_few_references_intervals_cover_where_a_known_calibration_does_not(monkeypatch):
    """Forty references per class, drawn anew for every three batches; the population view."""
    # Fewer replicates than usual, because they are most of the work.
    monkeypatch.setattr(_replicate_budget, "MAX_REPLICATES", 50)
    monkeypatch.setattr(posterior_ratio, "MAX_REPLICATES", 50)
    rng = np.random.default_rng(0)
    codes, groups = np.repeat([0, 1], 40), np.repeat([0, 1, 2], 500)
    covered = {"bootstrap": [], None: []}
    for _ in range(40):
        P = overconfident(codes, rng)
        truths = rng.dirichlet([1, 1], size=3)
        target = overconfident((rng.random(1500) < truths[groups, 1]).astype(int), rng)
        for kind, hits in covered.items():
            quantifier = BayesianEMQ(
                calibration="bcts", reference_uncertainty=kind, random_state=0,
                estimand="population", draws=400,
            )  # fmt: skip
            estimates = quantifier.fit(P, codes).quantify_by(target, groups)
            hits += [hard_coverage(truths[k], each.interval()) for k, each in estimates.items()]
    # 120 trials know a coverage of 95 % to 2 points, a little less because three share references.
    assert abs(np.mean(covered["bootstrap"]) - 0.95) < 0.06
    assert np.mean(covered[None]) < 0.75


def test_with_huge_references_it_changes_nothing():
    P, codes = posteriors(10_000, 2, seed=0)
    target, _ = posteriors(100, 2, seed=1, mix=[0.8, 0.2])
    settings = {**UNCERTAIN, "estimand": "population", "draws": 4000}
    found = BayesianEMQ(**settings).fit(P, codes).quantify(target)
    plain = BayesianEMQ(**{**settings, "reference_uncertainty": None}).fit(P, codes)
    known = plain.quantify(target)
    sizes = found.diagnostics
    assert sizes["replicates"] == 100
    assert (sizes["between_variance"] < 0.05 * sizes["within_variance"]).all()
    spread = known.draws.std(axis=0)
    # Means of 4000 draws worth at least 1000: 5 standard errors of a difference.
    assert (np.abs(found.prevalence - known.prevalence) < 5 * spread * np.sqrt(2 / 1000)).all()
    np.testing.assert_allclose(found.draws.std(axis=0), spread, rtol=0.1)


def test_without_it_the_calibration_is_taken_as_known():
    (P, codes), target = data()
    found = BayesianEMQ(calibration="vs", reference_uncertainty=None, random_state=1).fit(P, codes)
    calibrated = found.calibrator_.transform(target)
    sample = sample_mixture(np.log(calibrated / found.train_prevalence_), random_state=1)
    np.testing.assert_array_equal(found.quantify(target).draws, sample.batch)


def test_each_replicate_takes_one_model_in_turn():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 3
    X = rng.normal(size=(120, 3)) + 2 * np.eye(3)[codes]
    found = BayesianEMQ(classifier=LogisticRegression(), cv=3, crossfit=True, **UNCERTAIN)
    found.fit(X, codes)
    scored = found.posteriors(X[:10])
    replicates = replicates_of(found.model_, found.inference_, scored)
    ((_, matrices),) = replicates.blocks(100)
    for v in (0, 1, 2, 4):
        seed = layer_seed(0, v % 3)
        (expected,) = found.model_.replicates(scored[v % 3], np.array([v // 3]), seed)
        np.testing.assert_array_equal(matrices[v], expected)
    # No two of a hundred use the same map on the same layer.
    assert len(np.unique(matrices, axis=0)) == 100
    assert found.quantify(X[:10]).diagnostics["replicates"] == 100


@pytest.mark.parametrize(
    "setting", [{"temperature": 3.0}, {"prior": [1, 2, 5]}, {"prior": "mapls"}], ids=repr
)
def test_temperature_and_priors_work_with_it(setting):
    (P, codes), target = data()
    found = BayesianEMQ(**UNCERTAIN, draws=200, **setting).fit(P, codes).quantify(target)
    np.testing.assert_allclose(found.draws.sum(axis=1), 1)
    assert found.diagnostics["replicates"] == 100
    # Prior and mode are those of the fitted map.
    plain = BayesianEMQ(reference_uncertainty=None, random_state=0, draws=200, **setting)
    known = plain.fit(P, codes).quantify(target).diagnostics
    np.testing.assert_allclose(found.diagnostics["map"], known["map"], atol=1e-7)
    np.testing.assert_allclose(found.diagnostics["prior"], known["prior"], rtol=1e-9)


def test_groups_and_large_batches_have_the_answers_they_have_alone(monkeypatch):
    (P, codes), target = data()
    groups = np.arange(120) % 4
    for prior in (1.0, "mapls"):
        quantifier = BayesianEMQ(**UNCERTAIN, prior=prior, draws=200).fit(P, codes)
        together = quantifier.quantify_by(target, groups)
        for key, estimate in together.items():
            alone = quantifier.quantify(target[groups == key])
            np.testing.assert_array_equal(estimate.draws, alone.draws)
    whole = quantifier.quantify(target)
    # Room for 40 replicates at a time.
    monkeypatch.setattr(_replicate_budget, "MIN_REPLICATES", 100)
    monkeypatch.setattr(_replicate_budget, "HALF_HELD_BYTES", 40 * 2 * target.size)
    in_blocks = quantifier.quantify(target)
    assert in_blocks.diagnostics["replicates"] == 100
    np.testing.assert_array_equal(in_blocks.draws, whole.draws)


@pytest.mark.parametrize("calibration", CALIBRATORS)
def test_a_loaded_quantifier_has_the_same_replicates(calibration, tmp_path):
    (P, codes), target = data()
    settings = {**UNCERTAIN, "calibration": calibration, "draws": 200}
    quantifier = BayesianEMQ(**settings).fit(P, np.array(["a", "b", "ä"])[codes])
    truemix.save(quantifier, tmp_path / "q.npz")
    loaded = truemix.load(tmp_path / "q.npz")
    np.testing.assert_array_equal(loaded.quantify(target).draws, quantifier.quantify(target).draws)
    with np.load(tmp_path / "q.npz") as file:
        assert not any(len(P) in np.shape(file[name]) for name in file.files), "references inside"


def test_searches_work_with_it():
    P, codes = posteriors(200, 3, seed=0)
    protocol = DirichletBags(n_bags=4, bag_size=50, random_state=0)
    quantifier = BayesianEMQ(**UNCERTAIN, draws=100)
    search = GridSearch(quantifier, {"calibration": ["ts", "vs"]}, protocol=protocol).fit(P, codes)
    result = calibrate_temperature(quantifier, P, codes, protocol=protocol, grid=[1, 4, 100])

    # The same from plain fits on the items not held out, and plain estimates of each bag.
    held_out = split(codes, np.arange(3), 0.4)
    rest = np.setdiff1d(np.arange(200), held_out)
    drawn = list(protocol.bags(codes[held_out], np.arange(3)))
    truth = np.array([bag.prevalence for bag in drawn])

    def estimates(**setting):
        fitted = clone(quantifier).set_params(**setting).fit(P[rest], codes[rest])
        return [fitted.quantify(P[held_out[bag.index]]) for bag in drawn]

    errors = [
        absolute_error(truth, [each.prevalence for each in estimates(calibration=c)]).mean()
        for c in ("ts", "vs")
    ]
    np.testing.assert_allclose(search.results_["score"], errors, rtol=1e-6)
    assert search.best_params_ == {"calibration": ("ts", "vs")[int(np.argmin(errors))]}
    assert search.best_quantifier_.reference_uncertainty == "bootstrap"
    winkler = [
        winkler_score(truth, [each.interval() for each in estimates(temperature=t)]).mean()
        for t in (1.0, 4.0, 100.0)
    ]
    np.testing.assert_allclose(result.results["winkler_score"], winkler, rtol=1e-6)
    assert result.temperature == (1.0, 4.0, 100.0)[int(np.argmin(winkler))]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"calibration": "ts", "reference_uncertainty": "x"}, "'reference_uncertainty' parameter"),
        (
            {"calibration": None, "reference_uncertainty": "bootstrap"},
            "choose one, such as calibration='bcts'",
        ),
    ],
)
def test_wrong_parameters_are_refused_in_fit(parameters, sentence):
    (P, codes), _ = data()
    with pytest.raises(InputError, match=sentence):
        BayesianEMQ(**parameters).fit(P, codes)
