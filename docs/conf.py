"""How Sphinx makes a site of the pages: `make docs`.

The source folder is the root of the repository, so that pages may refer to README.md and training/record.
Links to sources lead to the hosted repository where DOCS_REPOSITORY names one, else to copies of the files.
"""

import os
import re
from pathlib import PurePosixPath

from sphinx.application import Sphinx

project = "Tengen"
extensions = ["myst_parser"]
include_patterns = [
    "docs/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "training/RUNS.md", "training/record/*.md",
]  # fmt: skip
root_doc = "docs/index"
html_theme = "furo"
html_title = "Tengen"
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4
repository = os.environ.get("DOCS_REPOSITORY", "")
"""Address of the sources at a commit, as https://github.com/OWNER/NAME/blob/COMMIT; empty: none is known."""


def lead_to_sources(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn links to files that are no page into links to the hosted repository."""

    def replaced(match: re.Match[str]) -> str:
        path = PurePosixPath(os.path.normpath(PurePosixPath(docname).parent / match[1]))
        return f"]({repository}/{path})"

    if repository:
        suffixes = r"(?:py|pyx|pxd|h|toml|json|yml|txt)"
        source[0] = re.sub(rf"\]\(((?!\w+:)[^)#\s]+\.{suffixes})\)", replaced, source[0])


def setup(app: Sphinx) -> None:
    """Register the event handlers of this configuration."""
    app.connect("source-read", lead_to_sources)
