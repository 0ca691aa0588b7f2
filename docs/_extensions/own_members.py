"""API pages list what truemix defines: not what scikit-learn adds to each estimator."""

from typing import Any

from sphinx.application import Sphinx


def skip(app: Sphinx, kind: str, name: str, member: Any, skipped: bool, options: Any) -> bool:
    """Leave out the methods of scikit-learn's metadata routing, which quantifiers do not use."""
    request = name.startswith("set_") and name.endswith("_request")
    return skipped or request or name == "get_metadata_routing"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the rule."""
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
