"""Commands of other distributions: how ``truemix`` finds them, and what they may use.

A distribution adds a subcommand with an entry point of the group ``truemix.commands``: its name is
the subcommand, its value a typer app or a function that typer can make a command of. It is
imported when it is asked for, or when ``truemix --help`` lists the commands. An
:class:`~truemix.exceptions.InputError` that it raises becomes one sentence on stderr and exit
code 1, as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer
import typer.main

from truemix._progress import progress_bar
from truemix.cli._options import Quiet
from truemix.exceptions import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "Quiet",
    "find_command",
    "installed_commands",
    "progress_bar",
    "show_table",
    "write",
    "write_message",
]

GROUP = "truemix.commands"
# Commands that are known to exist elsewhere, and the distribution that brings each.
ELSEWHERE = {"bench": "truemix-experiments"}
_LONGEST_REASON = 200


# --- how they are found -----------------------------------------------------------------------


def installed_commands() -> list[str]:
    """Return the names of all commands that other distributions bring; none of them is loaded."""
    return sorted(_entry_points())


def find_command(name: str) -> Any:
    """Return a command of another distribution, ready to be run; None if nobody knows it.

    One that cannot be loaded is replaced by a command that says so.
    """
    entry = _entry_points().get(name)
    if entry is not None:
        try:
            return _made(name, entry.load())
        # Whatever the module of somebody else does while it is imported.
        except Exception as error:
            return _broken(entry, error)
    if name in ELSEWHERE:
        raise InputError(
            f"The command {name} is not part of truemix itself; run: pip install {ELSEWHERE[name]}"
        )
    return None


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _made(name: str, value: Any, **settings: Any) -> Any:
    """Make a command of a typer app or of a function."""
    holder = typer.Typer()
    if isinstance(value, typer.Typer):
        holder.add_typer(value, name=name)
    elif callable(value):
        holder.command(name, **settings)(value)
    else:
        raise TypeError(f"it is an object of type {type(value).__name__!r}")
    return typer.main.get_group(holder).commands[name]


def _broken(entry: EntryPoint, error: Exception) -> Any:
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_REASON].rstrip(". ")
    brought = "" if entry.dist is None else f" of {entry.dist.name} {entry.dist.version}"
    sentence = (
        f"The command {entry.name} ({entry.value}{brought}) cannot be loaded ({reason}); install "
        "a version that fits this one of truemix, or remove it."
    )

    def complain() -> None:
        raise InputError(sentence)

    # Whatever follows it on the command line, the answer is the sentence.
    anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    return _made(entry.name, complain, help=sentence, context_settings=anything)


# --- what they may use ------------------------------------------------------------------------


def write(text: str) -> None:
    """Write a result to stdout, all of it or with an error."""
    from truemix.cli._output import write

    write(text, None)


def write_message(text: str) -> None:
    """Write one line to stderr; if that is impossible, the work goes on."""
    from truemix.cli._streams import tell

    tell(text)


def show_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    below: Sequence[str] = (),
    *,
    left: int = 1,
) -> None:
    """Show a table on stdout: with lines in a terminal, as aligned text elsewhere.

    Parameters
    ----------
    title : str
    header : sequence of str
    rows : sequence of sequences of str
        A cell for each column of the header.
    below : sequence of str
        Lines below the table.
    left : int, default 1
        How many columns are text; the others are numbers, and aligned at the right.
    """
    from truemix.cli._output import show_table
    from truemix.estimates.text import Table

    show_table(Table(title, header, rows, list(below), left))
