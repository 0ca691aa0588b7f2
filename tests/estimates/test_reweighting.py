import numpy as np
import pandas as pd
import polars as pl
import pytest

from estimate_support import estimate, sampled
from truemix import InputError, InputNote

P = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8]])


def test_weights_are_shares_over_reference_shares():
    point = estimate()
    table = point.weights()
    np.testing.assert_allclose(table["weight"], [1 / 3, 1, 3])
    assert table.columns.tolist() == ["weight"]
    assert table.index.tolist() == point.classes.tolist()


def test_weights_have_the_intervals_of_their_draws():
    both = sampled([20, 30, 50])
    table = both.weights(level=0.8)
    expected = both.interval(0.8) / both.train_prevalence[:, None]
    np.testing.assert_allclose(table[["lower", "upper"]], expected)


def test_a_class_without_reference_has_no_weight():
    with pytest.raises(InputError, match=r"Class 'class 1' has the share 0.0 in the reference"):
        estimate(2, train_prevalence=np.array([1.0, 0.0])).weights()


def test_adapted_posteriors_are_bayes_rule_for_the_new_mix():
    expected = P * [1 / 3, 1, 3]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(estimate().adapt(P), expected)
    names = ["class 2", "class 0", "class 1"]
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame({name: P[:, int(name[-1])] for name in names})
        np.testing.assert_allclose(estimate().adapt(table), expected)


def test_adapting_to_the_mix_of_the_reference_changes_nothing():
    same = estimate(prevalence=estimate().train_prevalence)
    np.testing.assert_allclose(same.adapt(P), P)


def test_items_that_only_absent_classes_explain_are_left_alone_with_a_note():
    absent = estimate(prevalence=np.array([0.5, 0.0, 0.5]))
    with pytest.warns(InputNote, match=r"1 of 3 rows of posteriors \(the first is row 1\)"):
        adapted = absent.adapt(P)
    np.testing.assert_array_equal(adapted[1], P[1])
    np.testing.assert_allclose(adapted.sum(axis=1), 1)
    assert adapted[0, 1] == 0


def test_tiny_posteriors_are_not_lost():
    half = estimate(2, prevalence=np.array([0.0, 1.0]), train_prevalence=np.array([0.5, 0.5]))
    np.testing.assert_array_equal(half.adapt([[1.0, 1e-320]]), [[0.0, 1.0]])


def test_what_are_no_posteriors_is_refused():
    with pytest.raises(InputError, match="posteriors has 2 columns, but there are 3 classes"):
        estimate().adapt(P[:, :2])
    with pytest.raises(InputError, match="Row 0 of posteriors sums to"):
        estimate().adapt(P * 2)
