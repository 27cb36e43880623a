"""Canaries: positions that show within milliseconds whether an evaluator can be trusted.

The export of nets compares two evaluators on the same positions (`canary_batches`, `difference`).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from engine.encoding import encode
from engine.errors import NetError
from engine.evaluator.base import Evaluator, Keys, Planes
from engine.rules._board import Board
from engine.rules.rule import NET_RULES, Rule

CANARY_SIZES = ((15, 15), (20, 20), (5, 5), (22, 22), (9, 13))
"""(width, height) of the canary boards."""


def canary_boards(width: int, height: int, count: int = 4, seed: int = 1) -> list[Board]:
    """Return positions of random play over all rules: an empty board, then more and more stones."""
    generator = Random(seed * 10_007 + width * 101 + height)
    rules = NET_RULES
    boards = []
    for i in range(count):
        board = Board(width, height, rules[i % len(rules)])
        for _ in range(i * (width + height) // 4):
            points = board.legal_points()
            if not points:
                break
            board.place(points[generator.randrange(len(points))])
        boards.append(board)
    return boards


def quick_boards() -> list[Board]:
    """Return the positions of a start: a whole board, then the surroundings of a few stones."""
    boards = [Board(15, 15, Rule.FREESTYLE)]
    for width, height, rule in ((15, 15, Rule.RENJU), (20, 20, Rule.FREESTYLE)):
        board = Board(width, height, rule)
        for dx, dy in ((0, 0), (1, 1), (2, 0), (0, 1), (1, 2), (3, 3)):
            board.place((5 + dy) * width + 6 + dx)
        boards.append(board)
    return boards


def batch_of(boards: list[Board]) -> tuple[Planes, Keys]:
    """Return planes float32 [B, C, H, W] and keys uint64 [B] of boards of one size."""
    planes = np.stack([encode(board) for board in boards])
    return planes, np.array([board.hash for board in boards], np.uint64)


def canary_batches() -> Iterator[tuple[Planes, Keys]]:
    """Yield one batch a canary size."""
    for width, height in CANARY_SIZES:
        yield batch_of(canary_boards(width, height))


def check_evaluator(evaluator: Evaluator, *, quick: bool = False) -> None:
    """Evaluate the canaries and refuse answers that cannot be right.

    Args:
        evaluator: what to check.
        quick: only the positions of `quick_boards`, one by one, as at start-up.

    Raises:
        NetError: wrong shape or type, a number that is not finite, chances that do not sum to 1, an answer
            that depends on its place in the batch.
    """
    if quick:
        for board in quick_boards():
            _check_batch(evaluator, *batch_of([board]))
        return
    for planes, keys in canary_batches():
        policy, wdl = (a.copy() for a in _check_batch(evaluator, planes, keys))
        for i in range(len(keys)):
            one_policy, one_wdl = _check_batch(evaluator, planes[i : i + 1], keys[i : i + 1])
            same_policy = np.allclose(one_policy[0], policy[i], atol=1e-3)
            if not (same_policy and np.allclose(one_wdl[0], wdl[i], atol=1e-3)):
                raise NetError(f"{evaluator.name}: the answer for a position depends on the batch around it")


def difference(one: Evaluator, other: Evaluator) -> tuple[float, float]:
    """Return the largest differences of two evaluators on the canaries: of policy chances and of WDL."""
    policy_gap = wdl_gap = 0.0
    for planes, keys in canary_batches():
        first_policy, first_wdl = (a.copy() for a in one.evaluate(planes, keys))
        other_policy, other_wdl = other.evaluate(planes, keys)
        policy_gap = max(policy_gap, float(np.abs(_softmax(first_policy) - _softmax(other_policy)).max()))
        wdl_gap = max(wdl_gap, float(np.abs(first_wdl - other_wdl).max()))
    return policy_gap, wdl_gap


def _check_batch(evaluator: Evaluator, planes: Planes, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
    batch, _, height, width = planes.shape
    policy, wdl = evaluator.evaluate(planes, keys)
    if policy.shape != (batch, height * width) or wdl.shape != (batch, 3):
        raise NetError(
            f"{evaluator.name} answers {policy.shape} and {wdl.shape} for {batch} boards of {width}x{height}"
        )
    if policy.dtype != np.float32 or wdl.dtype != np.float32:
        raise NetError(f"{evaluator.name} answers {policy.dtype} and {wdl.dtype}, expected float32")
    if not (np.isfinite(policy).all() and np.isfinite(wdl).all()):
        raise NetError(f"{evaluator.name} answers numbers that are not finite")
    if (wdl < 0).any() or not np.allclose(wdl.sum(axis=1), 1.0, atol=1e-4):
        raise NetError(f"{evaluator.name} answers chances of win, draw and loss that do not sum to 1")
    return policy, wdl


def _softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
