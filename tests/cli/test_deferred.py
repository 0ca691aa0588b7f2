"""Libraries that commands rarely need are loaded on first use."""

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
