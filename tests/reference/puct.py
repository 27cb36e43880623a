"""PUCT with proven results as a plain Python tree: the naive twin of `engine.search._tree`.

It does the same float operations in the same order, so both trees must be equal node for node, positions that
moves reach in another order included. There is no arena, no solver and no reuse here; forced moves are found
by trying every move. The meaning of all constants stands in `engine.search.params`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.rules._board import Board
from engine.search.params import SearchParams

WIN, LOSS, DRAW = 1, 2, 3
OPPOSITE = {WIN: LOSS, LOSS: WIN, DRAW: DRAW}
EXACT_Q = {WIN: 1.0, LOSS: -1.0, DRAW: 0.0}

Evaluate = Callable[[Board], tuple[list[float], tuple[float, float, float]]]
"""Position -> policy logits by point, WDL for the side to move."""


def as_float32(x: float) -> float:
    return float(np.float32(x))


def packed(prior: float) -> float:
    """Return a prior as a node stores it: with twelve binary digits, and at least 2 ** -31."""
    fraction, exponent = math.frexp(prior)
    return max(math.ldexp(math.floor(fraction * 4096 + 0.5), exponent - 12), 2.0**-31)


def exp_negative(x: float) -> float:
    x = max(x, -80.0)
    k = int(x * 1.4426950408889634 - 0.5)
    r = x - k * 0.6931471805599453
    series = 1.0 + r * (
        1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))))
    )
    return math.ldexp(1.0, k) * series


def log_positive(x: float) -> float:
    m, k = math.frexp(x)
    if m < 0.7071067811865476:
        m, k = m * 2.0, k - 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9))))
    return 2.0 * s * series + k * 0.6931471805599453


@dataclass
class Edge:
    move: int
    prior: float
    child: Node
    visits: int = 0
    q: float = 0.0
    proven: int = 0
    distance: int = 0
    weight: int = 0
    draw: float = 0.0
    best: int = 0


@dataclass
class Node:
    visits: int = 0
    weight: int = 0
    value_sum: float = 0.0
    draw_sum: float = 0.0
    proven: int = 0
    distance: int = 0
    legal: int = 0
    settled_prior: float = 0.0
    has_draw: bool = False
    shared: bool = False
    raw: int | None = None
    """What the evaluator returned, in 127ths; None: it was not called."""
    unvisited: dict[int, float] = field(default_factory=dict)
    """Prior by point, without those that are not stored."""
    tail: dict[int, float] = field(default_factory=dict)
    """Prior by point of the moves that join once all others have been visited."""
    edges: list[Edge] = field(default_factory=list)

    def value(self) -> float:
        q = self.value_sum / self.weight if self.weight else 0.0
        return q if q > 0 or not self.has_draw else 0.0

    @property
    def kept_by_edge(self) -> bool:
        """Whether edges to the node add to sums by their own weight and mean."""
        return self.shared or self.has_draw

    def best_raw(self) -> int:
        """Return the evaluation at the end of the best line, in 127ths."""
        open_moves = [e.best for e in self.edges if not e.proven and e.visits]
        found = max(open_moves, default=-128)
        if found < 0 and any(e.proven == DRAW for e in self.edges):
            return 0
        if found == -128:
            return -127 if self.raw is None else self.raw
        return found


class Twin:
    """A tree over one position."""

    def __init__(self, board: Board, evaluate: Evaluate, params: SearchParams) -> None:
        self.board = board.copy()
        self.evaluate = evaluate
        self.params = params
        self.root: Node | None = None
        self.nodes: dict[int, Node] = {}
        """By the hash of the position; stays empty without transpositions."""

    def simulate(self) -> bool:
        """Do one simulation; False if there is nothing left to do."""
        if self.root is not None and self.root.proven:
            return False
        board = self.board.copy()
        path: list[tuple[Node, Edge]] = []
        node = self.root
        while node is not None:
            edge = self._choose(node)
            if not isinstance(edge, Edge):
                board.place(edge)
                edge = self._new_edge(node, edge, self.nodes.get(board.hash))
                fresh = not edge.child.shared
            else:
                board.place(edge.move)
                fresh = False
            path.append((node, edge))
            node = None if fresh else edge.child
            if node is not None and (node.proven or (node.shared and edge.visits < node.visits)):
                self._backup(path, node, bool(node.proven), (0, 0.0, 0.0))
                return True
        leaf = path[-1][1].child if path else Node()
        if self.root is None:
            self.root = leaf
        self._enter(board, leaf)
        moves, proof = self._examine(board)
        while proof is None and len(moves) == 1 and board.five_points(1 - board.to_move):
            leaf.unvisited, leaf.legal = {moves[0]: 1.0}, 1
            board.place(moves[0])
            edge = self._new_edge(leaf, moves[0], self.nodes.get(board.hash))
            path.append((leaf, edge))
            leaf = edge.child
            if leaf.shared:
                self._backup(path, leaf, bool(leaf.proven), (0, 0.0, 0.0))
                return True
            self._enter(board, leaf)
            moves, proof = self._examine(board)
        leaf.visits += 1
        if proof is not None:
            leaf.proven, leaf.distance = proof
            self._backup(path, leaf, True, (0, 0.0, 0.0))
            return True
        logits, wdl = self.evaluate(board)
        self._expand(leaf, moves, logits, at_root=not path)
        value = wdl[0] - wdl[2]
        leaf.raw = int(127.0 * (2.0 * as_float32(wdl[0]) + as_float32(wdl[1]) - 1.0))
        leaf.weight += 1
        leaf.value_sum += value
        leaf.draw_sum += wdl[1]
        self._backup(path, leaf, False, (1, value, wdl[1]))
        return True

    def _examine(self, board: Board) -> tuple[list[int], tuple[int, int] | None]:
        """Return the moves to consider, or a proof (result for the side to move, distance)."""
        if board.n_empty == 0:
            return [], (DRAW, 0)
        own = board.to_move
        if board.five_points(own):
            return [], (WIN, 1)
        moves = board.legal_points()
        if board.five_points(1 - own):
            stops = []
            for move in moves:
                board.place(move)
                if not board.five_points(1 - own):
                    stops.append(move)
                board.undo()
            moves = stops
        return (moves, None) if moves else ([], (LOSS, 2))

    def _expand(self, node: Node, moves: list[int], logits: list[float], at_root: bool) -> None:
        top = max(logits[m] for m in moves)
        inverse_temperature = 1.0 / self.params.policy_temperature
        weights = [exp_negative((logits[m] - top) * inverse_temperature) for m in moves]
        total = 0.0
        for weight in weights:
            total += weight
        inverse = 1.0 / total
        priors = {m: as_float32(w * inverse) for m, w in zip(moves, weights, strict=True)}
        node.legal = len(moves)
        cap = self.params.edge_cap
        if at_root or cap == 0 or len(moves) <= cap:
            node.unvisited = {m: packed(priors[m]) for m in moves}
            return
        stored = set(sorted(moves, key=lambda m: (-priors[m], m))[:cap])
        rest = 0.0
        for move in moves:
            if move not in stored:
                rest += priors[move]
        tail_prior = packed(as_float32(rest / (len(moves) - cap)))
        node.unvisited = {m: packed(priors[m]) for m in stored}
        node.tail = {m: tail_prior for m in moves if m not in stored}

    def _enter(self, board: Board, node: Node) -> None:
        if self.params.transpositions:
            self.nodes[board.hash] = node

    def _new_edge(self, node: Node, move: int, known: Node | None) -> Edge:
        if known is not None:
            known.shared = True
        edge = Edge(move, node.unvisited.pop(move), known or Node())
        node.edges.append(edge)
        return edge

    def _choose(self, node: Node) -> Edge | int:
        """Return an edge to follow, or the point of an unvisited move."""
        if not node.unvisited and node.tail:
            node.unvisited, node.tail = node.tail, {}
        if node.legal == 1:
            return node.edges[0] if node.edges else next(iter(node.unvisited))
        p = self.params
        remain = max(1.0 - node.settled_prior, 1e-6)
        growth = p.c_puct_log * log_positive(1.0 + node.visits / p.c_puct_base)
        scale = (p.c_puct + growth) * math.sqrt(node.visits) / remain
        best: Edge | int = -1
        best_score = -1e30
        explored = 0.0
        for edge in node.edges:
            if edge.proven:
                continue
            explored += edge.prior
            score = edge.q
            if p.minimax_weight > 0:
                score += p.minimax_weight * (edge.best * (1.0 / 127) - score)
            score += scale * edge.prior / (1.0 + edge.visits)
            if score > best_score:
                best, best_score = edge, score
        if node.unvisited:
            move = min(node.unvisited, key=lambda m: (-node.unvisited[m], m))
            reduction = p.fpu_reduction_root if node is self.root else p.fpu_reduction
            fpu = max(node.value() - reduction * math.sqrt(explored / remain), -1.0)
            if fpu + scale * node.unvisited[move] > best_score:
                best = move
        return best

    def _backup(
        self, path: list[tuple[Node, Edge]], child: Node, changed: bool, delta: tuple[int, float, float]
    ) -> None:
        """Carry a simulation up. `delta` is what it added to the child's weight, W and draws."""
        weight, value, draw = delta
        for node, edge in reversed(path):
            node.visits += 1
            edge.visits += 1
            if changed:
                if child.proven == WIN:
                    weight, value, draw = self._withdraw(edge, child)
                elif child.proven == DRAW:
                    node.has_draw = True
                    if child.kept_by_edge:
                        weight, value, draw = self._withdraw(edge, child)
                        edge.weight, weight = 1 - weight, 1
                        draw += edge.weight
                    else:
                        weight, value, draw = 1, child.value_sum, child.weight + 1 - child.draw_sum
                        child.weight += 1
                        child.value_sum, child.draw_sum = 0.0, float(child.weight)
                        edge.weight = child.weight
                    edge.draw = 1.0
                edge.proven, edge.distance = OPPOSITE[child.proven], child.distance + 1
                edge.q = EXACT_Q[edge.proven]
                node.settled_prior = as_float32(node.settled_prior + edge.prior)
                changed = self._settle(node, edge)
                if changed:
                    child = node
                    continue
            else:
                weight, value, draw = self._carry(edge, child, (weight, value, draw))
                edge.best = -child.best_raw()
            node.weight += weight
            node.value_sum += value
            node.draw_sum += draw
            child = node

    @staticmethod
    def _withdraw(edge: Edge, child: Node) -> tuple[int, float, float]:
        """Return what a node's sums gain when a move stops to count."""
        if child.kept_by_edge:
            weight = edge.weight
            edge.weight = 0
            return -weight, -weight * edge.q, -weight * edge.draw
        edge.weight = 0
        return -child.weight, child.value_sum, -child.draw_sum

    @staticmethod
    def _carry(edge: Edge, child: Node, delta: tuple[int, float, float]) -> tuple[int, float, float]:
        """Return what a node's sums gain when those of its child have changed."""
        mean_draw = child.draw_sum / child.weight if child.weight else 0.0
        if not child.kept_by_edge:
            edge.q, edge.weight, edge.draw = -child.value(), child.weight, as_float32(mean_draw)
            return delta[0], -delta[1], delta[2]
        weight = child.weight
        if edge.visits < child.visits and weight > 0:
            weight = max(1, (weight * edge.visits + child.visits // 2) // child.visits)
        old_weight, old_value, old_draw = edge.weight, edge.weight * edge.q, edge.weight * edge.draw
        edge.q, edge.weight, edge.draw = -child.value(), weight, as_float32(mean_draw)
        return weight - old_weight, weight * edge.q - old_value, weight * edge.draw - old_draw

    def _settle(self, node: Node, edge: Edge) -> bool:
        if edge.proven == WIN:
            node.proven, node.distance = WIN, edge.distance
            return True
        if node.unvisited or node.tail or any(not e.proven for e in node.edges):
            return False
        node.proven = DRAW if any(e.proven == DRAW for e in node.edges) else LOSS
        node.distance = max(e.distance for e in node.edges if e.proven == node.proven)
        return True

    def dump(self) -> list[tuple[object, ...]]:
        """Return every node in preorder, as `engine.search._tree.Tree.dump` does, the moves stored left
        out."""
        out: list[tuple[object, ...]] = []
        stack: list[tuple[tuple[int, ...], Node]] = [] if self.root is None else [((), self.root)]
        seen: set[int] = set()
        while stack:
            path, node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            edges = tuple((e.move, e.visits) for e in node.edges)
            out.append((path, node.visits, node.weight, node.value_sum, node.proven, node.distance, edges))
            stack.extend(((*path, e.move), e.child) for e in reversed(node.edges))
        return out
