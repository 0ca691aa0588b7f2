"""What ``import truemix`` costs and offers."""

import subprocess
import sys

import pytest

import truemix


def run(code):
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )


def test_importing_prints_nothing_and_loads_nothing_heavy():
    heavy = ["numba", "sklearn", "scipy", "pandas", "matplotlib", "narwhals"]
    code = f"import sys, truemix; print([m for m in {heavy} if m in sys.modules])"
    done = run(code)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_building_blocks_do_not_load_scikit_learn():
    code = (
        "import sys; from truemix import simplex, densities, inference, calibration;"
        "print([m for m in ['sklearn', 'numba', 'pandas'] if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in truemix.__all__:
        assert getattr(truemix, name) is not None
    assert set(truemix.__all__) == set(dir(truemix))
    with pytest.raises(AttributeError, match="module 'truemix' has no attribute 'nothing'"):
        truemix.nothing  # noqa: B018
