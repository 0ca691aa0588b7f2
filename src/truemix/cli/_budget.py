"""How much of an input may be unpacked, so that a small file cannot take all memory."""

from __future__ import annotations

from truemix._limits import VARIABLE, max_bytes
from truemix.exceptions import InputError

# Tables of numbers rarely pack to less than a twentieth, and little is never too much.
LARGEST_RATIO = 20
ALWAYS_ALLOWED = 256 << 20
# What is copied because it can be read only once goes to a disk, not to memory.
LARGEST_COPY = 1 << 30


class Budget:
    """Bytes that may still be unpacked in one pass over a file.

    Examples
    --------
    >>> budget = Budget("target.npz", 100 << 20)
    >>> budget.take(1 << 30)
    >>> budget.take(2 << 30)
    Traceback (most recent call last):
    truemix.exceptions.InputError: target.npz unpacks to more than 2,000 MiB, ...
    """

    def __init__(self, name: str, packed: int) -> None:
        self._name = name
        self._limit = max_bytes(max(ALWAYS_ALLOWED, LARGEST_RATIO * packed))
        self._left = self._limit

    def take(self, n_bytes: int) -> None:
        """Take bytes away, or refuse the file."""
        self.check(n_bytes)
        self._left -= n_bytes

    def check(self, n_bytes: int) -> None:
        """Refuse the file if so much is not left."""
        if n_bytes > self._left:
            raise too_large(f"{self._name} unpacks to more than", self._limit)


def too_large(what: str, limit: int) -> InputError:
    """Build the sentence for an input beyond a limit, with the way to lift it."""
    shown = f"{limit >> 20:,} MiB" if limit >> 20 else f"{limit:,} bytes"
    return InputError(
        f"{what} {shown}, which may be meant to fill the memory or the disk; if it is what you "
        f"want to read, set the environment variable {VARIABLE} to the number of bytes to allow."
    )
