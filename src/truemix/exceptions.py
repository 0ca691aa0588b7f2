"""What truemix raises when the input is wrong."""

from __future__ import annotations


class InputError(ValueError):
    """The data or a parameter is wrong.

    The message is one sentence: where, what was found, what is expected, what to do.
    """


class MissingDependencyError(InputError, ImportError):
    """What was asked for needs a library that is not installed.

    The message ends with the command that installs it.
    """


class InputNote(UserWarning):
    """Something about the input that was repaired without changing the answer."""
