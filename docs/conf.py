"""How Sphinx makes the site: ``make docs``."""

import sys
from pathlib import Path

from truemix import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "truemix"
author = "The truemix developers"
copyright = "2026, the truemix developers"  # noqa: A001
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "command_reference",
    "dependency_licences",
    "local_math",
    "own_members",
    "result_table",
]
exclude_patterns = ["_*"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"truemix {release}"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "truemix"},
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_prev_next": True,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
# The first page has no neighbours to list.
html_sidebars = {"index": []}

# Options are typed with two hyphens, not with a dash.
smartquotes = False

copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_exclude = ".linenos, .gp, .go"
