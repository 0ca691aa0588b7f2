"""Numbers that no answer could mean anything for are refused, before they reach compiled loops."""

import subprocess
import sys

import numpy as np
import pytest

import truemix
from cli_support import finished, start, written
from truemix import BayesianACC, BayesianEMQ, InputError, KDEy
from truemix.densities import kde_log_likelihood
from truemix.inference import sample_mixture
from truemix.inference._checks import check_finite
from truemix.validation import RANGES, check_integer, check_number, parameter_error

P = np.repeat([[0.8, 0.2], [0.3, 0.7]], 20, axis=0)
Y = np.repeat(["ham", "spam"], 20)
LOGS = np.log(P)


def test_a_tiny_temperature_is_one_sentence_and_no_crash(tmp_path):
    command = ["estimate", *written(tmp_path), "--label", "label", "--method", "bayesian-emq"]
    done = finished(start(*command, "--temperature", "1e-310", "--draws", "100"))
    assert done.code == 1
    assert done.err == (
        "Error: The 'temperature' parameter must be a positive number between 0.001 and 1e9. "
        "Got 1e-310 instead.\n"
    )


def test_a_saved_parameter_is_held_to_the_same_range(tmp_path):
    quantifier = BayesianEMQ(calibration=None, random_state=0).fit(P, Y)
    quantifier.temperature = 1e-310
    truemix.save(quantifier, tmp_path / "model")
    with pytest.raises(InputError):
        truemix.load(tmp_path / "model")


@pytest.mark.parametrize("weight", [1e308, 2.0**63, 2.0**54, 1e-310])
def test_rows_stand_for_a_number_of_items_that_doubles_can_count(weight):
    with pytest.raises(InputError, match=r"must be 0 or between 1e-09 and 2\*\*53"):
        sample_mixture(LOGS, weights=np.full(len(LOGS), weight))


def test_rows_together_do_not_stand_for_more():
    with pytest.raises(InputError, match=r"The sum of weights is 3\.6"):
        sample_mixture(LOGS, weights=np.full(len(LOGS), 2.0**53))


def test_as_many_items_as_there_may_be_are_counted():
    weights = np.full(len(LOGS), 2.0**53 / len(LOGS))
    sample = sample_mixture(LOGS, weights=np.floor(weights), draws=100, random_state=0)
    solved = truemix.inference.maximize_mixture(LOGS).prevalence
    # With 2**53 items nothing is left open beyond rounding.
    assert sample.draws == pytest.approx(np.tile(solved, (100, 1)), abs=1e-5)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e308])
def test_weights_of_references_have_any_scale(scale):
    weights = np.tile([1.0, 0.5], 20)
    expected = kde_log_likelihood(P, Y, P[:3], bandwidth=0.5, weights=weights)
    found = kde_log_likelihood(P, Y, P[:3], bandwidth=0.5, weights=scale * weights)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (10**400, "a number of more than 200 digits"),
        (-(10**5000), "a number of more than 200 digits"),
        ("x" * 9999, "'xxx"),
        ("\x1b[2J\n", r"'\x1b[2J\n'"),
    ],
    # pytest cannot write down these numbers either.
    ids=["large", "larger", "long", "controls"],
)
def test_whatever_was_given_the_sentence_can_be_read(value, shown):
    sentence = str(parameter_error("draws", "a number", value))
    assert f"Got {shown}" in sentence
    assert len(sentence) < 300
    assert sentence.isprintable()


@pytest.mark.parametrize("name", sorted(RANGES))
def test_both_ends_are_allowed_and_nothing_beyond(name):
    low, high, _ = RANGES[name]
    assert check_number(low, name) == low
    assert check_number(high, name) == high
    for wrong in (low - 1, high + max(1, high), np.nan, 10**400, -(10**400), True, "1", None):
        with pytest.raises(InputError, match=f"The '{name}' parameter must be a"):
            check_number(wrong, name)
    with pytest.raises(InputError, match="must be a whole number"):
        check_integer(low + 0.5, name)


@pytest.mark.parametrize("prior", ["1", b"1", True, [1, "1"], [1, 10**400], [1, 1e-9], {"ham": 1}])
def test_priors_are_numbers(prior):
    with pytest.raises(InputError, match="'prior' parameter"):
        BayesianACC(prior=prior).fit(P, Y)


def test_an_array_is_no_bandwidth():
    with pytest.raises(InputError, match="'bandwidth' parameter must be a positive number"):
        KDEy(bandwidth=np.ones(3)).fit(P, Y)


def test_numbers_that_compiled_code_could_not_compute_are_told():
    check_finite("mix", np.zeros(2), np.ones((2, 2)))
    with pytest.raises(InputError, match="The mix cannot be computed in double precision"):
        check_finite("mix", np.zeros(2), np.array([[0.0, np.nan]]))


def test_a_gamma_number_of_no_shape_does_not_take_forever():
    code = (
        "import numpy as np; from truemix._core import gammas\n"
        "s = np.arange(1, 5, dtype=np.uint64)\n"
        "print([float(gammas(s, 1, x)[0]) for x in (np.nan, -1.0, 0.3, np.inf)])"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[nan, nan, nan, nan]\n"
