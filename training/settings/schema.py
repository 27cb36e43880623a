"""Every setting of a training run: frozen dataclasses with meaning, default and what is allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from engine.search.params import SearchParams
from training.settings.values import ConfigError, weighted, weighted_rule


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Shape of a net.

    Attributes:
        kind: `tower`, a residual tower; `lines`, a table of lines with light blocks
            (`training.net.line_stem`).
        blocks: residual blocks, of two 3x3 convolutions in a tower, of a depthwise 3x3 and a 1x1 one in a
            line net.
        channels: of the trunk.
        line_hidden: hidden units of the dense net that fills the table of a line net.
        pool_block: index of the block that also sees the pooled board; -1 for none. Default: the middle.
        policy_channels, value_channels: of the 1x1 convolutions in front of the heads.
        value_hidden: width of the dense layer in front of the WDL logits.
    """

    kind: str = "tower"
    blocks: int = 4
    channels: int = 64
    line_hidden: int = 128
    pool_block: int | None = None
    policy_channels: int = 32
    value_channels: int = 32
    value_hidden: int = 64

    @property
    def pooled(self) -> int:
        """Index of the block with global pooling, -1 for none."""
        return self.blocks // 2 if self.pool_block is None else self.pool_block

    def __post_init__(self) -> None:
        if self.kind not in ("tower", "lines"):
            raise ConfigError(f"the kind of a net must be tower or lines, not {self.kind!r}")


@dataclass(frozen=True, slots=True)
class LossConfig:
    """Weights of the parts of the loss and the mix of the value target.

    Attributes:
        value: weight of the WDL cross entropy; the policy's is 1.
        reply: weight of the opponent-reply head.
        soft: weight of the soft-policy head; its target is the policy target to the power `soft_power`.
        soft_power: below 1 flattens.
        root_mix: share of the searched root WDL in the value target, the rest is the result.
        root_power: the searched WDL enters to this power, normalised. A search reports the mean of all that
            it looked at, bad moves included; above 1 makes up for that.
    """

    value: float = 1.0
    reply: float = 0.15
    soft: float = 1.0
    soft_power: float = 0.25
    root_mix: float = 0.25  # tuned: prototype of one core-hour, 15x15 freestyle
    root_power: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.root_mix <= 1 or not 0 < self.root_power < math.inf:
            raise ConfigError("root_mix or root_power out of range")


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """How the learner works.

    Attributes:
        net: shape of the net.
        loss: see `LossConfig`.
        batch: positions a batch.
        lr: peak learning rate of AdamW.
        schedule: `constant`, `cosine`, `step` (x0.4 at 60 %, x0.15 at 85 % of the way) or `kl` (as the
            published gomoku nets do it: the rate follows the KL divergence of the policy from `kl_every`
            batches ago, to stay near `kl_target`).
        total_batches: length of the schedule when nobody tells the learner its progress; 0: the peak rate.
        kl_target, kl_every: nats that the policy should move by, and batches between two looks (`kl` only).
        warmup: batches of linear warm-up.
        weight_decay: AdamW decay of convolution and dense weights (gains and biases have none).
        clip: largest gradient norm.
        freeze_norm: part of the way after which normalisation keeps its statistics, so that the net trains as
            it will be used; 1: never.
        ema: decay of the averaged weights a batch; the averaged ones are exported.
        reuse: how often a position may be used on average.
        window_share: share of all positions seen, the newest, that batches are drawn from.
        window_min, window_max: limits of the window in positions, summed over board sizes.
        surprise: share of the sampling weight that goes by KL(target || prior); 0 draws evenly.
        fast_weight: sampling weight of a position without policy target (fast search), for its value.
        rules: sampling weights of rules, each a rule code with `:weight` behind it; 1 for those not named.
        bf16: bfloat16 autocast; None: where the processor or GPU computes in it (on others it is ten times
            slower than float32).
        threads: torch threads on the CPU; 0 leaves torch's choice.
        keep_checkpoints: newest checkpoints kept.
        seed: of weights, order and augmentation.
    """

    net: NetConfig = field(default_factory=NetConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    batch: int = 256
    lr: float = 2e-3  # tuned: prototype of one core-hour, 2x32
    schedule: str = "cosine"
    total_batches: int = 0
    kl_target: float = 0.02
    kl_every: int = 20
    warmup: int = 100
    weight_decay: float = 0.01
    clip: float = 2.0
    freeze_norm: float = 0.8
    ema: float = 0.998
    reuse: float = 6.0  # tuned: prototype of one core-hour
    window_share: float = 0.6  # tuned: same
    window_min: int = 20_000
    window_max: int = 2_000_000
    surprise: float = 0.5
    fast_weight: float = 0.0
    rules: tuple[str, ...] = ()
    bf16: bool | None = None
    threads: int = 1
    keep_checkpoints: int = 3
    seed: int = 1

    def __post_init__(self) -> None:
        if self.schedule not in ("constant", "cosine", "step", "kl"):
            raise ConfigError(f"schedule must be constant, cosine, step or kl, not {self.schedule!r}")
        if self.batch < 1 or self.reuse <= 0 or not 0 < self.window_share <= 1 or not 0 <= self.ema < 1:
            raise ConfigError("batch, reuse, window_share or ema out of range")
        self.rule_weights()

    def rule_weights(self) -> dict[int, float]:
        """Return the sampling weights of the rules named in `rules`."""
        return dict(weighted_rule(text) for text in self.rules)


@dataclass(frozen=True, slots=True)
class GumbelParams:
    """Settings of the root search.

    Attributes:
        considered: moves that sequential halving begins with.
        scale, offset: of sigma.
        noise: weight of the Gumbel noise; 0 plays the best move found.
        dirichlet: share of Dirichlet noise in the priors that the considered moves are drawn by, so that
            moves the policy has forgotten are searched now and then. Targets see it in the values found.
        dirichlet_total: sum of its concentration over all legal moves.
    """

    considered: int = 16
    scale: float = 0.3  # tuned: prototype of one core-hour, .681 against 0.1
    offset: float = 50.0
    noise: float = 1.0
    dirichlet: float = 0.1
    dirichlet_total: float = 10.83  # tuned: as in the field, 0.03 a move of a 19x19 board


@dataclass(frozen=True, slots=True)
class OpeningConfig:
    """How games begin: some stones near the centre, then some drawn from the net's policy.

    Attributes:
        max_stones: a game begins with 0 to this many stones (fewer on small boards).
        spread: the first ones stand at most this many cells from the centre.
        free_stones: at most this many stones are drawn without the net.
        temperature: of the policy that the others are drawn from.
        max_value: openings with a larger |win - loss| for the side to move, by the net or after the first
            search, are rejected.
        tries: after so many rejections in a row only solved positions are rejected.
    """

    max_stones: int = 8
    spread: int = 3
    free_stones: int = 3
    temperature: float = 1.2
    max_value: float = 0.35
    tries: int = 10


@dataclass(frozen=True, slots=True)
class PlayConfig:
    """How self-play searches and moves.

    Attributes:
        simulations: of a full search, which makes a policy target.
        fast_simulations: of a fast search, which only makes a move.
        full_share: share of moves that get a full search (playout cap randomisation).
        fast_considered: moves that sequential halving begins with in a fast search.
        gumbel: see `GumbelParams`.
        reuse_tree: keep the subtree of the move played.
        root_vcf_nodes: budget of the solver at every root, for wins by fours; a win ends the game.
        root_vct_nodes: the same for wins by fours and threes, so that the values of quiet moves are learned
            from games that end as soon as the solver can end them.
        leaf_vcf_nodes: budget at leaves.
        policy_temperature: above 1 flattens the net's priors.
        max_ply_share: games longer than this share of the board are cut and drawn.
        tree_bytes: memory of one tree.
    """

    simulations: int = 32
    fast_simulations: int = 12
    full_share: float = 0.75
    fast_considered: int = 8
    gumbel: GumbelParams = field(default_factory=GumbelParams)
    reuse_tree: bool = True
    root_vcf_nodes: int = 500
    root_vct_nodes: int = 10_000
    leaf_vcf_nodes: int = 60
    policy_temperature: float = 1.1
    max_ply_share: float = 1.0
    tree_bytes: int = 4 << 20
    opening: OpeningConfig = field(default_factory=OpeningConfig)

    def search_params(self) -> SearchParams:
        """Return the settings of the tree."""
        return SearchParams(
            leaf_vcf_nodes=self.leaf_vcf_nodes, policy_temperature=self.policy_temperature, minimax_share=0.0
        )


@dataclass(frozen=True, slots=True)
class Mix:
    """What is played: weights of (width, height) and of rules."""

    sizes: tuple[tuple[int, int, float], ...]
    rules: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """How nets are measured while training goes on.

    Attributes:
        every_minutes: minutes of training between two measurements.
        size, rule: of the games against the best net, which decide promotion.
        pairs: pairs of games against the best net, and against each yardstick.
        yardstick_pairs: pairs against each opponent that is not a net.
        simulations: a move, of both sides; 1 plays the net's first choice.
        leaf_vcf_nodes: solver budget at leaves, of both sides.
        threshold: a candidate is promoted from this score on.
        sizes: boards of the games against `yardsticks`.
        yardsticks: `random`, `rollouts:N`, `uniform`, `tactical`; each is dropped when beaten twice by 98 %.
    """

    every_minutes: float = 10.0
    size: int = 15
    rule: int = 0
    pairs: int = 32
    yardstick_pairs: int = 10
    simulations: int = 64
    leaf_vcf_nodes: int = 60
    threshold: float = 0.5
    sizes: tuple[int, ...] = (9, 15)
    yardsticks: tuple[str, ...] = ("random", "rollouts:1000", "uniform", "tactical")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides a run.

    Attributes:
        seed: of all games and of the learner.
        minutes: length of the run, resumed parts together; 0: until stopped.
        device: `auto`, `cpu` or `cuda`, of self-play and learner.
        workers: self-play processes; 0: one a core; with a GPU one for two cores, at least four.
        games: games in flight of each board size in each worker.
        precision: `int8` or `fp32` nets in self-play on the CPU.
        sizes: boards, each `N` or `WxH`, with `:weight` behind it (share of positions, default 1).
        rules: each a rule code, with `:weight` (share of games, default 1).
        small_sizes: boards of the first `small_share` of the run.
        small_share: share of the run's time; 0 switches small boards off.
        cycle_positions: positions of self-play between two rounds of learning; the first cycles are shorter.
        self_play_net: `latest` plays with every export, `best` only with promoted ones.
        total_positions: the run also ends after so many positions, and its learning rate follows their count
            instead of the time; 0: `minutes` decides. Such a run repeats itself game by game, like one with
            a constant rate.
        pretrain_samples: before its first game the run learns from so many samples of the records it was
            given by `--records`, with a learning rate that falls to its end; 0: none.
        play, learner, evaluation: see there.
    """

    seed: int = 1
    minutes: float = 60.0
    device: str = "auto"
    workers: int = 0
    games: int = 32
    precision: str = "int8"
    sizes: tuple[str, ...] = ("15:5", "20:2", "9", "11", "13", "17")
    rules: tuple[str, ...] = ("0:3", "1:2", "4:2", "8", "9")
    small_sizes: tuple[str, ...] = ()
    small_share: float = 0.0
    cycle_positions: int = 8000
    self_play_net: str = "latest"
    total_positions: int = 0
    pretrain_samples: int = 0
    play: PlayConfig = field(default_factory=PlayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        if self.device not in ("auto", "cpu", "cuda"):
            raise ConfigError(f"device must be auto, cpu or cuda, not {self.device!r}")
        if self.precision not in ("int8", "fp32"):
            raise ConfigError(f"precision must be int8 or fp32, not {self.precision!r}")
        if self.self_play_net not in ("latest", "best"):
            raise ConfigError(f"self_play_net must be latest or best, not {self.self_play_net!r}")
        if self.workers < 0 or self.games < 1 or self.cycle_positions < 1 or self.minutes < 0:
            raise ConfigError("workers, games, cycle_positions or minutes out of range")
        if self.pretrain_samples < 0 or self.total_positions < 0:
            raise ConfigError("pretrain_samples or total_positions out of range")
        if self.play.simulations < 1 or not 0 <= self.play.full_share <= 1:
            raise ConfigError("play.simulations or play.full_share out of range")
        self.mix(False)
        if self.small_share:
            self.mix(True)

    def mix(self, small: bool) -> Mix:
        """Return what is played, at first (`small`) or later."""
        sizes = self.small_sizes if small else self.sizes
        return Mix(tuple(_size(text) for text in sizes), tuple(weighted_rule(text) for text in self.rules))

    def side_range(self) -> tuple[int, int]:
        """Return the shortest and the longest side of all boards that are played, in cells."""
        sizes = self.mix(False).sizes + (self.mix(True).sizes if self.small_share else ())
        sides = [side for width, height, _ in sizes for side in (width, height)]
        return min(sides), max(sides)


def _size(text: str) -> tuple[int, int, float]:
    name, weight = weighted(text, "size")
    width, _, height = name.partition("x")
    try:
        w, h = int(width), int(height or width)
    except ValueError:
        raise ConfigError(f"size {text!r} must be N or WxH") from None
    if not (5 <= w <= 22 and 5 <= h <= 22):
        raise ConfigError(f"size {text!r}: boards have 5 to 22 cells a side")
    return w, h, weight
