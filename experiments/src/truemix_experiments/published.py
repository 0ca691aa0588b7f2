"""What the paper reports, to be shown beside our own results, and what it calls its methods.

The numbers are those of the paper's full tables, in ``published/values.csv``: one row per data set
and metric, one column per method, empty where nothing was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from truemix.exceptions import InputError
from truemix.validation import check_choice

if TYPE_CHECKING:
    import pandas as pd

POINT = ("CC", "PCC", "ACC", "EMQ", "KDEy(Gau)", "KDEy(Ait-lambda)")
ABLATION = ("CC", "PCC", "ACC", "EMQ", "KDEy(Gau)", "KDEy(Ait)", "KDEy(Ait-lambda)")
BOOTSTRAP = ("Boots-CC", "Boots-PCC")
BAYESIAN = (
    *BOOTSTRAP,
    "Bayes-ACC",
    "Bayes-EMQ",
    "Bayes-KDEy(Gau)",
    "Bayes-KDEy(Ait-lambda)",
)
# A method that is not in the paper, and the one of the paper that it varies.
VARIANTS = {"PACC": "ACC"}
# Endings of names: what we add to a method of the paper, and a temperature that was calibrated.
OWN = "+"
CALIBRATED = "-cal"
METRICS = ("ae", "w", "hard", "soft", "amplitude", "shrinkage")
MODALITIES = ("tabular", "text", "image")
# What "<0.1" counts as a number.
BELOW = 0.05


@cache
def _values() -> pd.DataFrame:
    """Return the file as text; callers must not change it."""
    import pandas as pd

    file = resources.files("truemix_experiments") / "published" / "values.csv"
    with file.open(encoding="utf-8") as lines:
        return pd.read_csv(lines, dtype=str, keep_default_na=False)


def published_text(metric: str, datasets: Sequence[str] | None = None) -> pd.DataFrame:
    """Return published values as they are printed, ``""`` where there is none.

    Parameters
    ----------
    metric : {"ae", "w", "hard", "soft", "amplitude", "shrinkage"}
        Coverages and amplitude are percentages; shrinkage is the λ that was chosen.
    datasets : sequence of str, optional
        Rows to return, in this order; by default those of the paper. Capitals do not matter.

    Returns
    -------
    DataFrame
        One row per data set, one column per method.

    Examples
    --------
    >>> published_text("amplitude", ["abalone", "mine"])[["Boots-CC", "Bayes-EMQ-cal"]]
    method  Boots-CC Bayes-EMQ-cal
    dataset
    abalone     <0.1           3.3
    mine
    """
    check_choice(metric, "metric", METRICS)
    values = _values()
    values = values[values["metric"] == metric].drop(columns=["metric", "modality"])
    frame = values.set_index("dataset").rename_axis(columns="method")
    if datasets is None:
        return frame
    found = frame.set_axis(frame.index.str.casefold()).reindex([d.casefold() for d in datasets])
    return found.fillna("").set_axis(list(datasets)).rename_axis("dataset")


def published_values(metric: str, datasets: Sequence[str] | None = None) -> pd.DataFrame:
    """Return published values as numbers, NaN where there is none.

    Amplitudes printed as "<0.1" count 0.05. Parameters and shape are those of
    :func:`published_text`.

    Examples
    --------
    >>> published_values("ae", ["mnist"])[["CC", "KDEy(Ait-lambda)"]]
    method       CC  KDEy(Ait-lambda)
    dataset
    mnist    0.0016            0.0011
    """
    return published_text(metric, datasets).map(as_number).astype("float64")


def as_number(text: str) -> float:
    """Return the number behind a published value, NaN for none.

    Examples
    --------
    >>> as_number("0.0450"), as_number("<0.1"), as_number("")
    (0.045, 0.05, nan)
    """
    return BELOW if text.startswith("<") else float(text or "nan")


def paper_datasets() -> dict[str, str]:
    """Return the modality of each data set of the paper, in the paper's order.

    Examples
    --------
    >>> len(paper_datasets()), paper_datasets()["SVHN"]
    (42, 'image')
    """
    values = _values()
    return dict(zip(values["dataset"], values["modality"], strict=True))


def calibrated(method: str) -> str:
    """Return the name of a method with calibrated temperature.

    Examples
    --------
    >>> calibrated("Bayes-EMQ")
    'Bayes-EMQ-cal'
    """
    if method.endswith(CALIBRATED):
        raise InputError(f"{method!r} is calibrated already; expected the name without '-cal'.")
    return method + CALIBRATED


def counterpart(method: str) -> str:
    """Return the paper's method that another one varies, and a method of the paper as it is.

    Examples
    --------
    >>> counterpart("Bayes-KDEy(Ait-lambda)+"), counterpart("Bayes-KDEy(Ait-lambda)+-cal")
    ('Bayes-KDEy(Ait-lambda)', 'Bayes-KDEy(Ait-lambda)-cal')
    >>> counterpart("PACC"), counterpart("ACC")
    ('ACC', 'ACC')
    """
    if method in VARIANTS:
        return VARIANTS[method]
    if method.endswith(OWN + CALIBRATED):
        return calibrated(method.removesuffix(OWN + CALIBRATED))
    return method.removesuffix(OWN)


def shown_method(method: str) -> str:
    """Return a method's name as people should see it.

    Examples
    --------
    >>> shown_method("Bayes-KDEy(Ait-lambda)-cal")
    'Bayes-KDEy(Ait-λ), calibrated'
    """
    plain = method.removesuffix(CALIBRATED)
    name = plain.replace("lambda", "λ")
    return name if plain == method else f"{name}, calibrated"
