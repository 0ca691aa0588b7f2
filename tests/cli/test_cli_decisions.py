"""Decisions of judges on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import truemix
from cli_support import fails, run
from truemix import ACC, BayesianACC

VALUES = np.array(["good", "bad", "unsure"])
RATES = np.array([[[0.8, 0.12, 0.08], [0.2, 0.7, 0.1]], [[0.9, 0.1, 0.0], [0.3, 0.6, 0.1]]])
FAST = ("--draws", "200", "--quiet")


def frame_of(n, good, seed):
    rng = np.random.default_rng(seed)
    bad = (rng.random(n) >= good).astype(int)
    steps = RATES.cumsum(axis=2)[:, bad]
    gpt, claude = VALUES[(rng.random((2, n))[..., None] > steps).sum(axis=2)]
    week = np.where(np.arange(n) < n // 2, "week 1", "week 2")
    return pd.DataFrame(
        {"id": np.arange(n), "human": VALUES[bad], "gpt": gpt, "claude": claude, "week": week}
    )


REFERENCE, TARGET = frame_of(200, 0.6, 0), frame_of(400, 0.85, 1).drop(columns="human")
SIDES = ("--label", "human", "--decision", "gpt")


@pytest.fixture
def files(tmp_path):
    REFERENCE.to_csv(tmp_path / "reference.csv", index=False)
    TARGET.to_parquet(tmp_path / "target.parquet")
    return tmp_path / "reference.csv", tmp_path / "target.parquet"


def test_the_default_method_is_bayesian_acc_with_the_answer_of_python(capsys, files):
    done = run(capsys, "estimate", *files, *SIDES, *FAST, "--format", "json")
    assert done.code == 0
    [group] = done.json["groups"]
    quantifier = BayesianACC(draws=200, random_state=0).fit(REFERENCE[["gpt"]], REFERENCE["human"])
    expected = quantifier.quantify(TARGET["gpt"]).prevalence
    assert [each["share"] for each in group["classes"]] == expected.tolist()
    assert done.json["method"] == "BayesianACC"
    assert "--decision gpt" in done.json["command"]


def test_several_judges_are_named_with_how_they_are_taken(capsys, files):
    arguments = (*SIDES, "--decision", "claude", "--method", "acc", "--no-check", "--quiet")
    done = run(capsys, "estimate", *files, *arguments)
    assert "The verdicts of gpt and claude are taken together, as one decision with 9 " in done.out
    few = files[0].with_name("few.csv")
    REFERENCE[:80].to_csv(few, index=False)
    files = few, files[1]
    done = run(capsys, "estimate", *files, *arguments)
    assert "The references are too few to learn all 9 combinations of the verdicts of gpt and " in (
        done.out
    )
    weeks = run(capsys, "estimate", *files, *arguments, "--by", "week")
    assert "combinations of the verdicts of gpt and claude" in weeks.out
    counts = run(capsys, "estimate", *files, *arguments, "--format", "json").json
    assert counts["groups"][0]["diagnostics"]["decisions"]["model"] == "separate shares"


@pytest.mark.parametrize("arguments", [("check", "--items", "OUT"), ("adapt", "--out", "OUT")])
def test_the_other_commands_take_decisions(capsys, files, tmp_path, arguments):
    command, *others = [tmp_path / "out.csv" if each == "OUT" else each for each in arguments]
    done = run(capsys, command, *files, *SIDES, *others, "--quiet")
    assert done.code == 0
    found = pd.read_csv(tmp_path / "out.csv")
    assert len(found) == len(TARGET)
    if command == "adapt":
        np.testing.assert_allclose(found[["bad", "good"]].sum(axis=1), 1.0)
        sure = found["good"][TARGET["gpt"] == "good"].mean()
        assert sure > found["good"][TARGET["gpt"] == "bad"].mean()


def test_samples_summaries_and_backtests_take_decisions(capsys, files, tmp_path):
    out = tmp_path / "label.csv"
    assert run(capsys, "sample", *files, *SIDES, *FAST, "--n", "5", "--out", out).code == 0
    chosen = pd.read_csv(out)
    chosen["human"] = "good"
    chosen.to_csv(out, index=False)
    done = run(capsys, "estimate", *files, *SIDES, *FAST, "--labelled", out)
    assert "5 of 400 items are labelled" in done.out
    summary = tmp_path / "summary.npz"
    assert run(capsys, "summarize", *files, *SIDES, "--quiet", "--out", summary).code == 0
    again = run(capsys, "estimate", files[0], summary, *SIDES, *FAST, "--format", "json").json
    direct = run(capsys, "estimate", *files, *SIDES, *FAST, "--format", "json").json
    assert again["groups"][0]["classes"] == direct["groups"][0]["classes"]
    tested = run(
        capsys, "backtest", files[0], *SIDES, "--method", "acc", "--n-bags", "4", "--quiet",
        "--bag-size", "10", "--n-references", "100", "--format", "json",
    )  # fmt: skip
    assert json.loads(tested.out)["method"] == "ACC"


def test_a_saved_quantifier_knows_its_columns(capsys, files, tmp_path):
    saved = tmp_path / "saved"
    quantifier = ACC().fit(REFERENCE[["gpt", "claude"]], REFERENCE["human"])
    truemix.save(quantifier, saved)
    done = run(capsys, "estimate", saved, files[1], "--no-check", "--quiet", "--format", "json")
    shares = [each["share"] for each in done.json["groups"][0]["classes"]]
    np.testing.assert_allclose(shares, quantifier.predict(TARGET[["gpt", "claude"]]))
    assert "reads 2 columns of decisions" in fails(
        capsys, "estimate", saved, files[1], "--decision", "gpt", "--quiet"
    )
    posteriors = ACC().fit([[0.9, 0.1], [0.2, 0.8]], ["good", "bad"])
    truemix.save(posteriors, saved)
    assert "fitted on posteriors" in fails(
        capsys, "estimate", saved, files[1], "--decision", "gpt", "--quiet"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--method", "kdey"), "The method kdey needs posteriors, but --decision names decisions"),
        (("--classifier", "logistic"), "give one of them"),
        (("--decision", "gpt"), "names 'gpt' more than once"),
        (("--decision", "human"), "--label and --decision both name 'human'"),
        (("--decision", "llama"), "has no column 'llama' (decisions, as --decision says)"),
        (("--bandwidth", "0.3"), "has no bandwidth"),
        (("--method", "cc"), "has the decision 'unsure', which is no class"),
    ],
)
def test_wrong_combinations_are_one_sentence(capsys, files, arguments, said):
    assert said in fails(capsys, "estimate", *files, *SIDES, *arguments, "--quiet")


def test_a_decision_that_is_missing_or_unknown_is_named_by_its_place(capsys, files, tmp_path):
    other = tmp_path / "other.csv"
    changed = TARGET.copy()
    changed.loc[7, "gpt"] = "refused"
    changed.to_csv(other, index=False)
    point = (*SIDES, "--method", "acc", "--quiet")
    sentence = fails(capsys, "estimate", files[0], other, *point)
    assert sentence.startswith("Line 9 of other.csv has the decision 'refused', which no reference")
    done = run(capsys, "estimate", files[0], other, *SIDES, *FAST, "--no-check")
    assert "1 item has a decision that no reference has" in done.out
    changed.loc[7, "gpt"] = None
    changed.to_csv(other, index=False)
    assert "Line 9 of other.csv has no decision in column 'gpt'" in fails(
        capsys, "estimate", files[0], other, *point
    )


def test_there_is_nothing_to_tune(capsys, files):
    assert "no settings to choose" in fails(capsys, "tune", files[0], *SIDES)
