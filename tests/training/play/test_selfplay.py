"""Self-play games: legal, truthful, repeatable, and safe on disk."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from engine.encoding import N_PLANES
from engine.evaluator.base import Evaluator
from engine.evaluator.hashed import HashedEvaluator
from engine.rules._board import EMPTY, Board
from engine.rules.rule import NET_RULES
from engine.search._tree import PROVEN_DRAW, PROVEN_LOSS, PROVEN_NONE, PROVEN_WIN, SOLVED
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from tests.helpers.older_records import older_journal, older_shard
from training.data.journal import Journal, read_journal, recover_journals
from training.data.records import DRAW, End, Flag, SelfPlayRecord
from training.data.shards import list_shards, read_shard
from training.measure import batched_match
from training.measure.batched_match import MatchPlayer, MatchSpec, play_batched
from training.play.batch import LeafBatch
from training.play.evaluators import HandMadeEvaluator, TorchEvaluator, load_evaluator, save_weights
from training.play.game import Counters, SelfPlayGame
from training.play.groups import BATCH_ROUNDS, KERNEL_ROUNDS, GameGroups
from training.play.regret import Mistakes
from training.settings.play import Mix, OpeningConfig, PlayConfig

QUICK = PlayConfig(simulations=12, fast_simulations=6, full_share=0.6)
ALL_RULES = tuple((rule, 1.0) for rule in NET_RULES)


def games_of(
    seed: int, positions: int, sizes=((9, 9, 1.0),), rules=ALL_RULES, config=QUICK, net="tactical", games=8
) -> list[SelfPlayRecord]:
    play = GameGroups(config, games, seed)
    play.use(load_evaluator(net))
    play.play(Mix(sizes, rules), positions, lambda: False)
    return play.finished


def as_bytes(game: SelfPlayRecord) -> tuple[object, ...]:
    return (
        game.rule, game.width, game.moves.tobytes(), game.winner, game.end, game.flags.tobytes(),
        game.root_wl.tobytes(), game.points.tobytes(), game.weights.tobytes(), game.seed,
    )  # fmt: skip


@pytest.fixture(scope="module")
def mixed() -> list[SelfPlayRecord]:
    return games_of(3, 3000, sizes=((9, 9, 2.0), (7, 7, 1.0), (11, 8, 1.0)))


def test_games_are_legal_and_results_true(mixed):
    assert len(mixed) > 40 and {g.rule for g in mixed} == {0, 1, 4, 8, 9}
    ends = Counter(g.end for g in mixed)
    assert ends[End.PROVEN] > 20
    for game in mixed:
        board = Board(game.width, game.height, game.rule)
        for point in game.moves.tolist():
            assert board.winner == EMPTY and board.cell(point) == EMPTY
            assert not board.is_forbidden(point, board.to_move)
            board.place(point)
        if game.end == End.FIVE:
            assert board.winner == game.winner
        else:
            assert board.winner == EMPTY
        if game.end == End.BOARD_FULL:
            assert board.n_empty == 0 and game.winner == DRAW


def test_targets_lie_on_legal_points_of_their_own_position(mixed):
    seen = 0
    for game in mixed:
        board = Board(game.width, game.height, game.rule)
        for ply in range(game.opening + game.positions):
            i = ply - game.opening
            if i >= 0:
                points, weights = game.policy(i)
                assert (len(points) > 0) == bool(game.flags[i] & Flag.FULL)
                if len(points):
                    assert set(points.tolist()) <= set(board.legal_points())
                    assert weights.sum() == pytest.approx(1, abs=1e-5)
                    seen += 1
            if ply < len(game.moves):
                board.place(int(game.moves[ply]))
    assert seen > 1000


def test_outcomes_alternate_and_keep_proofs(mixed):
    for game in mixed:
        z = game.z()
        unproven = (game.flags & (Flag.PROVEN_WIN | Flag.PROVEN_LOSS | Flag.PROVEN_DRAW)) == 0
        to_move = (game.opening + np.arange(game.positions)) % 2
        expected = np.where(to_move == game.winner, 1, -1) if game.winner != DRAW else np.zeros(len(z))
        assert np.array_equal(z[unproven], expected[unproven])
        assert np.array_equal(z, expected), "a proof at the end is the result"


def test_a_proof_ends_the_game_and_names_the_winner(mixed):
    solver = Solver(16)
    checked = 0
    for game in mixed:
        if game.end != End.PROVEN or not game.flags[-1] & Flag.PROVEN_WIN:
            continue
        board = Board(game.width, game.height, game.rule)
        for point in game.moves.tolist():
            board.place(point)
        assert game.winner == board.to_move
        assert game.positions == len(game.moves) - game.opening + 1
        solution = solver.solve(board, "vct", nodes=300_000)
        if solution.verdict == Verdict.WIN:
            checked += 1
            (point,), _ = game.policy(game.positions - 1)
            board.place(int(point))
            if board.winner == EMPTY:
                assert board.five_points(1 - board.to_move) or board.legal_points()
    assert checked > 10


DECIDED = [
    (PROVEN_WIN, Flag.PROVEN_WIN, 1),
    (PROVEN_LOSS, Flag.PROVEN_LOSS, -1),
    (PROVEN_DRAW, Flag.PROVEN_DRAW, 0),
]


@pytest.mark.parametrize(("proven", "flag", "outcome"), DECIDED)
def test_a_root_that_is_decided_ends_the_game_for_both_sides(proven, flag, outcome):
    records: list[SelfPlayRecord] = []
    game = SelfPlayGame(
        QUICK, (9, 9), lambda: (4, 0), records.append, Solver(10), Counters(), lambda: "n", Mistakes()
    )
    batch, evaluator = LeafBatch(1, 9, 9), HashedEvaluator(2)
    while game._builder is None or len(game._builder._positions) < 2:
        batch.step([game], evaluator, rounds=1)
    mover, played = game.board.to_move, game.board.ply
    game.tree.prove(proven, 8, game.board.legal_points()[0])
    game.advance(SOLVED)
    (record,) = records
    assert record.end == End.PROVEN and len(record.moves) == played
    assert record.winner == (DRAW if outcome == 0 else mover if outcome == 1 else 1 - mover)
    assert record.flags[-1] & flag
    assert record.z()[-2:].tolist() == [-outcome, outcome]


def test_wins_by_threes_at_the_root_end_games():
    """Behind no searched position that a solver with the same budget would have ended does a game go on."""
    solver, ends = Solver(16), Counter()
    for nodes in (0, 3000):
        config = PlayConfig(simulations=12, fast_simulations=6, full_share=0.6, root_vct_nodes=nodes)
        for game in games_of(5, 1200, config=config):
            board = Board(game.width, game.height, game.rule)
            for i, point in enumerate(game.moves.tolist()):
                if i > game.opening:
                    answer = solver.solve(board, "vct", nodes=1000)
                    ends[nodes, "passed by"] += answer.verdict is Verdict.WIN and answer.distance > 7
                board.place(point)
    assert ends[0, "passed by"] > 10
    assert ends[3000, "passed by"] < ends[0, "passed by"] / 5  # tables differ, so not quite none


def test_sizes_follow_their_weights(mixed):
    moves = Counter()
    for game in mixed:
        moves[game.width, game.height] += game.positions
    total = sum(moves.values())
    assert moves[9, 9] / total == pytest.approx(0.5, abs=0.12)
    assert moves[7, 7] / total == pytest.approx(0.25, abs=0.12)


def test_sizes_follow_their_weights_in_tasks_of_any_length():
    play = GameGroups(QUICK, 4, 3)
    play.use(load_evaluator("tactical"))
    mix = Mix(((9, 9, 2.0), (7, 7, 1.0), (5, 5, 1.0)), ALL_RULES)
    done = Counter()
    for _ in range(60):
        before = {size: group.counters.moves for (size, _), group in play._groups.items()}
        play.play(mix, 2, lambda: False)
        for (size, _), group in play._groups.items():
            done[size[0]] += group.counters.moves - before.get(size, 0)
    total = sum(done.values())
    assert {side: n / total for side, n in done.items()} == pytest.approx({9: 0.5, 7: 0.25, 5: 0.25}, abs=0.1)


def test_same_seed_same_games_other_seed_other_games():
    first, again, other = (games_of(seed, 500) for seed in (5, 5, 6))
    assert len(first) > 5
    assert [as_bytes(g) for g in first] == [as_bytes(g) for g in again]
    assert not {as_bytes(g)[2] for g in first} & {as_bytes(g)[2] for g in other}


def test_stopping_and_going_on_changes_nothing():
    whole = games_of(5, 600)
    play = GameGroups(QUICK, 8, 5)
    play.use(HandMadeEvaluator("tactical"))
    for _ in range(3):
        play.play(Mix(((9, 9, 1.0),), ALL_RULES), 190, lambda: False)
    n = min(len(whole), len(play.finished))
    assert n > 5
    assert [as_bytes(g) for g in whole[:n]] == [as_bytes(g) for g in play.finished[:n]]


def test_every_move_of_a_full_search_is_explored():
    """Without noise the same position gives the same move; with it games from one position differ early."""
    config = PlayConfig(simulations=12, full_share=1.0, opening=OpeningConfig(max_stones=0))
    games = games_of(1, 800, config=config, rules=((0, 1.0),))
    assert all(game.opening == 0 for game in games)
    for ply in range(4):
        assert len({tuple(game.moves[: ply + 1]) for game in games}) > ply + 1


def test_playout_cap_mixes_full_and_fast_searches(mixed):
    flags = np.concatenate([g.flags for g in mixed])
    assert 0.45 < ((flags & Flag.FULL) != 0).mean() < 0.8
    everything = games_of(2, 300, config=PlayConfig(simulations=8, full_share=1.0))
    flags = np.concatenate([g.flags for g in everything])
    assert (flags & (Flag.FULL | Flag.PROVEN_LOSS | Flag.PROVEN_DRAW)).astype(bool).mean() > 0.7


class Lopsided(HandMadeEvaluator):
    """Thinks that black wins everything."""

    def evaluate(self, planes, keys):
        policy, wdl = super().evaluate(planes, keys)
        wdl[:] = np.where(planes[:, 16, :1, 0] > 0, [[0.9, 0.05, 0.05]], [[0.05, 0.05, 0.9]])
        return policy, wdl


def test_lopsided_openings_are_rejected_but_not_for_ever():
    play = GameGroups(PlayConfig(simulations=8, opening=OpeningConfig(tries=3)), 4, 1)
    play.use(Lopsided("tactical"))
    counters = play.play(Mix(((9, 9, 1.0),), ((0, 1.0),)), 300, lambda: False)
    assert counters.games > 2
    assert counters.rejected >= 3 * counters.games
    for game in play.finished:
        first = game.root_wdl()[0]
        # The side to move: black sees a win, white a loss; the record keeps this point of view.
        assert (first[0] > first[2]) == (game.opening % 2 == 0)


def test_proven_subtrees_keep_batches_full():
    """Simulations that end without the net are followed by others in the same step."""
    play = GameGroups(QUICK, 16, 1)
    play.use(HandMadeEvaluator("tactical"))
    counters = play.play(Mix(((9, 9, 1.0),), ((0, 1.0),)), 600, lambda: False)
    assert counters.evaluations < counters.simulations
    group = next(iter(play._groups.values()))
    for _ in range(20):
        assert group._batch.step(group.games, HandMadeEvaluator("tactical")) == 16


def test_a_journal_survives_a_kill(tmp_path):
    games = games_of(1, 300)[:4]
    journal = Journal(tmp_path / "000001-00.journal")
    for game in games:
        journal.add(game)
    data = (tmp_path / "000001-00.journal").read_bytes()
    (tmp_path / "000001-00.journal").write_bytes(data[:-7])  # the last game was being written
    kept = [as_bytes(g) for g in games[:3]]
    said: list[object] = []
    assert [as_bytes(g) for g in read_journal(tmp_path / "000001-00.journal", said.append)] == kept
    assert recover_journals(tmp_path, said.append) == 3
    assert recover_journals(tmp_path, said.append) == 0
    assert said == [], "what a kill cut off is no damage"
    (shard,) = list_shards(tmp_path)
    assert [as_bytes(g) for g in read_shard(shard)] == kept


def test_a_journal_of_release_0_1_0_becomes_a_shard(tmp_path):
    games = games_of(1, 300)[:3]
    path = tmp_path / "000001-00.journal"
    path.write_bytes(older_journal(games)[:-7])
    assert recover_journals(tmp_path, pytest.fail) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["000001-00-recovered.shard"]
    path.write_bytes(older_journal(games))
    (tmp_path / "000001-00.shard").write_bytes(older_shard(games))
    assert recover_journals(tmp_path, pytest.fail) == 0, "a kill left both"
    assert not path.exists()


def test_a_sealed_journal_takes_the_place_of_no_shard(tmp_path):
    """A run that is killed before it counts a cycle plays it again."""
    games = games_of(1, 300)[:3]
    for game in games:
        journal = Journal(tmp_path / "000001-00.journal")
        journal.add(game)
        journal.seal()
    assert [path.name for path in list_shards(tmp_path)] == [
        "000001-00-2.shard", "000001-00-3.shard", "000001-00.shard"
    ]  # fmt: skip
    kept = {as_bytes(read_shard(path)[0]) for path in list_shards(tmp_path)}
    assert kept == {as_bytes(game) for game in games}
    Journal(tmp_path / "000002-00.journal").seal()
    assert len(list(tmp_path.iterdir())) == 3, "one without games leaves nothing"


def test_torch_evaluator_answers_like_the_net_without_a_graph(tmp_path):
    torch = pytest.importorskip("torch")
    from training.net.network import Network
    from training.settings.schema import NetConfig

    network = Network(NetConfig(blocks=1, channels=8))
    save_weights(network, tmp_path / "x.pt", "x-1")
    evaluator = load_evaluator(str(tmp_path / "x.pt"), "cpu")
    assert isinstance(evaluator, TorchEvaluator) and evaluator.name == "x-1"
    planes = (np.random.default_rng(1).random((5, N_PLANES, 9, 9)) < 0.1).astype(np.float32)
    policy, wdl = evaluator.evaluate(planes, np.zeros(5, np.uint64))
    with torch.inference_mode():
        heads = network.eval()(torch.from_numpy(planes))
    assert policy.shape == (5, 81) and np.abs(policy - heads.policy.numpy()).max() < 0.1
    assert policy.flags.c_contiguous and wdl.flags.c_contiguous  # or the kernel refuses them
    assert wdl.sum(1) == pytest.approx(np.ones(5), abs=1e-5)
    assert not evaluator._network.training
    assert not any(p.requires_grad for p in evaluator._network.parameters())


def test_the_arena_is_fair_and_sees_strength():
    uniform = MatchPlayer("u", "uniform", 16)
    spec = MatchSpec(MatchPlayer("t", "tactical", 32), uniform, 9, 9, 0, pairs=8)
    result = play_batched(spec)
    assert [len(pair) for pair in result.pairs] == [2] * 8
    assert sum(map(sum, result.pairs)) > 11
    assert result.depth["t"] > 1
    again = play_batched(spec)
    assert again.pairs == result.pairs
    back = play_batched(MatchSpec(uniform, spec.a, 9, 9, 0, pairs=8))
    assert sum(map(sum, back.pairs)) < 5
    dumb = play_batched(MatchSpec(uniform, MatchPlayer("r", "random"), 7, 7, 4, pairs=3))
    assert sum(map(sum, dumb.pairs)) == 6


def test_halves_of_an_arena_make_the_whole():
    player = MatchPlayer("u", "uniform", 8)
    other = MatchPlayer("r", "rollouts:30")
    whole = play_batched(MatchSpec(player, other, 7, 7, 0, pairs=4))
    parts = [play_batched(MatchSpec(player, other, 7, 7, 0, pairs=2, first_pair=k)) for k in (0, 2)]
    assert whole.plies > 0 and len(parts[0].pairs + parts[1].pairs) == 4
    assert parts[0].pairs == whole.pairs[:2]


def test_a_batch_without_wishes_does_nothing():
    assert LeafBatch(2, 7, 7).step([], HandMadeEvaluator("uniform")) == 0


class WithoutBackend:
    """Another evaluator, to be asked in batches."""

    backend = None

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def __getattr__(self, name: str) -> object:
        return getattr(self._evaluator, name)


def test_a_game_is_the_same_in_a_batch_and_in_the_kernel():
    def games(evaluator: Evaluator) -> dict[int, tuple[object, ...]]:
        play = GameGroups(QUICK, 1, 11)
        play.use(evaluator)
        play.play(Mix(((9, 9, 1.0),), ALL_RULES), 700, lambda: False)
        return {game.seed: as_bytes(game) for game in play.finished}

    kernel, batches = games(HashedEvaluator(4)), games(WithoutBackend(HashedEvaluator(4)))
    both = kernel.keys() & batches.keys()
    assert len(both) > 20
    assert all(kernel[seed] == batches[seed] for seed in both)


def test_evaluations_are_counted_and_bounded_in_the_kernel_too():
    play = GameGroups(QUICK, 3, 1)
    play.use(HashedEvaluator(1))
    play.play(Mix(((9, 9, 1.0),), ALL_RULES), 1, lambda: False)
    group = next(iter(play._groups.values()))
    counters, evaluator = group.counters, HashedEvaluator(1)
    assert LeafBatch(3, 9, 9).step(group.games, evaluator, rounds=5) == 15
    before = counters.evaluations
    group.step(evaluator)
    assert counters.evaluations - before == 3 * KERNEL_ROUNDS
    before = counters.evaluations
    group.step(WithoutBackend(evaluator))
    assert counters.evaluations - before == 3 * BATCH_ROUNDS


class OneRoot:
    """What a batched match asks of a tree when it chooses a move."""

    proven, has_root = PROVEN_NONE, True

    def __init__(self, visits: list[int], proven: list[int]) -> None:
        self._visits, self._proven = visits, proven

    def moves(self) -> np.ndarray:
        return np.arange(10, 10 + len(self._visits))

    def edge_visits(self) -> np.ndarray:
        return np.array(self._visits)

    def edge_proven(self) -> np.ndarray:
        return np.array(self._proven)

    def priors(self) -> np.ndarray:
        return np.full(len(self._visits), 0.1)


def test_the_arena_does_not_play_what_is_proven_to_lose():
    searching = batched_match._Searching(OneRoot([50, 3, 20], [PROVEN_LOSS, PROVEN_NONE, PROVEN_NONE]))
    assert searching.point() == 12
    assert batched_match._Searching(OneRoot([50, 3, 20], [PROVEN_NONE] * 3)).point() == 10


def test_every_game_draws_its_own_noise():
    config = PlayConfig(simulations=8, fast_simulations=4)
    first, second = (
        SelfPlayGame(
            config, (9, 9), lambda seed=seed: (seed, 0), lambda _: None, Solver(10), Counters(), lambda: "n",
            Mistakes(),
        )
        for seed in (1, 2)
    )
    assert first._rng.random() != second._rng.random()
