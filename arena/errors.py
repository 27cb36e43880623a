"""Failures of players, as exceptions."""

from __future__ import annotations


class BrainFailureError(Exception):
    """A brain that broke the rules of the conversation and loses its game.

    Attributes:
        kind: "start", "time", "illegal", "forbidden", "crash" or "stray line".
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class BrainGoneError(BrainFailureError):
    """The process ended, or closed its output, while something was expected of it."""

    def __init__(self, text: str) -> None:
        super().__init__("crash", text)
