"""Workers give the answer of one process, also if one of them is killed."""

import os
import signal
import sys
import warnings

import pytest

from cli_support import FAST, fails, run, target_frame, written
from truemix.cli import _summarizing

OPTIONS = ("--label", "label", *FAST, "--by", "week", "--format", "json", "--quiet")
N_FILES = 12


@pytest.fixture
def inputs(tmp_path):
    """Write a reference, and a target in many files of a folder."""
    reference, _ = written(tmp_path)
    (tmp_path / "data").mkdir()
    frame = target_frame(240)
    for number in range(N_FILES):
        frame[number::N_FILES].to_csv(tmp_path / "data" / f"{number:02d}.csv", index=False)
    return reference, tmp_path / "data"


def test_workers_give_the_answer_of_one_process(inputs, capsys):
    expected = run(capsys, "estimate", *inputs, *OPTIONS)
    found = run(capsys, "estimate", *inputs, *OPTIONS, "--workers", 2)
    assert (found.code, found.err) == (0, "")
    assert found.out == expected.out


# One test, because a cluster takes long to start.
def test_a_cluster_names_bad_files_and_loses_nothing_with_a_worker(inputs, capsys, monkeypatch):
    import distributed

    expected = run(capsys, "estimate", *inputs, *OPTIONS)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    # What a killed worker leaves open is not ours.
    with warnings.catch_warnings(), distributed.LocalCluster(**options, silence_logs=50) as cluster:
        warnings.simplefilter("ignore")
        there = ("--scheduler", cluster.scheduler_address)
        victim = next(iter(cluster.workers.values())).pid
        finished, told = _summarizing.Ledger.finished, []

        def kill_one(self, number, facts):
            # Some files are done by then, and others are not.
            told.append(number)
            if len(told) == 3:
                os.kill(victim, signal.SIGKILL)
            finished(self, number, facts)

        with monkeypatch.context() as patch:
            patch.setattr(_summarizing.Ledger, "finished", kill_one)
            patch.setattr(_summarizing, "_TASK_BYTES", 1)
            found = run(capsys, "estimate", *inputs, *OPTIONS, *there)
        assert (found.code, found.err) == (0, "")
        assert found.out == expected.out
        assert sorted(told) == list(range(N_FILES))
        # The same bad files, in the same order; now one task reads them all.
        for number in (3, 9):
            (inputs[1] / f"{number:02d}.csv").write_text("egg,ham,spam,week\n1,1,1,week 1\n")
        found = run(capsys, "estimate", *inputs, *OPTIONS, "--skip-bad-files", *there)
        sentence = fails(capsys, "estimate", *inputs, *OPTIONS, *there)
    assert found.json["target"]["skipped_files"] == ["data/03.csv", "data/09.csv"]
    assert found.out == run(capsys, "estimate", *inputs, *OPTIONS, "--skip-bad-files").out
    assert sentence == fails(capsys, "estimate", *inputs, *OPTIONS)
    assert sentence.startswith("Line 2 of data/03.csv sums to 3")


def test_what_cannot_be_said_of_workers(inputs, capsys, monkeypatch):
    estimate = ("estimate", inputs[0])
    sentence = fails(capsys, *estimate, inputs[1], *OPTIONS, "--workers", 0)
    assert sentence == "The option --workers is 0; expected at least 1 process."
    both = ("--workers", 2, "--scheduler", "tcp://127.0.0.1:9")
    assert fails(capsys, *estimate, inputs[1], *OPTIONS, *both) == (
        "--workers starts processes here and --scheduler names a cluster; give one of them."
    )
    with (inputs[1] / "00.csv").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        sentence = fails(capsys, *estimate, "-", *OPTIONS, "--workers", 2)
    assert sentence.startswith("Stdin and pipes cannot be read by other processes; write TARGET to")
    monkeypatch.setattr("truemix._dask.PATIENCE", "1s")
    sentence = fails(capsys, *estimate, inputs[1], *OPTIONS, *both[2:])
    assert sentence.startswith("There is no Dask scheduler at 'tcp://127.0.0.1:9' (")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert fails(capsys, *estimate, inputs[1], *OPTIONS, *both[:2]) == (
        "The option --workers needs distributed, which is not installed; install it with: pip "
        "install 'truemix[dask]'"
    )
