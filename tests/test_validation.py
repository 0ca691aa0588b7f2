"""The input rules, sentence by sentence, as a user of any quantifier meets them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from truemix import CC, EMQ, InputError, InputNote, KDEy
from truemix.tables import groups_of
from truemix.validation import check_labels, check_posteriors

P = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2]])
Y = ["cat", "dog", "eel", "cat"]


def changed(row, column, value):
    table = P.copy()
    table[row, column] = value
    return table


BAD_TABLES = {
    "NaN": (changed(2, 1, np.nan), r"^Row 2, column 1 of X is nan; .* finite numbers\. Remove"),
    "infinity": (changed(0, 2, np.inf), r"^Row 0, column 2 of X is inf; "),
    "minus infinity": (changed(0, 2, -np.inf), r"^Row 0, column 2 of X is -inf; "),
    "negative": (
        changed(1, 0, -0.2),
        r"^Row 1 of X sums to 0\.6 and holds -0\.2 in column 0: these look like logits or scores",
    ),
    "negative but summing to one": (
        [[0.5, 0.6, -0.1]] * 4,
        r"^Row 0 of X sums to 1 and holds -0\.1 in column 2: these look like logits or scores",
    ),
    "logits": (
        np.log(P),
        r"^Row 0 of X sums to -4\.8.* these look like logits or scores\. .* apply softmax",
    ),
    "percentages": (100 * P, r"^Row 0 of X sums to 100 .* these look like logits or scores"),
    "off by a tenth": (1.1 * P, r"^Row 0 of X sums to 1\.1\. Posteriors must be .* sum to 1"),
    "off by a little": (P * 1.002, r"^Row 0 of X sums to 1\.002\. .* \(within 0\.001\)\.$"),
    "all zero": (changed(3, slice(None), 0), r"^Row 3 of X sums to 0\. "),
    "too few columns": (
        P[:, :2],
        r"^X has 2 columns, but there are 3 classes; expected one column",
    ),
    "too many columns": (np.c_[P, 0 * P], r"^X has 6 columns, but there are 3 classes"),
    "one dimension": (
        P[0],
        r"^X has 1 dimension; expected a table .* For a single item pass \[X\]",
    ),
    "four dimensions": (P[None, None], r"^X has 4 dimensions; expected a table"),
    "no models": (
        np.empty((0, 4, 3)),
        r"^X holds the posteriors of no model; expected at least one",
    ),
    "a number": (0.5, r"^X has 0 dimensions; expected a table"),
    "text": (P.astype(str), r"^X cannot be read as a table of numbers \(text or dates"),
    "objects": (np.array([["a", 1, None]] * 4, dtype=object), r"^X cannot be read as a table of n"),
    "ragged": ([[0.5, 0.5], [1.0]], r"^X cannot be read as a table of numbers .* same length"),
    "complex": (P.astype(complex), r"^X cannot be read as a table of numbers \(complex"),
    "dates": (np.full((4, 3), np.datetime64("2026-01-01")), r"^X cannot be read as a table of num"),
    "missing in objects": (
        P.astype(object) * [[1], [1], [np.nan], [1]],
        r"^Row 2, column 0 of X is n",
    ),
    "sparse": (csr_array(P), r"^X is a sparse matrix, but posteriors are dense; pass X\.toarray"),
    "no rows": (P[:0], r"^X has no rows; at least one item is needed"),
    "other names": (
        pd.DataFrame(P, columns=["cat", "dog", "fox"]),
        r"^X has no column for class 'eel': its columns are 'cat', 'dog', 'fox', the classes are",
    ),
    "an extra column": (
        pd.DataFrame(np.c_[P, P[:, 0]], columns=["cat", "dog", "eel", "id"]),
        r"^X has a column 'id': its columns are .* drop others, or pass an array",
    ),
    "duplicate names": (
        pd.DataFrame(np.c_[P, P[:, 0]], columns=["cat", "dog", "eel", "cat"]),
        r"^X has more than one column named 'cat'",
    ),
    "missing in a frame": (
        pl.DataFrame({"cat": [0.5, None], "dog": [0.25, 0.5], "eel": [0.25, 0.5]}),
        r"^Row 1, column 0 of X is nan",
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_targets_get_one_clear_sentence(case):
    table, sentence = BAD_TABLES[case]
    fitted = KDEy().fit(P, Y)
    with pytest.raises(InputError, match=sentence):
        fitted.predict(table)


# Not as references: their number of rows leaves no room for three classes.
TOO_SHORT = {
    "a number",
    "one dimension",
    "four dimensions",
    "no models",
    "ragged",
    "missing in a frame",
    "no rows",
}


# Text among references may be decisions, which some methods take.
IN_REFERENCES = {"objects": r"^X holds names, but this method needs posteriors"}


@pytest.mark.parametrize("case", sorted(set(BAD_TABLES) - TOO_SHORT))
def test_bad_references_get_one_clear_sentence(case):
    table, sentence = BAD_TABLES[case]
    sentence = IN_REFERENCES.get(case, sentence)
    with pytest.raises(InputError, match=sentence):
        EMQ().fit(table, Y)


def test_an_empty_reference_is_refused():
    with pytest.raises(InputError, match="y is empty; at least one labelled item per class"):
        KDEy().fit(P[:0], [])


BAD_LABELS = {
    "another length": (Y[:3], "X has 4 rows, but y has 3 labels; expected one label per row"),
    "None": (
        ["cat", None, "eel", "cat"],
        r"label in row 1 of y is missing \(1 in all\); .* Remove",
    ),
    "NaN": ([0.0, 1.0, np.nan, 2.0], "label in row 2 of y is missing"),
    "pandas NA": (pd.array(["cat", "dog", pd.NA, "cat"], dtype="string"), "row 2 of y is missing"),
    "polars null": (pl.Series([1, 2, None, 3]), "label in row 2 of y is missing"),
    "no labels": (None, "fit requires y to be passed, but the target y is None"),
    "one class only": (["cat"] * 4, "There is only one class, 'cat'; a mix needs at least two"),
    "measurements": (
        [0.5, 1.5, 2.5, 1.0],
        "label in row 0 of y is 0.5; labels must be strings, whole",
    ),
    "infinity": ([np.inf, 1.0, 2.0, 1.0], "labels must be strings, whole"),
    "mixed": (
        np.array(["cat", 1, 2.5, "cat"], dtype=object),
        "holds values of type float and int and",
    ),
    "dates": (pd.to_datetime(["2026-01-01"] * 4), "labels must be"),
    "a table": (np.array([Y, Y]).T, "y has 2 dimensions; expected one label per item"),
    "a frame of two columns": (pd.DataFrame({"a": Y, "b": Y}), "y is a table of 2 columns"),
}


MERGED = {
    "text and a number": (["1", 1, "1", 1], "holds values of type int and str"),
    "truth and a number": ([True, 1, 2, 3], "holds values of type bool and int"),
    "beyond 2**53 as floats": (
        [2.0**63, 2.0**64, 1.0, 2.0],
        r"label in row 0 of y is 9.2\S+; floating-point numbers beyond 2\*\*53 are rounded",
    ),
    "no integers of 64 bits": (
        [2**63, 2**63 + 1, -1, -1],
        r"labels in y reach from -1 to 9223372036854775809, which integers of 64 bits do not hold",
    ),
    "huge": ([10**5000, 1, 2, 3], "to a value of type int, which integers of 64 bits do not hold"),
    "a zero byte": (
        ["a", "a\0", "b", "c"],
        r"The label 'a\\x00' in row 1 of y ends with a zero byte",
    ),
    "spans of time": (np.array([1, 2, 3, 1], "timedelta64[D]"), "values of type timedelta64"),
}


@pytest.mark.parametrize("case", MERGED)
def test_labels_that_would_be_merged_are_refused(case):
    labels, sentence = MERGED[case]
    with pytest.raises(InputError, match=sentence):
        check_labels(labels)


@pytest.mark.parametrize(
    "labels",
    [
        [2**63, 2**63 + 1, 0],
        [2**53, 2**53 + 1, -1],
        [-(2**63), 2**63 - 1],
        ["a", "\0a", "A", " a"],
        np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64),
    ],
)
def test_labels_that_differ_by_little_are_kept_apart(labels):
    assert check_labels(labels).tolist() == list(labels)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["1", 1, "1", 1], {"1": 2, 1: 2}),
        ([2**63, 2**63 + 1, -1, -1], {2**63: 1, 2**63 + 1: 1, -1: 2}),
        (["a", "a\0", "a", "b"], {"a": 2, "a\0": 1, "b": 1}),
        (
            np.array([1, 2, 2, 2], "datetime64[ns]"),
            {np.datetime64(1, "ns"): 1, np.datetime64(2, "ns"): 3},
        ),
    ],
)
def test_groups_that_numpy_would_merge_are_kept_apart(groups, expected):
    keys, rows = groups_of(groups, 4)
    assert {key: len(found) for key, found in zip(keys, rows, strict=True)} == expected


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ([True, 1, 2, 3], "groups holds truth values and numbers, and True is the same as 1"),
        ([["a"], "b", "c", "d"], "The group of row 0 is of type list; expected text"),
        (np.array(["NaT", 1, 2, 3], "datetime64[ns]"), "The group of row 0 is missing"),
        (pa.array([2**31 - 1] * 4, pa.date32()), "Row 0 of groups has no date of a year from 1"),
        (pa.array([{"a": 1}] * 4), "groups is of type struct<a: int64>; groups must be text"),
    ],
)
def test_groups_that_have_no_name_are_refused(groups, sentence):
    with pytest.raises(InputError, match=sentence):
        groups_of(groups, 4)


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_get_one_clear_sentence(case):
    labels, sentence = BAD_LABELS[case]
    with pytest.raises(InputError, match=sentence):
        KDEy().fit(P, labels)


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        (["cat", "dog", "fox"], "label 'eel' in row 2 of y is not one of the classes 'cat', 'dog'"),
        (["cat", "dog", "eel", "fox"], "Class 'fox' has no reference items in y; each class needs"),
        (["cat", "cat", "eel"], "classes names 'cat' more than once"),
        ([0, 1, 2], "y and classes are of different types"),
        (["cat"], "There is only one class, 'cat'"),
        ([], "classes is empty"),
        (3, "classes has 0 dimensions"),
    ],
)
def test_bad_classes_get_one_clear_sentence(classes, sentence):
    with pytest.raises(InputError, match=sentence):
        CC().fit(P, Y, classes=classes)


def test_one_column_of_labels_in_a_frame_is_fine():
    assert CC().fit(P, pd.DataFrame({"label": Y})).classes_.tolist() == ["cat", "dog", "eel"]


def test_sums_within_rounding_are_repaired_silently():
    np.testing.assert_allclose(check_posteriors(P * (1 + 9e-7)), P, atol=1e-15)


def test_sums_within_a_thousandth_are_repaired_with_a_note():
    with pytest.warns(InputNote, match=r"they sum to 1 only within 0.0001 \(row \d sums to 1.0001"):
        np.testing.assert_allclose(check_posteriors(P * (1 + 1e-4)), P, atol=1e-15)


def test_input_is_never_changed():
    table = P * (1 + 5e-7)
    kept = table.copy()
    KDEy().fit(table, Y).predict(table)
    np.testing.assert_array_equal(table, kept)


def test_changing_the_reference_after_fit_changes_nothing():
    table = P.copy()
    fitted = KDEy(bandwidth=0.3, shrinkage=0.1).fit(table, Y)
    expected = fitted.predict(P)
    table[:] = 1 / 3
    np.testing.assert_array_equal(fitted.predict(P), expected)


def test_a_table_without_fault_is_not_copied():
    assert check_posteriors(P) is P


def test_huge_scores_are_named_without_a_numpy_warning():
    with pytest.raises(InputError, match="Row 0 of X sums to inf and holds 1e\\+308 in column 0"):
        KDEy().fit([[1e308, 1e308, 0.0]] * 4, Y)


def test_errors_are_value_errors():
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b"], pa.string_view()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(["a", "b"])),
    ],
    ids=lambda values: str(values.type),
)
def test_runs_of_any_kind_of_text_are_groups(values):
    # Begun in the middle of a run.
    runs = pa.RunEndEncodedArray.from_arrays([3, 6], values).slice(1)
    keys, rows = groups_of(runs, 5)
    assert dict(zip(keys, map(len, rows), strict=True)) == {"a": 2, "b": 3}
