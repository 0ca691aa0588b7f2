import mpmath
import numpy as np
from numba import njit

from truemix._vector_math import exp_negative, log_positive


@njit(fastmath={"contract"})
def evaluate(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = exp_negative(x[i])
    return out


def test_exp_is_right_to_two_units_in_the_last_place():
    x = -np.concatenate([np.linspace(0, 1, 500), np.logspace(-12, np.log10(700), 1500)])
    with mpmath.workdps(30):
        exact = np.array([float(mpmath.exp(mpmath.mpf(float(v)))) for v in x])
    assert (np.abs(evaluate(x) - exact) <= 2 * np.spacing(exact)).all()


def test_exp_of_zero_is_one_and_far_below_it_stays_negligible():
    assert evaluate(np.array([0.0]))[0] == 1.0
    assert (evaluate(np.array([-708.0, -1e6, -1e300, -np.inf])) < 1e-300).all()


@njit(fastmath={"contract"})
def logarithms(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = log_positive(x[i])
    return out


def test_log_is_right_to_two_units_in_the_last_place():
    near_one = 1 + np.concatenate([np.logspace(-15, -1, 300), -np.logspace(-15, -1, 300)])
    edges = np.sqrt([0.5, 2.0])
    x = np.concatenate([np.logspace(-307, 307, 1500), near_one, edges, np.nextafter(edges, 0)])
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.log(mpmath.mpf(float(v)))) for v in x])
    assert (np.abs(logarithms(x) - exact) <= 2 * np.spacing(np.abs(exact))).all()


def test_log_of_one_is_zero():
    assert logarithms(np.array([1.0]))[0] == 0.0
