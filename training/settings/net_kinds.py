"""Kinds of nets: of what each is made, and what runs it.

A new kind is an entry here, and its C if the kernel runs it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NetKind:
    """One kind.

    Attributes:
        name: as `learner.net.kind` names it.
        about: what it is, for the reference of settings.
        shape: the same for a card, with places for `blocks` and `channels`.
        line_stem: whether a table of lines is the first layer, in place of a 5x5 convolution of planes.
        light: whether blocks have a depthwise 3x3 and a 1x1 convolution, in place of two full 3x3 ones.
        kernel: whether the engine's kernel computes it, and the passes of `training.net.trunk` learn it; such
            a net may see cells near stones only (`margin`), and its file has 8-bit products.
        int8: whether an int8 file is made of it.
        grows_into: other kinds that compute what it computes, with more weights; see `training.net.grow`.
    """

    name: str
    about: str
    shape: str
    line_stem: bool = False
    light: bool = False
    kernel: bool = False
    int8: bool = False
    grows_into: tuple[str, ...] = ()


_ALL = (
    NetKind(
        "tower", "a residual tower", "{blocks} blocks x {channels} channels", int8=True,
    ),
    NetKind(
        "lines", "a table of lines with light blocks, better on a CPU",
        "table of lines, {blocks} light blocks x {channels} channels",
        line_stem=True, light=True, kernel=True, grows_into=("line-tower",),
    ),
    NetKind(
        "line-tower", "that table under a residual tower, as a teacher of line nets",
        "table of lines, {blocks} blocks x {channels} channels", line_stem=True,
    ),
)  # fmt: skip
NET_KINDS = {kind.name: kind for kind in _ALL}
"""By name."""


def kinds_text() -> str:
    """Return all kinds in a line."""
    return "; ".join(f"`{kind.name}`, {kind.about}" for kind in _ALL)
