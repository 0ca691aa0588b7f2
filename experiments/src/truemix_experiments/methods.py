"""The methods of the experiments, by the names that results and published values carry."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truemix.exceptions import InputError
from truemix_experiments.protocol import BenchSettings
from truemix_experiments.published import ABLATION, BAYESIAN, BOOTSTRAP, OWN, VARIANTS, calibrated

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

Setting = dict[str, Any]
KERNELS = {"KDEy(Gau)": "gaussian", "KDEy(Ait)": "aitchison", "KDEy(Ait-lambda)": "aitchison"}


@dataclass(frozen=True)
class Method:
    """A method of the experiments.

    Attributes
    ----------
    name : str
    point : str
        The point method whose chosen settings it has; its own name for a point method.
    kind : {"point", "bootstrap", "bayesian"}
    calibrated : bool
        Whether its temperature is chosen, too.
    own : bool
        Whether it is not the paper's but ours: with cross-fitting, uncertain references, and
        bandwidth and shrinkage chosen by the quantifier itself.
    """

    name: str
    point: str
    kind: str = "point"
    calibrated: bool = False
    own: bool = False

    @property
    def base(self) -> str:
        """The name without the mark of calibration."""
        return self.name.removesuffix("-cal")


def _methods() -> list[Method]:
    bayesian = [name for name in BAYESIAN if name not in BOOTSTRAP]
    inner = {name: name.removeprefix("Bayes-") for name in bayesian}
    best = bayesian[-1]
    return [
        *(Method(name, name) for name in (*ABLATION, *VARIANTS)),
        *(Method(name, name.removeprefix("Boots-"), "bootstrap") for name in BOOTSTRAP),
        *(Method(name, inner[name], "bayesian") for name in bayesian),
        Method(best + OWN, inner[best], "bayesian", own=True),
        *(Method(calibrated(n), inner[n], "bayesian", calibrated=True) for n in bayesian),
    ]


METHODS: dict[str, Method] = {method.name: method for method in _methods()}
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(METHODS),
    "point": tuple(n for n, m in METHODS.items() if m.kind == "point"),
    "bootstrap": tuple(n for n, m in METHODS.items() if m.kind == "bootstrap"),
    "bayesian": tuple(n for n, m in METHODS.items() if m.kind == "bayesian" and not m.calibrated),
    "calibrated": tuple(n for n, m in METHODS.items() if m.calibrated),
}


def method_names(asked: Iterable[str]) -> tuple[str, ...]:
    """Return the names of methods and of all methods in groups, each once, in our order.

    Examples
    --------
    >>> method_names(["bootstrap", "kdey(ait-λ)", "CC"])
    ('CC', 'KDEy(Ait-lambda)', 'Boots-CC', 'Boots-PCC')
    """
    found: set[str] = set()
    for name in asked:
        found.update(_named(name))
    if not found:
        raise InputError("No methods were asked for; expected at least one name.")
    return tuple(name for name in METHODS if name in found)


def _named(name: str) -> tuple[str, ...]:
    plain = name.strip().casefold().replace("λ", "lambda")
    if plain in GROUPS:
        return GROUPS[plain]
    names = {each.casefold(): each for each in METHODS}
    if plain in names:
        return (names[plain],)
    near = difflib.get_close_matches(plain, names, n=1)
    known = ", ".join([*METHODS, *GROUPS])
    hint = f"did you mean {names[near[0]]!r}?" if near else f"expected one of {known}."
    raise InputError(f"There is no method {name!r}; {hint}")


def grid_of(point: str, settings: BenchSettings) -> dict[str, list[float]]:
    """Return the values to choose from beside the classifier, of each parameter of a method.

    Examples
    --------
    >>> grid_of("EMQ", BenchSettings())
    {}
    >>> {name: len(values) for name, values in grid_of("KDEy(Ait-lambda)", BenchSettings()).items()}
    {'shrinkage': 6, 'bandwidth': 10}
    """
    if point not in KERNELS:
        return {}
    gaussian = KERNELS[point] == "gaussian"
    bandwidths = settings.gaussian_bandwidth if gaussian else settings.aitchison_bandwidth
    shrinkages = settings.shrinkage if point.endswith("lambda)") else (0.0,)
    return {"shrinkage": list(shrinkages), "bandwidth": list(bandwidths)}


def settings_of(point: str, settings: BenchSettings) -> list[Setting]:
    """Return all settings of a grid; one without parameters for a method that has none.

    Examples
    --------
    >>> settings_of("EMQ", BenchSettings())
    [{}]
    >>> settings_of("KDEy(Gau)", BenchSettings())[0]
    {'shrinkage': 0.0, 'bandwidth': 0.01}
    """
    grid = grid_of(point, settings)
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def point_quantifier(point: str, setting: Setting) -> Quantifier:
    """Return a point method with a setting of its grid.

    Examples
    --------
    >>> point_quantifier("KDEy(Gau)", {"bandwidth": 0.1, "shrinkage": 0.0})
    KDEy(bandwidth=0.1, crossfit=False, kernel='gaussian', shrinkage=0.0)
    """
    from truemix import quantifiers

    if point in KERNELS:
        return quantifiers.KDEy(kernel=KERNELS[point], crossfit=False, **setting)
    found: Quantifier = getattr(quantifiers, point)(**_as_published(point))
    return found


def quantifier_of(method: Method, setting: Setting, settings: BenchSettings) -> Quantifier:
    """Return a method with the setting that was chosen for its point method.

    Examples
    --------
    >>> quantifier_of(METHODS["Boots-CC"], {}, BenchSettings())
    Bootstrap(quantifier=CC(), random_state=...)
    """
    from truemix import quantifiers

    seed = settings.seed_of("sampler")
    if method.kind == "point":
        return point_quantifier(method.point, setting)
    if method.kind == "bootstrap":
        inner = point_quantifier(method.point, setting)
        return quantifiers.Bootstrap(inner, draws=settings.draws, random_state=seed)
    sampling: Setting = {
        "draws": settings.draws,
        "warmup": settings.warmup,
        "random_state": seed,
        "estimand": "population",
    }
    if method.own:
        return quantifiers.BayesianKDEy(**sampling)
    if method.point in KERNELS:
        return quantifiers.BayesianKDEy(
            kernel=KERNELS[method.point],
            crossfit=False,
            reference_uncertainty=None,
            averaging=False,
            **setting,
            **sampling,
        )
    kind = getattr(quantifiers, f"Bayesian{method.point}")
    known: Setting = {"reference_uncertainty": None} if method.point == "EMQ" else {}
    found: Quantifier = kind(**_as_published(method.point), **known, **sampling)
    return found


def _as_published(point: str) -> Setting:
    """Return the parameters of the paper's method, which does not calibrate posteriors."""
    return {"calibration": None} if point == "EMQ" else {}
