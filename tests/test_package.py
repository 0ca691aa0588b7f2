"""What ``import truemix`` costs and offers."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import truemix


def run(code):
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )


def test_importing_prints_nothing_and_loads_nothing_heavy():
    heavy = ["sklearn", "scipy", "pandas", "matplotlib", "narwhals"]
    code = f"import sys, truemix; print([m for m in {heavy} if m in sys.modules])"
    done = run(code)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_building_blocks_do_not_load_scikit_learn():
    code = (
        "import sys; from truemix import simplex, densities, inference, calibration;"
        "print([m for m in ['sklearn', 'scipy', 'pandas'] if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"


# What users import, and where it is defined: a name is neither dropped nor added in passing.
HOMES = {
    "truemix.quantifiers": (
        "ACC", "CC", "EMQ", "PACC", "PCC", "PQ", "BayesianACC", "BayesianEMQ", "BayesianKDEy",
        "Bootstrap", "KDEy", "MixtureQuantifier", "NotFittedError",
    ),
    "truemix.estimates": ("Estimate", "EstimateSet"),
    "truemix.summaries": ("Summary",),
    "truemix.evaluation": ("evaluate",),
    "truemix.exceptions": ("InputError", "InputNote"),
    "truemix.persistence": ("load", "save"),
    "truemix._progress": ("show_progress",),
    "truemix._threads": ("limit_threads",),
    "truemix.trust": ("backtest",),
}  # fmt: skip
BLOCKS = {
    "simplex": (
        "closure", "shrink", "clr", "clr_inverse", "ilr", "ilr_inverse", "sample_uniform",
        "ternary_coordinates", "ternary_inverse", "ternary_line",
    ),
    "densities": ("kde_log_likelihood",),
    "groups": ("by_period",),
    "inference": (
        "maximize_mixture", "sample_mixture", "MixtureFit", "MixtureSample", "Inference",
        "Replicates", "MixtureResult", "MaximumLikelihood", "Posterior", "LeastSquares", "Counting",
        "ConfusionPosterior", "Resampling",
    ),
    "models": (
        "LikelihoodModel", "ObservationModel", "Uncertain", "Savable", "KernelDensity",
        "PosteriorRatio", "Confusion", "Histogram", "WithUnknown", "ResampledReferences",
    ),
    "calibration": (
        "TemperatureScaling", "BiasCorrectedTemperatureScaling", "VectorScaling",
        "NoBiasVectorScaling",
    ),
    "protocols": ("DirichletBags", "NaturalBags", "GridBags", "Bag"),
    "metrics": (
        "absolute_error", "relative_absolute_error", "weight_ratio_error", "squared_error",
        "kl_divergence", "winkler_score", "hard_coverage", "soft_coverage", "amplitude",
    ),
    "selection": ("GridSearch", "calibrate_temperature"),
    "checks": ("label_shift", "ShiftCheck"),
}  # fmt: skip


def test_every_public_name_is_what_it_says():
    named = [name for names in HOMES.values() for name in names]
    assert sorted(truemix.__all__) == dir(truemix) == sorted([*named, *BLOCKS, "__version__"])
    for home, names in HOMES.items():
        for name in names:
            value = getattr(truemix, name)
            assert value.__name__ == name
            assert value.__module__.startswith(home)
    for block, names in BLOCKS.items():
        module = getattr(truemix, block)
        assert module.__name__ == f"truemix.{block}"
        for name in names:
            value = getattr(module, name)
            assert value.__name__ == name
            assert value.__module__.startswith(f"truemix.{block}")
    assert truemix.__version__ == version("truemix")


def test_any_other_name_is_an_error():
    with pytest.raises(AttributeError, match="module 'truemix' has no attribute 'nothing'"):
        truemix.nothing  # noqa: B018
