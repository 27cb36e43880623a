"""Settings of self-play: how games begin, how their searches move, what is played."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.search.params import SearchParams
from training.settings.field import constant, setting

_GAME, _GUMBEL, _HERE = "play/game.py", "play/gumbel.py", "settings/play.py"


@dataclass(frozen=True, slots=True)
class GumbelParams:
    """Settings of the root search."""

    scale: float = setting(
        0.3, "factor of sigma", _GUMBEL, "logits a unit of q and visit", "tuned: prototype, .681 against 0.1"
    )
    considered: int = constant(16, "that sequential halving begins with", "moves")
    offset: float = constant(50.0, "of sigma, added to the visits of the most visited move", "visits")
    noise: float = constant(1.0, "of the Gumbel noise; 0 plays the best move found", "weight")
    dirichlet: float = constant(
        0.1,
        "of Dirichlet noise in the priors that the considered moves are drawn by, so that moves the policy "
        "has forgotten are searched now and then. Targets see it in the values found",
        "share",
    )
    dirichlet_total: float = constant(
        10.83, "sum of its concentration over all legal moves", "concentration",
        "derived: 0.03 a move of a 19x19 board, as usual in the field",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpeningConfig:
    """How games begin: some stones near the centre, then some drawn from the net's policy."""

    max_stones: int = setting(
        8, "a game begins with 0 to this many (fewer on small boards)", _GAME, "stones"
    )
    regret_share: float = setting(
        0.0,
        "of games that begin where an earlier one went otherwise than its searches thought (play/regret.py)",
        _GAME, "share",
    )  # fmt: skip
    tries: int = constant(
        10, "after so many rejections in a row only solved positions are rejected", "openings"
    )


@dataclass(frozen=True, slots=True)
class PlayConfig:
    """How self-play searches and moves."""

    simulations: int = setting(32, "of a full search, which makes a policy target", _GAME, "simulations")
    fast_simulations: int = setting(12, "of a fast search, which only makes a move", _GAME, "simulations")
    full_share: float = setting(
        0.75, "of moves that get a full search (playout cap randomisation)", _GAME, "share"
    )
    gumbel: GumbelParams = field(default_factory=GumbelParams)
    root_vcf_nodes: int = constant(
        500, "of the solver at every root, for wins by fours; a win ends the game", "nodes"
    )
    root_vct_nodes: int = setting(
        10_000,
        "of the solver at every root, for wins by fours and threes, which end the game, so that the values "
        "of quiet moves are learned from games that end as soon as the solver can end them",
        _GAME, "nodes", "tuned: games of r2 (docs/training.md)",
    )  # fmt: skip
    endings: bool = setting(
        False,
        "also record what lies behind a proof that ends a game, as positions whose result is known; they "
        "count in learning where `learner.fast_weight` is above 0",
        _GAME,
    )
    leaf_vcf_nodes: int = constant(60, "of the solver at leaves", "nodes")
    policy_temperature: float = setting(1.1, "of the net's priors; above 1 flattens", _HERE, "temperature")
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
