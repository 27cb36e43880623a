"""Positions inside a proof: the end of a won game, which self-play cuts off.

Self-play ends a game as soon as a win is proven. So a net never learns what positions inside such wins are
worth, though a search meets them at its leaves, where only wins by fours are solved. Here the proof's own
line is played on and recorded, without policies, up to where the winner has a short win by fours, which no
search asks a net about. Proven positions of the search as samples for the value are an idea of Athenan
(https://arxiv.org/abs/2012.10700).
"""

from __future__ import annotations

from engine.rules._board import EMPTY, Board
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from training.data.records import End, Flag, SelfPlayRecord, extended

SHORT_NODES = 60
"""Placements that find a win by fours which a search's leaves need no net for (as `leaf_vcf_nodes`)."""


def played_on(record: SelfPlayRecord, solver: Solver, nodes: int) -> SelfPlayRecord:
    """Return a game with the positions behind its proof; as it is where it has none, or none that is found.

    The winner stays the same, and so does the reason of the end.

    Args:
        record: of a game. Its last position must be a proven win for the side to move.
        solver: that proves the win again.
        nodes: that it may spend.
    """
    if record.end != End.PROVEN or not record.flags[-1] & Flag.PROVEN_WIN:
        return record
    board = Board(record.width, record.height, record.rule)
    for point in record.moves.tolist():
        board.place(point)
    solution = solver.solve(board, "vct", nodes=nodes)
    if solution.verdict is not Verdict.WIN:
        return record
    winner, line, flags = board.to_move, list(solution.pv), []
    for point in line:
        if board.winner != EMPTY or board.cell(point) != EMPTY:
            return record  # a side without a legal answer passes in such a line; a game has no passes
        board.place(point)
        if board.winner != EMPTY:
            break
        if board.to_move == winner and _short(board, solver):
            break
        flags.append(Flag.PROVEN_WIN if board.to_move == winner else Flag.PROVEN_LOSS)
    if not flags:
        return record
    values = {Flag.PROVEN_WIN: [255, 0], Flag.PROVEN_LOSS: [0, 255]}
    return extended(record, line[: len(flags)], [{"flags": flag, "root_wl": values[flag]} for flag in flags])


def _short(board: Board, solver: Solver) -> bool:
    return solver.solve(board, "vcf", nodes=SHORT_NODES).verdict is Verdict.WIN
