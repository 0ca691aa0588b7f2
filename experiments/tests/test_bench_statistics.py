import numpy as np
import pandas as pd
import pytest
from scipy import stats

from results_support import run, write_runs
from truemix_experiments.results import read_results, write_result
from truemix_experiments.statistics import (
    bag_values,
    comparable_ranks,
    geometric_mean,
    holm,
    mean_values,
    modalities,
    paired_p_value,
    row_ranks,
    sorted_datasets,
    symbol_matrix,
    tied_with_best,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_runs(folder, ["MNIST", "yeast"], ["CC", "EMQ", "Bayes-ACC"], n_bags=20)
    write_result(folder, run("mhr", "CC", n_bags=20))
    write_result(folder, run("yeast", "CC", 0.1, n_bags=20))
    return read_results(folder)


def test_means_are_over_the_bags_of_each_run(results):
    means = mean_values(results, "ae", ["EMQ", "CC", "PCC"])
    assert list(means.index) == ["mhr", "yeast", "MNIST"]
    assert list(means.columns) == ["EMQ", "CC"]
    assert means.at["yeast", "CC"] == pytest.approx(run("yeast", "CC", n_bags=20).rows["ae"].mean())
    assert np.isnan(means.at["mhr", "EMQ"])
    border = mean_values(results, "ae", ["CC"], alpha=0.1)
    assert border.to_numpy() == pytest.approx(run("yeast", "CC", 0.1, n_bags=20).rows["ae"].mean())


def test_coverages_are_percentages(results):
    rows = run("yeast", "Bayes-ACC", n_bags=20).rows
    hard = mean_values(results, "hard", ["CC", "Bayes-ACC"])
    assert list(hard.columns) == ["Bayes-ACC"]
    assert hard.at["yeast", "Bayes-ACC"] == pytest.approx(100 * rows["hard"].mean())
    size = mean_values(results, "amplitude", ["Bayes-ACC"])
    assert size.at["yeast", "Bayes-ACC"] == pytest.approx(rows["amplitude"].mean())


def test_results_without_intervals_have_no_coverage(tmp_path):
    write_runs(tmp_path, ["yeast"], ["CC"])
    assert mean_values(read_results(tmp_path), "hard", ["CC"]).empty


def test_bags_are_paired(tmp_path):
    write_result(tmp_path, run("yeast", "CC", n_bags=9))
    write_result(tmp_path, run("yeast", "EMQ", n_bags=7))
    values = bag_values(read_results(tmp_path), "ae", ["EMQ", "CC", "ACC"])
    assert values["yeast"].shape == (7, 2)
    assert list(values["yeast"].columns) == ["EMQ", "CC"]


def test_order_and_modality_of_datasets(results):
    assert modalities(results) == {"MNIST": "image", "yeast": "tabular", "mhr": "tabular"}
    assert sorted_datasets(["b", "a", "SVHN", "fashionMNIST"]) == ["fashionMNIST", "SVHN", "a", "b"]


def test_ties_share_their_mean_rank():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (50, 6)).astype(float)
    expected = np.array([stats.rankdata(row) for row in values])
    np.testing.assert_array_equal(row_ranks(values), expected)
    assert row_ranks([[2.0, 1.0, 2.0, 2.0]]).tolist() == [[3.0, 1.0, 3.0, 3.0]]


def test_our_methods_do_not_change_the_ranks_of_the_papers():
    values = pd.DataFrame({"A": [0.2, 0.2], "B": [0.3, 0.1], "B+": [0.1, 0.2], "C": [0.4, 0.4]})
    ranks = comparable_ranks(values)
    np.testing.assert_array_equal(ranks[["A", "B", "C"]], row_ranks(values[["A", "B", "C"]]))
    # In the place of B: first before A and C; tied with A.
    assert ranks["B+"].tolist() == [1.0, 1.5]


def test_paired_test_is_scipys():
    rng = np.random.default_rng(1)
    for n in (8, 30, 500):
        a = rng.gamma(1.0, size=n)
        b = a + rng.normal(0.1, 0.3, size=n)
        assert paired_p_value(a, b) == stats.wilcoxon(a, b).pvalue


def test_paired_test_of_hand_made_cases():
    # All six differences have one sign: 2 / 2**6.
    assert paired_p_value(np.arange(6.0), np.arange(6.0) * 2 + 1) == pytest.approx(2 / 64)
    assert paired_p_value([0.1, 0.2], [0.1, 0.2]) == 1.0
    assert paired_p_value([], []) == 1.0


def test_tied_with_best_are_not_significantly_different():
    rng = np.random.default_rng(2)
    best = rng.gamma(2.0, size=200)
    noise = rng.normal(size=200)
    values = pd.DataFrame(
        {
            "same": best,
            "noise": best + noise - noise.mean() + 0.01,
            "worse": best + rng.gamma(2.0, size=200),
            "best": best - 1e-9,
        }
    )
    # The constant difference is tiny, but has always the same sign.
    assert tied_with_best(values) == ("best", {"noise"})
    assert tied_with_best(values[["same", "worse"]]) == ("same", set())


def test_holm_rejects_as_the_stepwise_procedure():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(int(rng.integers(1, 12))) ** 3
        level = rng.random()
        rejected = set()
        for rank, place in enumerate(np.argsort(p)):
            if p[place] > level / (len(p) - rank):
                break
            rejected.add(int(place))
        assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected


def test_symbols_use_holms_correction():
    rng = np.random.default_rng(3)
    base = rng.gamma(2.0, size=(12, 1))
    values = base + np.array([0.0, 0.0, 0.05, 1.0]) + rng.normal(0, 0.05, size=(12, 4))
    matrix = symbol_matrix(values)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    p = np.array([stats.wilcoxon(values[:, i], values[:, j]).pvalue for i, j in pairs])
    order = np.argsort(p)
    adjusted = np.empty(6)
    largest = 0.0
    for place, k in enumerate(order):
        largest = max(largest, (6 - place) * p[k])
        adjusted[k] = min(1.0, largest)
    for (i, j), q in zip(pairs, adjusted, strict=True):
        better = values[:, i].mean() < values[:, j].mean()
        symbol = "≈" if q >= 0.05 else ("<" if better else ">")
        assert matrix[i][j] == symbol
    assert [matrix[k][k] for k in range(4)] == ["="] * 4


def test_symbols_are_mirrored_and_strong_ones_need_many_datasets():
    values = np.column_stack([np.arange(1, 21), 2 * np.arange(1, 21), 2 * np.arange(1, 21)])
    assert symbol_matrix(values) == [["=", "≪", "≪"], ["≫", "=", "≈"], ["≫", "≈", "="]]


def test_geometric_mean_is_the_mean_of_logarithms():
    ratios = [0.5, 1.7, 3.1]
    assert geometric_mean(ratios) == pytest.approx(stats.gmean(ratios))
    assert np.isnan(geometric_mean([np.nan]))
