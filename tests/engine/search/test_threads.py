"""Several threads search one tree."""

from __future__ import annotations

import _thread
from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.cores import usable_cores
from engine.errors import ConfigError
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.lines import LineEvaluator
from engine.evaluator.make import load_net, net_path
from engine.resources import Resources
from engine.rules._board import EMPTY, Board
from engine.search import threads as search_threads
from engine.search._threads import Helper, begin_threads, end_threads, thread_counters
from engine.search._tree import PROVEN_WIN, Tree
from engine.search.mcts import Search
from engine.search.params import SearchParams
from engine.search.root_solver import RootSolver
from engine.search.stoppers import NodeLimit, SearchState
from engine.threats._solver import Solver
from engine.timing.clock import SystemClock
from tests.helpers.search import put
from tests.threads import search_randomly

SMALL = SearchParams(solver_table_log2=8, seed=1)


def test_trees_are_sound_after_random_searches() -> None:
    happened = search_randomly(80, seed=5, longest=1500)
    assert happened["simulations"] > 80
    assert happened["collisions"] > 0


def test_memory_is_freed_while_others_search() -> None:
    search = Search(SMALL, 1 << 20, threads=4)
    board = Board(15, 15, 0)
    result = search.search(board, HashedEvaluator(1), [NodeLimit(12_000)])
    search.tree.check()
    assert result.visits > search.tree.nodes  # some were freed
    assert result.simulations >= 12_000


@pytest.mark.parametrize("threads", [2, 5])
def test_a_limit_of_simulations_holds_for_all_threads_together(threads: int) -> None:
    search = Search(SMALL, 16 << 20, threads=threads)
    for limit in (1, 50, 333):
        search.clear()
        result = search.search(Board(15, 15, 0), HashedEvaluator(2), [NodeLimit(limit)])
        assert limit <= result.simulations < limit + threads


def test_a_proven_root_ends_all_threads() -> None:
    board = put(Board(15, 15, 0), "7,7 0,0 8,7 0,2 9,7 0,4")
    search = Search(SMALL, 16 << 20, threads=4)
    result = search.search(board, HashedEvaluator(2), [NodeLimit(100_000)])
    assert result.proven == "win" and search.tree.proven == PROVEN_WIN
    assert search.helpers.join(30)
    search.tree.check()


def test_threads_evaluate_different_leaves() -> None:
    search = Search(SMALL, 64 << 20, threads=4)
    result = search.search(Board(15, 15, 0), HashedEvaluator(3), [NodeLimit(4000)])
    assert search.helpers.join(30)
    counters = thread_counters(search.tree)
    assert counters["duplicates"] <= 0.01 * result.evaluations
    assert counters["locks"] >= result.simulations
    assert search.tree.nodes >= result.evaluations


def test_nothing_virtual_is_left_in_the_tree() -> None:
    """Visits of the root are the simulations done, those of its edges add up to them."""
    search = Search(SMALL, 64 << 20, threads=8)
    result = search.search(Board(9, 9, 0), HashedEvaluator(3), [NodeLimit(2000)])
    assert result.visits == result.simulations
    assert sum(move.visits for move in result.candidates) == result.visits - 1


def test_a_helper_that_never_gets_a_core_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(_thread, "start_new_thread", lambda function, arguments: started.append(function))
    search = Search(SMALL, 16 << 20, threads=2)
    board, evaluator = Board(9, 9, 0), HashedEvaluator(4)
    for searches in (1, 2, 3):
        result = search.search(board, evaluator, [NodeLimit(200)])
        assert board.cell(result.point) == EMPTY
        assert len(started) == min(searches, 2)  # the first two are busy; there are never more
        board.place(result.point)
    assert not search.helpers.join(0)
    before = search.tree.signature()
    for run in started:
        run()  # type: ignore[operator]
    assert search.helpers.join(0)
    assert search.tree.signature() == before


def test_a_running_search_can_get_fewer_threads() -> None:
    search = Search(SMALL, 16 << 20, threads=4)

    class Fewer:
        """Takes all helpers away, and waits until they have ended."""

        def should_stop(self, state: SearchState) -> str | None:
            search.threads = 1
            if state.simulations < 400:
                return None
            return "fewer" if search.helpers.join(30) else "stuck"

    result = search.search(Board(9, 9, 0), HashedEvaluator(4), [Fewer()])
    assert result.stop_reason == "fewer"
    search.tree.check()


def test_threads_that_cannot_be_started_are_fewer_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: object, arguments: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    said: list[str] = []
    search = Search(SMALL, 16 << 20, threads=3, log=said.append)
    result = search.search(Board(9, 9, 0), HashedEvaluator(4), [NodeLimit(100)])
    assert result.simulations == 100
    assert said == ["the system starts no more threads: searching with 1, not 3"]
    assert search.helpers.join(0)


def test_a_helper_serves_one_search_of_its_own_tree_at_a_time() -> None:
    board = Board(9, 9, 0)
    backend = HashedEvaluator(4).backend
    tree, other = Tree(SMALL), Tree(SMALL)
    tree.set_root(board)
    other.set_root(board)
    helper = Helper(tree, backend)
    with pytest.raises(ValueError, match="another tree"):
        begin_threads(other, [helper])
    begin_threads(tree, [helper])
    with pytest.raises(ValueError, match="begun already"):
        begin_threads(tree, [helper])
    end_threads(tree)
    with pytest.raises(ValueError, match="busy"):
        begin_threads(tree, [helper])
    helper.run()
    assert not helper.busy


def test_a_line_net_gives_the_same_to_every_thread() -> None:
    evaluator = load_net(net_path("default"))
    assert isinstance(evaluator, LineEvaluator)
    own = evaluator.backend.for_thread()
    assert own is not None
    board = put(Board(15, 15, 0), "7,7 8,8 6,7")
    from engine.encoding import encode

    for backend in (own, evaluator.backend, own):
        policy, wdl = backend.evaluate(encode(board), board.hash)
        expected, chances = evaluator.backend.evaluate(encode(board), board.hash)
        assert (policy == expected).all() and (wdl == chances).all()
    assert 200_000 < evaluator.backend.thread_bytes(225) < 8 << 20


def resources(said: list[str], **settings: object) -> Resources:
    config = EngineConfig(net="uniform", **settings)  # type: ignore[arg-type]
    return Resources(config, 1, SystemClock(), None, said.append)


def test_more_threads_than_cores_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.resources.usable_cores", lambda: 3)
    said: list[str] = []
    made = resources(said, threads=16)
    assert made.search.threads == 3
    assert said == ["threads: 16 are more than the 3 cores that this process may use; searching with 3"]
    assert made.set_threads(16) == said[0] and len(said) == 1
    assert made.set_threads(2) is None and made.search.threads == 2
    made.limit_threads(1)
    assert made.search.threads == 1
    made.limit_threads(8)
    assert made.search.threads == 2


def test_an_evaluator_called_from_python_searches_with_one_thread() -> None:
    from engine.commands.bench import _PythonHashed

    said: list[str] = []
    made = Resources(EngineConfig(threads=2), 1, SystemClock(), _PythonHashed(1), said.append)
    assert made.search.threads == 1
    assert said == ["this net searches with one thread, not 2: it is called from Python"]


def test_what_threads_need_counts_against_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.resources.usable_cores", lambda: 8)
    made = resources([], memory_bytes=8 << 30)  # the process of a whole suite takes more than a brain
    alone = made.search.tree.memory_bytes
    made.set_threads(8)
    assert alone - made.search.tree.memory_bytes >= 7 * (40 << 16)


@pytest.mark.parametrize("threads", ["0", "-1", "129", "two", ""])
def test_a_wrong_number_of_threads_is_refused(threads: str) -> None:
    with pytest.raises(ConfigError, match="threads"):
        EngineConfig.from_mapping({"threads": threads})


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 4),
        ({"cpu.max": "max 100000"}, 4),
        ({"cpu.max": "200000 100000"}, 2),
        ({"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, 2),
        ({"a/b/cpu.max": "20000 100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/a/b/cpu.cfs_quota_us": "-1", "cpu/a/b/cpu.cfs_period_us": "100000"}, 4),
    ],
)
def test_usable_cores_follow_the_quotas(
    files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    own = tmp_path / "own"
    own.write_text("0::/a/b\n")
    assert usable_cores(tmp_path, own) == cores


def test_threads_module_never_waits_for_a_start() -> None:
    """`threading.Thread.start` would: it returns once the thread has had a core."""
    source = Path(search_threads.__file__).read_text(encoding="utf-8")
    assert "start_new_thread" in source and "threading" not in source


def test_the_root_solver_does_nothing_if_the_best_move_was_checked_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = Board(9, 9, 0)
    tree, solver = Tree(SMALL), Solver(8)
    tree.set_root(board)
    tree.run(50, HashedEvaluator(1).backend)
    root_solver = RootSolver(solver, tree, board, 1000)
    root_solver._queries.clear()
    assert root_solver.due(50)
    monkeypatch.setattr(root_solver, "_next_check", lambda: (3, 0))
    root_solver.step(lambda: False)
