"""The source distribution: `MANIFEST.in` names all that the kernel is compiled from."""

import re

from tests.helpers.paths import ROOT


def test_the_source_distribution_holds_the_sources_of_the_kernel() -> None:
    text = (ROOT / "MANIFEST.in").read_text("utf-8")
    lines = re.findall(r"^recursive-include (\S+) (.+)$", text, re.MULTILINE)
    taken = {(folder, pattern) for folder, patterns in lines for pattern in patterns.split()}
    packages = ("engine", "protocol", "board", "arena", "training", "tengen")
    needed = {
        (package, f"*{path.suffix}")
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".pyx", ".pxd", ".h")
    }
    assert needed and needed <= taken
