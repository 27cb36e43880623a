"""Matches: the referee's verdicts, incidents, pairs, Elo, files."""

from __future__ import annotations

import hashlib
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from arena.elo import elo_of, estimate, rate, score_of
from arena.journal import GameJournal
from arena.limits import BrainLimits
from arena.match_config import MatchConfig
from arena.match_result import MatchResult
from arena.match_runner import run_match
from arena.openings import OpeningError, random_opening, read_openings, turned
from arena.players import LocalPlayer
from arena.records import GameSetup
from arena.referee import play_game
from arena.sprt import Sprt
from engine.games.psq import to_psq
from engine.games.record import GameRecord
from engine.games.sgf import to_sgf
from engine.rules._board import Board
from tests.helpers.paths import HELPERS, ROOT
from training import balance as balance_command
from training.balance import main as balance_main
from training.match import main
from training.measure import balance
from training.measure.players import PLAYERS
from training.play._rollouts import rollout_move

BRAIN = f"{sys.executable} {HELPERS / 'dumb_brain.py'}"


class Scripted(LocalPlayer):
    """Plays given points in order."""

    def __init__(self, *points: int) -> None:
        self.points = list(points)

    def move(self, position) -> int:
        return self.points.pop(0)


def play(black, white, rule=0, opening=(), size=9, **options) -> GameRecord:
    setup = GameSetup(0, size, size, rule, tuple(opening), **options)
    return play_game((Scripted(*black), Scripted(*white)), setup).to_record(("x", "y"))


def test_five_ends_the_game():
    game = play([0, 1, 2, 3, 4], [9, 10, 11, 12])
    assert (game.winner, game.reason, len(game.points)) == (0, "five", 9)


def test_white_can_win_and_the_opening_counts():
    game = play([60, 62, 64, 66], [10, 11, 12, 13], opening=[0, 9])
    assert (game.winner, game.reason) == (1, "five")
    assert game.points[:2] == [0, 9] and game.opening_stones == 2


@pytest.mark.parametrize("bad", [0, -1, 81])
def test_taken_or_missing_point_loses(bad):
    game = play([0, 1], [bad])
    assert (game.winner, game.reason, game.incident) == (0, "illegal", True)


def test_overline_of_black_under_renju_is_a_foul_and_under_standard_nothing():
    opening = [0, 9, 1, 11, 2, 13, 4, 15, 5, 17]
    foul = play([3], [], rule=4, opening=opening)
    assert (foul.winner, foul.reason) == (1, "forbidden")
    goes_on = play([3], [80], rule=1, opening=opening, draw_after=12)
    assert (goes_on.winner, goes_on.reason) == (2, "draw")


FULL_BUT_FOR_AN_OVERLINE = ["BWWWBBB", "WBBBWWW", "BWWWWBW", "BBB_BBB", "BWBWBWB", "WWWBBWW", "WWBBWWB"]


def test_black_without_a_legal_move_loses_and_it_is_no_incident():
    cells = "".join(FULL_BUT_FOR_AN_OVERLINE)
    black, white = ([i for i, cell in enumerate(cells) if cell == colour] for colour in "BW")
    opening = [point for pair in zip(black, white, strict=True) for point in pair]
    game = play([], [], rule=4, opening=opening, size=7)
    assert (game.winner, game.reason, game.incident) == (1, "no legal move", False)
    assert play([cells.index("_")], [], opening=opening, size=7).reason == "five"


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("crash", "crash"), ("hang", "time"), ("taken", "illegal"), ("babble", "stray line"),
     ("digits", "stray line"), ("once", "start")],
)
def test_incidents_of_a_brain_lose_and_are_counted(mode, kind, tmp_path):
    limits = BrainLimits(turn_ms=50, tolerance_ms=400)
    brain = f"{BRAIN} {mode} {tmp_path / 'started' if mode == 'once' else 1}"
    config = MatchConfig(a=brain, b="random", limits=(limits, limits), games=1, random_stones=0)
    result = run_match(config)
    assert result.losses == 1 and dict(result.incidents[0]) == {kind: 1} and not result.incidents[1]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-brain-here", "there is no program"),
        (f"{BRAIN} refuse", "START was answered by 'ERROR size'"),
    ],
)
def test_a_brain_that_does_not_start_is_refused_before_the_first_game(command, why, tmp_path, capsys):
    told = ["--a", "random", "--b", command, "--names", "x,other", "--games", "2", "--turn-ms", "50"]
    assert main([*told, "--json", str(tmp_path / "r.json")]) == 2
    error = capsys.readouterr().err
    assert f"error: other does not start ({command}): " in error and why in error
    assert not (tmp_path / "r.json").exists()
    assert len((tmp_path / "r.games.jsonl").read_text().splitlines()) == 1, "a game was counted"


@pytest.mark.posix
def test_each_worker_keeps_its_games_on_a_core(tmp_path):
    """Two brains that tell their cores: both of a game have the same one."""
    import os

    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    told = tmp_path / "cores"
    script = tmp_path / "brain.py"
    script.write_text(
        "import os, sys\n"
        f"open({str(told)!r} + str(os.getpid()), 'w').write(str(sorted(os.sched_getaffinity(0))))\n"
        f"sys.argv = ['x', 'random']\nexec(open({str(HELPERS / 'dumb_brain.py')!r}).read())\n"
    )
    brain = f"{sys.executable} {script}"
    limits = BrainLimits(turn_ms=2000)
    config = MatchConfig(
        a=brain, b=brain, limits=(limits, limits), games=4, width=7, height=7, concurrency=2, one_core=True
    )
    run_match(config)
    found = [path.read_text() for path in tmp_path.glob("cores*")]
    free = [text for text in found if "," in text]
    assert len(free) == 2, "those that only show that the brains start"
    alone = sorted(text for text in found if "," not in text)
    assert len(alone) == 8 and len(set(alone)) == 2


def test_brains_play_a_match_with_files_and_json(tmp_path):
    openings = tmp_path / "openings.txt"
    openings.write_text("0,0, 1,1\n1,0, -1,2\n")
    code = main(
        ["--a", f"{BRAIN} random", "--b", f"{BRAIN} first", "--games", "4", "--turn-ms", "2000",
         "--concurrency", "2", "--openings", str(openings), "--save", str(tmp_path / "games"),
         "--json", str(tmp_path / "r.json")]
    )  # fmt: skip
    assert code == 0 and (tmp_path / "r.json").read_text().count('"losses": 4')
    first, second = ((tmp_path / "games" / f"0000{i}.psq").read_text().splitlines() for i in (0, 1))
    assert first[0] == "Piskvorky 15x15, 11:11, 0" and first[1] == "8,8,0" == second[1]
    assert first[-3:] == ["a", "b", "0"] and second[-3:] == ["b", "a", "0"]


def test_a_sequential_test_that_was_decided_stays_decided(tmp_path):
    config = MatchConfig(
        a="tactical", b="random", limits=(BrainLimits(), BrainLimits()), games=200, sprt=Sprt(0, 300),
        journal=tmp_path / "m.games.jsonl",
    )  # fmt: skip
    first = run_match(config)
    assert first.verdict == "accept" and first.llr >= first.sprt.bounds[1] and first.games < 100
    journal = GameJournal(config.journal, config.settings(None))
    lost = next(game for index, game in journal.games.items() if index % 2 == 0)
    for index in range(first.games, 200):  # games that ended behind the verdict
        journal.add(index, replace(lost, winner=1 - index % 2))
    journal.close()
    again = run_match(config)
    assert (again.verdict, again.llr, again.games) == ("accept", first.llr, 200)
    assert again.sprt.verdict(list(again.pairs.values())) == "reject", "as all games together would say"


def test_pairs_share_an_opening_and_swap_colours():
    limits = BrainLimits(turn_ms=None)
    games = []
    config = MatchConfig(a="random", b="random", limits=(limits, limits), games=8, width=9, height=9, seed=5)
    result = run_match(config, lambda _, game: games.append(game))
    assert [len(pair) for pair in result.pairs.values()] == [2, 2, 2, 2]
    for i in range(0, 8, 2):
        assert games[i].points[:4] == games[i + 1].points[:4] and games[i].names == games[i + 1].names[::-1]
    assert len({tuple(game.points[:4]) for game in games}) == 4


def test_wins_draws_and_losses_are_counted_from_the_first_player():
    result = MatchResult()
    won = play([0, 1, 2, 3, 4], [9, 10, 11, 12])
    drawn = replace(won, winner=2)
    for index, game in enumerate((won, won, drawn, drawn)):  # black wins, so the second one is lost
        result.add(index, game)
    assert (result.wins, result.draws, result.losses) == (1, 2, 1)
    assert result.pairs == {0: [1.0, 0.0], 1: [0.5, 0.5]} and result.black_points == 3.0


def test_rollouts_beat_random_and_take_a_five():
    limits = BrainLimits(turn_ms=None)
    config = MatchConfig(
        a="rollouts:300", b="random", limits=(limits, limits), games=8, width=7, height=7, kinds=PLAYERS
    )
    assert run_match(config).wins >= 7
    board = Board.from_stones(9, 9, 0, [(p, c) for i in range(4) for p, c in ((i, 0), (20 + 2 * i, 1))])
    assert rollout_move(board, 400, 1) == 4
    before = board.cells().copy(), board.hash
    assert rollout_move(board, 200, 7) == rollout_move(board, 200, 7)
    assert np.array_equal(board.cells(), before[0]) and board.hash == before[1]


def test_unknown_builtin_settings_are_refused(capsys):
    assert main(["--a", "random:3", "--b", "random"]) == 2
    assert main(["--a", "rollouts:x", "--b", "random"]) == 2
    assert "rollouts" in capsys.readouterr().err


def test_opening_files(tmp_path):
    file = tmp_path / "o.txt"
    file.write_text("0,0, -1, 1\n\n2,0,0,2 , 1,1\n")
    assert read_openings(file, 15, 15, 0) == [(112, 126), (114, 142, 128)]
    assert read_openings(file, 20, 20, 0)[0] == (210, 229)
    for text in ("0,0,1\n", "0,0 a\n", "0,0, 0,0\n", "9,9\n", ""):
        file.write_text(text)
        with pytest.raises(OpeningError):
            read_openings(file, 15, 15, 0)
    with pytest.raises(OpeningError):
        read_openings(tmp_path / "missing", 15, 15, 0)


def test_random_openings_are_playable_and_turn():
    import random

    for seed in range(20):
        points = random_opening(random.Random(seed), 9, 9, 4, 6)
        assert len(set(points)) == 6
        assert len({turned(points, 9, 9, i) for i in range(8)}) > 1
        assert turned(points, 9, 9, 8) == points


def test_elo_and_intervals():
    assert elo_of(0.5) == 0 and elo_of(0.75) == pytest.approx(190.85, abs=0.01)
    assert score_of(elo_of(0.31)) == pytest.approx(0.31)
    level = estimate([[1, 0]] * 50)
    blurred = estimate([[1, 1], [0, 0]] * 25)
    assert level.score == blurred.score == 0.5
    assert level.score_high - 0.5 < 0.06 < blurred.score_high - 0.5
    sweep = estimate([[1, 1]] * 10)
    assert sweep.score == 1 and 0.8 < sweep.score_low < 0.9
    # independent games: the usual 1.96 * sqrt(p(1-p)/n)
    free = estimate([[1], [0]] * 200)
    assert free.score_high - 0.5 == pytest.approx(1.96 * 0.5 / math.sqrt(400), rel=0.03)


def test_ratings_recover_differences():
    truth = {"x": 0.0, "y": 100.0, "z": 300.0}
    results = {
        (a, b): (2000 * score_of(truth[a] - truth[b]), 2000) for a, b in (("x", "y"), ("y", "z"), ("x", "z"))
    }
    rating = rate(results, "x")
    for name, elo in truth.items():
        assert rating[name][0] == pytest.approx(elo, abs=2)
    assert rating["x"][1] == 0 and 5 < rating["y"][1] < 30


def test_game_texts():
    game = GameRecord(15, 15, 4, 1, ("a]b", "c"), [112, 0], [0.0, 12.4], 1, "time", "no move")
    assert to_psq(game).splitlines() == ["Piskvorky 15x15, 11:11, 0", "8,8,0", "1,1,12", "a]b", "c", "15"]
    sgf = to_sgf(game)
    assert "PB[a\\]b]" in sgf and "RE[W+T]" in sgf
    assert ";B[hh]C[opening move]" in sgf and ";W[aa]C[12ms]" in sgf


def test_balanced_openings_are_what_matches_read(tmp_path, capsys):
    file = tmp_path / "openings.txt"
    small = ["--out", str(file), "--count", "3", "--size", "9", "--simulations", "60", "--net", "uniform"]
    assert balance_main(small) == 0
    found = read_openings(file, 9, 9, 0)
    assert len(set(found)) == 3 and all(len(points) == 4 for points in found)
    assert balance_main([*small, "--most", "2"]) == 2 and "most" in capsys.readouterr().err
    assert read_openings(file, 9, 9, 0) == found, "and nothing was changed"


SMALL_LIST = [
    "--size", "9", "--simulations", "60", "--net", "uniform", "--stones", "3-5", "--spread", "2",
    "--seed", "5",
]  # fmt: skip


def test_a_list_of_openings_does_not_depend_on_workers_or_on_stops(tmp_path, capsys, monkeypatch):
    whole, pieces, shared = (tmp_path / name for name in ("whole.txt", "pieces.txt", "shared.txt"))
    assert balance_main([*SMALL_LIST, "--out", str(whole), "--count", "8"]) == 0
    assert balance_main([*SMALL_LIST, "--out", str(shared), "--count", "8", "--workers", "2"]) == 0
    assert shared.read_bytes() == whole.read_bytes()

    taken = balance.OpeningList.take

    def stop_after_three(self, index, points):
        if len(self.found) == 3:
            raise KeyboardInterrupt
        return taken(self, index, points)

    with monkeypatch.context() as patch:
        patch.setattr(balance.OpeningList, "take", stop_after_three)
        assert balance_main([*SMALL_LIST, "--out", str(pieces), "--count", "8"]) == 1
    assert len(read_openings(pieces, 9, 9, 0)) == 3
    assert balance_main([*SMALL_LIST, "--out", str(pieces), "--count", "8", "--most", "0.2"]) == 2
    assert "other settings" in capsys.readouterr().err
    assert balance_main([*SMALL_LIST, "--out", str(pieces), "--count", "8"]) == 0
    assert pieces.read_bytes() == whole.read_bytes() and not list(tmp_path.glob("*.progress"))


def test_no_two_openings_are_the_same_under_a_symmetry(tmp_path):
    # Three stones within one cell of the centre: few openings, so that repeats are certain to be drawn.
    few = ["--size", "9", "--simulations", "40", "--net", "uniform", "--stones", "3", "--spread", "1"]
    out = tmp_path / "few.txt"
    assert balance_main([*few, "--out", str(out), "--count", "8", "--most", "1", "--halves"]) == 0
    found = [
        points
        for half in ("fit", "final")
        for points in read_openings(tmp_path / f"few-{half}.txt", 9, 9, 0)
    ]
    assert len(found) == 8 and not out.exists()
    assert len({balance.canonical(points, 9, 9) for points in found}) == 8
    mirrored = [tuple(p // 9 * 9 + 8 - p % 9 for p in points) for points in found]
    assert {balance.canonical(points, 9, 9) for points in mirrored} == {
        balance.canonical(points, 9, 9) for points in found
    }


def test_a_list_that_cannot_get_longer_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(balance_command, "IN_VAIN", 40)
    few = ["--size", "9", "--simulations", "40", "--net", "uniform", "--stones", "2", "--spread", "1"]
    assert balance_main([*few, "--out", str(tmp_path / "few.txt"), "--count", "20", "--most", "1"]) == 2
    assert "40 more candidates brought none" in capsys.readouterr().err


def test_the_last_stone_levels_the_board():
    """Of all its places, searches as long as the looks call none more level than the first that is tried."""
    config = balance.BalanceConfig(9, 9, fewest=3, most=3, spread=2, simulations=60, net="uniform")
    balancer = balance.Balancer(config)
    points = config.candidate(3)
    tried = balancer._most_level(points[:-1])
    others = [(*points[:-1], p) for p in range(81) if p not in points[:-1]]
    near = [whole for whole in others if max(abs(whole[-1] % 9 - 4), abs(whole[-1] // 9 - 4)) <= 2]
    levels = {whole: balancer._imbalance(whole, balance.LOOK) for whole in near}
    unsolved = sorted(value for value in levels.values() if value is not None)
    assert [levels[whole] for whole in tried] == unsolved[: balance.PLACES]
    balancer.close()


@pytest.mark.parametrize("side", [15, 20])
def test_the_openings_of_the_docs_can_be_played(side):
    file = OPENINGS / f"freestyle{side}.txt"
    found = read_openings(file, side, side, 0)
    assert len(set(found)) == 30 and all(len(points) == 4 for points in found)


OPENINGS = ROOT / "docs" / "openings"
HALVES = sorted(path.stem for path in OPENINGS.glob("*-fit.txt"))
RULES = {"freestyle": 0, "standard": 1, "renju": 4, "caro": 8}


FROZEN = {
    "caro15": "061617ffc907e532", "freestyle15": "ff4b28268c0ee841", "freestyle20": "9c9beed64f433063",
    "renju15": "45b3a7477d49e58a", "standard15": "182ffb2fe9ad8022",
}  # fmt: skip
"""First digits of SHA-256."""


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_frozen_lists_never_change(name):
    rule, side = re.fullmatch(r"([a-z]+)([0-9]+)", name).groups()
    file = OPENINGS / f"{name}-frozen.txt"
    assert hashlib.sha256(file.read_bytes()).hexdigest().startswith(FROZEN[name])
    found = read_openings(file, int(side), int(side), RULES[rule])
    assert len({balance.canonical(points, int(side), int(side)) for points in found}) == len(found) >= 100


@pytest.mark.parametrize("name", HALVES)
def test_the_two_halves_of_a_list_have_nothing_in_common(name):
    """No opening of one half is one of the other, however turned."""
    rule, side = re.fullmatch(r"([a-z]+)([0-9]+)-fit", name).groups()
    side, rule = int(side), RULES[rule]
    fit, final = (
        [balance.canonical(points, side, side) for points in read_openings(file, side, side, rule)]
        for file in (OPENINGS / f"{name}.txt", OPENINGS / f"{name[:-4]}-final.txt")
    )
    assert len(fit) == len(final) >= 100
    assert len({*fit, *final}) == len(fit) + len(final)
    assert {len(first) + len(second) for first, second in fit} <= set(range(3, 8))


def test_further_rounds_play_mirror_images():
    images = {turned((0, 1, 17), 15, 15, index) for index in range(8)}
    assert len(images) == 8 and (0, 1, 17) in images
    assert len({turned((0, 1, 17), 15, 9, index) for index in range(8)}) == 4
