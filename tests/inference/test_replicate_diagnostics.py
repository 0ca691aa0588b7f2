"""Chains over many replicates are diagnosed: broken samplers are found out, sound ones are not."""

import numpy as np
import pytest
from scipy import stats

from truemix import _core
from truemix.inference import sample_replicates
from truemix.inference._chains import dispersed_replicates
from truemix.inference._failures import failures, rhat_limit
from truemix.inference._replicate_diagnostics import replicate_statistics

N, K, V = 200, 3, 100
NAMES = (
    "matrices", "rows", "copies", "prior", "temperature", "near", "starts", "states", "begin",
    "end", "discard", "thinning", "tries", "local", "draws", "batch",
)  # fmt: skip


def replicates(overlap, seed=0):
    """Return replicates of a matrix; the larger the overlap, the slower Gibbs sampling mixes."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(N, K)) + np.eye(K)[rng.integers(0, K, N)] * 3.0 * (1.0 - overlap)
    base *= 1.0 - overlap
    return base + 0.1 * rng.normal(size=(V, 1, K)) * rng.normal(size=(1, N, K))


def failed(matrices, **options):
    (sample,) = sample_replicates(
        matrices, [np.arange(N)], **{"draws": 1000, "random_state": 0, **options}
    )
    return sample.diagnostics


def broken(change):
    """Return the compiled sampler with some of its arguments changed."""

    sample = _core.sample_replicates

    def run(*arguments):
        named = dict(zip(NAMES, arguments, strict=True))
        return sample(*{**named, **change(named)}.values())

    return run


def frozen(
    matrices, rows, copies, prior, temperature, near, starts, states, begin, end, discard,
    thinning, tries, local, draws, batch,
):  # fmt: skip
    """Never leave the start."""
    for start, first, last in zip(starts, begin, end, strict=True):
        draws[first:last] = batch[first:last] = start if start.any() else near
    return 0


def two_modes(
    matrices, rows, copies, prior, temperature, near, starts, states, begin, end, discard,
    thinning, tries, local, draws, batch,
):  # fmt: skip
    """Draw perfectly around the mode that is nearer to the start, of two."""
    for start, first, last in zip(starts, begin, end, strict=True):
        rng = np.random.default_rng(int(first))
        shape = [80.0, 10.0, 10.0] if not start.any() or start[0] > 0.2 else [10.0, 80.0, 10.0]
        draws[first:last] = batch[first:last] = rng.dirichlet(shape, last - first)
    return 0


@pytest.mark.parametrize("sampler", [frozen, two_modes])
def test_a_sampler_that_does_not_leave_its_start_or_mode_is_found_out(monkeypatch, sampler):
    monkeypatch.setattr(_core, "sample_replicates", sampler)
    found = failed(replicates(0.3))
    assert found["rhat"] > found["rhat_limit"] >= 1.01
    assert any("chains that started far from the mode" in text for text in found["failed"])


def test_chains_that_are_too_short_are_found_out(monkeypatch):
    """Heavy overlap, no proposals, no warm-up: a sweep moves by a few per cent of the way."""
    short = broken(lambda a: {"discard": np.zeros_like(a["discard"]), "thinning": 1, "tries": 0})
    matrices = replicates(0.9)
    assert failed(matrices)["failed"] == []
    monkeypatch.setattr(_core, "sample_replicates", short)
    assert any("R-hat" in text for text in failed(matrices)["failed"])


@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("options", [{}, {"temperature": 3.0}, {"prior": 0.2}])
def test_sound_chains_are_not_blamed(overlap, options):
    for seed in range(4):
        assert failed(replicates(overlap, seed), random_state=seed, **options)["failed"] == []


@pytest.mark.parametrize("period", [2, 3, 4, 5, 8, 12, 16])
def test_replicates_of_settings_that_take_turns_are_not_blamed(period):
    """Settings that see other mixes than each other are no failure to converge."""
    matrices = replicates(0.3)
    settings = np.random.default_rng(period).normal(size=(period, K))
    matrices += settings[np.arange(V) % period][:, None]
    found = failed(matrices)
    assert found["between_variance"].max() > found["within_variance"].max()
    assert found["failed"] == []


def test_a_quarter_of_the_replicates_starts_far_from_the_mode_in_no_order():
    marks = dispersed_replicates(100)
    assert marks.reshape(25, 4).sum(axis=1).tolist() == [1] * 25
    for period in range(2, 17):
        parts = [marks[first::period] for first in range(period)]
        # One of each, at least, in settings with enough replicates to have a quarter of them.
        assert not any(part.all() for part in parts), period
        assert period > 10 or all(part.any() for part in parts), period
    assert dispersed_replicates(40).tolist() == marks[:40].tolist()
    assert [len(dispersed_replicates(n)) for n in range(1, 6)] == [1, 2, 3, 4, 5]


def test_chance_alone_exceeds_the_limit_as_rarely_as_is_said():
    """Independent replicates that differ: under 1 of 1000 where 1 of 10,000 is asked for."""
    rng = np.random.default_rng(0)
    ends, dispersed = np.arange(0, 501, 5), dispersed_replicates(100)
    exceeded = []
    for _ in range(1000):
        shared = np.repeat(rng.gamma(2.0, size=(100, 2)), 5, axis=0)
        found = replicate_statistics(shared + rng.normal(size=(500, 2)), ends, dispersed)
        exceeded.append(found["rhat"] > found["rhat_limit"])
    # With a rate of 1e-4 three or more of 1000 happen once in 6000 times.
    assert np.sum(exceeded) <= 2


def test_r_hat_between_starts_is_the_ratio_of_variances_of_rank_scores():
    """Against its definition: pooled variance around the group means, and around the whole mean."""
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(400, 1))
    dispersed = dispersed_replicates(100)
    far = np.repeat(dispersed, 4)
    draws[far] += 1.0
    found = replicate_statistics(draws, np.arange(0, 401, 4), dispersed)
    z = stats.norm.ppf((stats.rankdata(draws[:, 0]) - 0.375) / 400.25)
    groups = z[far], z[~far]
    pooled = sum(((each - each.mean()) ** 2).sum() for each in groups) / 400
    # The same sums in another order.
    assert found["rhat"] == pytest.approx(np.sqrt(z.var() / pooled), rel=1e-10)


def test_few_replicates_are_diagnosed_one_by_one():
    rng = np.random.default_rng(0)
    chains = [rng.normal(shift, 0.1, (200, 2)) for shift in (0.0, 0.5, 1.0)]
    ends, none = np.array([0, 200, 400, 600]), np.zeros(3, dtype=bool)
    found = replicate_statistics(np.concatenate(chains), ends, none)
    # The models of three folds are all there are: they differ, but their mean is known from 600
    # independent draws to 0.1 / sqrt(600); the variance of 200 draws is known to 10 %.
    np.testing.assert_allclose(found["mcse"], 0.1 / np.sqrt(600), rtol=0.3)
    assert found["rhat"] < found["rhat_limit"]
    chains[1] = np.linspace(0, 1, 400).reshape(200, 2)
    drifting = replicate_statistics(np.concatenate(chains), ends, none)
    # A chain that only ever rises is worth one or two draws.
    assert drifting["ess"] < 10
    assert "below the 40" in " ".join(failures({**drifting, "divergences": 0, "thinning": 1}, 600))


def test_failures_are_sentences():
    fine = {"ess": 500.0, "rhat": 1.0, "rhat_limit": 1.01, "divergences": 0, "thinning": 1}
    assert failures(fine, 1000) == []
    assert failures({**fine, "replicates": 100, "ess": 99.0}, 1000) == []
    assert "effective sample size is 24 for 1000 draws, below the 40" in " ".join(
        failures({**fine, "replicates": 24, "ess": 24.0}, 1000)
    )
    assert "below 400" in " ".join(failures({**fine, "ess": 300.0}, 1000))
    assert "R-hat is 1.200" in " ".join(failures({**fine, "rhat": 1.2}, 1000))
    assert "diverged" in " ".join(failures({**fine, "divergences": 2}, 1000))
    assert "needs at least 40 draws" in " ".join(failures({**fine, "ess": 20.0}, 20))


def test_the_limit_of_split_r_hat_is_met_by_independent_draws():
    """R-hat of two halves of independent draws exceeds the limit in less than 1 of 1000 samples."""
    rng = np.random.default_rng(0)
    halves = rng.normal(size=(4000, 2, 200)).mean(axis=2)
    # R-hat^2 is 1 + (half the squared difference of the halves' means), for variance 1.
    rhat = np.sqrt(1.0 + 0.5 * np.diff(halves, axis=1) ** 2 / 2)
    assert (rhat > rhat_limit(400.0, 2, 1)).mean() < 1e-3
