r"""Tables in LaTeX, for the packages booktabs, graphicx and xcolor with its option ``table``."""

from __future__ import annotations

import re
from itertools import groupby

from truemix_experiments.tables.table import Cell, Table

# What is no letter of LaTeX, or has a meaning there.
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "=": r"$=$",
    "≪": r"$\ll$",
    "≫": r"$\gg$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "λ": r"$\lambda$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "†": r"$^\dag$",
    "—": "---",
    "\n": " ",
}
_SIGN = re.compile("[" + re.escape("".join(_SIGNS)) + "]")
MARK = r"\cellcolor{olive!25}"
# Tables with more columns than this are scaled to the width of the text.
MAX_COLUMNS = 6


def to_latex(table: Table) -> str:
    r"""Return a table in LaTeX, as a float with caption and label.

    Examples
    --------
    >>> from truemix_experiments.tables.table import Column, Row
    >>> rows = (Row(("hand_digits",), (Cell("95", 95.0, bold=True),)),)
    >>> print(to_latex(Table("x", "T", "C.", ("data",), (Column("KDEy(Ait-λ)"),), rows)))
    % Packages: booktabs, graphicx, [table]{xcolor}
    \begin{table}
    \centering
    \caption{T. C.}
    \label{tab:x}
    \begin{tabular}{lr}
    \toprule
    data & KDEy(Ait-$\lambda$) \\
    \midrule
    hand\_digits & \textbf{95} \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    wide = len(table.columns) > MAX_COLUMNS
    return "\n".join(
        [
            "% Packages: booktabs, graphicx, [table]{xcolor}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escaped(table.title)}. {escaped(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            *([r"\resizebox{\textwidth}{!}{%"] if wide else []),
            rf"\begin{{tabular}}{{{'l' * len(table.index)}{'r' * len(table.columns)}}}",
            r"\toprule",
            *_header(table),
            r"\midrule",
            *_body(table),
            r"\bottomrule",
            r"\end{tabular}" + ("}" if wide else ""),
            r"\end{table}",
            "",
        ]
    )


def escaped(text: str) -> str:
    r"""Return text with LaTeX's special characters escaped and our symbols as commands.

    Examples
    --------
    >>> escaped("50 % of a_b ≪ λ")
    '50 \\% of a\\_b $\\ll$ $\\lambda$'
    """
    return _SIGN.sub(lambda found: _SIGNS[found.group()], text)


def _header(table: Table) -> list[str]:
    """Return the line of names, below one of groups if there are any."""
    names = [*table.index, *(column.name for column in table.columns)]
    line = _line([escaped(name) for name in names])
    if not any(column.group for column in table.columns):
        return [line]
    groups, rules, place = [""] * len(table.index), [], len(table.index) + 1
    for group, members in groupby(table.columns, key=lambda column: column.group):
        width = len(list(members))
        groups.append(rf"\multicolumn{{{width}}}{{c}}{{{escaped(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{place}-{place + width - 1}}}")
        place += width
    return [_line(groups), " ".join(rules), line]


def _body(table: Table) -> list[str]:
    """Return the rows, with a rule where a new group of rows or the summary begins."""
    lines: list[str] = []
    grouped = len(table.index) > 1
    last = ""
    for row in table.rows:
        group = "summary" if row.is_summary else row.labels[0] if grouped else ""
        if lines and group != last:
            lines.append(r"\midrule")
        # A group's name stands at its first row only.
        first = "" if grouped and lines and group == last else row.labels[0]
        last = group
        labels = [escaped(label) for label in (first, *row.labels[1:])]
        lines.append(_line([*labels, *map(_cell, row.cells)]))
    return lines


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    if cell.dagger:
        text += _SIGNS["†"]
    if cell.published is not None:
        text += f" ({escaped(cell.published.text)})"
    return MARK + text if cell.marked else text
