"""Typed interface of the search kernel.

Shapes: `B` trees of a batch, `C` planes, `H` `W` board, `A` = H * W, `K` root moves.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.evaluator._backend import KernelBackend
from engine.rules._board import Board
from engine.search.params import SearchParams
from engine.threats._solver import Solver

IDLE: int
"""Status: nothing is pending; `gather` will do a simulation."""
LEAF: int
"""Status: a leaf waits for its evaluation (`expand` or `scatter`)."""
SOLVED: int
"""Status: the simulation ended without an evaluation (a proof was backed up)."""
NOTHING_LEFT: int
"""Status: the root, or the root move asked for, is proven; no simulation was done."""
FULL: int
"""Status: no memory for one more node; nothing was done."""
EVALUATED: int
"""Status of `Tree.simulate`: the simulation ended with an evaluation."""
SKIP: int
"""Status set by the caller of `gather`: skip this tree."""

PROVEN_NONE: int
PROVEN_WIN: int
PROVEN_LOSS: int
PROVEN_DRAW: int

class Tree:
    """A search tree over one game. A simulation is `select` and, when it answers LEAF, `expand`.

    Edges are seen by the player who makes the move; nodes and WDL by their side to move. One thread at a time
    uses a tree and its solver. Between `_threads.begin_threads` and `end_threads` helpers search it too:
    `run` may be called as before then, everything else only inside `with tree.locked()`.
    """

    def __init__(
        self, params: SearchParams | None = None, memory_bytes: int = 67_108_864, solver: Solver | None = None
    ) -> None:
        """Make a tree without a root.

        Args:
            params: defaults if None.
            memory_bytes: limit of the node memory, at least 1 MiB; allocated when needed.
            solver: leaf solver, may be shared by trees of one thread; None: none.

        Raises:
            ValueError: too little memory.
        """

    @property
    def params(self) -> SearchParams:
        """The settings it was made with."""

    # --- position
    def set_root(self, board: Board, max_plies: int = 6) -> int:
        """Make a position the root; keep the subtree if the position descends from the old root.

        Descends: same board and rule, and at most `max_plies` added stones that can be played in turn along
        edges of the tree. Noise and exclusions of the old root do not outlive it.

        Returns:
            Visits kept, 0 for a fresh root.

        Raises:
            ValueError: the game is over or the board is full.
        """
    def clear(self) -> None:
        """Clear the tree, the root included; keep the memory for reuse."""
    def trim(self) -> None:
        """Clear the tree and free the memory."""

    # --- simulations
    def select(
        self, planes: npt.NDArray[np.float32], keys: npt.NDArray[np.uint64], root_move: int = -1
    ) -> int:
        """Walk down to a leaf and return a status.

        With LEAF, `planes` float32 [1, C, H, W] and `keys` uint64 [1] describe the position to evaluate. A
        pending leaf is dropped by the next `select` or `set_root` without a trace.

        Args:
            root_move: point of the move to begin with, -1 for the choice by PUCT.

        Raises:
            ValueError: no root, a wrong shape, or `root_move` is no move of the expanded root.
        """
    def expand(self, policy: npt.NDArray[np.float32], wdl: npt.NDArray[np.float32]) -> None:
        """Finish the simulation of the pending leaf.

        Args:
            policy: float32 [A] or [1, A], logits; masked to legal moves and normalised here.
            wdl: float32 [3] or [1, 3], probabilities for the side to move at the leaf.

        Raises:
            ValueError: nothing is pending, a wrong shape, or a value is not finite.
        """
    def run(
        self, simulations: int, backend: KernelBackend, *, vct: bool = True, limit: int | None = None
    ) -> int:
        """Do simulations with an evaluator backend, without the GIL.

        Args:
            simulations: how many.
            backend: of the evaluator (`engine.evaluator.base.Evaluator.backend`).
            vct: whether the VCT solver runs at often visited nodes, if there is a solver and the settings
                have it; `select` and `gather` always do that.
            limit: with helpers: none begins when so many simulations were done since `reset_counters`.

        Returns:
            Simulations done by the caller; fewer than asked for when the root is proven, memory is full, or
            helpers have done the rest.

        Raises:
            ValueError: no root, or an evaluation is not finite.
        """

    def simulate(self, backend: KernelBackend, root_move: int = -1) -> int:
        """Do one simulation with an evaluator backend.

        Args:
            backend: of the evaluator (`engine.evaluator.base.Evaluator.backend`).
            root_move: point of the move to begin with, -1 for the choice by PUCT.

        Returns:
            EVALUATED, SOLVED, NOTHING_LEFT or FULL.

        Raises:
            ValueError: no root, `root_move` is no move of the expanded root, or the backend has no
                callback or its evaluation is not finite.
        """

    # --- threads
    def locked(self) -> Tree:
        """Return a context manager that keeps helpers out of the tree; without threads it does nothing.

        No simulation is backed up meanwhile, so keep it short. May be nested.
        """
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

    # --- the root
    @property
    def has_root(self) -> bool:
        """Whether the root was reached by a simulation already (edges and values exist)."""
    @property
    def visits(self) -> int:
        """Visits of the root, kept ones included."""
    @property
    def proven(self) -> int:
        """PROVEN_* of the root, for its side to move."""
    @property
    def distance(self) -> int:
        """Plies until the proven game is over; 0 if not proven."""
    @property
    def wdl(self) -> tuple[float, float, float]:
        """Searched WDL of the root for its side to move; exact when proven."""
    @property
    def raw_wdl(self) -> tuple[float, float, float] | None:
        """WDL of the evaluation of the root; None without one (forced move, proven by rule)."""
    @property
    def forced(self) -> bool:
        """Whether the root has a single move by rule (block of a five)."""
    def moves(self) -> npt.NDArray[np.int32]:
        """Points of the root's moves, int32 [K]. All arrays below have this order, which simulations
        change."""
    def priors(self) -> npt.NDArray[np.float32]:
        """Priors float32 [K] over legal moves, without noise; they sum to 1."""
    def edge_visits(self) -> npt.NDArray[np.int32]:
        """Visits int32 [K]."""
    def edge_q(self) -> npt.NDArray[np.float64]:
        """Q float64 [K] in [-1, 1]: +-1 and 0 when proven, NaN without a visit."""
    def edge_minimax(self) -> npt.NDArray[np.float64]:
        """Minimax value of each move, float64 [K] in [-1, 1]: that of the net at the end of its best line.

        NaN without a visit, out of date for proven moves, not kept if `minimax_weight` is 0.
        """
    def edge_draw(self) -> npt.NDArray[np.float64]:
        """Probability of a draw float64 [K], NaN without a visit."""
    def edge_proven(self) -> npt.NDArray[np.int8]:
        """PROVEN_* int8 [K]."""
    def edge_distance(self) -> npt.NDArray[np.int32]:
        """Plies int32 [K] from the root until a proven game is over, else 0."""
    def visited_edges(self) -> list[tuple[int, int, float, int]]:
        """Return (point, visits, Q, PROVEN_*) of the root's moves that have statistics: the first of `moves`,
        in its order."""
    def proof_move(self) -> int:
        """Point that proves a won root, or the stubborn block of a root lost by rule; -1 if there is none."""
    def top_two(self) -> tuple[int, int, float, int]:
        """Point, visits and Q of the move to play by visits, and the visits of the next one; before the first
        visit that with the highest prior, (-1, 0, 0.0, 0) without an expanded root.

        Moves proven to lose do not count, unless all are.
        """
    def open_moves(self) -> int:
        """Number of root moves that are not proven to lose."""
    def pv(self, first: int = -1, limit: int = 64) -> list[int]:
        """Principal variation from the root, or behind one root move (which is then its first point)."""
    def add_root_noise(self, epsilon: float, alpha_total: float = 10.83, seed: int | None = None) -> None:
        """Mix Dirichlet noise into the root's priors: (1 - epsilon) * P + epsilon * noise.

        Replaces earlier noise of this root; on a root that is not expanded yet it is applied as soon as it
        is. A new root has no noise until this is called again.

        Args:
            alpha_total: sum of the concentration, spread evenly over the legal moves.
            seed: of this draw; None: next of the tree's own generator.
        """
    def exclude(self, points: Sequence[int], distance: int) -> None:
        """Mark moves of the expanded root as proven to lose in `distance` plies (even), which may be
        corrected later.

        Raises:
            ValueError: the root is not expanded or has no such move.
        """
    def prove(self, proven: int, distance: int, move: int) -> None:
        """Set the root's result, found outside of the tree, and the move that shows it."""

    # --- numbers
    @property
    def simulations(self) -> int:
        """Simulations since `reset_counters`."""
    @property
    def evaluations(self) -> int:
        """Leaves evaluated since `reset_counters`."""
    @property
    def solved_leaves(self) -> int:
        """New leaves proven by rule or solver since `reset_counters`."""
    @property
    def solver_nodes(self) -> int:
        """Placements of the leaf solver since `reset_counters`."""
    @property
    def depth_sum(self) -> int:
        """Sum of the depths of simulations, in plies, since `reset_counters`."""
    @property
    def depth_max(self) -> int:
        """Largest depth of a simulation since `reset_counters`, plies."""
    def reset_counters(self) -> None:
        """Set the counters of simulations, evaluations, depth and solver to zero."""
    @property
    def nodes(self) -> int:
        """Nodes that are in use, those waiting to be freed included."""
    @property
    def memory_used(self) -> int:
        """Bytes taken from the system for nodes and edges."""
    @property
    def memory_bytes(self) -> int:
        """Upper bound of `memory_used`; may be set, a smaller one takes effect when the tree is next
        cleared."""
    @memory_bytes.setter
    def memory_bytes(self, value: int) -> None: ...
    def signature(self) -> int:
        """64-bit digest of the whole tree: moves, visits, values, proofs."""
    def check(self) -> None:
        """Check the consistency of every node, for tests.

        Raises:
            AssertionError: a referenced node is dead, has fewer references than edges to it, or is not in the
                index; or its statistics do not match its edges (`kernel/backup.pxd`).
        """
    def dump(self, max_nodes: int = 1_000_000) -> list[tuple[object, ...]]:
        """Every node in preorder, for tests: (path, visits, weight, W, proven, distance, n_moves, ((move,
        visits), ...))."""

def gather(
    trees: Sequence[Tree],
    planes: npt.NDArray[np.float32],
    keys: npt.NDArray[np.uint64],
    status: npt.NDArray[np.int32],
    root_moves: npt.NDArray[np.int32] | None = None,
    tries: int = 1,
) -> int:
    """Start a simulation in many trees at once, without the GIL.

    Trees whose status is SKIP stay as they are; every other status is overwritten. Planes and keys of the
    k-th tree with status LEAF (in order of trees) are written to row k.

    Args:
        trees: B different trees with boards of one size.
        planes: float32 [>= B, C, H, W].  keys: uint64 [>= B].  status: int32 [B], in and out.
        root_moves: int32 [B], move of the root to begin with (-1: by PUCT); None: PUCT for all.
        tries: simulations a tree may do in this call until one needs the evaluator.

    Returns:
        Number of leaves to evaluate.

    Raises:
        ValueError: a wrong shape, different board sizes, or a root move that the root does not have.
    """

def scatter(
    trees: Sequence[Tree],
    policy: npt.NDArray[np.float32],
    wdl: npt.NDArray[np.float32],
    status: npt.NDArray[np.int32],
) -> None:
    """Finish the simulations that `gather` began: row k belongs to the k-th tree with status LEAF, which
    becomes IDLE.

    Args:
        policy: float32 [>= leaves, A], logits.  wdl: float32 [>= leaves, 3], probabilities.
    """
