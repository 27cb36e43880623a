"""What has to be equal on all machines of a run: the code, and how its compiled kernel searches."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

_FOLDERS = (
    "arena", "engine", "training/cluster", "training/data", "training/measure", "training/play",
    "training/settings", "training/workers",
)  # fmt: skip
_EVERY = 23  # positions of the bench that are searched (derived: some tenths of a second)
_SIMULATIONS = 100


@dataclass(frozen=True, slots=True)
class Version:
    """Of the program on a machine.

    Attributes:
        features: of the planes.
        search: what the compiled kernel finds in some positions; equal on every machine and build.
        code: digest of the sources that play.
    """

    features: int
    search: str
    code: str

    def differs(self, other: Version) -> str:
        """Return in words how another one differs from this; empty if it does not."""
        if self.features != other.features:
            return f"its feature version is {other.features}, that of this run {self.features}"
        if self.search != other.search:
            return f"its compiled kernel finds other moves ({other.search}, here {self.search})"
        if self.code != other.code:
            return f"its sources are others ({other.code}, here {self.code}); install the same version"
        return ""


@functools.cache
def own_version() -> Version:
    """Return the version of this machine."""
    from engine import encoding
    from engine.commands.bench import positions, signature_of

    mixed = hashlib.blake2b(digest_size=6)
    for board in list(positions())[::_EVERY]:
        mixed.update(signature_of(board, _SIMULATIONS)[0].to_bytes(8, "little"))
    return Version(encoding.FEATURE_VERSION, mixed.hexdigest(), _code())


def _code() -> str:
    """Return a digest of the sources that decide what is played."""
    root = Path(__file__).resolve().parents[2]
    found = hashlib.blake2b(digest_size=6)
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            found.update(path.relative_to(root).as_posix().encode() + b"\0")
            found.update(path.read_bytes().replace(b"\r\n", b"\n"))
    found.update((root / "engine" / "nets" / "default.txt").read_bytes().strip())
    return found.hexdigest()
