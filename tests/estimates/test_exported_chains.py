"""Chains for ArviZ: their R-hat and ESS say how well the mean over all replicates is known."""

import warnings

import numpy as np
import pytest

from estimate_support import estimate, sampled
from truemix.estimates.chains import rows_of_chains
from truemix.estimates.draw_origin import DrawOrigin


def summary_of(e):
    with warnings.catch_warnings():
        # ArviZ announces its own refactoring.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

        return arviz.summary(e.to_arviz(), round_to="none").loc[["prevalence[class 0]"]].iloc[0]


def of_replicates(n_replicates, n_each, spread, seed=0):
    """Return an estimate whose replicates have means that differ by ``spread``."""
    rng = np.random.default_rng(seed)
    means = np.repeat(0.4 + spread * rng.standard_normal(n_replicates), n_each)
    share = means + 0.01 * rng.standard_normal(len(means))
    number = np.repeat(np.arange(n_replicates), n_each)
    return estimate(
        2,
        draws=np.stack([share, 1 - share], axis=1),
        estimand="population",
        origin=DrawOrigin(number, "a quantifier"),
    )


def test_each_chain_has_a_quarter_of_many_replicates():
    e = of_replicates(100, 10, 0.02)
    rows = rows_of_chains(e)
    assert rows.shape == (4, 250)
    held = [set(e.origin.number[chain]) for chain in rows]
    assert [len(each) for each in held] == [25] * 4
    assert set.union(*held) == set(range(100))
    assert np.sort(rows.ravel()).tolist() == list(range(1000))


def test_effective_draws_are_the_replicates_where_these_differ_most():
    # With all variance between 100 replicates, 1,000 draws are worth about 100; an estimate of the
    # ESS from chains of 25 replicates varies by a factor of two.
    found = summary_of(of_replicates(100, 10, 0.1))
    assert 50 < found["ess_bulk"] < 200
    assert found["r_hat"] < 1.1


def test_effective_draws_are_all_where_replicates_do_not_differ():
    found = summary_of(of_replicates(100, 10, 0.0))
    assert found["ess_bulk"] > 600
    assert found["r_hat"] < 1.02


def test_a_few_replicates_are_in_every_chain():
    e = of_replicates(5, 200, 0.1)
    rows = rows_of_chains(e)
    assert rows.shape == (4, 250)
    for chain in rows:
        # All of them, by turns: no half of a chain differs from the other.
        np.testing.assert_array_equal(e.origin.number[chain], np.tile(np.arange(5), 50))
    assert summary_of(e)["r_hat"] < 1.02


def test_a_sampler_that_is_stuck_in_one_replicate_of_few_is_seen():
    e = of_replicates(2, 400, 0.0)
    e.draws[:400, 0] += np.linspace(0, 0.1, 400)
    e.draws[:, 1] = 1 - e.draws[:, 0]
    assert summary_of(e)["r_hat"] > 1.1


def test_chains_of_the_sampler_are_kept_and_made_equally_long():
    e = sampled([2, 3], n_draws=1003, diagnostics={"chains": 8})
    rows = rows_of_chains(e)
    assert rows.shape == (8, 125)
    assert (np.diff(rows, axis=1) == 1).all()
    assert (np.diff(rows[:, 0]) >= 125).all()
    assert np.isfinite(summary_of(e)["r_hat"])


@pytest.mark.parametrize("diagnostics", [{}, {"chains": 1}, {"chains": 10**12}, {"chains": "8"}])
def test_unknown_chains_are_one(diagnostics):
    assert rows_of_chains(sampled([2, 3], n_draws=60, diagnostics=diagnostics)).shape == (1, 60)


def test_too_few_draws_for_chains_are_one_chain():
    e = sampled([2, 3], n_draws=20, diagnostics={"chains": 8})
    assert rows_of_chains(e).shape == (1, 20)
