"""Digests of small trees and short games: a change of the search that was not meant to be one shows here.

After a change that was meant, take the new digests from the failure and say so in the commit (`Bench:` line).
"""

from __future__ import annotations

import dataclasses

import pytest

from engine.commands.bench import signature_of_game
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.games.positions import read_position
from engine.rules._board import Board
from engine.search._tree import Tree
from engine.search.params import SearchParams

PLAIN = SearchParams(
    c_puct=1.1, c_puct_log=0.45, c_puct_base=500.0, fpu_reduction=0.2, fpu_reduction_root=0.1, edge_cap=32,
    policy_temperature=1.0, transpositions=False, minimax_weight=0.0, leaf_defences=False,
)
"""Spelled out, so that tuning the defaults leaves the digests alone."""
PLAYED = dataclasses.replace(
    PLAIN, policy_temperature=1.3, transpositions=True, minimax_weight=0.2, leaf_vcf_nodes=60,
    tree_vct_visits=8, tree_vct_nodes=14, max_tree_vct_nodes=100_000, root_solver_nodes=15,
    leaf_defences=True, solver_table_log2=14, final_minimax_weight=0.0, lcb_min_visit_ratio=0.4,
    lcb_stdev=0.6,
)
"""All that a search of a game does, spelled out as well."""
HASHED, UNIFORM = HashedEvaluator(12345), UniformEvaluator()


@pytest.mark.parametrize(
    ("side", "rule", "evaluator", "digest"),
    [
        (15, 0, HASHED, 0xD036_2D2D_1124_A3F7),
        (15, 1, HASHED, 0x3D39_1439_06D4_55C3),
        (15, 4, HASHED, 0x9270_C97E_CC80_4E5B),
        (20, 0, HASHED, 0x01F3_3885_2458_9F29),
        (9, 8, HASHED, 0x3E75_6AE4_83B6_AEB3),
        (5, 9, HASHED, 0x0002_3E11_80F3_AF05),
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
    tree.run(2000, evaluator.backend)
    assert hex(tree.signature()) == hex(digest)


@pytest.mark.parametrize(
    ("moves", "side", "rule", "all_moves", "defences"),
    [
        ("h8 i8 h9", 15, 0, 0xC5BC_9FB2_D221_A03A, 0xE25E_7B7D_2777_7490),
        ("h8 i9 g9 i7 i8 g8 h7", 15, 0, 0x5D44_07C4_519A_1CAE, 0x0CF6_EC0F_6C6D_56E8),
        ("h8 h9 j8 i10 g7", 15, 4, 0x1C8A_A867_B994_24E0, 0x806F_E0DA_17FA_EE9C),
        ("h8 i9 g9 i7 i8", 15, 1, 0xB031_2C91_2BE4_6806, 0x1D0E_5F4A_2DB3_D241),
        ("j10 k11 i11 k9 k10", 20, 0, 0x1445_797A_A245_A358, 0x7561_648D_776E_75C1),
        ("e5 f6 d6 f4 f5", 9, 8, 0x7EEB_4B08_C27C_B88B, 0xA4D0_8A17_26E7_0634),
    ],
)
def test_games_are_as_they_were(moves: str, side: int, rule: int, all_moves: int, defences: int) -> None:
    """Leaves keep all moves, or only those that may stop a win by fours."""
    board = read_position(moves, width=side, height=side, rule=rule)
    for leaf_defences, digest in ((False, all_moves), (True, defences)):
        params = dataclasses.replace(PLAYED, leaf_defences=leaf_defences)
        found, done = signature_of_game(board, 600, params)
        assert done > 600, "the searches end too early to show anything"
        assert hex(found) == hex(digest), f"{leaf_defences=}"
