"""Journals, shards, checkpoints and tables from strangers: refused with the name of the file, never run."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import lzma
import os
import pickletools
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.learner import CONFIG, learner_at
from tests.helpers.older_records import older_shard
from tests.helpers.training_games import random_game
from training.data.imports import import_shards
from training.data.journal import Journal, read_journal, recover_journal, recover_journals
from training.data.shards import RecordError, decode, encode, list_shards, read_shard, write_shard
from training.files.foreign import ForeignFileError
from training.learn.checkpoint import CheckpointError, read_checkpoint
from training.learn.learner import Learner
from training.measure.gate import parse_standings, read_standings
from training.run.report import make_report
from training.run.state import State, parse_state, read_state

GAMES = [random_game(seed) for seed in range(3)]


def program(marker: Path) -> bytes:
    """A pickle that runs a shell command when it is read, put together by hand."""
    command = f"echo was here > {marker}".encode()
    code = b"cos\nsystem\n(X" + struct.pack("<I", len(command)) + command + b"tR."
    assert [op.name for op, *_ in pickletools.genops(code)][-3:] == ["TUPLE", "REDUCE", "STOP"]
    return code


def same(a, b) -> bool:
    return (a.seed, a.moves.tobytes(), a.points.tobytes()) == (b.seed, b.moves.tobytes(), b.points.tobytes())


def test_a_journal_that_is_a_program_is_not_run(tmp_path):
    marker, journal = tmp_path / "marker", tmp_path / "000001-00.journal"
    code, said = program(marker), []
    journal.write_bytes(struct.pack("<II", len(code), zlib.crc32(code)) + code)  # as journals were up to now
    assert recover_journals(tmp_path, said.append) == 0
    assert not marker.exists()
    assert len(said) == 1 and "000001-00.journal: not a journal" in said[0]
    assert [path.name for path in tmp_path.iterdir()] == ["000001-00.journal.damaged"], "nothing is lost"


def test_a_game_of_a_journal_that_is_a_program_is_not_run_either(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "000001-00.journal"
    journal = Journal(path)
    journal.add(GAMES[0])
    code = program(marker)
    with open(path, "ab") as file:
        file.write(struct.pack("<HHIIII", 1, 2, 1, 1, 9, len(code)) + code + bytes(16))
    journal.add(GAMES[1])
    said = []
    games = recover_journal(path, said.append)
    assert len(games) == 1 and same(games[0], GAMES[0])
    assert not marker.exists() and len(said) == 1 and "1 games saved" in said[0]
    assert (tmp_path / "000001-00.journal.damaged").exists()
    assert same(read_shard(tmp_path / "000001-00-recovered.shard")[0], GAMES[0])


@pytest.mark.parametrize("cut", [0, 5, 8, 10, -1])
def test_what_a_kill_cuts_off_is_no_damage(tmp_path, cut):
    path = tmp_path / "000001-00.journal"
    journal = Journal(path)
    for game in GAMES:
        journal.add(game)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] if cut >= 0 else whole[:-7])
    damage = []
    games = read_journal(path, damage.append)
    assert len(games) == (0 if cut >= 0 else 2) and not damage
    assert all(same(a, b) for a, b in zip(games, GAMES, strict=False))


def test_a_shard_of_the_right_form_reads(tmp_path):
    for data in (older_shard(GAMES), encode(GAMES)):
        assert all(same(a, b) for a, b in zip(decode(data, "x"), GAMES, strict=True))


def block_of(changes: dict[str, int]) -> bytes:
    """A shard of one block with a right checksum and any header."""
    names = ("form", "feature_version", "games", "positions", "raw_bytes", "size")
    data = encode(GAMES)
    head = dict(zip(names, struct.unpack_from("<HHIIII", data, 8), strict=True)) | changes
    body = struct.pack("<HHIIII", *head.values()) + data[28:-16]
    return data[:8] + body + hashlib.blake2b(body, digest_size=16).digest()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"raw_bytes": 10}, "says 10 bytes"),
        ({"raw_bytes": 10**6}, "says 1000000 bytes"),
        ({"raw_bytes": 10**9}, "are allowed"),
        ({"size": 10**9}, "are allowed"),
        ({"size": 10}, "checksum wrong"),
        ({"size": 10**6}, "cut short"),
        ({"games": 2}, "counts other games"),
        ({"positions": 1}, "counts other games"),
        ({"feature_version": 99}, "feature version 99"),
        ({"form": 0}, "format 0"),
        ({"form": 99}, "format 99"),
    ],
)
def test_a_lying_header_of_a_block_is_refused(tmp_path, changes, words):
    path = tmp_path / "lying.shard"
    path.write_bytes(block_of(changes))
    with pytest.raises(RecordError, match=rf"lying\.shard.*{words}"):
        read_shard(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"raw_bytes": 10}, "says 10 bytes"),
        ({"raw_bytes": 10**6}, "says 1000000 bytes"),
        ({"raw_bytes": 10**12}, "are allowed"),
        ({"raw_bytes": -1}, "header damaged"),
        ({"raw_bytes": True}, "header damaged"),
        ({"raw_bytes": "9"}, "header damaged"),
        ({"games": 2}, "counts other games"),
        ({"positions": 1}, "counts other games"),
        ({"net_ids": ["a" * 1000]}, "header damaged"),
        ({"net_ids": [1]}, "header damaged"),
        ({"net_ids": []}, "no name"),
        ({"feature_version": [1]}, "feature version"),
        ({"feature_version": True}, "feature version True"),
        ({"feature_version": 99}, "feature version 99"),
        ({"feature_version": 0}, "feature version 0"),
    ],
)
def test_a_lying_header_is_refused(tmp_path, changes, words):
    path = tmp_path / "lying.shard"
    path.write_bytes(older_shard(GAMES, **changes))
    with pytest.raises(RecordError, match=rf"lying\.shard.*{words}"):
        read_shard(path)


def test_a_stream_is_unpacked_no_further_than_its_header_says(tmp_path):
    """400 MB of zeros in a file of 60 KB."""
    path = tmp_path / "bomb.shard"
    path.write_bytes(older_shard(GAMES, bytes(400 << 20), raw_bytes=1000))
    done = []
    real = lzma.LZMADecompressor

    class Watched:
        def __init__(self, *args, **kwargs):
            self._inner = real(*args, **kwargs)
            self.eof, self.unused_data = False, b""

        def decompress(self, data, max_length):
            done.append(self._inner.decompress(data, max_length))
            return done[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lzma, "LZMADecompressor", Watched)
        with pytest.raises(RecordError, match=r"bomb\.shard"):
            read_shard(path)
    assert [len(part) for part in done] == [1001]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("rule", 3, "a rule"), ("width", 4, "a board"), ("height", 23, "a board"), ("winner", 3, "winner"),
        ("opening", 200, "the length"), ("moves", 81, "a move"), ("flags", 16, "flags"),
        ("points", 81, "a point"), ("weights", 0, "weight"), ("end", 9, "end"),
    ],
)  # fmt: skip
def test_games_that_nobody_can_have_played_are_refused(field, value, words):
    game = GAMES[0]
    old = getattr(game, field)
    if isinstance(old, np.ndarray):
        new = old.copy()
        new[-1] = value
    else:
        new = value
    bad = dataclasses.replace(game, **{field: new})
    with pytest.raises(RecordError, match=words):
        decode(encode([bad]), "x")


def test_two_stones_on_one_point_are_refused():
    moves = GAMES[0].moves.copy()
    moves[-1] = moves[0]
    bad = dataclasses.replace(GAMES[0], moves=moves)
    with pytest.raises(RecordError, match="two stones"):
        decode(encode([bad]), "x")


def test_names_of_imported_shards_do_not_grow(tmp_path):
    runs = [tmp_path / str(i) for i in range(6)]
    for run in runs:
        run.mkdir()
    for i in range(4):
        write_shard(runs[0] / f"{i + 1:06d}-00.shard", [random_game(i)])
    for older, newer in itertools.pairwise(runs):
        import_shards([older], newer)
    names = [[path.name for path in list_shards(run)] for run in runs[1:]]
    assert len({len(name) for group in names for name in group}) == 1
    seeds = [[read_shard(path)[0].seed for path in list_shards(run)] for run in runs]
    assert seeds == [[0, 1, 2, 3]] * 6, "the order stays"
    write_shard(runs[5] / "000001-00.shard", [random_game(9)])
    before = [path.name for path in list_shards(runs[5])]
    import_shards([runs[4], runs[0]], runs[5])
    assert [path.name for path in list_shards(runs[5])] == before, "the same games are not there twice"


# --- checkpoints and tables


def signed(path: Path, body: bytes) -> Path:
    path.write_bytes(body + hashlib.blake2b(body, digest_size=16).digest())
    return path


def test_a_checkpoint_that_is_a_program_is_not_run(tmp_path):
    marker, plain = tmp_path / "marker", tmp_path / "plain.pt"
    torch.save({"format": 2}, plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(tmp_path / "crafted", "w") as new:
        for part in old.infolist():
            new.writestr(part, program(marker) if part.filename.endswith("data.pkl") else old.read(part))
    path = signed(tmp_path / "step-000000001.ckpt", (tmp_path / "crafted").read_bytes())
    with pytest.raises(CheckpointError, match=r"step-000000001\.ckpt: contents damaged"):
        read_checkpoint(path)
    assert not marker.exists()


def test_a_checkpoint_that_unpacks_to_more_than_itself_is_refused(tmp_path):
    plain = tmp_path / "plain.pt"
    torch.save({"format": 2, "zeros": torch.zeros(10**6)}, plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(tmp_path / "crafted", "w") as new:
        for part in old.infolist():
            new.writestr(part.filename, old.read(part), zipfile.ZIP_DEFLATED)
    path = signed(tmp_path / "step-000000001.ckpt", (tmp_path / "crafted").read_bytes())
    with pytest.raises(CheckpointError, match="compressed"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"window": {"known": [], "games_seen": 0, "sizes": [[9, 9, 5, ["../../secret.shard"]]]}}, "secret"),
        ({"window": 3}, "contents damaged"),
        ({"batches": "many"}, "contents damaged"),
        ({"rng": {"bit_generator": "PCG64"}}, "contents damaged"),
        ({"model": {}}, "contents damaged"),
        ({"config": {}}, "contents damaged"),
        ({"config": {"net": {"channels": 10**9}}}, "channels"),
        ({"feature_version": None}, "feature version"),
        ({"progress": float("inf")}, "not finite"),
    ],
)
def test_wrong_contents_of_a_checkpoint_are_refused_with_its_name(tmp_path, change, words):
    learner = learner_at(tmp_path)
    path = learner.save()
    state = {**read_checkpoint(path), **change}
    torch.save(state, tmp_path / "x")
    signed(path, (tmp_path / "x").read_bytes())
    said = []
    again = Learner(CONFIG, tmp_path, "cpu", said.append)
    try:
        assert not again.load()
    except CheckpointError as error:
        said.append(str(error))
    assert len(said) == 1 and path.name in said[0] and words in said[0]


STATE = {"cycle": 3, "net": "c000003.fp32.onnx", "measured": ["c000002"], "elapsed_s": 1.5}


@pytest.mark.parametrize(
    "change",
    [
        {"net": "../../other.onnx"}, {"net": "/etc/passwd"}, {"net": 3}, {"cycle": -1}, {"cycle": 1.5},
        {"cycle": True}, {"elapsed_s": float("nan")}, {"elapsed_s": -1}, {"measured": ["../x"]},
        {"measured": "c000002"}, {"pretrained": 1}, {"unknown": 1}, {"spoilt": "x" * 5000},
    ],
)  # fmt: skip
def test_a_state_that_no_run_has_written_is_refused(tmp_path, change):
    assert parse_state(STATE, "x").cycle == 3
    (tmp_path / "state.json").write_text(json.dumps({**STATE, **change}))
    with pytest.raises(ForeignFileError, match=rf"state\.json.*{next(iter(change))}"):
        read_state(tmp_path)


def test_tables_that_are_none_are_refused_with_their_name(tmp_path):
    for text in ("[]", "nothing", "[" * 100_000, '{"cycle": 1', '"' + "x" * (17 << 20) + '"'):
        (tmp_path / "state.json").write_text(text)
        with pytest.raises(ForeignFileError, match=r"state\.json"):
            read_state(tmp_path)
    assert read_state(tmp_path / "none") is None and State().net == "uniform"


@pytest.mark.parametrize(
    "change",
    [
        {"best": "../../x"}, {"best": 3}, {"results": []}, {"results": {"a|b": [3, 2]}},
        {"results": {"a|b": "12"}}, {"results": {"a": [1, 2]}}, {"results": {"<b>|c": [1, 2]}},
        {"yardsticks": {"random|15": [None]}}, {"more": 1},
    ],
)  # fmt: skip
def test_standings_that_no_run_has_written_are_refused(tmp_path, change):
    results, yardsticks = {"c000001|uniform": [3.5, 4]}, {"rollouts:100|9": [0.5]}
    good = {"results": results, "yardsticks": yardsticks, "best": "c000001"}
    assert parse_standings(good, "x").best == "c000001"
    (tmp_path / "standings.json").write_text(json.dumps({**good, **change}))
    with pytest.raises(ForeignFileError, match=r"standings\.json"):
        read_standings(tmp_path / "standings.json")


def test_a_log_from_elsewhere_breaks_no_report(tmp_path):
    lines = [
        {"event": "learn", "time": 1, "loss": "<script>", "policy": [1]}, {"event": "match", "time": 2},
        {"event": "match", "time": 2, "a": "a", "b": "<script>", "size": 9, "score": 1, "low": 0, "high": 1,
         "depth": {"a": 3}},
        {"event": "ratings", "time": 3, "net": 3}, {"event": "play", "time": "x"}, {"time": 3}, [], 7,
        {"event": "play", "time": 3, "games": "many"}, {"event": ["x"], "time": 3},
    ]  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines) + "\n\xff{\n" + "[" * 50_000
    (tmp_path / "log.jsonl").write_text(text, encoding="latin-1")
    page = make_report(tmp_path)
    assert "<script>" not in page and "&lt;script&gt;" in page


# --- a full disk


@pytest.mark.posix
def test_a_full_disk_names_the_file(tmp_path):
    """A limit on the size of files stands in for the disk."""
    code = """
import resource, signal, sys
from pathlib import Path
from tests.helpers.training_games import random_game
from training.data.journal import Journal
from training.data.shards import write_shard
from training.files.atomic import write_atomically
from training.run.log import RunLog
folder = Path(sys.argv[1])
games = [random_game(seed) for seed in range(3)]
log = RunLog(folder)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
for act in (
    lambda: write_shard(folder / "a.shard", games), lambda: write_atomically(folder / "b.json", bytes(99)),
    lambda: Journal(folder / "c.journal").add(games[0]), lambda: log.event("start"),
):
    try:
        act()
    except OSError as error:
        print(error)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines, names = done.stdout.splitlines(), ("a.shard", "b.json", "c.journal", "log.jsonl")
    assert len(lines) == 4, done.stderr
    assert all(name in line for name, line in zip(names, lines, strict=True)), lines
    assert not (tmp_path / "a.shard").exists() and not list(tmp_path.glob(".*.tmp"))


def test_a_full_disk_under_a_bundle_names_it(tmp_path, monkeypatch):
    from training.run.bundle import pack
    from training.settings.resolve import store_config
    from training.settings.schema import RunConfig

    learner_at(tmp_path / "run").save()
    store_config(tmp_path / "run" / "config.json", "smoke", RunConfig())
    (tmp_path / "run" / "state.json").write_text("{}")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(zipfile.ZipFile, "write", full)
    with pytest.raises(OSError, match=r"No space left on device.*out\.zip"):
        pack(tmp_path / "run", tmp_path / "out.zip", 10**8)
    assert not list(tmp_path.glob("out*"))
