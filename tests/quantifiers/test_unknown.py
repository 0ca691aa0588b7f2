"""Items that belong to none of the classes."""

import numpy as np
import pytest

import truemix
from support import posteriors
from truemix import BayesianKDEy, Bootstrap, Estimate, InputError, KDEy
from truemix.metrics import absolute_error
from truemix.protocols import DirichletBags
from truemix.quantifiers import reference_uncertainty
from truemix.selection import GridSearch

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.1}
MIX = [0.6, 0.3, 0.1]
NAMES = np.array(["ham", "news", "spam"])


def strangers(n, seed):
    """Items that no class has: undecided in the same way, with a leaning to the second class."""
    logits = np.random.default_rng(seed).normal([3.0, 4.0, -4.0], 0.05, (n, 3))
    P = np.exp(logits)
    return P / P.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def reference():
    P, codes = posteriors(900, 3, seed=0, sharpness=6)
    return P, NAMES[codes]


def target(share, seed=1, n=500):
    n_strange = round(share * n)
    P, _ = posteriors(n - n_strange, 3, seed=seed, mix=MIX, sharpness=6)
    return np.concatenate([P, strangers(n_strange, seed)])


@pytest.mark.parametrize("kind", [KDEy, BayesianKDEy])
def test_the_unknown_share_is_found_and_the_classes_are_those_of_the_others(kind, reference):
    options = {"random_state": 0} if kind is BayesianKDEy else {}
    errors = {}
    for unknown in (False, True):
        quantifier = kind(**SMOOTH, unknown=unknown, **options).fit(*reference)
        found = [quantifier.quantify(target(0.2, seed)) for seed in range(1, 6)]
        mixes = np.array([each.prevalence for each in found])
        np.testing.assert_allclose(mixes.sum(axis=1), 1.0)
        errors[unknown] = absolute_error(np.tile(MIX, (5, 1)), mixes).mean()
    assert errors[True] < 0.5 * errors[False]
    shares = np.array([each.unknown.share for each in found])
    # The unknown takes typical items of the overlap, too, and leaves some strangers: roughly.
    assert (np.abs(shares - 0.2) < 0.06).all()


def test_without_strangers_it_is_small_and_by_default_it_is_absent(reference):
    plain = KDEy(**SMOOTH).fit(*reference).quantify(target(0.0))
    assert plain.unknown is None
    found = KDEy(**SMOOTH, unknown=True).fit(*reference).quantify(target(0.0))
    assert found.unknown.share < 0.03
    np.testing.assert_allclose(found.prevalence, plain.prevalence, atol=0.02)


def test_both_estimands_have_draws_and_an_interval(reference, tmp_path):
    quantifier = BayesianKDEy(**SMOOTH, unknown=True, random_state=0).fit(*reference)
    found = quantifier.quantify(target(0.2))
    assert found.unknown.draws.shape == (1000,)
    lower, upper = found.unknown.interval()
    assert 0.1 < lower < upper < 0.3
    source = found.of("population")
    assert source.unknown.share == pytest.approx(source.unknown.draws.mean())
    # About the source one is less sure than about these very items.
    assert np.ptp(source.unknown.interval()) > np.ptp(found.unknown.interval())
    np.testing.assert_allclose(found.draws.sum(axis=1), 1.0)
    assert "of the items seem to belong to none of these classes" in repr(found)
    found.save(tmp_path / "e")
    again = Estimate.load(tmp_path / "e")
    np.testing.assert_array_equal(again.unknown.draws, found.unknown.draws)
    np.testing.assert_array_equal(again.unknown.other_draws, found.unknown.other_draws)


@pytest.mark.parametrize("kind", [KDEy, BayesianKDEy])
def test_groups_files_searches_and_huge_batches_know_it_too(kind, reference, tmp_path, monkeypatch):
    options = {"random_state": 0, "draws": 200} if kind is BayesianKDEy else {}
    quantifier = kind(**SMOOTH, unknown=True, **options).fit(*reference)
    P = target(0.2, n=200)
    whole = quantifier.quantify(P)
    groups = quantifier.quantify_by(P, np.repeat(["a", "b"], 100))
    assert groups["a"].unknown.share < 0.05 < groups["b"].unknown.share
    truemix.save(quantifier, tmp_path / "q.npz")
    loaded = truemix.load(tmp_path / "q.npz").quantify(P)
    assert loaded.unknown.share == whole.unknown.share
    protocol = DirichletBags(n_bags=3, bag_size=50, random_state=0)
    search = GridSearch(quantifier, {"bandwidth": [0.2, 0.4], "unknown": [True, False]},
                        protocol=protocol)  # fmt: skip
    assert len(search.fit(*reference).results_) == 4
    monkeypatch.setattr(reference_uncertainty, "VERSIONS_BYTES", 4 * P.size * 30)
    np.testing.assert_allclose(quantifier.quantify(P).prevalence, whole.prevalence, atol=0.01)


def test_a_batch_of_strangers_only_has_no_mix_to_speak_of(reference):
    found = KDEy(**SMOOTH, unknown=True).fit(*reference).quantify(strangers(50, 3))
    assert found.unknown.share > 0.9
    assert np.isfinite(found.prevalence).all()
    assert found.prevalence.sum() == pytest.approx(1.0)


def test_wrong_values_are_named(reference):
    with pytest.raises(InputError, match="'unknown' parameter must be True or False"):
        KDEy(unknown="yes").fit(*reference)
    with pytest.raises(InputError, match=r"BayesianKDEy\(unknown=True\)"):
        Bootstrap(KDEy(unknown=True)).fit(*reference)
    with pytest.raises(InputError, match="point estimate"):
        KDEy(**SMOOTH, unknown=True).fit(*reference).quantify(target(0.2)).unknown.interval()
