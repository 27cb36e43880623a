"""The hold-out: its file, its measures worked out by hand, and the command that makes one."""

import dataclasses
import json
import lzma
import math

import numpy as np
import pytest

from engine.games.files import save_game
from engine.games.record import GameRecord
from engine.rules._board import EMPTY
from engine.rules.rule import NET_RULES, Rule
from tests.helpers.paths import ROOT
from training.data.records import End, Flag, GameBuilder
from training.data.shards import write_shard
from training.holdout import main
from training.measure.deep import Game, draw, recorded_positions, saved_games
from training.measure.holdout import (
    FORMAT,
    HoldoutError,
    Judgement,
    Position,
    join_sets,
    judge,
    read_set,
    table,
    table_by_size,
    write_set,
)

MOVES = (40, 41, 31, 30)  # on 9x9
POSITION = Position(
    9, 9, 0, "by hand", MOVES, 1, (0.6, 0.1, 0.3), (49, 50, 22), (0.75, 0.2, 0.05), (0.3, 0.2, -0.5)
)


class Says:
    """A net that gives chosen points a chance each, the rest next to nothing."""

    max_batch = 2

    def __init__(self, chances, wdl=(0.5, 0.2, 0.3)):
        self.chances, self.wdl = chances, wdl

    def evaluate(self, planes, keys):
        logits = np.full((len(planes), planes.shape[2] * planes.shape[3]), -30, np.float32)
        for point, chance in self.chances.items():
            logits[:, point] = math.log(chance)
        return logits, np.tile(np.float32(self.wdl), (len(planes), 1))


def test_a_set_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "set.jsonl.xz"
    other = Position(15, 20, 4, "x", (112, 113), -1, (0.2, 0.5, 0.3), (7,), (1.0,), (-0.1,))
    write_set(file, {"simulations": 50}, [POSITION, other])
    recipe, positions = read_set(file)
    assert recipe == {"format": FORMAT, "simulations": 50} and positions == [POSITION, other]


def test_measures_are_those_worked_out_by_hand():
    found = judge(Says({49: 0.5, 50: 0.495, 22: 0.005}), [POSITION])
    expected = -(0.75 * math.log(0.5) + 0.2 * math.log(0.495) + 0.05 * math.log(0.005))
    assert found.policy[0] == pytest.approx(expected, abs=1e-4)
    assert (found.unseen[0], found.top[0], found.regret[0]) == (0, 1, 0)
    assert found.brier[0] == pytest.approx(0.5**2 + 0.2**2 + 0.3**2, abs=1e-6)
    assert found.deep[0] == pytest.approx((0.2 - 0.3) ** 2, abs=1e-6)
    blind = judge(Says({50: 0.9, 22: 0.095, 49: 0.005}), [POSITION])
    assert (blind.unseen[0], blind.top[0]) == (1, 0) and blind.regret[0] == pytest.approx(0.1)
    lost = judge(Says({60: 1.0}), [POSITION])
    assert lost.regret[0] == pytest.approx(0.8), "a move that nobody looked at counts as the worst"


def test_taken_points_get_no_chance():
    found = judge(Says({40: 1000.0, 49: 1.0}), [POSITION])
    assert found.policy[0] < judge(Says({51: 1000.0, 49: 1.0}), [POSITION]).policy[0]


def test_boards_of_all_sizes_are_judged_in_their_places():
    large = Position(15, 15, 0, "x", (112, 113), -1, (0.2, 0.5, 0.3), (49,), (1.0,), (0.0,))
    drawn = [POSITION, large, POSITION, POSITION, large]
    found = judge(Says({49: 0.5, 50: 0.5}), drawn)
    assert found.z.tolist() == [1, -1, 1, 1, -1]
    assert found.policy[1] == pytest.approx(math.log(2), abs=1e-4) and found.policy[0] != found.policy[1]


def test_the_area_under_the_curve_counts_pairs():
    def of(utility, z):
        blank = np.zeros(len(z))
        values = np.array(utility), np.array(z), np.zeros((len(z), 3))
        return Judgement(blank, blank, blank, blank, blank, blank, *values).auc()

    assert of([0.5, 0.1, -0.2, 0.3], [1, 1, -1, -1]) == pytest.approx(3 / 4)
    assert of([0.5, 0.5], [1, -1]) == pytest.approx(1 / 2)
    assert of([0.1, 0.9, -0.4], [1, 0, -1]) == 1
    assert math.isnan(of([0.5], [1]))


class Weighs:
    """A net that knows what some moves of white's are worth to white, by the stones on the board."""

    max_batch = None

    def __init__(self, worth):
        self.worth = worth

    def evaluate(self, planes, keys):
        wdl = np.zeros((len(planes), 3), np.float32)
        for row, position in enumerate(planes):
            theirs = position[2].ravel()  # behind a move of white's black is to move
            worth = sum(value for point, value in self.worth.items() if theirs[point])
            wdl[row] = (1 - worth) / 2, 0, (1 + worth) / 2
        return np.zeros((len(planes), planes.shape[2] * planes.shape[3]), np.float32), wdl


def test_the_order_of_moves_is_the_correlation_within_a_position():
    moves, q = (49, 50, 22, 23, 60), (0.3, 0.2, -0.5, 0.99, 0.1)  # one that is as good as proven
    first = dataclasses.replace(
        POSITION, points=moves, share=(0.5, 0.2, 0.2, 0.05, 0.001), q=q, moves=MOVES[:3]
    )
    second = dataclasses.replace(first, q=(-0.6, -0.7, 0.0, -0.98, -0.6))
    known = dict(zip(moves, (0.1, 0.3, -0.2, 0.7, -0.9), strict=True))
    found = judge(Weighs(known), [first, second, dataclasses.replace(POSITION, q=())])
    net = np.array([0.1, 0.3, -0.2]) - 0.2 / 3
    sums = [
        [a @ b, a @ a, b @ b]
        for a, b in ((net, np.array(p.q[:3]) - np.mean(p.q[:3])) for p in (first, second))
    ]
    assert found.siblings == pytest.approx(np.array([*sums, [0, 0, 0]]), abs=1e-6)
    total = np.sum(sums, axis=0)
    assert found.order() == pytest.approx(total[0] / math.sqrt(total[1] * total[2]), abs=1e-6)
    right = judge(Weighs(dict(zip(moves, q, strict=True))), [first, first])
    assert right.order() == pytest.approx(1)
    gap, deviation = right.order_gap(judge(Weighs(known), [first, second]))
    assert gap == pytest.approx(1 - found.order()) and deviation > 0
    rows = table(["right", "other"], [right, judge(Weighs(known), [first, first])])
    assert rows[0].endswith("order") and rows[1].endswith("1.0000") and "order -" in rows[3]
    assert math.isnan(judge(Says({49: 1.0}), [dataclasses.replace(POSITION, q=())]).order())


def test_the_table_says_how_the_second_net_differs():
    good, bad = (judge(Says({p: 1.0}), [POSITION, POSITION]) for p in (49, 50))
    rows = table(["good", "bad"], [good, bad])
    assert rows[1].startswith("good") and "top -1.0000 +- 0.0000" in rows[3] and "regret +0.1000" in rows[3]


def test_nets_are_shown_on_each_size_of_board():
    large = Position(15, 15, 0, "x", (112, 113), -1, (0.2, 0.5, 0.3), (49,), (1.0,), (0.0,))
    drawn = [POSITION, large, large]
    found = judge(Says({49: 0.5, 50: 0.5}), drawn)
    rows = table_by_size(["one"], [found], drawn)
    assert rows[0].split()[-4:] == ["9x9", "(1)", "15x15", "(2)"]
    cells = [f"{found.policy[i]:.3f} / {found.brier[i]:.3f}" for i in (0, 1)]
    assert all(cell in rows[1] for cell in cells)


def recorded(seed, flags):
    points = finished(seed)
    builder = GameBuilder(0, 9, 9, opening=points[:4], net_id="n", seed=seed)
    for flag, point in zip(flags, points[4:], strict=False):
        builder.add(flag, (0.5, 0.3, 0.2), [40, 41, 7], [0.2, 0.7, 0.1])
        builder.play(point)
    return builder.finish(0, End.FIVE)


def test_records_are_judged_as_a_learner_would_take_them(tmp_path, capsys):
    kept = tmp_path / "kept"
    kept.mkdir()
    solved = [Flag.FULL | Flag.PROVEN_WIN, 0]
    write_shard(kept / "000001-00.shard", [recorded(1, [0, Flag.FULL, 0]), recorded(2, solved)])
    (position,) = recorded_positions(kept, 1)
    assert position.moves == finished(1)[:5] and position.z == -1, "white is to move, black won"
    assert position.points == (41, 40, 7) and position.q == ()
    assert position.share == pytest.approx((0.7, 0.2, 0.1), abs=0.01)
    assert position.wdl == pytest.approx((0.5, 0.3, 0.2), abs=0.01)
    assert main(["judge", "uniform", "tactical", "--records", str(kept)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith("1 positions, one a game, with the targets of their self-play")
    assert " - " in shown[2] and "regret" not in shown[4] and shown[5].startswith("policy / Brier")
    (kept / "000001-00.shard").unlink()
    assert main(["judge", "uniform", "--records", str(kept)]) == 2
    assert "no position" in capsys.readouterr().err


def damaged(line, **changes):
    return {**line, **changes}


LINE = POSITION.to_json()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (damaged(LINE, moves=[40, 40]), "cannot be played"),
        (damaged(LINE, moves=[40, 81]), "cannot be played"),
        (damaged(LINE, points=[40, 50, 22]), "taken"),
        (damaged(LINE, share=[0.5, 0.5]), "different length"),
        (damaged(LINE, share=[-1, 0.5, 0.5]), "out of range"),
        (damaged(LINE, q=[float("nan"), 0, 0]), "out of range"),
        (damaged(LINE, size=[9, 90]), "9x90"),
        (damaged(LINE, rule=3), "3"),
        (damaged(LINE, z=7), "z is"),
        ({"size": [9, 9]}, "rule"),
        ([], ""),
    ],
)
def test_a_damaged_line_is_named(tmp_path, capsys, line, words):
    file = tmp_path / "set.jsonl.xz"
    text = "\n".join(json.dumps(x) for x in ({"format": FORMAT}, LINE, line))
    file.write_bytes(lzma.compress(text.encode()))
    with pytest.raises(HoldoutError, match=rf"set\.jsonl\.xz:3: .*{words}"):
        read_set(file)
    assert main(["judge", "uniform", "--set", str(file)]) == 2
    assert "set.jsonl.xz:3" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"", b"text", lzma.compress(b"{}\n"), lzma.compress(b'{"format": 1}')[:-9]])
def test_a_file_that_is_no_set_is_refused(tmp_path, data):
    file = tmp_path / "other"
    file.write_bytes(data)
    with pytest.raises(HoldoutError, match="other"):
        read_set(file)


def test_a_set_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("training.measure.holdout.MAX_RAW_BYTES", 1000)
    file = tmp_path / "bomb"
    file.write_bytes(lzma.compress(b" " * 100_000))
    with pytest.raises(HoldoutError, match="unpacked"):
        read_set(file)


def finished(seed, width=9):
    rng = np.random.default_rng(seed)
    return tuple(int(p) for p in rng.permutation(width * width)[:12])


def test_one_position_a_game_and_none_twice():
    game = Game("a", 9, 9, 0, 0, finished(1), 0)
    mirrored = Game("a", 9, 9, 0, 0, tuple(p // 9 * 9 + 8 - p % 9 for p in game.points), 0)
    short = Game("a", 9, 9, 0, 0, game.points[:4], 0)
    found = draw([game] * 30 + [mirrored] * 30 + [short], 50, 3)
    assert len(found) == 8 and sorted(stones for _, stones in found) == list(range(4, 12))
    assert draw([game] * 30, 3, 5) == draw([game] * 30, 3, 5) and len(draw([game] * 30, 3, 5)) == 3


def make(tmp_path, *more):
    return main(
        ["make", "--out", str(tmp_path / "out.xz"), "--games", str(tmp_path / "games"), "--net", "uniform",
         "--simulations", "200", *more]
    )  # fmt: skip


@pytest.fixture
def games(tmp_path):
    (tmp_path / "games").mkdir()
    for seed in range(6):
        points = list(finished(seed))
        record = GameRecord(9, 9, 0, 0, ("a", "b"), points, [1.0] * len(points), 2, "draw")
        save_game(tmp_path / "games" / f"{seed}.sgf", record)


def test_a_set_is_made_and_gone_on_with_where_it_was_stopped(tmp_path, games, monkeypatch, capsys):
    assert make(tmp_path) == 0
    whole = (tmp_path / "out.xz").read_bytes()
    _, positions = read_set(tmp_path / "out.xz")
    assert 2 <= len(positions) <= 6
    for position in positions:
        board = position.board()
        assert all(board.cell(p) == EMPTY for p in position.points) and 0.5 < sum(position.share) <= 1.001
    assert main(["judge", "uniform", "tactical", "--set", str(tmp_path / "out.xz")]) == 0
    assert "tactical minus uniform: policy " in capsys.readouterr().out

    from training.measure.deep import Labeller

    label, calls = Labeller.label, []

    def stop_at_the_third(self, game, stones):
        calls.append(stones)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return label(self, game, stones)

    (tmp_path / "out.xz").unlink()
    monkeypatch.setattr(Labeller, "label", stop_at_the_third)
    assert make(tmp_path) == 1 and not (tmp_path / "out.xz").exists()
    assert make(tmp_path, "--seed", "2") == 2 and "other settings" in capsys.readouterr().err
    assert make(tmp_path) == 0 and (tmp_path / "out.xz").read_bytes() == whole
    assert len(calls) == 3 + 4, "two were there already"

    (tmp_path / "out.xz").unlink()
    assert make(tmp_path, "--workers", "2") == 0 and (tmp_path / "out.xz").read_bytes() == whole
    assert make(tmp_path, "--workers", "0") == 2 and "at least 1" in capsys.readouterr().err


def test_sets_that_were_labelled_alike_become_one(tmp_path, capsys):
    recipe = {"simulations": 50, "net": "a.onnx", "seed": 1}
    turned = tuple(8 - p % 9 + p // 9 * 9 for p in MOVES)  # mirrored
    other = dataclasses.replace(POSITION, moves=(40, 41, 31, 32))
    twice = dataclasses.replace(POSITION, moves=turned, points=(47, 46, 22))
    first, second, wrong, joined = (tmp_path / f"{name}.xz" for name in ("a", "b", "c", "d"))
    write_set(first, recipe, [POSITION])
    write_set(second, {**recipe, "seed": 2}, [twice, other])
    assert main(["join", str(first), str(second), "--out", str(joined)]) == 0
    assert "2 positions of 2 sets" in capsys.readouterr().out
    found, positions = read_set(joined)
    assert positions == [POSITION, other]
    assert found["parts"] == [recipe, {**recipe, "seed": 2}] and found["simulations"] == 50
    write_set(wrong, {**recipe, "simulations": 60}, [other])
    joined.unlink()
    assert main(["join", str(first), str(wrong), "--out", str(joined)]) == 2 and not joined.exists()
    assert "c.xz has simulations 60" in capsys.readouterr().err


def test_the_set_of_the_project_is_whole_and_small():
    file = ROOT / "docs" / "holdout.jsonl.xz"
    recipe, positions = read_set(file)
    assert recipe["simulations"] == 50_000 and len(positions) >= 3_000
    assert file.stat().st_size < 2_000_000
    assert {p.source for p in positions} == {"rapfi", "self-play"}
    assert {p.rule for p in positions} == set(NET_RULES)
    assert len(join_sets([file])[1]) == len(positions), "none twice, turned or mirrored"


def test_a_game_saved_twice_counts_once_and_under_its_rule(tmp_path):
    points = [0, 40, 1, 42, 2, 60, 3, 62, 4]
    record = GameRecord(9, 9, int(Rule.RENJU), 0, ("a", "b"), points, [1.0] * len(points), 0, "five")
    for name in ("both.psq", "both.sgf", "old.psq"):
        save_game(tmp_path / name, record)
    found = list(saved_games(tmp_path, pytest.fail))
    assert [game.rule for game in found] == [Rule.RENJU, Rule.FREESTYLE]


def test_bad_arguments_are_one_line(tmp_path, capsys):
    (tmp_path / "games").mkdir()
    assert make(tmp_path) == 2 and "no finished game" in capsys.readouterr().err
    assert make(tmp_path, "--records", str(tmp_path / "none")) == 2
    assert "is no folder" in capsys.readouterr().err
    assert main(["judge", "uniform", "--set", str(tmp_path / "none.xz")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
