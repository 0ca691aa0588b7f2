"""Run methods on data sets: those that are available and have no result yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from truemix.exceptions import InputError
from truemix_experiments.datasets import CATALOGUE, SUITES, LeQua, available
from truemix_experiments.files import atomic_write
from truemix_experiments.methods import method_names
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.results import RunKey, is_done
from truemix_experiments.running import Job
from truemix_experiments.scheduling import run_jobs
from truemix_experiments.watching import Finished, Watch, cost

SETTINGS_FILE = "settings.json"


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    datasets, methods : tuple of str
    alphas : tuple of float
    settings : BenchSettings
    out : Path
        Folder of the results.
    data : Path or None
        Folder of the data sets.
    download : bool
        Whether data sets may be downloaded.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    alphas: tuple[float, ...] = (1.0,)
    settings: BenchSettings = field(default_factory=BenchSettings)
    out: Path = Path("bench-results")
    data: Path | None = None
    download: bool = False

    def keys(self, dataset: str) -> list[RunKey]:
        """Return the runs on a data set; published bags know one α only."""
        fixed = isinstance(CATALOGUE[dataset].source, LeQua)
        alphas = (1.0,) if fixed else self.alphas
        return [RunKey(dataset, method, alpha) for method in self.methods for alpha in alphas]


@dataclass
class Outcome:
    """What became of a plan.

    Attributes
    ----------
    unavailable : dict
        Data sets that are not available, each with the reason.
    failures, notes : list of str
        What failed on others, and what differs from the paper.
    seconds : dict
        Time spent on each data set.
    """

    unavailable: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def dataset_names(asked: Iterable[str]) -> tuple[str, ...]:
    """Return names of data sets, suites replaced by theirs, from small to large; each once.

    Names that were given stay in their order.

    Examples
    --------
    >>> dataset_names(["yeast", "embedded"])[:3]
    ('yeast', 'sklearn-breast-cancer', 'sklearn-iris')
    """
    found: dict[str, None] = {}
    for name in asked:
        if name in SUITES:
            found.update(dict.fromkeys(sorted(SUITES[name], key=lambda n: cost(RunKey(n, "CC")))))
        else:
            found[name] = None
    return tuple(found)


def plan(
    datasets: Iterable[str],
    methods: Iterable[str] = ("all",),
    alphas: Sequence[float] = (1.0,),
    *,
    settings: BenchSettings | None = None,
    out: str | Path = "bench-results",
    data: str | Path | None = None,
    download: bool = False,
) -> Plan:
    """Return what is to be run, from names as users write them.

    Examples
    --------
    >>> plan(["sklearn-iris"], ["cc", "pcc"]).methods
    ('CC', 'PCC')
    """
    for alpha in alphas:
        RunKey("any", "any", alpha)
    return Plan(
        datasets=dataset_names(datasets),
        methods=method_names(methods),
        alphas=tuple(dict.fromkeys(float(alpha) for alpha in alphas)),
        settings=settings or BenchSettings(),
        out=Path(out),
        data=None if data is None else Path(data),
        download=download,
    )


def run(
    plan: Plan,
    *,
    n_jobs: int = 1,
    scheduler: str | None = None,
    tell: Callable[[Finished], None] = lambda finished: None,
) -> Outcome:
    """Run all that has no result yet.

    Parameters
    ----------
    plan : Plan
    n_jobs : int
        Data sets to work on at the same time, the longest first.
    scheduler : str, optional
        Address of a Dask scheduler.
    tell : function
        Called with each run that is finished.
    """
    outcome = Outcome()
    found = available(plan.datasets, folder=plan.data, download=plan.download)
    outcome.unavailable = {each.name: each.explanation for each in found if not each.available}
    use_folder(plan.out, plan.settings)
    here = [each.name for each in found if each.available]
    if n_jobs > 1 or scheduler is not None:
        # The longest first: begun last, it would keep one process busy after all others.
        here.sort(key=lambda name: -sum(map(cost, plan.keys(name))))
    jobs = [_job(plan, name) for name in here]
    keys = [key for name in here for key in plan.keys(name) if not is_done(plan.out, key)]
    with Watch(plan.out, keys, tell):
        for report in run_jobs(jobs, n_jobs=n_jobs, scheduler=scheduler):
            outcome.failures += report.failures
            outcome.notes += report.notes
            outcome.seconds[report.dataset] = report.seconds
    return outcome


def _job(plan: Plan, dataset: str) -> Job:
    # Workers may be started elsewhere.
    return Job(
        dataset=dataset,
        methods=plan.methods,
        alphas=plan.alphas,
        settings=plan.settings,
        out=str(plan.out.resolve()),
        data=None if plan.data is None else str(plan.data.resolve()),
        download=plan.download,
    )


def use_folder(folder: Path, settings: BenchSettings) -> None:
    """Make the folder of results, or make sure that those in it have the same settings."""
    path = folder / SETTINGS_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot make the folder {str(folder)!r} ({error.strerror}); choose another with --out."
        ) from None
    if not path.exists():
        with atomic_write(path) as file:
            file.write((json.dumps(settings.plain(), indent=1) + "\n").encode())
        return
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict):
        raise InputError(
            f"The file {str(path)!r} cannot be read as settings; delete it if the results beside "
            "it were made with the settings asked for now, or choose another folder with --out."
        )
    settings.check_same(known, str(folder))
