"""Decide which moves of a position win, or hold, by search with the threat solver.

Nothing here guesses: a question that the solver cannot settle within its budget raises `Unsettled`.
"""

from __future__ import annotations

from engine.rules._board import EMPTY, SHAPE_FOUR, Board
from engine.threats._solver import Solver
from engine.threats.solution import Solution, Verdict

NODES = 10_000  # enough to look for candidates
FINAL_NODES = 200_000  # for the verdict that is kept
FOURS_DEEP = 3  # own fours in a row that a defence may put between


class Unsettled(Exception):
    """The solver's budget does not reach."""


class Judge:
    """Answers questions about positions; boards are as before after every call."""

    def __init__(self, nodes: int = NODES) -> None:
        self.solver = Solver(16)
        self.nodes = nodes

    def solve(self, board: Board, attacker: int, kind: str = "vct") -> Solution:
        """Return the settled answer of the solver.

        Raises:
            Unsettled: the budget is spent.
        """
        solution = self.solver.solve(board, kind, attacker, nodes=self.nodes)
        if solution.verdict == Verdict.UNKNOWN:
            raise Unsettled
        return solution

    def wins(self, board: Board, move: int) -> bool:
        """Return whether a legal move of the side to move wins by the threats that follow it."""
        mover = board.to_move
        board.place(move)
        try:
            return board.winner == mover or self._lost(board, mover)
        finally:
            board.undo()

    def _lost(self, board: Board, attacker: int) -> bool:
        """Return whether the side to move has no defence against the attacker's threats."""
        if board.five_points(board.to_move):
            return False
        solution = self.solve(board, attacker)
        if solution.verdict != Verdict.WIN:
            return False
        legal = set(board.legal_points())
        doubt = False
        for reply in solution.defences:
            if reply in legal:
                board.place(reply)
                try:
                    if self.solve(board, attacker).verdict != Verdict.WIN:
                        return False
                except Unsettled:
                    doubt = True  # another reply may still refute
                finally:
                    board.undo()
        if doubt:
            raise Unsettled
        return True

    def holds(self, board: Board, move: int, deep: int = FOURS_DEEP) -> bool:
        """Return whether after a legal move of the side to move the opponent has no forced win.

        A four only postpones the question: it holds if after each answer to it some move holds.
        """
        mover = board.to_move
        board.place(move)
        try:
            fives = board.five_points(mover)
            if board.winner == mover:
                return True
            if self.solve(board, 1 - mover).verdict == Verdict.WIN:
                return False
            if not fives:
                return True
            if deep == 0:
                raise Unsettled
            answers = [p for p in board.legal_points() if self._stops(board, p, mover)]
            return all(self._after(board, answer, deep) for answer in answers)
        finally:
            board.undo()

    def _stops(self, board: Board, point: int, attacker: int) -> bool:
        board.place(point)
        stopped = not board.five_points(attacker)
        board.undo()
        return stopped

    def _after(self, board: Board, answer: int, deep: int) -> bool:
        board.place(answer)
        try:
            return board.winner == EMPTY and bool(self.holding(board, deep - 1, first=True))
        finally:
            board.undo()

    def holding(self, board: Board, deep: int = FOURS_DEEP, *, first: bool = False) -> list[int]:
        """Return the moves of the side to move that hold, or only the first one found."""
        mover = board.to_move
        if board.five_points(mover) or self.solve(board, mover).verdict == Verdict.WIN:
            return board.legal_points()[:1]
        legal = board.legal_points()
        threat = self.solve(board, 1 - mover)
        if threat.verdict == Verdict.WIN:
            legal = [p for p in legal if p in threat.defences or board.shape(p, mover) & SHAPE_FOUR]
        found: list[int] = []
        for move in legal:
            if self.holds(board, move, deep):
                found.append(move)
                if first:
                    break
        return found
