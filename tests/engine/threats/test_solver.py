"""The threat solver on small known positions; its exactness is a matter of test_solver_exact_*."""

from __future__ import annotations

import json
import random

import pytest

from engine.__main__ import main
from engine.commands.speed import hard_vcf
from engine.evaluator._backend import HashedBackend
from engine.rules._board import Board
from engine.rules.geometry import format_move, parse_moves
from engine.rules.rule import NET_RULES
from engine.search._tree import Tree
from engine.search.params import SearchParams
from engine.threats._solver import Solver, vcf_loop
from engine.threats.solution import Verdict

EMPTY_ROWS = " ........." * 4


def position(drawing: str, rule: int = 0, to_move: int = 0) -> Board:
    """Return a drawn board: X black, O white, # obstacle."""
    rows = drawing.split()
    board = Board(len(rows[0]), len(rows), rule)
    for point, cell in enumerate("".join(rows)):
        if cell == "#":
            board.block(point)
        elif cell != ".":
            board.place(point, "XO".index(cell))
    board.set_to_move(to_move)
    return board


def named(board: Board, points: tuple[int, ...]) -> list[str]:
    return [format_move(p, board.width) for p in points]


OPEN_THREE = """
    .........
    .........
    ..XXX....
    .........
    .........
    ....O.O..
    ....OO..O
    .........
    .........
"""


def test_an_open_three_wins_in_three_plies() -> None:
    solution = Solver().solve(position(OPEN_THREE))
    assert (solution.verdict, solution.distance, len(solution.pv)) == (Verdict.WIN, 3, 3)
    assert solution.defences == ()


def test_the_defences_to_an_open_three_are_the_moves_that_stop_it() -> None:
    board = position(OPEN_THREE, to_move=1)
    defences = Solver().solve(board, "vcf", attacker=0).defences
    assert {"b3", "f3"} < set(named(board, defences))  # and some where white gains time with a four
    for point in board.legal_points():
        board.place(point)
        stopped = Solver().solve(board, "vcf", attacker=0).verdict is Verdict.NONE
        board.undo()
        assert stopped == (point in defences), format_move(point, 9)


LATER_WINS = "f10k11h5j6l10j4i6j7j5i5h7g8f7h4k7g6g7e7f6h8f8f9j8k3f4f5h6i7k5k4i4k6l5"


def test_a_defence_that_loses_later_counts_in_the_longest() -> None:
    """Some moves of white stop the shortest win and lose by another one."""
    board = Board(15, 15, 0)
    for point in parse_moves(LATER_WINS, 15, 15):
        board.place(point)
    solver = Solver()
    threat = solver.solve(board, "vcf", attacker=0, nodes=300)
    assert threat.distance < threat.longest
    losing = [point for point in board.legal_points() if point not in threat.defences]
    for point in losing:
        board.place(point)
        after = solver.solve(board, "vcf")
        board.undo()
        assert after.verdict is Verdict.WIN and after.distance <= threat.longest, format_move(point, 15)


def test_a_call_that_was_stopped_leaves_the_solver_to_the_tree() -> None:
    counted = []
    for stopped in (False, True):
        solver = Solver(14)
        if stopped:
            solver.solve(position(OPEN_THREE), "vct", stop=lambda: True)
            solver.clear()
        board = Board(15, 15, 0)
        for point in parse_moves("h8g8i8i9j8j9k8", 15, 15):
            board.place(point)
        tree = Tree(SearchParams(), 8 << 20, solver)
        tree.set_root(board)
        tree.run(200, HashedBackend(1))
        counted.append((tree.solver_nodes, tree.signature()))
    assert counted[0] == counted[1]


def test_a_five_comes_before_everything() -> None:
    board = position("XXXX..... ......... ......... OOOO....." + EMPTY_ROWS)
    for colour, point in ((0, "e1"), (1, "e4")):
        solution = Solver().solve(board, attacker=colour)
        assert (solution.distance, named(board, solution.pv)) == (1, [point])


def test_a_five_of_the_defender_has_to_be_stopped() -> None:
    board = position("XXX...... ......... ......... OOOO....." + EMPTY_ROWS)
    assert Solver().solve(board).verdict is Verdict.NONE
    stops_with_a_double_four = ".X..X.... ..X.X.... ...XX.... OOOO....." + EMPTY_ROWS
    board = position(stops_with_a_double_four)
    solution = Solver().solve(board)
    assert (solution.distance, named(board, solution.pv)[0]) == (3, "e4")


@pytest.mark.parametrize(("rule", "distance"), [(0, 1), (1, 0), (4, 0), (8, 1), (9, 0)])
def test_an_overline_is_a_five_only_where_it_is(rule: int, distance: int) -> None:
    assert Solver().solve(position("XXX.XX..." + EMPTY_ROWS, rule)).distance == distance


@pytest.mark.parametrize(("rule", "distance"), [(0, 3), (1, 3), (4, 3), (8, 0), (9, 0)])
def test_one_stone_stops_both_fives_of_a_straight_four_between_stones_under_caro(
    rule: int, distance: int
) -> None:
    assert Solver().solve(position("O.XXX..O." + EMPTY_ROWS, rule)).distance == distance


@pytest.mark.parametrize(("rule", "distance"), [(0, 1), (1, 1), (8, 0), (9, 0)])
def test_a_five_between_two_stones_is_none_under_caro(rule: int, distance: int) -> None:
    assert Solver().solve(position("OXX.XXO.." + EMPTY_ROWS, rule)).distance == distance


FOUL_AT_E5 = """
    O...O....
    .O..X....
    ..O.X....
    ....X....
    OXXX.....
    .........
    .........
    .........
    .........
"""


def test_black_may_not_attack_with_a_double_four_under_renju() -> None:
    board = position(FOUL_AT_E5, 0)
    solution = Solver().solve(board)
    assert (solution.distance, named(board, solution.pv)[0]) == (3, "e5")
    board = position(FOUL_AT_E5, 4)
    assert board.is_forbidden(parse_moves("e5", 9, 9)[0])
    assert Solver().solve(board).verdict is Verdict.NONE


def test_white_wins_where_black_must_answer_on_a_forbidden_point() -> None:
    board = position(FOUL_AT_E5, 4)
    solution = Solver().solve(board, attacker=1)
    assert (solution.distance, named(board, solution.pv)[0]) == (3, "d4")
    assert "e5" not in named(board, solution.pv)[:2]
    assert Solver().solve(position(FOUL_AT_E5, 0), attacker=1).verdict is Verdict.NONE


DOUBLE_THREE = "h8a1i8c1j6o1j7o3"


@pytest.mark.parametrize(("rule", "verdict"), [(0, Verdict.WIN), (1, Verdict.WIN), (9, Verdict.WIN)])
def test_two_open_threes_at_once_win_by_vct_and_not_by_vcf(rule: int, verdict: Verdict) -> None:
    board = Board(15, 15, rule)
    for point in parse_moves(DOUBLE_THREE, 15, 15):
        board.place(point)
    solver = Solver()
    assert solver.solve(board, "vcf").verdict is Verdict.NONE
    solution = solver.solve(board, "vct")
    assert solution.verdict is verdict
    assert len(solution.pv) == solution.distance > 3
    for point in solution.pv:
        assert board.winner == 2
        board.place(point)
    assert board.winner == 0


def test_every_move_that_vct_rules_out_loses_to_it() -> None:
    board = Board(15, 15, 0)
    for point in parse_moves("g9f6g5k10g8i10j4i3f4n9e10", 15, 15):
        board.place(point)
    attacker = 1 - board.to_move
    assert Solver().solve(board, "vcf", attacker).verdict is Verdict.NONE
    solution = Solver(18).solve(board, "vct", attacker)
    assert solution.verdict is Verdict.WIN
    assert 0 < len(solution.defences) < 40
    rng = random.Random(4)
    for point in rng.sample([p for p in board.legal_points() if p not in solution.defences], 20):
        board.place(point)
        assert Solver(16).solve(board, "vct", attacker).verdict is Verdict.WIN
        board.undo()


def test_a_spent_budget_is_unknown_and_exhaustion_is_none() -> None:
    for board in hard_vcf():
        few = Solver().solve(board, nodes=50)
        assert few.verdict is Verdict.UNKNOWN
        assert 50 <= few.nodes <= 52
        assert (few.distance, few.pv) == (0, ())
    solver = Solver()
    verdicts = {solver.solve(hard_vcf()[2], nodes=n).verdict for n in (100, 1_000, 10_000_000)}
    assert verdicts == {Verdict.UNKNOWN, Verdict.NONE}


def test_a_question_can_be_stopped() -> None:
    board = hard_vcf()[0]
    before = (board.hash, board.stones(), board.to_move)
    for kind in ("vcf", "vct"):
        asked = Solver().solve(board, kind, nodes=10**9, stop=lambda: True)
        assert asked.verdict is Verdict.UNKNOWN
        solver = Solver()
        assert solver.solve(board, kind, nodes=10**9, stop=solver.stop).verdict is Verdict.UNKNOWN
    assert (board.hash, board.stones(), board.to_move) == before


def test_a_small_table_forgets_but_does_not_err() -> None:
    rng = random.Random(11)
    small, large = Solver(4), Solver(18)
    wins = 0
    for _ in range(150):
        board = Board(10, 9, rng.choice(NET_RULES))
        for point in rng.sample(range(90), rng.randrange(10, 40)):
            if point not in board.five_points(board.to_move):
                board.place(point)
        one, other = small.solve(board), large.solve(board)
        assert (one.verdict, one.distance) == (other.verdict, other.distance)
        wins += one.verdict is Verdict.WIN
        large.clear()
        assert large.solve(board) == other
    assert wins > 20


def test_memory_is_bounded_and_known() -> None:
    solver = Solver(10)
    assert solver.memory_bytes == 1024 * 16
    solver.solve(hard_vcf()[2], "vct", nodes=2_000)
    assert solver.memory_bytes <= 1024 * 48


def test_the_speed_loop_counts_placements() -> None:
    board = hard_vcf()[0]
    assert 20_000 <= vcf_loop(board, board.to_move, 20_000) < 20_010
    assert vcf_loop(Board(15, 15, 0), 0, 20_000) == 0


def test_bad_questions_are_refused() -> None:
    board = position(OPEN_THREE)
    for arguments in ({"kind": "vcx"}, {"attacker": 2}, {"nodes": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments)).replace("nodes", "budget")):
            Solver().solve(board, **arguments)
    for log2 in (3, 29):
        with pytest.raises(ValueError, match="table_log2"):
            Solver(log2)
    board = position("XXXX....." + EMPTY_ROWS)
    board.place(4)
    with pytest.raises(ValueError, match="over"):
        Solver().solve(board)


def test_solve_command_shows_verdict_line_and_defences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "h8a1i8c1j8e1"]) == 0
    shown = capsys.readouterr().out
    assert "black, vcf: win in 3 plies" in shown and "nodes" in shown
    assert main(["solve", "h8a1i8c1j8", "--attacker", "black", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["verdict"], facts["kind"], facts["distance"]) == ("win", "vcf", 3)
    assert set(facts["defences"]) == {"g8", "k8"}
    assert main(["solve", "h8h9", "--kind", "vcf"]) == 0
    assert "black, vcf: none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a1a2b1b2c1c2d1d2e1"], "black has won"),
        ([".....\nXXX..\n.....\n.....\n....."], "3 black and 0 white"),
        (["h8", "--nodes", "0"], "--nodes"),
        (["h8h8"], "taken"),
    ],
)
def test_solve_command_names_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_tactics_command_counts_by_theme(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"rule": 0, "width": 15, "height": 15, "distance": 3, "edge": False}
    won = {**entry, "moves": "h8a1i8c1j8e1", "to_move": 0, "goal": "win"}
    tactics = [
        {"id": "won", "theme": "vcf", **won, "good": "g8k8"},
        {"id": "impossible", "theme": "vcf", **won, "good": "o15"},
        {
            "id": "stop it", "theme": "defence", **entry, "moves": "h8a1i8o1j8", "to_move": 1, "goal": "hold",
            "good": "g8k8",
        },
    ]  # fmt: skip
    suite = tmp_path / "suite.jsonl"
    suite.write_text("\n".join(json.dumps(t) for t in tactics))
    run = ["tactics", "--suite", str(suite), "--net", "uniform", "--simulations", "30", "--time", "0"]
    assert main([*run, "--verbose"]) == 0
    shown = capsys.readouterr()
    assert "at 30 simulations:" in shown.out and "all          2/3 (66.7 %)" in shown.out
    assert "vcf          1/2" in shown.out and "defence      1/1" in shown.out
    assert "not solved: impossible" in shown.err
    for wrong in ({"id": "x"}, {**tactics[0], "good": "h8"}, {**tactics[0], "good": ""}):
        suite.write_text(json.dumps(tactics[0]) + "\n" + json.dumps(wrong))
        assert main(run) == 1
        assert "line 2" in capsys.readouterr().err


def test_a_win_is_told_with_its_first_move_however_early_the_call_was_stopped() -> None:
    # Long enough that the stop comes between the proof and its line; the tables are too small to remember it.
    moves = "b1 a2 a3 c3 e1 f3 d2 b2 g3 f4 f1 a1 a5 g2 e5 a4 a6 g6 c5 i6"
    board = Board(11, 11, 1)
    for point in parse_moves(moves, 11, 11):
        board.place(point)
    whole = Solver(4).solve(board, "vcf", None, 1_000_000)
    assert whole.verdict == Verdict.WIN and len(whole.pv) == whole.distance
    cut_short = 0
    for asked in range(8):
        left = asked

        def stop() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        solution = Solver(4).solve(board, "vcf", None, 1_000_000, stop)
        if solution.verdict == Verdict.WIN:
            cut_short += len(solution.pv) < solution.distance
            assert solution.pv and solution.pv[0] == whole.pv[0]
    assert cut_short > 0, "no call was stopped in time"
