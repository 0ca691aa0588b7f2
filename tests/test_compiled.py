"""What the compiled loops must not contain, read from their source."""

import ast
from pathlib import Path

import pytest

import truemix

SOURCES = sorted(Path(truemix.__file__).parent.rglob("*.py"))
# Their sums are of whole numbers, which are the same in any order.
OF_WHOLE_NUMBERS = {
    ("_solve_passive", "m"),
    ("_allocate_block", "left"),
    ("_allocate_block", "beyond"),
}


def sums_beside_writes(source: str) -> list[tuple[str, str]]:
    """Return function and variable of each sum in an innermost loop that writes to an array."""
    return [
        (function.name, sum_.target.id)
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        and {"compiled_vectors", "written_out"} & {ast.unparse(d) for d in function.decorator_list}
        for loop in ast.walk(function)
        if isinstance(loop, ast.For | ast.While) and is_innermost(loop) and writes(loop)
        for sum_ in ast.walk(loop)
        if isinstance(sum_, ast.AugAssign) and isinstance(sum_.target, ast.Name)
    ]


def is_innermost(loop):
    return not any(isinstance(each, ast.For | ast.While) for each in ast.walk(loop) if each != loop)


def writes(loop):
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in ast.walk(loop)
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_loop_whose_sums_may_be_regrouped_writes_too(path):
    # Such a loop has two ways to round, and addresses decide which: see truemix._compiled.
    assert set(sums_beside_writes(path.read_text())) <= OF_WHOLE_NUMBERS


def test_such_a_loop_is_found():
    source = """
@compiled_vectors
def f(x, y):
    for k in range(3):
        for j in range(3):
            y[j] = x[j]
            total += y[j]
        for j in range(3):
            total += y[j]
"""
    assert sums_beside_writes(source) == [("f", "total")]
