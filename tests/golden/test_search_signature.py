"""Digests of small trees: a change of the search that was not meant to be one shows here.

After a change that was meant, take the new digests from the failure and say so in the commit (`Bench:` line).
"""

from __future__ import annotations

import pytest

from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import Board
from engine.search._tree import Tree
from engine.search.params import SearchParams

PLAIN = SearchParams(
    c_puct=1.1, c_puct_log=0.45, c_puct_base=500.0, fpu_reduction=0.2, fpu_reduction_root=0.1, edge_cap=32,
    policy_temperature=1.0, transpositions=False, minimax_share=0.0,
)
"""Spelled out, so that tuning the defaults leaves the digests alone."""
HASHED, UNIFORM = HashedEvaluator(12345), UniformEvaluator()


@pytest.mark.parametrize(
    ("side", "rule", "evaluator", "digest"),
    [
        (15, 0, HASHED, 0xD036_2D2D_1124_A3F7),
        (15, 1, HASHED, 0x3D39_1439_06D4_55C3),
        (15, 4, HASHED, 0x2B49_09B2_DC66_4D6A),
        (20, 0, HASHED, 0x9EC2_18C3_60F1_DC6F),
        (9, 8, HASHED, 0x3089_29E2_0E91_F33C),
        (5, 9, HASHED, 0xE2AA_3C43_649A_5B41),
        (7, 0, UNIFORM, 0x6BBA_0AFC_4367_BDC9),
    ],
)
def test_tree_is_as_it_was(
    side: int, rule: int, evaluator: HashedEvaluator | UniformEvaluator, digest: int
) -> None:
    board = Board(side, side, rule)
    middle = (side // 2) * side + side // 2
    for point in (middle, middle + 1, middle + side, middle - side - 1):
        board.place(point)
    tree = Tree(PLAIN, 16 << 20)
    tree.set_root(board)
    tree.run(2000, evaluator.judge)
    assert hex(tree.signature()) == hex(digest)
