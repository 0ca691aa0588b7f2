"""``truemix bench`` as users meet it: runs, tables, figures, and what can be had."""

import shutil

import pytest

from cli_support import contents, fails, finished, run, start

FEW = ("--methods", "PCC,bootstrap", "--methods", "kdey(ait-λ)", "--quick", "--bags", "5")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with results, made by the command as a child."""
    folder = tmp_path_factory.mktemp("bench")
    child = start("bench", "sklearn-iris", *FEW, "--out", folder / "results", cwd=folder)
    return folder / "results", finished(child)


def test_a_run_shows_results_on_stdout_and_progress_on_stderr(results):
    folder, done = results
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Means over 1 data set, mixes from Dirichlet(1), 5 bags each"
    assert [line.split()[0] for line in lines[2:6]] == [
        "PCC",
        "KDEy(Ait-λ)",
        "Boots-CC",
        "Boots-PCC",
    ]
    assert "sklearn-iris, PCC: AE 0." in done.err
    assert "(4 of 4, done)" in done.err
    assert " left)" in done.err
    assert contents(folder / "sklearn-iris") == [
        "Boots-CC-alpha1.parquet",
        "Boots-PCC-alpha1.parquet",
        "KDEy(Ait-lambda)-alpha1.parquet",
        "PCC-alpha1.parquet",
    ]


def test_the_same_command_again_runs_nothing(results, capsys):
    folder, first = results
    done = run(capsys, "bench", "run", "sklearn-iris", *FEW, "--out", folder)
    assert done.code == 0
    assert done.out == first.out
    assert done.err.splitlines() == [
        f"The results are in {folder}; truemix bench tables and truemix bench figures show more."
    ]


def test_tables_are_shown_and_written(results, capsys, tmp_path):
    done = run(capsys, "bench", "tables", "--out", results[0], "--to", tmp_path)
    assert done.code == 0
    assert "Errors of point estimators" in done.out
    assert "point-errors.md" in contents(tmp_path)
    assert done.err.startswith("Wrote ")


def test_packed_results_give_the_tables_again(results, capsys, tmp_path):
    packed = tmp_path / "all.parquet"
    done = run(capsys, "bench", "pack", "--out", results[0], "--to", packed)
    assert done.code == 0
    assert done.err == f"Wrote 4 runs to {packed}.\n"
    assert run(capsys, "bench", "tables", "--out", packed).code == 0
    assert "point-errors.md" in contents(tmp_path / "tables")


def test_results_of_several_places_are_packed_together(results, capsys, tmp_path):
    part, rest, packed = tmp_path / "part", tmp_path / "rest", tmp_path / "all.parquet"
    shutil.copytree(results[0], rest)
    found = sorted(rest.rglob("*.parquet"))
    part.mkdir()
    found[0].rename(part / found[0].name)
    done = run(capsys, "bench", "pack", "--out", part, "--also", rest, "--to", packed)
    assert done.code == 0
    assert done.err == f"Wrote 4 runs to {packed}, of which 3 are not in {part}.\n"
    done = run(capsys, "bench", "pack", "--out", part, "--also", rest, "--to", rest / "all")
    assert done.code == 1
    assert f"among the results in {str(rest)!r}" in done.err


def test_packed_results_are_not_written_among_the_results(results, capsys):
    inside = results[0] / "all.parquet"
    done = run(capsys, "bench", "pack", "--out", results[0], "--to", inside)
    assert done.code == 1
    assert "would be among the results" in done.err
    assert not inside.exists()


def test_figures_are_written_as_far_as_there_are_results(capsys, tmp_path, monkeypatch):
    # All of them would take long, and are tested elsewhere.
    few = {"shift-ranks": "shift", "shrinkage": "shrinkage"}
    monkeypatch.setattr("truemix_experiments.figures.FIGURES", few)
    command = ("bench", "sklearn-iris", "--methods", "PCC", "--quick", "--bags", "2")
    assert run(capsys, *command, "--out", tmp_path).code == 0
    done = run(capsys, "bench", "figures", "--out", tmp_path)
    assert done.code == 0
    assert contents(tmp_path / "figures") == ["shrinkage.png", "shrinkage.svg"]
    assert done.err.count("Wrote ") == 2
    assert "Not drawn: No bag has results of all Bayesian methods" in done.err


def test_a_data_set_that_cannot_be_had_is_said_and_told_by_the_exit_code(capsys, tmp_path):
    command = ("bench", "sklearn-iris", "MNIST", "--methods", "CC", "--quick", "--bags", "2")
    done = run(capsys, *command, "--quiet", "--out", tmp_path)
    assert done.code == 3
    assert "CC" in done.out
    (line,) = done.err.splitlines()
    assert line.startswith("Not run: The outputs of a network for 'MNIST' are not here")


def test_the_list_says_what_can_be_had(capsys):
    done = run(capsys, "bench", "list", "embedded", "text")
    assert done.code == 0
    rows = {line.split()[0]: line.split()[2] for line in done.out.splitlines()[2:-2]}
    assert rows["sklearn-iris"] == "yes"
    assert rows["gasp"] == "no"
    assert "4 of 19 can be had." in done.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["yeats"], "There is no data set 'yeats'; did you mean 'yeast'?"),
        (["--methods", "ABC"], "There is no method 'ABC'"),
        (["--alpha", "one"], "The option --alpha has 'one'; expected positive numbers"),
        (["--alpha", "0"], "The alpha of a run is 0.0; expected a positive number."),
        (["--jobs", "0"], "The option --jobs is 0; expected a whole number between 1 and 1,000."),
        (["--jobs", "2", "--scheduler", "tcp://a:1"], "--jobs and --scheduler exclude each other"),
        (["--bags", "0"], "The 'bags' parameter must be"),
        (["--data", "nowhere"], "There is no folder 'nowhere'"),
    ],
)
def test_wrong_input_is_one_sentence(capsys, tmp_path, arguments, sentence):
    assert sentence in fails(capsys, "bench", *arguments, "--out", tmp_path / "results")


def test_messages_cannot_steer_a_terminal(capsys, tmp_path):
    sentence = fails(capsys, "bench", "\x1b[2J\x07", "--out", tmp_path / "results")
    assert r"\x1b[2J\x07" in sentence


def test_tables_of_nothing_are_an_error(capsys, tmp_path):
    assert "There are no results in" in fails(capsys, "bench", "tables", "--out", tmp_path)


@pytest.mark.parametrize("command", ["run", "tables", "figures", "list"])
def test_every_part_has_help(command, capsys):
    done = run(capsys, "bench", command, "--help")
    assert done.code == 0
    assert f"Usage: truemix bench {command}" in done.out
    assert "Exit codes:" in done.out
