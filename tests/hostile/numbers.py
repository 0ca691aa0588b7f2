"""Hostile numbers for every public parameter that is a number, in Python and on the command line.

Each is refused with a sentence, or answered with shares that are finite and sum to 1. The ends of
the ranges that truemix allows are among them, and what lies just beyond.
"""

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np

import truemix
from cli_support import reference_frame, target_frame
from hostile.attempts import ANSWERED, REFUSED, Attempt, check_sentence, outcome_of
from support import posteriors
from truemix import calibration, densities, inference, metrics, protocols, selection, simplex
from truemix.checks import label_shift
from truemix.inference.confusion import sample_confusion
from truemix.validation import RANGES

NUMBERS = (
    0, -0.0, -1, 1, 2, 3, 1.5, True, None, 1e-310, 5e-324, 1e-300, 1e-12, -1e-12, 1e12, 1e300,
    1e308, np.nan, np.inf, -np.inf, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), 10**5000,
    -(10**5000), np.float32("inf"), np.float16(6e4), np.longdouble("1e4000"), np.int8(-1),
    np.uint64(2**64 - 1), Fraction(10**400, 3), Fraction(1, 10**400), Decimal("1e400"), 1 + 2j,
)  # fmt: skip
OTHERS = (
    "", "1", "auto", "nan", "x" * 9999, "\x1b[2J", b"1", [], [1], [1, 2, 3], [np.nan] * 3,
    [10**400] * 3, ["a"] * 3, [[1, 2], [3]], (1e308,) * 3, {}, {"egg": 1}, {1}, object(), range(3),
    np.array(1.0), np.array([]), np.array(["a"]), np.ones((3, 3)), np.array([1, None, 2]), max,
)  # fmt: skip
WEIGHTS = (
    0.0, -1.0, 5e-324, 1e-310, 1e-9, 1e-10, 0.3, 2.0**53, 2.0**54, 2.0**63, 1e300, 1e308, np.nan,
    np.inf, -np.inf,
)  # fmt: skip
BAYESIAN = ("prior", "temperature", "draws", "warmup", "random_state", "cv")
OF_METHODS = {
    "KDEy": ("bandwidth", "shrinkage", "cv"),
    "EMQ": ("cv",),
    "ACC": ("cv",),
    "BayesianKDEy": ("bandwidth", "shrinkage", *BAYESIAN),
    "BayesianEMQ": BAYESIAN,
    "BayesianACC": BAYESIAN,
    "Bootstrap": ("draws", "random_state"),
}
# These ends are allowed and take minutes; what lies beyond is among the attempts.
SLOW = {"draws", "warmup", "bag_size", "n_bags", "n_samples", "n_parts", "n_jobs", "repeats"}


@cache
def _items():
    P, codes = posteriors(60, 3, 2)
    return P, np.array(["egg", "ham", "spam"])[codes], posteriors(30, 3, 1, mix=[0.6, 0.3, 0.1])[0]


def attempts(seed: int) -> Iterator[Attempt]:
    yield from _of_quantifiers()
    yield from _of_functions()
    yield from _of_weights(seed)
    yield from _of_command_line()


def _hostile(name: str) -> Iterator[object]:
    """Yield numbers of all kinds, and the ends of the range that the parameter has."""
    yield from NUMBERS
    yield from OTHERS
    if name in RANGES:
        low, high, _ = RANGES[name]
        yield from (low, low - 1e-9, low / 2, high * 2, high + 1)
        if name not in SLOW:
            yield from (high, int(high))


def _attempt(what: str, name: str, value: object, call: Callable, holds: Callable) -> Attempt:
    text = f"a number of {value.bit_length()} bits" if _is_huge(value) else repr(value)[:40]
    make = partial(outcome_of, partial(call, **{name: value}), holds)
    return Attempt("numbers", f"{what} {name}={text!a}", make)


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() > 300


# --- quantifiers --------------------------------------------------------------------------------


def _of_quantifiers() -> Iterator[Attempt]:
    for method, names in OF_METHODS.items():
        for name in names:
            for value in _hostile(name):
                yield _attempt(method, name, value, partial(_quantify, method), _check_estimate)


def _quantify(method: str, **changed: object):
    P, y, batch = _items()
    options = {"Bootstrap": {"quantifier": truemix.CC(), "draws": 50}}.get(method, {})
    if "Bayesian" in method:
        options = {"draws": 50, "warmup": 10, "random_state": 0}
    if "KDEy" in method:
        options |= {"bandwidth": 0.5, "shrinkage": 0.3}
    quantifier = getattr(truemix, method)(**{**options, **changed})
    return quantifier.fit(P, y).quantify(batch)


def _check_estimate(estimate) -> None:
    _check_mixes(estimate.prevalence)
    if estimate.draws is not None:
        _check_mixes(estimate.draws)
        _check_mixes(estimate.of("population").draws)
        bounds = estimate.interval()
        if not (np.isfinite(bounds).all() and (bounds[:, 0] <= bounds[:, 1]).all()):
            raise AssertionError(f"bounds {bounds}")


def _check_mixes(mixes) -> None:
    mixes = np.asarray(mixes)
    off = np.abs(mixes.sum(axis=-1) - 1.0)
    # Shares of hundreds of thousands of draws round; 1e-9 is far above that and below any share.
    if not (np.isfinite(mixes).all() and (mixes >= 0).all() and (off < 1e-9).all()):
        raise AssertionError(f"not a mix: {mixes}")


def _check_finite(answer) -> None:
    if not np.isfinite(np.asarray(answer, dtype=np.float64)).all():
        raise AssertionError(f"not finite: {answer}")


# --- functions ----------------------------------------------------------------------------------


def _of_functions() -> Iterator[Attempt]:
    yield from _of_inference()
    yield from _of_parts()
    yield from _of_selection()


def _of_inference() -> Iterator[Attempt]:
    L = np.log(_items()[0] + 1e-3)
    few = partial(inference.sample_mixture, L, draws=50, warmup=10, random_state=0)
    for name in ("prior", "temperature", "draws", "warmup", "random_state", "weights"):
        yield from _each("sample_mixture", name, partial(_without, few, name), _check_sample)
    solve = partial(inference.maximize_mixture, L)
    for name in ("weights", "tol", "max_iter", "start"):
        yield from _each("maximize_mixture", name, solve, lambda fit: _check_mixes(fit.prevalence))
    counts = partial(sample_confusion, draws=50, warmup=10, random_state=0)
    right = {"labelled": np.diag([5, 6, 7]), "predicted": [3, 4, 5]}
    for name in ("labelled", "predicted", "prior", "temperature"):
        yield from _each("sample_confusion", name, partial(_updated, counts, right), _check_sample)


def _of_parts() -> Iterator[Attempt]:
    P, y, batch = _items()
    for name in ("bandwidth", "shrinkage", "weights"):
        density = partial(_updated, densities.kde_log_likelihood, {"bandwidth": 0.5})
        call = partial(density, reference=P, labels=y, target=batch)
        yield from _each("kde_log_likelihood", name, call, _check_finite)
    for name, calibrator in calibration.CALIBRATORS.items():
        fit = partial(calibrator().fit_transform, P, y)
        yield from _each(name, "sample_weight", fit, _check_finite)
    for name, metric in (("relative_absolute_error", "eps"), ("kl_divergence", "eps")):
        call = partial(getattr(metrics, name), [0.5, 0.5], [0.2, 0.8])
        yield from _each(name, metric, call, _check_finite)
    score = partial(metrics.winkler_score, [0.5, 0.5], [[0.1, 0.4], [0.6, 0.9]])
    yield from _each("winkler_score", "level", score, _check_finite)
    for kind in ("DirichletBags", "NaturalBags", "GridBags"):
        names = ("bag_size", "random_state", *(("n_points", "repeats", "most") if kind == "GridBags"
                 else ("n_bags",)), *(("alpha",) if kind == "DirichletBags" else ()))  # fmt: skip
        for name in names:
            yield from _each(kind, name, partial(_first_bag, kind), _check_mixes)
    for name in ("n_samples", "n_classes", "random_state"):
        call = partial(_updated, simplex.sample_uniform, {"n_samples": 2, "n_classes": 3})
        yield from _each("sample_uniform", name, call, _check_mixes)
    yield from _each("shrink", "lam", partial(simplex.shrink, [0.2, 0.8]), _check_mixes)


def _of_selection() -> Iterator[Attempt]:
    for name in ("level", "random_state"):
        yield from _each("label_shift", name, partial(_check_shift), bool)
    for name in ("validation", "n_jobs"):
        yield from _each("GridSearch", name, _search, _check_finite)
    for name in ("grid", "level", "validation"):
        yield from _each("calibrate_temperature", name, _calibrate, _check_finite)
    for name in ("level",):
        yield from _each("interval", name, partial(_interval), _check_finite)


def _each(what: str, name: str, call: Callable, holds: Callable) -> Iterator[Attempt]:
    for value in _hostile({"lam": "shrinkage", "validation": "share"}.get(name, name)):
        yield _attempt(what, name, value, call, holds)


def _updated(function: Callable, right: dict, **changed: object):
    return function(**{**right, **changed})


def _without(function: partial, name: str, **changed: object):
    kept = {key: value for key, value in function.keywords.items() if key != name}
    return function.func(*function.args, **kept, **changed)


def _check_sample(sample) -> None:
    _check_mixes(sample.draws)
    _check_mixes(sample.batch)


def _first_bag(kind: str, **options: object):
    small = {"bag_size": 10}
    return next(
        getattr(protocols, kind)(**{**small, **options}).bags(["a", "b", "c"] * 9)
    ).prevalence


@cache
def _fitted(method: str):
    P, y, batch = _items()
    quantifier = getattr(truemix, method)(random_state=0, draws=50).fit(P, y)
    return quantifier, quantifier.quantify(batch)


def _check_shift(**options: object):
    label_shift(_fitted("BayesianEMQ")[0], _items()[2], **{"random_state": 0, **options})
    return True


def _interval(**options: object):
    return _fitted("BayesianEMQ")[1].interval(**options)


def _search(**options: object):
    P, y, _ = _items()
    bags = protocols.DirichletBags(n_bags=2, bag_size=10)
    # One setting: what n_jobs asks for is not started, so that only its check is tried.
    search = selection.GridSearch(truemix.EMQ(), {"calibration": [None]}, protocol=bags, **options)
    return search.fit(P, y).best_score_


def _calibrate(**options: object):
    P, y, _ = _items()
    bags = protocols.DirichletBags(n_bags=2, bag_size=10)
    quantifier = truemix.BayesianEMQ(calibration=None, draws=50, warmup=10, random_state=0)
    options = {"protocol": bags, "grid": [1.0], **options}
    return selection.calibrate_temperature(quantifier, P, y, **options).temperature


# --- weights of rows ----------------------------------------------------------------------------


def _of_weights(seed: int) -> Iterator[Attempt]:
    """List weights that are right but for one place, or hostile everywhere."""
    P, y, batch = _items()
    L = np.log(P + 1e-3)
    rng = np.random.default_rng(seed)
    sampled = {"draws": 50, "warmup": 10, "random_state": 0}
    calls = {
        "sample_mixture": (partial(inference.sample_mixture, L, **sampled), _check_sample),
        "sample_mixture nuts": (
            partial(inference.sample_mixture, L, sampler="nuts", **sampled), _check_sample
        ),
        "sample_mixture T=0.001": (
            partial(inference.sample_mixture, L, temperature=1e-3, **sampled), _check_sample
        ),
        "maximize_mixture": (
            partial(inference.maximize_mixture, L), lambda fit: _check_mixes(fit.prevalence)
        ),
        "kde": (
            partial(densities.kde_log_likelihood, P, y, batch, bandwidth=0.5), _check_finite
        ),
    }  # fmt: skip
    for what, (call, holds) in calls.items():
        for first in WEIGHTS:
            for rest in WEIGHTS:
                weights = np.full(len(P), rest)
                weights[rng.integers(len(P))] = first
                make = partial(outcome_of, partial(call, weights=weights), holds)
                yield Attempt("numbers", f"{what}: weights {first}, else {rest}", make)


# --- the command line ---------------------------------------------------------------------------

OPTIONS = ("--temperature", "--prior", "--draws", "--bandwidth", "--shrinkage", "--level", "--seed")
TYPED = (
    "0", "-1", "1", "1.5", "1e-310", "1e-6", "1e400", "1e308", "nan", "inf", "-inf", "1_000",
    "0x10", "1e", "", " ", "٣", "½", "9" * 400, "9" * 5000, "0.0000001", "1,5", "1e12", "∞",
    "\x1b[31m1", "egg=1e999,ham=1,spam=1", "egg=1",
)  # fmt: skip


def _of_command_line() -> Iterator[Attempt]:
    for option in OPTIONS:
        for text in TYPED:
            make = partial(_run, option, text)
            yield Attempt("numbers", f"estimate {option} {text[:40]!a}", make)


@cache
def _files() -> tuple[str, str]:
    folder = Path(tempfile.mkdtemp(prefix="truemix-hostile-"))
    names = str(folder / "reference.csv"), str(folder / "target.csv")
    reference_frame(60).to_csv(names[0], index=False)
    target_frame(30).to_csv(names[1], index=False)
    return names


def _run(option: str, text: str) -> str:
    from truemix.cli import main

    method = "bayesian-kdey" if option in {"--bandwidth", "--shrinkage"} else "bayesian-emq"
    quick = {"--draws": "50", option: text}
    if method == "bayesian-kdey":
        quick = {"--bandwidth": "0.5", "--shrinkage": "0.3", **quick}
    words = [f"{name}={value}" for name, value in quick.items()]
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["estimate", *_files(), "--label", "label", "--method", method, "--quiet",
                     "--format", "json", *words])  # fmt: skip
    written, complaint = (each.buffer.getvalue().decode() for each in (out, err))
    if code == 1:
        check_sentence(complaint.removesuffix("\n"))
        return REFUSED
    if code == 2:
        return REFUSED
    if code not in (0, 3) or "NaN" in written or "Infinity" in written:
        raise AssertionError(f"exit code {code}: {complaint[-300:]}")
    return ANSWERED
