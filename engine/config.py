"""Configuration of the engine: frozen, each field with unit, default and source; unknown keys are refused."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import ConfigError
from engine.levels import LEVEL_FIELDS, STRONGEST, WEAKEST
from engine.levels import level as level_settings
from engine.ranges import check_range, shown
from engine.renamed import with_new_names
from engine.timing.params import ClockParams

SEARCH_PREFIX = "search."
"""Keys with this prefix go to `engine.search.params.SearchParams`."""
CLOCK_PREFIX = "clock."
"""Keys with this prefix go to `engine.timing.params.ClockParams`."""

MAX_MEMORY_BYTES = 2**63 - 1
"""Largest memory that can be asked for (derived: 64 bits)."""
MIN_THREADS, MAX_THREADS = 1, 128
"""Least and most threads of a search (derived: what one lock can serve, many times over)."""
_RANGES: dict[str, tuple[float, float]] = {
    "seed": (-(2**63), 2**63 - 1),
    "threads": (MIN_THREADS, MAX_THREADS),
    "memory_bytes": (0, MAX_MEMORY_BYTES),
    "overhead_ms": (0, 60_000),
    "cache_mib": (0, 65_536),
    "simulations": (0, 2**31 - 1),
    "temperature": (0, 10),
    "temperature_plies": (0, 484),
    "blindness": (0, 1),
    "level": (WEAKEST, STRONGEST),
}
"""Smallest and largest value of each number (derived: far beyond useful values)."""

_FALSE = frozenset({"0", "false", "no", "off"})
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """What a user can set; see `from_mapping` for reading it from text."""

    net: str = "default"
    """Path of an .onnx file, a name in `engine/nets`, "default", "uniform" (no net), "hashed" (for tests)."""
    lines: str | None = None
    """Loops that line nets run on: "plain", "avx2", "avxvnni", "avx512", "neon",
    "neon-dot"; None: the fastest there is."""
    seed: int | None = None
    """Seed of everything random; None draws one from the system, so that games differ."""
    threads: int = 1
    """Threads that search one tree, where the kernel computes the net; no more than there are cores.
    One is all that tournaments give."""
    memory_bytes: int | None = 367_001_600
    """Private memory of the whole process, bytes (protocol: the 350 MiB of Gomocup); None: 2 GiB."""
    overhead_ms: int = 80
    """Milliseconds a move may lose outside of the search: pipe, scheduler, a slow last evaluation (tuned: see
    `engine.timing.budget`). Short turns get a smaller share."""
    solver: bool = True
    """Look for forced wins by fours and threes."""
    symmetry: bool = False
    """Evaluate each position in a random orientation (more variety). A line net is then called from
    Python: half the speed, one thread."""
    cache_mib: int = 24
    """Evaluations remembered between searches, MiB; 0 switches the cache off (derived: ~14,000 of 20x20).
    A line net inside the kernel, such as the one that ships, has none."""
    simulations: int | None = None
    """At most this many simulations a move, for weaker play; 0: the net's choice; None: time decides."""
    temperature: float = 0.0
    """Draw the move in proportion to N^(1/temperature), N its visits; 0 always takes the best."""
    temperature_plies: int = 0
    """How many plies of a game the temperature lasts; 0 means all of them."""
    blindness: float = 0.0
    """Probability of overlooking a stone that is far from the last two moves; nearer ones are overlooked less
    often. For weak play; 0 to 1."""
    level: int | None = None
    """Playing strength, 1 (beginner) to 10 (full); sets simulations, temperature, blindness and solver as
    `engine.levels` says. None: those fields count."""
    search: Mapping[str, str] = field(default_factory=dict)
    """Overrides of search parameters by name, values as text."""
    clock: Mapping[str, str] = field(default_factory=dict)
    """Overrides of `engine.timing.params.ClockParams` by name, values as text."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "search", with_new_names(self.search, SEARCH_PREFIX))
        object.__setattr__(self, "clock", with_new_names(self.clock, CLOCK_PREFIX))
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None:
                check_range(name, value, low, high)
        if self.level is not None:
            self._check_level()

    def _check_level(self) -> None:
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        both = [name for name in LEVEL_FIELDS if getattr(self, name) != defaults[name]]
        if both:
            raise ConfigError(f"level sets {', '.join(LEVEL_FIELDS)}; leave out {', '.join(both)} or level")

    def clock_params(self) -> ClockParams:
        """Return the settings of the clock with the overrides.

        Raises:
            ConfigError: an override is unknown or bad.
        """
        hints = typing.get_type_hints(ClockParams)
        unknown = sorted(set(self.clock) - set(hints))
        if unknown:
            raise ConfigError(f"unknown setting {CLOCK_PREFIX}{shown(unknown[0])}; known: {', '.join(hints)}")
        values = {k: convert(CLOCK_PREFIX + k, v, hints[k]) for k, v in self.clock.items()}
        return ClockParams(**values)

    def resolved(self) -> EngineConfig:
        """Return the configuration with the settings of its level in place of the level."""
        if self.level is None:
            return self
        chosen = level_settings(self.level)
        return self.replace(level=None, **{name: getattr(chosen, name) for name in LEVEL_FIELDS})

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> EngineConfig:
        """Make a configuration from keys and values, as read from TOML or from `key=value` texts.

        Args:
            mapping: field names to values (text is converted; "none" means None where a field allows it).
                A `search` table or keys that begin with `search.` override search parameters, `clock` those
                of the clock.

        Raises:
            ConfigError: unknown key, or a value of the wrong kind or range.
        """
        hints = typing.get_type_hints(cls)
        values: dict[str, typing.Any] = {}
        search: dict[str, str] = {}
        clock: dict[str, str] = {}
        for key, value in with_new_names(mapping).items():
            if key == "search" and isinstance(value, Mapping):
                search.update({str(k): str(v) for k, v in value.items()})
            elif key.startswith(SEARCH_PREFIX):
                search[key.removeprefix(SEARCH_PREFIX)] = str(value)
            elif key == "clock" and isinstance(value, Mapping):
                clock.update({str(k): str(v) for k, v in value.items()})
            elif key.startswith(CLOCK_PREFIX):
                clock[key.removeprefix(CLOCK_PREFIX)] = str(value)
            elif key in hints and key not in ("search", "clock"):
                values[key] = convert(key, value, hints[key])
            else:
                fields = ", ".join(sorted(set(hints) - {"search", "clock"}))
                known = f"{fields}, {SEARCH_PREFIX}NAME, {CLOCK_PREFIX}NAME"
                raise ConfigError(f"unknown configuration key {shown(key)!r}; known: {known}")
        return cls(**values, search=search, clock=clock)

    def replace(self, **changes: typing.Any) -> EngineConfig:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


def convert(key: str, value: object, kind: typing.Any) -> typing.Any:
    """Turn a value from text or TOML into the type of a field.

    Raises:
        ConfigError: the value does not fit.
    """
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    text = str(value).strip()
    if type(None) in options and (value is None or text.lower() == "none"):
        return None
    for option in options:
        try:
            if option is bool and text.lower() in _TRUE | _FALSE:
                return text.lower() in _TRUE
            if option in (int, float) and not isinstance(value, bool):
                return option(text)
            if option is str:
                return text
        except ValueError:
            continue
    names = " or ".join(getattr(o, "__name__", str(o)) for o in options)
    raise ConfigError(f"{key} needs {names}, not {shown(text)!r}")


def _read_toml(path: Path) -> dict[str, object]:
    """Read a configuration file in UTF-8, or in UTF-16 with a mark as some editors of Windows write it.

    Raises:
        ConfigError: it cannot be read, or holds what `EngineConfig.from_mapping` refuses; names the file.
    """
    import codecs
    import tomllib

    try:
        raw = path.read_bytes()
        is_utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        mapping = tomllib.loads(raw.decode("utf-16" if is_utf16 else "utf-8-sig"))
        if isinstance(mapping.get("net"), str):
            mapping["net"] = _resolved_net(path, mapping["net"])
        EngineConfig.from_mapping(mapping)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error}") from error
    return mapping


def _resolved_net(path: Path, net: str) -> str:
    """Return the net that a configuration file names; a relative path counts from the folder of that file.

    A path that leads to a file from the current folder only is kept, and so is the name of a shipped net.
    """
    if "/" not in net and "\\" not in net and not net.lower().endswith(".onnx"):
        return net
    found = path.parent / net
    return net if Path(net).is_file() and not found.is_file() else str(found)


def load_config(path: Path | str | None = None, settings: typing.Iterable[str] = ()) -> EngineConfig:
    """Read a TOML file and `key=value` texts (which win) into a configuration.

    Raises:
        ConfigError: the file cannot be read, a text has no `=`, or a key or value is refused.
    """
    mapping = {} if path is None else _read_toml(Path(path))
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"expected key=value, not {setting!r}")
        mapping[key.strip()] = value
    return EngineConfig.from_mapping(mapping)
