"""Labels as users give them: every form is read alike, and bad ones are told in one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from truemix.exceptions import InputError
from truemix.trust.labels import read_batch_labels

CLASSES = np.array(["ham", "spam"])
LABELS = ["ham", None, "spam", None, "ham"]


def read(labels, inclusion=None, classes=CLASSES, n_items=5):
    return read_batch_labels(labels, inclusion, classes, n_items)


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS, dtype=object),
        pd.Series(LABELS),
        pd.Series(LABELS, dtype="category"),
        pd.Series(LABELS, dtype="string"),
        pd.Series(LABELS).replace({None: float("nan")}),
        pl.Series(LABELS),
        pa.array(LABELS),
        {4: "ham", 0: "ham", 2: "spam"},
        {np.int64(4): np.str_("ham"), 0: "ham", 2: "spam", 3: None},
    ],
)
def test_all_forms_are_read_alike(labels):
    found = read(labels)
    assert found.items.tolist() == [0, 2, 4]
    assert found.codes.tolist() == [0, 1, 0]
    # A simple random sample: 3 of 5.
    assert found.inclusion.tolist() == [0.6, 0.6, 0.6]


def test_numbers_and_truth_values_are_labels_too():
    assert read([1.0, np.nan, 0.0, np.nan, 1.0], classes=np.array([0, 1])).codes.tolist() == [
        1,
        0,
        1,
    ]
    assert read({0: True, 3: False}, classes=np.array([False, True])).codes.tolist() == [1, 0]
    assert read([pd.NA, 7, pd.NA, 8, 7], classes=np.array([7, 8])).codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "inclusion",
    [
        {0: 0.1, 2: 0.2, 4: 1},
        [0.1, None, 0.2, None, 1],
        np.array([0.1, np.nan, 0.2, np.nan, 1]),
        pd.Series([0.1, None, 0.2, None, 1]),
    ],
)
def test_all_forms_of_inclusion_are_read_alike(inclusion):
    assert read(LABELS, inclusion).inclusion.tolist() == [0.1, 0.2, 1]
    assert read(LABELS, 0.3).inclusion.tolist() == [0.3, 0.3, 0.3]


@pytest.mark.parametrize(
    ("labels", "classes", "sentence"),
    [
        (
            ["ham", None, "egg", None, None],
            CLASSES,
            "The label 'egg' of row 2 in labels is not one of the classes 'ham', 'spam'; correct "
            "it, or leave the item unlabelled.",
        ),
        ({3: 1}, CLASSES, "The label 1 of row 3 in labels is not one of the classes 'ham', 'spam'"),
        ({3: []}, CLASSES, "The label [] of row 3 in labels is not one of the classes"),
        (
            {3: True},
            np.array([0, 1]),
            "The label True of row 3 in labels is not one of the classes",
        ),
        ({3: 1}, np.array([False, True]), "The label 1 of row 3 in labels is not one of the"),
        (
            [None] * 5,
            CLASSES,
            "labels holds no label for any of the 5 items; expected at least one. Leave labels out "
            "to estimate without.",
        ),
        ({}, CLASSES, "labels holds no label for any of the 5 items"),
        (
            ["ham"],
            CLASSES,
            "X has 5 rows, but labels has 1 entries; expected one per row, None where there is no "
            "label, or a mapping from row number to label.",
        ),
        (
            {5: "ham"},
            CLASSES,
            "labels names the row 5, which is not in X; expected row numbers from 0 to 4, counted "
            "by position.",
        ),
        ({-1: "ham"}, CLASSES, "labels names the row -1, which is not in X"),
        ({"a": "ham"}, CLASSES, "labels names the row 'a', which is not in X"),
        ({True: "ham"}, CLASSES, "labels names the row True, which is not in X"),
        ([["ham"]] * 5, CLASSES, "labels must be one-dimensional; expected one label per item."),
    ],
)
def test_bad_labels_are_told_in_one_sentence(labels, classes, sentence):
    with pytest.raises(InputError) as caught:
        read(labels, classes=classes)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("inclusion", "sentence"),
    [
        (
            {0: 0.1, 2: 0.0, 4: 0.1},
            "The inclusion probability of row 2 is 0.0; expected a number above 0 and at most 1: "
            "the probability with which the item was chosen.",
        ),
        ({0: 0.1, 2: 1.5, 4: 0.1}, "The inclusion probability of row 2 is 1.5; expected"),
        ({0: 0.1, 2: "x", 4: 0.1}, "The inclusion probability of row 2 is 'x'; expected"),
        (-0.5, "The inclusion probability of row 0 is -0.5; expected"),
        (
            {0: 0.1, 2: 0.1},
            "Row 4 has a label but no inclusion probability; expected one for each labelled item. "
            "Leave inclusion out if they are a simple random sample.",
        ),
        (
            [0.1, 0.1, 0.1, None, 0.1],
            "Row 1 has an inclusion probability but no label; expected probabilities of labelled "
            "items only. Label it, or leave its probability out.",
        ),
        ([0.1], "X has 5 rows, but inclusion has 1 entries; expected one per row, None where"),
        ({9: 0.1}, "inclusion names the row 9, which is not in X; expected row numbers from 0 to"),
        (
            1,
            "All 3 labelled items have the inclusion probability 1, but 2 items have no label; "
            "expected smaller ones. Leave inclusion out if the labelled items are a simple random "
            "sample.",
        ),
    ],
)
def test_bad_inclusion_is_told_in_one_sentence(inclusion, sentence):
    with pytest.raises(InputError) as caught:
        read(LABELS, inclusion)
    assert str(caught.value).startswith(sentence)
