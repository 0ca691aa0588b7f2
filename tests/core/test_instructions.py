"""The builds of the core for each instruction set: the same answers, and the right one chosen."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from truemix import _core

# Everything the core computes, on one input, in a process of its own.
EVERYTHING = """
import numpy as np
from truemix import _core
from truemix.inference import sample_mixture, sample_confusion, sample_replicates, maximize_mixture
from truemix.densities import kde_log_likelihood
rng = np.random.default_rng(0)
P = rng.dirichlet(np.ones(5), 200)
y = np.repeat(np.arange(5), 40)
ll = kde_log_likelihood(P, y, rng.dirichlet(np.ones(5), 300), bandwidth=[0.3, 1.0], shrinkage=0.2)
weightings = kde_log_likelihood(P, y, P[:64], bandwidth=0.5, weights=rng.exponential(size=(3, 200)))
made = {
    "densities": ll,
    "weightings": weightings,
    "point": maximize_mixture(ll[1]).prevalence,
    "gibbs": sample_mixture(ll[1], random_state=1).draws,
    "metropolis": sample_mixture(ll[1], temperature=3.0, random_state=1).draws,
    "replicates": sample_replicates(ll, [np.arange(300)], random_state=1)[0].draws,
    "confusion": sample_confusion([[30, 5, 2], [4, 20, 6], [1, 3, 25]], [40, 25, 35],
                                  random_state=1).draws,
    "exp": _core.exp_negative(-rng.exponential(5.0, 1000)),
    "log": _core.log_positive(rng.exponential(5.0, 1000)),
}
np.savez(SYS_ARGV, instructions=_core.instructions, **made)
"""


def computed(instructions, folder):
    path = folder / f"{instructions}.npz"
    subprocess.run(  # noqa: S603
        [sys.executable, "-c", EVERYTHING.replace("SYS_ARGV", repr(str(path)))],
        env={**os.environ, _core.VARIABLE: instructions},
        check=True,
    )
    return np.load(path)


def test_all_instruction_sets_of_this_processor_agree(tmp_path):
    supported = _core.supported_instructions()
    assert supported[-1] == "baseline"
    expected = computed("baseline", tmp_path)
    assert expected["instructions"] == "baseline"
    for instructions in supported[:-1]:
        found = computed(instructions, tmp_path)
        assert found["instructions"] == instructions
        for name in expected.files[1:]:
            # Sums are taken in the same order everywhere. What differs is that multiply and add may
            # be one instruction, which rounds once: a few units in the last place of each term.
            # A sampler that compares two such numbers takes another way only if they are that
            # close, which would show as a difference of the draws by far more than this.
            np.testing.assert_allclose(
                found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=f"{name} {instructions}"
            )


def test_the_best_instructions_are_chosen_unless_others_are_asked_for():
    asked = os.environ.get(_core.VARIABLE)
    assert _core.instructions == (asked or _core.supported_instructions()[0])


def test_instructions_that_do_not_exist_are_refused():
    done = subprocess.run(
        [sys.executable, "-c", "import truemix._core"],
        env={**os.environ, _core.VARIABLE: "mmx"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "The environment variable TRUEMIX_INSTRUCTIONS is 'mmx'; this processor can run "
        f"{' or '.join(_core.supported_instructions())}."
    )


def test_the_stub_names_what_the_core_has():
    stub = ast.parse((Path(_core.__file__).parent / "__init__.pyi").read_text())
    in_stub = {
        node.name if hasattr(node, "name") else node.target.id
        for node in stub.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AnnAssign)
    }
    in_core = {name for name in vars(_core._chosen) if not name.startswith("_")}
    assert in_stub - {"_Density", "VARIABLE"} == in_core
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and node.args.args:
            # nanobind writes the signature into the first line of the docstring.
            signature = getattr(_core, node.name).__doc__.splitlines()[0]
            names = [part.split(":")[0].strip() for part in _split(signature)]
            assert names == [argument.arg for argument in node.args.args], node.name


def _split(signature):
    """Split the arguments of a signature at commas outside brackets."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    parts, depth = [""], 0
    for letter in inside:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def test_results_do_not_depend_on_where_arrays_lie_in_memory():
    rng = np.random.default_rng(0)
    L = rng.random((1000, 13))
    L /= L.max(axis=1, keepdims=True)
    expected = None
    for offset in range(8):
        # Addresses that differ by eight bytes: vector loads are aligned in one of them at most.
        memory = np.empty(L.size + 8)
        shifted = memory[offset : offset + L.size].reshape(L.shape)
        shifted[:] = L
        found = _core.solve_mixture(shifted, np.full(1000, 1e-3), np.full(13, 1 / 13), 1e-10, 100)
        moment = _core.moment_of(shifted, np.ones(1000), found[0])
        if expected is not None:
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(moment, expected[1])
        expected = found[0], moment


@pytest.mark.parametrize(
    "change",
    [
        {"pi": np.full(3, 1 / 3, dtype=np.float32)},
        {"pi": np.full(6, 1 / 3)[::2]},
        {"pi": np.full(4, 0.25)},
        {"state": np.ones(3, dtype=np.uint64)},
        {"state": np.ones(4)},
        {"kept": -1},
        {"thinning": 0},
    ],
)
def test_arrays_that_do_not_fit_are_refused_not_copied(change):
    """An array that is updated in place must not be converted: the update would be lost."""
    layout = _core.Layout(np.ones((4, 3)), np.ones(4), np.full(3, 1 / 3))
    right = {
        "layout": layout,
        "prior": np.ones(3),
        "pi": np.full(3, 1 / 3),
        "state": np.ones(4, dtype=np.uint64),
        "skipped": 0,
        "kept": 2,
        "thinning": 1,
    }
    _core.sweep(**right)
    with pytest.raises((TypeError, ValueError)):
        _core.sweep(**{**right, **change})
