import numpy as np
import pandas as pd
import pytest
from scipy import stats

from results_support import ALL, run, write_runs
from truemix import InputError
from truemix_experiments.results import read_results, write_result
from truemix_experiments.tables import (
    ablation,
    all_tables,
    alphas,
    amplitude,
    bayesian_errors,
    bayesian_significance,
    bayesian_summary,
    comparison,
    coverage,
    estimands,
    point_errors,
    point_ranks,
    point_significance,
    times,
    write_tables,
)

DATASETS = ("yeast", "hand_digits", "sst", "MNIST")
N_BAGS = 12


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return read_results(write_runs(folder, DATASETS, ALL, n_bags=N_BAGS))


def find(table, label, column):
    """Return the cell in the row with this label and the column with this full name."""
    row = next(row for row in table.rows if label in row.labels)
    return row.cells[[c.full_name for c in table.columns].index(column)]


def mean(dataset, method, metric):
    return run(dataset, method, n_bags=N_BAGS).rows[metric].mean()


def test_tables_are_rectangular_and_all_there(results):
    tables = all_tables(results)
    assert len(tables) == 13
    assert len({table.name for table in tables}) == 13
    for table in tables:
        assert all(len(row.cells) == len(table.columns) for row in table.rows)
        assert all(len(row.labels) == len(table.index) for row in table.rows)
        assert table.caption.endswith(".")
        assert table.name == "times" or "4 data sets" in table.caption.lower()


def test_errors_are_means_with_published_ones_beside(results):
    table = point_errors(results)
    cell = find(table, "yeast", "AE CC")
    assert cell.value == pytest.approx(mean("yeast", "CC", "ae"))
    assert cell.text == f"{cell.value:.4f}"
    assert cell.published.text == "0.0539"
    assert find(table, "MNIST", "W KDEy(Ait-λ)").published.value == 0.0003
    assert [row.labels for row in table.rows[:-1]] == [
        ("tabular", "hand_digits"),
        ("tabular", "yeast"),
        ("text", "sst"),
        ("image", "MNIST"),
    ]


def test_the_best_is_bold_and_those_like_it_have_a_dagger(results):
    table = bayesian_errors(results)
    names = [column.full_name for column in table.columns if column.group == "AE"]
    for row in table.rows[:-1]:
        cells = row.cells[: len(names)]
        best = int(np.argmin([cell.value for cell in cells]))
        assert [cell.bold for cell in cells] == [k == best for k in range(len(names))]
        methods = [*ALL[7:13], "Bayes-KDEy(Ait-lambda)+"]
        bags = [run(row.labels[1], m, n_bags=N_BAGS).rows["ae"] for m in methods]
        for k, cell in enumerate(cells):
            tied = k != best and stats.wilcoxon(bags[k], bags[best]).pvalue >= 0.05
            assert cell.dagger == tied
    own = find(table, "yeast", "AE Bayes-KDEy(Ait-λ)+")
    assert own.published is None


def test_ranks_are_of_means_by_modality(results):
    table = point_ranks(results)
    methods = ALL[:6]
    tabular = [[mean(d, m, "ae") for m in methods] for d in ("yeast", "hand_digits")]
    expected = stats.rankdata(tabular, axis=1).mean(axis=0)
    assert [row.cells[0].value for row in table.rows] == expected.tolist()
    assert [c.full_name for c in table.columns[:4]] == [
        "AE rank tabular",
        "AE rank text",
        "AE rank image",
        "AE rank all",
    ]
    assert find(table, "PCC", "AE rank text").published.value == 6.0
    assert all(any(row.cells[k].bold for row in table.rows) for k in range(8))


def test_the_rank_row_is_that_of_the_rank_table(results):
    table, ranks = point_errors(results), point_ranks(results)
    row = table.rows[-1]
    assert row.is_summary
    assert [c.value for c in row.cells[:6]] == [r.cells[3].value for r in ranks.rows]


def test_symbols_have_published_ones_beside(results):
    table = point_significance(results)
    assert len(table.rows) == len(table.columns) == 6
    assert find(table, "CC", "CC").text == "="
    assert find(table, "CC", "CC").published is None
    # Four data sets are too few for any difference.
    assert find(table, "CC", "KDEy(Gau)").text == "≈"
    assert find(table, "CC", "KDEy(Gau)").published.text == "≈"
    own = bayesian_significance(results)
    assert find(own, "Boots-CC", "Bayes-KDEy(Ait-λ)+").published is None


def test_significant_differences_show(tmp_path):
    names = [f"d{k}" for k in range(12)]
    write_runs(tmp_path, names, ["CC", "KDEy(Gau)"], n_bags=20)
    table = point_significance(read_results(tmp_path))
    assert find(table, "KDEy(Gau)", "CC").text == "≪"
    assert find(table, "CC", "KDEy(Gau)").text == "≫"
    assert find(table, "CC", "KDEy(Gau)").published is None


def test_summary_has_gaps_that_are_shortfalls(results):
    table = bayesian_summary(results)
    cell = find(table, "Bayes-ACC", "T = 1 hard gap")
    gaps = [max(0.0, 95 - 100 * mean(d, "Bayes-ACC", "hard")) for d in DATASETS]
    assert cell.value == pytest.approx(np.mean(gaps))
    assert cell.spread == pytest.approx(np.std(gaps))
    assert cell.text == f"{np.mean(gaps):.1f} ± {np.std(gaps):.1f}"
    size = find(table, "Bayes-ACC", "calibrated amplitude")
    sizes = [mean(d, "Bayes-ACC-cal", "amplitude") for d in DATASETS]
    assert size.value == pytest.approx(np.mean(sizes))
    assert "±" in size.published.text
    assert find(table, "Boots-CC", "calibrated hard gap").text == "—"
    assert find(table, "Bayes-KDEy(Ait-λ)+", "AE rank").value <= 6
    assert "+" in table.caption


def test_both_estimands_are_side_by_side(results):
    table = estimands(results)
    for view, prefix in (("population", ""), ("batch", "batch_")):
        found = find(table, "Bayes-ACC", f"{view} soft").value
        expected = [100 * mean(d, "Bayes-ACC", f"{prefix}soft") for d in DATASETS]
        assert found == pytest.approx(np.mean(expected))
    assert find(table, "Bayes-ACC", "batch soft").published is None
    # Resampled batches have no spread of the batch itself.
    assert find(table, "Boots-CC", "batch soft").text == "—"


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_coverage_is_marked_within_five_percent(results, kind):
    table = coverage(results, kind)
    for row in table.rows:
        for cell in row.cells:
            assert cell.marked == (cell.value is not None and 90 <= cell.value <= 100)
    cell = find(table, "sst", "calibrated Bayes-EMQ")
    assert cell.value == pytest.approx(100 * mean("sst", "Bayes-EMQ-cal", kind))
    # As printed in the full tables of the paper.
    assert cell.published.text == {"hard": "86", "soft": "91"}[kind]
    assert {c.group for c in table.columns} == {"", "T = 1", "calibrated"}


def test_small_amplitudes_are_written_as_the_paper_does(results):
    table = amplitude(results)
    cell = find(table, "MNIST", "Boots-CC")
    assert (cell.text, cell.published.text) == ("<0.1", "<0.1")
    assert cell.value == pytest.approx(mean("MNIST", "Boots-CC", "amplitude"))


def test_the_ablation_has_the_shrinkage_that_was_chosen(results):
    table = ablation(results)
    cell = find(table, "yeast", "λ")
    assert (cell.text, cell.published.text) == ("0.250", "0.999")
    assert find(table, "average rank", "λ").text == "—"
    assert "AE KDEy(Ait)" in [c.full_name for c in table.columns]


def test_the_comparison_marks_large_differences(tmp_path):
    # Published errors, and by how much these are off.
    targets = {"yeast": 0.0539 * 1.1, "sst": 0.1051 * 1.5, "wb": 0.0804 * 0.5}
    for dataset in targets:
        write_result(tmp_path, run(dataset, "CC", n_bags=4))
    write_result(tmp_path, run("mine", "CC", n_bags=4))
    results = read_results(tmp_path)
    for dataset, target in targets.items():
        results.bags.loc[results.bags["dataset"] == dataset, "ae"] = target
    table = comparison(results)
    texts = {row.labels[1]: row.cells[0].text for row in table.rows}
    assert texts == {
        "yeast": "1.10",
        "sst": "1.50 ↑",
        "wb": "0.50 ↓",
        "geometric mean": "0.94",
        # (0.0593 + 0.1577 + 0.0402) / (0.0539 + 0.1051 + 0.0804)
        "of the means": "1.07",
        "off by more than 20 %": "2 of 3",
    }
    assert [row.cells[0].marked for row in table.rows] == [False, True, True, False, False, False]


def test_what_was_not_run_is_not_in_the_tables(tmp_path):
    write_runs(tmp_path, ["yeast", "sst"], ["CC", "EMQ"], n_bags=5)
    write_result(tmp_path, run("wb", "CC", n_bags=5))
    results = read_results(tmp_path)
    tables = {table.name: table for table in all_tables(results)}
    assert set(tables) == {
        "point-ranks",
        "comparison",
        "point-errors",
        "point-significance",
        "times",
    }
    errors = tables["point-errors"]
    assert [c.full_name for c in errors.columns] == ["AE CC", "AE EMQ", "W CC", "W EMQ"]
    assert find(errors, "wb", "AE EMQ").text == "—"
    assert find(errors, "wb", "AE EMQ").published.text == "0.0333"
    assert "the 2 of 3 data sets" in errors.caption
    assert "the 2 of 3 data sets" in tables["point-ranks"].caption


def test_datasets_that_are_not_in_the_paper_have_nothing_beside(tmp_path):
    write_runs(tmp_path, ["yeast", "mine"], ["CC", "EMQ", "Bayes-ACC"], n_bags=5)
    results = read_results(tmp_path)
    errors = point_errors(results)
    assert find(errors, "mine", "AE CC").published is None
    assert find(errors, "average rank", "AE CC").published is None
    assert find(coverage(results, "hard"), "mean", "T = 1 Bayes-ACC").published is None
    assert find(bayesian_summary(results), "Bayes-ACC", "T = 1 hard gap").published is None


def test_one_method_alone_makes_a_table(tmp_path):
    write_runs(tmp_path, ["yeast"], ["Bayes-ACC"], n_bags=3)
    names = [table.name for table in all_tables(read_results(tmp_path))]
    assert "bayesian-errors" in names
    assert "bayesian-significance" not in names


def test_no_dataset_with_all_methods_makes_no_ranks(tmp_path):
    write_result(tmp_path, run("yeast", "CC", n_bags=3))
    write_result(tmp_path, run("sst", "EMQ", n_bags=3))
    results = read_results(tmp_path)
    assert point_ranks(results).is_empty
    assert not any(row.is_summary for row in point_errors(results).rows)


def test_other_alphas_are_left_out(tmp_path):
    write_runs(tmp_path, ["yeast"], ["CC", "EMQ"], alphas=(0.1, 1.0), n_bags=5)
    cell = find(point_errors(read_results(tmp_path)), "yeast", "AE CC")
    assert cell.value == pytest.approx(run("yeast", "CC", n_bags=5).rows["ae"].mean())


def test_each_level_of_shift_has_its_columns(tmp_path):
    levels = (0.1, 1.0, 10.0)
    methods = ("CC", "Bayes-ACC", "Bayes-ACC-cal")
    write_runs(tmp_path, ["yeast", "sst"], methods, alphas=levels, n_bags=5)
    # One that lacks a level must not tilt the comparison.
    write_runs(tmp_path, ["wb"], methods, alphas=levels[:2], n_bags=5)
    table = alphas(read_results(tmp_path))
    for level in levels:
        own = [run(name, "Bayes-ACC", level, n_bags=5).rows for name in ("yeast", "sst")]
        for metric, shown, scale in (("ae", "AE", 1), ("hard", "hard", 100), ("soft", "soft", 100)):
            cell = find(table, "Bayes-ACC", f"Dirichlet({level:g}) {shown}")
            assert cell.value == pytest.approx(scale * np.mean([rows[metric] for rows in own]))
    assert find(table, "CC", "Dirichlet(1) hard").text == "—"
    assert [row.labels[0] for row in table.rows] == ["CC", "Bayes-ACC", "Bayes-ACC, calibrated"]
    assert "the 2 of 3 data sets" in table.caption
    write_runs(tmp_path / "one", ["yeast"], methods, n_bags=5)
    assert alphas(read_results(tmp_path / "one")).is_empty


def test_times_count_what_methods_share_once(tmp_path):
    methods = ("ACC", "Boots-CC", "Bayes-ACC", "Bayes-EMQ", "Bayes-ACC-cal", "Bayes-EMQ-cal")
    write_runs(tmp_path, ["yeast"], methods, alphas=(1.0, 10.0), n_bags=3)
    results = read_results(tmp_path)
    # Calibration chose temperature 1 here: the answers of Bayes-EMQ were taken.
    adopted = results.runs["method"] == "Bayes-EMQ-cal"
    known = [{"temperature": 1.0 if each else 2.0} for each in adopted]
    results.runs["settings"] = known
    row = times(results).rows[0]
    # Settings of CC, ACC and EMQ at 0.2 s, two temperatures at 0.1, five runs at 0.2 or 2 s.
    assert [cell.value for cell in row.cells] == pytest.approx([0.6, 0.2, 1.0, 10.0, 11.8])
    assert times(results).rows[1].labels == ("tabular", "all 1")


def test_tables_are_written_in_each_format(results, tmp_path):
    tables = [point_ranks(results), comparison(results)]
    paths = write_tables(tables, tmp_path / "new" / "folder")
    assert [p.name for p in paths] == [
        f"{name}.{ending}"
        for name in ("point-ranks", "comparison")
        for ending in ("md", "csv", "tex")
    ]
    frame = pd.read_csv(paths[1])
    expected = [row.cells[3].value for row in tables[0].rows]
    # Ten digits are written.
    assert frame["AE rank all"].tolist() == pytest.approx(expected, rel=1e-9)
    with pytest.raises(InputError, match="formats"):
        write_tables(tables, tmp_path, ["html"])
