"""Settings of a whole training run: presets, `key=value` overrides, what is played."""

from __future__ import annotations

import dataclasses
import json
import os
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.encoding import FEATURE_VERSION
from training.config import ConfigError, LearnerConfig, from_mapping, to_mapping, weighted, weighted_rule
from training.game import PlayConfig
from training.records import write_atomically
from training.worker import Mix


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


PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "minutes": 2.0, "workers": 1, "games": 24, "sizes": ("7",), "rules": ("0",), "cycle_positions": 1500,
        "play": {"simulations": 16, "root_vcf_nodes": 100, "root_vct_nodes": 500, "leaf_vcf_nodes": 0,
                 "opening": {"max_stones": 3, "free_stones": 3}},
        "learner": {"net": {"blocks": 1, "channels": 16}, "batch": 64, "window_min": 2000, "warmup": 20},
        "evaluation": {"every_minutes": 0.4, "size": 7, "sizes": (7,), "pairs": 10, "yardstick_pairs": 10,
                       "simulations": 1, "leaf_vcf_nodes": 0, "yardsticks": ("random",)},
    },
    "laptop": {
        "games": 24,
        "play": {"simulations": 64, "fast_simulations": 16, "full_share": 0.5, "root_vct_nodes": 3000},
        "learner": {"net": {"kind": "lines", "blocks": 6, "channels": 32, "policy_channels": 16}, "lr": 0.008,
                    "loss": {"value": 1.5, "root_mix": 0.4}, "window_min": 6000, "reuse": 4.0},
    },
    "gpu": {
        "minutes": 24 * 60.0, "games": 512, "cycle_positions": 200_000,
        "learner": {"net": {"blocks": 10, "channels": 128}, "batch": 1024, "window_min": 200_000,
                    "window_max": 5_000_000},
        "play": {"simulations": 48},
        "evaluation": {"every_minutes": 20.0},
    },
}  # fmt: skip
"""Differences from the defaults."""


def make_config(preset: str, overrides: Sequence[str], base: Mapping[str, Any] | None = None) -> RunConfig:
    """Return the settings of a run.

    Args:
        preset: name in `PRESETS`.
        overrides: `key=value` texts, keys dotted as in `play.gumbel.scale=0.2`, lists with commas.
        base: stored settings of a run that goes on; they replace the preset.

    Raises:
        ConfigError: unknown preset or key, or a value of the wrong kind.
    """
    if preset not in PRESETS:
        raise ConfigError(f"unknown preset {preset!r}; known: {', '.join(PRESETS)}")
    mapping: dict[str, Any] = json.loads(json.dumps(base if base is not None else PRESETS[preset]))
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"expected key=value, not {text!r}")
        _put(mapping, key.strip(), value.strip())
    return from_mapping(RunConfig, mapping)


def _put(mapping: dict[str, Any], key: str, text: str) -> None:
    """Store a value given as text at a dotted key, converted to the type of that setting."""
    kind: Any = RunConfig
    names = key.split(".")
    for i, name in enumerate(names):
        known = {f.name for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
        if name not in known:
            raise ConfigError(f"unknown setting {key!r}; known here: {', '.join(sorted(known))}")
        kind = typing.get_type_hints(kind)[name]
        if i + 1 < len(names):
            mapping = mapping.setdefault(name, {})
    if dataclasses.is_dataclass(kind):
        known = {f.name for f in dataclasses.fields(kind)}
        raise ConfigError(f"{key!r} is a group of settings: {', '.join(sorted(known))}")
    mapping[names[-1]] = _parse(kind, text, key)


def _parse(kind: Any, text: str, key: str) -> Any:
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return [_parse(item, part.strip(), key) for part in text.split(",") if part.strip()]
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if type(None) in options and text.lower() == "none":
        return None
    try:
        if bool in options:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if int in options:
            return int(text)
        if float in options:
            return float(text)
    except (ValueError, KeyError):
        raise ConfigError(f"{key} must be {kind}, not {text!r}") from None
    return text


def store_config(path: Path, preset: str, config: RunConfig) -> None:
    """Write the resolved settings of a run."""
    data = {"preset": preset, "feature_version": FEATURE_VERSION, "config": to_mapping(config)}
    write_atomically(path, json.dumps(data, indent=1).encode())


def read_stored(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return preset and settings of a run that was started before; None for a new one.

    Raises:
        ConfigError: the file is damaged, or the run belongs to another feature version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found, preset, config = data["feature_version"], data["preset"], data["config"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{path} is damaged ({error}); choose another run directory") from error
    if found != FEATURE_VERSION:
        raise ConfigError(
            f"{path.parent} was started with feature version {found}, this program has {FEATURE_VERSION}: "
            "start a new run directory"
        )
    return preset, config


def cpu_count() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count(config: RunConfig, device: str) -> int:
    """Return the number of self-play processes on a kind of device, `cpu` or `cuda`."""
    # A core does tree and solver for some 30,000 positions a second: large nets on a GPU need few cores.
    return config.workers or (max(4, cpu_count() // 2) if device == "cuda" else cpu_count())
