"""Same input, same answer as QuaPy 0.2.3 where it is right, and what differs where it is not."""

import numpy as np
import pytest

from support import Given, posteriors
from truemix import ACC, CC, EMQ, PACC, PCC, PQ, KDEy
from truemix.densities import kde_log_likelihood

# QuaPy and what it imports warn about their own use of NumPy, scikit-learn and SciPy.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def quapy():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import quapy.method.aggregative
    return quapy.method.aggregative


@pytest.fixture(scope="module")
def data():
    reference, labels = posteriors(600, 3, seed=0)
    target, _ = posteriors(500, 3, seed=1, mix=[0.6, 0.3, 0.1])
    return reference, labels, target


def quapy_log_densities(quapy, reference, labels, target, **parameters):
    fitted = quapy.KDEyML(Given(), **parameters).fit(reference, labels)
    columns = [
        fitted.pdf(kde, target, fitted.kernel, log_densities=True) for kde in fitted.mix_densities
    ]
    return np.array(columns).T, fitted


@pytest.mark.parametrize(
    ("kernel", "bandwidth", "shrinkage"),
    [("gaussian", 0.1, 0.0), ("aitchison", 0.3, 0.1), ("aitchison", 0.5, 0.9), ("ilr", 0.4, 0.25)],
)
def test_kdey_agrees_where_densities_are_moderate(quapy, data, kernel, bandwidth, shrinkage):
    settings = {"kernel": kernel, "bandwidth": bandwidth, "shrinkage": shrinkage}
    theirs, fitted = quapy_log_densities(quapy, *data, **settings)
    ours = kde_log_likelihood(*data, **settings)
    # Its trees stop at a relative tolerance of 1e-8 per density.
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    # Its SLSQP stops at 1e-6 of the log-likelihood; ours at a certified 1e-8.
    mix = KDEy(**settings).fit(*data[:2]).predict(data[2])
    np.testing.assert_allclose(mix, fitted.predict(data[2]), atol=1e-4)


def test_quapy_densities_are_wrong_in_the_tails_of_log_ratio_space(quapy):
    """Ten classes, a small bandwidth: a fifth of its log densities are off, ours are exact."""
    reference, labels = posteriors(1000, 10, seed=0, sharpness=20, spread=0.2)
    target, _ = posteriors(100, 10, seed=1, sharpness=20, spread=0.2)
    settings = {"kernel": "aitchison", "bandwidth": 0.1, "shrinkage": 0.001}
    theirs, _ = quapy_log_densities(quapy, reference, labels, target, **settings)
    ours = kde_log_likelihood(reference, labels, target, **settings)
    off = np.abs(theirs - ours) > 0.1
    assert off.mean() > 0.1
    # The judge: the definition, for the item and class with the largest difference.
    i, k = np.unravel_index(np.abs(theirs - ours).argmax(), ours.shape)
    shrunk = [0.999 * p + 0.001 / 10 for p in (reference[labels == k], target[i : i + 1])]
    members, item = (np.log(p) - np.log(p).mean(axis=1, keepdims=True) for p in shrunk)
    squared = ((members - item) ** 2).sum(axis=1) / (0.999 * 0.1) ** 2
    lowest = squared.min()
    definition = -lowest / 2 + np.log(np.exp((lowest - squared) / 2).mean())
    definition -= 10 / 2 * np.log(2 * np.pi * (0.999 * 0.1) ** 2)
    assert ours[i, k] == pytest.approx(definition, abs=1e-8)
    assert abs(theirs[i, k] - definition) > 100


def test_counting_methods_agree(quapy, data):
    reference, labels, target = data
    for theirs, ours in ((quapy.CC, CC), (quapy.PCC, PCC)):
        expected = theirs(Given()).fit(reference, labels).predict(target)
        found = ours().fit(reference, labels).predict(target)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_acc_agrees(quapy, data):
    reference, labels, target = data
    expected = quapy.ACC(Given()).fit(reference, labels).predict(target)
    found = ACC().fit(reference, labels).predict(target)
    # Least squares on the simplex by SLSQP with finite differences on its side.
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_pacc_agrees(quapy, data):
    reference, labels, target = data
    expected = quapy.PACC(Given()).fit(reference, labels).predict(target)
    found = PACC().fit(reference, labels).predict(target)
    # As for ACC.
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_pq_counts_the_same_bins(quapy):
    """Its sampler needs Stan; what it is given does not."""
    from quapy.method import confidence

    reference, labels = posteriors(200, 2, seed=0)
    theirs = confidence.PQ.__new__(confidence.PQ)
    theirs.nbins, theirs.fixed_bins = 5, False
    theirs.classifier = Given().fit(reference, labels)
    theirs.aggregation_fit(reference, labels)
    found = PQ(bins=5).fit(reference, labels).model_.counts_
    np.testing.assert_array_equal(found, [theirs.neg_hist, theirs.pos_hist])


@pytest.mark.parametrize("calibration", [None, "ts", "bcts"])
def test_emq_agrees_as_far_as_quapy_iterates(quapy, data, calibration):
    reference, labels, target = data
    folds = {} if calibration is None else {"val_split": 5}
    fitted = quapy.EMQ(Given(), calib=calibration, **folds).fit(reference, labels)
    expected = fitted.predict(target)
    ours = EMQ(calibration=calibration).fit(reference, labels)
    # QuaPy stops EM when a step moves the shares by less than 1e-4 on average; what is left of
    # the way is up to ten such steps here.
    np.testing.assert_allclose(ours.predict(target), expected, atol=2e-3)
    matrix = ours.model_.log_likelihood(target)

    def log_likelihood(mix):
        return np.log(np.exp(matrix) @ mix).mean()

    assert log_likelihood(ours.predict(target)) >= log_likelihood(expected) - 1e-8


def test_quapy_confuses_labels_minus_one_and_one_when_it_calibrates(quapy):
    """Its calibrator uses labels as array positions, where -1 means the last class."""
    reference, codes = posteriors(400, 2, seed=0)
    target, _ = posteriors(500, 2, seed=1, mix=[0.8, 0.2])
    signs = np.array([-1, 1])[codes]
    right = quapy.EMQ(Given(), val_split=5, calib="bcts").fit(reference, codes).predict(target)
    wrong = quapy.EMQ(Given(), val_split=5, calib="bcts").fit(reference, signs).predict(target)
    assert abs(wrong[0] - right[0]) > 0.5
    ours = EMQ(calibration="bcts").fit(reference, signs).predict(target)
    np.testing.assert_allclose(ours, right, atol=2e-3)
