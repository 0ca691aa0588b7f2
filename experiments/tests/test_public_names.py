"""The experiments use public names of truemix only, so that anybody could have written them."""

import ast
from pathlib import Path

import pytest

import truemix

SOURCE = Path(__file__).parents[1] / "src" / "truemix_experiments"
# Modules that users may import from; what they import must not begin with an underscore.
PUBLIC = {
    "truemix",
    "truemix.cli.plugins",
    "truemix.exceptions",
    "truemix.quantifiers",
    "truemix.validation",
    *(f"truemix.{name}" for name in truemix.__all__),
}
LOOKUPS = {"getattr", "setattr", "hasattr", "delattr"}


def private_uses(code):
    """Return what a module uses of truemix that is not public."""
    nodes = list(ast.walk(ast.parse(code)))
    return {*private_imports(nodes), *private_attributes(nodes), *private_texts(nodes)}


def private_imports(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if _of_truemix(alias.name)]
            yield from (name for name in names if name not in PUBLIC)
        elif isinstance(node, ast.ImportFrom) and _of_truemix(node.module or ""):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                in_public = node.module in PUBLIC - {"truemix"} and not _is_private(alias.name)
                if name not in PUBLIC and not in_public:
                    yield name


def private_attributes(nodes):
    """Yield attributes with one underscore, of whatever object: the source does not tell whose.

    Only those of ``self``, ``cls`` and of modules of others are none.
    """
    modules = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names = {each.asname or each.name.partition(".")[0] for each in modules}
    own = {"self", "cls", *names} - {"truemix"}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    for node in attributes:
        if _is_private(node.attr) and getattr(node.value, "id", None) not in own:
            yield f".{node.attr}"


def private_texts(nodes):
    """Yield modules and attributes that are looked up by their names."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = node.value.split(".")
            if _of_truemix(node.value) and any(map(_is_private, parts)) and " " not in node.value:
                yield node.value
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in LOOKUPS:
            names = [each.value for each in node.args[1:2] if isinstance(each, ast.Constant)]
            yield from (f".{name}" for name in names if _is_private(name))


def _of_truemix(name):
    return name == "truemix" or name.startswith("truemix.")


def _is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_only_public_names_are_used():
    uses = {
        path.relative_to(SOURCE).as_posix(): private_uses(path.read_text("utf-8"))
        for path in SOURCE.rglob("*.py")
    }
    assert len(uses) > 40
    assert {name: found for name, found in uses.items() if found} == {}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import truemix._files", "truemix._files"),
        ("from truemix import _files", "truemix._files"),
        ("from truemix import nothing", "truemix.nothing"),
        ("from truemix._files import atomic_write", "truemix._files.atomic_write"),
        ("from truemix.cli._tables import Cells", "truemix.cli._tables.Cells"),
        ("from truemix.quantifiers.base import Quantifier", "truemix.quantifiers.base.Quantifier"),
        ("from truemix.metrics import _mean", "truemix.metrics._mean"),
        ("import truemix\ntruemix.KDEy()._fit(1)", "._fit"),
        ("def f(q):\n    return q.inner._seed", "._seed"),
        ("getattr(q, '_seed')()", "._seed"),
        ("import_module('truemix._files')", "truemix._files"),
    ],
)
def test_every_way_to_something_private_is_found(code, expected):
    assert private_uses(code) == {expected}


@pytest.mark.parametrize(
    "code",
    [
        "import truemix\ntruemix.KDEy().fit(X, y).bandwidth_",
        "from truemix import KDEy, metrics, limit_threads",
        "from truemix.metrics import absolute_error",
        "class A:\n    def f(self):\n        return self._x",
        "import os\nos._exit(1)",
        "f.__name__",
    ],
)
def test_what_is_public_or_not_of_truemix_is_none(code):
    assert private_uses(code) == set()
