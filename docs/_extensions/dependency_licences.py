"""The directive ``dependency-licences``: what truemix installs and its extras, with licences.

Names, versions and licences are those of the environment that builds the site.
"""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution

from docutils import nodes
from packaging.requirements import Requirement
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

EXTRAS = ("", "pandas", "plot", "arviz", "nuts", "dask")
LONGEST = 60


class DependencyLicences(SphinxDirective):
    """Show a table of all packages, direct and indirect."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = ["| package | version | licence | needed for |", "|---|---|---|---|"]
        for name, extra in sorted(needed().items()):
            found = distribution(name)
            title = found.metadata["Name"]
            what = f"extra `{extra}`" if extra else "truemix"
            lines.append(f"| {title} | {found.version} | {licence_of(name)} | {what} |")
        return self.parse_text_to_nodes("\n".join(lines))


def needed() -> dict[str, str]:
    """Return every package that is needed, and the first extra that needs it."""
    found: dict[str, str] = {}
    for extra in EXTRAS:
        waiting = list(requirements("truemix", extra))
        while waiting:
            name = waiting.pop()
            if name not in found and name != "truemix":
                found[name] = extra
                waiting += requirements(name, "")
    return found


def requirements(name: str, extra: str) -> Iterator[str]:
    """Yield what a package needs here, with an extra of it; what is not installed is not needed."""
    for text in distribution(name).requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        own = marker is None or marker.evaluate({"extra": ""})
        if own if not extra else (not own and marker.evaluate({"extra": extra})):
            try:
                yield distribution(requirement.name).metadata["Name"].lower().replace("_", "-")
            except PackageNotFoundError:
                continue


def licence_of(name: str) -> str:
    """Return the licence as the package states it, in a few words."""
    metadata = distribution(name).metadata
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier") or []
        if each.startswith("License ::") and not each.endswith("OSI Approved")
    ]
    stated = re.split(r"\n", (metadata["License"] or "").strip())[0]
    licence = metadata["License-Expression"] or "; ".join(classifiers) or stated
    if not licence:
        raise ValueError(f"{name} states no licence")
    return licence if len(licence) <= LONGEST else f"{licence[:LONGEST]}…"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("dependency-licences", DependencyLicences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
