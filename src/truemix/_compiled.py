"""Decorators for compiled loops: the numba options that all of them share.

Every compiled function is inlined into its compiled callers. If that were left to the compiler, a
function could exist twice, alone and inlined, with different rounding where sums may be
reassociated. Which of the two runs would depend on what is compiled in the process and what is
loaded from the cache: the same seed would give different last digits.
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
    """Compile a function whose multiplications and additions may be fused (FMA)."""
    return _compile(function, {"contract"})


def compiled_vectors(function: Function) -> Function:
    """Compile a function whose sums may also be reassociated, so that loops vectorise.

    NaN and infinity keep their meaning. No innermost loop may both accumulate a sum and write to an
    array (``tests/test_compiled.py`` looks for them): the compiler would make two versions of it,
    sequential and vectorised, and choose at run time by whether arrays might overlap in memory. The
    same seed would sometimes give different last digits. Integer sums are the same either way.
    """
    return _compile(function, {"reassoc", "contract", "nsz"})


def written_out(function: Function) -> Function:
    """Inline a function into its callers before they are compiled, with their options.

    For the innermost loops, which the compiler optimises better together with their caller.
    """
    made: Function = njit(function, inline="always")
    return made
