import mpmath
import numpy as np

from truemix._core import exp_negative, log_positive


def test_exp_is_right_to_two_units_in_the_last_place():
    x = -np.concatenate([np.linspace(0, 1, 500), np.logspace(-12, np.log10(700), 1500)])
    with mpmath.workdps(30):
        exact = np.array([float(mpmath.exp(mpmath.mpf(float(v)))) for v in x])
    assert (np.abs(exp_negative(x) - exact) <= 2 * np.spacing(exact)).all()


def test_exp_of_zero_is_one_and_far_below_it_stays_negligible():
    assert exp_negative(np.array([0.0]))[0] == 1.0
    assert (exp_negative(np.array([-708.0, -1e6, -1e300, -np.inf])) < 1e-300).all()


def test_log_is_right_to_two_units_in_the_last_place():
    near_one = 1 + np.concatenate([np.logspace(-15, -1, 300), -np.logspace(-15, -1, 300)])
    edges = np.sqrt([0.5, 2.0])
    x = np.concatenate([np.logspace(-307, 307, 1500), near_one, edges, np.nextafter(edges, 0)])
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.log(mpmath.mpf(float(v)))) for v in x])
    assert (np.abs(log_positive(x) - exact) <= 2 * np.spacing(np.abs(exact))).all()


def test_log_of_one_is_zero():
    assert log_positive(np.array([1.0]))[0] == 0.0
