"""Requests in the engine process: moves, growing analyses, reviews."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from board.answers import answer
from board.brains import Brains
from board.messages import Analyse, AnswerSwap2, Balance, EngineRequest, Review, Think
from board.position import game_of
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineError
from engine.games.record import GameRecord
from engine.games.review import ReviewedMove, review, worst
from engine.levels import STRONGEST
from engine.play.balance import balanced_move
from engine.play.engines import Engines
from engine.rules._board import EMPTY, Board
from engine.search.result import MoveStats, SearchResult
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from engine.timing.budget import SearchLimits

INFO_S = 0.12
"""Seconds between answers of an analysis (derived: eight a second look continuous and cost 0.2 %)."""
CLOCK_MARGIN_MS = 60
"""Taken off the engine's clock for the way to the page and back."""
THREAT_NODES = 40_000
"""Placements of the first look at what the opponent threatens, of each kind."""
THREAT_LOOK_S, THREAT_PAUSE_S = 0.04, 4.0
"""Longest look, and how often a deeper one follows while nothing is found (derived: 1 % of the time)."""
THREAT_LOOKS = 4
LINE_NODES, LINE_S = 400_000, 0.3
"""Placements of each kind and time to find how a proven win continues behind the line that the search
knows."""
SOLVER_TABLE_LOG2 = 16

Say = Callable[[str], None]


class Thinking:
    """Answers requests one after another, in one thread. Other threads may only set the `stop` given."""

    def __init__(
        self, config: EngineConfig, say: Say, log: Callable[[str], None], brains: Brains | None = None
    ) -> None:
        """Load the net.

        Args:
            config: settings of the engines.
            say: takes answers.
            log: takes messages about what went wrong but was survived.
            brains: other brains that may be asked for a move.

        Raises:
            NetError: the net cannot be loaded.
        """
        self._say = say
        self._brains = brains or Brains(())
        self._engines = Engines(config, log=log)
        self._solver = Solver(SOLVER_TABLE_LOG2)
        self.net_name = self._engines.engine(STRONGEST).net_name

    def limit_threads(self, most: int) -> None:
        """Let searches have at most so many threads for now, also the running one (any thread)."""
        self._engines.limit_threads(most)

    def answer(self, request: EngineRequest, stop: threading.Event) -> None:
        """Answer a request until it is answered or `stop` is set.

        Raises:
            EngineError: the request cannot be answered.
        """
        match request:
            case Think():
                self._think(request, stop)
            case AnswerSwap2():
                self._swap2(request, stop)
            case Analyse():
                self._analyse(request, stop)
            case Balance():
                self._balance(request, stop)
            case Review():
                self._review(request, stop)

    def _think(self, request: Think, stop: threading.Event) -> None:
        game = game_of(request.game)
        if request.brain is not None:
            self._ask_brain(request, stop)
            return
        engine = self._engine(request.level)
        engine.new_game(game.board.width, game.board.height, game.rule)
        engine.set_position(game.stones, game.board.to_move)
        left_ms = None if request.left_ms is None else request.left_ms - CLOCK_MARGIN_MS
        limits = SearchLimits(
            turn_ms=request.turn_ms, time_left_ms=left_ms, increment_ms=request.increment_ms
        )
        began_s = engine.clock.now_s()

        def show(result: SearchResult) -> None:
            self._say(_analysis(request.id, game.board, result, 8, thinking=True))

        result = engine.think(limits, began_s, show if request.level == STRONGEST else None, stop)
        if not stop.is_set():
            spent_ms = round(1000 * (engine.clock.now_s() - began_s))
            self._say(answer("move", request.id, point=result.point, ms=spent_ms))

    def _ask_brain(self, request: Think, stop: threading.Event) -> None:
        began_s = time.monotonic()
        try:
            point = self._brains.move(request, stop)
        except EngineError:
            if stop.is_set():
                return  # no request waits for the answer
            raise
        if not stop.is_set():
            spent_ms = round(1000 * (time.monotonic() - began_s))
            self._say(answer("move", request.id, point=point, ms=spent_ms))

    def _swap2(self, request: AnswerSwap2, stop: threading.Event) -> None:
        engine = self._engine(request.level)
        game = game_of(request.game)
        engine.new_game(game.board.width, game.board.height, game.rule)
        limits = SearchLimits(turn_ms=request.turn_ms)
        found = engine.swap2(game.points, limits, engine.clock.now_s(), stop)
        if not stop.is_set():
            points = [] if found == "SWAP" else list(found)
            self._say(answer("swap2", request.id, swap=found == "SWAP", points=points))

    def _analyse(self, request: Analyse, stop: threading.Event) -> None:
        game = game_of(request.game)
        engine = self._engines.placed(game, STRONGEST)
        engine.info_interval_s = INFO_S
        began_s = engine.clock.now_s()
        threat = _Threat(self._solver, game.board, engine, stop)
        line = _Line(self._solver, game.board, engine, stop)
        if threat.look():
            self._say(threat.text(request.id))

        def show(result: SearchResult) -> None:
            self._say(_analysis(request.id, game.board, line.of(result), request.lines))
            if threat.due() and threat.look():
                self._say(threat.text(request.id))

        limits = SearchLimits(turn_ms=request.limit_ms, max_nodes=request.max_nodes)
        result = engine.nbest(request.lines, limits, began_s, show, stop)
        if not stop.is_set():
            self._say(_analysis(request.id, game.board, line.of(result), request.lines, done=True))

    def _balance(self, request: Balance, stop: threading.Event) -> None:
        game = game_of(request.game)
        engine = self._engines.placed(game, STRONGEST)
        points: list[int] = []
        score = 0.5
        while len(points) < request.count and not game.over:
            found = balanced_move(engine, game, request.turn_ms / request.count / 1000, stop)
            if found is None:
                return
            point, score = found
            game.play(point)
            points.append(point)
        self._say(answer("balanced", request.id, points=points, score=round(score, 4)))

    def _review(self, request: Review, stop: threading.Event) -> None:
        moves = request.game
        record = GameRecord(
            moves.width, moves.height, moves.rule, request.opening, ("black", "white"), list(moves.moves)
        )
        game_of(moves)  # refuses what cannot be played

        def show(move: ReviewedMove) -> None:
            self._say(answer("judged", request.id, **_judgement(move)))

        engine = self._engine(STRONGEST)
        found = review(engine, record, SearchLimits(turn_ms=request.turn_ms), show, stop)
        if not stop.is_set():
            plies = [m.ply for side in (0, 1) for m in worst([m for m in found if m.colour == side])]
            self._say(answer("reviewed", request.id, worst=plies))

    def _engine(self, level: int) -> Engine:
        engine = self._engines.engine(level)
        engine.info_interval_s = INFO_S
        return engine

    def keep(self, levels: set[int]) -> None:
        """Close the engines of other levels."""
        self._engines.keep(levels)


class _Threat:
    """Forced win of the side not to move after a pass, searched deeper and deeper."""

    def __init__(self, solver: Solver, board: Board, engine: Engine, stop: threading.Event) -> None:
        self._solver, self._board, self._now_s, self._stop = solver, board.copy(), engine.clock.now_s, stop
        self._nodes = THREAT_NODES
        self._looks = 0
        self._next_s = 0.0
        self._found: dict[str, object] | None = None

    def due(self) -> bool:
        return self._found is None and self._looks < THREAT_LOOKS and self._now_s() >= self._next_s

    def look(self) -> bool:
        """Search with the next budget; return whether a win was found."""
        self._looks += 1
        until_s = self._now_s() + THREAT_LOOK_S
        attacker = 1 - self._board.to_move

        def late() -> bool:
            return self._stop.is_set() or self._now_s() > until_s

        for kind in ("vcf", "vct"):
            solution = self._solver.solve(self._board, kind, attacker, self._nodes, late)
            if solution.verdict is Verdict.WIN:
                self._found = {
                    "colour": attacker, "by": kind, "distance": solution.distance,
                    "line": list(solution.pv), "defences": list(solution.defences),
                }  # fmt: skip
                break
        self._nodes *= 4
        self._next_s = self._now_s() + THREAT_PAUSE_S
        return self._found is not None

    def text(self, id: int) -> str:
        return answer("threat", id, **(self._found or {}))


class _Line:
    """The line of a proven win to its five; of a win against it a search may know the beginning alone."""

    def __init__(self, solver: Solver, board: Board, engine: Engine, stop: threading.Event) -> None:
        self._solver, self._board, self._now_s, self._stop = solver, board, engine.clock.now_s, stop
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def of(self, result: SearchResult) -> SearchResult:
        """Return the result with its line made as long as the solver can."""
        if result.proven not in ("win", "loss") or len(result.pv) >= (result.distance or 0):
            return result
        pv = tuple(result.pv)
        if pv not in self._known:
            self._known[pv] = pv + self._rest(pv, result.proven == "win")
        pv = self._known[pv]
        moves = tuple(replace(m, pv=pv) if m.point == pv[0] else m for m in result.candidates)
        return replace(result, pv=pv, candidates=moves)

    def _rest(self, pv: tuple[int, ...], own: bool) -> tuple[int, ...]:
        board = self._board.copy()
        winner = board.to_move if own else 1 - board.to_move
        for point in pv:
            board.place(point)
        if board.winner != EMPTY or board.to_move != winner:
            return ()
        until_s = self._now_s() + LINE_S

        def late() -> bool:
            return self._stop.is_set() or self._now_s() > until_s

        for kind in ("vcf", "vct"):
            solution = self._solver.solve(board, kind, winner, LINE_NODES, late)
            if solution.verdict is Verdict.WIN:
                return tuple(solution.pv)
        return ()


def _analysis(
    id: int, board: Board, result: SearchResult, lines: int, *, done: bool = False, thinking: bool = False
) -> str:
    """Return an analysis as text; chances are black's, so that they do not jump from move to move."""
    black = board.to_move == 0
    shown = [m for m in result.candidates if m.visits or m.proven][:lines] or list(result.candidates[:1])
    speed = result.simulations / result.elapsed_s if result.elapsed_s > 0 else 0.0
    return answer(
        "analysis", id,
        to_move=board.to_move, done=done, thinking=thinking, point=result.point,
        wdl=[round(c, 4) for c in (result.wdl if black else result.wdl[::-1])],
        proven=_winner(result.proven, board.to_move), distance=result.distance,
        pv=list(result.pv), visits=result.visits, simulations=result.simulations, speed=round(speed),
        depth=round(result.depth_mean, 1), depth_max=result.depth_max,
        elapsed_ms=round(1000 * result.elapsed_s), reason=result.stop_reason,
        moves=[_move(m, board.to_move) for m in shown],
    )  # fmt: skip


def _move(move: MoveStats, to_move: int) -> dict[str, object]:
    return {
        "point": move.point, "visits": move.visits, "prior": round(move.prior, 4),
        "score": round(move.wdl[0] + move.wdl[1] / 2, 4),
        "proven": _winner(move.proven, to_move), "distance": move.distance, "pv": list(move.pv),
    }  # fmt: skip


def _winner(proven: str | None, to_move: int) -> int | None:
    """Return 0 black, 1 white, 2 draw, None where nothing is proven."""
    if proven is None or proven == "draw":
        return None if proven is None else 2
    return to_move if proven == "win" else 1 - to_move


def _judgement(move: ReviewedMove) -> dict[str, object]:
    before = move.score_before if move.colour == 0 else 1 - move.score_before
    return {
        "ply": move.ply, "point": move.point, "before": round(before, 4),
        "after": round(move.black_score, 4), "fall": round(move.fall, 4), "mark": move.mark,
        "best": move.best,
    }  # fmt: skip
