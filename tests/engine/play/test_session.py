"""Sessions of the game at the terminal, played from a script."""

import os
import re
import signal
import threading

import pytest

from engine import EngineConfig, Rule
from engine.games.files import load_game, load_tree
from engine.play.actions import act, check, takes_draw
from engine.play.game import Game
from engine.play.players import HUMANS, Players
from engine.play.session import Session
from engine.play.swap2 import Swap2
from engine.play.terminal import Lines
from engine.play.thinker import Thinker
from engine.rules.geometry import format_move
from tests.helpers.terminal import game_of, screen_of


class Script(Lines):
    """Lines from a list; an exception in it is raised."""

    def __init__(self, *lines, interactive=False):
        self.lines, self.interactive = list(lines), interactive

    def read(self, prompt):
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line


@pytest.fixture(scope="module")
def thinker():
    thinker = Thinker(EngineConfig(net="uniform", seed=1), log=lambda text: None, tick=lambda s: None)
    yield thinker
    thinker.close()


@pytest.fixture
def play(thinker):
    def run(*lines, game=None, humans="black", levels=(10, 10), interactive=False, **more):
        screen, out = screen_of(terminal=False)
        players = Players(HUMANS[humans], levels, time_s=0.05, delay_s=0.0)
        session = Session(game or Game(9, 9), players, thinker, screen, act, check=check, **more)
        assert session.run(Script(*lines, interactive=interactive)) == 0
        return session, out.getvalue()

    return run


def test_the_engine_answers_and_undo_gives_the_turn_back(play):
    session, text = play("e5", "d4")
    assert len(session.game.points) == 4 and session.game.times_ms[1] > 0
    assert "white plays" in text
    session, text = play("e5", "undo", "undo")
    assert session.game.points == [] and "you have no move to take back" in text
    session, _ = play("undo", humans="white")
    assert len(session.game.points) == 1


def test_a_game_ends_with_its_result_and_another_begins(play):
    won = game_of("a1a9b1b9c1c9d1h5", 9, 9)
    session, text = play("e1", "e2", "hint", "new 15 renju", game=won)
    assert "Black wins after 9 stones." in text and text.count("the game is over") == 2
    assert session.game.board.width == 15 and session.game.rule is Rule.RENJU and session.game.points == []


def test_two_people_and_forbidden_moves(play):
    session, text = play("j8", "h3", game=game_of("h8a1i8a3j9a5j10a7", rule=Rule.RENJU), humans="both")
    assert "j8 is forbidden to black: double three" in text
    assert len(session.game.points) == 9


def test_who_resigns_loses_and_undo_takes_it_back(play, tmp_path):
    session, text = play("e5", "resign", "e6", f"save {tmp_path}/r.sgf")
    assert "Black resigns, white wins." in text
    assert session.game.over and session.game.winner == 1 and "the game is over" in text
    record = load_game(tmp_path / "r.sgf")
    assert (record.winner, record.reason) == (1, "resigned")
    assert "RE[W+R]" in (tmp_path / "r.sgf").read_text()
    session, _ = play("e5", "resign", "undo")
    assert not session.game.over and len(session.game.points) == 2
    session, text = play("resign", "resign", humans="both")
    assert session.game.ended == (1, "resigned") and text.count("the game is over") == 1
    _, text = play(KeyboardInterrupt(), "resign", humans="none")
    assert "you only watch" in text


def test_size_and_rule_begin_anew_or_tell(play):
    session, text = play("size 12x10", "rule renju", "size", "rule", "rule chess", "size 99")
    assert (session.game.board.width, session.game.board.height, session.game.rule) == (12, 10, Rule.RENJU)
    assert text.count("12x10 renju; ") == 2 and "unknown rule" in text and "sides are 5 to 22" in text


@pytest.mark.parametrize("line", ["new", "size 15", "rule caro", "load {file}", "quit"])
def test_a_game_is_not_thrown_away_without_a_question(play, tmp_path, line):
    saved = tmp_path / "other.psq"
    saved.write_text("Piskvorky 9x9, 11:11, 0\n1,1,0\n")
    line = line.format(file=saved)
    session, text = play("e5", line, "board", interactive=True)
    assert "not saved: `yes` drops it" in text and len(session.game.points) == 2
    for answer in ("yes", line):
        session, _ = play("e5", line, answer, interactive=True)
        assert session.leaving if line == "quit" else len(session.game.points) < 2
    session, text = play("e5", line, "d4", "yes", interactive=True)
    assert len(session.game.points) == 4 and "nothing was asked" in text
    session, text = play("e5", line, "no", "yes", interactive=True)
    assert len(session.game.points) == 2 and text.count("nothing was asked") == 1
    assert "is no move" not in text


@pytest.mark.parametrize(
    "lines", [("new",), ("e5", "resign", "new"), ("e5", "save {file}", "new"), ("e5", "size")]
)
def test_there_is_no_question_where_nothing_is_lost(play, tmp_path, lines):
    _, text = play(*(line.format(file=tmp_path / "g.sgf") for line in lines), interactive=True)
    assert "`yes`" not in text
    _, text = play("e5", "new")
    assert "`yes`" not in text  # a script cannot be asked


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("size 4", "sides are 5 to 22"), ("size x", "unknown rule 'x'"), ("rule chess", "unknown rule"),
        ("new 99", "sides are 5 to 22"), ("new 15 swap3", "unknown rule 'swap3'"),
        ("load", "load needs the name"), ("load none.sgf", "cannot read"),
        ("quit now", "takes nothing behind"),
        ("load {file}", "no game"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_without_a_question(play, tmp_path, line, why):
    (tmp_path / "bad.sgf").write_text("hello")
    session, text = play("e5", line.format(file=tmp_path / "bad.sgf"), "board", interactive=True)
    assert why in text and "`yes`" not in text and len(session.game.points) == 2


def test_row_1_moves_to_the_bottom_and_back(play):
    session, text = play("rows bottom", "e1", "rows", "rows top", "rows left")
    assert session.game.points[0] // session.game.board.width == session.game.board.height - 1
    assert text.count("row 1 is at the bottom") == 2 and "row 1 is at the top" in text
    assert "rows needs top or bottom" in text


def test_loaded_games_say_what_was_guessed_and_keep_their_passes(play, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_bytes("(;GM[1]SZ[9]RU[Swap2]PB[黑方棋手]PW[白方棋手]PL[W];W[ee];B[ef];W[])".encode("gbk"))
    session, text = play(f"load {path}", "undo", humans="both")
    assert session.game.stones == [(40, 1), (49, 0)] and session.game.board.to_move == 1
    assert "2 stones from game.sgf" in text and "'Swap2' (RU) is unknown" in text
    assert "Chinese (GBK), a guess" in text


def test_rows_from_the_bottom_in_all_that_is_said(play):
    session, text = play("a1", "a1", "new", "c3", interactive=False, from_bottom=True)
    assert "a1 is taken" in text and "white plays" in text
    assert session.game.points[0] == 6 * 9 + 2 and session.game.from_bottom
    rows = [line for line in text.splitlines() if re.match(r" +\d+[ \[]", line)]
    assert rows[0].startswith("  9") and rows[8].startswith("  1")


def test_nonsense_loses_nothing(play):
    session, text = play(
        "e5", "", "e5", "foo", "z99", "level 99", "level", "time soon", "time 0.05", "colour red", "go",
        "a x", "save", "load", "new 99", "new chess", "black", "undo 5", "analyse all all", "h8 i8",
        "level 3 7",
    )  # fmt: skip
    assert len(session.game.points) == 2 and session.players.levels == (3, 7)
    for message in (
        "e5 is taken", "'foo' is no move", "off the 9x9 board", "levels go from", "levels: black 10",
        "number of seconds", "colour needs", "it is your move", "save needs", "load needs",
        "sides are 5 to 22", "unknown rule", "answer to swap2", "undo takes nothing", "one move at a time",
    ):  # fmt: skip
        assert message in text, message


def test_save_load_and_what_is_refused(play, tmp_path):
    path = tmp_path / "my game.sgf"
    other = tmp_path / "game.psq"
    session, text = play(
        "e5", f"save {path}", "d5", f"save {path}", f'save! "{path}"', f"save {other}",
        f"save {tmp_path}/x.txt",
    )  # fmt: skip
    assert "exists already" in text and "must end in" in text
    record = load_game(path)
    assert record.points == session.game.points == load_game(other).points
    assert record.names == ("human", "Tengen level 10")
    bad = tmp_path / "bad.psq"
    bad.write_text("Piskvorky 9x9, 11:11, 0\n5,5,0\n5,5,0\n")
    session, text = play("c3", f"load {bad}", f"load {tmp_path}/none.psq")
    assert "line 3: move 2: e5 is taken" in text and "cannot read" in text
    assert len(session.game.points) == 2
    session, text = play(f"load {path}", humans="both")
    assert session.game.points == record.points and "4 stones from my game.sgf" in text


def test_a_loaded_game_waits_for_go(play, tmp_path):
    path = tmp_path / "odd.psq"
    path.write_text("Piskvorky 9x9, 11:11, 0\n5,5,0\n")
    session, text = play(f"load {path}", "board")
    assert len(session.game.points) == 1 and "`go` lets the engine move" in text
    session, _ = play(f"load {path}", "go")
    assert len(session.game.points) == 2


def test_hint_and_analysis_speak_of_the_position(play):
    session, text = play("hint", "a 0.05", "help", game=game_of("e5a1f5a3g5a5", 9, 9))
    assert "hint: h5 (win in 3)" in text or "hint: d5 (win in 3)" in text
    assert "black to move" in text and "visits" in text and "save! FILE" in text
    assert len(session.game.points) == 6


def test_looking_back_names_the_losing_move(play):
    _, text = play("analyse all", "", game=game_of("e5d5f5a1g5a3h5a5i5", 9, 9), humans="both")
    assert "Black's win rate" in text and "9 X i5  100.0%" in text and "lost most with" in text
    _, text = play("analyse all")
    assert "no moves to review" in text


def test_ctrl_c_asks_once_and_then_leaves(play):
    session, text = play(KeyboardInterrupt(), "e5", KeyboardInterrupt(), KeyboardInterrupt(), "d4")
    assert text.count("leave? Ctrl-C again") == 2
    assert len(session.game.points) == 2


def test_ctrl_c_while_thinking_plays_the_best_move_so_far(thinker):
    game = game_of("e5", 9, 9)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    thought = thinker.move(game, 10, 3000.0)
    assert thought.interrupted and thought.elapsed_s < 60
    assert game.refusal(thought.value.point) is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_watching_plays_a_game_to_the_end_with_two_levels(play):
    session, text = play(humans="none", levels=(1, 10), game=Game(7, 7))
    assert session.game.over and session.game.result in text
    assert session.game.record(("", "")).reason in ("five", "draw")


def test_a_watched_game_pauses_for_commands(play):
    class Impatient:
        count = 0

        def __call__(self, seconds):
            self.count += 1
            if self.count == 3:
                raise KeyboardInterrupt

    screen, out = screen_of()
    thinker = Thinker(EngineConfig(net="uniform", seed=1), log=print, tick=lambda s: None)
    players = Players(HUMANS["none"], (10, 10), 0.05)
    session = Session(Game(9, 9), players, thinker, screen, act, sleep=Impatient())
    assert session.run(Script("undo", "board")) == 0
    assert len(session.game.points) == 2 and session.paused
    assert "to move; `go` plays on" in out.getvalue() and "leave?" not in out.getvalue()


def test_swap2_with_the_engine_second(play):
    session, text = play("a1 b1 c3", swap2=True)
    assert session.opening is None and session.game.opening_stones == 3
    assert "the engine takes" in text
    white = session.game.points[3:]
    assert (len(white) == 1) == (session.players.humans == HUMANS["black"])


def test_swap2_with_the_engine_first(play):
    for answer, humans, stones in (("white", "white", 3), ("black", "black", 4), ("i9", "white", 5)):
        session, text = play("nonsense", answer, humans="white", swap2=True)
        shown = " ".join(format_move(point, 9) for point in session.game.points[:3])
        assert f"the engine puts {shown}; take `black` or `white`, or put two stones" in text
        assert session.opening is None and session.players.humans == HUMANS[humans]
        assert len(session.game.points) == stones and session.game.opening_stones == 3


def test_swap2_with_two_more_stones_lets_the_engine_choose(play):
    session, text = play("i1 i9", humans="white", swap2=True)
    assert session.game.opening_stones == 5 and session.opening is None
    assert "the engine takes" in text


def test_swap2_refuses_what_does_not_fit(play):
    session, text = play(
        "black", "a1 a1 b1", "a1 b1 c1 d1", "undo", "a1", "undo", "b1 c1 d1", "b1 c1", "colour both",
        humans="both", swap2=True,
    )  # fmt: skip
    assert session.opening == Swap2(3) and session.game.opening_stones == 3
    for message in (
        "answer to swap2", "a1 is taken", "that is too many", "no move to take back", "the opening stays",
        "put 2 more stones", "colours are chosen by the opening",
    ):  # fmt: skip
        assert message in text, message


def test_seats_change_only_when_the_other_colour_is_taken():
    assert [Swap2(n).chooser for n in (0, 1, 2, 3, 5)] == [0, 0, 0, 1, 0]
    players = Players(HUMANS["black"], (2, 7))
    players.exchange()
    assert players.humans == HUMANS["white"] and players.levels == (7, 2)
    assert (players.name(0), players.name(1)) == ("Tengen level 7", "human")


def test_a_loaded_game_keeps_names_comments_and_variations(play, tmp_path):
    path, again = tmp_path / "game.sgf", tmp_path / "again.sgf"
    path.write_text(
        "(;SZ[9]PB[Ada]PW[Bob]GC[final]C[begin](;B[ee]C[12ms\nthe middle];W[ed])(;B[aa];W[bb]))", "utf-8"
    )
    session, text = play(f"load {path}", "f5", f"save {again}", humans="both")
    assert "2 moves of variations are not shown" in text
    assert "black (X): you (Ada)" in "\n".join(session.default_panel())
    tree = load_tree(again)
    assert tree.record.names == ("Ada", "Bob") and tree.record.text == "final"
    assert [(n.parent, n.comment) for n in tree.nodes] == [
        (-1, "begin"), (0, "the middle"), (1, ""), (2, ""), (0, ""), (4, ""),
    ]  # fmt: skip
    assert tree.record.points == session.game.points and len(session.game.points) == 3
    session, _ = play(f"load {path}", "undo", humans="both")
    assert session.game.comment == "the middle" and "the middle" in session.default_panel()
    session, _ = play(f"load {path}", "undo", "undo", "b2", f"save! {again}", humans="both")
    other = load_tree(again)
    assert [n.point for n in other.nodes] == [-1, 10, 40, 31, 0, 10] and other.record.points == [10]
    session, _ = play(f"load {path}", "undo", f"save! {again}", humans="both")
    assert load_tree(again).record.points == [40]


def test_draws_are_offered_and_kept(play, tmp_path, thinker):
    session, text = play("e5", "d4", "draw", "draw", f"save {tmp_path}/d.psq", humans="both")
    assert "black offers a draw" in text and "A draw by agreement." in text and session.game.winner == 2
    assert "Draw\n0\n" in (tmp_path / "d.psq").read_text()
    session, _ = play("e5", "draw", "d4", "draw", humans="both")
    assert not session.game.over
    session, text = play("draw", "e5", "draw")
    assert "nothing to draw yet" in text
    assert session.game.over == takes_draw(*_engine_score(thinker, session.game))
    _, text = play(KeyboardInterrupt(), "draw", humans="none")
    assert "you only watch" in text


def _engine_score(thinker, game):
    board = Game(9, 9)
    for point in game.points:
        board.play(point)
    win, draw, _ = thinker.analyse(board, 0.05, 1).value.wdl
    return 1 - win - draw / 2, draw


@pytest.mark.parametrize(
    ("score", "draw", "taken"),
    [(0.39, 0.0, True), (0.45, 0.1, False), (0.45, 0.5, True), (0.55, 0.4, True), (0.6, 0.9, False)],
)
def test_the_engine_takes_a_draw_only_where_it_is_not_better(score, draw, taken):
    assert takes_draw(score, draw) is taken


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("W+R", "Black resigns, white wins."), ("B+T", "White is out of time, black wins."),
        ("0", "A draw by agreement."),
    ],
)  # fmt: skip
def test_a_game_that_ended_off_the_board_is_over_until_undo(play, tmp_path, result, said):
    path = tmp_path / "game.sgf"
    path.write_text(f"(;GM[4]SZ[9]RE[{result}];B[ee];W[ed])")
    session, text = play(f"load {path}", "e6", f"save {tmp_path}/again.psq", f"save {tmp_path}/again.sgf")
    assert said in text and "the game is over" in text and len(session.game.points) == 2
    for name in ("again.psq", "again.sgf"):
        assert Game.from_record(load_game(tmp_path / name)).ended == session.game.ended
    session, _ = play(f"load {path}", "undo", "e6", humans="both")
    assert len(session.game.points) == 3
