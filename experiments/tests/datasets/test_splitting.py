"""Splits: the paper's sizes, the same mix in each part, no row twice, standardised by training."""

import numpy as np
import pytest

from truemix import InputError
from truemix_experiments.datasets import CATALOGUE, SUITES
from truemix_experiments.datasets.splitting import drop_rare_classes, split_table, stratified


def table(n, mix, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(len(mix), n, p=mix)
    # The first column names the row.
    X = np.column_stack([np.arange(n), rng.normal(5, 3, n), np.full(n, 7.0)])
    return X, y, np.arange(len(mix))


@pytest.mark.parametrize("name", SUITES["tabular"])
def test_split_sizes_follow_from_the_number_of_rows(name):
    info = CATALOGUE[name]
    n = info.n_train + info.n_test
    y = np.arange(n) % info.n_classes
    data = split_table(info, np.zeros((n, 1)), y, np.arange(info.n_classes))
    assert len(data.train) == info.n_train
    assert len(data.validation) == info.n_validation
    assert len(data.test) == info.n_test


def test_parts_have_the_same_mix_and_no_row_in_common():
    X, y, classes = table(1000, [0.5, 0.3, 0.2])
    data = split_table(CATALOGUE["cmc"], X, y, classes)
    ids = [pool.X[:, 0] for pool in (data.fit, data.validation, data.test)]
    assert len(np.unique(np.concatenate(ids))) == 1000
    assert set(data.train.X[:, 0]) == set(np.concatenate(ids[:2]))
    for pool in (data.train, data.fit, data.validation, data.test):
        share = np.bincount(pool.y) / len(pool)
        np.testing.assert_allclose(share, np.bincount(y) / 1000, atol=2 / len(pool))


def test_features_are_standardised_by_the_training_part_alone():
    X, y, classes = table(1000, [0.5, 0.3, 0.2])
    data = split_table(CATALOGUE["cmc"], X, y, classes)
    np.testing.assert_allclose(data.train.X[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.train.X[:, :2].std(axis=0), 1)
    assert abs(data.test.X[:, 1].mean()) > 1e-6
    # A column that never varies stays finite.
    np.testing.assert_array_equal(data.test.X[:, 2], 0)


def test_the_same_table_gives_the_same_split():
    first, second = (split_table(CATALOGUE["cmc"], *table(500, [0.6, 0.4])) for _ in range(2))
    np.testing.assert_array_equal(first.validation.X, second.validation.X)


def test_a_class_at_the_limit_stays_and_one_below_goes():
    y = np.repeat([0, 1, 2, 3], [290, 2, 3, 10])
    X, codes, classes = drop_rare_classes(np.arange(305.0)[:, None], y, np.array(list("abcde")))
    assert classes.tolist() == ["a", "c", "d"]
    assert np.bincount(codes).tolist() == [290, 3, 10]
    np.testing.assert_array_equal(np.flatnonzero(np.diff(X[:, 0]) > 1), [289])


def test_too_few_items_of_a_class_are_an_error_with_the_reason():
    with pytest.raises(InputError, match=r"3 items cannot be split into parts of 2 and 1"):
        stratified(np.array([0, 0, 1]), 2)
