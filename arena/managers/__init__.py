"""Managers: how each starts a brain, what it sends, when its clock runs and which failures lose a game.

A manager is one file of this folder with one subclass of `Manager`; nothing else lists them. Their sources:
Piskvork, the official GomocupJudge, c-gomoku-cli and qpiskvork.
"""

from __future__ import annotations

import importlib
import pkgutil

from arena.managers.base import MANAGERS, Manager

__all__ = ["MANAGERS", "Manager", "manager_named"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def manager_named(name: str) -> type[Manager]:
    """Return a manager.

    Raises:
        ValueError: there is none of this name; the message lists them.
    """
    if name not in MANAGERS:
        raise ValueError(f"unknown manager {name!r}; known: {', '.join(MANAGERS)}")
    return MANAGERS[name]
