"""Tweet sets from small files of the published format."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression

from truemix import KDEy
from truemix.exceptions import InputError
from truemix_experiments.datasets import DatasetUnavailable, available, load_dataset
from truemix_experiments.datasets.tweets import read_sparse

ARCHIVE = "tweet_sentiment_quantification_snam"


def write(path, n, terms=12, seed=0):
    """Write n tweets, of each class in turn; term k is in about every k-th tweet."""
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for i in range(n):
        columns = [k for k in range(1, terms + 1) if i % k == 0]
        pairs = " ".join(f"{k}:{rng.uniform(0.1, 1):.6f}" for k in columns)
        lines.append(f"{i % 3 - 1} {pairs} ")
    path.write_text("\n".join(lines) + "\n")


def archive(folder, train="gasp", test="gasp.test", terms=12):
    write(folder / f"train/{train}.train.feature.txt", 60, terms, 1)
    write(folder / f"test/{train}.dev.feature.txt", 12, terms, 2)
    write(folder / f"train/{train}.train+dev.feature.txt", 72, terms, 3)
    write(folder / f"test/{test}.feature.txt", 30, terms + 5, 4)
    return folder


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        ("gasp", "gasp", "gasp.test"),
        ("semeval14", "semeval", "semeval14.test"),
        ("semeval16", "semeval16", "semeval16.dev-test"),
    ],
)
@pytest.mark.parametrize("inside", ["", ARCHIVE, f"text/{ARCHIVE}"])
def test_the_four_published_files_become_the_four_parts(tmp_path, name, train, test, inside):
    archive(tmp_path / inside, train, test)
    data = load_dataset(name, folder=tmp_path)
    assert [len(p) for p in (data.fit, data.validation, data.train, data.test)] == [60, 12, 72, 30]
    assert data.classes.tolist() == ["negative", "neutral", "positive"]
    assert data.fit.X.shape[1] == data.validation.X.shape[1]
    assert data.train.X.shape[1] == data.test.X.shape[1]
    assert issparse(data.train.X)
    assert any("features" in note for note in data.notes)
    assert available([name], folder=tmp_path)[0].explanation == str(tmp_path / inside)


def test_values_labels_and_columns_are_those_of_the_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("-1 1:0.5 3:0.25\n\n0\n1 2:1e-3 1:0\n")
    pool = read_sparse(path)
    assert pool.y.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(pool.X.toarray(), [[0.5, 0, 0.25], [0, 0, 0], [0, 1e-3, 0]])
    assert pool.X.nnz == 3


def test_rare_terms_are_left_out_by_what_the_training_part_holds(tmp_path):
    data = load_dataset("gasp", folder=archive(tmp_path, terms=20))
    # Of 72 tweets, ceil(72 / k) have term k: at least 5 for k up to 17.
    assert data.train.X.shape[1] == 17
    # Of 60 tweets, at least 5 for k up to 14.
    assert data.fit.X.shape[1] == 14


def test_the_papers_number_of_features_decides_how_rare_a_term_may_be(tmp_path, monkeypatch):
    from dataclasses import replace

    from truemix_experiments.datasets import CATALOGUE

    monkeypatch.setitem(CATALOGUE, "gasp", replace(CATALOGUE["gasp"], n_features=8))
    data = load_dataset("gasp", folder=archive(tmp_path))
    assert data.train.X.shape[1] == 8
    assert not any("features" in note for note in data.notes)


def test_a_quantifier_with_a_classifier_takes_the_sparse_parts(tmp_path):
    data = load_dataset("gasp", folder=archive(tmp_path))
    quantifier = KDEy(classifier=LogisticRegression(), bandwidth=0.3, shrinkage=0.1)
    mix = quantifier.fit(data.train.X, data.train.y).predict(data.test.X[:10])
    assert mix.shape == (3,)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 2:0.5\n2 1:0.5\n", r"The label at the start of Line 2 of .* is 2; expected -1, 0, 1"),
        ("1 2:0.5\n0 1=0.5\n", r"Line 2 of .* is not a label and column:value pairs"),
        ("positive 2:0.5\n", r"Line 1 of .* is not a label"),
        ("1 0:0.5\n", r"Line 1 of .* has a column below 1"),
        ("", "is empty; expected one tweet per line"),
    ],
)
def test_lines_of_another_format_are_named(tmp_path, text, sentence):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_sparse(path)


def test_a_file_that_is_not_text_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1 2:0.5 \xff\xfe")
    with pytest.raises(InputError, match="cannot be read as text"):
        read_sparse(path)


def test_the_missing_file_and_the_archive_are_named(tmp_path):
    archive(tmp_path / ARCHIVE)
    (tmp_path / ARCHIVE / "test/gasp.dev.feature.txt").unlink()
    with pytest.raises(
        DatasetUnavailable, match=r"no test/gasp\.dev\.feature\.txt in .*snam'.*zip"
    ):
        load_dataset("gasp", folder=tmp_path)
    with pytest.raises(DatasetUnavailable, match="no folder was given"):
        load_dataset("gasp")


def test_a_class_without_tweets_is_an_error(tmp_path):
    folder = archive(tmp_path)
    (folder / "test/gasp.test.feature.txt").write_text("1 2:0.5\n0 2:0.5\n")
    with pytest.raises(InputError, match="Class 'negative' of data set 'gasp' has no items in the"):
        load_dataset("gasp", folder=folder)
