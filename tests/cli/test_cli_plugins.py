"""Commands of other distributions, found by their entry points."""

import subprocess
import sys

import pytest

from cli_support import fails, run
from truemix.cli import plugins

FUNCTION = '''
import typer
from truemix import InputError
from truemix.cli.plugins import show_table, write, write_message

def command(name: str) -> None:
    """Greet somebody."""
    if not name.isalpha():
        raise InputError(f"{name!r} is no name; expected letters.")
    write_message("A greeting follows.")
    show_table("Greeting", ["word", "n"], [["hello", "1"], [name, "22"]], ["That is all."])
    write("Bye\\n")

app = typer.Typer(help="Greet in several ways.")
app.command()(command)
app.command("twice")(command)
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that makes a distribution with one command, as an installer leaves it."""

    def made(name, source, value="command"):
        module = f"truemix_test_{name}"
        (tmp_path / f"{module}.py").write_text(source)
        about = tmp_path / f"{module}-1.5.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.5\n")
        (about / "entry_points.txt").write_text(f"[truemix.commands]\n{name} = {module}:{value}\n")

    monkeypatch.syspath_prepend(tmp_path)
    yield made
    for name in [name for name in sys.modules if name.startswith("truemix_test_")]:
        del sys.modules[name]


def test_a_function_is_a_command(install, capsys):
    install("greet", FUNCTION)
    done = run(capsys, "greet", "Ada")
    assert done.code == 0
    assert done.out.splitlines() == [
        "Greeting",
        "word    n",
        "hello   1",
        "Ada    22",
        "That is all.",
        "Bye",
    ]
    assert done.err == "A greeting follows.\n"
    assert fails(capsys, "greet", "4711") == "'4711' is no name; expected letters."
    assert run(capsys, "greet").code == 2


def test_an_app_is_a_command_with_commands(install, capsys):
    install("greet", FUNCTION, "app")
    assert run(capsys, "greet", "twice", "Ada").out.endswith("Bye\n")
    assert "Usage: truemix greet" in run(capsys, "greet", "--help").out


def test_help_lists_what_is_installed(install, capsys):
    install("greet", FUNCTION)
    shown = run(capsys, "--help").out
    assert "Greet somebody." in shown
    assert "estimate" in shown


def test_none_of_ours_is_replaced(install, capsys):
    install("demo", FUNCTION)
    assert "Greet" not in run(capsys, "demo", "--help").out
    assert "Greet" not in run(capsys, "--help").out


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this"),
        ("raise RuntimeError('two\\nlines \\x1b[2J')", r"RuntimeError: two lines \x1b[2J"),
        ("other = 1", "AttributeError: module 'truemix_test_greet' has no attribute 'command'"),
        ("command = 3", "TypeError: it is an object of type 'int'"),
        ("def command(x: int | str): pass", "AssertionError: Typer currently doesn't support"),
    ],
)
def test_one_that_cannot_be_loaded_is_named(install, capsys, source, reason):
    install("greet", source)
    for arguments in ([], ["--help"], ["run", "--out", "x"]):
        sentence = fails(capsys, "greet", *arguments)
        start = "The command greet (truemix_test_greet:command of truemix_test_greet 1.5) cannot be"
        assert sentence.startswith(f"{start} loaded ({reason}")
    done = run(capsys, "--help")
    assert done.code == 0
    assert "cannot be loaded" in " ".join(done.out.split())
    assert "\x1b[2J" not in done.out
    assert run(capsys, "demo", "--help").code == 0


def test_a_command_that_is_not_installed_says_what_brings_it(capsys, monkeypatch):
    monkeypatch.setattr(plugins, "_entry_points", dict)
    for arguments in ([], ["--help"], ["run", "--out", "x"]):
        assert fails(capsys, "bench", *arguments).endswith("run: pip install truemix-experiments")
    assert "bench" not in run(capsys, "--help").out
    assert run(capsys, "nothing").code == 2


@pytest.mark.parametrize("arguments", [["estimate", "--help"], ["--version"], ["demo", "--help"]])
def test_our_commands_load_no_others(arguments):
    code = (
        "import sys; from truemix.cli import main; main(sys.argv[1:]); "
        "print([m for m in sys.modules if m.startswith('truemix_experiments')], file=sys.stderr)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
