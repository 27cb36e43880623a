"""Faults of the search that the signature of `python -m engine bench` must show, one for each part of it."""

from tests.mutation.table import Mutation

SHARE = 1.0
KERNEL = "engine/search/kernel/*.pxd"
BENCH = ("-m", "engine", "bench")


def _fault(name: str, old: str, new: str, file: str = KERNEL) -> Mutation:
    return Mutation(name, file, old, new, BENCH, by_output=True)


MUTATIONS = (
    _fault(
        "threes: own wins by fours and threes are not believed",
        "if result.verdict == SOLVER_WIN:\n        sim.status = proven_status(PROVEN_WIN",
        "if result.verdict == SOLVER_WIN and result.distance < 6:\n"
        "        sim.status = proven_status(PROVEN_WIN",
    ),
    _fault(
        "threes: asked one visit later",
        "node.visits >= round_visits(&t.settings, node.solver_rounds)",
        "node.visits > round_visits(&t.settings, node.solver_rounds)",
    ),
    _fault(
        "threes: the budget does not grow with the rounds",
        "return s.tree_vct_nodes * s.tree_vct_visits << (rounds - 1)",
        "return s.tree_vct_nodes * s.tree_vct_visits",
    ),
    _fault(
        "threes: looked for although the opponent wins by fours",
        "        solver.vcf(b, b.to_move, budget, &result)       # fours",
        "        solver.vct(b, b.to_move, budget, &result)       # fours",
    ),
    _fault(
        "fours: not asked at new leaves",
        "if status.kind == LEAF_OPEN and t.settings.leaf_vcf_nodes > 0:",
        "if status.kind == LEAF_OPEN and t.settings.leaf_vcf_nodes > 60:",
    ),
    _fault(
        "defences: one of those that the solver names is forgotten",
        "&t.graph, &w.flight.path, node, points, n, result.longest + 1, ",
        "&t.graph, &w.flight.path, node, points, n - (n > 1), result.longest + 1, ",
    ),
    _fault(
        "take_back: what a narrowed move had brought stays above its node",
        "for i in range(path.depth - 1, -1, -1):\n        above = ",
        "for i in range(path.depth - 1, 0, -1):\n        above = ",
    ),
    _fault(
        "remove_child_stats: a proven loss keeps its draws in the average",
        "lost.draw = -child.draw_sum\n",
        "lost.draw = 0\n",
    ),
    _fault(
        "transpositions: a known node is visited as if it were new",
        "return child.proven != PROVEN_NONE or (child.shared and edge.visits < child.visits)",
        "return child.proven != PROVEN_NONE",
    ),
    _fault(
        "update: a move of a shared node counts all its evaluations",
        "if edge.visits < child.visits and weight > 0:",
        "if edge.visits < child.visits and weight > 1000000:",
    ),
    _fault(
        "minimax share: moves proven to draw do not count in the best line",
        "if edges[i].proven == PROVEN_DRAW and best < 0:",
        "if edges[i].proven == PROVEN_DRAW and best > 127:",
    ),
    _fault(
        "minimax share: the end of the best line is seen by the wrong side",
        "edge.minimax = <int8_t>-minimax_value(memory, child)",
        "edge.minimax = <int8_t>minimax_value(memory, child)",
    ),
    _fault(
        "FPU: the visited share of the prior does not matter",
        "node_value(node) - reduction * sqrt(explored / remain)",
        "node_value(node) - reduction",
    ),
    _fault(
        "FPU: the root is treated as any node",
        "s.fpu_reduction_root if at_root else s.fpu_reduction",
        "s.fpu_reduction if at_root else s.fpu_reduction",
    ),
    _fault(
        "priors: the temperature is not used",
        "moves.n, inverse_temperature, priors)",
        "moves.n, 1.0, priors)",
    ),
    _fault(
        "PUCT: exploration does not grow with visits",
        "(s.c_puct + s.c_puct_log * log_positive(1.0 + n / s.c_puct_base)) * sqrt(n)",
        "s.c_puct * sqrt(n)",
    ),
    _fault(
        "widen: moves beyond the first ones have no prior",
        "priors[k] = pack_prior(node.tail_prior)\n            moves[k] = legal.points[i]",
        "priors[k] = 0\n            moves[k] = legal.points[i]",
    ),
    _fault(
        "backup: a proven node takes one more simulation",
        "return infer_proof(memory, node, edge)",
        "return infer_proof(memory, node, edge) and node.visits % 2 == 0",
    ),
    _fault(
        "conclude: the shortest defence counts for a lost node",
        "if edges[i].proven == proven and edges[i].distance > distance:",
        "if edges[i].proven == proven and (distance == 0 or edges[i].distance < distance):",
    ),
    _fault(
        "reroot: a tree is kept only for the side that was to move",
        "if n[first] - n[1 - first] == (first != to.to_move):",
        "if n[first] == n[1 - first] and first == to.to_move:",
    ),
    _fault(
        "reroot: moves that the old node had not stored stay away",
        "if has_moves(t):\n        store_all_moves(t, &t.main, root_of(t)",
        "if not has_moves(t):\n        store_all_moves(t, &t.main, root_of(t)",
    ),
    _fault(
        "prover: a win of its own is not told to the tree",
        "self._tree.prove(_tree.PROVEN_WIN, answer.distance, answer.pv[0])",
        "pass",
        "engine/search/root_solver.py",
    ),
    _fault(
        "prover: the opponent's threats are not asked about",
        '_Query("vcf", False, FIRST_VCF_NODES),',
        "",
        "engine/search/root_solver.py",
    ),
    _fault(
        "prover: the best move is not checked",
        "self._tree.exclude([point], answer.distance + 1)\n            elif",
        "pass\n            elif",
        "engine/search/root_solver.py",
    ),
    _fault(
        "prover: budgets do not follow the simulations",
        "if self._spent > self._nodes_a_simulation * simulations:",
        "if self._spent > self._nodes_a_simulation:",
        "engine/search/root_solver.py",
    ),
    _fault(
        "choice: the most visited move whatever its value",
        "stats = self._apply_lcb(stats)\n",
        "pass\n",
        "engine/search/mcts.py",
    ),
)
