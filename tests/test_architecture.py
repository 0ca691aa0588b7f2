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
    assert len(stated()) == 7
    assert stated() == contracted()


def test_libraries_are_imported_by_those_alone_and_by_each_of_them():
    found = importers()
    for library, allowed in stated().items():
        for module in found[library]:
            parts = module.split(".")
            assert {".".join(parts[:n]) for n in range(1, len(parts) + 1)} & allowed, module
        for name in allowed:
            assert any(f"{module}.".startswith(f"{name}.") for module in found[library]), name
