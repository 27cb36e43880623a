"""The input planes of nets, in order. `setup.py` writes this list as `planes.h` and `planes.pxd`.

OWN is the side to move. Planes of a pair, OWN_x and OTHER_x, are neighbours. `engine.encoding` explains when
a plane holds 1.
"""

from __future__ import annotations

import enum


class Plane(enum.IntEnum):
    """Index of a plane."""

    USABLE = 0
    OWN_STONE = 1
    OTHER_STONE = 2
    OWN_FIVE = 3
    OTHER_FIVE = 4
    OWN_OPEN_FOUR = 5
    OTHER_OPEN_FOUR = 6
    OWN_FOUR = 7
    OTHER_FOUR = 8
    OWN_OPEN_THREE = 9
    OTHER_OPEN_THREE = 10
    OWN_FORK = 11
    OTHER_FORK = 12
    BLACK_FORBIDDEN = 13
    THREAT_MOVE = 14
    THREAT_DEFENCE = 15
    OWN_IS_BLACK = 16
    OWN_EXACT = 17
    OTHER_EXACT = 18
    OWN_RESTRICTED = 19
    OTHER_RESTRICTED = 20
    BLOCKED_FIVES = 21
    THREATENED = 22


ADDED = {2: (Plane.THREAT_MOVE, Plane.THREAT_DEFENCE, Plane.THREATENED)}
"""Planes that a version of the planes added; version 1 had all others."""


def c_header() -> str:
    """Return the list as a C header."""
    lines = "".join(f"    PLANE_{plane.name} = {plane.value},\n" for plane in Plane)
    return (
        "/* Written by setup.py from planes.py. */\n#ifndef TENGEN_PLANES_H\n#define TENGEN_PLANES_H\n\n"
        f"enum {{\n{lines}    PLANE_COUNT = {len(Plane)}\n}};\n\n"
        "/* Fails to compile if the condition is false; C99 as well. */\n"
        "#define TENGEN_STATIC_ASSERT(name, condition) "
        "typedef char tengen_assert_##name[(condition) ? 1 : -1]\n"
        "\n#endif\n"
    )


def cython_header() -> str:
    """Return the list as a Cython declaration of `planes.h`."""
    lines = "".join(f"        PLANE_{plane.name}\n" for plane in Plane)
    return (
        "# cython: language_level=3\n# Written by setup.py from planes.py.\n"
        f'cdef extern from "planes.h" nogil:\n    enum:\n{lines}        PLANE_COUNT\n'
    )
