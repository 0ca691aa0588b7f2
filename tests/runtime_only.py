"""Run by `make test` in an environment that holds the runtime dependencies only.

Not a pytest module: pytest is not installed there.
"""

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path

start = time.perf_counter()
import truemix  # noqa: E402

elapsed = time.perf_counter() - start

import numpy as np  # noqa: E402
import pyarrow.csv  # noqa: E402
import pyarrow.parquet  # noqa: E402

from truemix.cli import main  # noqa: E402

NOT_HERE = ("pytest", "quapy", "truemix_experiments", "numba")
EXTRAS = {"pandas": "pandas", "matplotlib": "plot", "arviz": "arviz", "nutpie": "nuts"}
REFERENCE, TARGET, LABEL = "demo/reference.csv", "demo/target.csv", ("--label", "topic")


def expect(condition, what):
    if not condition:
        sys.exit(what)


def run(*arguments, code=0):
    """Run a command; return what it printed and what it said beside it."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as said:
        found = main(list(map(str, arguments)))
    expect(found == code, f"truemix {arguments} ended with {found}: {said.getvalue()}")
    out.flush()
    return out.buffer.getvalue().decode(), said.getvalue()


def is_missing(library, what, ask):
    """Require that what needs an extra says so."""
    sentence = (
        f"{what} needs {library}, which is not installed; install it with: "
        f"pip install 'truemix[{EXTRAS[library]}]'"
    )
    try:
        ask()
    except ImportError as error:
        expect(isinstance(error, truemix.InputError), f"{error!r} is no InputError")
        expect(str(error) == sentence, f"{error} instead of: {sentence}")
    else:
        sys.exit(f"{what} works without {library}")


def check_library():
    for name in truemix.__all__:
        getattr(truemix, name)
    P = truemix.simplex.sample_uniform(200, 3, random_state=0)
    labels = np.array(["a", "b", "c"])[P.argmax(axis=1)]
    mix = truemix.KDEy().fit(P, labels).predict(P)
    expected = np.unique(labels, return_counts=True)[1] / len(labels)
    # The labels are the largest posteriors, so that densities tell the classes apart almost
    # exactly.
    expect(np.allclose(mix, expected, atol=0.01), f"KDEy returned {mix}; expected {expected}")

    quantifier = truemix.BayesianKDEy(random_state=0).fit(P, labels)
    estimate = quantifier.quantify(P, check=True)
    repr(estimate), repr(estimate.compare(estimate)), estimate.adapt(P), estimate.region()
    few = truemix.protocols.DirichletBags(n_bags=3, bag_size=50)
    grid = {"bandwidth": [0.3, 1.0]}
    search = truemix.selection.GridSearch(truemix.KDEy(shrinkage=0.1), grid, protocol=few)
    expect(len(search.fit(P, labels).records_) == 2, "GridSearch has no records")
    calibrated = truemix.selection.calibrate_temperature(
        quantifier, P, labels, protocol=few, grid=[1.0, 2.0]
    )
    expect("winkler_score" in repr(calibrated), "calibrate_temperature has no table")

    check = truemix.checks.label_shift(quantifier, P, random_state=0)
    groups = quantifier.quantify_by(P, np.arange(200) % 2)
    evaluate = truemix.evaluate
    tested = truemix.backtest(truemix.EMQ(), P, labels, bag_size=10, n_bags=4, random_state=0)
    expect("On 4 mixtures" in repr(tested), f"backtest is {tested!r}")
    is_missing("pandas", "Estimate.frame()", estimate.frame)
    is_missing("pandas", "Estimate.weights()", estimate.weights)
    is_missing("pandas", "Comparison.frame()", estimate.compare(estimate).frame)
    is_missing("pandas", "EstimateSet.frame()", groups.frame)
    is_missing("pandas", "ShiftCheck.items()", check.items)
    is_missing("pandas", "GridSearch.results_", lambda: search.results_)
    is_missing("pandas", "TemperatureCalibration.results", lambda: calibrated.results)
    is_missing("pandas", "evaluate()", lambda: evaluate(quantifier, P, labels, protocol=few))
    is_missing("pandas", "Backtest.frame()", tested.frame)
    is_missing("matplotlib", "Estimate.plot()", estimate.plot)
    is_missing("matplotlib", "Backtest.plot()", tested.plot)
    is_missing("matplotlib", "ShiftCheck.plot()", check.plot)
    is_missing("arviz", "Estimate.to_arviz()", estimate.to_arviz)
    nuts = truemix.BayesianKDEy(sampler="nuts")
    is_missing("nutpie", "sampler='nuts'", lambda: nuts.fit(P, labels))


def check_command_line():
    run("demo", "demo", "--quiet")
    table = pyarrow.csv.read_csv(TARGET)
    pyarrow.parquet.write_table(table, "target.parquet")
    text, _ = run("estimate", REFERENCE, "target.parquet", *LABEL)
    expect("delivery" in text, f"truemix estimate printed {text}")
    run("estimate", REFERENCE, TARGET, *LABEL, "--by", "week", "--report", "report.html",
        "--out", "weeks.csv")  # fmt: skip
    expect("<svg" in Path("report.html").read_text("utf-8"), "the report has no charts")
    text, _ = run("estimate", REFERENCE, TARGET, *LABEL, "--format", "json")
    expect(len(json.loads(text)["groups"][0]["classes"]) == 4, f"JSON is {text}")
    run("check", REFERENCE, TARGET, *LABEL, "--items", "items.csv")
    run("backtest", REFERENCE, *LABEL, "--method", "emq", "--report", "backtest.html")
    run("adapt", REFERENCE, TARGET, *LABEL, "--out", "adapted.parquet")
    run("tune", REFERENCE, *LABEL, "--grid", "bandwidth=0.3,1", "--out", "best.truemix")
    # Features: numbers and categories, one of which the reference does not have.
    truth = pyarrow.csv.read_csv(REFERENCE)
    columns = truth.drop_columns(["topic"]).column_names
    half = pyarrow.array([["upper", "lower", "neither"][i % 3] for i in range(len(table))])
    pyarrow.csv.write_csv(table.select(columns).append_column("half", half), "features.csv")
    half = pyarrow.array([["upper", "lower"][i % 2] for i in range(len(truth))])
    pyarrow.csv.write_csv(truth.append_column("half", half), "labelled.csv")
    run("estimate", "labelled.csv", "features.csv", *LABEL, "--classifier", "logistic")
    _, said = run("bench", "list", code=1)
    expect("pip install truemix-experiments" in said, f"truemix bench said {said!r}")


for name in (*NOT_HERE, *EXTRAS):
    if importlib.util.find_spec(name):
        sys.exit(f"{name} is installed here: this environment proves nothing")
check_library()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_command_line()
    os.chdir("/")
print(f"import truemix: {elapsed:.2f} s; {len(truemix.__all__)} public names; commands work")  # noqa: T201
