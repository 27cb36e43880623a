"""What each command does to a session."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.commands.charset import detector
from engine.commands.options import parse_rule, parse_size
from engine.errors import PositionError
from engine.games.files import load_tree, save_game
from engine.games.review import ReviewedMove, line_of, worst
from engine.levels import STRONGEST, WEAKEST
from engine.play.commands import HELP, Command
from engine.play.game import COLOURS, Game
from engine.play.players import HUMANS
from engine.play.screen import columns
from engine.rules.rule import Rule
from engine.search.result import MoveStats

if TYPE_CHECKING:
    from engine.play.session import Session

SHOWN_MOVES = 8
"""Moves of an analysis (derived: what fits next to a 15x15 board with its line)."""
LINE_MOVES = 6
"""Moves of a line (derived: as above)."""
LONGEST_S = 3600.0
SHORTEST_S = 0.05
REVIEW_SHARE = 0.25
"""Time for each position of `analyse all`, of the time for a move (derived: a game has some fifty)."""

DRAW_S = 1.0
"""Longest search for an offered draw, seconds."""
WORSE = 0.4
"""Expected score below which the engine takes any draw (as board/static/offers.js)."""
DRAWN, EVEN = 0.4, 0.55
"""Smallest probability of a draw, and largest expected score, with which the engine agrees to one."""

_NUMBERS = re.compile(r"[\s,]+")


def play(session: Session, command: Command) -> None:
    """Put a stone, or the stones of an opening."""
    session.play_points(command.points)


def nothing(session: Session, command: Command) -> None:
    """Draw the board again."""


def show_help(session: Session, command: Command) -> None:
    """List the commands next to the board."""
    session.panel = [f"{usage:<12} {what}" for usage, what in HELP]


def hint(session: Session, command: Command) -> None:
    """Mark the move that the engine would play at full strength."""
    _must_go_on(session)
    thought = session.thinker.analyse(session.game, session.players.time_s, 1)
    session.screen.clear_progress()
    move = thought.value.candidates[0]
    session.hint = move.point
    where = session.game.name(move.point)
    session.say(f"hint: {where} ({_judgement(move)})")


def analyse(session: Session, command: Command) -> None:
    """Show the best moves with visits, win rate and line."""
    _must_go_on(session)
    time_s = parse_seconds(command.argument) if command.argument else session.players.time_s
    thought = session.thinker.analyse(session.game, time_s, SHOWN_MOVES)
    session.screen.clear_progress()
    result, name = thought.value, session.game.name
    moves = [m for m in result.candidates if m.visits or m.proven][:SHOWN_MOVES] or result.candidates[:1]
    session.panel = [
        f"{COLOURS[session.game.board.to_move]} to move, {result.simulations} simulations",
        "",
        "move  visits    win  line",
        *(
            f"{name(m.point):<4}{m.visits:>8}  {_judgement(m):>5}  {session.game.names(m.pv[:LINE_MOVES])}"
            for m in moves
        ),
        "",
        f"depth {result.depth_mean:.0f}, {result.depth_max} at most; {thought.elapsed_s:.1f} s",
    ]
    session.say(f"analysis: {name(moves[0].point)} ({_judgement(moves[0])})")


def review_game(session: Session, command: Command) -> None:
    """Review the game so far and show the moves that lost the most expected score.

    Raises:
        PositionError: there is no move yet; the message is one line.
    """
    game = session.game
    if len(game.points) <= game.opening_stones:
        raise PositionError("no moves to review yet")
    reviewed: list[ReviewedMove] = []
    session.reviewed = reviewed
    time_s = max(SHORTEST_S, REVIEW_SHARE * session.players.time_s)
    try:
        thought = session.thinker.review(game, time_s, reviewed.append)
    finally:
        session.reviewed = None
    session.screen.clear_progress()
    size = (game.board.width, game.board.height if game.from_bottom else None)
    entries = [line_of(move, *size) for move in thought.value]
    page = ["Black's win rate after each move (X black, O white); ? mistake, ?? blunder", ""]
    page += columns([entry.split(",")[0] for entry in entries], session.screen.console.width - 1)
    page.append("")
    for move in worst(thought.value):
        page.append(f"{COLOURS[move.colour]} lost most with {line_of(move, *size).strip()}")
    if thought.interrupted:
        page.append(f"(stopped after move {thought.value[-1].ply + 1})" if thought.value else "(stopped)")
    session.page = [*page, "Enter goes back to the board."]


def undo(session: Session, command: Command) -> None:
    """Take back to before the person's last move; without a person, one move."""
    game, humans = session.game, session.players.humans
    session.draw_offered = None
    if game.ended is not None:
        game.undo()
        session.paused = session.engine_is_due
        return
    if session.opening is not None and game.points:
        raise PositionError("the opening stays; `new` starts again")
    plies = range(game.opening_stones, len(game.points))
    own = [ply for ply in plies if not humans or ply % 2 in humans]
    if not own:
        raise PositionError("you have no move to take back")
    while len(game.points) > own[-1]:
        game.undo()
    session.paused = not humans


def set_level(session: Session, command: Command) -> None:
    """Set the engine's level, for both colours or for each."""
    if not command.argument:
        session.say(f"levels: black {session.players.levels[0]}, white {session.players.levels[1]}")
        return
    session.players.levels = parse_levels(command.argument)
    session.say(f"levels: black {session.players.levels[0]}, white {session.players.levels[1]}")


def set_time(session: Session, command: Command) -> None:
    """Set the time of a move."""
    if command.argument:
        session.players.time_s = parse_seconds(command.argument)
    session.say(f"{session.players.time_s:g} seconds a move at most")


def set_colour(session: Session, command: Command) -> None:
    """Set which colours the person plays."""
    if session.opening is not None:
        raise PositionError("colours are chosen by the opening; type `black` or `white` when asked")
    if command.argument.lower() not in HUMANS:
        raise PositionError("colour needs black, white, both or none")
    session.players.humans = HUMANS[command.argument.lower()]
    session.paused = False


def take(session: Session, command: Command) -> None:
    """Take a colour in the swap2 opening."""
    if session.opening is None or not session.opening.may_choose:
        raise PositionError(f"{command.name} is an answer to swap2; `colour {command.name}` changes sides")
    session.take_colour(COLOURS.index(command.name))


def go_on(session: Session, command: Command) -> None:
    """Continue the game after a pause."""
    if session.game.over:
        raise PositionError("the game is over; `new` starts another")
    session.paused = False
    if not session.engine_is_due:
        raise PositionError("it is your move; `hint` shows one")


def save(session: Session, command: Command) -> None:
    """Write the game to a file."""
    if not command.argument:
        raise PositionError(f"{command.name} needs a file name that ends in .psq or .sgf")
    path = Path(command.argument).expanduser()
    overwrite = command.name == "save!"
    try:
        save_game(path, session.game.saved(session.names), overwrite=overwrite)
    except PositionError as error:
        more = "; `save! FILE` replaces it" if "exists already" in str(error) else ""
        raise PositionError(f"{error}{more}") from error
    session.saved = list(session.game.points)
    session.say(f"saved as {path}")


def load(session: Session, command: Command) -> None:
    """Continue a saved game; the present one is kept if that cannot be read."""
    game = _loaded(session, command)
    session.start(game)
    session.paused = session.engine_is_due
    more = "; `go` lets the engine move" if session.paused else ""
    session.tell(f"{len(game.stones)} stones from {Path(command.argument).name}, {game.rule_name}{more}")


def _loaded(session: Session, command: Command) -> Game:
    """Return the game of a file.

    Raises:
        PositionError: there is no such game.
    """
    if not command.argument:
        raise PositionError("load needs the name of a file: .sgf, .psq, .lib, or moves")
    board = session.game.board
    tree = load_tree(
        Path(command.argument).expanduser(), session.game.rule, board.width, board.height,
        detect=detector(), from_bottom=session.game.from_bottom,
    )  # fmt: skip
    return Game.from_tree(tree)


def new(session: Session, command: Command) -> None:
    """Start a new game, of the same size and rule where none is given.

    `size` and `rule` alone show the size and rule of this game.
    """
    board = session.game.board
    if command.name != "new" and not command.argument:
        size_and_rule = f"{board.width}x{board.height} {session.game.rule_name}"
        session.say(f"{size_and_rule}; `{command.name} ...` starts a new game")
        return
    size, rule, swap2 = _settings(session, command)
    session.start(Game(*size, rule), swap2=swap2)


def _settings(session: Session, command: Command) -> tuple[tuple[int, int], Rule, bool]:
    """Return size and rule of a new game, and whether it begins with swap2.

    Raises:
        PositionError: a word is none of these.
    """
    board, rule = session.game.board, session.game.rule
    size, swap2 = (board.width, board.height), False
    for word in command.argument.split():
        if word.lower() == "swap2":
            swap2 = True
            continue
        try:
            if word[0].isdigit():
                size = parse_size(word)
            else:
                rule = parse_rule(word)
        except argparse.ArgumentTypeError as error:
            raise PositionError(str(error)) from error
    return size, rule, swap2


def set_rows(session: Session, command: Command) -> None:
    """Set whether row 1 is the highest or the lowest."""
    side = command.argument.lower()
    if side not in ("top", "bottom", ""):
        raise PositionError("rows needs top or bottom")
    session.game.from_bottom = side == "bottom" if side else session.game.from_bottom
    session.say(f"row 1 is at the {'bottom' if session.game.from_bottom else 'top'}")


def resign(session: Session, command: Command) -> None:
    """Resign for the person, or for the side to move where two persons play."""
    humans = session.players.humans
    if not humans:
        raise PositionError("you only watch; `colour black` or `colour white` takes a side")
    if session.opening is not None:
        raise PositionError("nothing to resign before colours are taken; `new` starts again")
    to_move = session.game.board.to_move
    session.game.resign(to_move if to_move in humans else 1 - to_move)


def offer_draw(session: Session, command: Command) -> None:
    """Offer a draw to the engine, or to the other person, who agrees by the same command."""
    game, players = session.game, session.players
    if not players.humans:
        raise PositionError("you only watch; `colour black` or `colour white` takes a side")
    if session.opening is not None or not game.points:
        raise PositionError("nothing to draw yet; `new` starts again")
    if game.over:
        raise PositionError("the game is over; `new` starts another")
    if len(players.humans) == 2:
        if session.draw_offered == len(game.points):
            game.agree_to_draw()
            return
        session.draw_offered = len(game.points)
        session.say(f"{COLOURS[game.board.to_move]} offers a draw: `draw` agrees, a move declines")
        return
    if players.opponent is not None:
        raise PositionError(f"{players.opponent.name} cannot be asked for a draw")
    own = game.board.to_move
    if own not in players.humans:
        raise PositionError("offer a draw when it is your turn")
    thought = session.thinker.analyse(game, min(DRAW_S, players.time_s), 1)
    session.screen.clear_progress()
    win, draw, _ = thought.value.wdl
    if takes_draw(1 - win - draw / 2, draw):
        game.agree_to_draw()
    else:
        session.say("the engine declines the draw")


def takes_draw(score: float, draw: float) -> bool:
    """Return whether the engine agrees to a draw: where it is worse, or likely draws and is not better.

    Args:
        score: its expected score, 0..1.
        draw: probability of a draw, 0..1.
    """
    return score < WORSE or (draw >= DRAWN and score <= EVEN)


def confirm(session: Session, command: Command) -> None:
    """Answer a question of the session that is no longer asked."""
    raise PositionError(f"{command.name}? nothing was asked")


def leave(session: Session, command: Command) -> None:
    """End the session."""
    session.leaving = True


def check(session: Session, command: Command) -> None:
    """Refuse a command that ends the game and could not be executed.

    Raises:
        PositionError: as the command itself would.
    """
    if command.name == "load":
        _loaded(session, command)
    elif command.name in ("new", "size", "rule"):
        _settings(session, command)


ACTIONS: dict[str, Callable[[Session, Command], None]] = {
    "": nothing, "board": nothing, "move": play, "help": show_help, "hint": hint, "analyse": analyse,
    "review": review_game, "undo": undo, "level": set_level, "time": set_time, "colour": set_colour,
    "black": take, "white": take, "go": go_on, "save": save, "save!": save, "load": load, "new": new,
    "rows": set_rows,
    "size": new, "rule": new, "resign": resign, "draw": offer_draw, "yes": confirm, "no": confirm,
    "quit": leave,
}  # fmt: skip


def act(session: Session, command: Command) -> None:
    """Execute a command of the person.

    Raises:
        PositionError: it cannot be executed; the message is one line.
    """
    ACTIONS[command.name](session, command)


def parse_levels(text: str) -> tuple[int, int]:
    """Read `5` or `3 7` (black's and white's).

    Raises:
        PositionError: anything else.
    """
    words = [word for word in _NUMBERS.split(text.strip()) if word]
    if not 1 <= len(words) <= 2 or not all(word.isascii() and word.isdigit() for word in words):
        raise PositionError(f"a level is a number from {WEAKEST} to {STRONGEST}; two are black's and white's")
    levels = [int(word[:9]) for word in words]
    if not all(WEAKEST <= level <= STRONGEST for level in levels):
        raise PositionError(f"levels go from {WEAKEST} to {STRONGEST}")
    return levels[0], levels[-1]


def parse_seconds(text: str) -> float:
    """Read a time a move.

    Raises:
        PositionError: no number, or out of range.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise PositionError(f"a time is a number of seconds from {SHORTEST_S:g} to {LONGEST_S:g}")
    return seconds


def _must_go_on(session: Session) -> None:
    if session.game.over:
        raise PositionError("the game is over; `analyse all` looks back, `undo` takes a move back")


def _judgement(move: MoveStats) -> str:
    """Return the expected score in percent, or the proof."""
    if move.proven in ("win", "loss") and move.distance:
        return f"{move.proven} in {move.distance}"
    return f"{100 * (move.wdl[0] + move.wdl[1] / 2):.0f}%"
