"""What the tests of the terminal game share: games and screens."""

from __future__ import annotations

import io

from rich.console import Console

from engine import Rule
from engine.play.game import Game
from engine.play.screen import Screen
from engine.rules.geometry import parse_moves


def game_of(moves, width=15, height=15, rule=Rule.FREESTYLE):
    game = Game(width, height, rule)
    for point in parse_moves(moves, width, height):
        game.play(point)
    return game


def screen_of(width=80, height=24, *, terminal=True, **options):
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=width, height=height, legacy_windows=False,
        color_system="256" if terminal else None, _environ={"TERM": "xterm-256color"}, **options,
    )  # fmt: skip
    return Screen(console), out
