"""Errors that the engine raises. Each message says what to do."""

from __future__ import annotations


class EngineError(Exception):
    """Base of every error that the engine raises on purpose."""


class NetError(EngineError):
    """The net file is missing, damaged, no net of Tengen, or of another feature version."""


class ConfigError(EngineError, ValueError):
    """A configuration key is unknown or its value is out of range."""


class PositionError(EngineError, ValueError):
    """A position or move is impossible: off the board, on a taken point, of an unknown colour or size.

    Attributes:
        code: kind of the fault, for programs that say it in other languages; empty: none.
        values: what such a text needs, by name.
    """

    def __init__(self, text: str, /, *, code: str = "", **values: object) -> None:
        """Say what is wrong in one line of English, and as a code with values."""
        super().__init__(text)
        self.code, self.values = code, values
