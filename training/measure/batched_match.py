"""Matches for the training loop: many games at once, evaluations batched across games, PUCT without noise.

Unlike `training.match` nothing is timed here: every player has its number of simulations. Players are nets,
the hand-made evaluators, `random`, or `rollouts:N`.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from arena.openings import random_opening
from engine.rules._board import EMPTY, Board
from engine.rules.rule import Rule
from engine.search._tree import NOTHING_LEFT, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, Tree
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from training.play._rollouts import rollout_move
from training.play.batch import LeafBatch
from training.play.evaluators import load_evaluator


@dataclass(frozen=True, slots=True)
class MatchPlayer:
    """A player of a batched match.

    Attributes:
        name: on the rating scale.
        net: file of a net, `uniform`, `tactical`, `random` or `rollouts:N`.
        simulations: a move, for those with a tree.
        leaf_vcf_nodes: solver budget at leaves; 0 switches it off.
    """

    name: str
    net: str
    simulations: int = 64
    leaf_vcf_nodes: int = 60

    @property
    def searches(self) -> bool:
        """Whether the player has a tree and an evaluator."""
        return self.net != "random" and not self.net.startswith("rollouts:")


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """Pairs of games on random balanced openings with colours swapped.

    Attributes:
        first_pair, pairs: pairs of games; several workers share a match by their ranges.
        openings: given openings, used in turn; empty: random ones from `seed`.
    """

    a: MatchPlayer
    b: MatchPlayer
    width: int
    height: int
    rule: int
    pairs: int
    first_pair: int = 0
    stones: int = 5
    seed: int = 1
    openings: tuple[tuple[int, ...], ...] = ()

    def split(self, parts: int) -> list[MatchSpec]:
        """Return the match in this many parts, some may have no pairs; `joined` merges their scores."""
        edges = [self.pairs * i // parts for i in range(parts + 1)]
        return [
            dataclasses.replace(self, pairs=last - first, first_pair=self.first_pair + first)
            for first, last in itertools.pairwise(edges)
        ]


@dataclass(slots=True)
class MatchScore:
    """Scores of a for each pair (two games: a has black in the first)."""

    pairs: list[list[float]] = field(default_factory=list)
    plies: int = 0
    black_points: float = 0.0
    depth: dict[str, float] = field(default_factory=dict)
    """Mean depth of simulations, in plies, of each player that searches."""


def joined(parts: Iterable[MatchScore]) -> MatchScore:
    """Return the result of a match from those of its parts, in their order."""
    whole = MatchScore()
    for part in parts:
        whole.pairs += part.pairs
        whole.plies += part.plies
        whole.black_points += part.black_points
        whole.depth |= part.depth
    return whole


class _Searching:
    """A side's search in one game."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.want: int | None = None
        self._left = 0

    def begin(self, board: Board, simulations: int) -> None:
        self.tree.set_root(board)
        self._left = simulations
        self.want = -1 if self.tree.proven == PROVEN_NONE or not self.tree.has_root else None

    def advance(self, status: int) -> None:
        self._left -= 1
        if self._left <= 0 or status == NOTHING_LEFT or self.tree.proven != PROVEN_NONE:
            self.want = None

    def point(self) -> int:
        """Return the move to play: the proof, else the most visited one that is not proven to lose."""
        tree = self.tree
        if tree.proven == PROVEN_WIN and tree.proof_move() >= 0:
            return tree.proof_move()
        moves, visits, proven = tree.moves(), tree.edge_visits(), tree.edge_proven()
        if tree.proven == PROVEN_LOSS and len(moves):
            return int(moves[tree.edge_distance().argmax()])
        if not len(moves):
            return tree.proof_move()
        alive = np.where(proven == PROVEN_LOSS, -1.0, visits + tree.priors())
        return int(moves[alive.argmax()])


class _Game:
    def __init__(self, spec: MatchSpec, index: int, trees: dict[int, Tree]) -> None:
        self.index = index
        self.a_colour = index % 2
        self.board = Board(spec.width, spec.height, spec.rule)
        for point in _opening(spec, spec.first_pair + index // 2):
            self.board.place(point)
        self.sides = {side: _Searching(tree) for side, tree in trees.items()}
        self.rng = random.Random(f"{spec.seed} {spec.first_pair} {index}")

    @property
    def side(self) -> int:
        """Player to move: 0 a, 1 b."""
        return 0 if self.board.to_move == self.a_colour else 1


def _opening(spec: MatchSpec, pair: int) -> tuple[int, ...]:
    if spec.openings:
        return spec.openings[pair % len(spec.openings)]
    rng = random.Random(f"{spec.seed} opening {pair}")
    return random_opening(rng, spec.width, spec.height, spec.rule, spec.stones)


def play_batched(
    spec: MatchSpec, device: str = "cpu", stop: Callable[[], bool] = lambda: False, at_once: int = 64
) -> MatchScore:
    """Play all games of a spec, `at_once` at a time; games that `stop` cuts off are not counted."""
    players = (spec.a, spec.b)
    evaluators = [load_evaluator(p.net, device) if p.searches else None for p in players]
    solver = Solver(14)
    result = MatchScore(pairs=[[] for _ in range(spec.pairs)])
    waiting = list(range(2 * spec.pairs))[::-1]
    batch = LeafBatch(min(at_once, len(waiting)), spec.width, spec.height)
    spare: list[dict[int, Tree]] = []
    depth = {p.name: [0, 0] for p in players if p.searches}
    games: list[_Game] = []
    while (waiting or games) and not stop():
        while waiting and len(games) < batch.rows:
            trees = spare.pop() if spare else _trees(players, solver)
            game = _Game(spec, waiting.pop(), trees)
            games.append(game)
            _begin(game, players)
        for side, evaluator in enumerate(evaluators):
            if evaluator:
                mine = [g.sides[side] for g in games if g.side == side]
                batch.step(mine, evaluator)
        for game in [g for g in games if _ready(g)]:
            _play_move(game, players)
            if _is_over(game.board):
                games.remove(game)
                _count(result, game)
                for side, searching in game.sides.items():
                    depth[players[side].name][0] += searching.tree.depth_sum
                    depth[players[side].name][1] += searching.tree.simulations
                    searching.tree.clear()
                    searching.tree.reset_counters()
                spare.append({side: s.tree for side, s in game.sides.items()})
            else:
                _begin(game, players)
    result.depth = {name: total / max(1, n) for name, (total, n) in depth.items()}
    return result


def _trees(players: Sequence[MatchPlayer], solver: Solver) -> dict[int, Tree]:
    return {
        side: Tree(SearchParams(leaf_vcf_nodes=p.leaf_vcf_nodes), 16 << 20, solver)
        for side, p in enumerate(players)
        if p.searches
    }


def _begin(game: _Game, players: Sequence[MatchPlayer]) -> None:
    if players[game.side].searches:
        game.sides[game.side].begin(game.board, players[game.side].simulations)


def _ready(game: _Game) -> bool:
    searching = game.sides.get(game.side)
    return searching is None or searching.want is None


def _play_move(game: _Game, players: Sequence[MatchPlayer]) -> None:
    player, board = players[game.side], game.board
    if player.searches:
        point = game.sides[game.side].point()
    elif player.net == "random":
        point = game.rng.choice(board.legal_points())
    else:
        point = rollout_move(board, int(player.net.partition(":")[2]), game.rng.getrandbits(63))
    board.place(point)


def _is_over(board: Board) -> bool:
    if board.winner != EMPTY or board.n_empty == 0:
        return True
    return board.rule == Rule.RENJU and not board.legal_points()


def _count(result: MatchScore, game: _Game) -> None:
    board = game.board
    winner = board.winner
    if winner == EMPTY and board.n_empty:
        winner = 1 - board.to_move  # renju: black has no legal move
    result.plies += board.ply
    result.black_points += 0.5 if winner == EMPTY else float(winner == 0)
    result.pairs[game.index // 2].append(0.5 if winner == EMPTY else float(winner == game.a_colour))
