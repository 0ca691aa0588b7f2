"""What benchmarks and examples import from truemix exists; running them takes too long here."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").glob("*.py")])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_imported_names_exist(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0].startswith(
            "truem"
        ):
            module = importlib.import_module(node.module)
            for alias in node.names:
                found = hasattr(module, alias.name)
                assert found or importlib.import_module(f"{node.module}.{alias.name}")
