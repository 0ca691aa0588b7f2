"""Labels and groups that something on the way could merge: kept apart, or refused."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl

from hostile.attempts import REFUSED, Attempt, outcome_of
from truemix import PCC

# Each differs from all others of another text; where two are equal to Python, as 1 and True are,
# they must not be taken for one.
VALUES = [
    "1", 1, True, 1.0, np.int8(1), np.float32(1), np.bool_(True), b"1", "1.0", "True", Fraction(1),
    Decimal(1), 0, False, 0.0, -0.0, "0", "", " ", "a", "a\0", "a\0\0", "\0a", "\0", b"a", b"a\0",
    "A", "á", "a\u0301", "\ud800", "\u202ea", "a" * 1000, 2**31, 2**53, 2**53 + 1, float(2**53),
    2**63, 2**63 + 1, -(2**63), -(2**63) - 1, 2**64, 2**64 - 1, float(2**63), float(2**64), 10**400,
    -1, np.uint64(2**64 - 1), np.int64(-1), 0.1, float("inf"), float("nan"), None, pd.NA, pd.NaT,
    ("a", 1), ["a"], {"a": 1}, 1j, np.datetime64("2024-01-01"), np.datetime64("NaT"), object(), int,
    ..., np.datetime64(1, "ns"), np.timedelta64(1, "D"), pd.Timestamp(1), "1e0", "01", "+1", 10**18,
]  # fmt: skip
CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "objects": lambda values: np.fromiter(values, object, len(values)),
    "array": np.array,
    "series": pd.Series,
    "objects of pandas": lambda values: pd.Series(values, dtype=object),
    "polars": lambda values: pl.Series(values, strict=False),
}


SCORES = np.random.default_rng(2).dirichlet([1, 1], 12)


def kept_apart(container: str, pair: tuple) -> str:
    """Fit on two labels, six of each."""
    values = contained(container, [*pair] * 6)
    if values is None:
        return REFUSED
    before = _distinct(values, pair)

    def holds(quantifier: PCC) -> None:
        if before:
            assert len(quantifier.classes_) == 2, quantifier.classes_
        assert np.allclose(quantifier.train_prevalence_, 0.5)

    return outcome_of(lambda: PCC().fit(SCORES, values), holds)


def groups_apart(container: str, pair: tuple) -> str:
    """Estimate by two groups, six items of each."""
    quantifier = PCC().fit(SCORES, [0, 1] * 6)
    values = contained(container, [*pair] * 6)
    if values is None:
        return REFUSED
    before = _distinct(values, pair)

    def holds(estimates) -> None:
        sizes = [estimates[key].n_items for key in estimates]
        assert sizes == [6, 6] or (sizes == [12] and not before), sizes

    return outcome_of(lambda: quantifier.quantify_by(SCORES, values), holds)


def classes_apart(pair: tuple) -> str:
    """Name two classes in order."""

    def holds(quantifier: PCC) -> None:
        assert len(quantifier.classes_) == 2

    return outcome_of(lambda: PCC().fit(SCORES, [*pair] * 6, classes=list(pair)), holds)


def contained(container: str, values: list) -> object | None:
    try:
        return CONTAINERS[container](values)
    except Exception:
        # NumPy, pandas or polars refuse them: no attempt at truemix.
        return None


def _distinct(values: object, pair: tuple) -> bool:
    """Tell whether two values still differ in the container that the user has made of them.

    Equal numbers of two types (1 and 1.0) are the same label; a truth value and a number are not.
    """
    first, second = list(values)[:2]
    if isinstance(first, bool | np.bool_) != isinstance(second, bool | np.bool_):
        return True
    try:
        return bool(first != second)
    except (OverflowError, TypeError, ValueError):
        return True


def attempts(seed: int) -> Iterator[Attempt]:
    """Yield pairs of values in all containers; nothing is random."""
    for number, pair in enumerate(combinations(VALUES, 2)):
        name = " and ".join(_shown(value) for value in pair)
        # All containers would be ten thousands of attempts.
        containers = [*CONTAINERS][number % 3 :: 3]
        for container in containers:
            yield Attempt("labels", f"{container}: {name}", partial(kept_apart, container, pair))
            yield Attempt("groups", f"{container}: {name}", partial(groups_apart, container, pair))
        if number % 3 == 0:
            yield Attempt("classes", name, partial(classes_apart, pair))


def _shown(value: object) -> str:
    return "10**400" if isinstance(value, int) and value > 10**100 else ascii(value)[:40]
