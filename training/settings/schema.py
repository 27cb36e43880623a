"""Every setting of a training run: unit, default, where the default comes from, and the file that reads it.

"Prototype" is the one of this training, one core-hour on 15x15 freestyle; `training/RUNS.md` has later runs.
The recipes in `training/recipes` say what differs from these defaults.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from training.settings.field import constant, setting, shape
from training.settings.net_kinds import NET_KINDS, NetKind, kinds_text
from training.settings.play import Mix, PlayConfig
from training.settings.values import ConfigError, weighted_rule, weighted_size

_NETWORK, _LOSSES = "net/network.py", "learn/losses.py"
_LEARNER, _WINDOW = "learn/learner.py", "data/replay_buffer.py"
_GATE, _LOOP, _HERE = "measure/gate.py", "loop.py", "settings/schema.py"
_PROTOTYPE = "tuned: prototype"

# Bounds of what a file from elsewhere may ask for: far more than any net that plays.
_MOST_BLOCKS, _WIDEST, _WIDEST_MARGIN = 200, 4096, 22
_MOST_WORKERS, _MOST_GAMES = 4096, 1 << 20
_MOST_STONES = 200  # of an opening
_MOST_YARDSTICK_PAIRS = 10  # not tuned: enough to see a yardstick beaten


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Shape of a net."""

    kind: str = setting("tower", kinds_text(), _HERE)
    blocks: int = setting(
        4, "of two 3x3 convolutions in a tower, of a depthwise 3x3 and a 1x1 one in `lines`", _NETWORK,
        "blocks",
    )  # fmt: skip
    channels: int = setting(64, "of the trunk", _NETWORK, "channels")
    margin: int = setting(
        0, "around the stones that a line net judges, what lies beyond is off the board for it; 0 for all of "
        "the board", _NETWORK, "cells",
    )  # fmt: skip
    policy_channels: int = setting(32, "of the 1x1 convolution before the policy", _NETWORK, "channels")
    line_hidden: int = shape(128, "hidden units of what fills the table of a line net", "units")
    pool_block: int | None = shape(
        None, "index of the block that also sees the pooled board; -1 for none, none for the middle", "blocks"
    )
    value_channels: int = shape(32, "of the 1x1 convolution before the value", "channels")
    value_hidden: int = shape(64, "width of the dense layer before the WDL logits", "units")

    @property
    def traits(self) -> NetKind:
        """What its kind is made of."""
        return NET_KINDS[self.kind]

    @property
    def pooled(self) -> int:
        """Index of the block with global pooling, -1 for none."""
        return self.blocks // 2 if self.pool_block is None else self.pool_block

    def __post_init__(self) -> None:
        if self.kind not in NET_KINDS:
            raise ConfigError(f"the kind of a net must be one of {', '.join(NET_KINDS)}, not {self.kind!r}")
        if not 0 <= self.blocks <= _MOST_BLOCKS or not -1 <= self.pooled < max(self.blocks, 1):
            raise ConfigError(f"blocks must be 0 to {_MOST_BLOCKS}, pool_block one of them or -1")
        if not 0 <= self.margin <= _WIDEST_MARGIN or (self.margin and not self.traits.kernel):
            raise ConfigError(f"margin must be 0, or for lines up to {_WIDEST_MARGIN}, not {self.margin}")
        for name in ("channels", "line_hidden", "policy_channels", "value_channels", "value_hidden"):
            if not 1 <= getattr(self, name) <= _WIDEST:
                raise ConfigError(f"{name} must be 1 to {_WIDEST}, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class LossConfig:
    """Weights of the parts of the loss and the mix of the value target."""

    value: float = setting(1.0, "of the WDL cross entropy; the policy's is 1", _LOSSES, "weight")
    reply: float = constant(0.15, "of the head that foretells the opponent's reply", "weight")
    soft: float = constant(
        1.0, "of the soft-policy head, whose target is the policy target to the power `soft_power`", "weight"
    )
    soft_power: float = constant(0.25, "below 1 flattens the target of the soft-policy head", "power")
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
        "cosine", "`constant`, or `cosine`, which falls with the share of the run that is done", _LEARNER
    )
    warmup: int = setting(100, "of linear warm-up", _LEARNER, "batches")
    weight_decay: float = constant(
        0.01, "AdamW decay of convolution and dense weights (gains and biases have none)", "a step"
    )
    clip: float = constant(2.0, "largest norm of the gradient", "norm")
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
    surprise: float = constant(
        0.5, "of the sampling weight that goes by KL(target || prior); 0 draws evenly", "share"
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
    bf16: bool | None = constant(
        None,
        "bfloat16 autocast; none: where the processor or GPU computes in it (on others it is ten times "
        "slower than float32)",
    )
    threads: int = constant(1, "of torch on the CPU; 0 leaves torch's choice", "threads")
    keep_checkpoints: int = constant(3, "kept, the newest", "checkpoints")
    seed: int = constant(1, "of weights, order and augmentation: that of the run", "0 or more")

    def __post_init__(self) -> None:
        if self.schedule not in ("constant", "cosine"):
            raise ConfigError(f"schedule must be constant or cosine, not {self.schedule!r}")
        if self.optimizer not in ("adamw", "muon"):
            raise ConfigError(f"optimizer must be adamw or muon, not {self.optimizer!r}")
        if not 0 < self.lr < math.inf:
            raise ConfigError(f"lr must be a number above 0, not {self.lr}")
        if self.batch < 1 or self.reuse <= 0 or not 0 < self.window_share <= 1 or not 0 <= self.ema < 1:
            raise ConfigError("batch, reuse, window_share or ema out of range")
        if not 0 <= self.fast_weight < math.inf:
            raise ConfigError(f"fast_weight must be at least 0, not {self.fast_weight}")
        if not 0 <= self.teacher_share <= 1:
            raise ConfigError(f"teacher_share must be 0 to 1, not {self.teacher_share}")
        self.rule_weights()

    def rule_weights(self) -> dict[int, float]:
        """Return the sampling weights of the rules named in `rules`."""
        return dict(weighted_rule(text) for text in self.rules)


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """How nets are measured while training continues."""

    every_minutes: float = setting(10.0, "of training between two measurements", _LOOP, "minutes")
    pairs: int = setting(
        32, "against the best net; at most ten of them against each of `yardsticks`", _GATE,
        "pairs of games",
    )  # fmt: skip
    simulations: int = setting(
        64, "a move, of both sides; 1 plays the net's first choice", _GATE, "simulations"
    )
    sizes: tuple[int, ...] = setting(
        (9, 15), "of the games against `yardsticks`; on the largest the best net is played, freestyle", _GATE,
        "cells a side",
    )  # fmt: skip
    yardsticks: tuple[str, ...] = setting(
        ("random", "rollouts:1000", "uniform", "tactical"),
        "`random`, `rollouts:N`, `uniform`, `tactical`; each is dropped when beaten twice by 98 %", _GATE,
        "names",
    )  # fmt: skip

    @property
    def size(self) -> int:
        """Side of the board of games against the best net, which decide promotion, in cells."""
        return max(self.sizes)

    @property
    def yardstick_pairs(self) -> int:
        """Pairs of games against each opponent that is not a net."""
        return min(self.pairs, _MOST_YARDSTICK_PAIRS)

    def __post_init__(self) -> None:
        for name in self.yardsticks:
            if not re.fullmatch(r"random|uniform|tactical|rollouts:[1-9][0-9]{0,6}", name):
                raise ConfigError(f"a yardstick is random, rollouts:N, uniform or tactical, not {name!r}")
        if not self.sizes:
            raise ConfigError("evaluation.sizes must name a board")
        for side in self.sizes:
            weighted_size(str(side))
        if min(self.pairs, self.simulations) < 1 or self.every_minutes < 0:
            raise ConfigError("evaluation.pairs, simulations or every_minutes out of range")


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

    seed: int = setting(
        1, "of all games, those of measurements too, and of the learner's weights and order", _LOOP,
        "0 or more",
    )  # fmt: skip
    minutes: float = setting(60.0, "of the run, resumed parts together; 0: until stopped", _LOOP, "minutes")
    device: str = setting("auto", "`auto`, `cpu` or `cuda`, of self-play and learner", _LOOP)
    workers: int = setting(
        0, "self-play processes; 0: one a core; with a GPU one for two cores, at least four",
        "workers/cores.py", "processes",
    )  # fmt: skip
    games: int = setting(32, "in flight of each board size in each worker", "workers/local.py", "games")
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
        if self.pretrain_samples < 0 or self.total_positions < 0:
            raise ConfigError("pretrain_samples or total_positions out of range")
        if self.play.simulations < 1 or not 0 <= self.play.full_share <= 1:
            raise ConfigError("play.simulations or play.full_share out of range")
        if not 0 <= self.play.opening.regret_share <= 1:
            raise ConfigError("play.opening.regret_share is a share, 0 to 1")
        if not 0 <= self.play.opening.max_stones <= _MOST_STONES:
            raise ConfigError(f"play.opening.max_stones must be 0 to {_MOST_STONES}")
        if self.seed < 0:
            raise ConfigError(f"seed must be at least 0, not {self.seed}")
        try:
            self.play.search_params()
        except ValueError as error:
            raise ConfigError(f"play.{error}") from error
        self.mix()

    def mix(self) -> Mix:
        """Return the boards, in cells, and the rules of self-play, with their weights.

        Raises:
            ConfigError: a size or rule is not valid.
        """
        rules = tuple(weighted_rule(text) for text in self.rules)
        return Mix(tuple(weighted_size(text) for text in self.sizes), rules)

    def side_range(self) -> tuple[int, int]:
        """Return the shortest and the longest side of all boards that are played, in cells."""
        sides = [side for width, height, _ in self.mix().sizes for side in (width, height)]
        return min(sides), max(sides)
