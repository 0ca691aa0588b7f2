"""What would be ignored is refused: options given twice, endings of no format, foreign options."""

import pytest

from cli_support import fails, run, written

PCC = ("--label", "label", "--method", "pcc")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--level", "0.9", "--level=0.8"], "The option --level is given twice; it takes one"),
        (["--seed", "1"] * 3, "The option --seed is given 3 times; it takes one value. Leave all"),
        (["--check", "--no-check"], "The option --check or --no-check is given twice; it takes"),
        (["--label", "b"], "The option --label is given twice; it takes one value."),
    ],
)
def test_an_option_that_takes_one_value_cannot_be_given_twice(capsys, tmp_path, options, sentence):
    assert fails(capsys, "estimate", *written(tmp_path), *PCC, *options).startswith(sentence)


def test_what_can_be_repeated_may_be_given_twice(capsys, tmp_path):
    files = written(tmp_path)
    options = ("--prior", "egg=2", "--prior", "ham=3,spam=1", "--quiet", "--quiet", "--no-check")
    method = ("--label", "label", "--method", "bayesian-emq", "--draws", "100")
    assert run(capsys, "estimate", *files, *method, *options).code in {0, 3}


RESULT = ".json, .csv, .txt. Or say with --format what to write."


@pytest.mark.parametrize(
    ("command", "option", "name", "expected"),
    [
        ("estimate", "--out", "mix.xlsx", f"one of {RESULT}"),
        ("estimate", "--out", "mix", f"one of {RESULT}"),
        ("estimate", "--report", "mix.pdf", "one of .html, .htm."),
        ("check", "--out", "check.parquet", f"one of {RESULT}"),
        ("check", "--items", "items.parquet", ".csv."),
        ("backtest", "--out", "test.md", f"one of {RESULT}"),
        ("backtest", "--report", "test.csv", "one of .html, .htm."),
        ("summarize", "--out", "summary.csv", ".npz."),
        ("tune", "--out", "best.json", ".npz."),
        ("adapt", "--weights", "weights.parquet", f"one of {RESULT}"),
    ],
)
def test_a_file_whose_ending_is_no_format_is_refused(
    capsys, tmp_path, command, option, name, expected
):
    files = written(tmp_path)
    names = files[:1] if command in {"backtest", "tune"} else files
    method = () if command == "check" else PCC[2:]
    path = tmp_path / name
    assert fails(capsys, command, *names, *PCC[:2], *method, option, path) == (
        f"The option {option} names {path}, whose ending is no format that is written there; "
        f"expected {expected}"
    )
    assert not path.exists()


def test_with_a_format_a_result_may_have_any_name(capsys, tmp_path):
    files = written(tmp_path)
    out = tmp_path / "mix.md"
    assert run(capsys, "estimate", *files, *PCC, "--out", out, "--format", "table").code == 0
    assert out.read_text().startswith("PCC: the mix of 150 items")
    out = tmp_path / "mix.txt"
    assert run(capsys, "estimate", *files, *PCC, "--out", out).code == 0
    assert out.read_text().startswith("PCC: the mix of 150 items")


@pytest.mark.parametrize(
    ("method", "option", "value", "owner"),
    [
        ("kdey", "--draws", "100", "bayesian-kdey, bayesian-emq"),
        ("emq", "--bandwidth", "0.1", "bayesian-kdey, kdey, bootstrap-kdey"),
        ("pcc", "--prior", "2", "bayesian-kdey, bayesian-emq"),
        ("bayesian-acc", "--calibration", "ts", "bayesian-emq, emq"),
        ("cc", "--temperature", "2", "bayesian-kdey"),
    ],
)
def test_an_option_of_other_methods_names_them(capsys, tmp_path, method, option, value, owner):
    given = ("--label", "label", "--method", method, option, value)
    sentence = fails(capsys, "estimate", *written(tmp_path), *given)
    parameter = option.removeprefix("--")
    assert sentence.startswith(
        f"The method {method} has no {parameter}; methods that have {option} are {owner}"
    )
    assert sentence.endswith("Leave the option out or choose one of these.")
