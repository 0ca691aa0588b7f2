"""LeQua tasks from small files of the published format."""

import numpy as np
import pandas as pd
import pytest

from truemix import InputError
from truemix_experiments.datasets import DatasetUnavailable, available, load_dataset


def table(n, width, seed):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, width)).round(4))


def write_task(public, width, n_classes, *, items=6, dev=3, test=4):
    """Write a task: labels and vectors, and bags with their prevalences."""
    public.mkdir(parents=True)
    training = table(4 * n_classes, width, 0)
    training.insert(0, "label", np.arange(4 * n_classes) % n_classes)
    training.to_csv(public / "training_data.txt", index=False)
    for part, n_bags in (("dev", dev), ("test", test)):
        mixes = np.random.default_rng(n_bags).dirichlet(np.ones(n_classes), n_bags).round(5)
        frame = pd.DataFrame(mixes)
        frame.index.name = "id"
        frame.to_csv(public / f"{part}_prevalences.txt")
        (public / f"{part}_samples").mkdir()
        for bag in range(n_bags):
            table(items, width, bag).to_csv(public / f"{part}_samples/{bag}.txt", index=False)
    return public


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path / "lequa2022" / "T1A" / "public", 300, 2)


@pytest.mark.parametrize(
    ("name", "place", "width", "n_classes"),
    [
        ("LeQua2022-T1A", "lequa2022/T1A", 300, 2),
        ("LeQua2022-T1B", "T1B", 300, 28),
        ("LeQua2024-T1", "LeQua2024-T1", 256, 2),
        ("LeQua2024-T2", "text/lequa2024/T2", 256, 28),
    ],
)
def test_training_items_and_bags_are_those_of_the_files(tmp_path, name, place, width, n_classes):
    public = write_task(tmp_path / place / "public", width, n_classes)
    data = load_dataset(name, folder=tmp_path)
    assert data.train.X.shape == (4 * n_classes, width)
    assert data.train.y.tolist() == list(range(n_classes)) * 4
    assert data.fit is data.train and data.validation is None and data.test is None
    assert (len(data.validation_bags), len(data.test_bags)) == (3, 4)
    np.testing.assert_array_equal(data.test_bags[2].X, table(6, width, 2))
    expected = pd.read_csv(public / "test_prevalences.txt", index_col=0).to_numpy()
    found = np.array([bag.prevalence for bag in data.test_bags])
    np.testing.assert_allclose(found, expected, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert available([name], folder=tmp_path)[0].explanation == str(public)


def test_what_differs_from_the_paper_is_noted(task, tmp_path):
    assert load_dataset("LeQua2022-T1A", folder=tmp_path).notes == (
        "There are 3 validation bags; the paper uses 100.",
        "The first validation bag has 6 items; in the paper 250.",
        "There are 4 test bags; the paper uses 500.",
        "The first test bag has 6 items; in the paper 250.",
        "The train part has 8 items, 5,000 expected (paper's table).",
    )


def test_the_first_100_and_500_bags_are_used(tmp_path):
    write_task(tmp_path / "T1A" / "public", 300, 2, items=1, dev=101, test=501)
    data = load_dataset("LeQua2022-T1A", folder=tmp_path)
    assert (len(data.validation_bags), len(data.test_bags)) == (100, 500)
    assert data.validation_bags[-1].X.shape == (1, 300)


def test_bags_are_a_sequence_that_reads_late(task, tmp_path):
    bags = load_dataset("LeQua2022-T1A", folder=tmp_path).test_bags
    some = bags[1:3]
    np.testing.assert_array_equal(some[0].X, bags[1].X)
    np.testing.assert_array_equal(some[0].prevalence, bags[1].prevalence)
    assert len(list(some)) == 2
    (task / "test_samples/3.txt").write_text("0,1\n1.0,2.0\n")
    with pytest.raises(InputError, match=r"3\.txt' has 2 feature columns; expected the 300"):
        bags[3]


def test_each_missing_part_is_named(task, tmp_path):
    (task / "test_samples/1.txt").unlink()
    with pytest.raises(DatasetUnavailable, match=r"no bag 1\.txt in .*test_samples"):
        load_dataset("LeQua2022-T1A", folder=tmp_path)
    (task / "test_prevalences.txt").unlink()
    with pytest.raises(DatasetUnavailable, match=r"no test_prevalences\.txt in .*public'"):
        load_dataset("LeQua2022-T1A", folder=tmp_path)
    with pytest.raises(DatasetUnavailable, match="no folder lequa2024/T1/public in"):
        load_dataset("LeQua2024-T1", folder=tmp_path)
    with pytest.raises(DatasetUnavailable, match="no folder was given"):
        load_dataset("LeQua2024-T1")


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("training_data.txt", "0,1\n1,2\n", "The first column of .* is '0'; expected 'label'"),
        ("training_data.txt", "label,0\n1,2\n", "has 1 feature columns; expected the 300"),
        ("training_data.txt", "", "cannot be read as a CSV file"),
        ("dev_prevalences.txt", "id,0\n0,1\n", "The header of .* is not id,0,…,1"),
        ("dev_prevalences.txt", "id,0,1\n0,0.5,0.4\n", "Row 0 of .* sums to 0.9; expected"),
        ("dev_prevalences.txt", "id,0,1\n0,1.5,-0.5\n", "Row 0 of .* sums to 1; expected"),
        ("dev_prevalences.txt", "id,0,1\n", "expected a table of numbers"),
    ],
)
def test_files_of_another_format_are_named(task, tmp_path, file, text, sentence):
    (task / file).write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_dataset("LeQua2022-T1A", folder=tmp_path)


def test_labels_outside_the_classes_are_named(task, tmp_path):
    frame = pd.read_csv(task / "training_data.txt")
    frame.loc[3, "label"] = 2
    frame.to_csv(task / "training_data.txt", index=False)
    with pytest.raises(InputError, match=r"Row 3 of label in .* is 2; expected class numbers"):
        load_dataset("LeQua2022-T1A", folder=tmp_path)
