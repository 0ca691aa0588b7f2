"""What ``truemix bench`` reads from its options and shows on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truemix.cli.plugins import show_table
from truemix.exceptions import InputError
from truemix.validation import RANGES, shown_value

if TYPE_CHECKING:
    from truemix_experiments.bench import Plan
    from truemix_experiments.results import Results


def listed(values: Sequence[str] | None) -> list[str]:
    """Return what was listed with commas or by repeating an option.

    Examples
    --------
    >>> listed(["CC, PCC", "EMQ"])
    ['CC', 'PCC', 'EMQ']
    """
    return [word.strip() for value in values or () for word in value.split(",") if word.strip()]


def numbers(values: Sequence[str] | None) -> list[float]:
    """Return listed numbers.

    Examples
    --------
    >>> numbers(["1,0.1"])
    [1.0, 0.1]
    """
    found = []
    for word in listed(values):
        try:
            found.append(float(word))
        except ValueError:
            raise InputError(
                f"The option --alpha has {word!r}; expected positive numbers, such as 1,0.1,10."
            ) from None
    return found


def checked_jobs(jobs: int, scheduler: str | None) -> int:
    """Return the number of processes, if it makes sense."""
    most = int(RANGES["n_jobs"].high)
    if not 1 <= jobs <= most:
        raise InputError(
            f"The option --jobs is {shown_value(jobs)}; expected a whole number between 1 and "
            f"{most:,}."
        )
    if scheduler is not None and jobs > 1:
        raise InputError(
            "The options --jobs and --scheduler exclude each other: the cluster decides how much "
            "is done at the same time. Leave one of them out."
        )
    return jobs


# --- results ----------------------------------------------------------------------------------


def show_results(plan: Plan) -> None:
    """Show how the methods of a plan did, if there is any result."""
    from truemix_experiments.results import RunKey, is_done, read_results

    keys = [key for name in plan.datasets for key in plan.keys(name)]
    if not any(is_done(plan.out, key) for key in keys):
        return
    results = read_results(plan.out)
    for alpha in plan.alphas:
        rows = _method_rows(results, plan, alpha)
        if rows:
            n_datasets = len({key.dataset for key in keys if is_done(plan.out, RunKey(
                key.dataset, key.method, alpha))})  # fmt: skip
            mixes = f"mixes from Dirichlet({alpha:g})"
            title = f"Means over {_count(n_datasets)}, {mixes}, {plan.settings.n_bags} bags each"
            below = [
                "AE, W: errors of the mix. AE/paper: divided by the published AE, geometric mean.",
                "hard, soft: how often all classes, or a class, lie in 95 % intervals. width: of "
                "these. s: seconds.",
            ]
            header = ["method", "AE", "AE/paper", "W", "hard", "soft", "width", "s"]
            show_table(title, header, rows, below)


def _count(n: int) -> str:
    return f"{n} data set{'' if n == 1 else 's'}"


def _method_rows(results: Results, plan: Plan, alpha: float) -> list[list[str]]:
    from truemix_experiments.published import published_values, shown_method
    from truemix_experiments.statistics import geometric_mean, mean_values

    means: dict[str, Any] = {}
    for metric in ("ae", "w", "hard", "soft", "width"):
        frame = mean_values(results, metric, plan.methods, alpha=alpha)
        means[metric] = frame.loc[[name for name in frame.index if name in plan.datasets]]
    ae = means["ae"]
    published = published_values("ae", list(ae.index))
    runs = results.runs
    runs = runs[(runs["alpha"] == alpha) & runs["dataset"].isin(plan.datasets)]
    seconds = runs.groupby("method")["seconds"].sum()
    rows = []
    for method in ae.columns:
        theirs = published.get(method)
        # The paper reports numbers for α = 1 only.
        known = theirs is not None and alpha == 1.0
        ratio = geometric_mean(ae[method] / theirs) if known else float("nan")
        rows.append(
            [
                shown_method(method),
                _cell(ae[method].mean(), ".4f"),
                _cell(ratio, ".2f"),
                _cell(means["w"][method].mean(), ".3g"),
                *(_mean_of(means[each], method, ".1f", " %") for each in ("hard", "soft")),
                _mean_of(means["width"], method, ".4f"),
                _cell(seconds[method], ".0f"),
            ]
        )
    return rows


def _mean_of(frame: Any, method: str, form: str, unit: str = "") -> str:
    return _cell(frame[method].mean(), form, unit) if method in frame else ""


def _cell(value: float, form: str, unit: str = "") -> str:
    return "" if value != value else f"{value:{form}}{unit}"  # noqa: PLR0124


# --- data sets --------------------------------------------------------------------------------


def show_datasets(names: Sequence[str], data: Path | None, *, download: bool) -> None:
    """Show data sets with their sizes, and whether each is available."""
    from truemix_experiments.bench import dataset_names
    from truemix_experiments.datasets import CATALOGUE, available

    asked = dataset_names(names)
    rows, reasons = [], []
    for each in available(asked, folder=data, download=download):
        info = CATALOGUE[each.name]
        sizes = (info.n_classes, info.n_train, info.n_test, info.bag_size)
        shown = ["—" if size is None else f"{size:,}" for size in sizes]
        rows.append([each.name, info.modality, "yes" if each.available else "no", *shown])
        if not each.available:
            reasons.append(each.explanation)
    n_here = len(rows) - len(reasons)
    below = [f"{n_here} of {len(rows)} can be had."]
    if reasons:
        below.append(f"For example: {reasons[0]}")
    header = ["data set", "modality", "here", "classes", "train", "test", "bag"]
    show_table("Data sets of truemix bench", header, rows, below, left=3)
