"""Interface of pure Monte Carlo tree search with random playouts, an opponent to measure against."""

from engine.rules._board import Board

def rollout_move(board: Board, simulations: int, seed: int, c_puct: float = 5.0) -> int:
    """Return the most visited move of a tree search that values leaves by one random game each.

    Uniform priors, no net, no solver: the "pure MCTS" that other projects measure against. Deterministic
    for (position, simulations, seed).

    Args:
        board: the position; unchanged on return.
        simulations: random games, at least 1.
        seed: of the random games, 0 to 2**64 - 1.
        c_puct: weight of exploration; 5 is what those projects use.

    Raises:
        ValueError: the game is over, no legal move, or no simulations.
    """
