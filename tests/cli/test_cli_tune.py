"""``truemix tune``, and what it saves."""

import csv
import io
import itertools

import numpy as np
import pytest

import truemix
from cli_support import CLASSES, FAST, contents, fails, reference_frame, run, target_frame, written
from truemix import KDEy
from truemix.models.bandwidth_selection import BANDWIDTHS, SHRINKAGES
from truemix.selection import GridSearch

LABEL = ("--label", "label")
GRID = ("--grid", "bandwidth=0.1,0.3,1", "--grid", "shrinkage=0,0.5")


@pytest.fixture
def files(tmp_path):
    return written(tmp_path)


def test_the_table_is_that_of_the_librarys_search(files, capsys):
    command = ["tune", files[0], *LABEL, "--method", "kdey", *GRID]
    found = run(capsys, *command, "--format", "json").json
    P = reference_frame()
    grid = {"bandwidth": [0.1, 0.3, 1], "shrinkage": [0, 0.5]}
    search = GridSearch(KDEy(), grid).fit(P[CLASSES], P["label"])
    assert found["best"] == search.best_params_
    assert [row["absolute_error"] for row in found["settings"]] == sorted(search.results_["score"])
    flat = list(csv.DictReader(io.StringIO(run(capsys, *command, "--format", "csv").out)))
    expected = [{name: str(value) for name, value in row.items()} for row in found["settings"]]
    assert flat == expected
    done = run(capsys, *command)
    title, header, first, *_ = done.out.splitlines()
    assert title == "KDEy: 6 settings on 120 items of reference.csv, best first"
    assert header.split() == ["bandwidth", "shrinkage", "absolute_error", "standard_error"]
    assert first.split()[:2] == [f"{value:g}" for value in found["best"].values()]
    best = " ".join(f"--{name} {value}" for name, value in found["best"].items())
    assert done.err == (
        f"To use the best: truemix estimate {files[0]} TARGET --label label --method kdey {best}\n"
    )


def test_without_a_grid_the_papers_is_searched(files, capsys):
    done = run(capsys, "tune", files[0], *LABEL, "--shrinkage", "0.5", "--format", "csv")
    assert len(done.out.splitlines()) == 1 + len(BANDWIDTHS["aitchison"])
    done = run(capsys, "tune", files[0], *LABEL, "--kernel", "gaussian", "--bandwidth", "0.1")
    assert len(done.out.splitlines()) == 2 + len(SHRINKAGES["gaussian"])
    done = run(capsys, "tune", files[0], *LABEL, "--method", "bayesian-emq")
    assert done.out.startswith("BayesianEMQ: 5 settings")
    assert "--method bayesian-emq" in done.err


def test_what_is_saved_takes_the_place_of_the_reference(files, tmp_path, capsys):
    tuned = tmp_path / "tuned.npz"
    options = ["--draws", "200", "--format", "json"]
    done = run(capsys, "tune", files[0], *LABEL, *GRID, *options, "--seed", "5", "--out", tuned)
    assert done.code == 0
    assert done.err.splitlines() == [
        f"Wrote {tuned}",
        f"To use it: truemix estimate {tuned} TARGET",
    ]
    best = done.json["best"]
    saved = truemix.load(tuned)
    assert (type(saved).__name__, saved.random_state) == ("BayesianKDEy", 5)
    settings = [part for name, value in best.items() for part in (f"--{name}", value)]
    direct = run(capsys, "estimate", *files, *LABEL, *settings, *options, "--seed", "5")
    through = run(capsys, "estimate", tuned, files[1], "--format", "json")
    assert through.json["groups"] == direct.json["groups"]
    assert through.json["reference"] == {"name": "tuned.npz", "n_items": 120}
    # Parameters that need no learning can still be changed.
    changes = ["--prior", "egg=3,ham=1,spam=1", "--temperature", "2", "--seed", "6"]
    direct = run(capsys, "estimate", *files, *LABEL, *settings, *options, *changes)
    through = run(capsys, "estimate", tuned, files[1], "--format", "json", *changes)
    assert through.json["groups"][0]["classes"] == direct.json["groups"][0]["classes"]


def test_what_contradicts_a_saved_quantifier(files, tmp_path, capsys):
    tuned = tmp_path / "tuned.npz"
    run(capsys, "tune", files[0], *LABEL, "--method", "kdey", *GRID, "--out", tuned)
    assert run(capsys, "estimate", tuned, files[1], "--method", "KDEy").code == 0
    assert fails(capsys, "estimate", tuned, files[1], "--method", "emq") == (
        "tuned.npz is a saved quantifier of the method KDEy, but --method is emq; leave the option "
        "out, or give labelled items as REFERENCE."
    )
    for option, value in (("kernel", "ilr"), ("bandwidth", "1"), ("classifier", "logistic")):
        assert fails(capsys, "estimate", tuned, files[1], f"--{option}", value) == (
            f"tuned.npz is a saved quantifier, whose {option} is already decided; leave --{option} "
            "out, or give labelled items as REFERENCE."
        )
    assert fails(capsys, "estimate", tuned, files[1], "--prior", "2") == (
        "tuned.npz is a saved quantifier of the method KDEy, which has no prior; leave --prior out."
    )
    done = run(capsys, "estimate", tuned, files[1], *LABEL)
    assert done.code == 0
    assert "Note: --label is not needed: tuned.npz is a saved quantifier." in done.err
    target_frame()[["egg", "ham"]].to_csv(tmp_path / "less.csv", index=False)
    sentence = fails(capsys, "estimate", tuned, tmp_path / "less.csv")
    assert sentence.startswith("less.csv has no column 'spam'")


def test_a_saved_estimate_is_not_a_quantifier(files, tmp_path, capsys):
    P = reference_frame()
    quantifier = KDEy(bandwidth=0.3, shrinkage=0.5).fit(P[CLASSES], P["label"])
    quantifier.quantify(P[CLASSES]).save(tmp_path / "estimate.npz")
    sentence = fails(capsys, "estimate", tmp_path / "estimate.npz", files[1])
    assert sentence.endswith("holds a 'truemix estimate'; expected a truemix quantifier.")


def test_with_a_classifier_the_command_is_shown_instead(tmp_path, capsys):
    reference, _ = written(tmp_path)
    grid = ["--grid", "classifier.C=0.01,1", "--method", "cc"]
    done = run(capsys, "tune", reference, *LABEL, "--classifier", "logistic", *grid)
    assert done.code == 0
    assert done.out.splitlines()[1].split()[0] == "classifier.C"
    assert "--classifier logistic:C=" in done.err
    before = contents(tmp_path)
    sentence = fails(
        capsys, "tune", reference, *LABEL, "--classifier", "logistic", "--out", tmp_path / "x.npz"
    )
    assert sentence.startswith("With --classifier there is nothing for --out to save")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--grid", "bandwidth"], "The option --grid is 'bandwidth'; expected NAME=VALUE,VALUE,…"),
        (["--grid", "a=1", "--grid", "a=2"], "The option --grid names a twice; give all its"),
        (["--grid", "size=1"], "The grid has a parameter 'size'; expected one of prior, temp"),
        (["--grid", "bandwidth=-1"], "The 'bandwidth' parameter must be a positive number"),
        (["--grid", "calibration=ts"], "The method bayesian-kdey has no calibration; methods"),
        (["--grid", "classifier.C=1"], "The grid has classifier.C, but there is no --classifier"),
        (
            ["--grid", "classifier.D=1", "--classifier", "logistic"],
            "The classifier logistic has no parameter 'D'; expected one of C,",
        ),
        (["--method", "cc"], "There is nothing to choose for the method cc with these options"),
        (["--metric", "guess"], "The 'metric' parameter must be one of 'absolute_error'"),
    ],
)
def test_wrong_options(files, capsys, options, sentence):
    assert fails(capsys, "tune", files[0], *LABEL, *options).startswith(sentence)


def test_an_interrupted_search_shows_what_it_has_and_saves_nothing(
    files, tmp_path, capsys, monkeypatch
):
    import truemix.selection.grid_search as module

    whole = module.search

    def stopped(*arguments, **options):
        yield from itertools.islice(whole(*arguments, **options), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "search", stopped)
    tuned = tmp_path / "tuned.npz"
    done = run(capsys, "tune", files[0], *LABEL, "--method", "kdey", *GRID, "--out", tuned)
    assert done.code == 130
    assert len(done.out.splitlines()) == 4
    assert "interrupted after 2 of 6 settings" in done.err
    assert not tuned.exists()


def test_fast_options_are_those_of_the_default_method(files, capsys):
    # What the other tests rely on.
    done = run(capsys, "estimate", *files, *LABEL, *FAST, "--format", "json")
    assert done.json["method"] == "BayesianKDEy"
    assert np.isclose(done.json["settings"]["bandwidth"], 0.3)
