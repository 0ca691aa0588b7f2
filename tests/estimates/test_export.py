import subprocess
import sys
from dataclasses import replace

import numpy as np

from estimate_support import sampled


def test_arviz_gets_both_views_by_class():
    batch = sampled([20, 30, 50], n_draws=50)
    for view in (batch, batch.of("population")):
        posterior = view.to_arviz().posterior
        assert posterior["prevalence"].dims == ("chain", "draw", "class")
        assert posterior["class"].values.tolist() == batch.classes.tolist()
        np.testing.assert_array_equal(posterior["batch"].values[0], batch.draws)
        np.testing.assert_array_equal(posterior["prevalence"].values[0], batch.other_draws)


def test_arviz_gets_only_what_there_is():
    posterior = replace(sampled([2, 3]), other_draws=None).to_arviz().posterior
    assert list(posterior.data_vars) == ["batch"]


def test_the_grouped_interface_of_arviz_1_is_known(monkeypatch):
    import arviz

    def from_dict(data, *, coords, dims):
        return data, coords, dims

    monkeypatch.setattr(arviz, "from_dict", from_dict)
    data, coords, dims = sampled([2, 3], classes=np.array([True, False])).to_arviz()
    assert list(data) == ["posterior"]
    assert coords == {"class": [True, False]}
    assert dims == {"prevalence": ["class"], "batch": ["class"]}


def test_estimates_load_nothing_heavy():
    heavy = ["arviz", "matplotlib", "pandas", "sklearn", "scipy", "narwhals"]
    code = (
        "import sys; from truemix import Estimate;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
