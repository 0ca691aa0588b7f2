"""Data sets by name: the embedded suite needs nothing, and nothing is left out in silence."""

import numpy as np
import pytest

from truemix import InputError
from truemix_experiments.datasets import SUITES, available, load_dataset


@pytest.mark.parametrize("name", SUITES["embedded"])
def test_embedded_sets_need_nothing_and_have_the_catalogues_counts(name):
    data = load_dataset(name)
    assert data.notes == ()
    assert data.info.bag_size == 100
    assert len(data.fit) + len(data.validation) == len(data.train)
    np.testing.assert_allclose(data.train.X.mean(axis=0), 0, atol=1e-9)
    assert set(data.test.y) == set(range(len(data.classes)))


def test_every_set_is_reported_in_order_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = (*SUITES["paper"], *SUITES["embedded"])
    report = available(names, folder=tmp_path)
    assert [each.name for each in report] == list(names)
    for each in report:
        assert each.available == (each.name in SUITES["embedded"])
        assert each.available or repr(each.name) in each.explanation


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mnist", "There is no data set 'mnist'; did you mean 'MNIST'"),
        ("sklearn-irs", "did you mean 'sklearn-iris'"),
        ("embedded", "that is a suite, pass each of its names .*sklearn-wine"),
        ("zzz", "expected one of abalone, academic-success"),
    ],
)
def test_unknown_names_are_answered_with_known_ones(name, sentence):
    with pytest.raises(InputError, match=sentence):
        load_dataset(name)
    with pytest.raises(InputError, match=sentence):
        available([name])


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(InputError, match=r"There is no folder .*nowhere'; expected the folder"):
        load_dataset("cmc", folder=tmp_path / "nowhere")
