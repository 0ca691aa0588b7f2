"""The tables of docs/results/paper are those of the results beside them."""

from pathlib import Path

import pytest

from truemix_experiments.methods import METHODS
from truemix_experiments.results import read_results
from truemix_experiments.tables import FORMATS, all_tables, write_tables

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "paper"


@pytest.fixture(scope="module")
def results():
    return read_results(FOLDER / "results.parquet")


def test_every_table_is_made_again_byte_for_byte(results, tmp_path):
    written = write_tables(all_tables(results), tmp_path)
    committed = {p.name for p in FOLDER.iterdir() if p.suffix[1:] in FORMATS} - {"README.md"}
    assert {path.name for path in written} == committed
    assert [p.name for p in written if p.read_bytes() != (FOLDER / p.name).read_bytes()] == []


def test_nothing_is_missing_but_what_the_page_says(results):
    runs = results.runs
    found = set(runs[["dataset", "method", "alpha"]].itertuples(index=False, name=None))
    everywhere = set(runs["dataset"])
    assert len(everywhere) == 27
    elsewhere = {dataset for dataset, _, alpha in found if alpha != 1.0}
    assert found == {
        *((dataset, method, 1.0) for dataset in everywhere for method in METHODS),
        *((dataset, method, a) for dataset in elsewhere for method in METHODS for a in (0.1, 10.0)),
    }
    said = (FOLDER / "README.md").read_text("utf-8").split("**Not run** there:")[1].split(".")[0]
    assert {name.strip() for name in said.split(",")} == everywhere - elsewhere
    # All results have the same versions.
    assert runs["versions"].map(str).nunique() == 1
