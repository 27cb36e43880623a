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
from tests.helpers.paths import ROOT


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
    from tests.helpers.nets import write_net

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
    from engine.commands.charset import detect
    from engine.games.files import load_tree

    return load_tree(path, detect=detect)


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
    "memory_bytes = 100_000_000\nsolver = true\nsearch.minimax_weight = 0.2\n".encode("utf-16"),
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

_WORDS = {
    "gbk": "黑棋这步不好,应该先冲四", "big5": "許功蓋 黑棋", "cp932": "この手は悪手です ソ表能",
    "euc_jp": "山口 太郎",
    "cp949": "김철수 나쁜 수입니다", "koi8_r": "Иванов, здесь чёрные ошиблись", "cp1250": "Šárka Dvořák",
    "utf-16": "許功蓋", "utf-8-sig": "Иванов",
}  # fmt: skip


def _foreign_games(_: Path) -> list[bytes]:
    """Return SGF of other programs: their encodings, with and without CA, and their looser forms."""
    games = []
    for codec, words in _WORDS.items():
        for said in ("", f"CA[{codec}]"):
            text = f"(;FF[4]GM[1]{said}SZ[15]PB[{words}]PW[w](;B[hh]C[{words}];W[])(;B[gg];W[hh]C[{words}]))"
            games.append(text.encode(codec))
    loose = (
        "From: me\n\n(\nTE[2018]\nGM[11]SZ[19]\n;AB[aa:cc]AW[dd][ee]AE[bb]PL[W]RU[Swap2]LB[ff:A]"
        ";W[hh];B[tt])(;B[aa])",
        "(;B[hh];B[ii];W[jj]N[name]C[a \\] b \\\nwrapped](;AB[aa];AW[bb])(;PL[B];B[cc]))",
    )
    return [*games, *(text.encode() for text in loose)]


def _loose_psq(_: Path) -> list[bytes]:
    """Return .psq records as other programs write them."""
    moves = "8,8,0\n9,9,12\n8,9,100\n"
    texts = (f"\n piskvorky 15x15, 0:0, 0\n{moves}", moves, f"PISKVORKY 20X15\r{moves}許功蓋\n白石\n-2\n")
    return [text.encode(codec) for text in texts for codec in ("utf-8", "big5", "utf-16", "utf-16-le")]


def _libraries(_: Path) -> list[bytes]:
    from tests.helpers.renlib import HEADER, LAST, LIBRARY, MARK, MORE, OLD, ROOT, node

    rng = random.Random(1)
    first, last, *points = (f"{chr(97 + p % 15)}{p // 15 + 1}" for p in rng.sample(range(225), 60))
    words = _WORDS["gbk"].encode("gbk")
    wide = HEADER + ROOT + node(first) + b"".join(node(p, MORE | LAST, words) for p in points)
    long = HEADER + ROOT + node(first) + b"".join(node(p, MARK, label=b"A") for p in points)
    old = node("h8") + node("h9", MORE | LAST | OLD, b"f|r" + b"\xb1") + node("i9", LAST)
    return [LIBRARY, wide + node(last, LAST), long + node(last, LAST), old]


_PASTED = [
    b"1. h8 2. i9 3. g7", b"h8_i9_g7", b"https://gomocalc.com/#/h8i7g9", "ｈ８　ｉ９".encode(),
    b"7,7,8,8 pass (6,6)",
    "h8 i9\n".encode("utf-16"),
]  # fmt: skip

KINDS: dict[str, Kind] = {
    "onnx": Kind(".onnx", _nets, _read_net, (NetError,)),
    "toml": Kind(".toml", lambda _: _CONFIGS, _read_config, (ConfigError,)),
    "psq": Kind(".psq", lambda _: [to_psq(g).encode() for g in _games()], _read_game, (PositionError,)),
    "sgf": Kind(".sgf", lambda _: [to_sgf(g).encode() for g in _games()], _read_game, (PositionError,)),
    "foreign-sgf": Kind(".sgf", _foreign_games, _read_game, (PositionError,)),
    "loose-psq": Kind(".psq", _loose_psq, _read_game, (PositionError,)),
    "renlib": Kind(".lib", _libraries, _read_game, (PositionError,)),
    "pasted": Kind(".txt", lambda _: _PASTED, _read_game, (PositionError,)),
    "position": Kind(".txt", lambda _: _POSITIONS, _read_position, (PositionError,), names_file=False),
    "openings": Kind(".txt", lambda _: _OPENINGS, _read_openings, (_opening_error(),)),
}
