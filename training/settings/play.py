"""Settings of self-play: how games begin, how their searches move, what is played."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.search.params import SearchParams
from training.settings.field import setting

_GAME, _GUMBEL, _HERE = "play/game.py", "play/gumbel.py", "settings/play.py"


@dataclass(frozen=True, slots=True)
class GumbelParams:
    """Settings of the root search."""

    considered: int = setting(16, "that sequential halving begins with", _GUMBEL, "moves")
    scale: float = setting(
        0.3, "factor of sigma", _GUMBEL, "logits a unit of q and visit", "tuned: prototype, .681 against 0.1"
    )
    offset: float = setting(50.0, "of sigma, added to the visits of the most visited move", _GUMBEL, "visits")
    noise: float = setting(1.0, "of the Gumbel noise; 0 plays the best move found", _GUMBEL, "weight")
    dirichlet: float = setting(
        0.1,
        "of Dirichlet noise in the priors that the considered moves are drawn by, so that moves the policy "
        "has forgotten are searched now and then. Targets see it in the values found",
        _GUMBEL, "share",
    )  # fmt: skip
    dirichlet_total: float = setting(
        10.83, "sum of its concentration over all legal moves", _GUMBEL, "concentration",
        "derived: 0.03 a move of a 19x19 board, as usual in the field",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpeningConfig:
    """How games begin: some stones near the centre, then some drawn from the net's policy."""

    max_stones: int = setting(
        8, "a game begins with 0 to this many (fewer on small boards)", _GAME, "stones"
    )
    spread: int = setting(3, "from the centre at most, for the first ones", _GAME, "cells")
    free_stones: int = setting(3, "drawn without the net at most", _GAME, "stones")
    temperature: float = setting(1.2, "of the policy that the others are drawn from", _GAME, "temperature")
    max_value: float = setting(
        0.35,
        "openings with a larger |win - loss| for the side to move, by the net or after the first search, are "
        "rejected",
        _GAME, "win - loss",
    )  # fmt: skip
    regret_share: float = setting(
        0.0,
        "of games that begin where an earlier one went otherwise than its searches thought (play/regret.py)",
        _GAME, "share",
    )  # fmt: skip
    tries: int = setting(
        10, "after so many rejections in a row only solved positions are rejected", _GAME, "openings"
    )


@dataclass(frozen=True, slots=True)
class PlayConfig:
    """How self-play searches and moves."""

    simulations: int = setting(32, "of a full search, which makes a policy target", _GAME, "simulations")
    fast_simulations: int = setting(12, "of a fast search, which only makes a move", _GAME, "simulations")
    full_share: float = setting(
        0.75, "of moves that get a full search (playout cap randomisation)", _GAME, "share"
    )
    fast_considered: int = setting(
        8, "that sequential halving begins with in a fast search", _GAME, "moves"
    )
    gumbel: GumbelParams = field(default_factory=GumbelParams)
    reuse_tree: bool = setting(True, "keep the subtree of the move played", _GAME)
    root_vcf_nodes: int = setting(
        500, "of the solver at every root, for wins by fours; a win ends the game", _GAME, "nodes"
    )
    root_vct_nodes: int = setting(
        10_000,
        "the same for wins by fours and threes, so that the values of quiet moves are learned from games "
        "that end as soon as the solver can end them",
        _GAME, "nodes", "tuned: games of r2 (docs/training.md)",
    )  # fmt: skip
    endings: bool = setting(
        False,
        "also record what lies behind a proof that ends a game, as positions whose result is known; they "
        "count in learning where `learner.fast_weight` is above 0",
        _GAME,
    )
    leaf_vcf_nodes: int = setting(60, "of the solver at leaves", _HERE, "nodes")
    policy_temperature: float = setting(1.1, "of the net's priors; above 1 flattens", _HERE, "temperature")
    max_ply_share: float = setting(
        1.0, "of the board; longer games are cut and drawn", _GAME, "share"
    )
    tree_bytes: int = setting(4 << 20, "memory of one tree", _GAME, "bytes")
    opening: OpeningConfig = field(default_factory=OpeningConfig)

    def search_params(self) -> SearchParams:
        """Return the settings of the tree."""
        return SearchParams(
            leaf_vcf_nodes=self.leaf_vcf_nodes, policy_temperature=self.policy_temperature, minimax_weight=0.0
        )


@dataclass(frozen=True, slots=True)
class Mix:
    """What is played: weights of (width, height) and of rules."""

    sizes: tuple[tuple[int, int, float], ...]
    rules: tuple[tuple[int, float], ...]
