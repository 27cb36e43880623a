"""The screen: the board with its coordinates, a panel next to it, one line of status. Uses rich.

On a terminal the screen is drawn anew; elsewhere (a pipe, a file) plain text follows plain text. A 20x20
board takes 23 lines with status and prompt, and 80 columns with the panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from engine.games.positions import draw
from engine.play.game import Game
from engine.rules._board import EMPTY

MIN_PANEL = 24
"""Narrower panels go below the board (derived: a move with its figures)."""
GAP = 3
_LABEL = 4  # columns of a row number

_WOOD = "on #d7a860"
_STYLES = {0: f"bold #000000 {_WOOD}", 1: f"bold #ffffff {_WOOD}", "dot": f"#8f6a36 {_WOOD}"}
_LAST = "on #c0392b"
_HINT = "bold #ffffff on #1e8449"
_FOE = f"bold #c0392b {_WOOD}"  # points that are forbidden


@dataclass(slots=True)
class View:
    """Everything that is on the screen."""

    game: Game
    status: str = ""
    panel: Sequence[str] = field(default_factory=tuple)
    hint: int | None = None
    bad: bool = False
    """Whether the status tells of something refused."""
    panel_asked_for: bool = True
    """Whether a command filled the panel."""


class Screen:
    """Draws views on one console."""

    def __init__(self, console: Console, *, ascii_only: bool = False) -> None:
        """Take a console; stones are letters where it cannot show others, or `ascii_only` asks for them."""
        self.console = console
        self.redraws = console.is_terminal and not console.is_dumb_terminal
        self.coloured = self.redraws and not console.no_color and console.color_system is not None
        self._progress = False
        self._appended: tuple[int, int, tuple[int, ...]] | None = None
        try:
            "●·×…".encode(console.encoding)
        except (LookupError, UnicodeEncodeError):
            ascii_only = True
        self._stones = "XO" if ascii_only else "●●"
        self._dot, self._cross = (".", "x") if ascii_only else ("·", "×")

    def draw(self, view: View) -> None:
        """Replace the screen by a view; without a terminal, print what is new in it."""
        self._progress = False
        if not self.redraws:
            self._append(view)
            return
        lines = self._board_lines(view) if self.coloured else self._plain_lines(view)
        height, width = self.console.height, self.console.width
        left = max(line.cell_len for line in lines)
        panel = [Text(text) for text in view.panel]
        if width - left - GAP >= MIN_PANEL:
            room = width - left - GAP - 1
            lines += [Text(" " * left) for _ in range(min(len(panel), height - 2) - len(lines))]
            for line, note in zip(lines, panel, strict=False):
                note.truncate(room, overflow="crop")
                line.pad_right(left - line.cell_len + GAP)
                line.append_text(note)
            panel = []
        elif not view.panel_asked_for:
            panel = []
        if len(lines) + len(panel) + 2 > height:
            lines = lines[1:]  # rather the column letters than a row
        self.console.control(Control.clear(), Control.home())
        status = Text(view.status, style="bold red" if view.bad and self.coloured else "")
        for line in [*lines, *panel, status]:
            line.truncate(width - 1, overflow="crop")
            self._print(line)

    def _append(self, view: View) -> None:
        """Write the board where it changed, the panel where it was asked for, and the status."""
        state = (view.game.board.width, view.game.board.height, tuple(view.game.points))
        if state != self._appended:
            self._appended = state
            for row in _drawn(view.game):
                self._print(Text(row))
        for note in view.panel if view.panel_asked_for else ():
            self._print(Text(note))
        self._print(Text(view.status))

    def _print(self, line: Text, end: str = "\n") -> None:
        self.console.print(line, end=end, no_wrap=True, crop=False, overflow="ignore", highlight=False)

    def text(self, lines: Sequence[str]) -> None:
        """Show lines instead of the board."""
        if self.redraws:
            self.console.control(Control.clear(), Control.home())
        for line in lines:
            self._print(Text(line))

    def progress(self, text: str) -> None:
        """Show progress in the line of the prompt; nothing where the screen is not redrawn."""
        if self.redraws:
            self.clear_progress()
            self._print(Text(text[: self.console.width - 1]), end="")
            self.console.file.flush()
            self._progress = True

    def clear_progress(self) -> None:
        """Clear what `progress` showed."""
        if self._progress:
            self.console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
            self._progress = False

    def end(self) -> None:
        """Leave the terminal with the cursor on a fresh line."""
        self.clear_progress()
        if self.redraws:
            self.console.print()

    def _plain_lines(self, view: View) -> list[Text]:
        return [Text(line) for line in _drawn(view.game)]

    def _board_lines(self, view: View) -> list[Text]:
        game, board = view.game, view.game.board
        step = 2 if _LABEL + 2 * board.width <= self.console.width else 1
        letters = (" " * (step - 1)).join(chr(ord("a") + x) for x in range(board.width))
        lines = [Text(" " * _LABEL + letters)]
        forbidden = set() if game.over else set(board.forbidden_points(board.to_move))
        for y in range(board.height):
            line = Text(f"{board.height - y if game.from_bottom else y + 1:3d}").append(" ", _WOOD)
            for x in range(board.width):
                point = y * board.width + x
                line.append(*self._cell(view, point, forbidden))
                if step == 2:
                    line.append(" ", _WOOD)
            lines.append(line)
        return lines

    def _cell(self, view: View, point: int, forbidden: set[int]) -> tuple[str, str]:
        colour = view.game.board.cell(point)
        if colour == EMPTY:
            if point == view.hint:
                return "+", _HINT
            if point in forbidden:
                return self._cross, _FOE
            return self._dot, _STYLES["dot"]
        style = _STYLES[colour]
        if point == view.game.last:
            style = style.replace(_WOOD, _LAST)
        return self._stones[colour], style


def columns(entries: Sequence[str], width: int) -> list[str]:
    """Lay short lines out in columns, filled from the top, as many as fit."""
    if not entries:
        return []
    cell = max(len(entry) for entry in entries) + 3
    count = max(1, (width + 2) // cell)
    rows = -(-len(entries) // count)
    return ["".join(entry.ljust(cell) for entry in entries[row::rows]).rstrip() for row in range(rows)]


def _drawn(game: Game) -> list[str]:
    return draw(game.board, game.last, from_bottom=game.from_bottom).splitlines()
