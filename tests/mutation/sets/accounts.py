"""Faults of the accounts of the graph that the audit of a tree must find by itself, without a twin."""

from tests.mutation.table import Mutation, pytest

SHARE = 1.0
ACCOUNTS = "engine/search/kernel/accounts.pxd"
AUDIT = pytest("tests/unit/test_search_accounts.py")


def _fault(name: str, old: str, new: str, file: str = ACCOUNTS) -> Mutation:
    return Mutation(name, file, old, new, AUDIT)


MUTATIONS = (
    _fault("carry: the value is not negated", "delta.value = -delta.value", "delta.value = delta.value"),
    _fault("carry: a shared child's draws are added anew", "weight * draw - old_draw", "weight * draw"),
    _fault("carry: the edge forgets its weight", "edge.weight = <int32_t>weight", "edge.weight = 0"),
    _fault(
        "carry: the weight of a shared child is added anew",
        "delta.weight = <int>weight - edge.weight",
        "delta.weight = <int>weight",
    ),
    _fault("withdraw: the value stays", "lost.value = child.value_sum", "lost.value = 0"),
    _fault("withdraw: the edge keeps its weight", "    edge.weight = 0\n", "    pass\n"),
    _fault(
        "withdraw: a shared child's draws stay",
        "lost.draw = -edge.weight * <double>edge.draw",
        "lost.draw = 0",
    ),
    _fault(
        "take_back: what is above does not hear of it",
        "for i in range(path.depth - 1, -1, -1):\n        above = ",
        "for i in range(path.depth - 1, 0, -1):\n        above = ",
    ),
    _fault("backup: an edge is not visited", "        edge.visits += 1\n", "        pass\n"),
    _fault(
        "backup: a proof ends where it is learnt",
        "            if not proof:\n                add(node, &delta)",
        "            if proof:\n                add(node, &delta)",
    ),
    _fault("proofs: a draw does not count as one", "delta.draw += edge.weight", "delta.draw += 0"),
    _fault("proofs: a shared draw weighs nothing", "edge.weight = 1 - delta.weight", "edge.weight = 1"),
    _fault(
        "room: the children of a condensed root forget their values",
        "children[i].moves = children[i].edges = 0",
        "children[i].moves = children[i].edges = 0\n            children[i].value_sum = 0",
        "engine/search/kernel/room.pxd",
    ),
)
