"""The kinds of files and texts that come from others: good examples, who reads them, how they are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.errors import ConfigError, NetError, PositionError
from engine.games.psq import to_psq
from engine.games.record import GameRecord
from engine.games.sgf import to_sgf

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind.

    Attributes:
        suffix: of its files.
        examples: makes good ones, given a folder to work in.
        read: reads a file; what it returns does not matter.
        refusals: exceptions that are a clear answer.
        names_file: whether the message of a refusal has to name the file.
    """

    suffix: str
    examples: Callable[[Path], list[bytes]]
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...]
    names_file: bool = True


def _games() -> list[GameRecord]:
    games = []
    for seed, (width, height) in enumerate(((15, 15), (20, 20), (9, 7), (22, 22))):
        rng = random.Random(seed)
        points = rng.sample(range(width * height), 30 if width > 9 else 12)
        game = GameRecord(width, height, 0, 4, ("Müller (1)", "a]b\\"), points, [12.0] * len(points))
        game.reason, game.text = "unfinished", "a remark"
        games.append(game)
    return games


def _nets(folder: Path) -> list[bytes]:
    from tests.unit.nets import write_net

    shipped = (ROOT / "engine" / "nets" / "default.txt").read_text(encoding="utf-8").strip()
    return [
        (ROOT / "engine" / "nets" / shipped).read_bytes(),
        write_net(folder / "small.onnx").read_bytes(),
    ]


def _read_net(path: Path) -> object:
    """Load a net and ask it once, as a start of the brain does."""
    from engine.encoding import N_PLANES
    from engine.evaluator.make import load_net

    net = load_net(path)
    planes = np.zeros((1, N_PLANES, 15, 15), np.float32)
    planes[0, 0] = 1
    return net.evaluate(planes, np.zeros(1, np.uint64))


def _read_config(path: Path) -> object:
    from engine.config import load_config

    return load_config(path)


def _read_game(path: Path) -> object:
    from engine.games.files import load_game

    return load_game(path)


def _read_position(path: Path) -> object:
    from engine.games.positions import read_position

    return read_position(path.read_bytes().decode("utf-8", "replace"))


def _read_openings(path: Path) -> object:
    from arena.openings import read_openings

    return read_openings(path, 15, 15, 0)


def _opening_error() -> type[Exception]:
    from arena.openings import OpeningError

    return OpeningError


_CONFIGS = [
    b"level = 3\n",
    b'# T\xc3\xbcr\nnet = "default"\noverhead_ms = 120\nsimulations = 500\n\n[search]\nc_puct = 1.2\n',
    "memory_bytes = 100_000_000\nsolver = true\nsearch.minimax_share = 0.2\n".encode("utf-16"),
    b"\xef\xbb\xbfseed = 7\r\ncache_mib = 8\r\n",
]
_POSITIONS = [
    b"h8h9i8i9j8j9k8k9", b"h8 h9 i8 i10", b"7,7 7,8 8,8; 9,9", b"a1o15",
    b". . . . .\n. X O . .\n. . X . .\n. . . O .\n. . . . .\n",
]  # fmt: skip
_OPENINGS = [
    b"2,-2, 1,1, -3,-1, 3,-1\n-2,-3, -3,1, 2,3, 1,-1\n",
    (ROOT / "docs" / "openings" / "freestyle15.txt").read_bytes(),
]

KINDS: dict[str, Kind] = {
    "onnx": Kind(".onnx", _nets, _read_net, (NetError,)),
    "toml": Kind(".toml", lambda _: _CONFIGS, _read_config, (ConfigError,)),
    "psq": Kind(".psq", lambda _: [to_psq(g).encode() for g in _games()], _read_game, (PositionError,)),
    "sgf": Kind(".sgf", lambda _: [to_sgf(g).encode() for g in _games()], _read_game, (PositionError,)),
    "position": Kind(".txt", lambda _: _POSITIONS, _read_position, (PositionError,), names_file=False),
    "openings": Kind(".txt", lambda _: _OPENINGS, _read_openings, (_opening_error(),)),
}
