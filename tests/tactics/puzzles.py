"""The puzzles of the board's page: a selection of the suite, from easy to hard.

    python -m tests.tactics.puzzles > board/static/puzzles.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.rules.geometry import parse_moves

SUITE = Path(__file__).with_name("suite.jsonl")
PER_KIND = 4
"""Puzzles of one rule and theme at most."""
MAX_GOOD = 3
"""More good moves than this make no puzzle."""
MIN_DISTANCE = 5
"""A shorter win is seen at once."""


def select() -> list[dict[str, Any]]:
    """Return the puzzles with points for moves: evenly spread over rules, themes and distances."""
    kinds: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for line in SUITE.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        width, height = entry["width"], entry["height"]
        good = parse_moves(entry["good"], width, height)
        if entry["edge"] or len(good) > MAX_GOOD or entry["distance"] < MIN_DISTANCE:
            continue
        moves = parse_moves(entry["moves"], width, height)
        if len(moves) > width * height // 4:
            continue  # more stones than a person looks through
        found = {"id": entry["id"], "rule": entry["rule"], "width": width, "height": height, "moves": moves,
                 "goal": entry["goal"], "good": good, "distance": entry["distance"]}  # fmt: skip
        kinds.setdefault((entry["rule"], entry["theme"]), []).append(found)
    chosen: list[dict[str, Any]] = []
    for entries in kinds.values():
        entries.sort(key=lambda entry: (entry["distance"], entry["id"]))
        count = min(PER_KIND, len(entries))
        chosen += [entries[i * (len(entries) - 1) // max(1, count - 1)] for i in range(count)]
    chosen.sort(key=lambda entry: (entry["distance"], len(entry["moves"]), entry["id"]))
    return [{name: value for name, value in entry.items() if name != "distance"} for entry in chosen]


def text() -> str:
    """Return the content of the file, a puzzle a line."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in select())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    print(text(), end="")
