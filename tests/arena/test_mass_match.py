"""Matches of thousands: the journal, the same games anywhere, clocks, managers, openings used once."""

from __future__ import annotations

import json
import os
import sys

import pytest

from arena.clock_use import ClockUse
from arena.elo import pentanomial
from arena.errors import BrainFailureError
from arena.journal import GameJournal, GameJournalError, shortened
from arena.limits import BrainLimits, MatchClock
from arena.managers import MANAGERS, Manager
from arena.match_config import MatchConfig
from arena.match_result import MatchResult
from arena.match_runner import run_match
from arena.openings import OpeningError
from arena.position import Position
from arena.records import GameSetup, PlayedGame
from engine.games.record import GameRecord
from tests.helpers.paths import HELPERS
from training.match import main
from training.measure.players import PLAYERS

LISTENER = f"{sys.executable} {HELPERS / 'listening_brain.py'}"
PLAIN = BrainLimits(turn_ms=None)
SETTINGS = {"size": [9, 9], "rule": 0, "a": "x", "b": "y"}


def games_of(config: MatchConfig) -> list[list[int]]:
    """Play a match and return the stones of its games, by index."""
    found: dict[int, list[int]] = {}
    order: list[GameRecord] = []
    run_match(config, lambda _, game: order.append(game))
    for game in order:
        colour = int(game.names[0] != "a")
        opening = tuple(game.points[: game.opening_stones])
        found[hash((opening, colour))] = game.points
    return [found[key] for key in sorted(found)]


def test_games_are_the_same_in_processes_threads_and_twice():
    config = MatchConfig(
        a="engine:net=uniform,nodes=30,temperature=1", b="random", limits=(PLAIN, PLAIN),
        games=6, width=7, height=7, seed=3, kinds=PLAYERS,
    )  # fmt: skip
    alone = games_of(config)
    shared = games_of(MatchConfig(**{f: getattr(config, f) for f in config.__slots__} | {"concurrency": 2}))
    assert alone == shared and len({tuple(points) for points in alone}) == 6


def test_a_match_goes_on_where_it_was_stopped(tmp_path, capsys):
    result, games = tmp_path / "r.json", tmp_path / "r.games.jsonl"
    command = ["--a", "random", "--b", "random", "--size", "7", "--nodes", "1", "--json", str(result)]
    assert main([*command, "--games", "6"]) == 0
    first = games.read_bytes()
    assert len(first.splitlines()) == 7
    games.write_bytes(first[: first.rfind(b"\n", 0, -1) + 10])  # the last line was cut off by a crash
    assert main([*command, "--games", "8", "--quiet"]) == 0
    assert "going on after 5 games" in capsys.readouterr().out
    again = games.read_bytes()
    assert again.startswith(first[: first.rfind(b"\n", 0, -1) + 1]) and len(again.splitlines()) == 9
    assert json.loads(result.read_text())["games"] == 8

    assert main([*command, "--games", "8", "--seed", "2"]) == 2
    assert "another match: seed was 1, not 2" in capsys.readouterr().err
    assert shortened("x" * 1000) == "'" + "x" * 59 + "..." and shortened(12) == "12"
    assert games.read_bytes() == again, "and no game was lost"


@pytest.mark.parametrize(
    "damage", [b'{"n":0}\n', b"\xff\xfe\n", b"[1,2]\n", b'{"n":-1,"moves":"","opening":0,"ms":[]}\n']
)
def test_a_damaged_journal_is_named_and_kept(tmp_path, damage):
    path = tmp_path / "m.games.jsonl"
    journal = GameJournal(path, SETTINGS)
    journal.add(0, GameRecord(9, 9, 0, 1, ("a", "b"), [40, 41], [0.0, 3.0], 2))
    journal.close()
    path.write_bytes(path.read_bytes() + damage)
    before = path.read_bytes()
    with pytest.raises(GameJournalError, match=r"m\.games\.jsonl, line 3 is damaged"):
        GameJournal(path, SETTINGS)
    assert path.read_bytes() == before


def test_a_journal_gives_back_what_it_took(tmp_path):
    path = tmp_path / "m.games.jsonl"
    game = GameRecord(9, 9, 0, 1, ("a", "b"), [40, 41, 42], [0.0, 3.0, 12.0], 1, "time", "no move")
    journal = GameJournal(path, SETTINGS)
    journal.add(7, game)
    journal.close()
    again = GameJournal(path, SETTINGS)
    again.close()
    assert again.games == {7: game}


def test_two_programs_do_not_write_one_journal(tmp_path):
    path = tmp_path / "m.games.jsonl"
    journal = GameJournal(path, SETTINGS)
    journal.add(0, GameRecord(9, 9, 0, 1, ("a", "b"), [40, 41], [0.0, 3.0], 2))
    before = path.read_bytes()
    with pytest.raises(GameJournalError, match="another process plays this match"):
        GameJournal(path, SETTINGS)
    assert path.read_bytes() == before
    journal.close()
    GameJournal(path, SETTINGS).close()
    assert path.read_bytes() == before


def test_no_opening_is_played_by_two_pairs_unless_that_is_asked_for(tmp_path):
    openings = tmp_path / "o.txt"
    openings.write_text("0,0, 1,1\n1,0, -1,2\n")
    config = MatchConfig(a="random", b="random", limits=(PLAIN, PLAIN), games=5, openings=openings)
    with pytest.raises(OpeningError, match="2 openings for 3 pairs"):
        run_match(config)
    allowed = MatchConfig(
        a="random", b="random", limits=(PLAIN, PLAIN), games=5, openings=openings, repeat_openings=True
    )
    assert run_match(allowed).games == 5


def test_pairs_are_counted_by_points():
    assert pentanomial([[0, 0], [0.5, 0], [1, 0], [0.5, 0.5], [1, 0.5], [1, 1], [1]]) == [1, 1, 2, 1, 1]
    result = MatchResult()
    for index, winner in enumerate((0, 1, 0, 0)):  # a has black in even games: wins both, then one
        result.add(index, GameRecord(9, 9, 0, 0, ("x", "y"), [1], [1.0], winner, "five"))
    assert result.wins == 3 and "0, 0, 1, 0, 1" in result.summary(("a", "b"))


def test_a_match_clock_counts_moves_and_increments():
    clock = MatchClock(BrainLimits(turn_ms=500, match_ms=1000, increment_ms=100, tolerance_ms=50))
    assert (clock.left_ms(), clock.allowed_ms()) == (1000, 550)
    clock.count(540)
    assert (clock.left_ms(), clock.allowed_ms()) == (560, 550)
    clock.count(500)
    assert (clock.left_ms(), clock.allowed_ms()) == (160, 210)
    with pytest.raises(BrainFailureError, match="211 ms for a move, 210 allowed") as failure:
        clock.count(211)
    assert failure.value.kind == "time"
    endless = MatchClock(BrainLimits(turn_ms=None))
    assert endless.left_ms() is None and endless.allowed_ms() is None


def test_the_use_of_a_clock_is_told_by_move_and_by_length():
    use = ClockUse()
    use.add([100.0] * 12, 10_000)
    use.add([200.0] * 12, 10_000)
    use.add([100.0] * 30, 10_000)
    use.add([1.0], 0)
    assert use.by_move()[10] == (pytest.approx((0.1 + 0.2 + 0.1) / 3), 3)
    assert use.at_end() == {"11-15": (pytest.approx(0.18), 2), "26-35": (pytest.approx(0.3), 1)}
    assert "30: 30%" in use.lines()[0] and ClockUse().lines() == []


def talk_with(command: str, limits: BrainLimits, moves: int) -> Manager:
    """Play white's first moves of a game in which black stands on 7,7 and 8,7, and return the manager."""
    brain = MANAGERS[limits.manager](command, limits)
    brain.new_game(PlayedGame(GameSetup(0, 15, 15, 4), black=1), 0)
    position = Position(15, 15, 4)
    for stone in (112, 113)[:moves]:
        position.play(stone)
        position.play(brain.move(position))
    assert position.points[1::2] == [0, 1][:moves]
    return brain


@pytest.mark.parametrize("name", sorted(MANAGERS))
def test_managers_say_what_theirs_do(name, tmp_path):
    heard = tmp_path / "heard"
    limits = BrainLimits(turn_ms=3000, match_ms=18_000, start_ms=60_000, manager=name)
    talk_with(f"{LISTENER} {heard}", limits, 2).close()
    lines = heard.read_bytes().decode().splitlines(keepends=True)
    ends = {line.endswith("\r\n") for line in lines}
    assert ends == ({True, False} if name == "qpiskvork" else {name != "cli"})
    talk = [line.strip() for line in lines if line.strip()]
    assert talk[0] == ("ABOUT" if name == "cli" else "START 15")
    assert {"INFO timeout_turn 3000", "INFO timeout_match 18000", "INFO rule 4"} <= set(talk)
    assert ("TURN 7,7" in talk) == (name == "piskvork") and ("BOARD" in talk) == (name != "piskvork")
    left = [int(line.split()[2]) for line in talk if line.startswith("INFO time_left")]
    tells_left = "time_left" in MANAGERS[name].keys
    assert left[0] == 18_000 and left[-1] < 18_000 and len(left) == 2 + tells_left
    assert talk[-2:] == ["TURN 8,7", "END"]


@pytest.mark.posix
def test_the_judge_stops_a_brain_while_its_opponent_thinks(tmp_path):
    limits = BrainLimits(turn_ms=3000, match_ms=18_000, manager="judge")
    brain = talk_with(f"{LISTENER} {tmp_path / 'heard'}", limits, 0)
    assert brain.brain is None, "the process starts with its first move"
    brain.close()
    brain = talk_with(f"{LISTENER} {tmp_path / 'heard'}", limits, 1)
    _, status = os.waitpid(brain.brain.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    brain.close()


def test_an_unknown_manager_is_a_usage_error(capsys):
    with pytest.raises(SystemExit):
        main(["--a", "random", "--b", "random", "--manager", "nobody"])
    assert "invalid choice: 'nobody'" in capsys.readouterr().err


def test_a_rule_is_a_number_or_a_name(tmp_path, capsys):
    arguments = ["--a", "random", "--b", "random", "--games", "2", "--size", "9", "--quiet"]
    for text, rule in (("standard-caro", 9), ("Renju", 4), ("8", 8)):
        assert main([*arguments, "--rule", text, "--json", str(tmp_path / f"{rule}.json")]) == 0
        head = json.loads((tmp_path / f"{rule}.games.jsonl").read_text().splitlines()[0])
        assert head["settings"]["rule"] == rule
    with pytest.raises(SystemExit):
        main([*arguments, "--rule", "chess"])
    assert "unknown rule 'chess'" in capsys.readouterr().err


def test_a_start_is_not_charged_to_a_scaled_clock_nor_a_wait_for_a_core():
    clock = MatchClock(BrainLimits(turn_ms=50, match_ms=300, tolerance_ms=0))
    clock.count(900, least_ms=1000)
    assert clock.left_ms() == 250
    clock.count(80, forgiven_ms=40)
    assert clock.left_ms() == 210
    with pytest.raises(BrainFailureError, match="80 ms for a move, 50 allowed"):
        clock.count(80)
