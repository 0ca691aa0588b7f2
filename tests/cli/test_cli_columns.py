"""Posteriors as files have them: under any names, one score, rounded, percentages, logits."""

import json

import numpy as np
import pandas as pd
import pytest

from cli_support import CLASSES, fails, reference_frame, run, target_frame, written
from support import posteriors

LABEL = ("--label", "label")
PCC = (*LABEL, "--method", "pcc")


@pytest.fixture
def shares(capsys, tmp_path):
    """Return a function that gives the shares of PCC and the notes, for changed files."""

    def estimate(reference, target, *options):
        files = written(tmp_path, reference, target)
        done = run(capsys, "estimate", *files, *PCC, "--format", "json", *options)
        assert done.code == 0, done.err
        [group] = json.loads(done.out)["groups"]
        return [each["share"] for each in group["classes"]], done.err

    return estimate


def expected_shares(target=None):
    target = target_frame() if target is None else target
    return target[CLASSES].to_numpy().mean(axis=0)


def both(change):
    return change(reference_frame()), change(target_frame())


def renamed(pattern):
    names = {name: pattern.replace("{}", name) for name in CLASSES}
    return both(lambda frame: frame.rename(columns=names))


# --- names of columns -------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["y_pred_proba_{}", "{} (posterior)", "p[{}]"])
def test_a_common_prefix_or_suffix_is_found_and_said(shares, pattern):
    found, notes = shares(*renamed(pattern))
    np.testing.assert_allclose(found, expected_shares())
    assert notes.splitlines()[0] == (
        f"Note: the posteriors in reference.csv are its columns {pattern!r}, with {{}} for the "
        "class."
    )
    # Said once: the target has the same.
    assert notes.count("with {} for") == 1


def test_two_patterns_that_fit_are_told_apart_by_an_option(capsys, shares, tmp_path):
    def two(frame):
        doubled = {f"new_{name}": frame[name] for name in CLASSES}
        old = {f"old_{name}": 1 / 3 for name in CLASSES}
        return frame.drop(columns=CLASSES).assign(**doubled, **old)

    reference, target = both(two)
    assert fails(capsys, "estimate", *written(tmp_path, reference, target), *PCC) == (
        "The columns of reference.csv fit the classes in more than one way: 'new_{}', 'old_{}'. "
        "Say which are the posteriors with --columns."
    )
    found, notes = shares(reference, target, "--columns", "new_{}")
    np.testing.assert_allclose(found, expected_shares())
    assert "with {} for" not in notes


def test_a_target_may_have_other_names_than_the_reference(shares):
    found, notes = shares(reference_frame(), renamed("p_{}")[1])
    np.testing.assert_allclose(found, expected_shares())
    assert "the posteriors in target.csv are its columns 'p_{}'" in notes


def test_features_that_happen_to_be_numbered_like_classes_are_no_posteriors(capsys, tmp_path):
    rows = np.random.default_rng(0).uniform(size=(60, 3))
    frame = pd.DataFrame(rows, columns=["x0", "x1", "x2"]).assign(label=[0, 1] * 30)
    sentence = fails(capsys, "estimate", *written(tmp_path, frame, frame[["x0", "x1"]]), *PCC)
    assert sentence == (
        "reference.csv has no column '0' (the posterior of that class); its columns are 'x0', "
        "'x1', 'x2', 'label'. Did you mean 'x0'? If these are features, add --classifier; if "
        "posteriors have other names, --columns 'PATTERN{}' or --score COLUMN."
    )


@pytest.mark.parametrize("command", ["check", "sample", "summarize", "adapt", "tune", "backtest"])
def test_every_command_takes_them(capsys, tmp_path, command):
    files = written(tmp_path, *renamed("p_{}"))
    options = {
        "check": ["--bandwidth", "0.3", "--shrinkage", "0.5"],
        "sample": ["--method", "kdey", "--bandwidth", "0.3", "--shrinkage", "0.5"],
        "summarize": ["--method", "pcc", "--out", tmp_path / "s.npz"],
        "adapt": ["--method", "pcc"],
        "tune": ["--method", "emq", "--grid", "calibration=none"],
        "backtest": ["--method", "pcc", "--n-bags", "3", "--folds", "2"],
    }[command]
    names = files[:1] if command in {"tune", "backtest"} else files
    done = run(capsys, command, *names, *LABEL, "--columns", "p_{}", "--format", "json", *options)
    assert done.code in {0, 3}, done.err
    assert done.json
    if command == "tune":
        assert "--columns 'p_{}'" in done.err


# --- values -----------------------------------------------------------------------------------


def two_classes(rows):
    """Return a table with a score of the class 1, as binary classifiers are used."""
    P, codes = posteriors(len(rows), 2, len(rows))
    return P, pd.DataFrame({"label": codes, "score": P[:, 1], "other": "x"})


@pytest.mark.parametrize("positive", ["0", "1"])
def test_one_score_stands_for_both_classes(shares, positive):
    _, reference = two_classes(range(120))
    P, target = two_classes(range(150))
    found, _ = shares(
        reference, target.drop(columns="label"), "--score", "score", "--positive", positive
    )
    expected = P.mean(axis=0) if positive == "1" else P[:, ::-1].mean(axis=0)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_rounded_posteriors_are_renormalised_and_it_is_said(shares, decimals):
    reference, target = both(lambda frame: frame.round(decimals))
    sums = target[CLASSES].sum(axis=1)
    assert (sums - 1).abs().max() > 9e-4
    found, notes = shares(reference, target)
    rows = target[CLASSES].to_numpy() / sums.to_numpy()[:, None]
    np.testing.assert_allclose(found, rows.mean(axis=0))
    if decimals < 3:
        off = f"{(sums - 1).abs().max():.1g}"
        assert (
            f"posteriors in target.csv are rounded to {decimals} decimal{'s' * (decimals > 1)}, "
            f"so that they sum to 1 only within {off}; rows were renormalised." in notes
        )


def test_a_sum_that_rounding_does_not_explain_is_an_error(capsys, tmp_path):
    reference, target = both(lambda frame: frame.round(2))
    target = target.drop(columns="week")
    target.loc[70, CLASSES] = [0.33, 0.33, 0.31]
    sentence = fails(capsys, "estimate", *written(tmp_path, reference, target), *PCC)
    assert sentence == (
        "Line 72 of target.csv sums to 0.97 over the columns 'egg', 'ham', 'spam'. Posteriors "
        "must be at least 0 and sum to 1 in each row (within 0.001)."
    )


@pytest.mark.parametrize("decimals", [None, 0, 1])
def test_percentages_are_recognised(shares, decimals):
    def percent(frame):
        values = 100 * frame[CLASSES]
        return frame.assign(**(values if decimals is None else values.round(decimals)))

    reference, target = both(percent)
    found, notes = shares(reference, target)
    rows = target[CLASSES].to_numpy()
    np.testing.assert_allclose(found, (rows / rows.sum(axis=1)[:, None]).mean(axis=0))
    for name in ("reference.csv", "target.csv"):
        assert f"the posteriors in {name} are percentages, and were divided by 100." in notes
    assert ("rounded to whole numbers" in notes) == (decimals == 0)


def test_percentages_and_shares_in_one_table_are_refused(capsys, tmp_path):
    target = target_frame()
    target[CLASSES] *= 100
    target.loc[3, CLASSES] /= 100
    sentence = fails(capsys, "estimate", *written(tmp_path, None, target), *PCC)
    assert sentence.startswith("Line 5 of target.csv sums to 1 over the columns")
    assert "Percentages must be at least 0 and sum to 100 in each row (within 0.1)." in sentence


def test_logits_become_posteriors(shares):
    # Any constant may be added to the logits of an item.
    reference, target = both(
        lambda frame: frame.assign(**(np.log(np.maximum(frame[CLASSES], 1e-300)) + 7.0))
    )
    found, _ = shares(reference, target, "--logits")
    np.testing.assert_allclose(found, expected_shares())


# --- features ---------------------------------------------------------------------------------


def test_features_can_be_named_or_dropped_and_are_listed(capsys, tmp_path):
    files = written(tmp_path)
    command = ("estimate", *files, *LABEL, "--classifier", "logistic", "--method", "cc")
    command = (*command, "--format", "json")
    named = run(capsys, *command, "--features", "egg", "--features", "ham")
    dropped = run(capsys, *command, "--drop", "spam")
    assert named.json["settings"]["features"] == ["egg", "ham"]
    assert dropped.json["settings"]["left_out"] == {"spam": "--drop"}
    assert named.json["groups"][0]["classes"] == dropped.json["groups"][0]["classes"]
    assert "Note: features in reference.csv: 'egg', 'ham'." in named.err
    assert "--features egg --features ham" in named.json["command"]


def test_a_key_is_trained_on_only_if_it_is_named(capsys, tmp_path):
    files = written(tmp_path, *both(lambda frame: frame.assign(id=range(len(frame)))))
    command = ("estimate", *files, *LABEL, "--classifier", "logistic", "--method", "cc")
    command = (*command, "--format", "json")
    assert "id" not in run(capsys, *command).json["settings"]["features"]
    named = run(capsys, *command, "--features", "egg", "--features", "id")
    assert named.json["settings"]["features"] == ["egg", "id"]


# --- options that do not go together ----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--columns", "p_"],
            "The option --columns is 'p_'; expected one {} where the class is in the names of "
            "columns, as in 'proba_{}'.",
        ),
        (
            ["--columns", "p_{}"],
            "reference.csv has no column 'p_egg' (the posterior of that class, as --columns says); "
            "its columns are 'label', 'egg', 'ham', 'spam'. Did you mean 'egg'?",
        ),
        (
            ["--score", "egg"],
            "The option --score names the column 'egg'; say which class it is the posterior of: "
            "--positive CLASS.",
        ),
        (
            ["--positive", "egg"],
            "The option --positive says which class --score is the posterior of; name that column "
            "too: --score COLUMN.",
        ),
        (
            ["--score", "egg", "--positive", "egg"],
            "The option --score is about two classes, but there are 3: 'egg', 'ham', 'spam'. Give "
            "a column for each, or --columns.",
        ),
        (
            ["--score", "egg", "--positive", "egg", "--columns", "p_{}"],
            "--columns is about a column for each class and --score about one column; give one of "
            "them.",
        ),
        (
            ["--score", "egg", "--positive", "egg", "--logits"],
            "--logits is about a column for each class; a --score must be a posterior from 0 to 1. "
            "Leave --logits out, and apply the logistic function if it is a logit.",
        ),
        (
            ["--logits"],
            "The columns 'egg', 'ham', 'spam' of reference.csv are at least 0 and sum to 1, so "
            "they are posteriors already; leave --logits out.",
        ),
        (
            ["--logits", "--classifier", "logistic"],
            "The option --logits is about columns of posteriors, but --classifier trains on "
            "features; leave one of them out.",
        ),
        (
            ["--logits", "--decision", "egg", "--method", "acc"],
            "The option --logits is about columns of posteriors, but --decision names decisions in "
            "place of them; leave one of them out.",
        ),
        (
            ["--drop", "egg"],
            "The option --drop says what --classifier is trained on; name a classifier too, or "
            "leave the option out.",
        ),
        (
            ["--features", "egg"],
            "The option --features says what --classifier is trained on; name a classifier too, or "
            "leave the option out.",
        ),
        (
            ["--features", "egg", "--drop", "ham", "--classifier", "logistic"],
            "--features names all columns to train on, and --drop those to leave out; give one of "
            "them.",
        ),
        (
            ["--features", "label", "--classifier", "logistic"],
            "The option --features names 'label', which is the column of labels or groups; "
            "expected columns that tell classes apart.",
        ),
        (
            ["--drop", "eggs", "--classifier", "logistic"],
            "reference.csv has no column 'eggs' (as --drop says); its columns are 'label', 'egg', "
            "'ham', 'spam'. Did you mean 'egg'?",
        ),
    ],
)
def test_wrong_combinations(capsys, tmp_path, options, sentence):
    method = () if {"--classifier", "--method"} & set(options) else PCC[2:]
    assert fails(capsys, "estimate", *written(tmp_path), *LABEL, *method, *options) == sentence


def test_a_wrong_score(capsys, tmp_path):
    _, reference = two_classes(range(120))
    target = reference.assign(score=100 * reference["score"])
    files = written(tmp_path, reference, target)
    options = (*PCC, "--score", "score", "--positive")
    assert fails(capsys, "estimate", *files, *options, "yes") == (
        "The option --positive is 'yes'; expected one of the classes '0', '1'."
    )
    sentence = fails(capsys, "estimate", *files, *options, "1")
    assert sentence.startswith("Line 2 of target.csv has ")
    assert sentence.endswith(
        " in column 'score'; a score must be a posterior, from 0 to 1. Divide percentages by 100."
    )
