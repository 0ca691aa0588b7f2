"""The example that trains a network: what it saves is what the loader reads."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from truemix_experiments.datasets import load_dataset

SCRIPT = Path(__file__).parents[3] / "examples" / "train_cnn.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_a_saved_file_is_the_data_set(script, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(500) % 10
    logits = rng.normal(size=(500, 10)) + 2 * np.eye(10)[y]
    path = tmp_path / "new" / "FashionMNIST.npz"
    script["save"](path, logits, y, logits[:100], y[:100])
    data = load_dataset("FashionMNIST", folder=path.parent)
    assert [len(p) for p in (data.train, data.validation, data.test)] == [300, 200, 100]
    assert not any("network" in note for note in data.notes)


def test_the_hold_out_is_the_papers_30_percent(script):
    learn, hold = script["split"](np.arange(60_000) % 10)
    assert (len(learn), len(hold)) == (42_000, 18_000)
    assert len(np.union1d(learn, hold)) == 60_000
    assert np.bincount(hold % 10).tolist() == [1800] * 10


def test_without_pytorch_the_extra_is_named(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('not here')\n")
    run = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(SCRIPT), "MNIST"],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "pip install 'truemix-experiments[images]'" in run.stderr
