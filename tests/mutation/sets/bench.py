"""Faults of the search that the signature of `python -m engine bench` must show, one for each part of it."""

from tests.mutation.table import Mutation

SHARE = 1.0
KERNEL = "engine/search/**/*.p[yx][xd]"
BENCH = ("-m", "engine", "bench")


def _fault(name: str, old: str, new: str, file: str = KERNEL) -> Mutation:
    return Mutation(name, file, old, new, BENCH, by_output=True)


MUTATIONS = (
    _fault(
        "threes: own wins by fours and threes are not believed",
        "self.solver.vct(b, b.to_move, budget, &result)\n"
        "        self.solver_nodes += result.nodes\n"
        "        if result.verdict == SOLVER_WIN:",
        "self.solver.vct(b, b.to_move, budget, &result)\n"
        "        self.solver_nodes += result.nodes\n"
        "        if result.verdict == SOLVER_WIN and result.distance < 6:",
    ),
    _fault(
        "threes: asked one visit later",
        "node.visits >= self.solver_visits(node.solver_level)",
        "node.visits > self.solver_visits(node.solver_level)",
    ),
    _fault(
        "threes: the budget does not grow with the level",
        "self.tree_vct_nodes * self.solver_visits(node.solver_level)",
        "self.tree_vct_nodes * self.solver_visits(1)",
    ),
    _fault(
        "fours: not asked at new leaves",
        "if found == POSITION_OPEN and self.leaf_vcf_nodes > 0 and self.solve_fours(b):",
        "if found == POSITION_OPEN and self.leaf_vcf_nodes > 60 and self.solve_fours(b):",
    ),
    _fault(
        "defences: one of those that the solver names is forgotten",
        "not self.narrow(node, points, n, result.distance + 1)",
        "not self.narrow(node, points, n - (n > 1), result.distance + 1)",
    ),
    _fault(
        "narrow: the prior of dropped moves is not shared",
        "node.settled_prior += <float>dropped",
        "node.settled_prior += 0",
    ),
    _fault(
        "take_back: what a narrowed move had brought stays above its node",
        "for i in range(self.depth - 1, -1, -1):\n            above = node_at(self, self.path[i])",
        "for i in range(self.depth - 1, 0, -1):\n            above = node_at(self, self.path[i])",
    ),
    _fault(
        "withdraw: a proven loss keeps its draws in the average",
        "d_draw[0] = -child.draw_sum\n",
        "d_draw[0] = 0\n",
    ),
    _fault(
        "transpositions: a known node is visited as if it were new",
        "return child.proven != PROVEN_NONE or (child.shared and stat.visits < child.visits)",
        "return child.proven != PROVEN_NONE",
    ),
    _fault(
        "carry: a move of a shared node counts all its evaluations",
        "if stat.visits < child.visits and weight > 0:",
        "if stat.visits < child.visits and weight > 1000000:",
    ),
    _fault(
        "minimax share: moves proven to draw do not count in the best line",
        "if stats[i].proven == PROVEN_DRAW and best < 0:",
        "if stats[i].proven == PROVEN_DRAW and best > 127:",
    ),
    _fault(
        "minimax share: the end of the best line is seen by the wrong side",
        "stat.best = <int8_t>-self.best_raw(child)",
        "stat.best = <int8_t>self.best_raw(child)",
    ),
    _fault(
        "FPU: the visited share of the prior does not matter",
        "fpu -= reduction * sqrt(explored / remain)",
        "fpu -= reduction",
    ),
    _fault(
        "FPU: the root is treated as any node",
        "self.fpu_reduction_root if ref == self.root else self.fpu_reduction",
        "self.fpu_reduction if ref == self.root else self.fpu_reduction",
    ),
    _fault(
        "priors: the temperature is not used",
        "weights[i] = (weights[i] - top) * self.inverse_temperature",
        "weights[i] = weights[i] - top",
    ),
    _fault(
        "PUCT: exploration does not grow with visits",
        "(self.c_puct + self.c_puct_log * log_positive(1.0 + n / self.c_puct_base)) * sqrt(n)",
        "self.c_puct * sqrt(n)",
    ),
    _fault(
        "widen: moves beyond the first 32 have no prior",
        "priors[k] = node.tail_prior\n                moves[k] = self.candidates[i]",
        "priors[k] = 0\n                moves[k] = self.candidates[i]",
    ),
    _fault(
        "backup: a proven node takes one more simulation",
        "changed = self.settle(node, stat)",
        "changed = self.settle(node, stat) and node.visits % 2 == 0",
    ),
    _fault(
        "settle: the shortest defence counts for a lost node",
        "if stats[i].proven == proven and stats[i].distance > distance:",
        "if stats[i].proven == proven and (distance == 0 or stats[i].distance < distance):",
    ),
    _fault(
        "reroot: a tree is kept only for the side that was to move",
        "if fits and ahead == (old.to_move != to.to_move):",
        "if fits and ahead == 0 and old.to_move == to.to_move:",
    ),
    _fault(
        "reroot: moves that the old node had not stored stay away",
        "if node.moves != 0 and node.n_moves < node.n_legal:\n            self.widen(node, self.board.state)",
        "if node.moves == 0 and node.n_moves < node.n_legal:\n            self.widen(node, self.board.state)",
    ),
    _fault(
        "prover: a win of its own is not told to the tree",
        "self._tree.prove(_tree.PROVEN_WIN, answer.distance, answer.pv[0])",
        "pass",
        "engine/search/prover.py",
    ),
    _fault(
        "prover: the opponent's threats are not asked about",
        '_Question("vcf", False, FIRST_VCF_NODES),',
        "",
        "engine/search/prover.py",
    ),
    _fault(
        "prover: the best move is not checked",
        "self._tree.exclude([point], answer.distance + 1)\n            elif",
        "pass\n            elif",
        "engine/search/prover.py",
    ),
    _fault(
        "prover: budgets do not follow the simulations",
        "if self._spent > self._nodes_a_simulation * simulations:",
        "if self._spent > self._nodes_a_simulation:",
        "engine/search/prover.py",
    ),
    _fault(
        "choice: the most visited move whatever its value",
        "stats = self._prefer_better(stats)\n",
        "",
        "engine/search/mcts.py",
    ),
)
