"""Settings of net and learner: frozen dataclasses, read from mappings that may hold no unknown key."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.rules.rule import Rule

T = TypeVar("T")


class ConfigError(ValueError):
    """A setting is unknown or of the wrong kind; the message names it."""


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Shape of a net.

    Attributes:
        kind: `tower`, a residual tower; `lines`, a table of lines with light blocks (`training.lines`).
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


def positive(text: str, what: str) -> float:
    """Return a weight given as text.

    Raises:
        ConfigError: it is not a finite number above 0; the message begins with `what`.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise ConfigError(f"{what} must be a number above 0, not {text!r}")
    return value


def weighted(text: str, what: str) -> tuple[str, float]:
    """Return name and weight of `NAME:WEIGHT`, or of `NAME`, whose weight is 1.

    Raises:
        ConfigError: see `positive`; the message calls the thing `what`.
    """
    name, colon, weight = text.partition(":")
    return name, positive(weight, f"{what} {text!r}: the weight") if colon else 1.0


def weighted_rule(text: str) -> tuple[int, float]:
    """Return code and weight of a rule, `CODE:WEIGHT` or `CODE`.

    Raises:
        ConfigError: no such rule, or see `weighted`.
    """
    name, weight = weighted(text, "rule")
    if not name.isdigit() or int(name) not in list(Rule):
        raise ConfigError(f"rule {text!r} must be one of {', '.join(str(int(r)) for r in Rule)}")
    return int(name), weight


def from_mapping(kind: type[T], mapping: Mapping[str, Any], where: str = "") -> T:
    """Make a config dataclass from a mapping, nested ones included.

    Args:
        kind: a dataclass.
        mapping: setting to value; settings that are missing keep their default.
        where: path of `mapping` in the whole, for messages.

    Raises:
        ConfigError: an unknown setting, or a value of the wrong type.
    """
    known = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, value in mapping.items():
        path = f"{where}{name}"
        if name not in known:
            raise ConfigError(f"unknown setting {path!r}; known here: {', '.join(sorted(known))}")
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{path} must be a table of settings")
            values[name] = from_mapping(hint, value, f"{path}.")  # type: ignore[arg-type]
        else:
            values[name] = _checked(value, hint, path)
    return kind(**values)


def _checked(value: Any, hint: Any, path: str) -> Any:
    origin = typing.get_origin(hint)
    allowed = typing.get_args(hint) if origin in (types.UnionType, typing.Union) else (hint,)
    for option in allowed:
        if option is type(None) and value is None:
            return None
        if option is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if option is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if option in (str, bool) and isinstance(value, option):
            return value
        if typing.get_origin(option) is tuple and isinstance(value, (list, tuple)):
            item = typing.get_args(option)[0]
            return tuple(_checked(v, item, path) for v in value)
    raise ConfigError(f"{path} must be {hint}, not {value!r}")


def describe(kind: type[Any], where: str = "") -> str:
    """Return what the settings of a config dataclass mean, nested ones included, from its docstrings.

    Args:
        kind: a dataclass whose docstring ends in a section "Attributes:".
        where: path of these settings in the whole, "" or ending in a dot.
    """
    head, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    hints = typing.get_type_hints(kind)
    title = f"{where}*: {head.strip()}" if where else head.strip()
    parts = [f"{title}\n\n{attributes.rstrip()}"]
    for f in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[f.name]):
            parts.append(describe(hints[f.name], f"{where}{f.name}."))
    return "\n\n".join(parts)


def to_mapping(config: Any) -> dict[str, Any]:
    """Return a config as plain nested dicts, as `from_mapping` reads them."""
    return dataclasses.asdict(config)
