"""Old spellings of settings that users type: still read, and reported once."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TypeVar

from engine.errors import ConfigError

REMOVED_IN = "0.3.0"
"""Release that no longer reads the old spellings."""

RENAMED = {
    "oversight": "blindness",
    "search.minimax_share": "search.minimax_weight",
    "search.choice_minimax_share": "search.final_minimax_weight",
    "search.rival_visits": "search.lcb_min_visit_ratio",
    "search.value_spread": "search.lcb_stdev",
    "clock.least_moves_to_go": "clock.min_moves_to_go",
    "clock.stretch": "clock.max_factor",
    "clock.least_factor": "clock.min_factor",
    "clock.calm": "clock.base",
    "clock.close": "clock.closeness",
    "clock.unrest": "clock.instability",
    "clock.fall": "clock.value_drop",
    "clock.decided": "clock.easy_move",
    "clock.kept_ms": "clock.reserve_ms",
}
"""New names by the old ones, as they are written in tengen.toml, --set and options of matches."""

_reported: set[str] = set()

T = TypeVar("T")


def with_new_names(settings: Mapping[str, T], prefix: str = "") -> dict[str, T]:
    """Return settings under their new names; report each old name once per process on standard error.

    Args:
        settings: values by name, without the prefix.
        prefix: "search.", "clock." or "".

    Raises:
        ConfigError: a setting is given by both names.
    """
    renamed: dict[str, T] = {}
    for name, value in settings.items():
        new = RENAMED.get(prefix + name, prefix + name)
        if new != prefix + name:
            _report(prefix + name, new)
        if new.removeprefix(prefix) in renamed:
            raise ConfigError(f"{new} is set twice, also by its old name")
        renamed[new.removeprefix(prefix)] = value
    return renamed


def _report(old: str, new: str) -> None:
    if old in _reported:
        return
    _reported.add(old)
    if sys.stderr is not None:
        print(f"note: {old} is called {new} now; {REMOVED_IN} no longer knows the old name", file=sys.stderr)
