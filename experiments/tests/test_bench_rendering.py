"""How tables are written; expected files are compared as they are.

To renew them after a wanted change, write what the test shows.
"""

from pathlib import Path

import pandas as pd
import pytest

from truemix_experiments.results import Results
from truemix_experiments.tables import (
    Cell,
    Column,
    Row,
    Table,
    point_errors,
    to_csv,
    to_latex,
    to_markdown,
    to_text,
)

EXPECTED = Path(__file__).parent / "expected"


def small_results():
    """Return three methods on two data sets, with errors that anyone can compute."""
    sizes = {"CC": 0.05, "EMQ": 0.01, "KDEy(Ait-lambda)": 0.009}
    steps = {"CC": 1, "EMQ": 3, "KDEy(Ait-lambda)": 5}
    rows = []
    for dataset, modality in (("hand_digits", "tabular"), ("gasp", "text")):
        for method, size in sizes.items():
            for bag in range(8):
                ae = size + 0.001 * ((steps[method] * bag) % 7)
                rows.append((dataset, modality, method, 1.0, bag, ae, ae**2, 0.5))
    names = ["dataset", "modality", "method", "alpha", "bag", "ae", "w", "shift"]
    bags = pd.DataFrame(rows, columns=names)
    runs = bags[names[:4]].drop_duplicates().assign(settings=[{}] * 6)
    return Results(bags, runs)


@pytest.mark.parametrize(("ending", "render"), [("md", to_markdown), ("tex", to_latex)])
def test_the_table_is_written_as_expected(ending, render):
    written = render(point_errors(small_results()))
    assert written == (EXPECTED / f"point-errors.{ending}").read_text(encoding="utf-8")


def table_of(label, cell, group=""):
    return Table(
        "t", "Title", "Caption.", ("name",), (Column("a|b", group),), (Row((label,), (cell,)),)
    )


def test_markdown_escapes_what_would_end_a_cell():
    written = to_markdown(table_of("x|y_z*`", Cell("<0.1 <b>", 0.05)))
    assert r"| x\|y\_z\*\` |" in written
    assert "<0.1 &lt;b>" in written
    assert r"a\|b" in written
    lines = [line for line in written.splitlines() if line.startswith("|")]
    assert len({len(line) for line in lines}) == 1


def test_latex_escapes_names():
    written = to_latex(table_of("50 % of a_b & {c} #1 $ ~ ^ \\ λ", Cell("—")))
    name = r"50 \% of a\_b \& \{c\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{}"
    assert f"{name} $\\lambda$ & ---" in written


def test_latex_has_only_letters_it_knows():
    cells = "≪ ≫ ≈ ± λ ↑ ↓ † — < > ="
    assert to_latex(table_of(cells, Cell(cells, dagger=True))).isascii()


def test_marks_in_each_format():
    cell = Cell("95", 95.0, published=Cell("93", 93.0), bold=True, dagger=True, marked=True)
    table = table_of("x", cell)
    assert "**95**† (93)" in to_markdown(table)
    assert r"\cellcolor{olive!25}\textbf{95}$^\dag$ (93)" in to_latex(table)
    assert "95*† (93)" in to_text(table)


def test_groups_of_columns_and_rows_have_rules_in_latex():
    columns = (Column("a"), Column("b", "G"), Column("c", "G"))
    rows = tuple(
        Row((kind, name), (Cell("1"),) * 3, is_summary=not kind)
        for kind, name in (("k", "x"), ("k", "y"), ("l", "z"), ("", "mean"))
    )
    written = to_latex(Table("t", "T", "C.", ("kind", "data"), columns, rows))
    assert r" &  & \multicolumn{1}{c}{} & \multicolumn{2}{c}{G} \\" in written
    assert r"\cmidrule(lr){4-5}" in written
    assert written.count(r"\midrule") == 3
    assert "\nk & x &" in written
    assert "\n & y &" in written


def test_csv_has_ten_digits_and_published_values_in_their_own_columns():
    cell = Cell("1.0 ± 0.5", 1 / 3, 0.5, published=Cell("<0.1", 0.05, 0.25))
    assert to_csv(table_of("x,y", cell, "G")).splitlines() == [
        "name,G a|b,G a|b sd,G a|b published,G a|b published sd",
        '"x,y",0.3333333333,0.5,0.05,0.25',
    ]
    assert to_csv(table_of("x", Cell())).splitlines() == ["name,a|b", "x,"]
