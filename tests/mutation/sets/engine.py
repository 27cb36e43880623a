"""Faults of engine and protocol that the fast tests must notice, with the test files that ought to."""

from tests.mutation.table import Mutation, pytest

SHARE = 0.95
ENGINE = pytest("tests/engine/test_engine.py", "tests/engine/test_engine_answers.py")
TIMING = pytest("tests/engine/timing/test_timing.py", "tests/engine/test_control.py")
SEARCH = pytest("tests/engine/search/test_search.py", "tests/engine/search/test_root_solver.py")
SESSION = pytest(
    "tests/protocol/test_conversation.py", "tests/protocol/test_query.py",
    "tests/protocol/test_worker.py",
)  # fmt: skip
SETTINGS = pytest("tests/protocol/test_settings.py")
EVALUATOR = pytest("tests/engine/evaluator/test_evaluator.py")
DEFENCES = pytest("tests/engine/search/test_defences.py")
OLDER = pytest("tests/engine/test_older_planes.py")

MUTATIONS = (
    Mutation(
        "clock: the increment is counted in full",
        "engine/timing/budget.py",
        "0.8 * increment_s * (1 - 1 / moves_to_go)",
        "increment_s",
        TIMING,
    ),
    Mutation(
        "clock: a late question is answered for at once",
        "engine/timing/budget.py",
        "max(arrival_s + budget.answer_s, begun_s + IMMEDIATE_ANSWER_S)",
        "arrival_s + budget.answer_s",
        ENGINE,
    ),
    Mutation(
        "control: new limits count from the start of the process",
        "engine/control.py",
        "self._answer_s = self.arrival_s + budget.answer_s",
        "self._answer_s = budget.answer_s",
        TIMING,
    ),
    Mutation(
        "control: one simulation more than allowed",
        "engine/control.py",
        "if state.simulations >= self._max_nodes:",
        "if state.simulations > self._max_nodes:",
        TIMING,
    ),
    Mutation(
        "fallback: the opponent's five before the own one",
        "engine/fallback.py",
        "    fives = board.five_points(own)\n    if fives:\n        return fives[0]",
        "    fives = board.five_points(1 - own)\n    if fives:\n        return fives[0]",
        ENGINE,
    ),
    Mutation(
        "fallback: a forced block may be forbidden",
        "engine/fallback.py",
        "        if not board.is_forbidden(block, own):\n",
        "        if True:\n",
        ENGINE,
    ),
    Mutation(
        "opening: the middle of a rectangle is taken for that of another one",
        "engine/opening.py",
        "(board.height // 2) * board.width + board.width // 2",
        "(board.width // 2) * board.width + board.height // 2",
        ENGINE,
    ),
    Mutation(
        "engine: the value of the last search is expected two moves too long",
        "engine/engine.py",
        "last[0] != board.stones()[:-2]",
        "last[0] != board.stones()[: len(last[0])]",
        ENGINE,
    ),
    Mutation(
        "engine: a new memory limit does not reach the tree",
        "engine/engine.py",
        "        return self._resources.set_memory(max_bytes)\n",
        "        return None\n",
        pytest("tests/engine/test_memory.py"),
    ),
    Mutation(
        "position: taking a stone back gives the turn to the other colour",
        "engine/position.py",
        "return rest, to_move if removed[0] == OBSTACLE else removed[0]",
        "return rest, to_move if removed[0] == OBSTACLE else 1 - removed[0]",
        SESSION,
    ),
    Mutation(
        "prover: a threat of the opponent leaves all moves in play",
        "engine/search/root_solver.py",
        "tree.exclude([p for p in moves if p not in defences], threat.longest + 1)",
        "tree.exclude([], threat.longest + 1)",
        SEARCH,
    ),
    Mutation(
        "search: the longest defence comes last",
        "engine/search/mcts.py",
        "return (2, -(move.distance or 0), -move.visits, -move.prior)",
        "return (2, move.distance or 0, -move.visits, -move.prior)",
        SEARCH,
    ),
    Mutation(
        "solver: a stopped win has no move",
        "engine/threats/_solver.pyx",
        "4 * nodes) or [out.move]",
        "4 * nodes)",
        pytest("tests/engine/threats/test_solver.py"),
    ),
    Mutation(
        "planes: the opponent's fives are marked as own ones",
        "engine/_encoding.pyx",
        "out[(PLANE_OWN_FIVE + side) * n + i] = 1",
        "out[PLANE_OWN_FIVE * n + i] = 1",
        pytest("tests/engine/test_encoding.py"),
    ),
    Mutation(
        "planes: where the opponent would begin is marked as what stops it",
        "engine/_encoding.pyx",
        "out[PLANE_THREAT_MOVE * n + threat.move] = 1",
        "out[PLANE_THREAT_DEFENCE * n + threat.move] = 1",
        pytest("tests/engine/test_encoding.py"),
    ),
    Mutation(
        "leaf: all moves are kept although the opponent threatens to win",
        "engine/search/kernel/simulate.pxd",
        "return keep_defences(&sim.threat, &sim.moves)",
        "return status",
        DEFENCES,
    ),
    Mutation(
        "leaf: the root keeps only its defences too",
        "engine/search/kernel/simulate.pxd",
        "t.settings.leaf_defences and sim.placed > 0:",
        "t.settings.leaf_defences:",
        DEFENCES,
    ),
    Mutation(
        "leaf: a position without a defence is lost without a move",
        "engine/search/kernel/leaf.pxd",
        "return proven_status(PROVEN_LOSS, threat.longest + 1, move)",
        "return proven_status(PROVEN_LOSS, threat.longest + 1, NO_MOVE)",
        DEFENCES,
    ),
    Mutation(
        "defences: the prior of dropped moves is not shared",
        "engine/search/kernel/expand.pxd",
        "node.proven_prior += <float>dropped",
        "node.proven_prior += 0",
        DEFENCES,
    ),
    Mutation(
        "nets: an older one gets the first planes of today",
        "engine/evaluator/onnx.py",
        "planes[:, self._planes]",
        "planes[:, : len(self._planes)]",
        OLDER,
    ),
    Mutation(
        "nets: the weights of an older line net are padded at the end",
        "engine/encoding.py",
        "index[axis] = list(PLANES_OF[version])",
        "index[axis] = list(range(len(PLANES_OF[version])))",
        OLDER,
    ),
    Mutation(
        "cache: an answer is kept that the net overwrites",
        "engine/evaluator/cache.py",
        "self._put(key, policy.copy(), wdl.copy())",
        "self._put(key, policy, wdl)",
        EVALUATOR,
    ),
    Mutation(
        "symmetry: the policy is turned once more instead of back",
        "engine/evaluator/symmetry.py",
        "inverse_symmetry(symmetry)",
        "symmetry",
        EVALUATOR,
    ),
    Mutation(
        "worker: clear_tree is skipped on a new game",
        "protocol/worker.py",
        "if query.clear_tree:",
        "if query.clear_tree and not query.new_game:",
        SESSION,
    ),
    Mutation(
        "conversation: the answer to a dropped query is given",
        "protocol/conversation.py",
        "if query is None or outcome.token != query.token:",
        "if query is None:",
        SESSION,
    ),
    Mutation(
        "settings: an INFO starts the clock of every later move",
        "protocol/settings.py",
        'told_s, self.told_s = self.told_s, float("-inf")',
        "told_s = self.told_s",
        SETTINGS,
    ),
    Mutation(
        "settings: the increment is not added to the time left",
        "protocol/settings.py",
        "int(self.time_left_ms - spent_ms) + self.increment_ms",
        "int(self.time_left_ms - spent_ms)",
        SETTINGS,
    ),
    Mutation(
        "event loop: what came with the first bytes is charged from its arrival",
        "protocol/worker.py",
        "        if line.first:\n            return self._process_started_s\n",
        "",
        SESSION,
    ),
)
