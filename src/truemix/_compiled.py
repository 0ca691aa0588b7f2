"""How loops are compiled: the options of numba that all of them share.

Every compiled function is inlined into its compiled callers. Were it left to the compiler, a
function could exist twice, alone and inside a caller, rounded differently where sums may be
regrouped, and which of the two runs would depend on what a process has compiled itself and what it
has loaded from the cache: the same seed would give other last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def _compile(function: Function, fastmath: set[str]) -> Function:
    made: Function = njit(
        function,
        nogil=True,
        cache=True,
        error_model="numpy",
        forceinline=True,
        fastmath=fastmath,
    )
    return made


def compiled(function: Function) -> Function:
    """Compile a function on its first call; keep the result in numba's cache."""
    return _compile(function, set())


def compiled_fused(function: Function) -> Function:
    """Compile a function whose multiplications and additions may be fused."""
    return _compile(function, {"contract"})


def compiled_vectors(function: Function) -> Function:
    """Compile a function whose sums may be regrouped as well, so that loops become vectors.

    NaN and infinity stay what they are. No innermost loop may both sum up and write to an array
    (``tests/test_compiled.py`` looks for them): the compiler then makes it twice, in order and
    regrouped, and takes the former when arrays happen to be close to each other in memory. The same
    seed would give other last digits now and then. Sums of whole numbers are the same either way.
    """
    return _compile(function, {"reassoc", "contract", "nsz"})


def written_out(function: Function) -> Function:
    """Inline a function into its callers before they are compiled, with their options.

    For the innermost loops, which the compiler knows more about when it sees both at once.
    """
    made: Function = njit(function, inline="always")
    return made
