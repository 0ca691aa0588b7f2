"""Summaries of groups, in bounded memory over all of them."""

import numpy as np
import pytest

from support import posteriors
from truemix import InputError, KDEy
from truemix.summaries import groups as module
from truemix.summaries import merge_groups


@pytest.fixture
def quantifier():
    return KDEy(bandwidth=0.4, shrinkage=0.2).fit(*posteriors(100, 3, 0))


def same(a, b, folder):
    assert list(a) == list(b)
    for group in a:
        a[group].save(folder / "a")
        b[group].save(folder / "b")
        assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_groups_of_one_pass_are_those_of_each_part(quantifier, tmp_path):
    P, _ = posteriors(900, 3, 1)
    weeks = np.array(["week 10", "week 9", "week 2"])[np.arange(900) % 3]
    whole = quantifier.summarize_by(P, weeks)
    assert list(whole) == ["week 2", "week 9", "week 10"]
    parts = [
        quantifier.summarize_by(P[rows], weeks[rows])
        for rows in (slice(500, 900), slice(0, 7), slice(7, 500))
    ]
    merged = merge_groups(*parts)
    same(whole, {group: merged[group] for group in whole}, tmp_path)
    found = quantifier.quantify_by(whole)
    expected = quantifier.quantify_by(P, weeks)
    for group in expected:
        np.testing.assert_array_equal(found[group].prevalence, expected[group].prevalence)


def test_many_large_groups_share_a_bounded_memory(quantifier, tmp_path, monkeypatch):
    """All are reduced to the largest capacity with which they fit, whatever the order."""
    monkeypatch.setattr(module, "MAX_NUMBERS_OF_ALL", 3 * 2_000)
    P, _ = posteriors(6000, 3, 1)
    groups = np.random.default_rng(0).choice(4, 6000, p=[0.05, 0.15, 0.3, 0.5])
    sizes = np.bincount(groups)
    whole = quantifier.summarize_by(P, groups)
    # The smallest group keeps its rows, the others share what is left.
    level = (2_000 - sizes[0]) // 3
    assert whole[0].exact
    assert [whole[g].capacity for g in range(4)] == [level] * 4
    # And a few of each stratum.
    assert sum(each.n_rows for each in whole.values()) < 2_000 + 4 * 9 * 13 * 4
    order = np.random.default_rng(1).permutation(6000)
    parts = [quantifier.summarize_by(P[rows], groups[rows]) for rows in np.array_split(order, 9)]
    left = merge_groups(merge_groups(*parts[:5]), merge_groups(*parts[5:]))
    same(whole, {group: left[group] for group in whole}, tmp_path)


def test_every_item_is_counted(quantifier, monkeypatch):
    monkeypatch.setattr(module, "MAX_NUMBERS_OF_ALL", 3 * 1_500)
    P, _ = posteriors(6000, 3, 1)
    groups = np.arange(6000) % 2
    found = quantifier.summarize_by(P, groups)
    assert [each.n_items for each in found.values()] == [3000, 3000]
    exact = quantifier.quantify_by(P[:1000], groups[:1000])
    assert exact[0].n_items == 500


def test_no_groups_are_an_error(quantifier):
    with pytest.raises(InputError, match="no groups"):
        quantifier.quantify_by({})
