"""Columns that look like keys are left out of training, and it is said."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cli_support import fails, run, written
from truemix.cli._features import MIN_ROWS, keys_among

LABEL = ("--label", "label")
TRUTH = 0.34


def items(n, share, first_id):
    """Items sorted by class, with numbers that go up row by row and two honest features."""
    rng = np.random.default_rng(first_id)
    y = (np.arange(n) >= round(n * (1 - share))).astype(int)
    return pd.DataFrame(
        {
            "id": np.arange(first_id, first_id + n),
            "label": np.array(["ham", "spam"])[y],
            "length": y + rng.normal(size=n),
            "links": 0.5 * y + rng.normal(size=n),
        }
    )


@pytest.fixture
def files(tmp_path):
    """A reference in which the id tells the class, and a target whose ids go on from there."""
    target = items(800, TRUTH, 5001).sample(frac=1, random_state=0).drop(columns="label")
    return written(tmp_path, items(1000, 0.5, 1), target)


@pytest.mark.parametrize("classifier", ["logistic", "gradient-boosting"])
def test_an_id_that_predicts_the_class_of_sorted_rows_does_not_spoil_the_estimate(
    files, capsys, classifier
):
    options = [*LABEL, "--classifier", classifier, "--no-check", "--format", "json"]
    done = run(capsys, "estimate", *files, *options)
    assert done.code == 0
    spam = done.json["groups"][0]["classes"][1]
    # Trained on the id, the answer is 100 % with an interval of no width.
    assert spam["lower"] < TRUTH < spam["upper"]
    assert done.json["settings"]["features"] == ["length", "links"]
    reason = "whole numbers that differ in every row"
    assert done.json["settings"]["left_out"] == {"id": reason}
    assert done.err == (
        "Note: features in reference.csv: 'length', 'links'.\n"
        f"Note: left out of training: 'id' ({reason}). Such columns tell rows of reference.csv "
        "apart, not classes; to train on one all the same, name all features with --features.\n"
    )


def test_every_command_leaves_keys_out_and_says_so(files, tmp_path, capsys):
    options = [*LABEL, "--classifier", "logistic", "--format", "json"]
    grid = ["--method", "emq", "--grid", "classifier.C=1"]
    adapted = tmp_path / "adapted.csv"
    done = [
        run(capsys, "check", *files, *options),
        run(capsys, "tune", files[0], *options, *grid),
        run(capsys, "adapt", *files, *options, *grid[:2], "--keep", "id", "--out", adapted),
    ]
    for each in done:
        assert each.code == 0
        assert each.json["features"] == ["length", "links"]
        assert list(each.json["left_out"]) == ["id"]
        assert "Note: left out of training: 'id' (" in each.err
    # What is no feature may still be passed through.
    assert pd.read_csv(adapted).columns.tolist() == ["id", "ham", "spam"]


def test_the_advice_of_the_note_keeps_the_column(tmp_path, capsys):
    reference, target = items(60, 0.5, 1), items(40, 0.5, 1).drop(columns="label")
    files = written(tmp_path, reference, target)
    options = [*LABEL, "--classifier", "logistic", "--method", "cc", "--format", "json"]
    features = ["--features", "length", "--features", "id"]
    done = run(capsys, "estimate", *files, *options, *features)
    assert "left out of training" not in done.err
    assert done.json["settings"]["features"] == ["length", "id"]
    assert done.json["settings"]["left_out"] == {}


def test_keys_alone_are_not_enough_to_train_on(files, tmp_path, capsys):
    only = tmp_path / "only.csv"
    items(100, 0.5, 1)[["id", "label"]].to_csv(only, index=False)
    assert fails(capsys, "estimate", only, files[1], *LABEL, "--classifier", "logistic") == (
        "only.csv has no feature columns beside the label and columns that look like keys ('id'); "
        "expected at least one to train a classifier on."
    )


def test_without_a_classifier_there_are_no_features(tmp_path, capsys):
    files = written(tmp_path)
    kernel = ["--bandwidth", "0.3", "--shrinkage", "0.5"]
    done = run(capsys, "check", *files, *LABEL, *kernel, "--format", "json")
    assert done.json["features"] is None
    assert done.json["left_out"] is None


# --- which columns ----------------------------------------------------------------------------

DAY = datetime.datetime(2024, 1, 1)
N = 200
COUNTER = list(range(N))


def found(name, values):
    return keys_among(pa.table({name: values})).get(name)


@pytest.mark.parametrize(
    "values",
    [
        COUNTER,
        [float(i) for i in COUNTER],
        [None, *COUNTER],
        [float("nan"), *(float(i) for i in COUNTER)],
        # Beyond what a float can tell apart.
        [2**60 + i for i in COUNTER],
        [f"customer {i}" for i in COUNTER],
        ["", *(f"customer {i}" for i in COUNTER)],
        [f"name {max(i, 8)}" for i in COUNTER],
        pa.array([f"name {i}" for i in COUNTER]).dictionary_encode(),
        [DAY + datetime.timedelta(seconds=37 * i) for i in COUNTER],
        [(DAY + datetime.timedelta(days=i)).date() for i in COUNTER],
    ],
)
def test_values_that_differ_in_every_row_are_keys_whatever_their_name(values):
    assert "differ in" in found("feature", values)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=N).tolist(),
        [0.5, *map(float, COUNTER)],
        # Whole numbers that repeat, if only once: a counter would not.
        [0, *COUNTER],
        [f"city {i % 150}" for i in COUNTER],
        [DAY + datetime.timedelta(days=i // 2) for i in COUNTER],
        [True, False] * 100,
        [7] * N,
        [""] * N,
    ],
)
def test_everything_else_is_a_feature(values):
    assert found("feature", values) is None


def test_whole_numbers_that_differ_by_chance_in_few_rows_are_features():
    ages = list(range(20, 20 + MIN_ROWS))
    assert found("age", ages[:-1]) is None
    assert found("age", ages) is not None


@pytest.mark.parametrize(
    "name", ["id", "ID", "customer_id", "customerId", "Order key", "UUID", "index", "row", "rowid"]
)
def test_a_column_named_like_a_key_is_one_in_few_rows_too(name):
    assert found(name, [4, 8, 15]) == "whole numbers named like a key"
    assert found(name, ["x4", "x8", "x15"]) == "text named like a key"
    # Several rows for each of many customers.
    assert found(name, [i // 4 for i in range(1000)]) == "whole numbers named like a key"
    # A code of few categories, and a measured index, are no keys.
    assert found(name, [1, 2, 3] * 10) is None
    assert found(name, [1.33, 1.5, 2.4]) is None


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_an_index_without_a_name_is_a_key_even_if_it_repeats(name):
    assert "like the index of a data frame" in found(name, [0, 1, 2] * 10)
    assert found(name, [0.5, 1.5]) is None


@pytest.mark.parametrize("name", ["paid", "covid", "grid", "id_type", "heat_index", "keyboard"])
def test_words_that_contain_a_key_are_no_keys(name):
    assert found(name, [4, 8, 15]) is None
