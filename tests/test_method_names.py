"""Methods of other libraries: a name that truemix lacks is answered with the nearest one."""

import subprocess
import sys

import pytest

import truemix
from cli_support import fails, written
from truemix._method_names import _NEAREST, _SAME, about_method


@pytest.mark.parametrize("name", [*_SAME, *_NEAREST])
def test_the_nearest_method_exists(name):
    _, ours = about_method(name)
    assert ours in truemix.__all__
    assert not hasattr(truemix, name)


def test_an_attribute_answers_with_a_sentence():
    with pytest.raises(AttributeError, match=r"^HDy is not part of .*: use truemix\.KDEy\.$"):
        truemix.HDy  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'truemix' has no attribute 'Quantile'$"):
        truemix.Quantile  # noqa: B018


def test_an_import_answers_with_the_same_sentence():
    with pytest.raises(ImportError, match=r"^SLD is called EMQ here: use truemix\.EMQ\.$"):
        from truemix import SLD  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'Quantile'"):
        from truemix import Quantile  # noqa: F401


def test_the_command_names_the_option(capsys, tmp_path):
    files = written(tmp_path)
    for name, option in (("hdy", "kdey"), ("SLD", "emq"), ("BayesianCC", "bayesian-acc")):
        sentence = fails(capsys, "estimate", *files, "--label", "label", "--method", name)
        assert sentence.endswith(f"use --method {option}.")
    sentence = fails(capsys, "estimate", *files, "--label", "label", "--method", "linda")
    assert "There is no method 'linda'; expected one of" in sentence


def test_other_names_of_the_module_are_untouched():
    # Tools ask modules for all kinds of names; none of these may load anything or raise another
    # error.
    code = "import truemix; print(hasattr(truemix, '__wrapped__'), hasattr(truemix, 'HDy'))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "False False\n"
