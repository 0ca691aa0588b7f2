"""The directive ``result-table``: rows of a committed table of results, taken by each build.

Pages quote measurements that way, so that no number is typed in. With ``sections`` and ``row``, the
row of that name of several sections, each named by its section; else one table, that of ``section``
or the first, and of it the ``rows`` whose first cells are given.
"""

import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

RULE = re.compile(r"^\|[\s:|-]+\|$")


def names(text: str | None) -> list[str]:
    """Return names that are separated by commas."""
    return [each.strip() for each in (text or "").split(",") if each.strip()]


class ResultTable(SphinxDirective):
    """Show a table, or a part of it, from a page of results."""

    required_arguments = 1
    option_spec: ClassVar = {
        "section": directives.unchanged,
        "rows": names,
        "sections": names,
        "row": directives.unchanged,
        "header": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        path, _ = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        self.env.note_reread()
        source = Path(self.env.srcdir, path).read_text("utf-8")
        if "sections" in self.options:
            parts = {name: table_of(source, name) for name in self.options["sections"]}
            header, rule, _ = next(iter(parts.values()))
            rows = [
                [name, *row[1:]]
                for name, (_, _, body) in parts.items()
                for row in chosen(body, [self.options["row"]])
            ]
        else:
            header, rule, body = table_of(source, self.options.get("section"))
            rows = chosen(body, self.options.get("rows"))
        if "header" in self.options:
            header = [self.options["header"], *header[1:]]
        lines = [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]
        return self.parse_text_to_nodes("\n".join(lines))


def table_of(source: str, section: str | None) -> tuple[list[str], list[str], list[list[str]]]:
    """Return header, rule and rows of the first table of a section."""
    if section is not None:
        # How many data sets a section is about stands behind its name.
        found = re.search(rf"^## {re.escape(section)}(?: \(\d+\))?$", source, re.MULTILINE)
        if found is None:
            raise ValueError(f"There is no section {section!r}")
        source = source[found.end() :]
    lines = source.splitlines()
    rule = next(n for n, line in enumerate(lines) if RULE.match(line))
    end = next((n for n in range(rule, len(lines)) if not lines[n].startswith("|")), len(lines))
    header, marks, *rows = (cells(line) for line in lines[rule - 1 : end])
    return header, marks, rows


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [each.strip() for each in line.strip().strip("|").split("|")]


def chosen(rows: list[list[str]], first: list[str] | None) -> list[list[str]]:
    """Return the rows whose first cell is one of these, which must exist; all if none is given."""
    missing = set(first or []) - {row[0] for row in rows}
    if missing:
        raise ValueError(f"There is no row {', '.join(sorted(missing))}")
    return [row for row in rows if not first or row[0] in first]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("result-table", ResultTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
