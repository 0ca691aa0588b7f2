"""One small file holds what tables and figures need of results."""

import numpy as np
import pytest

from results_support import ALL, write_runs
from truemix.exceptions import InputError
from truemix_experiments.packed import read_packed, rounded, write_packed
from truemix_experiments.results import read_results, with_missing
from truemix_experiments.statistics import mean_values
from truemix_experiments.tables import all_tables

DATASETS = ("yeast", "mhr", "wb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_runs(folder, DATASETS)
    return write_runs(folder, DATASETS, methods=ALL[:3], alphas=(0.1,))


@pytest.fixture(scope="module")
def packed(folder):
    return write_packed(read_results(folder), folder / "packed")


def test_tables_are_those_of_the_results(folder, packed):
    results, again = read_results(folder), read_results(packed)
    assert len(again.runs) == len(results.runs)
    for metric in ("ae", "w", "hard", "soft", "amplitude", "winkler", "width", "batch_soft"):
        for alpha in (1.0, 0.1):
            first = mean_values(results, metric, ALL, alpha=alpha)
            # Errors are rounded to 1 part in 8,000.
            np.testing.assert_allclose(
                mean_values(again, metric, ALL, alpha=alpha)[first.columns], first, rtol=2e-4
            )
    for one, other in zip(all_tables(results), all_tables(again), strict=True):
        assert one.name == other.name
        assert one.header == other.header
        assert len(one.rows) == len(other.rows)


def test_packing_what_was_packed_changes_nothing(packed, tmp_path):
    again = write_packed(read_results(packed), tmp_path / "again")
    assert again.read_bytes() == packed.read_bytes()


def test_results_of_two_places_are_packed_as_those_of_one(packed, tmp_path):
    """Also if one of them was packed before; what both have is taken from the first."""
    here = write_runs(tmp_path / "here", DATASETS[:1])
    there = write_runs(tmp_path / "there", DATASETS[:1], methods=ALL[:1], scale=9.0)
    write_runs(there, DATASETS[1:])
    write_runs(there, DATASETS, methods=ALL[:3], alphas=(0.1,))
    more = read_results(write_packed(read_results(there), tmp_path / "more"))
    joined = write_packed(with_missing(read_results(here), more), tmp_path / "joined")
    assert joined.read_bytes() == packed.read_bytes()
    other = write_packed(with_missing(more, read_results(here)), tmp_path / "other")
    assert other.read_bytes() != packed.read_bytes()


def test_it_is_small(folder, packed):
    all_of_it = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    assert packed.stat().st_size < all_of_it / 10


def test_numbers_keep_twelve_bits():
    values = np.abs(np.random.default_rng(0).normal(size=1000)) * np.logspace(-9, 3, 1000)
    assert (np.abs(rounded(values) - values) <= values * 2.0**-12).all()
    np.testing.assert_array_equal(rounded(rounded(values)), rounded(values))


def test_a_damaged_file_is_one_sentence(packed, tmp_path):
    content = bytearray(packed.read_bytes())
    content[len(content) // 2] ^= 1
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(InputError, match="its checksum is wrong"):
        read_packed(path)
    path.write_bytes(b"no Parquet")
    with pytest.raises(InputError, match="it has no checksum"):
        read_packed(path)


def test_a_result_file_is_no_packed_one(folder):
    path = next(folder.rglob("*.parquet"))
    with pytest.raises(InputError, match="no packed results of this version"):
        read_results(path)
