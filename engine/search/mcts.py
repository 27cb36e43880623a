"""One search: simulations until a stopper ends it, the solver at the root, the choice of the move."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from engine.encoding import N_PLANES
from engine.evaluator.base import LINE_NET_COST, Evaluator
from engine.rules._board import Board
from engine.search import _tree
from engine.search._tree import Tree
from engine.search.params import SearchParams
from engine.search.result import MoveStats, Proof, SearchResult, Wdl
from engine.search.root_solver import RootSolver
from engine.search.stoppers import SearchState, Stopper
from engine.search.threads import HelperThreads
from engine.threats._solver import Solver

INFO_INTERVAL_S = 0.5
"""Seconds between reports of a running search (derived: reading speed)."""
FIRST_INFO_S = 0.05
"""Seconds until the first report if reports are more frequent (derived: looks immediate)."""
KERNEL_SLICE_S = 0.001
"""Seconds that the kernel runs between calls of the stoppers (derived: far below any margin)."""
CHECK_EVERY = 32
"""Simulations between updates of the search state (derived: 2 us of 32 x 50 us)."""
FIRST_CHECKS = 4
"""First simulations that are each followed by an update (derived: the root solver starts with 4 queries)."""
VCT_COST = LINE_NET_COST
"""Smallest `Evaluator.cost` with which the VCT solver runs inside the tree (derived: it would take most of
the time of cheaper simulations)."""
PV_MOVES = 8
"""Moves of a result that carry a principal variation (derived: more are seldom read)."""

_PROOFS: dict[int, Proof | None] = {
    _tree.PROVEN_NONE: None,
    _tree.PROVEN_WIN: "win",
    _tree.PROVEN_LOSS: "loss",
    _tree.PROVEN_DRAW: "draw",
}
_EXACT: dict[Proof, Wdl] = {"win": (1.0, 0.0, 0.0), "draw": (0.0, 1.0, 0.0), "loss": (0.0, 0.0, 1.0)}


class Search:
    """Searches positions of a game and keeps the tree between them."""

    def __init__(
        self,
        params: SearchParams | None = None,
        memory_bytes: int = 256 << 20,
        *,
        solver: bool = True,
        threads: int = 1,
        now_s: Callable[[], float] = time.monotonic,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Create a search with an empty tree.

        Args:
            params: defaults if None.
            memory_bytes: limit of the node memory, at least 1 MiB; allocated when needed.
            solver: search for VCF and VCT wins, at leaves and at the root.
            threads: how many search, where the evaluator has a backend; see `engine.search.threads`.
            now_s: monotonic clock of the stoppers, seconds.
            log: receives one-line messages for users.

        Raises:
            ValueError: too little memory.
        """
        self.params = params or SearchParams()
        self._now_s = now_s
        self.info_interval_s = INFO_INTERVAL_S
        """Seconds between reports of a running search."""
        self._solver = Solver(self.params.solver_table_log2) if solver else None
        self.tree = Tree(self.params, memory_bytes, self._solver)
        self.threads = threads
        """Threads of a search (any thread). A running one gets fewer at once, never more."""
        self.helpers = HelperThreads(self.tree, self.params.solver_table_log2 if solver else None, log)
        """The threads besides the caller's."""
        self._root_solver: RootSolver | None = None

    def set_memory(self, memory_bytes: int) -> None:
        """Set the limit of the node memory; a larger tree is freed."""
        self.tree.memory_bytes = memory_bytes
        if self.tree.memory_used > memory_bytes:
            self.tree.trim()

    def clear(self) -> None:
        """Clear the tree and the solver; keep the memory for reuse."""
        self.tree.clear()
        if self._solver is not None:
            self._solver.clear()
        self.helpers.clear()

    def search(
        self,
        board: Board,
        evaluator: Evaluator,
        stoppers: Sequence[Stopper],
        on_info: Callable[[SearchResult], None] | None = None,
    ) -> SearchResult:
        """Search a position until a stopper ends it, the root is proven, or memory is full.

        At least one simulation is done, so that there is a move. The result is deterministic if all stoppers
        count simulations and one thread searches.

        Args:
            board: the position; it is copied.
            evaluator: called through its `backend` if it has one.
            stoppers: called after each simulation (with a backend after about a millisecond, and at each
                update of the state).
            on_info: receives intermediate results every `info_interval_s`.

        Raises:
            ValueError: the game is over, or an evaluation is not finite.
        """
        tree = self.tree
        self._set_root(board)
        tree.reset_counters()
        now_s = self._now_s()
        state = SearchState(started_s=now_s, now_s=now_s)
        self._root_solver = None
        if self._solver is not None:
            budget = self.params.root_solver_nodes
            nodes = max(1, int(budget * evaluator.cost)) if budget else 0
            self._root_solver = RootSolver(self._solver, tree, board, nodes)

        def stop_reason() -> str | None:
            for stopper in stoppers:
                reason = stopper.should_stop(state)
                if reason is not None:
                    return reason
            return None

        backend, vct = evaluator.backend, evaluator.cost >= VCT_COST
        if backend is not None:
            run = functools.partial(tree.run, backend=backend, vct=vct)
            simulate = self._kernel_steps(lambda slice_, limit: run(slice_, limit=limit), state)
        else:
            simulate = self._net_steps(board, evaluator)
        info_s = now_s + (FIRST_INFO_S if self.info_interval_s < INFO_INTERVAL_S else self.info_interval_s)
        with self.helpers.searching(self.threads, backend, vct=vct):
            while True:
                self.helpers.limit(self.threads)
                next_check = _next_check_at(state.simulations)
                alive = simulate(next_check - state.simulations)
                state.now_s = now_s = self._now_s()
                with tree.locked():
                    state.simulations = tree.simulations
                    state.evaluations = tree.evaluations
                    due = state.simulations >= next_check
                    if due or not alive:
                        self._update_state(state)
                reason = stop_reason()
                if reason is not None:
                    break
                if not alive:
                    state.memory_full = state.proven is None
                    reason = stop_reason() or ("memory" if state.memory_full else f"proven {state.proven}")
                    break
                if due and self._root_solver is not None and self._root_solver.due(state.simulations):
                    self._root_solver.step(lambda: self._stops_now(state, stop_reason))
                    with tree.locked():
                        self._update_state(state)
                if on_info is not None and now_s >= info_s:
                    info_s = now_s + self.info_interval_s
                    with tree.locked():
                        so_far = self.result(state, "")
                    on_info(so_far)
        return self.result(state, reason)

    def _set_root(self, board: Board) -> None:
        """Move the root; start afresh where it is proven, but by no move that is known.

        That move was freed, or the proof came from the node above, where the solver found that a move does
        not stop a win (`restrict_moves`).
        """
        tree = self.tree
        tree.set_root(board)
        proven, moves = tree.proven, len(tree.moves())
        unknown = proven not in (_tree.PROVEN_NONE, _tree.PROVEN_LOSS) and moves and tree.proof_move() < 0
        if unknown or (proven != _tree.PROVEN_NONE and not moves and not tree.pv()):
            tree.clear()
            tree.set_root(board)

    def _stops_now(self, state: SearchState, stop_reason: Callable[[], str | None]) -> bool:
        state.now_s = self._now_s()
        return stop_reason() is not None

    def _net_steps(self, board: Board, evaluator: Evaluator) -> Callable[[int], bool]:
        """Return a function that does one simulation and returns whether another is possible."""
        planes = np.zeros((1, N_PLANES, board.height, board.width), dtype=np.float32)
        keys = np.zeros(1, dtype=np.uint64)
        select, expand, evaluate = self.tree.select, self.tree.expand, evaluator.evaluate
        leaf, solved = _tree.LEAF, _tree.SOLVED

        def step(max_simulations: int) -> bool:
            status = select(planes, keys)
            if status == leaf:
                policy, wdl = evaluate(planes, keys)
                expand(policy, wdl)
                return True
            return status == solved

        return step

    def _kernel_steps(self, run: Callable[[int, int], int], state: SearchState) -> Callable[[int], bool]:
        """Return a function that runs the kernel for about a millisecond and returns whether it can continue.

        The function takes the largest number of simulations.

        Args:
            run: does a number of simulations and returns how many were completed.
            state: `max_slice` limits a slice, and what all threads may do until the next one.
        """
        wanted = 1
        tree = self.tree

        def step(max_simulations: int) -> bool:
            nonlocal wanted
            slice_ = max(1, min(wanted, state.max_slice, max_simulations))
            # Before the first simulation no stopper was asked.
            limit = state.simulations + max(1, state.max_slice) if state.simulations else 1
            begin_s = self._now_s()
            done = run(slice_, limit)
            took_s = self._now_s() - begin_s
            if took_s < KERNEL_SLICE_S / 2:
                wanted = min(1024, 2 * wanted)
            elif took_s > KERNEL_SLICE_S:
                wanted = max(1, wanted // 2)
            state.max_slice = 1 << 30
            if done == slice_:
                return True
            with tree.locked():  # the others may have done the rest
                return tree.proven == _tree.PROVEN_NONE and tree.simulations >= limit

        return step

    def _update_state(self, state: SearchState) -> None:
        """Update the fields of the state that describe the root."""
        tree = self.tree
        state.updated_at = state.simulations
        state.proven = _PROOFS[tree.proven]
        point, state.best_visits, state.best_q, state.second_visits = tree.top_two()
        if state.proven is not None:
            proof = tree.proof_move()
            point = proof if proof >= 0 else point
            state.best_q = tree.wdl[0] - tree.wdl[2]
        state.best_point = point
        state.single_move = state.proven is None and tree.open_moves() == 1
        state.pv_length = len(tree.pv())

    def result(self, state: SearchState, reason: str) -> SearchResult:
        """Return the current result."""
        tree = self.tree
        candidates = self._candidates()
        proven = _PROOFS[tree.proven]
        pv = candidates[0].pv
        if proven is not None and self._root_solver is not None:
            pv = self._root_solver.pv or self._root_solver.extended_pv(pv, tree.distance)
        done = max(1, tree.simulations)
        return SearchResult(
            point=pv[0],
            wdl=tree.wdl,
            visits=tree.visits,
            simulations=tree.simulations,
            evaluations=tree.evaluations,
            depth_mean=tree.depth_sum / done,
            depth_max=tree.depth_max,
            pv=pv,
            proven=proven,
            distance=tree.distance if proven is not None else None,
            elapsed_s=self._now_s() - state.started_s,
            stop_reason=reason,
            candidates=candidates,
        )

    def _candidates(self) -> tuple[MoveStats, ...]:
        """Return all root moves, best first."""
        tree = self.tree
        root_wdl, root_q = tree.wdl, tree.wdl[0] - tree.wdl[2]
        moves = tree.moves()
        proof = tree.proof_move()
        if len(moves) == 0:  # proven by the position itself
            proven = _PROOFS[tree.proven]
            return (MoveStats(proof, 0, 1.0, root_q, root_wdl, proven, tree.distance, tuple(tree.pv())),)
        columns = zip(
            moves.tolist(), tree.edge_visits().tolist(), tree.priors().tolist(), tree.edge_q().tolist(),
            tree.edge_draw().tolist(), tree.edge_proven().tolist(), tree.edge_distance().tolist(),
            strict=True,
        )  # fmt: skip
        stats = []
        for point, visits, prior, q, draw, code, distance in columns:
            proven = _PROOFS[code]
            wdl = root_wdl
            if proven is not None:
                wdl = _EXACT[proven]
            elif visits > 0:
                wdl = ((1 - draw + q) / 2, draw, (1 - draw - q) / 2)
            value = root_q if proven is None and visits == 0 else q
            plies = distance if proven is not None else None
            stats.append(MoveStats(point, visits, prior, value, wdl, proven, plies, (point,)))
        stats.sort(key=_rank)
        stats = self._apply_lcb(stats)
        if proof >= 0:
            stats.sort(key=lambda move: move.point != proof)
        return tuple(
            MoveStats(m.point, m.visits, m.prior, m.q, m.wdl, m.proven, m.distance, tuple(tree.pv(m.point)))
            if i < PV_MOVES and m.visits > 0 else m
            for i, m in enumerate(stats)
        )  # fmt: skip

    def _apply_lcb(self, ranked: list[MoveStats]) -> list[MoveStats]:
        """Move the move with the highest lower confidence bound (LCB) to the front.

        LCB = Q' - lcb_stdev / sqrt(visits), Q' = Q + final_minimax_weight * (minimax value - Q), for moves
        with at least `lcb_min_visit_ratio` of the visits of the most visited one. From Leela Zero
        (https://github.com/leela-zero/leela-zero/pull/2290), with a constant standard deviation.
        """
        best = ranked[0]
        if best.proven in ("win", "loss") or best.visits == 0:
            return ranked
        params = self.params
        min_visits = params.lcb_min_visit_ratio * best.visits
        eligible = [m for m in ranked if m.proven == "draw" or (m.proven is None and m.visits >= min_visits)]
        moves, best_lines = self.tree.moves().tolist(), self.tree.edge_minimax().tolist()
        ends: dict[int, float] = dict(zip(moves, best_lines, strict=True))
        share = params.final_minimax_weight if params.minimax_weight > 0 else 0.0

        def lcb(move: MoveStats) -> float:
            if move.proven:
                return move.q
            return move.q + share * (ends[move.point] - move.q) - params.lcb_stdev / math.sqrt(move.visits)

        chosen = max(eligible, key=lcb)
        if lcb(chosen) <= lcb(best):
            return ranked
        return [chosen, *(m for m in ranked if m is not chosen)]


def _next_check_at(simulations: int) -> int:
    """Return the simulations at which the state is updated next; independent of speed."""
    if simulations < FIRST_CHECKS:
        return simulations + 1
    return (simulations // CHECK_EVERY + 1) * CHECK_EVERY


def _rank(move: MoveStats) -> tuple[float, ...]:
    """Sort key: wins by distance, then by visits, then losses, the longest first."""
    if move.proven == "win":
        return (0, move.distance or 0)
    if move.proven == "loss":
        return (2, -(move.distance or 0), -move.visits, -move.prior)
    return (1, -move.visits, -move.q, -move.prior, move.point)
