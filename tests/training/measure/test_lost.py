"""Lost games: which ones are read, and where they are said to have turned."""

import pytest

from engine import Engine, EngineConfig, SearchLimits
from engine.games.files import save_game
from engine.games.record import GameRecord
from engine.rules.geometry import parse_moves
from training.lost import main
from training.measure.lost import Turn, lines_of, lost_games, turn_of

# Black makes an open four with its fourth stone; white, whose stones are far away, has lost by then.
MOVES = parse_moves("h8a1i8c1j8e3k8g8l8", 15, 15)


def record(points=MOVES, winner=0, reason="five", names=("black", "white"), opening=0):
    return GameRecord(15, 15, 0, opening, names, list(points), [1.0] * len(points), winner, reason)


@pytest.fixture(scope="module")
def engine():
    engine = Engine(EngineConfig(net="uniform", seed=1), log=lambda line: None)
    yield engine
    engine.close()


def test_games_that_the_player_lost_by_five_are_read_once(tmp_path):
    for name, game in {
        "1.sgf": record(), "1.psq": record(), "2.sgf": record(names=("white", "black")),
        "3.sgf": record(MOVES[:5], reason="time"), "4.sgf": record(names=("white", "white")),
    }.items():  # fmt: skip
        save_game(tmp_path / name, game)
    (tmp_path / "5.sgf").write_text("no game")
    said: list[str] = []
    assert [name for name, _ in lost_games(tmp_path, "white", said.append)] == ["1"]
    assert [name for name, _ in lost_games(tmp_path, "black", said.append)] == ["2"]
    assert len(said) == 2 and "5.sgf" in said[0]


def test_a_game_turned_after_the_last_move_with_chances(engine):
    turn = turn_of(engine, "g", record(), SearchLimits(max_nodes=200))
    assert turn is not None and turn.colour == 1 and turn.game == "g"
    # Black's three could still be stopped; four in a row cannot.
    assert (turn.ply, turn.move, turn.answer) == (5, MOVES[5], MOVES[6])
    assert turn.before >= 0.4 > turn.after and turn.proven
    assert turn.prior is None, "the solver answers a three before the net is asked"
    assert lines_of([turn])[1].endswith("solved, without the net")


def test_the_answer_is_looked_up_in_the_search_of_the_winner(engine):
    quiet = parse_moves("h8i9i8h10j11f7l12k8", 15, 15)
    game = record([*quiet[:6], *MOVES[1::2], *quiet[6:]], winner=0)
    turn = turn_of(engine, "g", game, SearchLimits(max_nodes=300))
    assert turn is not None and turn.prior is not None and turn.before >= 0.4
    assert 0 < turn.prior < 0.2 and turn.rank >= 1 and 0 <= turn.share <= 1


def test_a_game_that_was_never_level_turned_with_the_first_move(engine):
    turn = turn_of(engine, "g", record(opening=7), SearchLimits(max_nodes=200))
    assert turn is not None and turn.ply == 7 and turn.before < 0.4 and turn.proven
    assert turn_of(engine, "g", record(opening=8), SearchLimits(max_nodes=200)) is None


def test_the_table_counts_what_games_have_in_common():
    blind = Turn("a", 15, 0, 4, 112, 0.5, 113, 0.004, 9, 0.0, 0.2, False)
    slid = Turn("b", 15, 1, 7, 0, 0.3, 14, 0.5, 1, 0.9, 0.0, True)
    rows = lines_of([blind, slid])
    assert rows[1].split() == ["a", "X", "5.", "h8", "0.50", "i8", "0.4%", "9", "0.0%", "0.20"]
    assert rows[2].split() == ["b", "O", "8.", "a1", "0.30", "o1", "50.0%", "1", "90.0%", "proven", "loss"]
    assert rows[3] == (
        "2 games: never level 1, answer got 12% of the visits at most 1, its prior below 1% 1, "
        "a proven loss behind it 1"
    )


def test_the_command_reads_a_folder_or_says_what_is_wrong(tmp_path, capsys):
    save_game(tmp_path / "1.sgf", record())
    arguments = [str(tmp_path), "--net", "uniform", "--simulations", "100"]
    assert main([*arguments, "--player", "white"]) == 0
    assert "1 games: " in capsys.readouterr().out
    assert main([*arguments, "--player", "black"]) == 2
    assert capsys.readouterr().err.endswith("no game that black lost by five\n")
    assert main([str(tmp_path / "none"), "--player", "white"]) == 2
    assert "is no folder" in capsys.readouterr().err
