"""The state machine: what is answered, what is silent, and what stays as it was."""

import pytest

from engine import Rule
from engine.cores import usable_cores
from protocol.format import Notation, message
from protocol.position import BoardError, Stone, position_from
from tests.helpers.paths import ROOT
from tests.helpers.protocol_fakes import H8, Talk, move, result, started

# --- starting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["5", "15", "20", "22", "15 15", "22 18"])
def test_start_accepts_supported_sizes(size: str) -> None:
    assert Talk().say(f"START {size}") == ["OK"]


@pytest.mark.parametrize("size", ["4", "0", "-1", "1000", "abc", "", "23", "15 4"])
def test_start_refuses_others_naming_20_and_stays_alive(size: str) -> None:
    talk = Talk()
    (answer,) = talk.say(f"START {size}")
    assert answer.startswith("ERROR ") and "20" in answer
    assert talk.say("BEGIN") == ["ERROR BEGIN before START"]
    assert talk.say("START 20") == ["OK"]


def test_rectangles() -> None:
    talk = Talk()
    assert talk.say("RECTSTART 30,20")[0].startswith("ERROR")
    assert talk.say("RECTSTART 20,10") == ["OK"]
    assert talk.say("TURN 19,9") == [] and talk.query.stones == ((9 * 20 + 19, 0),)
    assert (talk.query.width, talk.query.height) == (20, 10)


@pytest.mark.parametrize("line", ["BEGIN", "TURN 7,7", "BOARD\n7,7,2\nDONE", "TAKEBACK 7,7", "RESTART",
                                  "SWAP2BOARD\nDONE", "PLAY 1,1", "YXNBEST 2", "YXSHOWFORBID"])
def test_one_error_before_start(line: str) -> None:
    talk = Talk()
    (answer,) = talk.say(line)
    assert answer.startswith("ERROR ") and "before START" in answer and talk.worker.queries == []


def test_a_refused_start_keeps_the_game() -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.answer(0)
    talk.say("START 99")
    assert talk.say("TURN 7,7") == ["ERROR 7,7 is taken"]


# --- moves --------------------------------------------------------------------------------------------------


def test_a_short_game() -> None:
    talk = started()
    assert talk.say("BEGIN") == [] and talk.query.stones == () and talk.query.to_move == 0
    assert talk.answer(H8) == ["7,7"]
    assert talk.say("TURN 8,7") == []
    assert talk.query.stones == ((H8, 0), (H8 + 1, 1)) and talk.query.to_move == 0
    assert talk.answer(H8 + 2) == ["9,7"]


def test_turn_first_makes_the_opponent_black() -> None:
    talk = started()
    talk.say("TURN 0,0")
    assert talk.query.stones == ((0, 0),) and talk.query.to_move == 1


@pytest.mark.parametrize("turn", ["TURN 7,7", "TURN 15,0", "TURN -1,3", "TURN 3", "TURN a,b", "TURN"])
def test_a_bad_turn_is_one_error_and_changes_nothing(turn: str) -> None:
    talk = started()
    talk.say("BEGIN")
    talk.answer(H8)
    (answer,) = talk.say(turn)
    assert answer.startswith("ERROR ") and not talk.conversation.thinking
    talk.say("TURN 8,8")
    assert talk.query.stones == ((H8, 0), (8 * 15 + 8, 1))


def test_the_summary_is_two_short_messages_before_the_move() -> None:
    talk = started()
    talk.say("BEGIN")
    numbers, line, answer = talk.answer(H8, result(H8))
    assert answer == "7,7"
    assert numbers == "MESSAGE winrate 60.0 drawrate 20.0 n/s 200"
    assert line == "MESSAGE depth 4-9 ev 81 n 100 n/ms 0 tm 500 pv h8 i8"


@pytest.mark.parametrize("points", [None, (H8,), (225,), (-1,), (1, 2), "SWAP", ()])
def test_an_unusable_answer_becomes_a_legal_move_and_a_log_line(points: object) -> None:
    talk = started()
    talk.say("TURN 7,7")
    (answer,) = talk.answer(points)  # type: ignore[arg-type]
    a, b = map(int, answer.split(","))
    assert 0 <= a < 15 and 0 <= b < 15 and (a, b) != (7, 7)
    assert talk.logged


def test_a_full_board_is_an_error_and_the_last_cell_is_played() -> None:
    talk = started("5")
    stones = [f"{p % 5},{p // 5},{1 + p % 2}" for p in range(24)]
    talk.say("BOARD\n" + "\n".join(stones) + "\nDONE")
    assert talk.answer(None) == ["4,4"]
    talk.say("RESTART")
    assert talk.say("BOARD\n" + "\n".join([*stones, "4,4,2"]) + "\nDONE") == ["ERROR the board is full"]
    assert talk.say("START 15") == ["OK"]


def test_play_puts_and_echoes() -> None:
    talk = started()
    assert talk.say("PLAY 3,4") == ["3,4"]
    assert talk.say("PLAY 3,4")[0].startswith("ERROR")


def test_takeback_of_two_then_turn() -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.answer(0)
    talk.say("TURN 8,7")
    talk.answer(1)
    assert talk.say("TAKEBACK 1,0\nTAKEBACK 8,7") == ["OK", "OK"]
    talk.say("TURN 9,9")
    assert talk.query.stones == ((H8, 0), (0, 1), (9 * 15 + 9, 0)) and talk.query.to_move == 1


def test_takeback_of_an_empty_cell_is_an_error_and_does_not_disturb() -> None:
    talk = started()
    assert talk.say("TAKEBACK 3,3")[0].startswith("ERROR")
    talk.say("TURN 7,7")
    assert talk.say("TAKEBACK 99,3")[0].startswith("ERROR")
    assert talk.answer(0) == ["0,0"]


def test_restart_forgets_the_game_and_the_tree() -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.answer(0)
    assert talk.say("RESTART") == ["OK"]
    talk.say("BEGIN")
    assert talk.query.stones == () and talk.query.clear_tree and talk.query.new_game


# --- BOARD --------------------------------------------------------------------------------------------------


def colours(*lines: tuple[int, int, int | None], fault: str | None = None) -> tuple[str, int]:
    position = position_from(Notation(15, 15), [Stone(a, b, owner) for a, b, owner in lines], fault)
    return "".join("bw-o"[colour] for _, colour in position.stones), position.to_move


def test_board_colours_follow_from_the_counts() -> None:
    assert colours() == ("", 0)
    assert colours((7, 7, 2)) == ("b", 1)
    assert colours((7, 7, 1), (8, 8, 2)) == ("bw", 0)
    assert colours((8, 8, 2), (7, 7, 1)) == ("wb", 0)
    assert colours((1, 1, 2), (2, 2, 1), (3, 3, 2)) == ("bwb", 1)
    assert colours((1, 1, 2), (2, 2, 1), (3, 3, 2), (4, 4, 3)) == ("bwbo", 1)


def test_odd_counts_are_read_by_the_first_stone() -> None:
    assert colours((7, 7, 1)) == ("b", 0)
    assert colours((1, 1, 2), (2, 2, 2)) == ("bb", 1)
    assert colours((1, 1, 1), (2, 2, 2), (3, 3, 2), (4, 4, 2)) == ("bwww", 0)


def test_a_fault_is_survived_while_the_rest_is_a_possible_game() -> None:
    assert colours((7, 7, 2), fault="x") == ("b", 1)
    assert colours((7, 7, 2), (99, 0, 2)) == ("b", 1)
    assert colours((7, 7, 2), (7, 7, 2)) == ("b", 1)
    assert colours((7, 7, 2), (8, 8, None), fault="x") == ("bo", 1)
    for lines in (((7, 7, 1), (99, 0, 2)), ((7, 7, 1), (7, 7, 2))):
        with pytest.raises(BoardError):
            colours(*lines)


def test_a_refused_board_is_one_error_and_keeps_the_position() -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.answer(0)
    (answer,) = talk.say("BOARD\n3,3,1\n40,40,2\nDONE")
    assert answer == "ERROR 40,40 is off the board"
    talk.say("TURN 8,8")
    assert talk.query.stones == ((H8, 0), (0, 1), (8 * 15 + 8, 0))


def test_board_replaces_what_was_there_and_yxboard_is_silent() -> None:
    talk = started()
    talk.say("TURN 7,7")
    talk.answer(0)
    assert talk.say("YXBOARD\n3,3,2\nDONE") == [] and not talk.conversation.thinking
    assert talk.say("YXBOARD\n3,3,1\nfoo\nDONE") == []
    talk.say("YXNBEST 2")
    assert talk.query.stones == ((3 * 15 + 3, 0),) and talk.query.n == 2
    lines = talk.answer(5, result(5, candidates=(move(5, 60), move(6, 30, "loss"), move(8, 1))))
    assert [line[-5:] for line in lines[:3]] == ["pv f1", "pv g1", "s 200"]
    assert lines[-1] == "5,0" and len(lines) == 5


def test_won_positions_are_still_answered() -> None:
    talk = started()
    row = "".join(f"{x},0,2\n{x},5,1\n" for x in range(4)) + "4,0,2\n"
    talk.say(f"BOARD\n{row}DONE")
    (answer,) = talk.answer(None)
    assert len(answer.split(",")) == 2


# --- swap2 --------------------------------------------------------------------------------------------------


def test_swap2_phases() -> None:
    talk = started()
    talk.say("SWAP2BOARD\nDONE")
    assert talk.query.kind == "swap2" and talk.answer((0, 16, 32)) == ["0,0 1,1 2,2"]
    talk.say("SWAP2BOARD\n0,0\n1,1\n2,2\nDONE")
    assert talk.query.opening == (0, 16, 32) and talk.answer("SWAP") == ["SWAP"]
    talk.say("SWAP2BOARD\n0,0\n1,1\n2,2\nDONE")
    assert talk.answer((4, 5)) == ["4,0 5,0"]
    talk.say("SWAP2BOARD\n0,0\n1,1\n2,2\n3,3\n4,4\nDONE")
    assert talk.answer((7,)) == ["7,0"]
    talk.say("BOARD\n0,0,2\n1,1,1\n2,2,2\nDONE")
    assert talk.query.kind == "move" and talk.query.to_move == 1 and len(talk.query.stones) == 3


@pytest.mark.parametrize("stones", ["1,1", "1,1\n2,2", "1,1\n1,1\n2,2", "1,1\n2,2\n99,2",
                                    "1,1\nfoo\n3,3\n4,4", "1,1\n2,2\n3,3\n4,4"])
def test_bad_swap2_boards_are_one_error(stones: str) -> None:
    talk = started()
    (answer,) = talk.say(f"SWAP2BOARD\n{stones}\nDONE")
    assert answer.startswith("ERROR ") and not talk.conversation.thinking


@pytest.mark.parametrize("points", [(0, 1), "SWAP", (0, 0, 1), None])
def test_unusable_swap2_offers_are_replaced(points: object) -> None:
    talk = started()
    talk.say("SWAP2BOARD\nDONE")
    assert talk.answer(points) == ["0,0 2,1 2,4"]  # type: ignore[arg-type]


# --- Yixin --------------------------------------------------------------------------------------------------


def test_yixin_is_found_out_and_means_other_rules_and_coordinates() -> None:
    talk = Talk()
    assert talk.say("info show_detail 1\nyxshowinfo") == [
        f"MESSAGE INFO MAX_THREAD_NUM {usable_cores()}", "MESSAGE INFO MAX_HASH_SIZE 21"
    ]
    assert talk.say("START 20 10") == ["OK"]
    talk.say("INFO rule 2\nturn 9,19")  # row, column
    assert talk.query.rule is Rule.RENJU and talk.query.stones == ((9 * 20 + 19, 0),)
    assert talk.answer(5) == ["0,5"]
    assert talk.say("yxnosuchthing") == []


def test_gomocup_rule_2_is_continuous_and_buries_fives() -> None:
    talk = started()
    talk.say("INFO rule 2")
    row = "".join(f"{x},0,2\n{x},5,1\n" for x in range(4))
    talk.say(f"BOARD\n{row}DONE")  # four each, the receiver is black and on row 5
    assert talk.query.rule is Rule.FREESTYLE
    assert talk.answer(5 * 15 + 4) == ["4,5"]
    talk.say("TURN 9,9")
    dead = {point for point, colour in talk.query.stones if colour == 3}
    assert dead == {5 * 15 + x for x in range(5)} and talk.query.to_move == 0


def test_yixin_reads_row_and_column_from_the_next_start_on() -> None:
    talk = started()
    talk.say("TURN 3,7")
    talk.answer(0)
    talk.say("yxshowinfo")
    assert talk.say("TURN 3,7") == ["ERROR 3,7 is taken"]
    talk.say("START 15\nTURN 3,7")
    assert talk.query.stones == ((3 * 15 + 7, 0),)


def test_start_between_moves_is_no_new_game() -> None:
    talk = Talk()
    talk.say("yxshowinfo\nSTART 15 15\nboard\n7,7,2\ndone")
    assert talk.query.new_game
    talk.answer(0)
    talk.say("START 15 15\nboard\n7,7,2\n0,0,1\n8,8,2\ndone")
    assert not talk.query.new_game and not talk.query.clear_tree
    talk.answer(1)
    talk.say("START 15 15\nboard\n5,5,2\ndone")
    assert talk.query.new_game and not talk.query.clear_tree


def test_hash_clear_waits_for_the_search_and_is_silent() -> None:
    talk = started()
    talk.say("BEGIN")
    assert talk.say("yxhashclear") == []
    talk.answer(0)
    talk.say("TURN 7,7")
    assert talk.query.clear_tree


def test_show_forbid() -> None:
    talk = started()
    assert talk.say("YXSHOWFORBID") == ["FORBID ."]
    talk.say("INFO rule 4\nYXBOARD\n7,5,1\n7,6,1\n5,7,1\n6,7,1\n0,0,2\n0,2,2\n0,4,2\n0,6,2\nDONE")
    assert talk.say("YXSHOWFORBID") == ["FORBID 0707."]


def test_realtime_marks_only_when_asked() -> None:
    talk = started()
    talk.say("BEGIN")
    assert not talk.query.wants_info
    talk.say("START 15\nINFO show_detail 1\nBEGIN")
    assert talk.query.wants_info
    from protocol.query import Progress

    searched = result(5, candidates=(move(5, 60), move(6, 30, "loss"), move(8, 0)))
    talk.conversation.progress(Progress(talk.query.token, searched))
    assert talk.take() == [
        "MESSAGE REALTIME REFRESH", "MESSAGE REALTIME POS 5,0", "MESSAGE REALTIME LOSE 6,0",
        "MESSAGE REALTIME BEST 5,0", "MESSAGE REALTIME VAL 60", "MESSAGE REALTIME PV f1 g1",
    ]
    talk.conversation.progress(Progress(talk.query.token, searched))
    talk.conversation.progress(Progress(talk.query.token - 1, searched))
    assert talk.take() == []


def test_pondering_is_silent_and_ends_with_the_next_command() -> None:
    talk = started()
    talk.say("INFO pondering 1\nBEGIN")
    talk.answer(0)
    ponder = talk.query
    assert ponder.kind == "ponder" and ponder.to_move == 1 and ponder.stones == ((0, 0),)
    assert talk.answer(5) == [] and not talk.conversation.thinking
    before = talk.worker.cancelled
    assert talk.say("TAKEBACK 0,0") == ["OK"] and talk.worker.cancelled == before + 1


# --- the end of input ---------------------------------------------------------------------------------------


def test_a_script_is_answered_at_once_to_its_end() -> None:
    talk = started()
    talk.say("INFO timeout_turn 60000\nBEGIN\nTURN 7,7")
    talk.conversation.answer_at_once()
    for n, answer in enumerate(["0,0", "1,0"]):
        again_s = talk.conversation.watch()
        assert talk.worker.hurried == n and again_s <= talk.worker.now + 0.1
        talk.worker.now = again_s
        talk.conversation.watch()
        assert talk.worker.hurried == n + 1 and talk.answer(n) == [answer]
    assert not talk.conversation.thinking


def test_abandon_drops_the_answer() -> None:
    talk = started()
    talk.say("BEGIN")
    talk.conversation.drop_queries()
    assert not talk.conversation.thinking and talk.answer(0) == []


# --- replies ------------------------------------------------------------------------------------------------


def test_no_line_is_empty_long_or_foreign() -> None:
    assert message("  ") is None
    assert len(message("x" * 1000) or "") < 250
    talk = Talk()
    (answer,) = talk.say("\x01" * 3000 + "é")
    assert answer.startswith("UNKNOWN ") and len(answer) < 250 and answer.isascii() and answer.isprintable()


def test_about_is_one_line_of_quoted_pairs() -> None:
    fields = dict(pair.split("=") for pair in Talk().say("ABOUT")[0].split(", "))
    assert fields["name"] == '"Tengen"' and all(v[0] == v[-1] == '"' for v in fields.values())


def test_version_is_that_of_the_package() -> None:
    import tomllib

    from protocol import __version__

    project = ROOT / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == __version__
