"""The command line: two files in, the mix out.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 the input or a parameter is
wrong, 2 usage, 3 done but a diagnostic failed. Heavy libraries are loaded when a command needs
them, so that help answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int

    Examples
    --------
    >>> main(["--version"])
    truemix ...
    0
    """
    try:
        from truemix.cli._app import run

        return run(argv)
    except KeyboardInterrupt:
        # Before or after a command, which says more itself.
        return INTERRUPTED
