"""Losses against numbers worked out by hand."""

import math

import pytest
import torch

from engine.encoding import N_PLANES, encode
from engine.rules._board import Board
from training.learn.losses import Targets, compute, playable, policy_cross_entropy
from training.net.network import Heads
from training.settings.schema import LossConfig

ALL = torch.ones(1, 4, dtype=torch.bool)


def test_cross_entropy_takes_logits_not_chances():
    logits = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    target = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    expected = -math.log(math.exp(2) / (math.exp(2) + 3))
    loss, count = policy_cross_entropy(logits, target, ALL)
    assert float(loss) == pytest.approx(expected, abs=1e-6)
    assert int(count) == 1
    sharp, _ = policy_cross_entropy(logits * 20, target, ALL)
    assert float(sharp) < 1e-6  # a softmax in front would stop at 0.74


def test_points_that_may_not_be_played_take_no_part():
    allowed = torch.tensor([[True, True, False, True]])
    logits = torch.tensor([[0.0, 0.0, 50.0, 0.0]], requires_grad=True)
    target = torch.tensor([[0.5, 0.0, 0.5, 0.0]])  # half of it on a forbidden point: normalised away
    loss, _ = policy_cross_entropy(logits, target, allowed)
    assert loss.item() == pytest.approx(math.log(3), abs=1e-6)
    loss.backward()
    assert float(logits.grad[0, 2]) == 0
    assert float(logits.grad[0, 0]) < 0 < float(logits.grad[0, 1])


def test_rows_without_a_target_do_not_count():
    logits = torch.randn(3, 4)
    target = torch.tensor([[0.0] * 4, [0.0, 1.0, 0.0, 0.0], [0.0] * 4])
    loss, count = policy_cross_entropy(logits, target, ALL.expand(3, 4))
    alone, _ = policy_cross_entropy(logits[1:2], target[1:2], ALL)
    assert float(loss) == pytest.approx(float(alone))
    assert int(count) == 1
    nothing, _ = policy_cross_entropy(logits, torch.zeros(3, 4), ALL.expand(3, 4))
    assert float(nothing) == 0


def test_playable_follows_stones_obstacles_and_forbidden_points():
    board = Board(9, 9, 4)
    for x, y in ((4, 3), (4, 5), (3, 4), (5, 4)):  # black crosses at (4, 4): a double three
        board.place(y * 9 + x, 0)
    board.block(0)
    board.set_to_move(0)
    mine, free = playable(torch.from_numpy(encode(board))[None])
    assert board.forbidden_points() == [40]
    assert sorted(torch.nonzero(mine[0])[:, 0].tolist()) == board.legal_points()
    assert bool(free[0, 40])
    assert not bool(free[0, 0])
    board.set_to_move(1)
    white, _ = playable(torch.from_numpy(encode(board))[None])
    assert bool(white[0, 40])  # forbidden to black only


def heads(wdl: list[float], policy: list[float] | None = None) -> Heads:
    p = torch.tensor([policy or [0.0] * 4])
    return Heads(p, p.clone(), p.clone(), torch.tensor([wdl]))


def planes_2x2() -> torch.Tensor:
    planes = torch.zeros(1, N_PLANES, 2, 2)
    planes[:, 0] = 1
    return planes


def test_value_target_mixes_result_and_search():
    policy = torch.tensor([[0.0, 1.0, 0.0, 0.0]])
    targets = Targets(
        policy, torch.zeros(1, 4), torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.2, 0.4, 0.4]])
    )
    logits = [math.log(0.5), math.log(0.3), math.log(0.2)]
    config = LossConfig(root_mix=0.25, value=1, reply=0, soft=0)
    loss, parts = compute(heads(logits), planes_2x2(), targets, config)
    expected = -(0.8 * math.log(0.5) + 0.1 * math.log(0.3) + 0.1 * math.log(0.2))
    assert float(parts["value"]) == pytest.approx(expected, abs=1e-6)
    assert float(parts["policy"]) == pytest.approx(math.log(4), abs=1e-6)
    assert float(parts["policy_kl"]) == pytest.approx(math.log(4), abs=1e-6)
    assert float(loss) == pytest.approx(expected + math.log(4), abs=1e-6)


def test_a_power_sharpens_the_searched_value_but_not_the_result():
    targets = Targets(
        torch.full((1, 4), 0.25), torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 0.0]]),
        torch.tensor([[0.6, 0.0, 0.2]]),
    )  # fmt: skip
    h = heads([math.log(0.5), math.log(0.3), math.log(0.2)])
    config = LossConfig(root_mix=0.5, root_power=2, value=1, reply=0, soft=0)
    # 0.36 and 0.04 to a sum of 1
    expected = -(0.45 * math.log(0.5) + 0.5 * math.log(0.3) + 0.05 * math.log(0.2))
    assert float(compute(h, planes_2x2(), targets, config)[1]["value"]) == pytest.approx(expected, abs=1e-6)


def test_a_win_for_the_side_to_move_pulls_its_chance_up():
    targets = Targets(
        torch.zeros(1, 4), torch.zeros(1, 4), torch.tensor([[1.0, 0, 0]]), torch.tensor([[1.0, 0, 0]])
    )
    h = heads([0.0, 0.0, 0.0])
    h.wdl.requires_grad_(True)
    compute(h, planes_2x2(), targets, LossConfig())[0].backward()
    win, draw, loss = h.wdl.grad[0].tolist()
    assert win < 0 < draw
    assert loss == pytest.approx(draw)


def test_soft_target_is_flatter():
    policy = torch.tensor([[0.9, 0.1, 0.0, 0.0]])
    targets = Targets(policy, torch.zeros(1, 4), torch.tensor([[0.0, 1, 0]]), torch.tensor([[0.0, 1, 0]]))
    soft = torch.tensor([0.9, 0.1]).pow(0.25)
    soft = soft / soft.sum()
    logits = [0.3, -0.2, 0.1, 0.0]
    log_p = torch.log_softmax(torch.tensor(logits), 0)[:2]
    _, parts = compute(heads([0.0] * 3, logits), planes_2x2(), targets, LossConfig(soft_power=0.25))
    assert float(parts["soft"]) == pytest.approx(float(-(soft * log_p).sum()), abs=1e-6)
    assert float(parts["target_entropy"]) == pytest.approx(
        -(0.9 * math.log(0.9) + 0.1 * math.log(0.1)), abs=1e-6
    )


def test_explained_variance_is_one_for_a_perfect_value():
    z = torch.tensor([[1.0, 0, 0], [0, 0, 1.0]])
    targets = Targets(torch.zeros(2, 4), torch.zeros(2, 4), z, z)
    p = torch.zeros(2, 4)
    for sign, expected in ((1, 1.0), (-1, -3.0)):
        wdl = torch.tensor([[20.0 * sign, 0, -20 * sign], [-20.0 * sign, 0, 20 * sign]])
        _, parts = compute(Heads(p, p, p, wdl), planes_2x2().expand(2, -1, -1, -1), targets, LossConfig())
        assert float(parts["explained_variance"]) == pytest.approx(expected, abs=1e-5)


def test_the_loss_is_the_sum_of_its_parts_by_their_weights():
    torch.manual_seed(4)
    rows = Heads(torch.randn(6, 4), torch.randn(6, 4), torch.randn(6, 4), torch.randn(6, 3))
    planes = torch.zeros(6, N_PLANES, 2, 2)
    planes[:, 0] = 1
    targets = Targets(
        torch.softmax(3 * torch.randn(6, 4), 1), torch.softmax(torch.randn(6, 4), 1),
        torch.eye(3)[torch.tensor([0, 1, 2, 0, 2, 2])], torch.softmax(torch.randn(6, 3), 1),
    )  # fmt: skip
    config = LossConfig(value=2.5, reply=0.3, soft=0.7, soft_power=0.5, root_mix=0.4, root_power=2.0)
    loss, parts = compute(rows, planes, targets, config)
    expected = parts["policy"] + 2.5 * parts["value"] + 0.3 * parts["reply"] + 0.7 * parts["soft"]
    assert float(loss) == pytest.approx(float(expected), abs=1e-5)

    log_soft = torch.log_softmax(rows.soft, 1)
    softened = targets.policy.sqrt() / targets.policy.sqrt().sum(1, keepdim=True)
    assert float(parts["soft"]) == pytest.approx(float(-(softened * log_soft).sum(1).mean()), abs=1e-5)
    squared = targets.root_wdl.square() / targets.root_wdl.square().sum(1, keepdim=True)
    value = -((0.6 * targets.z + 0.4 * squared) * torch.log_softmax(rows.wdl, 1)).sum(1).mean()
    assert float(parts["value"]) == pytest.approx(float(value), abs=1e-5)
