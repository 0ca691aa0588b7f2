"""Summaries: exact up to their capacity, the same in any order, and an honest sample beyond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import Given, posteriors
from truemix import ACC, CC, BayesianKDEy, InputError, KDEy, Summary
from truemix.summaries._store import MIN_ROWS
from truemix.summaries.summary import Scorer, merged

SMOOTH = {"bandwidth": 0.4, "shrinkage": 0.2}


def fitted(kind=KDEy, n_classes=3, **options):
    smooth = SMOOTH if "KDE" in kind.__name__ else {}
    return kind(**smooth, **options).fit(*posteriors(300, n_classes, 0))


def rounded(n, seed, decimals=2):
    """Posteriors of which many are equal."""
    P, codes = posteriors(n, 3, seed)
    Q = P.round(decimals) + 10.0**-decimals
    return Q / Q.sum(axis=1, keepdims=True), codes


def saved(summary, path):
    summary.save(path)
    return path.read_bytes()


# --- rows ---------------------------------------------------------------------------------------


def test_distinct_rows_are_counted():
    P = rounded(2000, 1)[0]
    summary = fitted().summarize(P)
    rows, counts = np.unique(P, axis=0, return_counts=True)
    order = np.lexsort(summary.rows.T[::-1])
    np.testing.assert_array_equal(summary.rows[order], rows)
    np.testing.assert_array_equal(summary.bag().weights[order], counts)
    assert summary.exact
    assert summary.n_items == 2000
    assert summary.n_rows == len(rows)


def test_decisions_are_counted_exactly_at_any_capacity():
    P, _ = posteriors(3000, 3, 1)
    summary = fitted().summarize(P, capacity=100)
    assert not summary.exact
    counts = np.bincount(P.argmax(axis=1), minlength=3)
    np.testing.assert_array_equal(summary.classify_and_count, counts / 3000)
    decided = summary.scored()[0].argmax(axis=1)
    np.testing.assert_array_equal(np.bincount(decided, summary.bag().weights), counts)
    for kind in (CC, ACC):
        found = fitted(kind)
        exact, sampled = found.predict(P), found.quantify(found.summarize(P, capacity=100))
        np.testing.assert_allclose(sampled.prevalence, exact, atol=1e-12)
        np.testing.assert_allclose(sampled.diagnostics["summary"]["sampling_error"], 0, atol=1e-9)


def test_the_kept_rows_are_those_of_smallest_priority_and_a_few_of_each_stratum():
    """By brute force: from all rows at once, by the definition."""
    from truemix.summaries._strata import hashes_of, priorities_of, strata_of

    P, _ = posteriors(3000, 3, 1)
    summary = merged([fitted().summarize(P[i::7], capacity=200) for i in range(7)])
    strata = strata_of(P, 3)
    priority = priorities_of(hashes_of(P), strata)
    among_smallest = priority <= np.sort(priority)[179]
    few = np.array(
        [
            (priority[strata == s] < p).sum() < MIN_ROWS
            for s, p in zip(strata, priority, strict=True)
        ]
    )
    expected = P[among_smallest | few]
    assert {tuple(row) for row in summary.rows} == {tuple(row) for row in expected}


def test_hashes_spread_rows_evenly():
    """The kept share of each stratum follows its rate; five standard errors."""
    from truemix.summaries._strata import hashes_of, strata_of

    P, _ = posteriors(40_000, 3, 1)
    uniform = (hashes_of(P) >> np.uint64(11)).astype(float) * 2.0**-53
    assert abs(uniform.mean() - 0.5) < 5 / np.sqrt(12 * len(P))
    assert abs(np.corrcoef(uniform, P[:, 0])[0, 1]) < 5 / np.sqrt(len(P))
    strata = strata_of(P, 3)
    for stratum in np.unique(strata):
        inside = uniform[strata == stratum]
        assert abs(inside.mean() - 0.5) < 5 / np.sqrt(12 * len(inside))


def test_hashes_are_the_same_on_every_machine():
    """SplitMix64, computed with Python's integers."""
    from truemix.summaries._strata import hashes_of

    def mixed(key):
        key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        key = (key ^ key >> 27) * 0x94D049BB133111EB % 2**64
        return key ^ key >> 31

    rows = np.array([[0.25, 0.75], [1.0, 0.0]])
    for row, found in zip(rows, hashes_of(rows), strict=True):
        key = 0
        for bits in row.view(np.uint64).tolist():
            key = mixed((key + 0x9E3779B97F4A7C15 + bits) % 2**64)
        assert int(found) == key


# --- merging ------------------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [None, 120])
def test_partitions_and_orders_do_not_matter(capacity, tmp_path):
    """1,000 partitions and orders of the same rows, byte for byte."""
    quantifier = fitted()
    P = np.concatenate([rounded(150, 1)[0], posteriors(150, 3, 2)[0]])
    whole = saved(quantifier.summarize(P, capacity=capacity), tmp_path / "whole")

    @settings(max_examples=500, deadline=None, derandomize=True)
    @given(st.randoms(use_true_random=False), st.integers(1, 12))
    def check(random, n_parts):
        rows = list(range(len(P)))
        random.shuffle(rows)
        cuts = sorted(random.choices(range(1, len(P)), k=n_parts - 1))
        parts = [part for part in np.split(np.array(rows), cuts) if len(part)]
        summaries = [quantifier.summarize(P[part], capacity=capacity) for part in parts]
        # In any order and nesting.
        while len(summaries) > 1:
            a = summaries.pop(random.randrange(len(summaries)))
            b = summaries.pop(random.randrange(len(summaries)))
            summaries.append(a + b)
        assert saved(summaries[0], tmp_path / "parts") == whole

    check()


def test_batches_of_any_size_are_one_batch(tmp_path):
    quantifier = fitted()
    P, _ = posteriors(5000, 3, 1)
    whole = saved(quantifier.summarize(P, capacity=300), tmp_path / "whole")
    for size in (1, 7, 1000):
        batches = (P[start : start + size] for start in range(0, 5000, size))
        assert saved(quantifier.summarize(batches, capacity=300), tmp_path / "other") == whole


def test_the_smaller_capacity_holds_in_a_sum(tmp_path):
    quantifier = fitted()
    P, _ = posteriors(3000, 3, 1)
    a = quantifier.summarize(P[:1000], capacity=500)
    b, c = (quantifier.summarize(P[i : i + 1000], capacity=150) for i in (1000, 2000))
    whole = saved(quantifier.summarize(P, capacity=150), tmp_path / "whole")
    assert saved((a + b) + c, tmp_path / "left") == whole
    assert saved(a + (c + b), tmp_path / "right") == whole


def test_renormalised_rows_do_not_depend_on_their_batch(tmp_path):
    """Rows of single precision sum to one within rounding only."""
    quantifier = fitted()
    P = posteriors(1000, 3, 1)[0].astype(np.float32)
    whole = saved(quantifier.summarize(P), tmp_path / "whole")
    one_by_one = quantifier.summarize(P[i : i + 1] for i in range(1000))
    assert saved(one_by_one, tmp_path / "single") == whole
    columns = np.asfortranarray(P)
    assert saved(quantifier.summarize(columns), tmp_path / "columns") == whole


def test_summaries_of_other_quantifiers_are_refused():
    P, _ = posteriors(50, 3, 1)
    ours, others = fitted(), KDEy(**SMOOTH).fit(*posteriors(301, 3, 0))
    with pytest.raises(InputError, match="made by another quantifier"):
        ours.quantify(others.summarize(P))
    with pytest.raises(InputError, match="made by different quantifiers"):
        ours.summarize(P) + others.summarize(P)
    with pytest.raises(TypeError):
        ours.summarize(P) + 1


def test_methods_on_the_same_references_share_summaries():
    P, _ = posteriors(50, 3, 1)
    summary = fitted().summarize(P)
    np.testing.assert_array_equal(
        fitted(BayesianKDEy, random_state=0).quantify(summary).draws,
        fitted(BayesianKDEy, random_state=0).quantify(P).draws,
    )


# --- estimates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [KDEy, BayesianKDEy, CC])
def test_a_summary_has_the_answer_of_its_items(kind):
    options = {"random_state": 0} if kind is BayesianKDEy else {}
    quantifier = fitted(kind, **options)
    P = rounded(500, 1)[0]
    whole = quantifier.quantify(P)
    parts = quantifier.summarize(P[:200]) + quantifier.summarize(P[200:])
    found = quantifier.quantify(parts)
    np.testing.assert_array_equal(found.prevalence, whole.prevalence)
    if whole.draws is not None:
        np.testing.assert_array_equal(found.draws, whole.draws)
    assert found.n_items == 500
    np.testing.assert_array_equal(found.classify_and_count, whole.classify_and_count)


def test_cross_fitted_models_keep_all_their_layers():
    P, codes = posteriors(300, 3, 0)
    quantifier = KDEy(classifier=Given(), crossfit=True, cv=3, **SMOOTH).fit(P, codes)
    target, _ = posteriors(200, 3, 1)
    whole = quantifier.quantify(target)
    parts = quantifier.summarize([target[:50], target[50:]])
    assert parts.scored().shape == (3, 200, 3)
    np.testing.assert_array_equal(quantifier.quantify(parts).prevalence, whole.prevalence)


def test_posteriors_of_another_number_of_models_are_refused():
    quantifier = fitted()
    P, _ = posteriors(20, 3, 1)
    with pytest.raises(InputError, match="scored by 2 models, the first one by 1"):
        quantifier.summarize([P, np.stack([P, P])])


def test_a_sample_moves_estimates_by_its_reported_error():
    """Over many batches, errors in units of the reported one have mean 0 and variance 1."""
    quantifier = fitted()
    scores = []
    for seed in range(60):
        P, _ = posteriors(2000, 3, 100 + seed, mix=[0.6, 0.3, 0.1])
        exact = quantifier.quantify(P).prevalence
        sampled = quantifier.quantify(quantifier.summarize(P, capacity=300))
        error = np.array(sampled.diagnostics["summary"]["sampling_error"])
        scores.append((sampled.prevalence - exact) / error)
    scores = np.array(scores)
    # Four standard errors of a mean and of a variance over 60 batches.
    assert (np.abs(scores.mean(axis=0)) < 4 / np.sqrt(60)).all()
    assert (np.abs((scores**2).mean(axis=0) - 1) < 4 * np.sqrt(2 / 60)).all()


def test_the_error_of_a_sample_is_in_the_draws():
    """Without other sources of uncertainty, draws spread as samples of the batch do."""
    quantifier = fitted(BayesianKDEy, reference_uncertainty=None, random_state=0, draws=2000)
    P, _ = posteriors(20_000, 3, 1, mix=[0.6, 0.3, 0.1])
    exact = quantifier.quantify(P)
    sampled = quantifier.quantify(quantifier.summarize(P, capacity=800))
    error = np.array(sampled.diagnostics["summary"]["sampling_error"])
    expected = np.hypot(exact.draws.std(axis=0), error)
    # The spread over 100 replicates is known to 7 %; with so few rows some counts would be negative
    # and are cut off, which adds to it.
    ratio = sampled.draws.std(axis=0) / expected
    assert (ratio > 0.85).all()
    assert (ratio < 1.35).all()


def test_capacities_have_a_range():
    with pytest.raises(InputError, match=r"'capacity' parameter must be a whole number"):
        fitted().summarize(posteriors(20, 3, 1)[0], capacity=10)


def test_many_classes_keep_fewer_rows():
    assert Scorer(np.arange(3), 1, "", 3).store().capacity == 200_000
    assert Scorer(np.arange(100), 1, "", 100).store().capacity == 40_000


def test_the_size_is_in_the_repr():
    quantifier = fitted()
    P, _ = posteriors(1000, 3, 1)
    assert repr(quantifier.summarize(P)) == "Summary of 1,000 items: 1,000 distinct rows, exact"
    assert "sampled rows" in repr(quantifier.summarize(P, capacity=100))
    assert isinstance(quantifier.summarize(P), Summary)
