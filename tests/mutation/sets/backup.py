"""Faults of node statistics that `Tree.check` must find by itself, without a naive twin."""

from tests.mutation.table import Mutation, pytest

SHARE = 1.0
BACKUP = "engine/search/kernel/backup.pxd"
CHECKED = pytest("tests/engine/search/test_backup.py")


def _fault(name: str, old: str, new: str, file: str = BACKUP) -> Mutation:
    return Mutation(name, file, old, new, CHECKED)


MUTATIONS = (
    _fault(
        "update: the value is not negated", "delta.value = -delta.value", "delta.value = delta.value"
    ),
    _fault("update: a shared child's draws are added anew", "weight * draw - old_draw", "weight * draw"),
    _fault("update: the edge forgets its weight", "edge.weight = <int32_t>weight", "edge.weight = 0"),
    _fault(
        "update: the weight of a shared child is added anew",
        "delta.weight = <int>weight - edge.weight",
        "delta.weight = <int>weight",
    ),
    _fault("remove_child_stats: the value stays", "lost.value = child.value_sum", "lost.value = 0"),
    _fault("remove_child_stats: the edge keeps its weight", "    edge.weight = 0\n", "    pass\n"),
    _fault(
        "remove_child_stats: a shared child's draws stay",
        "lost.draw = -edge.weight * <double>edge.draw",
        "lost.draw = 0",
    ),
    _fault(
        "retract_move: the nodes above are not updated",
        "for i in range(path.depth - 1, -1, -1):\n        above = ",
        "for i in range(path.depth - 1, 0, -1):\n        above = ",
    ),
    _fault("backup: an edge is not visited", "        edge.visits += 1\n", "        pass\n"),
    _fault(
        "backup: a proof ends where it is learnt",
        "elif not apply_child_proof(memory, node, edge, child, &delta):",
        "elif apply_child_proof(memory, node, edge, child, &delta):",
    ),
    _fault("proofs: a draw does not count as one", "delta.draw += edge.weight", "delta.draw += 0"),
    _fault("proofs: a shared draw weighs nothing", "edge.weight = 1 - delta.weight", "edge.weight = 1"),
    _fault(
        "collapse_subtrees: the children of the root lose their values",
        "children[i].moves = children[i].edges = 0",
        "children[i].moves = children[i].edges = 0\n            children[i].value_sum = 0",
        "engine/search/kernel/prune.pxd",
    ),
)
