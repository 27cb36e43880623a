"""Answers of the server to the page: every kind with its fields, made here and nowhere else.

An answer is a JSON object with `type`, `id` (of its request, 0: of none) and the fields below.
A text that players see comes with a `code`: the page shows `server.CODE` of its language with `values` in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.errors import EngineError, PositionError

ANSWERS: dict[str, tuple[str, ...]] = {
    # of the server
    "welcome": ("version", "engines", "levels", "sides", "rules", "brains"),
    "position": ("to_move", "over", "winner", "result", "ending", "five", "forbidden", "opening?"),
    "opened": ("width", "height", "rule", "names", "opening", "winner", "reason", "ended", "notes", "nodes"),
    "saved": ("text",),
    "refused": ("text", "code?", "values?"),
    "busy": ("text", "code", "values"),
    "lost": ("text", "code"),
    # of the engine process
    "ready": ("net",),
    "broken": ("text",),
    "trouble": ("text",),
    "alive": (),
    "idle": (),
    "move": ("point", "ms"),
    "swap2": ("swap", "points"),
    "analysis": (
        "to_move", "done", "thinking", "point", "wdl", "proven", "distance", "pv", "visits", "simulations",
        "speed", "depth", "depth_max", "elapsed_ms", "reason", "moves",
    ),
    "balanced": ("points", "score"),
    "threat": ("colour", "by", "distance", "line", "defences"),
    "judged": ("ply", "point", "before", "after", "fall", "mark", "best"),
    "reviewed": ("worst",),
}  # fmt: skip
"""Fields of every kind of answer; `?` marks those that may be missing."""
LAST = frozenset({"idle", "move", "swap2", "balanced", "reviewed", "refused"})
"""Answers of the engine process after which it has nothing to do."""

_KNOWN = {kind: {name.removesuffix("?") for name in fields} for kind, fields in ANSWERS.items()}
_NEEDED = {kind: {name for name in fields if name[-1] != "?"} for kind, fields in ANSWERS.items()}


def answer(kind: str, id: int, **fields: object) -> str:
    """Return an answer as text.

    Raises:
        ValueError: `ANSWERS` says otherwise.
    """
    _check(kind, fields)
    return json.dumps({"type": kind, "id": id, **fields}, separators=(",", ":"), allow_nan=False)


def refusal(error: EngineError, id: int) -> str:
    """Return the answer to a request that is refused for this reason."""
    if isinstance(error, PositionError) and error.code:
        return answer("refused", id, text=str(error), code=error.code, values=error.values)
    return answer("refused", id, text=str(error))


def _check(kind: str, fields: Mapping[str, object]) -> None:
    names = fields.keys()
    if kind not in ANSWERS or not _NEEDED[kind] <= names <= _KNOWN[kind]:
        raise ValueError(f"no answer of this form: {kind} with {', '.join(names)}")
