"""How fast the net that ships usually is on each path of its kernel, and why it may be slower."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.evaluator._lines import LineNet, paths

VECTORS = {
    "avx2": "AVX2", "avxvnni": "AVX2 with VNNI", "avx512": "AVX-512", "neon": "NEON",
    "neon-dot": "NEON with dot product",
}  # fmt: skip
"""Paths of line nets that run on vectors, as people know them."""
USUAL = {"avx2": (24_000.0, 41_000.0), "avxvnni": (28_000.0, 48_000.0), "avx512": (31_000.0, 52_000.0)}
"""Evaluations a second of one core on 15x15 for the shape that ships, on an older and on a newer processor.

Measured: AVX2 on Zen 3, AVX2 and AVX-512 on Zen 4. The others follow by ratio: AVX-512 is 1.3 times and AVX2
with VNNI 1.16 times as fast as AVX2, which `training/record/speed.md` and `docs/line-nets.md` measured. NEON
was never measured; plain C makes 1,700 on Zen 3, and is always said to be slow.
"""
SHAPE = (64, 4, 2)
"""Channels, blocks and margin that `USUAL` holds for."""
PLAIN = (
    "some fourteen times slower than with AVX2 or NEON; the processor has neither, or the compiler knew none"
)
SLOW = 0.7
"""Share of the lower usual rate below which a cause is looked for."""
THROTTLED = 0.7
"""Share of its highest frequency below which a processor is said to be throttled."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the system says of itself; None where it does not.

    Attributes:
        load: processes that want a core, over the last minute.
        cores: that there are.
        frequency: now, as a share of the highest.
    """

    load: float | None
    cores: int
    frequency: float | None

    @classmethod
    def here(cls) -> Machine:
        """Return what holds now."""
        return cls(_load(), os.cpu_count() or 1, _frequency())


def describe(net: LineNet, rate: float, machine: Callable[[], Machine] = Machine.here) -> str:
    """Say in plain words on what a line net runs, what is usual there, and if it is slow why.

    Args:
        net: that was measured.
        rate: evaluations a second of one core.
        machine: asked only where the rate is low.
    """
    text = f"{on_what(net.path)}, in {net.bits} bits"
    usual = USUAL.get(net.path)
    if (net.channels, net.blocks, net.margin) != SHAPE:
        return f"{text}; no rate is known for a net of this shape"
    if net.path == "plain":
        best = paths()[-1]
        if best != "plain":
            return f"{text}, because the settings say so; {VECTORS[best]} is some fourteen times as fast"
        return f"{text}: {PLAIN}"
    if usual is None:
        return f"{text}; no usual rate of it is known"
    text += f"; usual are {usual[0]:,.0f} to {usual[1]:,.0f}"
    if rate >= SLOW * usual[0]:
        return text
    return f"{text}. This is slow: {_cause(machine())}"


def on_what(path: str) -> str:
    """Return what a path of the kernel runs on, as a sentence."""
    return "the net runs in plain C" if path == "plain" else f"the net runs on {VECTORS[path]}"


def _cause(machine: Machine) -> str:
    """Return the likeliest reason of a low rate."""
    if machine.load is not None and machine.load > machine.cores + 0.5:
        return f"other programs want the processor ({machine.load:.1f} on {machine.cores} cores); end them"
    if machine.frequency is not None and machine.frequency < THROTTLED:
        share = f"{100 * machine.frequency:.0f} % of its highest frequency"
        return f"the processor runs at {share}; look at its cooling and at the settings for saving energy"
    return "an old or a throttled processor, a virtual machine that shares its cores, or other programs"


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has none
        return None


def _frequency(folder: Path = Path("/sys/devices/system/cpu/cpu0/cpufreq")) -> float | None:
    """Return the frequency now as a share of the highest; None where the system does not say (Linux does)."""
    try:
        now, highest = (
            float((folder / name).read_text("ascii")) for name in ("scaling_cur_freq", "cpuinfo_max_freq")
        )
    except (OSError, ValueError):
        return None
    return now / highest if highest > 0 else None
