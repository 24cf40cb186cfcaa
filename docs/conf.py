"""Sphinx: `python -m sphinx -E -W -b html docs docs/_build`. Builds offline."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "reinstate"
author = "The reinstate authors"
copyright = author
release = version = version_of("reinstate")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "docstrings",
    "results",
]
exclude_patterns = ["_build", "_ext", "_templates", "jupyter_execute"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "reinstate"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_js_files = ["page.js"]
html_math_renderer = "mathml"  # MathJax would be fetched from elsewhere
myst_enable_extensions = ["dollarmath"]
myst_update_mathjax = False
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"  # of a Python session, what was typed
nb_execution_mode = "off"  # notebooks are committed with what they show: `make notebooks-write`

# A reference to something of this package that is not there is a mistake; types of others are not.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!reinstate\.).*"),
    ("py:class", r"reinstate\..*\.[A-Z]"),  # type variables
]

smartquotes_action = "qe"  # quotes and ellipses; dashes stay, since options begin with two
highlight_language = "text"
default_role = "literal"  # what docstrings put between single backticks is code
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "special-members": "__call__",
}
autodoc_mock_imports = [
    "gymnasium",
    "stable_baselines3",
    "stoa",
    "torch",
]  # pages are built without them
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"


def name_levels(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the sidebar's captions the level that headings by role have to have."""
    tree = context.get("furo_navigation_tree")
    if tree:
        context["furo_navigation_tree"] = tree.replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )


def setup(app: Any) -> None:
    app.connect("html-page-context", name_levels, priority=900)  # after furo's own
