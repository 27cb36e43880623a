"""Tengen's engine: everything that is needed to choose a move.

Public names load on first use, since a brain must answer within a fraction of a second of its start.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.config import EngineConfig
    from engine.engine import Engine
    from engine.errors import ConfigError, EngineError, NetError, PositionError
    from engine.rules._board import Board
    from engine.rules.rule import Rule
    from engine.search.result import SearchResult
    from engine.timing.budget import SearchLimits

_MODULES = {
    "Engine": "engine.engine",
    "EngineConfig": "engine.config",
    "SearchLimits": "engine.timing.budget",
    "SearchResult": "engine.search.result",
    "Rule": "engine.rules.rule",
    "Board": "engine.rules._board",
    "EngineError": "engine.errors",
    "NetError": "engine.errors",
    "ConfigError": "engine.errors",
    "PositionError": "engine.errors",
}

__all__ = [
    "Board",
    "ConfigError",
    "Engine",
    "EngineConfig",
    "EngineError",
    "NetError",
    "PositionError",
    "Rule",
    "SearchLimits",
    "SearchResult",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
