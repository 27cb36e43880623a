"""A session at the terminal: the loop of turns and commands."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence

from engine.errors import EngineError, PositionError
from engine.games.record import PASS
from engine.games.review import ReviewedMove
from engine.play.commands import THROWS_AWAY, Command, parse_command
from engine.play.game import COLOURS, Game
from engine.play.players import Players
from engine.play.screen import Screen, View
from engine.play.swap2 import OFFERED, Swap2
from engine.play.terminal import Lines
from engine.play.thinker import Thinker

THROW_HINT = "the game is not finished and not saved: `yes` drops it, anything else goes on"
NOTE_WIDTH = 32
"""Columns of a note (derived: the panel next to a 20x20 board on 80 columns)."""
COMMENT_LINES = 6
LEAVE_HINT = "leave? Ctrl-C again or `quit`; Enter goes on"


class Session:
    """The loop of one person's games."""

    def __init__(
        self,
        game: Game,
        players: Players,
        thinker: Thinker,
        screen: Screen,
        act: Callable[[Session, Command], None],
        *,
        check: Callable[[Session, Command], None] = lambda session, command: None,
        swap2: bool = False,
        from_bottom: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start with a game.

        Args:
            act: executes what the person typed, as `engine.play.actions.act`.
            check: refuses what `act` could not do, before the person is asked whether it may cost the game.
            swap2: whether that opening comes first.
            from_bottom: whether the person calls the lowest row 1.
        """
        self.game, self.players, self.thinker, self.screen = game, players, thinker, screen
        self.game.from_bottom = from_bottom
        self._act, self._check = act, check
        self.opening = Swap2() if swap2 else None
        self.paused = False
        self.leaving = False
        self.message, self.bad = "", False
        self.panel: Sequence[str] = ()
        self.hint: int | None = None
        self.page: Sequence[str] = ()
        """Lines that take the place of the board until the next command."""
        self.reviewed: Sequence[ReviewedMove] | None = None
        """Moves that a running review has evaluated so far."""
        self.spent_ms = 0.0
        """Time that the person took for the last line."""
        self.draw_offered: int | None = None
        """Moves after which one of two persons offered a draw."""
        self._sleep = sleep
        self._asked_to_leave = False
        self.saved: Sequence[int] = list(game.points)
        """The moves that are saved in a file, or were loaded from one."""
        self._doubted: Command | None = None

    # --- the loop -------------------------------------------------------------------------------------------

    def run(self, lines: Lines) -> int:
        """Play until the person leaves; return the exit status."""
        while not self.leaving:
            try:
                if self.engine_is_due:
                    self._engine_turn()
                else:
                    self._human_turn(lines)
            except EOFError:
                break
            except KeyboardInterrupt:
                if self._asked_to_leave:
                    break
                self._asked_to_leave = True
                self.say("" if self.engine_is_due else LEAVE_HINT)
                self.paused = self.paused or self.engine_is_due
            except EngineError as error:
                self.say(str(error), bad=True)
                self.paused = self.paused or self.engine_is_due  # or it would fail again at once
        self.screen.end()
        return 0

    @property
    def to_move(self) -> int:
        """Colour, or player of an opening, that is to act."""
        return self.opening.chooser if self.opening is not None else self.game.board.to_move

    @property
    def engine_is_due(self) -> bool:
        """Whether the engine has to act now."""
        return not (self.game.over or self.paused or self.to_move in self.players.humans)

    def say(self, text: str, *, bad: bool = False) -> None:
        """Set the message of the next drawing."""
        self.message, self.bad = text, bad

    @property
    def names(self) -> tuple[str, str]:
        """Names of black and white for records: a person goes by the name that the file has."""
        black, white = (
            self.game.players[colour] if colour in self.players.humans and self.game.players[colour]
            else self.players.name(colour)
            for colour in (0, 1)
        )  # fmt: skip
        return black, white

    def tell(self, text: str) -> None:
        """Set the message after a game was opened, with the notes of its reader."""
        tree = self.game.tree
        notes: list[str] = [] if tree is None else list(tree.record.notes)
        if self.game.ended is not None:
            text = f"{text}. {self.game.result} `undo` goes on with the game"
        hidden = 0 if tree is None else len(tree.nodes) - 1 - len(tree.record.points)
        if hidden:
            notes.append(f"{hidden} moves of variations are not shown; `save FILE.sgf` keeps them")
        if self.screen.redraws:
            self.panel = [line for note in notes for line in textwrap.wrap(note, NOTE_WIDTH)]
            self.say(text)
        elif notes or not self.game.over:
            self.say("; ".join([text, *notes]))

    def redraw(self) -> None:
        """Draw the screen."""
        if self.page:
            self.screen.text(self.page)
            return
        status = self.message or self._turn_text()
        panel = self.panel or self.default_panel()
        self.screen.draw(View(self.game, status, panel, self.hint, self.bad, bool(self.panel)))

    def tick(self, elapsed_s: float) -> None:
        """Show the time of a running search."""
        if self.reviewed is not None:
            total = len(self.game.points) - self.game.opening_stones
            self.screen.progress(f"looking back: {len(self.reviewed)} of {total} moves; Ctrl-C ends it")
        else:
            self.screen.progress(f"thinking {elapsed_s:.1f} s; Ctrl-C ends it")

    def default_panel(self) -> list[str]:
        """Return the players, size and rule, and the last moves."""
        board, players = self.game.board, self.players
        lines = [f"Tengen  {board.width}x{board.height} {self.game.rule_name}", ""]
        for colour in (0, 1):
            player = "you" if colour in players.humans else players.player(colour)
            if colour in players.humans and self.game.players[colour]:
                player = f"{player} ({self.game.players[colour]})"
            mark = ">" if colour == board.to_move and not self.game.over else " "
            stone = "" if self.screen.coloured else f" ({'XO'[colour]})"
            lines.append(f"{mark} {COLOURS[colour]}{stone}: {player}")
        if len(players.humans) < 2:
            lines.append(f"  {players.time_s:g} s a move at most")
        lines.append("")
        points, times = self.game.points, self.game.times_ms
        for ply in range(max(0, len(points) - 6), len(points)):
            spent = f"  {times[ply] / 1000:.1f} s" if ply >= self.game.opening_stones else ""
            move = self.game.name(points[ply])
            lines.append(f"{ply + 1:3d}. {COLOURS[ply % 2]} {move:<3}{spent}")
        words = textwrap.wrap(self.game.comment, NOTE_WIDTH, max_lines=COMMENT_LINES, placeholder=" …")
        return [*lines, "", *words, *[""][: len(words)], "`help` lists the commands"]

    def _turn_text(self) -> str:
        game = self.game
        if game.over:
            return f"{game.result} `new` plays again, `analyse all` looks back, `save FILE` keeps it."
        if self.opening is not None:
            return f"swap2: {self.opening.question}"
        side = COLOURS[game.board.to_move]
        if self.engine_is_due:
            player = self.players.player(game.board.to_move)
            now = "move now" if self.players.opponent_of(game.board.to_move) is None else "end it"
            return f"{side} ({player}) thinks; Ctrl-C: {now}"
        if game.board.to_move not in self.players.humans:
            return f"Paused, {side} ({self.players.player(game.board.to_move)}) to move; `go` plays on."
        return f"Your move, {side}."

    # --- turns ----------------------------------------------------------------------------------------------

    def _human_turn(self, lines: Lines) -> None:
        self.redraw()
        began_s = time.monotonic()
        prompt = "" if self.game.over else "swap2" if self.opening is not None else COLOURS[self.to_move]
        text = lines.read(f"{prompt}> ")
        self.spent_ms = 1000 * (time.monotonic() - began_s)
        self._asked_to_leave = False
        self.message, self.bad = "", False
        if self.page:
            self.page = ()
            if not text.strip():
                return
        board = self.game.board
        doubted, self._doubted = self._doubted, None
        command = parse_command(text, board.width, board.height, from_bottom=self.game.from_bottom)
        self.hint = None
        if command.name != "board":
            self.panel = ()
        if doubted is not None and (command.name == "yes" or command == doubted):
            command = doubted
        elif doubted is not None and command.name == "no":
            return
        elif command.name in THROWS_AWAY and lines.interactive and self._would_lose(command):
            self._check(self, command)
            self._doubted = command
            self.say(THROW_HINT)
            return
        self._act(self, command)

    def _would_lose(self, command: Command) -> bool:
        """Return whether a command drops moves of the person that are not saved."""
        game = self.game
        if command.name in ("size", "rule", "load") and not command.argument:
            return False
        own = [ply for ply in range(game.opening_stones, len(game.points)) if ply % 2 in self.players.humans]
        return bool(own) and not game.over and list(self.saved) != game.points

    def _engine_turn(self) -> None:
        self.redraw()
        if self.opening is not None:
            self._engine_opens(self.opening)
            return
        game, watching = self.game, not self.players.humans
        colour = game.board.to_move
        point, elapsed_s, interrupted = self._point_of(colour)
        self.screen.clear_progress()
        game.play(point, 1000 * elapsed_s)
        self.panel, self.hint = (), None
        where = game.name(point)
        if not game.over and not watching:
            opponent = self.players.opponent_of(colour)
            remark = f" ({opponent.remark})" if opponent is not None and opponent.remark else ""
            self.say(f"{COLOURS[colour]} plays {where}{remark}. Your move, {COLOURS[game.board.to_move]}.")
        if watching:
            if interrupted:
                self.paused = True
                self.say(f"Paused after {COLOURS[colour]} {where}; `go` plays on.")
            elif not game.over and self.screen.redraws:
                self.redraw()
                self._sleep(self.players.delay_s)

    def _point_of(self, colour: int) -> tuple[int, float, bool]:
        """Return the move of the engine or the other program, its seconds, and whether Ctrl-C ended it."""
        game, players = self.game, self.players
        opponent = players.opponent_of(colour)
        if opponent is None:
            thought = self.thinker.move(game, players.levels[colour], players.time_s)
            return thought.value.point, thought.elapsed_s, thought.interrupted
        moved = self.thinker.watched(lambda stop: opponent.move(game, players.time_s, stop))
        return moved.value, moved.elapsed_s, moved.interrupted

    def _engine_opens(self, opening: Swap2) -> None:
        """Answer the query of swap2 for the engine."""
        game, side = self.game, opening.chooser
        thought = self.thinker.swap2(game, self.players.levels[side], self.players.time_s)
        self.screen.clear_progress()
        answer = thought.value
        if opening.may_choose:
            colour = 0 if answer == "SWAP" else 1
            self.take_colour(colour)
            self.say(f"the engine takes {COLOURS[colour]}")
            if answer != "SWAP":
                game.play(int(answer[0]), 1000 * thought.elapsed_s)
                self.say(f"the engine takes white and plays {self.game.name(int(answer[0]))}")
        else:
            self.put_opening([int(point) for point in answer])
            stones = self.game.names(self.game.points)
            self.say(f"the engine puts {stones}; {opening.question}")

    def put_opening(self, points: Sequence[int]) -> None:
        """Put stones of a swap2 opening.

        Raises:
            PositionError: one cannot be put; none is.
        """
        assert self.opening is not None
        trial = Game.from_record(self.game.record(("", "")))
        trial.from_bottom = self.game.from_bottom
        for point in points:
            trial.play(point)
        trial.opening_stones = len(trial.points)
        self.game = trial
        self.opening.stones = len(trial.points)

    def take_colour(self, colour: int) -> None:
        """End the swap2 opening: the player that chooses takes a colour."""
        assert self.opening is not None
        if colour != self.opening.chooser:
            self.players.exchange()
        self.opening = None

    def play_points(self, points: Sequence[int]) -> None:
        """Play the person's moves, also in an opening.

        Raises:
            PositionError: they cannot be played; nothing changed.
        """
        opening = self.opening
        if opening is not None and PASS in points:
            raise PositionError("nobody passes in an opening")
        if opening is not None and (opening.stones < OFFERED or len(points) == 2):
            if len(points) > opening.most():
                raise PositionError(f"that is too many; {opening.question}")
            self.put_opening(points)
            return
        if len(points) != 1:
            raise PositionError("one move at a time")
        self.game.play(points[0], self.spent_ms)
        if opening is not None:
            self.take_colour(1)  # the player that moves for white has taken white
        self.paused = False

    def start(self, game: Game, *, swap2: bool = False) -> None:
        """Start another game of the same players.

        Raises:
            PositionError: a swap2 opening against another program, which may not support it.
        """
        if swap2 and self.players.opponent is not None:
            raise PositionError(f"swap2 is for games against Tengen, not {self.players.opponent.name}")
        game.from_bottom = self.game.from_bottom
        self.game, self.opening, self.paused = game, Swap2() if swap2 else None, False
        self.draw_offered = None
        self.saved = list(game.points)
        self.panel, self.hint, self.page = (), None, ()
