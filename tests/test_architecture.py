"""ARCHITECTURE.md says who imports which library: as the contracts and the sources do."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `(\w+)` \| (`.*) \|$", re.MULTILINE)


def stated():
    """Return for each library who imports it, as the table of ARCHITECTURE.md says."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = text.split("## Who may import what")[1].split("\n## ")[0]
    return {library: set(re.findall(r"`([\w.]+)`", cell)) for library, cell in ROW.findall(section)}


def contracted():
    """Return for each library who may import it, as the contracts of import-linter say."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return {
        library: {
            name.removeprefix("truemix.")
            for name in contract["allowed_importers"]
            + [each.partition(" -> ")[0] for each in contract.get("ignore_imports", [])]
        }
        for contract in contracts
        if contract["type"] == "protected"
        for library in contract["protected_modules"]
    }


def importers():
    """Return for each library the modules whose sources import it."""
    found = {}
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("experiments/src/**/*.py")]:
        parts = path.with_suffix("").parts
        module = ".".join(parts[parts.index("src", len(ROOT.parts)) + 1 :])
        module = module.removeprefix("truemix.")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], set()).add(module)
    return found


def test_the_table_says_what_the_contracts_say():
    assert len(stated()) == 11
    assert stated() == contracted()


def test_libraries_are_imported_by_those_alone_and_by_each_of_them():
    found = importers()
    for library, allowed in stated().items():
        for module in found[library]:
            parts = module.split(".")
            assert {".".join(parts[:n]) for n in range(1, len(parts) + 1)} & allowed, module
        for name in allowed:
            assert any(f"{module}.".startswith(f"{name}.") for module in found[library]), name


SOURCE = ROOT / "src" / "truemix"


def package_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def private_names_of_packages():
    """Return for each package the private names that its own modules define or set."""
    names = {}
    for path in SOURCE.rglob("*.py"):
        own = names.setdefault(package_of(path), set())
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
    return names


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_no_package_uses_a_private_name_of_another():
    known = private_names_of_packages()
    # Methods of named tuples that are public in spite of their names.
    public = {"_replace", "_asdict", "_fields"}
    for path in SOURCE.rglob("*.py"):
        own = package_of(path)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("truemix."):
                parts = node.module.split(".")[1:]
                inside = parts[1:] + [alias.name for alias in node.names]
                assert parts[0] == own or not any(map(is_private, inside)), (path, node.lineno)
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                assert node.attr in known[own] | public, (path, node.lineno, node.attr)


def test_nothing_but_one_base_stands_above_a_quantifier():
    from sklearn.base import BaseEstimator

    from truemix import quantifiers

    presets = [getattr(quantifiers, name) for name in quantifiers.__all__]
    presets = [each for each in presets if isinstance(each, type)]
    presets = [each for each in presets if issubclass(each, quantifiers.Quantifier)]
    assert len(presets) == 13
    for each in presets:
        ours = [c for c in each.__mro__[1:] if c.__module__.startswith("truemix")]
        assert ours in ([], [quantifiers.Quantifier])
        assert issubclass(each, BaseEstimator)


def test_the_way_of_the_data_has_at_most_eight_steps():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    steps = text.split("one call below the other:")[1].split("## Modules")[0]
    assert max(int(number) for number in re.findall(r"(\d+)\. ", steps)) <= 8
    # One page: what a newcomer reads before the code.
    assert len(text.splitlines()) < 120
