"""Every command and every option says what it is for."""

import pytest
import typer.main

from cli_support import run
from truemix.cli._app import app
from truemix.cli._methods import method_name, quantifier_of
from truemix.cli._options import METHODS, MethodOptions

PROGRAM = typer.main.get_command(app)


def test_these_are_the_commands():
    names = ["estimate", "summarize", "check", "backtest", "tune", "adapt", "sample", "demo"]
    assert list(PROGRAM.commands) == names


@pytest.mark.parametrize("name", PROGRAM.commands)
def test_everything_has_help(name, capsys):
    command = PROGRAM.commands[name]
    assert command.help
    for parameter in command.params:
        assert parameter.help, parameter.name
        assert parameter.help.endswith("."), parameter.name
    done = run(capsys, name, "--help")
    assert done.code == 0
    assert f"Usage: truemix {name}" in done.out
    if name != "demo":
        assert "An NPZ file has" in done.out
        assert "Exit codes:" in done.out


def test_the_program_without_arguments_shows_its_commands(capsys):
    done = run(capsys)
    assert done.code == 2
    assert "estimate" in done.out + done.err


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_made_by_any_spelling_of_its_name(name):
    quantifier = quantifier_of(MethodOptions(method=name))
    kind = type(quantifier).__name__
    inner = getattr(quantifier, "quantifier", None)
    full = kind if inner is None else f"{kind}-{type(inner).__name__}"
    assert method_name(full) == method_name(name.upper()) == name
