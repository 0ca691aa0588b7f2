"""Sums that rounding explains, against tables that were rounded, and against ones that were not."""

import numpy as np
import pytest

from support import posteriors
from truemix import InputError, InputNote
from truemix._rounding import Rounding, has_decimals
from truemix.validation import RowSums, check_posteriors


@pytest.mark.parametrize("n_classes", [2, 3, 10, 40])
@pytest.mark.parametrize("decimals", [1, 2, 3, 4])
def test_rounding_explains_every_table_that_was_rounded(n_classes, decimals):
    P = np.round(posteriors(2000, n_classes, decimals)[0], decimals)
    # Rows that were rounded to nothing hold nothing.
    P = P[P.sum(axis=1) > 0]
    rounding = Rounding()
    assert rounding.first_unexplained(P, np.arange(len(P)), start=0) is None
    assert rounding.decimals == decimals


def test_numbers_that_were_stored_with_32_bits_are_rounded_too():
    P = np.round(posteriors(500, 3, 0)[0], 2).astype(np.float32)
    assert has_decimals(P.astype(float), 2)
    assert not has_decimals(posteriors(500, 3, 0)[0], 5)


def test_a_table_that_was_not_rounded_explains_nothing():
    P, _ = posteriors(500, 3, 0)
    P[300] = [0.33, 0.33, 0.33]
    with pytest.raises(InputError, match=r"^Row 300 of X sums to 0.99\. .*within 0.001"):
        check_posteriors(P)


def test_rounding_is_said_with_what_it_did():
    P = np.round(posteriors(500, 3, 0)[0], 2)
    with pytest.warns(InputNote, match=r"they are rounded to 2 decimals and sum to 1 only within"):
        repaired = check_posteriors(P)
    np.testing.assert_allclose(repaired.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        ([0.33, 0.33, 0.33], True),
        # Zeros were at most half a hundredth, and could not have been less.
        ([0.99, 0.0, 0.0], True),
        ([1.0, 0.01, 0.0], True),
        ([0.98, 0.0, 0.0], False),
        ([0.34, 0.35, 0.33], False),
        ([1.01, 0.01, 0.0], False),
        ([0.0, 0.0, 0.0], False),
    ],
)
def test_a_sum_is_explained_by_half_a_unit_of_each_value(row, fits):
    table = np.array([[0.25, 0.51, 0.24], row])
    found = Rounding().first_unexplained(table, np.array([1]), start=0)
    assert (found is None) == fits


def test_a_later_batch_with_more_decimals_unmasks_an_earlier_row():
    sums = RowSums(lambda row: f"Row {row}")
    sums.check(np.array([[0.33, 0.33, 0.33], [0.5, 0.25, 0.25]]), start=10)
    with pytest.raises(InputError, match=r"^Row 10 sums to 0.99\. Posteriors must be"):
        sums.check(np.array([[0.1234, 0.5, 0.3766]]), start=12)


def test_the_first_wrong_row_is_named_whatever_comes_behind_it():
    table = np.array([[0.5, 0.25, 0.25], [0.9, 0.0, 0.0], [4.0, 0.0, 0.0], [-1.0, 1.0, 1.0]])
    with pytest.raises(InputError, match=r"^Row 1 of X sums to 0.9\. "):
        check_posteriors(table)
    with pytest.raises(InputError, match=r"^Row 1 of X sums to 4 and holds 4 in column 0"):
        check_posteriors(table[[0, 2, 3]])
