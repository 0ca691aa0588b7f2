import pytest

from truemix import InputError, limit_threads
from truemix._threads import n_cores, n_threads


def test_a_limit_holds_while_the_block_runs():
    with limit_threads(1):
        assert n_threads() == 1
        with limit_threads(10**6):
            assert n_threads() == n_cores()
        assert n_threads() == 1
    assert n_threads() == n_cores()


@pytest.mark.parametrize("most", [0, -1, 1.0, True, None, "2"])
def test_other_limits_are_refused(most):
    with pytest.raises(InputError, match="The 'most' parameter must be a whole number"):
        limit_threads(most).__enter__()
