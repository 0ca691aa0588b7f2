"""The program: its commands, and what an error looks like to the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from truemix._version import __version__
from truemix.cli import INTERRUPTED
from truemix.cli._options import FILES_HELP
from truemix.cli.adapt import adapt
from truemix.cli.bench import app as bench
from truemix.cli.check import check
from truemix.cli.demo import demo
from truemix.cli.estimate import estimate
from truemix.cli.tune import tune
from truemix.exceptions import InputError

WRONG_INPUT = 1
# What a shell reports of a program that wrote to a pipe nobody reads.
BROKEN_PIPE = 141


class _Commands(TyperGroup):
    """Commands whose errors are one sentence on stderr."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except InputError as error:
            _complain(str(error), WRONG_INPUT)
        except BrokenPipeError:
            # Nothing may be written at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            place = f" ({error.filename})" if error.filename else ""
            _complain(f"The system says: {error.strerror or error}{place}.", WRONG_INPUT)
        except MemoryError:
            _complain(
                "There is not enough memory for this; use a smaller target or fewer references.",
                WRONG_INPUT,
            )
        except KeyboardInterrupt:
            # Python remembers an interrupt inside exec (compilers and dataclasses use it), even if
            # it is handled, and would end by the signal; the next exec makes it forget.
            exec("")  # noqa: S102
            _complain("Interrupted.", INTERRUPTED, label="")


def _complain(sentence: str, code: int, label: str = "Error: ") -> None:
    if sys.stderr is not None:
        print(f"{label}{sentence}", file=sys.stderr, flush=True)  # noqa: T201
    raise typer.Exit(code) from None


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"truemix {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def truemix(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Tell the true mix of classes in an unlabelled batch, and how sure that is.

    Start with `truemix demo`: it writes example files and shows what to do with them.
    """


for command in (estimate, check, tune, adapt):
    app.command(epilog=FILES_HELP)(command)
app.add_typer(bench, name="bench")
app.command()(demo)


def run(argv: Sequence[str] | None) -> int:
    """Run the program and return its exit code."""
    program = typer.main.get_command(app)
    try:
        program(args=None if argv is None else list(argv), prog_name="truemix")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
