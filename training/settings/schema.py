"""Every setting of a training run: unit, default, where the default comes from, and the file that reads it.

"Prototype" is the one of this training, one core-hour on 15x15 freestyle; `training/RUNS.md` has later runs.
The recipes in `training/recipes` say what differs from these defaults.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from training.settings.field import setting
from training.settings.play import Mix, PlayConfig
from training.settings.values import ConfigError, weighted_rule, weighted_size

_NETWORK, _LOSSES = "net/network.py", "learn/losses.py"
_LEARNER, _WINDOW = "learn/learner.py", "data/window.py"
_GATE, _LOOP, _HERE = "measure/gate.py", "loop.py", "settings/schema.py"
_PROTOTYPE = "tuned: prototype"

# Bounds of what a file from elsewhere may ask for: far more than any net that plays.
_MOST_BLOCKS, _WIDEST, _WIDEST_MARGIN = 200, 4096, 22
_MOST_WORKERS, _MOST_GAMES = 4096, 1 << 20


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Shape of a net."""

    kind: str = setting(
        "tower", "`tower`, a residual tower; `lines`, a table of lines with light blocks, better on a CPU; "
        "`line-tower`, that table under a residual tower, as a teacher of line nets", _NETWORK,
    )  # fmt: skip
    blocks: int = setting(
        4, "of two 3x3 convolutions in a tower, of a depthwise 3x3 and a 1x1 one in `lines`", _NETWORK,
        "blocks",
    )  # fmt: skip
    channels: int = setting(64, "of the trunk", _NETWORK, "channels")
    margin: int = setting(
        0, "around the stones that a line net judges, what lies beyond is off the board for it; 0 for all of "
        "the board", _NETWORK, "cells",
    )  # fmt: skip
    line_hidden: int = setting(128, "hidden units of what fills the table of a line net", _NETWORK, "units")
    pool_block: int | None = setting(
        None, "index of the block that also sees the pooled board; -1 for none, none for the middle", _HERE,
        "blocks from the first",
    )  # fmt: skip
    policy_channels: int = setting(32, "of the 1x1 convolution before the policy", _NETWORK, "channels")
    value_channels: int = setting(32, "of the 1x1 convolution before the value", _NETWORK, "channels")
    value_hidden: int = setting(64, "width of the dense layer before the WDL logits", _NETWORK, "units")

    @property
    def pooled(self) -> int:
        """Index of the block with global pooling, -1 for none."""
        return self.blocks // 2 if self.pool_block is None else self.pool_block

    def __post_init__(self) -> None:
        if self.kind not in ("tower", "lines", "line-tower"):
            raise ConfigError(f"the kind of a net must be tower, lines or line-tower, not {self.kind!r}")
        if not 0 <= self.blocks <= _MOST_BLOCKS or not -1 <= self.pooled < max(self.blocks, 1):
            raise ConfigError(f"blocks must be 0 to {_MOST_BLOCKS}, pool_block one of them or -1")
        if not 0 <= self.margin <= _WIDEST_MARGIN or (self.margin and self.kind != "lines"):
            raise ConfigError(f"margin must be 0, or for lines up to {_WIDEST_MARGIN}, not {self.margin}")
        for name in ("channels", "line_hidden", "policy_channels", "value_channels", "value_hidden"):
            if not 1 <= getattr(self, name) <= _WIDEST:
                raise ConfigError(f"{name} must be 1 to {_WIDEST}, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class LossConfig:
    """Weights of the parts of the loss and the mix of the value target."""

    value: float = setting(1.0, "of the WDL cross entropy; the policy's is 1", _LOSSES, "weight")
    reply: float = setting(0.15, "of the head that foretells the opponent's reply", _LOSSES, "weight")
    soft: float = setting(
        1.0, "of the soft-policy head, whose target is the policy target to the power `soft_power`", _LOSSES,
        "weight",
    )  # fmt: skip
    soft_power: float = setting(0.25, "below 1 flattens the target of the soft-policy head", _LOSSES, "power")
    root_mix: float = setting(
        0.25, "of the searched root WDL in the value target, the rest is the result", _LOSSES, "share",
        _PROTOTYPE,
    )  # fmt: skip
    root_power: float = setting(
        1.0,
        "the searched WDL enters to this power, normalised. A search reports the mean of all that it looked "
        "at, bad moves included; above 1 makes up for that",
        _LOSSES, "power",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not 0 <= self.root_mix <= 1 or not 0 < self.root_power < math.inf:
            raise ConfigError("root_mix or root_power out of range")


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """How the learner works."""

    net: NetConfig = field(default_factory=NetConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    batch: int = setting(256, "in a batch", _LEARNER, "positions")
    lr: float = setting(
        2e-3, "peak learning rate; a line net bears four times as much", _LEARNER, "a step",
        "tuned: prototype, a tower of 2x32",
    )  # fmt: skip
    optimizer: str = setting(
        "adamw",
        "`adamw`, or `muon`: Muon for the matrices inside the net and AdamW for the rest, at the same rate; "
        "from nothing it learned better values from as many samples, and as good a policy",
        _LEARNER,
    )  # fmt: skip
    schedule: str = setting(
        "cosine",
        "`constant`, `cosine`, `step` (x0.4 at 60 %, x0.15 at 85 % of the way) or `kl` (as the published "
        "gomoku nets do it: the rate follows the KL divergence of the policy from `kl_every` batches ago, to "
        "stay near `kl_target`)",
        _LEARNER,
    )
    total_batches: int = setting(
        0, "length of the schedule when nobody tells the learner its progress; 0: the peak rate", _LEARNER,
        "batches",
    )  # fmt: skip
    kl_target: float = setting(0.02, "that the policy should move by (`kl` only)", _LEARNER, "nats")
    kl_every: int = setting(20, "between two looks at that (`kl` only)", _LEARNER, "batches")
    warmup: int = setting(100, "of linear warm-up", _LEARNER, "batches")
    weight_decay: float = setting(
        0.01, "AdamW decay of convolution and dense weights (gains and biases have none)", _LEARNER, "a step"
    )
    clip: float = setting(2.0, "largest norm of the gradient", _LEARNER, "norm")
    freeze_norm: float = setting(
        0.8,
        "of the way after which normalisation keeps its statistics, so that the net trains as it will be "
        "used; 0: from the first batch, for a net that has them and a constant rate, whose way has no "
        "end; 1: never",
        _LEARNER, "share",
    )  # fmt: skip
    ema: float = setting(
        0.998, "decay of the averaged weights, which are the exported ones", _LEARNER, "a batch"
    )
    reuse: float = setting(
        6.0, "how often a position may be used on average", _LEARNER, "times", _PROTOTYPE
    )
    window_share: float = setting(
        0.6, "of all positions seen, the newest, that batches are drawn from", _WINDOW, "share", _PROTOTYPE
    )
    window_min: int = setting(
        20_000, "in the window at least, summed over board sizes; with fewer nothing is learned", _WINDOW,
        "positions",
    )  # fmt: skip
    window_max: int = setting(
        2_000_000, "in the window at most, summed over board sizes", _WINDOW, "positions"
    )
    surprise: float = setting(
        0.5, "of the sampling weight that goes by KL(target || prior); 0 draws evenly", _WINDOW, "share"
    )
    fast_weight: float = setting(
        0.0, "in sampling, of a position without policy target (fast search, behind a proof), for its value",
        _WINDOW, "weight",
    )  # fmt: skip
    rules: tuple[str, ...] = setting(
        (), "in sampling: each a rule code with `:weight` behind it; 1 for those not named", _HERE, "weights"
    )
    teacher: str = setting(
        "",
        "a checkpoint, or a run that has one, whose net is learned from besides the records; none without a "
        "name",
        _LEARNER,
    )
    teacher_share: float = setting(
        0.75, "of what the teacher says in all targets, the rest is the records", _LEARNER, "share",
        "derived: shares of 0.75 to 0.8 made the strongest published students",
    )  # fmt: skip
    bf16: bool | None = setting(
        None,
        "bfloat16 autocast; none: where the processor or GPU computes in it (on others it is ten times "
        "slower than float32)",
        _LEARNER,
    )
    threads: int = setting(1, "of torch on the CPU; 0 leaves torch's choice", _LEARNER, "threads")
    keep_checkpoints: int = setting(3, "kept, the newest", _LEARNER, "checkpoints")
    seed: int = setting(1, "of weights, order and augmentation", _LEARNER, "any whole number")

    def __post_init__(self) -> None:
        if self.schedule not in ("constant", "cosine", "step", "kl"):
            raise ConfigError(f"schedule must be constant, cosine, step or kl, not {self.schedule!r}")
        if self.optimizer not in ("adamw", "muon"):
            raise ConfigError(f"optimizer must be adamw or muon, not {self.optimizer!r}")
        if not 0 < self.lr < math.inf:
            raise ConfigError(f"lr must be a number above 0, not {self.lr}")
        if self.keep_checkpoints < 1:
            raise ConfigError("keep_checkpoints must be at least 1")
        if self.batch < 1 or self.reuse <= 0 or not 0 < self.window_share <= 1 or not 0 <= self.ema < 1:
            raise ConfigError("batch, reuse, window_share or ema out of range")
        if not 0 <= self.teacher_share <= 1:
            raise ConfigError(f"teacher_share must be 0 to 1, not {self.teacher_share}")
        self.rule_weights()

    def rule_weights(self) -> dict[int, float]:
        """Return the sampling weights of the rules named in `rules`."""
        return dict(weighted_rule(text) for text in self.rules)


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """How nets are measured while training goes on."""

    every_minutes: float = setting(10.0, "of training between two measurements", _LOOP, "minutes")
    size: int = setting(
        15, "of the games against the best net, which decide promotion", _GATE, "cells a side"
    )
    rule: int = setting(0, "of those games", _GATE, "rule code")
    pairs: int = setting(32, "against the best net", _GATE, "pairs of games")
    yardstick_pairs: int = setting(10, "against each opponent that is not a net", _GATE, "pairs of games")
    simulations: int = setting(
        64, "a move, of both sides; 1 plays the net's first choice", _GATE, "simulations"
    )
    leaf_vcf_nodes: int = setting(60, "of the solver at leaves, of both sides", _GATE, "nodes")
    threshold: float = setting(0.5, "a candidate is promoted from this one on", _LOOP, "score")
    sizes: tuple[int, ...] = setting((9, 15), "of the games against `yardsticks`", _GATE, "cells a side")
    yardsticks: tuple[str, ...] = setting(
        ("random", "rollouts:1000", "uniform", "tactical"),
        "`random`, `rollouts:N`, `uniform`, `tactical`; each is dropped when beaten twice by 98 %", _GATE,
        "names",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in self.yardsticks:
            if not re.fullmatch(r"random|uniform|tactical|rollouts:[1-9][0-9]{0,6}", name):
                raise ConfigError(f"a yardstick is random, rollouts:N, uniform or tactical, not {name!r}")
        weighted_rule(str(self.rule))
        for side in (self.size, *self.sizes):
            weighted_size(str(side))
        if min(self.pairs, self.yardstick_pairs, self.simulations) < 1:
            raise ConfigError("evaluation.pairs, yardstick_pairs and simulations must be at least 1")
        if not 0 <= self.threshold <= 1 or self.every_minutes < 0:
            raise ConfigError("evaluation.threshold or every_minutes out of range")


@dataclass(frozen=True, slots=True)
class StartConfig:
    """What a run of a recipe begins with: recipes of other runs, as files seen from its folder."""

    weights: tuple[str, ...] = setting(
        (), "mean of their weights; `=SHARE` behind a name that weighs differently", "settings/recipes.py",
        "recipes",
    )  # fmt: skip
    records: tuple[str, ...] = setting((), "their games, oldest first", "settings/recipes.py", "recipes")
    records_positions: int = setting(
        0, "of these games at most, about, the newest; 0: all", "selfplay.py", "positions"
    )


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides a run."""

    seed: int = setting(1, "of all games, those of measurements too", _LOOP, "any whole number")
    minutes: float = setting(60.0, "of the run, resumed parts together; 0: until stopped", _LOOP, "minutes")
    device: str = setting("auto", "`auto`, `cpu` or `cuda`, of self-play and learner", _LOOP)
    workers: int = setting(
        0, "self-play processes; 0: one a core; with a GPU one for two cores, at least four", "crew/cores.py",
        "processes",
    )  # fmt: skip
    games: int = setting(32, "in flight of each board size in each worker", "crew/players.py", "games")
    worker_silence_s: float = setting(
        120.0,
        "a worker that says nothing for so long is killed and started again; workers speak once a second, "
        "unless one step of their games takes longer; 0: never",
        "crew/players.py", "seconds", "derived: ten times the start of torch on a busy machine of two cores",
    )  # fmt: skip
    precision: str = setting("int8", "`int8` or `fp32` nets in self-play on the CPU", _LOOP)
    sizes: tuple[str, ...] = setting(
        ("15:5", "20:2", "9", "11", "13", "17"),
        "boards, each `N` or `WxH`, with `:weight` behind it (share of positions, default 1)", _HERE,
        "cells a side",
    )  # fmt: skip
    rules: tuple[str, ...] = setting(
        ("0:3", "1:2", "4:2", "8", "9"), "each a rule code, with `:weight` (share of games, default 1)",
        _HERE, "rule codes",
    )  # fmt: skip
    small_sizes: tuple[str, ...] = setting(
        (), "boards of the first `small_share` of the run", _HERE, "cells a side"
    )
    small_share: float = setting(0.0, "of the run's time; 0 switches small boards off", _LOOP, "share")
    cycle_positions: int = setting(
        8000, "of self-play between two rounds of learning; the first cycles are shorter", _LOOP, "positions"
    )
    ahead_cycles: float = setting(
        1.0,
        "players are at most so far ahead of learning, which bounds the age of their nets (without `--ray` "
        "whole cycles); 0: they wait while the run learns",
        "run/orders.py", "cycles", "derived: nobody waits while learning takes less than a cycle",
    )  # fmt: skip
    self_play_net: str = setting(
        "latest", "`latest` plays with every export, `best` only with promoted ones", _LOOP
    )
    total_positions: int = setting(
        0,
        "the run also ends after so many positions, and its learning rate follows their count instead of the "
        "time; 0: `minutes` decides. Such a run repeats itself game by game, like one with a constant rate",
        _LOOP, "positions",
    )  # fmt: skip
    pretrain_samples: int = setting(
        0,
        "before its first game the run learns from so many samples of the records it was given by "
        "`--records`, with a learning rate that falls to its end; 0: none",
        _LOOP, "samples",
    )  # fmt: skip
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
        if not 0 <= self.workers <= _MOST_WORKERS or not 1 <= self.games <= _MOST_GAMES:
            raise ConfigError(f"workers or games out of range (most: {_MOST_WORKERS}, {_MOST_GAMES})")
        if self.cycle_positions < 1 or self.minutes < 0 or not 0 <= self.ahead_cycles <= 100:
            raise ConfigError("cycle_positions, minutes or ahead_cycles out of range")
        if self.worker_silence_s and self.worker_silence_s < 5:
            raise ConfigError("worker_silence_s must be 0 or at least 5: workers speak once a second")
        if self.pretrain_samples < 0 or self.total_positions < 0:
            raise ConfigError("pretrain_samples or total_positions out of range")
        if self.play.simulations < 1 or not 0 <= self.play.full_share <= 1:
            raise ConfigError("play.simulations or play.full_share out of range")
        if not 0 <= self.play.opening.regret_share <= 1:
            raise ConfigError("play.opening.regret_share is a share, 0 to 1")
        if self.play.opening.tries < 1:
            raise ConfigError("play.opening.tries must be at least 1")
        self.mix(False)
        if self.small_share:
            self.mix(True)

    def mix(self, small: bool) -> Mix:
        """Return what is played, at first (`small`) or later."""
        sizes = self.small_sizes if small else self.sizes
        rules = tuple(weighted_rule(text) for text in self.rules)
        return Mix(tuple(weighted_size(text) for text in sizes), rules)

    def side_range(self) -> tuple[int, int]:
        """Return the shortest and the longest side of all boards that are played, in cells."""
        sizes = self.mix(False).sizes + (self.mix(True).sizes if self.small_share else ())
        sides = [side for width, height, _ in sizes for side in (width, height)]
        return min(sides), max(sides)
