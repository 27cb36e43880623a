"""Proofs at the root: the solver with large budgets, beside the simulations."""

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
"""Budget of the first VCT calls (derived: as above, VCT nodes being dearer)."""
GROWTH = 4
"""Factor between a question's budgets."""
TENSION = 3
"""Factor of what may be spent, and twice it for the first question about the opponent's threes, where he
could make a straight four next (tuned: `python -m tests.tactics.defence`, November 2026)."""
MAX_NODES = 100_000_000
"""A question that costs more is given up (derived: half a minute)."""
LINE_NODES = 200_000
"""Budget for the line of a proven win."""


@dataclass(slots=True)
class _Question:
    kind: str
    own: bool
    budget: int


class RootSolver:
    """Asks the solver about one root: own wins first, then which moves stop the opponent's, then whether the
    move that would be played walks into a win of the opponent.

    A question without an answer is asked again with a larger budget. What may be spent grows with the
    simulations, so that searches limited in simulations do the same everywhere.
    """

    def __init__(self, solver: Solver, tree: Tree, board: Board, nodes_a_simulation: int) -> None:
        """Begin with a new root.

        Args:
            nodes_a_simulation: placements that each simulation allows the solver.
        """
        self._solver = solver
        self._tree = tree
        self._board = board.copy()
        tense = bool((board.shapes(1 - board.to_move) & SHAPE_OPEN_FOUR).any())
        self._nodes_a_simulation = nodes_a_simulation * (TENSION if tense else 1)
        self._spent = 0
        self._questions = [
            _Question("vcf", True, FIRST_VCF_NODES),
            _Question("vcf", False, FIRST_VCF_NODES),
            _Question("vct", True, FIRST_VCT_NODES),
            _Question("vct", False, FIRST_VCT_NODES * (2 * TENSION if tense else 1)),
        ]
        self._first_round = len(self._questions)
        self._check_nodes: dict[int, int] = {}  # budget of a move's next check; 0: its answer is known
        self.pv: tuple[int, ...] = ()
        """Principal variation of a win that was found here."""

    def due(self, simulations: int) -> bool:
        """Return whether the solver has something to do now; the first round of questions always is."""
        if self._tree.proven != _tree.PROVEN_NONE or self._tree.open_moves() < 2:
            return False
        if self._first_round > 0 and self._questions:
            return True
        if self._spent > self._nodes_a_simulation * simulations:
            return False
        return bool(self._questions) or self._next_check()[1] > 0

    def step(self, stops: Callable[[], bool]) -> None:
        """Ask one question and act on the answer.

        Args:
            stops: whether the search is over; ends the call early.
        """
        point, nodes = self._next_check()
        if not self._questions or (self._first_round <= 0 and 0 < nodes <= self._questions[0].budget):
            self._check(point, nodes, stops)
            return
        self._first_round -= 1
        question = self._questions.pop(0)
        attacker = self._board.to_move if question.own else 1 - self._board.to_move
        answer = self._solver.solve(self._board, question.kind, attacker, question.budget, stops)
        self._spent += answer.nodes
        if answer.verdict is Verdict.UNKNOWN:
            question.budget *= GROWTH
            if question.budget <= MAX_NODES:
                self._questions.append(question)
        elif answer.verdict is Verdict.WIN:
            if question.own:
                self.pv = answer.pv
                self._tree.prove(_tree.PROVEN_WIN, answer.distance, answer.pv[0])
            else:
                self._defend(question, answer, stops)

    def _next_check(self) -> tuple[int, int]:
        """Return the move that would be played now, and the budget its check needs (0: nothing to check)."""
        point = self._tree.top_two()[0]
        return point, 0 if point < 0 else self._check_nodes.get(point, FIRST_VCT_NODES)

    def _check(self, point: int, nodes: int, stops: Callable[[], bool]) -> None:
        """Exclude a move if the opponent wins by force behind it."""
        self._check_nodes[point] = 0
        self._board.place(point)
        if self._board.winner == EMPTY and self._board.n_empty > 0:
            answer = self._solver.solve(self._board, "vct", None, nodes, stops)
            self._spent += answer.nodes
            if answer.verdict is Verdict.WIN:
                self._tree.exclude([point], answer.distance + 1)
            elif answer.verdict is Verdict.UNKNOWN and nodes * GROWTH <= MAX_NODES:
                self._check_nodes[point] = nodes * GROWTH
        self._board.undo()

    def _defend(self, question: _Question, threat: Solution, stops: Callable[[], bool]) -> None:
        """Leave only those root moves that may stop a win which the opponent has after a pass."""
        tree = self._tree
        moves = tree.moves().tolist()
        defences = set(threat.defences)
        tree.exclude([p for p in moves if p not in defences], threat.distance + 1)
        self._questions = [q for q in self._questions if q.own]
        if tree.proven == _tree.PROVEN_LOSS:
            self._find_longest(question, moves, stops)

    def _find_longest(self, question: _Question, moves: list[int], stops: Callable[[], bool]) -> None:
        """Learn how long each move of a lost root holds out."""
        for point in moves:
            if stops():
                return
            self._board.place(point)
            answer = self._solver.solve(self._board, question.kind, None, question.budget, stops)
            self._board.undo()
            if answer.verdict is Verdict.WIN:
                self._tree.exclude([point], answer.distance + 1)

    def extended(self, pv: tuple[int, ...], distance: int) -> tuple[int, ...]:
        """Return a proven win's line, with the solver's moves behind those of the tree."""
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
