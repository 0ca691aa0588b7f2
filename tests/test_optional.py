"""What needs a library that is not installed says so at once, and how to install it."""

import sys
from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from estimate_support import estimate, sampled
from truemix import BayesianACC, BayesianKDEy, EstimateSet, InputError, KDEy, evaluate, simplex
from truemix._dask import connected
from truemix.checks import label_shift
from truemix.exceptions import MissingDependencyError
from truemix.inference import sample_mixture
from truemix.protocols import DirichletBags
from truemix.selection import GridSearch, calibrate_temperature

P = simplex.sample_uniform(300, 2, random_state=0)
LABELS = np.array(["ham", "spam"])[P.argmax(axis=1)]
FEW = DirichletBags(n_bags=4, bag_size=50)


def fitted():
    return KDEy(bandwidth=0.5, shrinkage=0.1).fit(P, LABELS)


@cache
def searched():
    grid = {"bandwidth": [0.3, 1.0], "kernel": ["ilr", "aitchison"]}
    return GridSearch(KDEy(shrinkage=0.1), grid, protocol=FEW).fit(P, LABELS)


@cache
def calibrated():
    quantifier = BayesianKDEy(bandwidth=0.5, shrinkage=0.1, random_state=0)
    return calibrate_temperature(quantifier, P, LABELS, protocol=FEW, grid=[1.0, 2.0])


@cache
def checked():
    return label_shift(fitted(), P[:50], random_state=0)


TABLE = pl.DataFrame({"a": P[:, 0], "b": P[:, 1]})
# Library, extra, who asks, and what it calls itself.
ASKING = [
    ("pandas", "pandas", lambda: estimate().frame(), "Estimate.frame()"),
    ("pandas", "pandas", lambda: estimate().weights(), "Estimate.weights()"),
    ("pandas", "pandas", lambda: estimate().compare(estimate()).frame(), "Comparison.frame()"),
    ("pandas", "pandas", lambda: EstimateSet({}).frame(), "EstimateSet.frame()"),
    ("pandas", "pandas", lambda: evaluate(None, None, None, protocol=FEW), "evaluate()"),
    ("pandas", "pandas", lambda: checked().classes, "ShiftCheck.classes"),
    ("pandas", "pandas", lambda: checked().estimates, "ShiftCheck.estimates"),
    ("pandas", "pandas", lambda: checked().items(), "ShiftCheck.items()"),
    ("pandas", "pandas", lambda: searched().results_, "GridSearch.results_"),
    ("pandas", "pandas", lambda: calibrated().results, "TemperatureCalibration.results"),
    (
        "pandas",
        "pandas",
        lambda: KDEy(classifier=LogisticRegression()).fit(TABLE, LABELS),
        "A classifier on a table of polars",
    ),
    ("matplotlib", "plot", lambda: estimate().plot(), "Estimate.plot()"),
    ("matplotlib", "plot", lambda: checked().plot(), "ShiftCheck.plot()"),
    ("arviz", "arviz", lambda: sampled([2, 3]).to_arviz(), "Estimate.to_arviz()"),
    ("distributed", "dask", lambda: connected(workers=1).__enter__(), "A cluster"),
    ("nutpie", "nuts", lambda: sample_mixture(np.log(P), sampler="nuts"), "sampler='nuts'"),
    ("nutpie", "nuts", lambda: BayesianKDEy(sampler="nuts").fit(P, LABELS), "sampler='nuts'"),
    ("nutpie", "nuts", lambda: BayesianACC(sampler="nuts").fit(P, LABELS), "sampler='nuts'"),
]


@pytest.mark.parametrize(("library", "extra", "ask", "what"), ASKING, ids=[a[3] for a in ASKING])
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    library, extra, ask, what, monkeypatch
):
    # scikit-learn takes an entry in sys.modules for the library itself.
    searched(), calibrated(), checked()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError) as raised:
        ask()
    assert isinstance(raised.value, MissingDependencyError)
    assert isinstance(raised.value, ImportError)
    assert str(raised.value) == (
        f"{what} needs {library}, which is not installed; install it with: "
        f"pip install 'truemix[{extra}]'"
    )


def test_records_hold_what_the_tables_hold():
    search, calibration, check = searched(), calibrated(), checked()
    assert search.results_.to_dict("records") == search.records_
    assert calibration.results.to_dict("records") == calibration.records
    assert check.items().to_dict("list") == {
        name: column.tolist() for name, column in check.item_columns().items()
    }
    assert check.classes.to_dict("records") == check.summary()["classes"]
    assert check.estimates.to_dict("records") == check.summary()["estimates"]


def test_ranks_of_equal_scores_are_equal():
    search = GridSearch(
        KDEy(shrinkage=0.1),
        {"bandwidth": [0.1, 0.3, 1.0]},
        protocol=FEW,
        metric=lambda true, estimated: 1.0,
    )
    assert [record["rank"] for record in search.fit(P, LABELS).records_] == [1, 1, 1]
