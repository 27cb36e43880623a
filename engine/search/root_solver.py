"""Proofs at the root: the solver with large budgets, between simulations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.rules._board import EMPTY, SHAPE_OPEN_FOUR, Board
from engine.search import _tree
from engine.search._tree import Tree
from engine.threats._solver import Solver
from engine.threats.solution import Solution, Verdict

FIRST_VCF_NODES = 20_000
"""Budget of the first VCF calls (derived: 5 ms at 4 million placements a second)."""
FIRST_VCT_NODES = 5_000
"""Budget of the first VCT calls (derived: as above; a VCT node costs more)."""
GROWTH = 4
"""Factor between the budgets of a query."""
THREAT_FACTOR = 3
"""Factor of the budget, and half that of the first query for a VCT of the opponent, where the opponent could
make a straight four next (tuned: `python -m tests.tactics.defence`, November 2026)."""
MAX_NODES = 100_000_000
"""Largest budget of a query (derived: half a minute)."""
LINE_NODES = 200_000
"""Budget for the principal variation of a proven win."""


@dataclass(slots=True)
class _Query:
    kind: str
    own: bool
    budget: int


class RootSolver:
    """Solves one root: own wins, then the moves that stop a win of the opponent, then whether the move that
    would be played allows one.

    A query without a result is repeated with a larger budget. The total budget grows with the simulations, so
    that searches limited in simulations are deterministic.
    """

    def __init__(self, solver: Solver, tree: Tree, board: Board, nodes_a_simulation: int) -> None:
        """Start with a new root.

        Args:
            nodes_a_simulation: placements that each simulation allows the solver.
        """
        self._solver = solver
        self._tree = tree
        self._board = board.copy()
        threatened = bool((board.shapes(1 - board.to_move) & SHAPE_OPEN_FOUR).any())
        self._nodes_a_simulation = nodes_a_simulation * (THREAT_FACTOR if threatened else 1)
        self._spent = 0
        self._queries = [
            _Query("vcf", True, FIRST_VCF_NODES),
            _Query("vcf", False, FIRST_VCF_NODES),
            _Query("vct", True, FIRST_VCT_NODES),
            _Query("vct", False, FIRST_VCT_NODES * (2 * THREAT_FACTOR if threatened else 1)),
        ]
        self._first_round = len(self._queries)
        self._check_nodes: dict[int, int] = {}  # budget of a move's next check; 0: its result is known
        self.pv: tuple[int, ...] = ()
        """Principal variation of a win that the solver found."""

    def due(self, simulations: int) -> bool:
        """Return whether a query is due; those of the first round always are."""
        with self._tree.locked():
            return self._is_due(simulations)

    def _is_proven(self) -> bool:
        with self._tree.locked():
            return bool(self._tree.proven != _tree.PROVEN_NONE)

    def _is_due(self, simulations: int) -> bool:
        if self._is_proven() or self._tree.open_moves() < 2:
            return False
        if self._first_round > 0 and self._queries:
            return True
        if self._spent > self._nodes_a_simulation * simulations:
            return False
        return bool(self._queries) or self._next_check()[1] > 0

    def step(self, stops: Callable[[], bool]) -> None:
        """Solve one query and apply its result to the tree.

        Args:
            stops: returns whether the time is over; ends the call early, as does a proof by another thread.
        """

        def over() -> bool:
            return self._is_proven() or stops()

        with self._tree.locked():
            point, nodes = self._next_check()
        if not self._queries or (self._first_round <= 0 and 0 < nodes <= self._queries[0].budget):
            if nodes > 0:  # else other threads have changed the move since `due`
                self._check_move(point, nodes, over)
            return
        self._first_round -= 1
        query = self._queries.pop(0)
        attacker = self._board.to_move if query.own else 1 - self._board.to_move
        answer = self._solver.solve(self._board, query.kind, attacker, query.budget, over)
        self._spent += answer.nodes
        if answer.verdict is Verdict.UNKNOWN:
            query.budget *= GROWTH
            if query.budget <= MAX_NODES:
                self._queries.append(query)
        elif answer.verdict is Verdict.WIN:
            if query.own:
                self.pv = answer.pv
                with self._tree.locked():
                    self._tree.prove(_tree.PROVEN_WIN, answer.distance, answer.pv[0])
            else:
                self._keep_defences(query, answer, stops)

    def _next_check(self) -> tuple[int, int]:
        """Return the move that would be played now, and the budget its check needs (0: nothing to check)."""
        point = self._tree.top_two()[0]
        return point, 0 if point < 0 else self._check_nodes.get(point, FIRST_VCT_NODES)

    def _check_move(self, point: int, nodes: int, stops: Callable[[], bool]) -> None:
        """Exclude a move if the opponent has a forced win after it."""
        self._check_nodes[point] = 0
        self._board.place(point)
        if self._board.winner == EMPTY and self._board.n_empty > 0:
            answer = self._solver.solve(self._board, "vct", None, nodes, stops)
            self._spent += answer.nodes
            if answer.verdict is Verdict.WIN:
                with self._tree.locked():
                    self._tree.exclude([point], answer.distance + 1)
            elif answer.verdict is Verdict.UNKNOWN and nodes * GROWTH <= MAX_NODES:
                self._check_nodes[point] = nodes * GROWTH
        self._board.undo()

    def _keep_defences(self, query: _Query, threat: Solution, stops: Callable[[], bool]) -> None:
        """Exclude the root moves that do not stop the win that the opponent has after a pass."""
        tree = self._tree
        with tree.locked():
            moves = tree.moves().tolist()
            defences = set(threat.defences)
            tree.exclude([p for p in moves if p not in defences], threat.longest + 1)
            lost = tree.proven == _tree.PROVEN_LOSS
        self._queries = [q for q in self._queries if q.own]
        if lost:
            self._find_longest(query, moves, stops)

    def _find_longest(self, query: _Query, moves: list[int], stops: Callable[[], bool]) -> None:
        """Find the distance of the loss after each move of a lost root, while there is time."""
        for point in moves:
            if stops():
                return
            self._board.place(point)
            answer = self._solver.solve(self._board, query.kind, None, query.budget, stops)
            self._board.undo()
            if answer.verdict is Verdict.WIN:
                with self._tree.locked():
                    self._tree.exclude([point], answer.distance + 1)

    def extended_pv(self, pv: tuple[int, ...], distance: int) -> tuple[int, ...]:
        """Return the line of a proven win, with the solver's moves after those of the tree."""
        if len(pv) >= distance:
            return pv
        winner = self._board.to_move if self._tree.proven == _tree.PROVEN_WIN else 1 - self._board.to_move
        known = pv[: len(pv) - (len(pv) + (winner != self._board.to_move)) % 2]  # up to a turn of the winner
        board = self._board.copy()
        for point in known:
            board.place(point)
        if board.winner != EMPTY or board.n_empty == 0:
            return pv
        answer = self._solver.solve(board, "vcf", winner, LINE_NODES)
        return known + answer.pv if answer.pv else pv
