from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from estimate_support import estimate, sampled
from truemix import InputError
from truemix.estimates.comparison import probability_larger
from truemix.estimates.draw_origin import DrawOrigin


def test_differences_are_now_minus_before_in_the_population_view():
    new, old = sampled([50, 50]), sampled([20, 80])
    found = new.compare(old)
    expected = new.of("population").prevalence - old.of("population").prevalence
    np.testing.assert_allclose(found.difference, expected)
    table = found.frame()
    assert table.columns.tolist() == [
        *("before", "now", "difference", "lower", "upper", "prob_increase")
    ]
    np.testing.assert_array_equal(table[["lower", "upper"]], found.interval)
    assert table.loc["class 0", "prob_increase"] > 0.99


def test_intervals_of_a_difference_are_those_of_independent_posteriors():
    # The same seed: row by row these draws would be the same numbers.
    new = sampled([400, 600], estimand="population", n_draws=2000)
    old = sampled([400, 600], estimand="population", n_draws=2000)
    np.testing.assert_array_equal(new.draws, old.draws)
    found = new.compare(old, level=0.9)
    deviation = np.sqrt(2) * stats.beta(400, 600).std()
    half = stats.norm.ppf(0.95) * deviation
    np.testing.assert_allclose(found.interval[0], [-half, half], atol=0.12 * half)
    assert found.prob_increase[0] == pytest.approx(0.5, abs=0.001)
    np.testing.assert_array_equal(found.interval, new.compare(old, level=0.9).interval)


def test_the_probability_of_a_rise_counts_all_pairs():
    rng = np.random.default_rng(0)
    now, before = rng.integers(0, 5, (40, 2)) / 5, rng.integers(0, 5, (30, 2)) / 5
    expected = (now[:, None, :] > before[None, :, :]).mean(axis=(0, 1))
    np.testing.assert_allclose(probability_larger(now, before), expected)


def replicated(numbers, source="a", seed=0):
    """Return an estimate whose draws follow the replicate: 0.3 or 0.6 of the first class."""
    numbers = np.asarray(numbers)
    first = 0.3 + 0.3 * numbers + np.random.default_rng(seed).normal(0.0, 0.01, len(numbers))
    draws = np.column_stack([first, 1 - first])
    fields = {"prevalence": draws.mean(axis=0), "draws": draws, "other_draws": draws}
    return estimate(2, **fields, origin=DrawOrigin(numbers, source))


def test_draws_of_the_same_references_are_compared_replicate_by_replicate():
    now = replicated(np.repeat([0, 1], 500))
    before = replicated(np.tile([0, 1], 200), seed=1)
    found = now.compare(before)
    assert found.paired
    # What the replicates do to both cancels: a difference of two normals of 0.01 each.
    half = stats.norm.ppf(0.975) * np.sqrt(2) * 0.01
    np.testing.assert_allclose(found.interval[0], [-half, half], atol=0.12 * half)
    expected = np.mean(
        [
            (now.draws[:, None, 0] > before.draws[None, :, 0])[
                np.ix_(now.origin.number == v, before.origin.number == v)
            ].mean()
            for v in (0, 1)
        ]
    )
    assert found.prob_increase[0] == pytest.approx(expected, abs=1e-12)
    other = now.compare(replicated(np.tile([0, 1], 200), source="b", seed=1))
    assert not other.paired
    assert np.ptp(other.interval[0]) > 0.5


def test_only_common_replicates_are_compared():
    now, before = replicated(np.repeat([0, 1], 500)), replicated(np.zeros(50, dtype=int), seed=1)
    assert now.compare(before).interval[0, 1] < 0.05
    assert now.compare(replicated(np.full(50, 2), seed=1)).paired is False


def test_different_numbers_of_draws_and_orders_of_classes_do():
    new = sampled([20, 30, 50], n_draws=300, estimand="population")
    old = sampled([20, 30, 50], n_draws=1000, seed=1, estimand="population")
    turned = replace(
        old,
        classes=old.classes[::-1],
        prevalence=old.prevalence[::-1],
        draws=old.draws[:, ::-1],
        other_draws=None,
    )
    plain, reordered = new.compare(old).frame(), new.compare(turned).frame()
    np.testing.assert_allclose(plain, reordered)


def test_point_estimates_have_a_difference_only():
    for other in (estimate(), sampled([1, 2, 3])):
        found = estimate().compare(other)
        assert found.interval is None
        assert found.frame().columns.tolist() == ["before", "now", "difference"]
    assert repr(estimate().compare(estimate())).splitlines()[1].split() == [
        *("class", "before", "now", "change")
    ]


def test_the_repr_is_the_table():
    found = sampled([20, 80], n_items=1).compare(sampled([60, 40], n_items=1000), level=0.9)
    lines = repr(found).splitlines()
    assert lines[0] == (
        "BayesianKDEy: the change of the mix in percentage points, 1 item after 1,000 items"
    )
    assert lines[1].split() == ["class", "before", "now", "change", "interval", "P(higher)"]
    assert lines[2].endswith("< 0.1 %")
    assert lines[3].endswith("> 99.9 %")
    assert lines[4].startswith("90 % equal-tailed intervals; ")
    assert lines[4].endswith("(population)")
    assert len({len(line) for line in lines[1:4]}) == 1
    assert "<table>" in found._repr_html_()
    many = sampled(np.ones(50)).compare(sampled(np.ones(50), seed=1))
    assert "… and 20 classes that changed less: see .frame()" in repr(many)


def test_what_cannot_be_compared_is_refused():
    three, two = sampled([1, 2, 3]), sampled([1, 2])
    with pytest.raises(InputError, match="Class 'class 2' is not in the second estimate"):
        three.compare(two)
    with pytest.raises(InputError, match="Class 'class 2' is not in the first estimate"):
        two.compare(three)
    with pytest.raises(InputError, match="compared with another; got an object of type 'int'"):
        two.compare(3)
    with pytest.raises(InputError, match="holds no draws of the population mix"):
        two.compare(replace(two, other_draws=None))
