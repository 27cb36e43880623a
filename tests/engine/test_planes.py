"""The one list of planes: what is generated from it, and the pairs that the kernel counts on."""

from __future__ import annotations

import re

from engine.encoding import FEATURE_VERSION, N_PLANES, PLANES_OF
from engine.planes import ADDED, Plane, c_header, cython_header
from tests.helpers.paths import ROOT

ENGINE = ROOT / "engine"


def test_the_generated_headers_are_up_to_date() -> None:
    assert (ENGINE / "planes.h").read_text(encoding="utf-8") == c_header()
    assert (ENGINE / "planes.pxd").read_text(encoding="utf-8") == cython_header()


def test_planes_are_numbered_without_gaps_and_pairs_are_neighbours() -> None:
    assert [int(plane) for plane in Plane] == list(range(N_PLANES))
    for plane in Plane:
        if plane.name.startswith("OWN_") and plane is not Plane.OWN_IS_BLACK:
            assert Plane[plane.name.replace("OWN_", "OTHER_")] == plane + 1


def test_older_versions_are_as_they_were() -> None:
    assert {1: (*range(14), *range(16, 22)), 2: tuple(range(23))} == PLANES_OF
    assert set(ADDED) == {FEATURE_VERSION}


def test_the_kernel_has_no_numbers_of_planes() -> None:
    source = (ENGINE / "_encoding.pyx").read_text(encoding="utf-8")
    assert not re.search(r"\b[0-9]+ \* n\b|\([0-9]+ \+ side\)", source)
