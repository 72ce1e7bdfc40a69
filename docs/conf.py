"""How the site is made of these pages: ``sphinx-build -W --keep-going docs build/site``."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import penstock

project = "Penstock"
version = release = penstock.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"Penstock {version}"
html_copy_source = False
html_show_copyright = False


def setup(app: Sphinx) -> None:
    """Pages of bytes, as the page about the format shows them, are plain text."""
    app.add_lexer("hex", TextLexer)
