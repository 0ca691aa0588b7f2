"""Image sets from saved outputs of a network: formats, split and calibration."""

import numpy as np
import pytest
from scipy.special import softmax

from truemix import InputError
from truemix.calibration import BiasCorrectedTemperatureScaling
from truemix_experiments.datasets import CATALOGUE, DatasetUnavailable, available, load_dataset


def outputs(n, seed):
    """Draw labels, and logits that are three times too sure."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 10
    return 9.0 * (rng.normal(size=(n, 10)) + 3.0 * np.eye(10)[y]), y


def contents(n=1000, n_test=400):
    logits, y = outputs(n, 0)
    logits_test, y_test = outputs(n_test, 1)
    return {"logits_holdout": logits, "y_holdout": y, "logits_test": logits_test, "y_test": y_test}


def nll(P, y):
    return -np.log(P[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("file", ["MNIST.npz", "mnist.npz", "posteriors/logits_mnist_cnn.npz"])
def test_the_hold_out_is_split_60_to_40_and_calibrated(tmp_path, file):
    arrays = contents()
    (tmp_path / file).parent.mkdir(exist_ok=True)
    np.savez(tmp_path / file, **arrays)
    data = load_dataset("MNIST", folder=tmp_path)
    assert data.given_posteriors
    assert data.fit is data.train
    assert [len(p) for p in (data.train, data.validation, data.test)] == [600, 400, 400]
    assert np.bincount(data.train.y).tolist() == [60] * 10
    for pool in (data.train, data.validation, data.test):
        np.testing.assert_allclose(pool.X.sum(axis=1), 1)
    # The map is learned from the whole hold-out and applied to everything.
    holdout, test = (softmax(arrays[f"logits_{part}"], axis=1) for part in ("holdout", "test"))
    calibrator = BiasCorrectedTemperatureScaling().fit(holdout, arrays["y_holdout"])
    np.testing.assert_allclose(data.test.X, calibrator.transform(test), atol=1e-12)
    found = np.concatenate([data.train.X, data.validation.X])
    expected = calibrator.transform(holdout)
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), atol=1e-12)
    assert nll(data.test.X, data.test.y) < nll(test, data.test.y)
    np.testing.assert_array_equal(data.test.y, arrays["y_test"])
    assert available(["MNIST"], folder=tmp_path)[0].explanation.lower().endswith(file.lower())


def test_posteriors_serve_as_well_as_logits(tmp_path):
    arrays = contents()
    given = {
        "posteriors_holdout": softmax(arrays["logits_holdout"], axis=1),
        "posteriors_test": softmax(arrays["logits_test"], axis=1),
        "y_holdout": arrays["y_holdout"],
        "y_test": arrays["y_test"],
    }
    (tmp_path / "P").mkdir()
    np.savez(tmp_path / "P" / "SVHN.npz", **given)
    np.savez(tmp_path / "SVHN.npz", **arrays)
    first, second = (load_dataset("SVHN", folder=f) for f in (tmp_path / "P", tmp_path))
    np.testing.assert_allclose(first.train.X, second.train.X, atol=1e-12)


def test_logits_in_half_precision_are_widened_first(tmp_path):
    arrays = contents()
    arrays["logits_holdout"] = (arrays["logits_holdout"]).astype(np.float16)
    np.savez(tmp_path / "MNIST.npz", **arrays)
    assert load_dataset("MNIST", folder=tmp_path).train.X.dtype == np.float64


@pytest.mark.parametrize(
    ("file", "network", "noted"),
    [
        ("logits_cifar10_cnn.npz", None, True),
        ("logits_cifar10_resnet18.npz", None, False),
        ("CIFAR10.npz", None, False),
        ("CIFAR10.npz", "cnn", True),
        ("CIFAR10.npz", "ResNet18", False),
    ],
)
def test_another_network_than_the_papers_is_noted(tmp_path, file, network, noted):
    extra = {} if network is None else {"network": network}
    np.savez(tmp_path / file, **contents(), **extra)
    notes = load_dataset("CIFAR10", folder=tmp_path).notes
    assert ("The network is a CNN; the paper's is a ResNet18." in notes) == noted


def test_the_papers_network_is_taken_first(tmp_path):
    for file in ("logits_cifar10_cnn.npz", "logits_cifar10_resnet18.npz"):
        np.savez(tmp_path / file, **contents())
    assert "resnet18" in available(["CIFAR10"], folder=tmp_path)[0].explanation


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"logits_test": np.zeros((400, 9))}, "The test part of .* has 9 columns; expected one"),
        ({"y_test": np.zeros(7, int)}, "400 rows, but y_test in .* has 7 labels"),
        ({"y_holdout": np.full(1000, 10)}, "Row 0 of y_holdout in .* is 10; expected class"),
        ({"y_holdout": np.arange(1000) % 9}, "Class 9 has no reference items"),
        ({"logits_holdout": np.full((1000, 10), np.inf)}, "is inf; expected finite"),
    ],
)
def test_each_wrong_array_has_its_sentence(tmp_path, change, sentence):
    np.savez(tmp_path / "MNIST.npz", **contents() | change)
    with pytest.raises(InputError, match=sentence):
        load_dataset("MNIST", folder=tmp_path)


def test_a_file_without_outputs_is_named(tmp_path):
    y = np.arange(100) % 10
    np.savez(tmp_path / "MNIST.npz", y_holdout=y, y_test=y)
    with pytest.raises(InputError, match="neither logits_holdout nor posteriors_holdout"):
        load_dataset("MNIST", folder=tmp_path)


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(DatasetUnavailable, match=r"no SVHN\.npz in .*examples/train_cnn\.py"):
        load_dataset("SVHN", folder=tmp_path)
    assert CATALOGUE["SVHN"].source.network == "ResNet18"
