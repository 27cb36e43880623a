"""Count the isolated moves of every level: those farther than three cells from all other stones.

A level plays games against itself. The first stone is put for it, near the middle, so that each game tells of
an answer to it as well; rules and two sizes of board take turns. A stone that the solver wants, or a five or
its block, may stand anywhere.

    python -m training.sense                    # 200 first answers and 200 games of every level
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from engine import Engine, EngineConfig, Rule, SearchLimits
from engine.errors import EngineError
from engine.levels import STRONGEST, WEAKEST
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import format_move
from engine.search.result import SearchResult
from training.files import console

FAR = 3
"""Cells from the nearest stone beyond which a stone is isolated (derived: no five holds both)."""
MIDDLE = 3
"""How far from the middle, in columns and rows, the first stone is put."""
RULES = (Rule.FREESTYLE, Rule.STANDARD, Rule.RENJU, Rule.CARO)
SIDES = (15, 20)


@dataclass(slots=True)
class Count:
    """What was played, and what of it is far from all other stones."""

    answers: int = 0
    far_answers: int = 0
    games: int = 0
    stones: int = 0
    far: int = 0
    wanted: int = 0
    """Far stones that the solver wanted; not among `far`."""
    worst: str = ""
    """The last game with an isolated stone, as moves."""

    def line(self, level: int) -> str:
        """Return a row of the table."""
        return (
            f"{level:5d}  {self.answers:7d}  {self.far_answers:3d}  {self.games:5d}  {self.stones:6d}  "
            f"{self.far:3d}  {self.wanted:6d}  {self.worst}"
        ).rstrip()


HEADER = "level  answers  far  games  stones  far  wanted  last game with one"


def is_far(board: Board, point: int) -> bool:
    """Return whether a point is farther than FAR cells from every stone; on an empty board none does."""
    y, x = divmod(point, board.width)
    spots = [divmod(at, board.width) for at, _ in board.stones()]
    return bool(spots) and all(max(abs(x - at_x), abs(y - at_y)) > FAR for at_y, at_x in spots)


def is_wanted(result: SearchResult) -> bool:
    """Return whether solver or rules asked for a move."""
    return result.proven is not None or result.stop_reason in ("own five", "forced block")


def starts(seed: int) -> Iterator[tuple[int, Rule, int]]:
    """Yield (side, rule, point of the first stone) of one game after the other."""
    random = Random(seed)
    for side, rule in itertools.cycle(itertools.product(SIDES, RULES)):
        x, y = (side // 2 + random.randint(-MIDDLE, MIDDLE) for _ in range(2))
        yield side, rule, y * side + x


def measure(engine: Engine, games: int, answers: int, limits: SearchLimits, seed: int = 1) -> Count:
    """Let an engine answer first stones and play games against itself."""
    count = Count()
    for number, (side, rule, first) in enumerate(itertools.islice(starts(seed), max(games, answers))):
        engine.new_game(side, side, rule)
        engine.play(first)
        played = [first]
        isolated = False
        while engine.board.winner == EMPTY and engine.board.legal_points():
            result = engine.think(limits, engine.clock.now_s())
            far = is_far(engine.board, result.point) and not is_wanted(result)
            count.wanted += is_far(engine.board, result.point) and is_wanted(result)
            engine.play(result.point)
            played.append(result.point)
            isolated |= far
            if len(played) == 2 and number < answers:
                count.answers += 1
                count.far_answers += far
            if number >= games:
                break
            count.stones += 1
            count.far += far
        count.games += number < games
        if isolated:
            count.worst = f"{side} {rule.name.lower()} " + "".join(format_move(p, side) for p in played)
    return count


@console.command(ValueError, OSError, EngineError, stopped="nothing is kept")
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 if there was a isolated stone."""
    parser = console.parser("training.sense", __doc__)
    parser.add_argument("--games", type=int, default=200, help="whole games of a level (200)")
    parser.add_argument("--answers", type=int, default=200, help="answers to a first stone (200)")
    parser.add_argument("--levels", type=int, nargs="+", default=list(range(WEAKEST, STRONGEST + 1)))
    parser.add_argument("--top-simulations", type=int, default=400, help="a move of level 10 (400)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    parser.add_argument("--seed", type=int, default=1, help="of first stones and draws (1)")
    args = parser.parse_args(argv)
    print(HEADER, flush=True)
    isolated = 0
    for level in args.levels:
        engine = Engine(EngineConfig(net=args.net, level=level, seed=args.seed))
        limits = SearchLimits(max_nodes=args.top_simulations if level == STRONGEST else None)
        count = measure(engine, args.games, args.answers, limits, args.seed)
        engine.close()
        isolated += count.far + count.far_answers
        print(count.line(level), flush=True)
    return int(isolated > 0)


if __name__ == "__main__":
    sys.exit(console.run(main))
