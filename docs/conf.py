"""How `make docs` builds the site: Markdown pages, reference from docstrings, and a gallery of executed examples."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
# the gallery's programs start `python -m nearsong`, which has to be this source too
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))

import typer  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from typer.cli import get_docs_for_click  # noqa: E402

import nearsong  # noqa: E402
from nearsong.cli import app as commands  # noqa: E402

project = "nearsong"
author = "nearsong contributors"
release = nearsong.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py"]
default_role = "code"
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc text says them, with shapes
numpydoc_show_class_members = False  # autodoc lists them

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,  # how long a page took is of no use to its reader
    "write_computation_times": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "nearsong"
html_sidebars = {page: [] for page in ["index", "start", "how-it-works", "results"]}
html_static_path = ["_static", "../src/nearsong/web/static/icon.svg"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sourcelink = False
html_favicon = "../src/nearsong/web/static/icon.svg"
html_theme_options = {
    "logo": {"text": "nearsong", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
    "navigation_with_keys": True,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}

README_PAGES = {"guides/README": "guides", "decisions/README": "decisions"}
"""Pages whose table of links is also the site's navigation: page -> folder."""


def write_commands(app: Sphinx) -> None:
    """Write the reference of the command line from its help texts."""
    command = typer.main.get_command(commands)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="nearsong", title="Command line")
    (ROOT / "docs" / "reference" / "commands.md").write_text(text, encoding="utf-8")


def add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Append a hidden table of contents, which has no business in a README that is read as it is."""
    if page in README_PAGES:
        pages = sorted(
            path.stem for path in (ROOT / "docs" / README_PAGES[page]).glob("*.md") if path.stem != "README"
        )
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def skip_inherited(app: Sphinx, kind: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if name.endswith("_request") else None


def setup(app: Sphinx) -> None:
    """Connect what is generated at build time."""
    app.connect("builder-inited", write_commands)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-skip-member", skip_inherited)
