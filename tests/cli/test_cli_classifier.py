"""Feature columns: numbers, text, dates and what is missing, without any preparation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from cli_support import fails, run
from truemix import EMQ
from truemix.cli._classifiers import classifier_choice, pipeline
from truemix.cli._features import features_of
from truemix.cli.tables import open_table
from truemix.cli.tables.source import Source

COLOURS = np.array(["red", "green", None], dtype=object)
LABEL = ("--label", "kind")


def table(n, mix, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(2, n, p=mix)
    days = pd.to_timedelta(30 * y + rng.integers(0, 60, n), "D")
    frame = pd.DataFrame(
        {
            "kind": np.array(["cat", "dog"])[y],
            "size": y + rng.normal(size=n),
            "colour": COLOURS[(y + rng.integers(0, 2, n)) % 3],
            "born": pd.Timestamp("2024-01-01") + days,
            "tame": rng.random(n) < 0.3 + 0.4 * y,
            "empty": np.nan,
            "week": rng.integers(1, 4, n),
        }
    )
    frame.loc[rng.random(n) < 0.2, "size"] = np.nan
    return frame


@pytest.fixture
def files(tmp_path):
    names = tmp_path / "reference.csv", tmp_path / "target.csv"
    table(200, [0.5, 0.5], 0).drop(columns="week").to_csv(names[0], index=False)
    table(300, [0.2, 0.8], 1).drop(columns="kind").to_csv(names[1], index=False)
    return names


@pytest.mark.parametrize(
    "classifier",
    ["logistic", "random-forest:n_estimators=20,n_jobs=1", "gradient-boosting:max_iter=3"],
)
def test_each_classifier_finds_the_mix(files, capsys, classifier):
    options = ["--classifier", classifier, "--method", "emq", "--calibration", "bcts"]
    done = run(capsys, "estimate", *files, *LABEL, *options, "--format", "json", "--by", "week")
    assert done.code == 0
    assert done.err == (
        "Note: features in reference.csv: 'size', 'colour', 'born', 'tame'.\n"
        "Note: not used in target.csv: 'empty'.\n"
    )
    assert done.json["settings"]["classifier"] == classifier
    dogs = [group["classes"][1]["share"] for group in done.json["groups"]]
    # Three groups of about 100 with a share of 0.8, from features that overlap.
    assert len(dogs) == 3
    assert 0.6 < np.mean(dogs) < 0.97


def test_the_answer_is_the_librarys(files, capsys):
    options = ["--classifier", "logistic:C=0.1", "--method", "emq"]
    done = run(capsys, "estimate", *files, *LABEL, *options, "--format", "json", "--quiet")
    source = Source("reference.csv", files[0])
    whole = open_table(source).features(["size", "colour", "born", "tame"])
    features = features_of(whole, open_table(source))
    assert features.numeric == ["size", "born", "tame"]
    assert features.categorical == ["colour"]
    model = pipeline(classifier_choice("logistic:C=0.1"), features, 0)
    X = features.array(whole, open_table(source))
    target = open_table(Source("target.csv", files[1]))
    Z = features.array(target.features(list(features.types)), target)
    estimate = EMQ(classifier=model).fit(X, pd.read_csv(files[0])["kind"]).quantify(Z)
    shares = [each["share"] for each in done.json["groups"][0]["classes"]]
    np.testing.assert_allclose(shares, estimate.prevalence, atol=1e-12)


def test_formats_do_not_matter(files, tmp_path, capsys):
    paths = tmp_path / "reference.parquet", tmp_path / "target.parquet"
    for path, text in zip(paths, files, strict=True):
        frame = pd.read_csv(text, parse_dates=["born"])
        frame.astype({"colour": "category"}).to_parquet(path)
    options = [*LABEL, "--classifier", "logistic", "--method", "emq", "--format", "json"]
    expected = run(capsys, "estimate", *files, *options).json["groups"]
    for pair in ((files[0], paths[1]), (paths[0], files[1])):
        found = run(capsys, "estimate", *pair, *options).json["groups"]
        for one, other in zip(found[0]["classes"], expected[0]["classes"], strict=True):
            assert one["share"] == pytest.approx(other["share"], abs=1e-9)


def test_adapt_takes_the_classifiers_posteriors(files, tmp_path, capsys):
    out = tmp_path / "adapted.parquet"
    options = ["--classifier", "logistic", "--method", "cc", "--out", out, "--keep", "week"]
    done = run(capsys, "adapt", *files, *LABEL, *options, "--format", "json", "--quiet")
    assert done.code == 0
    frame = pd.read_parquet(out)
    assert frame.columns.tolist() == ["week", "cat", "dog"]
    np.testing.assert_allclose(frame[["cat", "dog"]].sum(axis=1), 1)
    assert frame["dog"].nunique() > 100


def test_wrong_features(files, tmp_path, capsys):
    options = [*LABEL, "--classifier", "logistic", "--method", "cc"]
    target = pd.read_csv(files[1])
    wrong = tmp_path / "wrong.csv"

    def sentence(frame):
        frame.to_csv(wrong, index=False)
        return fails(capsys, "estimate", files[0], wrong, *options)

    assert sentence(target.drop(columns="size")) == (
        "wrong.csv has no column 'size' (a feature in reference.csv); its columns are 'colour', "
        "'born', 'tame', 'empty', 'week'. Add it, or leave it out of training: --drop."
    )
    assert sentence(target.assign(size="large")) == (
        "Line 2 of wrong.csv has 'large' in column 'size'; expected a number."
    )
    assert sentence(target.assign(size=np.inf)) == (
        "Line 2 of wrong.csv has inf in column 'size'; expected a finite number, or nothing if it "
        "is missing."
    )
    assert sentence(target.assign(born="some day")).startswith(
        "wrong.csv has a value that does not fit its column ("
    )
    pd.read_csv(files[0])[["kind", "empty"]].to_csv(wrong, index=False)
    assert fails(capsys, "estimate", wrong, files[1], *options) == (
        "wrong.csv has no feature columns beside the label; expected at least one to train a "
        "classifier on."
    )


def test_text_of_many_kinds_does_not_make_many_columns(tmp_path):
    names = [f"name {i}" for i in range(1000)]
    frame = pd.DataFrame({"kind": ["cat", "dog"] * 500, "name": names})
    frame.to_csv(tmp_path / "reference.csv", index=False)
    opened = open_table(Source("reference.csv", tmp_path / "reference.csv"))
    whole = opened.features(["name"])
    features = features_of(whole, opened)
    model = pipeline(classifier_choice("logistic"), features, 0)
    prepared = model.named_steps["prepare"].fit_transform(features.array(whole, opened))
    assert prepared.shape == (1000, 100)


def test_categories_are_codes_in_their_order_and_new_ones_are_known_as_such(tmp_path):
    def opened(name, colours):
        pd.DataFrame({"colour": colours}).to_csv(tmp_path / name, index=False)
        return open_table(Source(name, tmp_path / name))

    reference = opened("reference.csv", ["red", "blue", "Ωmega", None, "red"])
    target = opened("target.csv", ["green", None, "red", "blue"])
    whole = reference.features(["colour"])
    features = features_of(whole, reference)
    assert features.categories["colour"].to_pylist() == ["", "blue", "red", "Ωmega"]
    assert features.array(whole, reference).ravel().tolist() == [2, 1, 3, 0, 2]
    found = features.array(target.features(["colour"]), target)
    assert found.ravel().tolist() == [-1, 0, 2, 1]
    # As if scikit-learn had seen the texts.
    encode = pipeline(classifier_choice("logistic"), features, 0).named_steps["prepare"]
    codes = encode.fit(features.array(whole, reference)).transform(found)
    texts = pd.DataFrame({"colour": ["red", "blue", "Ωmega", "", "red"]}, dtype=object)
    expected = (
        clone(encode)
        .fit(texts)
        .transform(pd.DataFrame({"colour": ["green", "", "red", "blue"]}, dtype=object))
    )
    np.testing.assert_array_equal(codes, expected)
