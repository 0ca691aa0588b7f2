"""Where results go: files, links, pipes and devices, and what happens if they take no more."""

import json
import os
import stat
import threading

import pytest

from cli_support import CLASSES, contents, fails, run, target_frame, written

PCC = ("--label", "label", "--method", "pcc")
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs links, pipes and modes of POSIX")


@pytest.fixture
def files(tmp_path):
    return written(tmp_path)


def shares(text):
    return [each["share"] for each in json.loads(text)["groups"][0]["classes"]]


# What PCC answers.
EXPECTED = pytest.approx(target_frame()[CLASSES].mean().tolist(), rel=1e-12)


@POSIX
def test_results_go_through_links_and_into_pipes(files, tmp_path, capsys):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to("real/result.json")
    os.mkfifo(tmp_path / "report.pipe")
    found = []
    reader = threading.Thread(
        target=lambda: found.append((tmp_path / "report.pipe").read_text("utf-8")), daemon=True
    )
    reader.start()
    outputs = ("--out", tmp_path / "link.json", "--report", tmp_path / "report.pipe")
    done = run(capsys, "estimate", *files, *PCC, *outputs)
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "link.json").is_symlink()
    assert shares((tmp_path / "real" / "result.json").read_text()) == EXPECTED
    reader.join(timeout=30)
    assert found[0].startswith("<!doctype html>")
    assert stat.S_ISFIFO((tmp_path / "report.pipe").stat().st_mode)


@POSIX
def test_a_device_can_be_every_output(files, tmp_path, capsys):
    path = tmp_path / "null"
    try:
        # Our own, because a failure would replace that of the system.
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.open("wb").close()
    except OSError:
        pytest.skip("this system lets us make no devices")
    done = run(capsys, "estimate", *files, *PCC, "--out", path, "--report", path)
    assert done.code == 0
    assert stat.S_ISCHR(path.stat().st_mode)


@POSIX
def test_a_private_result_stays_private(files, tmp_path, capsys):
    path = tmp_path / "result.json"
    path.write_text("old")
    path.chmod(0o600)
    assert run(capsys, "estimate", *files, *PCC, "--out", path).code == 0
    assert shares(path.read_text()) == EXPECTED
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@POSIX
def test_outputs_that_lead_nowhere_or_to_an_input_are_refused(files, tmp_path, capsys):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "input").symlink_to("target.csv")
    (tmp_path / "nowhere").symlink_to("missing/file")
    before = contents(tmp_path)

    def sentence(name):
        return fails(capsys, "estimate", *files, *PCC, "--out", tmp_path / name)

    assert sentence("a").startswith(f"Cannot write {str(tmp_path / 'a')!r} (Too many levels")
    assert sentence("input").endswith("which this command already uses; choose another file.")
    missing = tmp_path / "missing"
    assert sentence("nowhere").endswith(f"nowhere: {missing} does not exist; make it first.")
    assert contents(tmp_path) == before
