"""One self-play game as a state machine that asks for one simulation after the other.

`want` is the root move of the next simulation (-1: the tree's own choice); after it is done, `advance`
continues as far as possible without a simulation: next move, end of the game, next game.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.rules._board import EMPTY, Board
from engine.rules.rule import Rule
from engine.search._tree import (
    FULL,
    NOTHING_LEFT,
    PROVEN_DRAW,
    PROVEN_LOSS,
    PROVEN_NONE,
    PROVEN_WIN,
    Tree,
)
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from training.data.records import DRAW, End, Flag, GameBuilder, SelfPlayRecord
from training.play.endings import played_on
from training.play.gumbel import GumbelRoot, RootChoice, proven_target
from training.play.regret import Mistakes
from training.settings.play import PlayConfig

_FAST_CONSIDERED = 8  # moves that sequential halving begins with in a fast search (not tuned)
_TREE_BYTES = 4 << 20  # of one tree (not tuned)
_FREE_STONES = 3  # of an opening, drawn without the net (not tuned)
_FREE_REACH = 3  # cells from the centre at most, for these (not tuned)
_OPENING_TEMPERATURE = 1.2  # of the policy that the other stones are drawn from (not tuned)
_MOST_LOPSIDED = 0.35  # |win - loss| of an opening for the side to move; a larger one is rejected (not tuned)


@dataclass(slots=True)
class Counters:
    """What a group of games has done so far."""

    games: int = 0
    moves: int = 0
    full: int = 0
    simulations: int = 0
    evaluations: int = 0
    openings: int = 0
    regretted: int = 0
    rejected: int = 0

    def add(self, other: Counters, sign: int = 1) -> None:
        """Add (or take away, with sign -1) what another one counted."""
        for field_ in dataclasses.fields(self):
            name = field_.name
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))

    def rates(self, seconds: float) -> dict[str, float]:
        """Return the rates for the log of this many seconds of play."""
        return {
            "positions_per_s": self.moves / max(seconds, 1e-9),
            "evaluations_per_s": self.evaluations / max(seconds, 1e-9),
            "simulations_per_s": self.simulations / max(seconds, 1e-9),
            "evaluated_share": self.evaluations / max(self.simulations, 1),
            "rejected_openings": self.rejected / max(self.openings, 1),
            "regret_starts": self.regretted / max(self.openings, 1),
            "games": float(self.games),
        }


class SelfPlayGame:
    """Plays one game after the other on one tree."""

    def __init__(
        self,
        config: PlayConfig,
        size: tuple[int, int],
        next_game: Callable[[], tuple[int, int]],
        on_record: Callable[[SelfPlayRecord], None],
        solver: Solver,
        counters: Counters,
        net_id: Callable[[], str],
        mistakes: Mistakes,
    ) -> None:
        """Make the first opening.

        Args:
            config: settings.
            size: (width, height).
            next_game: returns (seed, rule) of the next game.
            on_record: gets each finished game.
            solver: shared by the games of one thread.
            counters: shared by the games of one group.
            net_id: returns the name of the net in use, for records.
            mistakes: shared by the games of one group: where they went wrong.
        """
        self._config, self._size, self._solver = config, size, solver
        self._next_game, self._on_record, self._net_id = next_game, on_record, net_id
        self._counters, self._mistakes = counters, mistakes
        self.tree = Tree(config.search_params(), _TREE_BYTES, solver)
        self.want = -1
        self._full_gumbel = config.gumbel
        self._fast_gumbel = dataclasses.replace(config.gumbel, considered=_FAST_CONSIDERED)
        self._new_game()

    # --- one simulation after the other

    def advance(self, status: int) -> None:
        """Go on after a simulation (or after NOTHING_LEFT, which did none) to the next `want`."""
        self._counters.simulations += 1
        search = self._search
        if self.tree.proven != PROVEN_NONE:
            self._proven(self.tree.proven)
        elif search is not None:
            if status == NOTHING_LEFT:
                search.drop(self.want)
            if search.queue:
                self.want = search.queue.pop()
            else:
                self._next_phase(search)
        elif status == FULL:
            self.tree.clear()
            self.tree.set_root(self.board)
        else:
            self._root_known()

    def _next_phase(self, search: GumbelRoot) -> None:
        if search.refill():
            self.want = search.queue.pop()
        else:
            self._move(search.choice())

    def _new_game(self) -> None:
        self._seed, self._rule = self._next_game()
        self._rng = np.random.Generator(np.random.PCG64(self._seed))
        self._tries = 0
        if not self._config.opening.regret_share or not self._begin_with_regret():
            self._new_opening()

    def _begin_with_regret(self) -> bool:
        """Begin where a game went wrong, for a share of the games; False where this one does not."""
        if self._rng.random() >= self._config.opening.regret_share:
            return False
        start = self._mistakes.draw(self._rng)
        if start is None:
            return False
        self._counters.openings += 1
        self._counters.regretted += 1
        self._rule = start.rule
        self.board = Board(*self._size, self._rule)
        for point in start.points:
            self.board.place(point)
        self._builder: GameBuilder | None = None
        self._opening_stones, self._from_regret = self.board.ply, True
        self.tree.clear()
        self._set_root()
        return True

    def _new_opening(self) -> None:
        """Put the first stones; those of the net follow in `_root_known`."""
        opening, rng = self._config.opening, self._rng
        width, height = self._size
        self._counters.openings += 1
        board = self.board = Board(width, height, self._rule)
        self._builder, self._from_regret = None, False
        most = min(opening.max_stones, board.points // 12)
        self._opening_stones = int(rng.integers(most + 1))
        reach_x, reach_y = min(_FREE_REACH, (width - 1) // 2), min(_FREE_REACH, (height - 1) // 2)
        while board.ply < min(self._opening_stones, _FREE_STONES):
            x = width // 2 + int(rng.integers(-reach_x, reach_x + 1))
            y = height // 2 + int(rng.integers(-reach_y, reach_y + 1))
            if board.cell(y * width + x) == EMPTY:
                board.place(y * width + x)
        self.tree.clear()
        self._set_root()

    def _set_root(self) -> None:
        """Give the tree the new position; `_root_known` follows when the root is expanded."""
        self.tree.set_root(self.board)
        self._search: GumbelRoot | None = None
        self.want = -1
        if self.tree.has_root:
            if self.tree.proven != PROVEN_NONE:
                self._proven(self.tree.proven)
            else:
                self._root_known()

    def _root_known(self) -> None:
        """The root has edges: draw an opening stone, or begin the search."""
        config, tree, board = self._config, self.tree, self.board
        if board.ply < self._opening_stones:
            self._draw_opening_stone()
            return
        for kind, nodes in (("vcf", config.root_vcf_nodes), ("vct", config.root_vct_nodes)):
            if nodes:
                solution = self._solver.solve(board, kind, nodes=nodes)
                if solution.verdict == Verdict.WIN:
                    tree.prove(PROVEN_WIN, solution.distance, solution.pv[0])
                    self._proven(PROVEN_WIN)
                    return
        if self._builder is None and self._lopsided(tree.raw_wdl):
            self._reject()
            return
        self._full = bool(self._rng.random() < config.full_share) or self._builder is None
        if tree.forced:
            self._full = False
        self._search = GumbelRoot(
            tree,
            self._rng,
            config.simulations if self._full else (1 if tree.forced else config.fast_simulations),
            self._full_gumbel if self._full else self._fast_gumbel,
        )
        self._next_phase(self._search)

    def _draw_opening_stone(self) -> None:
        points, priors = self.tree.moves(), self.tree.priors().astype(np.float64)
        weights = priors ** (1 / _OPENING_TEMPERATURE)
        self.board.place(int(self._rng.choice(points, p=weights / weights.sum())))
        if self.board.winner != EMPTY or self.board.n_empty == 0:
            self._reject()
        else:
            self._set_root()

    def _lopsided(self, wdl: tuple[float, float, float] | None) -> bool:
        opening = self._config.opening
        if self._from_regret:
            return False
        return wdl is not None and self._tries < opening.tries and abs(wdl[0] - wdl[2]) > _MOST_LOPSIDED

    def _reject(self) -> None:
        self._counters.rejected += 1
        self._tries += 1
        self._new_opening()

    # --- moves and ends

    def _begin_record(self) -> GameBuilder:
        if self._builder is None:
            points = [point for point, _ in self.board.stones()]
            self._builder = GameBuilder(
                self._rule, *self._size, opening=points, net_id=self._net_id(), seed=self._seed
            )
        return self._builder

    def _move(self, choice: RootChoice) -> None:
        """The search is over: record it, play its move."""
        board = self.board
        if self._builder is None and self._lopsided(choice.wdl):
            self._reject()
            return
        builder = self._begin_record()
        if self._full:
            builder.add(Flag.FULL, choice.wdl, choice.points, choice.target, choice.surprise)
        else:
            builder.add(0, choice.wdl)
        builder.play(choice.point)
        self._counters.moves += 1
        self._counters.full += self._full
        board.place(choice.point)
        if board.winner != EMPTY:
            self._finish(board.winner, End.FIVE)
        elif board.n_empty == 0:
            self._finish(DRAW, End.BOARD_FULL)
        elif self._rule == Rule.RENJU and not board.legal_points():
            self._finish(1 - board.to_move, End.FOUL)
        else:
            self._set_root()

    def _proven(self, proven: int) -> None:
        """The root is decided: record the exact result, end the game (or drop a solved opening)."""
        if self._builder is None:
            self._reject()
            return
        mover = self.board.to_move
        self._builder.add(*proven_target(self.tree, proven))
        self._counters.moves += 1
        self._counters.full += proven == PROVEN_WIN
        winner = {PROVEN_WIN: mover, PROVEN_LOSS: 1 - mover, PROVEN_DRAW: DRAW}[proven]
        self._finish(winner, End.PROVEN)

    def _finish(self, winner: int, end: End) -> None:
        assert self._builder
        record = self._builder.finish(winner, end)
        if self._config.endings:
            nodes = max(1, self._config.root_vct_nodes)
            self._on_record(played_on(record, self._solver, nodes))
        else:
            self._on_record(record)
        if self._config.opening.regret_share:
            self._mistakes.learn(record)
        self._counters.games += 1
        self._new_game()
