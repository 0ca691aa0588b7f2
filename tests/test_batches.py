"""Batches from iterables, datasets, lazy frames and Dask give the answer of one table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

from support import posteriors
from truemix import EMQ, InputError, KDEy
from truemix.batches import is_batched

NAMES = ["ham", "mail", "spam"]


@pytest.fixture(scope="module")
def quantifier():
    P, codes = posteriors(200, 3, 0)
    return KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, np.array(NAMES)[codes])


@pytest.fixture(scope="module")
def frame():
    P, _ = posteriors(600, 3, 1)
    week = pd.Series(np.arange(600) // 200 + 9, name="week")
    return pd.concat([pd.DataFrame(P, columns=NAMES), week], axis=1)


def containers(frame, folder):
    """Yield the frame in everything that comes in batches."""
    parts = [frame[:250], frame[250:260], frame[260:]]
    for number, part in enumerate(parts):
        pq.write_table(pa.Table.from_pandas(part), folder / f"{number}.parquet")
    table = pa.Table.from_pandas(frame)
    dask = pytest.importorskip("dask.dataframe", reason="an extra, which tests have")
    yield "list", parts
    yield "generator", (part for part in parts)
    yield "dataset", ds.dataset(folder)
    yield "reader", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(100))
    yield "lazy frame", pl.scan_parquet(folder / "*.parquet")
    yield "polars", [pl.from_pandas(part) for part in parts]
    yield "dask", dask.from_pandas(frame, npartitions=4)


def test_every_container_has_the_answer_of_the_table(quantifier, frame, tmp_path):
    expected = quantifier.quantify(frame[NAMES])
    by_week = quantifier.quantify_by(frame[NAMES], frame["week"])
    assert list(by_week) == [9, 10, 11]
    for name, X in containers(frame, tmp_path):
        found = quantifier.quantify_by(X, "week")
        assert list(found) == [9, 10, 11], name
        for week in found:
            np.testing.assert_array_equal(found[week].prevalence, by_week[week].prevalence, name)
    for name, X in containers(frame[NAMES], tmp_path):
        found = quantifier.quantify(X)
        assert found.n_items == 600, name
        np.testing.assert_array_equal(found.prevalence, expected.prevalence, name)


def test_only_the_columns_that_are_needed_are_read(quantifier, frame, tmp_path):
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    expected = quantifier.quantify(frame[NAMES]).prevalence
    # The column of weeks would be one too many for a table in memory.
    for X in (ds.dataset(tmp_path), pl.scan_parquet(tmp_path / "*.parquet")):
        np.testing.assert_array_equal(quantifier.quantify(X).prevalence, expected)


def test_groups_may_come_beside_batches(quantifier, frame):
    parts = [frame[:250], frame[250:]]
    found = quantifier.quantify_by(
        [part[NAMES] for part in parts], (part["week"] for part in parts)
    )
    expected = quantifier.quantify_by(frame, "week")
    for week in expected:
        np.testing.assert_array_equal(found[week].prevalence, expected[week].prevalence)


@pytest.mark.parametrize("n_groups", [1, 3])
def test_as_many_groups_as_batches_are_needed(quantifier, frame, n_groups):
    parts = [frame[NAMES][:250], frame[NAMES][250:]]
    groups = [np.zeros(250), np.ones(350), np.ones(2)][:n_groups]
    with pytest.raises(InputError, match="groups"):
        quantifier.quantify_by(parts, groups)


def test_a_classifier_scores_batches():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    X[y == 1] += 1
    quantifier = EMQ(classifier=LogisticRegression()).fit(X, y)
    target = rng.normal(size=(500, 2))
    found = quantifier.quantify([target[:100], target[100:]])
    # Scores of batches of other sizes differ in the last digit.
    np.testing.assert_allclose(found.prevalence, quantifier.predict(target), atol=1e-9)


def test_an_error_says_in_which_batch_it_is(quantifier):
    good, bad = np.array([[0.2, 0.3, 0.5]] * 4), np.array([[0.2, 0.3, 0.9]])
    with pytest.raises(InputError, match=r"In batch 1, which begins at row 4: Row 0 of X sums to"):
        quantifier.quantify([good, bad])


def test_no_rows_are_an_error(quantifier, frame):
    for nothing in ([frame[NAMES][:0]], iter([])):
        with pytest.raises(InputError, match="no rows in any of its batches"):
            quantifier.quantify(nothing)
    some = [frame[NAMES][:0], frame[NAMES], frame[NAMES][:0]]
    assert quantifier.quantify(some).n_items == 600


def test_a_missing_column_is_named(quantifier, frame, tmp_path):
    pq.write_table(pa.Table.from_pandas(frame[["ham", "mail"]]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="no column 'spam'"):
        quantifier.quantify(ds.dataset(tmp_path))
    with pytest.raises(InputError, match="groups is 'month'"):
        quantifier.quantify_by([frame], "month")
    with pytest.raises(InputError, match="groups is 'month'"):
        quantifier.quantify_by(frame[NAMES].to_numpy(), "month")


def test_tables_in_memory_are_one_batch(frame):
    rows = [[0.2, 0.8], [0.5, 0.5]]
    for X in (rows, np.array(rows), frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert not is_batched(X)
    assert not is_batched([np.array([0.2, 0.8])])
    assert is_batched([np.array(rows)])
