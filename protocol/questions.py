"""From the commands that make the brain think to what is asked of the engine. Pure."""

from __future__ import annotations

from dataclasses import replace

from protocol import commands as c
from protocol import soosorv
from protocol.forms import EVERY, Choice, Move, YixinChoice, balanced
from protocol.job import Ask, Kind
from protocol.notation import Notation
from protocol.position import BoardFault, Position, from_board

LISTED = 20
"""Moves that are told of all that were searched (tuned: what a person reads)."""
SWAP2_STONES = {"SWAP2BOARD": (0, 3, 5), "SWAPBOARD": (0, 3)}
"""Stones on the board when these commands ask something (protocol)."""
YIXIN_STONES = {1: 0, 2: 3, 3: 5}
"""Stones on the board at Yixin-Board's steps of swap2; the first step comes with any (protocol)."""


class Refused(ValueError):
    """A question makes no sense; the text says why."""


def word_of(command: c.Question) -> str:
    """Return the word that a command begins with, as far as a person needs to know."""
    match command:
        case c.NBest():
            return "YXNBEST"
        case c.Swap2Board():
            return command.word
        case c.YixinSwap2() | c.Soosorv():
            return f"{'YXSWAP2' if isinstance(command, c.YixinSwap2) else 'YXSOOSORV'}STEP{command.step}"
        case _:
            return type(command).__name__.upper()


def move(position: Position) -> Ask:
    """Return the question which move to make."""
    return _ask("move", Move(), position)


def ask(command: c.Question, position: Position, names: Notation, seed: float) -> Ask:
    """Return what a command asks about a position.

    Args:
        command: moves of TURN and BOARD have been made already.
        position: the stones on the board.
        names: what the manager calls a point.
        seed: for choices by chance.

    Raises:
        Refused: the command does not fit the position, or its lines are wrong.
    """
    match command:
        case c.NBest():
            n = EVERY if command.n is None else command.n
            return _ask("nbest", Move(awaited=False), position, n=n, listed=min(n, command.n or LISTED))
        case c.Balance():
            if command.board is not None:
                try:
                    position = from_board(names, command.board.stones, command.board.fault)
                except BoardFault as fault:
                    raise Refused(str(fault)) from fault
            form = balanced(command.count, command.bias, yixin=command.board is None)
            return form.ask(position.stones, position.to_move)
        case c.Swap2Board():
            points = _points(command.word, command.stones, command.fault, names)
            return _swap2(command.word, Choice(), points, SWAP2_STONES[command.word])
        case c.YixinSwap2():
            points = tuple(point for point, _ in position.stones) if command.step > 1 else ()
            word = word_of(command)
            question = _swap2(word, YixinChoice(command.step), points, (YIXIN_STONES[command.step],))
            return replace(question, max_nodes=soosorv.CHOICE_NODES)
        case c.Soosorv():
            word = word_of(command)
            points = _points(word, command.stones, command.fault, names)
            _count(word, len(points), soosorv.STONES[command.step])
            return soosorv.question(command.step, command.number, points, names.width, names.height, seed)
        case _:
            return move(position)


def _ask(kind: str, form: Move, position: Position, *, n: int = 1, listed: int = 0) -> Ask:
    which: Kind = "nbest" if kind == "nbest" else "move"
    return Ask(which, form, position.stones, position.to_move, n=n, listed=listed)


def _swap2(word: str, form: Choice | YixinChoice, points: tuple[int, ...], counts: tuple[int, ...]) -> Ask:
    _count(word, len(points), counts)
    return Ask("swap2", form, (), 0, opening=points)


def _count(word: str, count: int, counts: tuple[int, ...]) -> None:
    if count not in counts:
        needed = " or ".join(map(str, counts)) if len(counts) < 4 else f"{counts[0]} to {counts[-1]}"
        raise Refused(f"{word} needs {needed} stones, not {count}")


def _points(word: str, stones: c.Pairs, fault: str | None, names: Notation) -> tuple[int, ...]:
    points = [names.point(a, b) for a, b in stones]
    known = tuple(point for point in points if point is not None)
    if len(known) < len(points) or len(set(known)) < len(known):
        fault = fault or f"{word} names a point that is off the board or taken"
    if fault is not None:
        raise Refused(fault)
    return known
