"""The program: its commands, and what an error looks like to the user."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from truemix._escaping import visible
from truemix._version import __version__
from truemix.cli import INTERRUPTED
from truemix.cli._options import FILES_HELP, FOLDERS_HELP
from truemix.cli._streams import discard, ended_by_signals, flush_stdout, standard_streams, tell
from truemix.cli.adapt import adapt
from truemix.cli.backtest import backtest
from truemix.cli.check import check
from truemix.cli.demo import demo
from truemix.cli.estimate import estimate
from truemix.cli.plugins import find_command, installed_commands
from truemix.cli.sample import sample
from truemix.cli.summarize import summarize
from truemix.cli.tune import tune
from truemix.exceptions import InputError

WRONG_INPUT = 1
# The exit code that shells report for a program ended by a broken pipe.
BROKEN_PIPE = 141
# typer has no public name for it.
_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """Our commands and those of other distributions; errors are one sentence on stderr."""

    def list_commands(self, ctx: Any) -> list[str]:
        own: list[str] = super().list_commands(ctx)
        return [*own, *(name for name in installed_commands() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # Others are looked for, and loaded, only if it is none of ours.
        return super().get_command(ctx, cmd_name) or find_command(cmd_name)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        # Help and the version are shown here.
        with _one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _one_sentence():
            return super().invoke(ctx)


class _Command(TyperCommand):
    """A command that refuses an option given twice, of which only the last would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for option, times in Counter(order).items():
            # Of a flag only the other spelling (--check, --no-check) says something else.
            one = not getattr(option, "is_flag", False) or option.secondary_opts
            if option.param_type_name == "option" and times > 1 and one and not option.multiple:
                name = " or ".join([option.opts[0], *option.secondary_opts])
                raise InputError(
                    f"The option {name} is given {'twice' if times == 2 else f'{times} times'}; it "
                    "takes one value. Leave all but one out."
                )
        left: list[str] = super().parse_args(ctx, args)
        return left


@contextmanager
def _one_sentence() -> Iterator[None]:
    """End the program after an error, with a sentence that says what to do."""
    try:
        yield
    except InputError as error:
        _end(f"Error: {error}")
    except _UsageError as error:
        # typer shows what was typed.
        error.message = visible(error.message)
        raise
    except BrokenPipeError:
        # Nobody reads what is left for it.
        discard(sys.stdout)
        raise SystemExit(BROKEN_PIPE) from None
    except OSError as error:
        _end(f"Error: {_about_system(error)}")
    except MemoryError:
        _end(
            "Error: There is not enough memory for this; use a smaller target or fewer references."
        )
    except KeyboardInterrupt:
        # Python remembers an interrupt inside exec (compilers and dataclasses use it), even if
        # it is handled, and would end by the signal; the next exec makes it forget.
        exec("")  # noqa: S102
        _end("Interrupted.", INTERRUPTED)


def _about_system(error: OSError) -> str:
    try:
        # An error about stdout will be raised again.
        flush_stdout()
    except InputError as about_stdout:
        return str(about_stdout)
    place = f" ({error.filename})" if error.filename else ""
    return f"The system says: {error.strerror or error}{place}."


def _end(sentence: str, code: int = WRONG_INPUT) -> NoReturn:
    tell(sentence)
    raise SystemExit(code) from None


def _show_version(verbose: bool) -> None:
    typer.echo(f"truemix {__version__}")
    if verbose:
        from importlib.metadata import version

        from truemix import _core

        could = ", ".join(_core.supported_instructions())
        typer.echo(f"core: {_core.instructions} instructions (this processor has {could})")
        typer.echo(f"Python {platform.python_version()} on {platform.platform()}")
        for library in ("numpy", "scipy", "scikit-learn", "pyarrow"):
            typer.echo(f"{library} {version(library)}")
    raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def truemix(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="With --version: what else is installed, and the processor."
        ),
    ] = False,
) -> None:
    """Estimate the true mix of classes in an unlabelled batch, with its uncertainty.

    Start with `truemix demo`: it writes example files and shows what to do with them.
    """
    if version:
        _show_version(verbose)
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


for command, below in (
    (estimate, FOLDERS_HELP),
    (summarize, FOLDERS_HELP),
    (check, FILES_HELP),
    (backtest, FILES_HELP),
    (tune, FILES_HELP),
    (adapt, FILES_HELP),
    (sample, FILES_HELP),
):
    app.command(cls=_Command, epilog=below)(command)
app.command(cls=_Command)(demo)


def run(argv: Sequence[str] | None) -> int:
    """Run the program and return its exit code."""
    program = typer.main.get_command(app)
    try:
        with standard_streams(), ended_by_signals(), _one_sentence():
            try:
                program(args=None if argv is None else list(argv), prog_name="truemix")
            finally:
                flush_stdout()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
