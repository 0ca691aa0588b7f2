"""Libraries that commands rarely need are loaded on first use."""

import subprocess
import sys
from importlib import import_module

import pytest

from truemix.cli._deferred import loaded_on_first_use


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the name of a module that leaves a file when it is loaded."""
    name = "rarely_needed_by_this_test"
    text = f"open({str(tmp_path / 'loaded')!r}, 'w').close()\nanswer = 42\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_a_module_that_is_put_off_is_loaded_when_it_is_asked_for_something(module, tmp_path):
    with loaded_on_first_use([module]):
        found = import_module(module)
    assert not (tmp_path / "loaded").exists()
    assert found.answer == 42
    assert (tmp_path / "loaded").exists()


def test_after_the_block_modules_are_loaded_as_usual(module, tmp_path):
    with loaded_on_first_use([module]):
        pass
    import_module(module)
    assert (tmp_path / "loaded").exists()


def test_a_module_that_is_missing_is_missed_at_once():
    with loaded_on_first_use(["no_such_module"]), pytest.raises(ModuleNotFoundError):
        import_module("no_such_module")


def test_other_modules_are_loaded_at_once(module, tmp_path):
    with loaded_on_first_use(["no_such_module"]):
        import_module(module)
    assert (tmp_path / "loaded").exists()


# A module that scipy.stats consists of, which is there only when it has been loaded.
ESTIMATE = """
import sys
from truemix.cli import main
code = main(sys.argv[1:])
print(code, "scipy.stats._stats_py" in sys.modules)
"""


def test_an_estimate_with_groups_and_checks_never_loads_the_statistics_of_scipy(tmp_path):
    rows = [f"{p},{1 - p:.2f},{'ham' if i % 3 else 'spam'},{i % 2}" for i in range(60)
            for p in [(20 + i) / 100 if i % 3 else (i + 1) / 100]]  # fmt: skip
    (tmp_path / "r.csv").write_text("\n".join(["ham,spam,topic,week", *rows]))
    given = ["estimate", "r.csv", "r.csv", "--label", "topic", "--method", "emq", "--by", "week"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", ESTIMATE, *given, "--quiet", "--report", "page.html"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] in {"0 False", "3 False"}
